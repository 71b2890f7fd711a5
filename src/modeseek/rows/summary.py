r"""Range, mean and variance of every feature, in one reduction.

Means and squared deviations of two sets of rows make those of both (Chan, Golub and
LeVeque, 1979), without the cancellation of sums of squares:

.. math::
    \bar x = \bar x_1 + \frac{w_2}{w_1 + w_2} (\bar x_2 - \bar x_1), \quad
    S = S_1 + S_2 + \frac{w_1 w_2}{w_1 + w_2} (\bar x_2 - \bar x_1)^2.

Every feature is measured in a power of two near its largest value, so that squares
of it neither overflow nor vanish.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.rows.arrays import Bools, Floats
from modeseek.rows.coordinates import TINY, Frame, power_of_two
from modeseek.rows.source import Block, Reducible

#: Rows of a block: a few megabytes, and few enough blocks.
SUMMARY_ROWS = 1 << 14

#: Bits of the deviations and means of a frame: rounding of sums is far below them.
DEVIATION_BITS, MEAN_BITS = 36, 44


class Summary(NamedTuple):
    """Range, mean and variance of all rows of positive weight."""

    n_rows: int
    weight: float
    low: Floats  # (d,)
    high: Floats  # (d,)
    unit: Floats  # (d,) powers of two that the next two are measured in
    mean: Floats  # (d,)
    squares: Floats  # (d,) weighted sum of squared deviations
    has_counts: bool = True  # every weight is a whole number: of copies of the row

    @property
    def row_weight(self) -> float:
        """Weight of one row: 1 where weights count copies, else the mean weight.

        Weights that are no counts say proportions only.
        """
        return 1.0 if self.has_counts else self.weight / self.n_rows

    @property
    def n_counted(self) -> float:
        """Rows that the weights stand for: copies, or all rows."""
        return self.weight if self.has_counts else float(self.n_rows)

    @property
    def constant(self) -> Bools:
        """Features with one value."""
        return np.asarray(self.low == self.high)

    @property
    def largest(self) -> float:
        """Largest absolute value."""
        return float(np.maximum(-self.low, self.high).max())

    def frame(self) -> Frame:
        """Frame of zero means and unit variances; constant features keep their unit.

        Rounded, so that the order of the sums does not show.
        """
        size = np.where(self.low == 0, 1.0, np.abs(self.low))
        deviation = np.sqrt(self.squares / self.weight)
        finest = power_of_two(np.maximum(deviation, TINY)) * 2.0**-DEVIATION_BITS
        coarser = power_of_two(np.maximum(np.abs(self.mean), TINY)) * 2.0**-MEAN_BITS
        mean = _round(self.mean, np.maximum(finest, coarser)) * self.unit
        deviation = _round(deviation, finest) * self.unit
        return Frame(
            np.where(self.constant, self.low, mean),
            np.where(self.constant, size, deviation),
        )


def _round(value: Floats, quantum: Floats) -> Floats:
    return np.asarray(np.round(value / quantum) * quantum)


def summarize(source: Reducible) -> Summary:
    """Summarise all rows of positive weight; the range shows what is not finite."""
    return source.reduce(_summarize_block, _join, size=SUMMARY_ROWS)


def _summarize_block(block: Block) -> Summary:
    X, w = block
    n, d = X.shape
    zero = np.zeros(d)
    if not n:
        return Summary(0, 0.0, zero + np.inf, zero - np.inf, zero, zero, zero)
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    size = np.maximum(-low, high)
    if not np.isfinite(size).all():
        return Summary(n, 1.0, low, high, zero + 1.0, zero, zero)
    unit = power_of_two(np.maximum(size, TINY))
    U = X / unit
    row_weight = np.ones(n) if w is None else w
    weight = float(row_weight.sum())
    mean = row_weight @ U / weight
    U -= mean
    squares = row_weight @ np.square(U, out=U)
    has_counts = w is None or bool((w == np.rint(w)).all())
    return Summary(n, weight, low, high, unit, mean, squares, has_counts)


def _join(one: Summary, other: Summary) -> Summary:
    if not (one.n_rows and other.n_rows):
        return one if one.n_rows else other
    unit = np.maximum(one.unit, other.unit)
    r, s = one.unit / unit, other.unit / unit
    weight = one.weight + other.weight
    share = other.weight / weight
    apart = s * other.mean - r * one.mean
    return Summary(
        one.n_rows + other.n_rows,
        weight,
        np.minimum(one.low, other.low),
        np.maximum(one.high, other.high),
        unit,
        r * one.mean + share * apart,
        r**2 * one.squares + s**2 * other.squares + one.weight * share * apart**2,
        one.has_counts and other.has_counts,
    )
