"""Blurring: rows take a step, the gradient is estimated anew where they are then.

It goes on until rows stand still, and rows that end at the same place are together
(the paper's section 4.5, after Fukunaga and Hostetler). Width and penalty stay those of
the first fit, and so do the rows that are centres: they move along.

Rows of a cluster meet within some rounds. Clusters that Gaussians reach then move to
each other, faster and faster, until all rows are at one place: rows stood still when
they moved least before that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from sklearn.base import clone

from modeseek.field.fields import Field
from modeseek.field.landscape import blur_rows
from modeseek.field.modes import cell_means
from modeseek.gradient.base import GradientEstimator, field_of, frame_of
from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.rows.arrays import Floats, group_means
from modeseek.rows.coordinates import Frame
from modeseek.tree.pairs import connected_components

#: Rows stand still when they move less than this on average, in widths, ...
STILL = 1e-3

#: ... or were stillest before so many rounds in which they moved more and more.
RISING_ROUNDS = 3

#: Rows this near have met, in widths: those in a cell of half that side, and cells.
MET = 0.1

#: Most rounds, whatever ``max_iter`` says.
MOST_ROUNDS = 200


class Blurred(NamedTuple):
    """What blurring did to some rows."""

    used: list[GradientEstimator]  # fitted to the rows before each round
    ends: Floats  # (k, d) places where rows ended, in the data's coordinates
    rows: Floats  # (n, d) where each row did
    stopped: bool  # whether rows stand still


def blur(
    estimator: GradientEstimator,
    rows: NDArray[np.floating],
    weight: Floats | None,
    max_iter: int = MOST_ROUNDS,
) -> Blurred:
    """Move all rows by a step, estimate anew, and so on, until they stand still.

    Parameters
    ----------
    estimator : GradientEstimator
        Fitted to the rows.
    rows : ndarray of shape (n_samples, n_features)
    weight : ndarray of shape (n_samples,), optional
    max_iter : int, default=200
        Most rounds; never more than the default.
    """
    X = np.asarray(rows, dtype=np.float64)
    centers, widths = estimator.centers_, estimator.bandwidth_
    fixed = _fixed_parameters(estimator)
    used, places, speeds = [estimator], [X], []
    while True:
        one = rounds_of(used[-1:])
        X = blur_rows(one, X, estimator.n_jobs)
        centers = blur_rows(one, centers, estimator.n_jobs)
        move = np.linalg.norm((X - places[-1]) / widths, axis=1)
        speeds.append(float(np.average(move, weights=weight)))
        places = [*places[-RISING_ROUNDS:], X]
        if _rises(speeds):  # rows stood still before
            X, used = places[0], used[:-RISING_ROUNDS]
            return Blurred(used, find_ends(X, widths), X, stopped=True)
        stopped = speeds[-1] < STILL
        if stopped or len(used) >= min(max_iter, MOST_ROUNDS):
            return Blurred(used, find_ends(X, widths), X, stopped)
        again = clone(estimator).set_params(**fixed)
        if isinstance(again, LogDensityGradient):
            again.set_params(centers=centers, n_centers="auto")
        try:
            used.append(again.fit(X, sample_weight=weight))
        except ValueError:
            # The parameters served before: where rows have met, the distances that are
            # left may be out of all proportion to the widths. Nothing moves there.
            return Blurred(used, find_ends(X, widths), X, stopped=True)


def _rises(speeds: list[float]) -> bool:
    """Whether rows moved more and more lately, after they had slowed down."""
    last = speeds[-RISING_ROUNDS - 1 :]
    faster = bool((np.diff(last) > 0.0).all())
    return len(last) > RISING_ROUNDS and faster and last[0] < 0.5 * max(speeds)


def find_ends(X: Floats, widths: Floats) -> Floats:
    """Places where rows (n, d) have met, shape (k, d)."""
    places, cell = cell_means(X, widths, 0.5 * MET)
    near = KDTree(places * (1.0 / widths)).query_pairs(MET, output_type="ndarray")
    _, group = connected_components(near, len(places))
    return group_means(X, np.unique(group, return_inverse=True)[1][cell])


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
        if estimator.gaussian_base_.any():
            raise ValueError(
                "Blurring fits anew with fixed widths and no Gaussian base; give "
                'an estimator with bandwidth="cv".'
            )
    return fixed
