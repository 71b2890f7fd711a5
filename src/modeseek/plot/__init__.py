"""Pictures, in the style of scikit-learn's displays.

Every class computes in ``from_estimator`` and draws in ``plot``; the axes and the
figure are then ``ax_`` and ``figure_``. Clusters have a colour and a shape each, so
that they can be told apart without colours.
"""

from modeseek.plot.fit import (
    FeatureRelevanceDisplay,
    MergeTreeDisplay,
    ValidationDisplay,
)
from modeseek.plot.rows import AscentDisplay, ClusterPairsDisplay, GradientFieldDisplay

__all__ = [
    "AscentDisplay",
    "ClusterPairsDisplay",
    "FeatureRelevanceDisplay",
    "GradientFieldDisplay",
    "MergeTreeDisplay",
    "ValidationDisplay",
]
