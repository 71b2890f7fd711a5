"""Clustering by seeking the modes of the density, with nothing to tune."""

from modeseek.cluster import ModeClustering
from modeseek.gradient import LogDensityGradient
from modeseek.kernel import KernelDensityGradient

__all__ = ["KernelDensityGradient", "LogDensityGradient", "ModeClustering"]
__version__ = "0.1.0.dev0"
