"""Blurring: rows take a step, the gradient is estimated anew where they are then."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from modeseek.field.fields import Field
from modeseek.field.landscape import blur_rows
from modeseek.gradient.base import GradientEstimator, field_of, frame_of
from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.rows.arrays import Floats
from modeseek.rows.coordinates import Frame

#: Blurring stops when rows move less than this on average (in widths), or after so
#: many rounds; what is left is climbed on the field of the rows as they were.
BLURRED, MAX_BLURRING = 1e-3, 10


def blur(
    estimator: GradientEstimator, rows: NDArray[np.floating], weight: Floats | None
) -> list[GradientEstimator]:
    """Move all rows by a step, estimate anew, and so on.

    Parameters
    ----------
    estimator : GradientEstimator
        Fitted to the rows.
    rows : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,), optional

    Returns
    -------
    list of GradientEstimator
        Fitted to the rows before each step, the given one first.
    """
    X = np.asarray(rows, dtype=np.float64)
    fixed = _fixed_parameters(estimator)
    current, used = estimator, []
    for _ in range(MAX_BLURRING):
        used.append(current)
        moved = blur_rows(rounds_of([current]), X, estimator.n_jobs)
        change = np.linalg.norm((moved - X) / current.bandwidth_, axis=1)
        X = moved
        if np.average(change, weights=weight) < BLURRED:
            break
        again = clone(current).set_params(**fixed)
        current = again.fit(X, sample_weight=weight)
    return used


def rounds_of(estimators: list[GradientEstimator]) -> tuple[tuple[Frame, Field], ...]:
    """Coordinates and field of each fitted gradient that rows take a step on."""
    return tuple((frame_of(one), field_of(one)) for one in estimators)


def _fixed_parameters(estimator: GradientEstimator) -> dict[str, Any]:
    """Parameters with which the fits after the first keep what it chose."""
    widths = estimator.bandwidth_[None]
    fixed: dict[str, Any] = {"bandwidth": np.where(np.isfinite(widths), widths, 1)}
    if isinstance(estimator, LogDensityGradient):
        fixed["alpha"] = estimator.alpha_
        if estimator.settings_.coefficients == "multitask":
            fixed["gamma"] = estimator.gamma_
        if estimator.centers is not None:
            raise ValueError(
                "Blurring draws centres from the rows where they have moved to: leave "
                "centers=None, or take another ascent."
            )
        if estimator.gaussian_base_.any():
            raise ValueError(
                "Blurring fits anew with fixed widths and no Gaussian base; give "
                'an estimator with bandwidth="cv".'
            )
    return fixed
