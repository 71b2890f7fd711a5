"""Splits of rows at valleys of the density that held-out rows confirm.

Directions and windows come from four fifths of the rows, and the other fifth is counted
in the windows: around the two modes, and around the valley between. Pooled over the
folds, rows of a density without a valley favour the middle. How certain they are is
averaged over three such rounds, so that the draw of the folds matters less. The parts
are split again, until none has a valley that is certain.

Where parts are Gaussians of one covariance, the log-density differs from part to part
along their discriminant directions only, so heights there are those in all features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import f

from modeseek.rows.arrays import Bools, Floats, Integers, Reals, group_means
from modeseek.rows.blocks import one_blas_thread
from modeseek.rows.components import (
    ROWS_PER_COMPONENT,
    principal_components,
    shrink_covariance,
    whitening_axes,
)
from modeseek.rows.coordinates import Frame
from modeseek.rows.pursuit import Valley, find_directions, find_valley
from modeseek.rows.rounding import Rounding, spread_ties
from modeseek.rows.valley_counts import (
    Spreads,
    certainty_of,
    count_around,
    no_spreads,
    spreads_around,
)

#: Folds of a split, and divisions into folds whose certainties are averaged: which rows
#: are held out together is chance.
N_FOLDS, N_ROUNDS = 5, 3

#: What is less certain than it must be by so much, others do not mend.
HOPELESS = 1.5

#: Held-out counts must differ by so many standard deviations: one in twenty, one-sided.
CERTAIN = 1.64

#: Fewest rows that are split, and on each of two sides that are compared.
FEWEST_ROWS = 40
FEWEST_BESIDE = FEWEST_ROWS // 2

#: Most parts: more would need more rows than splits are sought among.
MOST_PARTS = 40

#: Distinct values of a feature, at least: with fewer it has gaps, not valleys.
FEWEST_VALUES = 10

#: One in so many tables has, by chance, a feature that differs from part to part, or a
#: split that is not called doubtful.
SELDOM = 20

#: Largest share of the features that alone make directions; if more differ, the rest
#: may as well take part. The paper's toy with 48 features of noise has a mean index of
#: 0.91 by this and 0.89 without (``benchmarks/coordinates.py``).
MOST_USED = 0.5


class Splits(NamedTuple):
    """Parts of the rows; every split is confirmed by rows that had no part in it."""

    part: Integers  # (n,) from 0
    certainty: Floats  # of every split, in standard deviations

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return int(self.part.max()) + 1


def standardise(
    frame: Frame, rows: Reals, rounding: Rounding, rng: np.random.Generator
) -> Floats:
    """Rows in a frame of unit variances; features that cannot show a valley are 0."""
    Z = frame.enter(spread_ties(rows, rounding, rng))
    Z[:, rounding.n_values < FEWEST_VALUES] = 0.0
    return Z


def find_splits(Z: Floats, rng: np.random.Generator) -> Splits:
    """Divide standardised rows, no two of them equal, at valleys that are certain."""
    return split_parts(Z, np.zeros(len(Z), dtype=np.intp), rng)


@one_blas_thread()
def split_parts(
    Z: Floats,
    part: Integers,
    rng: np.random.Generator,
    least: float = CERTAIN,
    may_split: Callable[[Integers], bool] | None = None,
) -> Splits:
    """Divide each part (n,) of standardised rows, numbered from 0, at such valleys.

    Splits are at least so certain. Whether rows, told by their numbers, may be split is
    asked only where that is certain.
    """
    part, found = part.copy(), []
    waiting = list(range(int(part.max()) + 1))
    n_parts = len(waiting)
    while waiting and n_parts < MOST_PARTS:
        rows = np.flatnonzero(part == waiting[0])
        certainty, upper = _split(Z[rows], rng, least)
        if certainty < least or (may_split is not None and not may_split(rows)):
            waiting.pop(0)
            continue
        found.append(certainty)
        part[rows[upper]] = n_parts
        waiting.append(n_parts)
        n_parts += 1
    return Splits(part, np.asarray(found))


def _split(Z: Floats, rng: np.random.Generator, least: float) -> tuple[float, Bools]:
    """Certainty of the best split of some rows, and the rows above its valley."""
    nobody = np.zeros(len(Z), dtype=bool)
    if len(Z) < FEWEST_ROWS:
        return 0.0, nobody
    directions = find_directions(Z, rng)
    valleys = [find_valley(Z @ direction) for direction in directions]
    # Rows that chose a direction favour it: what they do not show, others will not.
    if certainty_of(_counts(valleys, directions, Z)).max() < least:
        return 0.0, nobody
    rounds = []
    for _ in range(N_ROUNDS):
        rounds.append(_hold_out(Z, len(directions), rng))
        by_number = np.mean([certainty_of(one.counts) for one in rounds], axis=0)
        if by_number.max() < least - HOPELESS:
            return 0.0, nobody
    best = int(by_number.argmax())
    valley = valleys[best]
    if by_number[best] < least or valley is None:
        return 0.0, nobody
    by_density = np.mean([one.spreads(Z, best).certainty() for one in rounds])
    if by_density < CERTAIN:
        return 0.0, nobody
    return float(by_number[best]), Z @ directions[best] > valley.bottom


class Round(NamedTuple):
    """What rows of each fold show along directions that the others chose."""

    fold: Integers  # (n,)
    found: list[tuple[list[Valley | None], list[Floats]]]  # valleys, directions
    counts: Floats  # (ways, 2) held-out rows in the middle and outside, of all folds

    def spreads(self, Z: Floats, way: int) -> Spreads:
        """How widely held-out rows are spread around the valleys found in one way."""
        total = no_spreads()
        for k, (valleys, directions) in enumerate(self.found):
            valley, direction, held_out = valleys[way], directions[way], self.fold == k
            if valley is not None:
                total += spreads_around(valley, direction, Z[~held_out], Z[held_out])
        return total


def _hold_out(Z: Floats, n_ways: int, rng: np.random.Generator) -> Round:
    """Choose directions without one fold after the other, and count in that."""
    fold = rng.permutation(len(Z)) % N_FOLDS
    count, found = np.zeros((n_ways, 2)), []
    for k in range(N_FOLDS):
        train, held_out = Z[fold != k], Z[fold == k]
        directions = find_directions(train, rng)
        valleys = [find_valley(train @ direction) for direction in directions]
        count += _counts(valleys, directions, held_out)
        found.append((valleys, directions))
    return Round(fold, found, count)


def _counts(
    valleys: list[Valley | None], directions: list[Floats], Z: Floats
) -> Floats:
    """Rows in the middle and outside of a valley, if any, along each direction."""
    count = np.zeros((len(directions), 2))
    for i, (valley, direction) in enumerate(zip(valleys, directions, strict=True)):
        if valley is not None:
            count[i] = count_around(valley, Z @ direction)
    return count


@one_blas_thread()
def certify_sides(Z: Floats, upper: Bools, rng: np.random.Generator) -> float:
    """Certainty that two sides of standardised rows, told by a mask, are apart.

    Along the discriminant direction of the sides, from four fifths of the rows, the
    other fifth is counted around a valley and around the modes beside it. The result is
    in standard deviations, and 0 where a side has too few rows or none differ.
    """
    if min(upper.sum(), (~upper).sum()) < FEWEST_BESIDE:
        return 0.0
    _, axes = principal_components(Z, max(1, len(Z) // ROWS_PER_COMPONENT))
    if not len(axes):
        return 0.0
    X, rounds = Z @ axes.T, []
    for _ in range(N_ROUNDS):
        rounds.append(_hold_out_sides(X, upper, rng))
        by_number = float(np.mean([certainty_of(one.counts[0]) for one in rounds]))
        if by_number < CERTAIN - HOPELESS:
            break
    if by_number < CERTAIN:
        return by_number
    by_density = float(np.mean([one.spreads(X, 0).certainty() for one in rounds]))
    return by_number if by_density >= CERTAIN else min(by_number, by_density)


@one_blas_thread()
def look_at_sides(Z: Floats, upper: Bools) -> float:
    """Certainty that two sides of standardised rows are apart, by the same rows.

    They favour the direction in which the sides differ: what they do not show, held-out
    rows will not.
    """
    if min(upper.sum(), (~upper).sum()) < FEWEST_BESIDE:
        return 0.0
    u = Z @ _discriminant(Z, upper)
    valley = find_valley(u)
    return (
        0.0
        if valley is None
        else float(certainty_of(np.array(count_around(valley, u))))
    )


def _hold_out_sides(X: Floats, upper: Bools, rng: np.random.Generator) -> Round:
    """Choose the discriminant direction without one fold after the other."""
    fold = rng.permutation(len(X)) % N_FOLDS
    count, found = np.zeros((1, 2)), []
    for k in range(N_FOLDS):
        train = fold != k
        direction = _discriminant(X[train], upper[train])
        valley = find_valley(X[train] @ direction)
        count += _counts([valley], [direction], X[~train])
        found.append(([valley], [direction]))
    return Round(fold, found, count)


def _discriminant(X: Floats, upper: Bools) -> Floats:
    """Direction in which two sides differ, their covariance within shrunk."""
    mean = group_means(X, upper.astype(np.intp))
    within = shrink_covariance(X - mean[upper.astype(np.intp)])
    return np.asarray(np.linalg.solve(within, mean[1] - mean[0]))


@one_blas_thread()
def find_discriminants(Z: Floats, part: Integers) -> Floats:
    """Directions (q, d) in which the means of parts of standardised rows differ.

    Coordinates along them have unit variance within parts; there are at most as many as
    parts less one. Where the parts differ in a few features only, the others have no
    part in the directions: chance would give them some.
    """
    used = _differing_features(Z, part) | _contributing_features(Z, part)
    if used.sum() < part.max() or used.mean() > MOST_USED:
        return _discriminants(Z, part)
    found = _discriminants(Z[:, used], part)
    directions = np.zeros((len(found), Z.shape[1]))
    directions[:, used] = found
    return directions


def _differing_features(Z: Floats, part: Integers) -> Bools:
    """Features whose means differ from part to part by more than chance (F test).

    Chance makes one in :data:`SELDOM` tables show one that does not.
    """
    n, d = Z.shape
    share, mean = np.bincount(part) / n, group_means(Z, part)
    k = len(share)
    between = share @ np.square(mean - share @ mean) / (k - 1)
    within = np.square(Z - mean[part]).mean(axis=0) / (n - k)
    return np.asarray(between > f.isf(1.0 / (SELDOM * d), k - 1, n - k) * within)


def _contributing_features(Z: Floats, part: Integers) -> Bools:
    """Features in which parts differ where the others are the same (Rao's F test)."""
    n, d = Z.shape
    Z = Z - Z.mean(axis=0)
    within = Z - group_means(Z, part)[part]
    if len(whitening_axes(Z)) < d or len(whitening_axes(within)) < d:
        return np.zeros(d, dtype=bool)
    k = part.max() + 1
    inverse = [np.diag(np.linalg.inv(X.T @ X)) for X in (Z, within)]
    ratio = inverse[1] / inverse[0] - 1.0
    least = f.isf(1.0 / (SELDOM * d), k - 1, n - k - d + 1)
    return np.asarray(ratio * (n - k - d + 1) > least * (k - 1))


def _discriminants(Z: Floats, part: Integers) -> Floats:
    """Discriminant directions in all features.

    The covariance within parts is shrunk (Ledoit and Wolf): in many features its own
    would draw the parts of these rows farther apart than they are.
    """
    share = np.bincount(part) / len(part)
    mean = group_means(Z, part)
    axes = whitening_axes(Z)
    within = shrink_covariance((Z - mean[part]) @ axes.T)
    root = np.linalg.cholesky(within)
    between = np.linalg.solve(root, axes @ (mean - share @ mean).T) * np.sqrt(share)
    directions, size, _ = np.linalg.svd(between, full_matrices=False)
    by_chance = (np.sqrt(len(share) - 1) + np.sqrt(len(axes))) / np.sqrt(len(Z))
    q = max(1, int((size > np.maximum(by_chance, 1e-6 * size[0])).sum()))
    return np.asarray(np.linalg.solve(root.T, directions[:, :q]).T @ axes)
