"""What a fit tells of the features besides its result."""

from __future__ import annotations

from collections.abc import Sequence

from modeseek.cluster.fitting import Fitted
from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.rows.measurements import (
    unmeasured_features,
    warn_of_codes,
    warn_of_features,
)
from modeseek.rows.rounding import DISTANCES, STEPS, WIDTHS, warn_of_rounding


def warn_of_data(fitted: Fitted, features: str, names: Sequence[str] | None) -> None:
    """Warn of rounding, of codes for missing values, and of what is no measurement.

    ``features`` is the parameter of the clusterer: all were meant, or not.
    """
    overview = fitted.overview
    if fitted.ascent == "rows":
        warn_of_rounding(overview.rounding, names, DISTANCES)
    elif fitted.frame.components is not None:
        warn_of_rounding(overview.rounding, names, STEPS)
    # The kernel density estimate chooses its width by likelihood alone.
    elif isinstance(fitted.estimator, LogDensityGradient):
        warn_of_rounding(overview.rounding, names, WIDTHS)
    warn_of_codes(overview, names)
    if fitted.left_out:
        warn_of_features(fitted.left_out, names, left_out=True)
    elif features == "auto":
        used = unmeasured_features(overview, names)
        warn_of_features(used, names, left_out=False)
