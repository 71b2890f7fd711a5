"""Clustering by the modes of the density."""

from modeseek.cluster.landscape import Landscape
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.profile import Profile

__all__ = ["Landscape", "ModeClustering", "Profile"]
