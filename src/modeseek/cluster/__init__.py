"""Clustering by the modes of the density."""

from modeseek.cluster.comparison import Comparison, compare_clusterings
from modeseek.cluster.landscape import Landscape
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.profile import Profile
from modeseek.cluster.reference import Reference

__all__ = [
    "Comparison",
    "Landscape",
    "ModeClustering",
    "Profile",
    "Reference",
    "compare_clusterings",
]
