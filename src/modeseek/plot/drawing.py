"""What plots and web page share: markers, names, projections, selections of rows.

No drawing happens here; nothing here needs a plotting library.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA

from modeseek.rows.arrays import Floats, Integers

#: Okabe and Ito's colours that can be read on white, and one of Tol's. Neighbours in
#: the list differ in lightness, for print in grey.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#882255", "#56B4E9", "#D55E00")

#: Markers, in matplotlib's and in plotly's names. Seven colours and eight markers
#: repeat together after 56 clusters only.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
SYMBOLS = (
    *("circle", "square", "triangle-up", "diamond"),
    *("triangle-down", "cross", "x", "triangle-left"),
)

#: Letters of a name where there is little room for it.
NAME_LENGTH = 18

Estimator = TypeVar("Estimator", bound=BaseEstimator)


def without_names(model: Estimator) -> Estimator:
    """Copy a fitted model so that plain arrays raise no warning of missing names."""
    nameless = copy(model)
    if hasattr(nameless, "feature_names_in_"):
        del nameless.feature_names_in_
    return nameless


def shortened(name: str) -> str:
    """A name that fits beside small axes and above a column of numbers."""
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…"


class Components(NamedTuple):
    """Principal components of standardised rows."""

    mean: Floats  # (d,)
    deviation: Floats  # (d,) 1 for constant features
    axes: Floats  # (c, d)
    share: Floats  # (c,) of the variance

    def transform(self, X: Floats) -> Floats:
        """Components of rows, shape (m, c)."""
        return np.asarray((X - self.mean) / self.deviation @ self.axes.T)

    def names(self) -> list[str]:
        """What to call them, with their share of the variance."""
        return [
            f"principal component {j + 1} ({share:.0%})"
            for j, share in enumerate(self.share)
        ]


def principal_axes(X: Floats, n_components: int) -> Components | None:
    """Principal components of the standardised rows; None if all rows are equal.

    There are ``n_components``, but no more than rows or features.
    """
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[X.min(axis=0) == X.max(axis=0)] = 0.0  # but for rounding
    if not deviation.any():
        return None
    deviation = np.where(deviation > 0, deviation, 1.0)
    pca = PCA(min(n_components, *X.shape), random_state=0).fit((X - mean) / deviation)
    return Components(mean, deviation, pca.components_, pca.explained_variance_ratio_)


def sample_each_group(
    group: Integers, n: int, rng: np.random.Generator, least: int
) -> Integers:
    """Choose n rows at random, some of every group; all if there are no more than n.

    ``group`` (n_rows,) numbers the group of each row from 0; a group may be empty. Of
    each, ``least`` rows are chosen if it has so many and n allows it. Their numbers
    come back in order.
    """
    if len(group) <= n:
        return np.arange(len(group))
    shuffled = rng.permutation(len(group))
    by_group = shuffled[np.argsort(group[shuffled], kind="stable")]
    size = np.bincount(group)
    place = np.arange(len(group)) - np.repeat(np.cumsum(size) - size, size)
    # The first rows of every group, in turn, then any others at random.
    first = np.where(place < least, place, least)
    order = np.lexsort((rng.permutation(len(group)), first))
    return np.sort(by_group[order[:n]])


def at_even_pace(paths: Floats, n_frames: int) -> Floats:
    """Points along paths such that every row moves as far in each frame.

    ``paths`` (n_steps + 1, m, d) say where m rows are after every step, in coordinates
    in which lengths make sense. The result is (n_frames, m, d); its first and last
    frame are those of the paths.
    """
    lengths = np.linalg.norm(np.diff(paths, axis=0), axis=2)
    gone = np.concatenate([np.zeros((1, paths.shape[1])), np.cumsum(lengths, axis=0)])
    frames = np.empty((n_frames, *paths.shape[1:]))
    for row in range(paths.shape[1]):
        at = np.linspace(0.0, gone[-1, row], n_frames)
        for j in range(paths.shape[2]):
            frames[:, row, j] = np.interp(at, gone[:, row], paths[:, row, j])
    frames[-1] = paths[-1]
    return frames
