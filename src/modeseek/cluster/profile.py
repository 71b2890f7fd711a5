"""Sizes and means of clusters, for any cut of the tree, and what sets them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from modeseek.rows.arrays import Floats, Integers, Reals
from modeseek.rows.blocks import map_blocks
from modeseek.rows.coordinates import Frame

#: Rows that are summed at a time.
ROWS_AT_A_TIME = 65_536

#: Features that are said to set a cluster apart: at most so many, and none whose mean
#: is nearer to that of all rows, in standard deviations.
MOST_SAID, LEAST_SAID = 3, 0.3


class Profile(NamedTuple):
    """Sums over the rows of every mode, from which those of any cluster follow.

    They are of standardised features: each less its mean, by its deviation; all zero
    where a feature is constant.
    """

    size: Floats  # (k,) rows, or their weight
    sums: Floats  # (k, d)
    squares: Floats  # (k, d)
    mean: Floats  # (d,) of all rows, in the data's unit
    deviation: Floats  # (d,)

    def means(self, labels: Integers) -> Floats:
        """Mean of every cluster (n_clusters, d), given the cluster of each mode.

        NaN where a cluster has no rows.
        """
        member = np.zeros((int(labels.max()) + 1, len(labels)))
        member[labels, np.arange(len(labels))] = 1.0
        size = (member @ self.size)[:, None]
        empty = np.full((len(member), self.sums.shape[1]), np.nan)
        return np.asarray(
            np.divide(member @ self.sums, size, out=empty, where=size > 0)
        )

    def separating(self, labels: Integers, most: int) -> Integers:
        """Features, in order, that differ most between the clusters of the modes."""
        size = np.bincount(labels, weights=self.size).astype(np.float64)
        return telling_features(np.nan_to_num(self.means(labels)), size, most)


def profile_rows(
    frame: Frame,
    rows: Reals,
    modes: Integers,
    n_modes: int,
    weight: Floats | None = None,
    n_jobs: int | None = None,
) -> Profile:
    """Sum up rows (n, d) by the modes (n,) that they reach.

    In the frame, of shift and scale alone, numbers are near 1 whatever their unit.
    """
    frame = frame.of_features()
    count, d = np.bincount(modes, weights=weight, minlength=n_modes), rows.shape[1]
    sums, squares = np.zeros((n_modes, d)), np.zeros((n_modes, d))

    def kernel(part: slice) -> tuple[Floats, Floats]:
        Z, m = frame.enter(rows[part]), len(modes[part])
        weights = np.ones(m) if weight is None else weight[part]
        member = csr_array((weights, (modes[part], np.arange(m))), shape=(n_modes, m))
        return member @ Z, member @ np.square(Z, out=Z)

    for part in map_blocks(kernel, len(rows), n_jobs=n_jobs, size=ROWS_AT_A_TIME):
        sums += part[0]
        squares += part[1]
    mean = sums.sum(axis=0) / count.sum()
    spread = np.sqrt(np.maximum(squares.sum(axis=0) / count.sum() - mean**2, 0.0))
    spread[spread <= 1e-7 * np.abs(mean)] = 0.0  # rounding of a constant feature
    # Now of (z - mean) / spread.
    divisor, n = np.where(spread > 0, spread, np.inf), count[:, None]
    squares += mean * (n * mean - 2.0 * sums)
    squares = np.maximum(squares, 0.0) / divisor / divisor
    sums = (sums - n * mean) / divisor
    mean, deviation = frame.leave(mean), spread * frame.unit
    return Profile(count.astype(np.float64), sums, squares, mean, deviation)


def telling_features(means: Floats, size: Floats, most: int) -> Integers:
    """Features, by their column, whose means differ most between clusters.

    ``means`` (n_clusters, d) are those of the standardised features, ``size``
    (n_clusters,) the rows of each cluster. No more than ``most`` come back, in order.
    """
    between = size @ means**2
    return np.sort(np.argsort(-between, kind="stable")[:most])


def say_what_sets_apart(means: Floats, names: Sequence[str]) -> list[str]:
    """Features that set each cluster apart, such as "hue -1.1 sd, ash +0.6 sd".

    ``means`` (n_clusters, d) are those of the standardised features: in standard
    deviations, from the mean of all rows. A cluster like all rows gets no words.
    """
    means = np.nan_to_num(means)
    most = np.argsort(-np.abs(means), axis=1, kind="stable")[:, :MOST_SAID]
    return [
        ", ".join(
            f"{names[j]} {mean[j]:+.1f} sd" for j in said if abs(mean[j]) >= LEAST_SAID
        )
        for mean, said in zip(means, most, strict=True)
    ]


def name_features(
    model: BaseEstimator, d: int, names: Sequence[str] | None
) -> list[str]:
    """Names of the d features: as given, as in the fit, or numbers."""
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"feature {j}" for j in range(d)]
    if len(names) != d:
        raise ValueError(
            f"feature_names has {len(names)} names, but X has {d} features."
        )
    return [str(name) for name in names]


Profile.__module__ = "modeseek.cluster"  # model files name it so
