"""Draws of centres and of validation folds that do not depend on the rows' order.

Rows are sorted by their distance from the mean, and chance picks centres and folds by
rank. The ranks do not change when rows are permuted, cut into chunks,
shifted, rotated or measured in another unit, nor when copies of a row are replaced
by a weight. Distances that are equal but for their last digits, as on a lattice, count
as equal, and the content of the rows decides.

Equal rows share one rank: they are one centre and sit in one fold. Rows that became
centres are never held out (they are put in the fold past the last one, which only
trains): a centre sees itself at distance zero, which rewards narrow kernels without
bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from modeseek.rows.arrays import Bools, Floats, Integers, Reals
from modeseek.rows.blocks import map_blocks
from modeseek.rows.coordinates import power_of_two

#: Bits of a squared distance that tell rows apart: arithmetic changes later ones.
POSITION_BITS = 30


class EqualRows(ValueError):
    """Rows that are all equal: one point, which has no density."""


class DistanceFromMean(NamedTuple):
    """Measures how far rows are from the mean of all."""

    scale: float  # a power of two near the largest value
    mean: Floats  # (d,) in units of it

    def squared(self, X: Reals) -> Floats:
        """Squared distances of rows, in squared units of the scale, rounded."""
        difference = _scaled(X, self.scale) - self.mean
        return _round_bits(np.einsum("ij,ij->i", difference, difference))


def _scaled(X: Reals, scale: float) -> Floats:
    return np.asarray(X, dtype=np.float64) / scale


def _round_bits(x: Floats) -> Floats:
    """Positive numbers to POSITION_BITS bits after the first."""
    dropped = 52 - POSITION_BITS
    bits = np.ascontiguousarray(x).view(np.int64) + (1 << (dropped - 1))
    return (bits >> dropped << dropped).view(np.float64)


class Ranking(NamedTuple):
    """Distinct rows in the order of their distance from the mean."""

    rank: Integers  # (n,) rank of each row; equal rows share theirs
    first: Integers  # (n_distinct,) a row of each rank


class Sample(NamedTuple):
    """Rows of positive weight, ranked."""

    X: Reals  # (n, d)
    row: Integers  # (n,) their numbers in the data
    weight: Floats | None  # (n,)
    ranking: Ranking
    constant: Bools  # (d,) features with one value


def take_sample(X: Reals, weight: Floats | None, n_jobs: int | None) -> Sample:
    """Drop rows of weight zero, rank the others, find constant features."""
    row = np.arange(len(X))
    if weight is not None and not weight.all():
        row = np.flatnonzero(weight)
        X, weight = X[row], weight[row]
    ranking = rank_rows(X, weight, n_jobs)
    if len(ranking.first) < 2:
        raise EqualRows(
            "All rows of X are equal (or have weight zero): there is no density to "
            "estimate. At least two distinct rows are needed."
        )
    return Sample(X, row, weight, ranking, X.min(axis=0) == X.max(axis=0))


def generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """Make a generator from what scikit-learn accepts as ``random_state``."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed)


def rank_rows(
    X: Reals, weight: Floats | None = None, n_jobs: int | None = None
) -> Ranking:
    """Rank rows by their distance from the weighted mean; ties by content."""
    n = len(X)
    largest = max(map_blocks(lambda rows: np.abs(X[rows]).max(), n, n_jobs=n_jobs))
    scale = float(power_of_two(float(largest)))
    w = np.ones(n) if weight is None else weight
    sums = map_blocks(lambda rows: w[rows] @ _scaled(X[rows], scale), n, n_jobs=n_jobs)
    distance = DistanceFromMean(scale, np.asarray(sum(sums) / w.sum()))
    parts = map_blocks(lambda rows: distance.squared(X[rows]), n, n_jobs=n_jobs)
    position = np.concatenate(list(parts))
    order = np.argsort(position)  # ties are settled next, so any sort will do
    order, is_new = settle_ties(X, position, order)
    rank = np.empty(n, dtype=np.intp)
    rank[order] = np.cumsum(is_new) - 1
    return Ranking(rank, order[is_new])


