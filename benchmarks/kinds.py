"""Clusters of many kinds in 4 to 40 features, and rows without clusters.

``benchmarks/coordinates.py --tasks kinds`` clusters them. Each draw of a kind has other
sizes, so that many draws are needed to tell two methods apart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_moons

Drawn = tuple[np.ndarray, np.ndarray]


def unequal_covariances(rng: np.random.Generator) -> Drawn:
    """Gaussians, each of a covariance of its own."""
    k, d, n = rng.integers(2, 7), rng.integers(4, 25), rng.integers(400, 3000)
    y = rng.integers(k, size=n)
    X = np.empty((n, d))
    for i, mean in enumerate(_means(rng, k, d, 5.5)):
        spread = np.exp(rng.normal(0.0, 0.4, d))
        X[y == i] = mean + rng.normal(size=((y == i).sum(), d)) * spread @ _turn(rng, d)
    return X, y


def heavy_tails(rng: np.random.Generator) -> Drawn:
    """Student's t with five degrees of freedom in each direction, features mixed."""
    k, d, n = rng.integers(2, 7), rng.integers(4, 25), rng.integers(400, 3000)
    y = rng.integers(k, size=n)
    X = _means(rng, k, d, 6.0)[y] + rng.standard_t(5, size=(n, d))
    return X @ _mix(rng, d), y


def skewed(rng: np.random.Generator) -> Drawn:
    """As unequal covariances, with the exponential of some features."""
    X, y = unequal_covariances(rng)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    some = rng.random(X.shape[1]) < 0.4
    X[:, some] = np.exp(0.6 * X[:, some])
    return X, y


def rounded(rng: np.random.Generator) -> Drawn:
    """As unequal covariances, in steps of half a deviation."""
    X, y = unequal_covariances(rng)
    return np.round(2.0 * X), y


def hidden(rng: np.random.Generator) -> Drawn:
    """Gaussians of unequal size, apart in three directions of 10 to 39 correlated."""
    k, d, n = rng.integers(2, 6), rng.integers(10, 40), rng.integers(500, 3000)
    share = 0.2 / k + 0.8 * rng.dirichlet(np.full(k, 1.5))
    y = rng.choice(k, n, p=share)
    X = rng.normal(size=(n, d))
    X[:, :3] += _means(rng, k, 3, 5.0)[y]
    return X @ _mix(rng, d), y


def moons(rng: np.random.Generator) -> Drawn:
    """Two moons in a plane among 4 to 7 features."""
    X, y = make_moons(
        rng.integers(600, 3000), noise=0.07, random_state=int(rng.integers(1 << 20))
    )
    return _beside_noise(rng, X, 0.15), y


def rings(rng: np.random.Generator) -> Drawn:
    """Three rings side by side in a plane among 4 to 7 features."""
    n = rng.integers(600, 3000)
    y, angle = rng.integers(3, size=n), rng.uniform(0.0, 2.0 * np.pi, n)
    middle = np.array([[0.0, 0.0], [3.0, 0.0], [1.5, 2.6]])
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + middle[y]
    return _beside_noise(rng, X + 0.08 * rng.normal(size=(n, 2)), 0.3), y


def segments(rng: np.random.Generator) -> Drawn:
    """Three to seven thick segments in eight features; some of them may cross."""
    k, n = rng.integers(3, 8), rng.integers(600, 3000)
    y, t = rng.integers(k, size=n), rng.random((n, 1))
    start, end = rng.uniform(-4.0, 4.0, (2, k, 8))
    return start[y] * (1.0 - t) + end[y] * t + 0.25 * rng.normal(size=(n, 8)), y


def nothing(rng: np.random.Generator) -> Drawn:
    """Rows without clusters, of one of nine laws."""
    d, n = rng.integers(2, 25), rng.integers(200, 3000)
    Z = rng.normal(size=(n, d))
    laws: list[Callable[[], np.ndarray]] = [
        lambda: rng.exponential(size=(n, d)),
        lambda: np.exp(0.7 * Z @ _mix(rng, d)),
        lambda: Z * np.exp(0.7 * rng.normal(size=(n, 1))),
        lambda: rng.random((n, d)) @ rng.normal(size=(d, d)),
        lambda: np.column_stack([Z[:, 0], Z[:, 1:] + 0.5 * Z[:, :1] ** 2]),
        lambda: Z[:, :2] @ rng.normal(size=(2, d)) + 0.3 * rng.normal(size=(n, d)),
        lambda: (
            Z[:, :5] / np.linalg.norm(Z[:, :5], axis=1, keepdims=True) + 0.05 * Z[:, :5]
        ),
        lambda: np.abs(Z),
        lambda: rng.beta(0.8, 1.5, size=(n, d)),
    ]
    return laws[rng.integers(len(laws))](), np.zeros(n, dtype=np.intp)


def bent(rng: np.random.Generator) -> Drawn:
    """One cluster: a half to the whole of a ring, in a plane among 5 to 9 features."""
    n, share = rng.integers(400, 2500), rng.uniform(0.5, 1.0)
    angle = rng.uniform(0.0, 2.0 * np.pi * share, n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X += rng.uniform(0.1, 0.4) * rng.normal(size=(n, 2))
    noise = 0.3 * rng.normal(size=(n, rng.integers(3, 8)))
    X = np.column_stack([X, noise])
    return X @ _turn(rng, X.shape[1]), np.zeros(n, dtype=np.intp)


#: Kinds by what they are called on the page.
KINDS = {
    "unequal covariances": unequal_covariances,
    "heavy tails": heavy_tails,
    "skewed features": skewed,
    "rounded features": rounded,
    "hidden in three directions": hidden,
    "moons among noise": moons,
    "rings among noise": rings,
    "segments": segments,
    "no clusters": nothing,
    "one that is bent": bent,
}


def draw(kind: str, seed: int) -> Drawn:
    """Rows (n, d) of a kind and the cluster of each."""
    return KINDS[kind](np.random.default_rng([seed, list(KINDS).index(kind)]))


def _means(rng: np.random.Generator, k: int, d: int, apart: float) -> np.ndarray:
    """Means (k, d), the nearest two so far apart."""
    means = rng.normal(size=(k, d))
    distance = np.linalg.norm(means[:, None] - means, axis=2)
    return np.asarray(means * apart / distance[np.triu_indices(k, 1)].min())


def _turn(rng: np.random.Generator, d: int) -> np.ndarray:
    """A random rotation."""
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def _mix(rng: np.random.Generator, d: int) -> np.ndarray:
    """A random linear map that makes features go together."""
    return np.asarray(rng.normal(size=(d, d)) / np.sqrt(d) + 0.5 * np.eye(d))


def _beside_noise(rng: np.random.Generator, X: np.ndarray, spread: float) -> np.ndarray:
    """Rows in a plane, turned among two to five features of noise."""
    noise = spread * rng.normal(size=(len(X), rng.integers(2, 6)))
    X = np.column_stack([X, noise])
    return np.asarray(X @ _turn(rng, X.shape[1]))
