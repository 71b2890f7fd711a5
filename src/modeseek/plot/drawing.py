"""What plots and web page share: markers, names, projections, selections of rows.

No drawing happens here; nothing here needs a plotting library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA

from modeseek.rows.arrays import Floats, Integers

#: Okabe and Ito's colours that can be read on white, and one of Tol's. Neighbours in
#: the list differ in lightness, for print in grey. :func:`palette` goes on.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#882255", "#56B4E9", "#D55E00")

#: Further colours, in OKLCH: lightness and chroma in turn, and the angle of hue from
#: one round to the next, the golden one, which comes back to no hue that was there.
FURTHER = ((0.64, 0.16), (0.44, 0.12), (0.78, 0.12), (0.54, 0.07))
TURN = np.deg2rad(137.508)

#: Hue of the first, and angle between those of a round: found by trial such that the
#: nearest two colours of the first 24, and of 60, are far apart.
START, APART = 5.4, 2.9

#: Markers, in matplotlib's and in plotly's names.
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


def palette(n: int) -> list[str]:
    """Colours of n clusters, all different: :data:`COLORS`, then further ones."""
    i = np.arange(max(0, n - len(COLORS)))
    lightness, chroma = np.array(FURTHER)[i % len(FURTHER)].T
    hue = START + TURN * (i // len(FURTHER)) + APART * (i % len(FURTHER))
    a, b = chroma * np.cos(hue), chroma * np.sin(hue)
    # Bjoern Ottosson's OKLab: cone responses, and linear sRGB from their cubes.
    cones = np.stack(
        [
            lightness + 0.3963377774 * a + 0.2158037573 * b,
            lightness - 0.1055613458 * a - 0.0638541728 * b,
            lightness - 0.0894841775 * a - 1.2914855480 * b,
        ]
    )
    to_rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear = np.clip(to_rgb @ cones**3, 0.0, 1.0)
    dark = linear <= 0.0031308
    curved = np.where(dark, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    bytes_of = np.rint(255 * curved).astype(int).T
    return [*COLORS[:n], *(f"#{r:02X}{g:02X}{b:02X}" for r, g, b in bytes_of)]


def check_places(embedding: ArrayLike, n: int, name: str = "embedding") -> Floats:
    """Check places of n rows on a map, shape (n, 2)."""
    places = np.asarray(embedding)
    if places.shape != (n, 2) or places.dtype.kind not in "fiu":
        raise ValueError(
            f"{name} must be {n} x 2 numbers, a place for each row of X; got "
            f"{places.dtype} of shape {places.shape}."
        )
    if not np.isfinite(places).all():
        raise ValueError(f"{name} must be finite: some of its places are not.")
    return places.astype(np.float64)


def check_cluster_names(
    names: Mapping[int, str] | Sequence[str] | None, n_clusters: int
) -> dict[int, str]:
    """Check names of clusters, of all in their order or of some by their number."""
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        if isinstance(names, str) or len(names) != n_clusters:
            raise ValueError(
                f"cluster_names must be {n_clusters} names, one for each cluster, or a "
                f"mapping from some of them; got {names!r}."
            )
        names = dict(enumerate(names))
    wrong = [k for k in names if k not in range(n_clusters)]
    if wrong:
        raise ValueError(
            f"cluster_names has names of clusters 0 to {n_clusters - 1}; got one of "
            f"{wrong[0]!r}."
        )
    return {int(k): str(name) for k, name in names.items()}


def varying_features(rows: Floats) -> Integers:
    """Features, by their column, that are not constant; all if every one is."""
    found = np.flatnonzero(rows.min(axis=0) < rows.max(axis=0))
    return found if len(found) else np.arange(rows.shape[1])


def jittered(rows: Floats, step: Floats, rng: np.random.Generator) -> Floats:
    """Rows whose rounded values are spread over most of their steps, to be seen.

    ``step`` (d,) is what each feature is rounded to, 0 where it is not.
    """
    return np.asarray(rows + 0.8 * step * (rng.random(rows.shape) - 0.5))


def plane_of_clusters(Z: Floats, labels: Integers) -> Floats | None:
    """Two directions in which clusters lie apart, shape (2, c); None if there are none.

    ``Z`` (m, c) are rows in coordinates of equal rank and ``labels`` (m,) their
    clusters, of which noise is none. The first directions are those of the largest
    scatter of the clusters' means by that of rows within clusters; with two clusters,
    the second is that of the largest scatter across the first.
    """
    Z, labels = Z[labels >= 0], labels[labels >= 0]
    distinct, at = np.unique(labels, return_inverse=True)
    if Z.shape[1] < 2 or len(distinct) < 2:
        return None
    size = np.bincount(at).astype(np.float64)
    means = np.stack([Z[at == k].mean(axis=0) for k in range(len(size))])
    inside = (Z - means[at]).T @ (Z - means[at]) / len(Z)
    spread = np.trace(inside) / len(inside)
    if spread <= 1e-12 * Z.var(axis=0).mean():  # copies of a few rows
        return None
    # A tenth of the mean scatter is added, as directions of hardly any say nothing.
    values, vectors = np.linalg.eigh(inside + 0.1 * spread * np.eye(len(inside)))
    whiten = vectors / np.sqrt(values)
    between = np.sqrt(size)[:, None] * (means - Z.mean(axis=0)) @ whiten
    axes = np.linalg.svd(between, full_matrices=False)[2][: min(2, len(size) - 1)]
    axes = np.linalg.qr((axes @ whiten.T).T)[0].T
    if len(axes) < 2:
        rest = Z - Z.mean(axis=0) - (Z - Z.mean(axis=0)) @ axes.T @ axes
        axes = np.vstack([axes, np.linalg.svd(rest, full_matrices=False)[2][:1]])
    sign = np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])
    return np.asarray(axes * sign[:, None])


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
