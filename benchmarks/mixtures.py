"""Gaussian clusters of one covariance, in features that show them well or badly.

``benchmarks/coordinates.py --tasks mixtures`` clusters them. The nearest two of the
means are five standard deviations apart, in units of the covariance within clusters, so
that a Bayes classifier has an adjusted Rand index of 0.95 or more. Those that overlap
are round, around places in a cube, and so wide that the nearest mean has an index of
0.9: the nearest two may have no valley between them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin

#: Deviations between the nearest means.
APART = 5.0


class Mixture(NamedTuple):
    """How rows are drawn."""

    kind: str
    n_clusters: int
    n_features: int
    n_rows: int


#: Round clusters; in three directions among noise, turned; of unequal sizes; with
#: features that go together; and two along the thinnest direction of their covariance.
KINDS = (
    "round",
    "three directions",
    "unequal",
    "correlated",
    "thin pair",
    "overlapping",
)

SIZES = ((3, 10, 1000), (5, 20, 2000), (5, 50, 2000), (10, 10, 3000), (10, 30, 3000))
PAIRS = ((2, 5, 500), (2, 10, 1000), (2, 20, 2000))
MANY = ((5, 5, 2000), (10, 10, 3000), (10, 20, 5000), (20, 10, 5000), (20, 20, 10_000))

#: Index of the nearest mean where clusters overlap.
OVERLAPPING = 0.9


def all_mixtures() -> list[Mixture]:
    """Every kind in every size."""
    return [
        Mixture(kind, *size)
        for kind in KINDS
        for size in {"thin pair": PAIRS, "overlapping": MANY}.get(kind, SIZES)
    ]


def draw(mixture: Mixture, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) and the cluster of each."""
    kind, k, d, n = mixture
    rng = np.random.default_rng(seed)
    if kind == "overlapping":
        return draw_overlapping(n, rng.random((k, d)), rng)
    share = 1.0 if kind == "unequal" else 5.0
    weights = 0.2 / k + 0.8 * rng.dirichlet(np.full(k, share))
    y = rng.choice(k, n, p=weights)
    means = np.zeros((k, d))
    q = {"three directions": 3, "thin pair": 1}.get(kind, d)
    means[:, :q] = rng.normal(size=(k, q))
    apart = np.linalg.norm(means[:, None] - means, axis=2)
    means *= APART / apart[np.triu_indices(k, 1)].min()
    X = rng.normal(size=(n, d)) + means[y]
    if kind == "correlated":
        X = X @ (rng.normal(size=(d, d)) / np.sqrt(d) + 0.3 * np.eye(d))
    elif kind == "thin pair":
        X *= np.geomspace(0.1, 3.0, d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return X if kind in ("round", "unequal") else X @ turn, y


def draw_overlapping(
    n: int, means: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Round Gaussians so wide that the nearest mean has a certain index."""
    y, noise = (
        rng.integers(len(means), size=n),
        rng.standard_normal((n, means.shape[1])),
    )
    few = min(n, 20_000)
    low, high = 0.0, 1.0
    for _ in range(30):
        deviation = (low + high) / 2
        X = means[y[:few]] + deviation * noise[:few]
        nearest = pairwise_distances_argmin(X, means)
        if adjusted_rand_score(y[:few], nearest) > OVERLAPPING:
            low = deviation
        else:
            high = deviation
    return means[y] + low * noise, y
