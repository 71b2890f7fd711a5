"""Splits of rows at valleys of the density that held-out rows confirm.

Directions and windows come from four fifths of the rows, and the other fifth is counted
in the windows: around the two modes, and around the valley between. Pooled over the
folds, rows of a density without a valley favour the middle. The parts are split again,
until none has a valley that is certain.

Where parts are Gaussians of one covariance, the log-density differs from part to part
along their discriminant directions only, so heights there are those in all features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import f

from modeseek.rows.arrays import Bools, Floats, Integers, group_means
from modeseek.rows.blocks import one_blas_thread
from modeseek.rows.components import principal_components
from modeseek.rows.pursuit import (
    ROWS_PER_COMPONENT,
    Valley,
    find_directions,
    find_valley,
)

#: Folds of a split.
N_FOLDS = 5

#: Held-out counts must differ by so many standard deviations: one in twenty, one-sided.
CERTAIN = 1.64

#: Fewest rows that are split.
FEWEST_ROWS = 40

#: Most parts: of more, a few coordinates would not do.
MOST_PARTS = 8

#: Features that differ from part to part by chance: one in so many tables has any.
SELDOM = 20

#: Largest share of the features that alone make directions; if more differ, the rest
#: may as well take part. The paper's toy with 48 features of noise has a mean index of
#: 0.91 by this and 0.89 without (``benchmarks/coordinates.py``).
MOST_USED = 0.5

#: Half-width of the windows, in the distance from mode to valley.
WINDOW = 0.5


class Splits(NamedTuple):
    """Parts of the rows; every split is confirmed by rows that had no part in it."""

    part: Integers  # (n,) from 0
    certainty: Floats  # (n_parts - 1,) of the splits, in standard deviations

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.certainty) + 1


@one_blas_thread()
def find_splits(Z: Floats, rng: np.random.Generator) -> Splits:
    """Divide standardised rows, no two of them equal, at valleys that are certain."""
    part = np.zeros(len(Z), dtype=np.intp)
    found: list[float] = []
    waiting = [0]
    while waiting and len(found) < MOST_PARTS:
        rows = np.flatnonzero(part == waiting[0])
        certainty, upper = _split(Z[rows], rng)
        if certainty < CERTAIN:
            waiting.pop(0)
            continue
        found.append(certainty)
        part[rows[upper]] = len(found)
        waiting.append(len(found))
    return Splits(part, np.asarray(found))


def _split(Z: Floats, rng: np.random.Generator) -> tuple[float, Bools]:
    """Certainty of the best split of some rows, and the rows above its valley."""
    nobody = np.zeros(len(Z), dtype=bool)
    if len(Z) < FEWEST_ROWS:
        return 0.0, nobody
    fold = rng.permutation(len(Z)) % N_FOLDS
    count = np.zeros((3, 2))  # ways to a direction; rows in the middle, and outside
    for k in range(N_FOLDS):
        train, held_out = Z[fold != k], Z[fold == k]
        for way, direction in enumerate(find_directions(train, rng)):
            valley = find_valley(train @ direction)
            if valley is not None:
                count[way] += _count(valley, held_out @ direction)
    certainty = _certainty(count)
    best = int(certainty.argmax())
    if certainty[best] < CERTAIN:
        return 0.0, nobody
    u = Z @ find_directions(Z, rng)[best]
    valley = find_valley(u)
    if valley is None:
        return 0.0, nobody
    return float(certainty[best]), u > valley.bottom


@one_blas_thread()
def certify_sides(Z: Floats, upper: Bools, rng: np.random.Generator) -> float:
    """Certainty that two sides of standardised rows, told by a mask, are apart.

    Along the discriminant direction of the sides, from four fifths of the rows, the
    other fifth is counted around a valley and around the modes beside it. The result is
    in standard deviations, and 0 where a side has too few rows or none differ.
    """
    if min(upper.sum(), (~upper).sum()) < FEWEST_ROWS // 2:
        return 0.0
    _, axes = principal_components(Z, max(1, len(Z) // ROWS_PER_COMPONENT))
    if not len(axes):
        return 0.0
    X = Z @ axes.T
    fold = rng.permutation(len(X)) % N_FOLDS
    count = np.zeros(2)
    for k in range(N_FOLDS):
        train = fold != k
        direction = _discriminant(X[train], upper[train])
        valley = find_valley(X[train] @ direction)
        if valley is not None:
            count += _count(valley, X[~train] @ direction)
    return float(_certainty(count))


def _certainty(count: Floats) -> Floats:
    """Standard deviations by which the middle, the first of two counts, has fewer."""
    middle, outside = count[..., 0], count[..., 1]
    missing = outside - middle - 1.0
    return np.asarray(missing / np.sqrt(np.maximum(middle + outside, 1.0)))


def _discriminant(X: Floats, upper: Bools) -> Floats:
    """Direction in which two sides differ, their covariance within shrunk."""
    mean = group_means(X, upper.astype(np.intp))
    within = shrink_covariance(X - mean[upper.astype(np.intp)])
    return np.asarray(np.linalg.solve(within, mean[1] - mean[0]))


def shrink_covariance(X: Floats) -> Floats:
    """Covariance of rows (n, d) with zero means, shrunk as Ledoit and Wolf say."""
    n, d = X.shape
    covariance = X.T @ X / n
    variance = np.trace(covariance) / d
    squares = np.square(covariance).sum()
    error = (np.square(np.einsum("ij,ij->i", X, X)).sum() / n - squares) / n
    spread = squares - d * variance**2
    has_error = d > 1 and min(error, spread) > 0.0
    share = min(1.0, error / spread) if has_error else 0.0
    return np.asarray((1.0 - share) * covariance + share * variance * np.eye(d))


def _count(valley: Valley, u: Floats) -> tuple[int, int]:
    """Rows in the window around the valley, and in the emptier of the outer two."""
    nearer = min(valley.bottom - valley.left, valley.right - valley.bottom)
    left, middle, right = (
        int(np.count_nonzero(np.abs(u - at) < WINDOW * nearer)) for at in valley[:3]
    )
    return middle, min(left, right)


@one_blas_thread()
def find_discriminants(Z: Floats, part: Integers) -> Floats:
    """Directions (q, d) in which the means of parts of standardised rows differ.

    Coordinates along them have unit variance within parts; there are at most as many as
    parts less one. Where the parts differ in a few features only, the others have no
    part in the directions: chance would give them some.
    """
    used = _differing_features(Z, part)
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


def _discriminants(Z: Floats, part: Integers) -> Floats:
    """Discriminant directions in all features.

    The covariance within parts is shrunk (Ledoit and Wolf): in many features its own
    would draw the parts of these rows farther apart than they are.
    """
    share = np.bincount(part) / len(part)
    mean = group_means(Z, part)
    _, axes = principal_components(Z)
    within = shrink_covariance((Z - mean[part]) @ axes.T)
    root = np.linalg.cholesky(within)
    between = np.linalg.solve(root, axes @ (mean - share @ mean).T) * np.sqrt(share)
    directions, size, _ = np.linalg.svd(between, full_matrices=False)
    q = min(len(share) - 1, int((size > 1e-6 * size[0]).sum()))
    return np.asarray(np.linalg.solve(root.T, directions[:, :q]).T @ axes)
