"""Rows counted around a valley along a direction: whether the density has it, too.

Coordinates along a direction may have a valley where the density of the rows has none:
of rows along an arc many lie where it turns away from the direction, and few between.
Beside such a valley rows are spread more widely across the direction than in it, and
stand no denser. So rows are counted a second time as if those beside were spread as
those in the valley are: along a ridge, the density of the rows is that along the
direction over the spread across.

The direction across is that in which rows beside the valley vary most, compared with
those in it. It comes from some rows, and the spreads along it from others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from modeseek.rows.arrays import Bools, Floats
from modeseek.rows.components import (
    ROWS_PER_COMPONENT,
    principal_components,
    shrink_covariance,
)
from modeseek.rows.pursuit import Valley

#: Half-width of the windows, in the distance from mode to valley.
WINDOW = 0.5

#: Rows beside a valley that tell how widely they are spread, at least, for each window.
FEWEST_SPREAD = 2

#: Variance of the middle rows, in units of all three windows, that is not told from 0.
LEAST_VARIANCE = 1e-6


class Spreads(NamedTuple):
    """Rows left of a valley, in it and right of it; those of several folds add."""

    n_rows: Floats  # (3,)
    deviation: Floats  # (3,) sum of their distances, across, from what is usual there

    def __add__(self, other: object) -> Spreads:
        """Sum of both."""
        if not isinstance(other, Spreads):
            return NotImplemented
        return Spreads(self.n_rows + other.n_rows, self.deviation + other.deviation)

    def certainty(self) -> float:
        """Standard deviations by which the valley has fewer, if spread alike."""
        n_rows = self.n_rows
        if n_rows.all() and self.deviation.all():
            spread = self.deviation / n_rows
            n_rows = n_rows * spread[1] / spread
        return float(certainty_of(np.array([n_rows[1], min(n_rows[0], n_rows[2])])))


def no_spreads() -> Spreads:
    """Of no rows."""
    return Spreads(np.zeros(3), np.zeros(3))


def certainty_of(count: Floats) -> Floats:
    """Standard deviations by which the middle, the first of two counts, has fewer."""
    middle, outside = count[..., 0], count[..., 1]
    missing = outside - middle - 1.0
    return np.asarray(missing / np.sqrt(np.maximum(middle + outside, 1.0)))


def count_around(valley: Valley, u: Floats) -> tuple[int, int]:
    """Coordinates around the valley, and in the emptier of the outer windows."""
    left, middle, right = (
        int(np.count_nonzero(window)) for window in windows(valley, u)
    )
    return middle, min(left, right)


def windows(valley: Valley, u: Floats) -> tuple[Bools, Bools, Bools]:
    """Which coordinates (n,) are around the left mode, the valley and the right one."""
    reach = WINDOW * min(valley.bottom - valley.left, valley.right - valley.bottom)
    left, middle, right = (np.abs(u - at) < reach for at in valley[:3])
    return left, middle, right


def spreads_around(
    valley: Valley, direction: Floats, Z: Floats, held_out: Floats
) -> Spreads:
    """How widely held-out rows are spread around a valley along a direction (d,).

    Rows Z (n, d), which the valley comes from, tell the direction across.
    """
    around = [Z[window] for window in windows(valley, Z @ direction)]
    beside = [held_out[window] for window in windows(valley, held_out @ direction)]
    n_rows = np.array([len(rows) for rows in beside], dtype=np.float64)
    if min(len(rows) for rows in around) < FEWEST_SPREAD:
        return Spreads(n_rows, np.ones(3) * n_rows)
    across = _direction_across(*around)
    deviation = [
        np.abs(rows @ across - np.median(known @ across)).sum()
        for rows, known in zip(beside, around, strict=True)
    ]
    return Spreads(n_rows, np.array(deviation))


def _direction_across(left: Floats, middle: Floats, right: Floats) -> Floats:
    """Direction (d,) in which outer rows vary most, by what the middle ones do."""
    within = [rows - rows.mean(axis=0) for rows in (left, middle, right)]
    most = min(len(rows) for rows in within) // ROWS_PER_COMPONENT
    deviation, axes = principal_components(np.concatenate(within), max(1, most))
    if not len(axes):  # rows of each window are equal
        return np.zeros(left.shape[1])
    axes = axes / deviation[:, None]
    of_left, of_middle, of_right = (shrink_covariance(rows @ axes.T) for rows in within)
    of_middle.flat[:: len(axes) + 1] += LEAST_VARIANCE
    _, vectors = eigh(of_left + of_right, of_middle)
    return np.asarray(vectors[:, -1] @ axes)
