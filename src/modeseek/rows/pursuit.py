r"""Projection pursuit: directions along which the density of rows has a valley.

The pursuit maximises, over directions w of whitened rows x and thresholds t,

.. math:: J(w, t) = E|w'x - t| - e(t), \qquad
    e(t) = 2 \varphi(t) + t (2 \Phi(t) - 1),

which is zero for a Gaussian and positive where rows lie on two sides of t. It grows
linearly, so outliers count little, and its gradient is a difference of two means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from modeseek.rows.arrays import Floats
from modeseek.rows.components import whitening_axes

#: Starts of the pursuit: components, features, random directions.
COMPONENT_STARTS, FEATURE_STARTS, RANDOM_STARTS = 10, 10, 6

#: Ends that are kept after the first steps, and those whose valleys are compared.
KEPT_ENDS, COMPARED_ENDS = 8, 4

#: Steps before and after the best ends are kept.
FIRST_STEPS, LAST_STEPS = 3, 12

#: All have arrived if a step changes J by less: chance does so by 0.01 in 4,096 rows.
LEAST_CHANGE = 1e-3

#: Features and starts of less length in the components at hand are not pursued.
LEAST_SHARE = 0.1

#: Thresholds that are tried, in standard deviations, and e(t) there.
THRESHOLDS = np.linspace(-1.2, 1.2, 7)
GAUSSIAN_MEANS = THRESHOLDS * (2.0 * ndtr(THRESHOLDS) - 1.0) + 2.0 * np.exp(
    -(THRESHOLDS**2) / 2.0
) / np.sqrt(2.0 * np.pi)

#: Points of a one-dimensional density, and the quantiles between which they lie.
GRID_POINTS, GRID_QUANTILES = 256, (0.005, 0.995)

#: A valley is one if so many standard deviations of its counts are missing in it.
LEAST_DEPTH = 0.05


class Valley(NamedTuple):
    """Lowest point between two modes of a one-dimensional density."""

    left: float  # the modes ...
    bottom: float  # ... and the lowest point between
    right: float
    depth: float  # standard deviations of the counts by which rows are missing


def find_valley(u: Floats) -> Valley | None:
    """Clearest valley of a kernel density estimate of coordinates (n,), if any."""
    u = np.sort(u)
    levels = (GRID_QUANTILES[0], 0.25, 0.75, GRID_QUANTILES[1])
    low, lower, upper, high = u[(np.array(levels) * len(u)).astype(int)]
    spread = min(u.std(), (upper - lower) / 1.35) or u.std()
    width = 0.9 * spread * len(u) ** -0.2  # Silverman's rule
    step = (high - low) / (GRID_POINTS - 1)
    if not step > 0:
        return None
    inside = u[(u >= low) & (u <= high)]
    count = np.bincount(np.rint((inside - low) / step).astype(int))
    reach = int(min(np.ceil(4.0 * width / step), GRID_POINTS - 1))
    kernel = np.exp(-0.5 * np.square(np.arange(-reach, reach + 1) * step / width))
    density = np.convolve(count, kernel)[reach : reach + GRID_POINTS] + 1e-9
    rim = np.minimum(
        np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1]
    )
    depth = (rim - density) / np.sqrt(rim + density)
    bottom = int(depth.argmax())
    if depth[bottom] < LEAST_DEPTH:
        return None
    left, right = density[: bottom + 1].argmax(), bottom + density[bottom:].argmax()
    left, middle, right = (low + step * int(at) for at in (left, bottom, right))
    return Valley(left, middle, right, float(depth[bottom]))


def find_directions(Z: Floats, rng: np.random.Generator) -> list[Floats]:
    """Directions (d,) of standardised rows Z with a clear valley, in three ways.

    A component or a feature as it is; the pursuit; and the pursuit among components of
    more than average variance, if there are several, which has less room to follow
    chance. Coordinates along a direction have unit variance.
    """
    whiten = whitening_axes(Z)
    X = Z @ whiten.T
    X -= X.mean(axis=0)
    variance = 1.0 / np.square(whiten).sum(axis=1)
    start = _starts(X, (whiten * variance[:, None]).T, rng)
    found = [_clearest(X, start) @ whiten, _clearest(X, _pursue(X, start)) @ whiten]
    q = int((variance > Z.var(axis=0).mean()).sum())
    if not 1 < q < len(variance):
        return [*found, found[1]]
    X = np.ascontiguousarray(X[:, :q])
    return [*found, _clearest(X, _pursue(X, _unit(start[:, :q]))) @ whiten[:q]]


def _starts(X: Floats, features: Floats, rng: np.random.Generator) -> Floats:
    """Components and features, those with the largest J, and random directions."""
    noise = rng.standard_normal((X.shape[1], RANDOM_STARTS)).T
    start = [
        _of_largest_index(X, np.eye(X.shape[1]), COMPONENT_STARTS),
        _of_largest_index(X, _unit(features), FEATURE_STARTS),
        _unit(noise),
    ]
    return np.concatenate(start)


def _unit(W: Floats) -> Floats:
    """Directions (s, d) of unit length; those that are too short are left out."""
    length = np.linalg.norm(W, axis=1)
    kept = length > LEAST_SHARE
    return np.asarray(W[kept] / length[kept, None])


def _of_largest_index(X: Floats, W: Floats, most: int) -> Floats:
    """The directions with the largest J, in their order."""
    best = np.argsort(-_index(W @ X.T)[0], kind="stable")[:most]
    return np.asarray(W[np.sort(best)])


def _index(U: Floats) -> tuple[Floats, Floats]:
    """J of coordinates (s, n) along each direction at its best threshold, and that."""
    J = np.empty((len(THRESHOLDS), len(U)))
    distance, share = np.empty_like(U), np.full(U.shape[1], 1.0 / U.shape[1])
    for i, t in enumerate(THRESHOLDS):
        np.subtract(U, t, out=distance)
        np.abs(distance, out=distance)
        J[i] = distance @ share - GAUSSIAN_MEANS[i]
    best = J.argmax(axis=0)
    return J[best, np.arange(len(U))], THRESHOLDS[best]


def _pursue(X: Floats, W: Floats) -> Floats:
    """Climb J from every start (s, d); the best ends."""
    W = _climb(X, W, FIRST_STEPS)
    best = np.argsort(-_index(W @ X.T)[0], kind="stable")[:KEPT_ENDS]
    return _climb(X, W[best], LAST_STEPS)


def _climb(X: Floats, W: Floats, n_steps: int) -> Floats:
    """Approximate Newton steps on the sphere, quartered where they do not climb."""
    W, U = W.copy(), W @ X.T
    J, t = _index(U)
    share = np.ones(len(W))
    for _ in range(n_steps):
        beside = U - t[:, None]
        slope = np.sign(beside) @ X / len(X)
        along = (slope * W).sum(axis=1)
        density = (np.abs(beside) < 0.25).mean(axis=1) / 0.5
        step = share / np.maximum(along - 2.0 * density, 0.25)
        there = W + step[:, None] * (slope - along[:, None] * W)
        there /= np.linalg.norm(there, axis=1, keepdims=True)
        U_there = there @ X.T
        J_there, t_there = _index(U_there)
        up, change = J_there > J, np.abs(J_there - J)
        share = np.where(up, 1.0, 0.25 * share)
        W[up], U[up], J[up], t[up] = there[up], U_there[up], J_there[up], t_there[up]
        if change.max() < LEAST_CHANGE:
            break
    return W


def _clearest(X: Floats, W: Floats) -> Floats:
    """The direction with the clearest valley, among those of largest J."""
    U = W @ X.T
    best = np.argsort(-_index(U)[0], kind="stable")[:COMPARED_ENDS]
    valleys = [find_valley(U[i]) for i in best]
    depth = [-1.0 if valley is None else valley.depth for valley in valleys]
    return np.asarray(W[best[int(np.argmax(depth))]])
