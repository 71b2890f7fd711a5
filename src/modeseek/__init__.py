"""Clustering by seeking the modes of the density, with nothing to tune."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from modeseek.cluster import Comparison, ModeClustering, compare_clusterings
    from modeseek.gradient import KernelDensityGradient, LogDensityGradient
    from modeseek.rows import FeatureWarning, RoundingWarning

__all__ = [
    "Comparison",
    "FeatureWarning",
    "KernelDensityGradient",
    "LogDensityGradient",
    "ModeClustering",
    "RoundingWarning",
    "compare_clusterings",
]
__version__ = "0.1.0"

#: Where the public names live. They are imported when they are first asked for, so
#: that the command line answers before scikit-learn has been loaded.
_HOMES = {
    "Comparison": "modeseek.cluster",
    "FeatureWarning": "modeseek.rows",
    "KernelDensityGradient": "modeseek.gradient",
    "LogDensityGradient": "modeseek.gradient",
    "ModeClustering": "modeseek.cluster",
    "RoundingWarning": "modeseek.rows",
    "compare_clusterings": "modeseek.cluster",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
