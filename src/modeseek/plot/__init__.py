"""Plots, in the style of scikit-learn's displays.

Every class computes in ``from_estimator`` and draws in ``plot``; the axes and the
figure are then ``ax_`` and ``figure_``. Clusters have a colour and a marker each, so
that they can be told apart without colours.
"""

from modeseek.plot.ascent import AscentDisplay
from modeseek.plot.cluster_map import ClusterMapDisplay
from modeseek.plot.cluster_pairs import ClusterPairsDisplay
from modeseek.plot.cluster_profile import ClusterProfileDisplay
from modeseek.plot.comparison import ComparisonDisplay
from modeseek.plot.gradient_field import GradientFieldDisplay
from modeseek.plot.merge_tree import MergeTreeDisplay
from modeseek.plot.relevance import FeatureRelevanceDisplay
from modeseek.plot.validation import ValidationDisplay

__all__ = [
    "AscentDisplay",
    "ClusterMapDisplay",
    "ClusterPairsDisplay",
    "ClusterProfileDisplay",
    "ComparisonDisplay",
    "FeatureRelevanceDisplay",
    "GradientFieldDisplay",
    "MergeTreeDisplay",
    "ValidationDisplay",
]