def settle_ties(X: Reals, position: Floats, order: Integers) -> tuple[Integers, Bools]:
    """Sort rows at one distance by content and flag the first of equal rows.

    ``order`` has the numbers of the rows by their positions, the distances from the
    mean, with ties in any order. Returns the order with ties settled, and whether each
    row of that order differs from the one before.
    """
    same = position[order[1:]] == position[order[:-1]]
    is_new = np.ones(len(order), dtype=bool)
    if same.any():
        tied = np.zeros(len(order), dtype=bool)
        tied[1:] |= same
        tied[:-1] |= same
        rows = order[tied]
        # The last key sorts first.
        keys = (*X[rows].T[::-1], position[rows])
        order = order.copy()
        order[tied] = rows[np.lexsort(keys)]
        later = np.flatnonzero(same) + 1
        is_new[later] = (X[order[later]] != X[order[later - 1]]).any(axis=1)
    return order, is_new


def draw_centers(
    ranking: Ranking, n_centers: int, rng: np.random.Generator
) -> Integers:
    """Numbers of rows, one drawn from each of ``n_centers`` equal strata of the ranks.

    There are at most as many strata as distinct rows.
    """
    edges = np.arange(n_centers + 1) * len(ranking.first) // n_centers
    return ranking.first[rng.integers(edges[:-1], edges[1:])]


def rows_among(X: Reals, points: Floats) -> Integers:
    """Numbers of the rows that are equal to one of some points."""
    _, name = np.unique(np.concatenate([points, X]), axis=0, return_inverse=True)
    name = np.ravel(name)
    return np.flatnonzero(np.isin(name[len(points) :], name[: len(points)]))


def make_folds(
    sample: Sample,
    centers: Integers,
    cv: int | Integers,
    rng: np.random.Generator,
) -> tuple[Integers, int]:
    """Deal a number of validation folds, or keep those given for the data's rows.

    ``cv`` is the number, or the fold that each row of the data is held out with (-1:
    none). Rows of the sample drawn as centres, and their copies, only train. Returns
    the fold of each row of the sample, the number of folds for one that only trains,
    and that number.
    """
    if isinstance(cv, int):
        return deal_folds(sample.ranking, centers, cv, rng)
    return keep_folds(sample.ranking, centers, cv[sample.row])


def deal_folds(
    ranking: Ranking, centers: Integers, n_folds: int, rng: np.random.Generator
) -> tuple[Integers, int]:
    """Deal the distinct rows that are no centres to ``n_folds``; fewer for few rows."""
    n_distinct = len(ranking.first)
    held_out = np.ones(n_distinct, dtype=bool)
    held_out[ranking.rank[centers]] = False
    n_held_out = int(held_out.sum())
    n_folds = min(n_folds, n_held_out)
    fold_of_rank = np.full(n_distinct, n_folds, dtype=np.intp)
    if n_folds:
        # Not in turn along the ranks: held-out rows would be neighbours of training
        # rows, and reward models that follow the chance fluctuations they share.
        fold_of_rank[held_out] = rng.permutation(np.arange(n_held_out) % n_folds)
    return fold_of_rank[ranking.rank], n_folds


def keep_folds(
    ranking: Ranking, centers: Integers, given: Integers
) -> tuple[Integers, int]:
    """Take the fold given for each row (-1: it only trains), but for the centres.

    Only folds that have a row left to hold out are counted.
    """
    trains = np.zeros(len(ranking.first), dtype=bool)
    trains[ranking.rank[centers]] = True
    held_out = (given >= 0) & ~trains[ranking.rank]
    used, number = np.unique(given[held_out], return_inverse=True)
    if len(used) == 0 or (len(used) == 1 and held_out.all()):
        raise ValueError(
            "The splits of cv leave no row to train on or none to judge by; rows drawn "
            "as centres never judge. Give larger folds, or a number of folds."
        )
    fold = np.full(len(given), len(used), dtype=np.intp)
    fold[held_out] = number
    return fold, len(used)
