"""Estimators of the gradient of a log-density."""

from modeseek.gradient.kernel import KernelDensityGradient
from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.gradient.moments import Moments
from modeseek.gradient.settings import GradientSettings

__all__ = ["GradientSettings", "KernelDensityGradient", "LogDensityGradient", "Moments"]
