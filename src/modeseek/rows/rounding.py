r"""Rounding: features recorded in steps, and distances that steps say nothing about.

A measure rounded to steps of h has many equal values. Two rows near each other, rounded
to x and x', had a squared difference of

.. math:: (x - x')^2 + \frac{h^2}{6}

on average before, as each was anywhere in its step, with variance :math:`h^2 / 12`. The
root of these additions over all features is the *grain* of the data. Distances between
rows count with it, and no kernel is narrower: else equal values would be peaks of the
density, the higher the narrower the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from modeseek.errors import warn_user
from modeseek.rows.arrays import Bools, Floats, Integers, Reals

#: A feature is rounded if its values are shared by so many distinct rows on average.
ROWS_PER_VALUE = 5.0

#: Among fewer distinct rows, shared values say nothing about rounding.
FEWEST_ROWS = 30

#: Differences of values below this, relative to a typical one, come from arithmetic.
ARITHMETIC = 1e-12

#: Values of counts and ratings, which are too few to stand for places of their own; two
#: or three may be groups.
FEWEST_COARSE, MOST_COARSE = 4, 12

#: Features that a warning names, and the number of values that have no step to tell.
NAMED, STEPLESS = 5, 3

#: What is done about rounding: on the field, from row to row, in certified coordinates.
WIDTHS = "No width is chosen that is narrower than what rounding makes equal"
DISTANCES = (
    "Distances count as those expected before the rounding, counts and ratings beside "
    "other features are spread over their steps, and rows that it made equal count once"
)
STEPS = (
    "Values are spread over their steps, features with fewer than ten of them are left "
    "out of the directions, and rows that rounding made equal count once"
)


class RoundingWarning(UserWarning):
    """Features have few distinct values; says which, and what was done."""


def grain_of(steps: Floats) -> float:
    """Distance between rows near each other that rounding makes equal, on average.

    ``steps`` has what each feature is rounded to, 0 where it is not.
    """
    return float(np.sqrt(np.square(steps).sum() / 6.0))


def narrowest_widths(steps: Floats | None, d: int, *, together: bool) -> Floats:
    """Narrowest widths of kernels on d features, rounded to steps (0: not rounded).

    Widths that are candidates for all features together are compared with distances
    between rows, which mean nothing below the grain. A width that a feature learns for
    itself is compared with differences of its values, which come in whole steps.
    """
    if steps is None:
        return np.zeros(d)
    return np.full(d, grain_of(steps)) if together else steps


class Rounding(NamedTuple):
    """How features are rounded."""

    step: Floats  # (d,) smallest difference of values; 0 where not rounded, and no
    # more than the standard deviation
    n_values: Integers  # (d,) distinct values

    def describe(self, names: Sequence[str] | None = None, done: str = WIDTHS) -> str:
        """Say which features are rounded and what is done; empty if none is."""
        found = np.flatnonzero(self.step)
        if not found.size:
            return ""
        told = [
            f"{'feature ' + str(j) if names is None else repr(str(names[j]))} "
            f"({self._steps(j)})"
            for j in found[:NAMED]
        ]
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        have = "feature has" if len(found) == 1 else "features have"
        return (
            f"{len(found)} {have} few distinct values, as from rounding: "
            f"{', '.join(told)}{more}. {done}, so that equal values are no clusters "
            "by themselves."
        )

    def _steps(self, j: int) -> str:
        """Values and step of a feature; of few values, the step may be shortened."""
        values = f"{self.n_values[j]} values"
        if self.n_values[j] <= STEPLESS:
            return values
        return f"{values}, steps of {self.step[j]:.3g}"


def warn_of_rounding(
    rounding: Rounding, names: Sequence[str] | None, done: str = WIDTHS
) -> None:
    """Warn once of rounded features, if any is, by their names; say what is done."""
    text = rounding.describe(names, done)
    if text:
        warn_user(text, RoundingWarning)


def _typical_size(x: Reals) -> float:
    """Median size of the values but zero: a few may be codes for missing ones."""
    size = np.abs(x[x != 0])
    middle = len(size) // 2
    return float(np.partition(size, middle)[middle]) if len(size) else 0.0


def find_rounding(X: Reals) -> Rounding:
    """Find features whose values many of the distinct rows (n, d) share."""
    n, d = X.shape
    step, n_values = np.zeros(d), np.ones(d, dtype=np.intp)
    for j in range(d):
        values = np.unique(X[:, j]).astype(np.float64)
        gaps = np.diff(values)
        largest = np.abs(values).max()
        gaps = gaps[gaps > ARITHMETIC * _typical_size(X[:, j])]
        n_values[j] = len(gaps) + 1
        if gaps.size and n >= max(FEWEST_ROWS, ROWS_PER_VALUE * n_values[j]):
            # A value that hardly ever occurs is many deviations away: no rounding.
            deviation = largest * (X[:, j] / largest).std()  # squares may overflow
            step[j] = min(gaps.min(), deviation)
    return Rounding(step, n_values)


def split_coarse(rounding: Rounding, used: Bools) -> tuple[Rounding, Rounding]:
    """Rounding of counts and ratings among measurements, and that of the rest.

    Beside features (d,) that are used and not rounded, one of few values cuts the rows
    into slices, between which there is nothing however many rows there are.
    """
    rounded = (rounding.step > 0) & used
    few = (rounding.n_values >= FEWEST_COARSE) & (rounding.n_values <= MOST_COARSE)
    coarse = rounded & few & bool((used & ~rounded).any())
    return (
        rounding._replace(step=np.where(coarse, rounding.step, 0.0)),
        rounding._replace(step=np.where(coarse, 0.0, rounding.step)),
    )


def spread_steps(X: Reals, rounding: Rounding, rng: np.random.Generator) -> Floats:
    """Rows with every value of a rounded feature anywhere in its step.

    Gaps that are wider than a step stay, unlike with :func:`spread_ties`.
    """
    spread = np.array(X, dtype=np.float64)
    for j in np.flatnonzero(rounding.step):
        spread[:, j] += rounding.step[j] * (rng.random(len(X)) - 0.5)
    return spread


def spread_ties(X: Reals, rounding: Rounding, rng: np.random.Generator) -> Floats:
    """Rows as they may have been before rounding.

    Every value of a rounded feature is drawn anew, from half-way to the next smaller
    value to half-way to the next larger one.
    """
    spread = np.array(X, dtype=np.float64)
    for j in np.flatnonzero(rounding.step):
        values, at = np.unique(spread[:, j], return_inverse=True)
        if len(values) > 1:
            middle = 0.5 * (values[1:] + values[:-1])
            low = np.append(2.0 * values[0] - middle[0], middle)
            high = np.append(middle, 2.0 * values[-1] - middle[-1])
            spread[:, j] = low[at] + (high - low)[at] * rng.random(len(X))
    return spread


Rounding.__module__ = "modeseek.rows"  # model files name it so
