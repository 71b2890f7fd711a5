r"""Penalties: from moments to coefficients. They see G and h, never the data.

The ridge minimises :math:`\theta^T G \theta + 2 \theta^T h + \lambda s\,
\theta^T \theta` for every task, where s is the scale of G: lambda is a pure number
and means the same at every width. With one width sigma and shared coefficients
s = 1 / sigma^2, so the paper's lambda is this one divided by sigma^2.

The l1 penalty has :math:`\lambda s \|\theta\|_1` instead (section 4.3); those that tie
tasks together are in :mod:`modeseek.gradient.extensions.multitask`.

A penalty is a function of G, h, the scales and the candidates that gives coefficients;
an entry of :data:`PENALTIES` makes it a choice. ``docs/adding_a_penalty.md`` adds one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import nnls
from sklearn.linear_model import lars_path_gram

from modeseek.gradient.extensions.multitask import (
    center_path,
    feature_path,
    feature_response,
    mean_scale,
)
from modeseek.gradient.moments import Moments
from modeseek.rows.arrays import Floats
from modeseek.rows.blocks import one_blas_thread

#: G (tasks, b, b), or (1, b, b) where all tasks have the same; h (tasks, b); scales of
#: G (tasks,); candidate penalties (a, ...) -> coefficients (tasks, b, a).
Penalty: TypeAlias = Callable[[Floats, Floats, Floats, Floats], Floats]

#: Ridge, relative to the scale of G, that the l1 path keeps beside its own penalty:
#: without any, its solution need not be unique.
LEAST_RIDGE = 1e-6

#: Most knots of an l1 path, for each centre.
KNOTS_PER_CENTER = 50

#: Relative change of h that parts ties: LARS lets one coefficient enter at a time.
JITTER = 1e-10

#: Coefficients of an l1 path below this, in the largest, are zeros of rounding.
ZERO = 1e-9

#: Step along h by which the response of the coefficients is measured, relative to h.
RESPONSE_STEP = 1e-5


def ridge_path(G: Floats, h: Floats, scales: Floats, lams: Floats) -> Floats:
    """Coefficients of every penalty, from one eigendecomposition per G.

    Arguments and result are those of every :data:`Penalty`; the scales are those of
    :func:`modeseek.gradient.moments.task_scales`.
    """
    return -_solve_ridge(G, h[:, :, None], scales[:, None, None] * lams)


def ridge_by_factors(G: Floats, h: Floats, scales: Floats, lams: Floats) -> Floats:
    """Coefficients of every penalty, from a Cholesky factor for each.

    The same as :func:`ridge_path` up to rounding. A factor takes a fifteenth of the
    time of eigenvectors, so it is faster for a few penalties; none of them may be so
    small that rounding makes G indefinite.
    """
    theta = np.empty((*h.shape, len(lams)))
    for t, scale in enumerate(scales):
        for a, lam in enumerate(lams):
            A = G[t % len(G)] + lam * scale * np.eye(h.shape[1])
            theta[t, :, a] = -cho_solve(cho_factor(A, check_finite=False), h[t])
    return theta


def _solve_ridge(G: Floats, right: Floats, ridge: Floats) -> Floats:
    """Return (G + ridge)^-1 right (tasks, b, r), for a ridge (tasks, 1, r or 1)."""
    values, U = np.linalg.eigh(G)
    values = np.maximum(values, 0.0)  # G is a Gram matrix; below zero is rounding
    projected = U.transpose(0, 2, 1) @ right
    return np.asarray(U @ (projected / (values[:, :, None] + ridge)))


def l1_knots(G: Floats, h: Floats, least: float = 0.0) -> tuple[Floats, Floats]:
    r"""Entire l1 path of one task: the minimum is linear between its knots.

    Minimises :math:`\theta^T G \theta + 2 \theta^T h + \lambda \|\theta\|_1` for every
    lambda down to ``least``, by scikit-learn's LARS on the Gram matrix G (b, b), which
    must be positive definite. Returns the penalties (knots,), descending from the first
    at which a coefficient is not zero, and the coefficients there (knots, b).
    """
    if not h.any():
        return np.zeros(1), np.zeros((1, len(h)))
    noise = np.random.default_rng(0).uniform(-JITTER, JITTER, len(h))
    # LARS compares with absolute numbers: let the largest of G and of h be 1.
    unit, size = np.abs(h).max(), G.diagonal().max()
    half_lams, _, coefs = lars_path_gram(
        Xy=-h / unit * (1.0 + noise),
        Gram=G / size,
        n_samples=1,
        method="lasso",
        alpha_min=0.5 * least / unit,
        max_iter=KNOTS_PER_CENTER * len(h),
    )
    half_lams, coefs = unit * half_lams, unit / size * coefs
    # A coefficient that leaves does so at a knot, where LARS has it up to rounding.
    theta = np.where(np.abs(coefs) > ZERO * np.abs(coefs).max(), coefs, 0.0).T
    return 2.0 * half_lams, theta


def l1_path(G: Floats, h: Floats, scales: Floats, lams: Floats) -> Floats:
    """Coefficients of every l1 penalty, read off the path of each task."""
    theta = np.empty((*h.shape, len(lams)))
    for t, scale in enumerate(scales):
        A = l1_gram(G[t % len(G)], scale)
        wanted = lams * scale
        knots, at_knots = l1_knots(A, h[t], float(wanted.min()))
        # np.interp wants ascending knots; beyond the first all is zero, as there.
        for i, values in enumerate(at_knots[::-1].T):
            theta[t, i] = np.interp(wanted, knots[::-1], values)
    return theta


def l1_paths(
    moments: Moments, scales: Floats, least: float = 0.0
) -> list[tuple[Floats, Floats]]:
    """Knots of every task, their penalties relative to the scale of G."""
    G, h = moments.mean()
    paths = []
    for t, scale in enumerate(scales):
        A = l1_gram(G[t % len(G)], scale)
        lams, theta = l1_knots(A, h[t], least * scale)
        paths.append((lams / scale, theta))
    return paths


def l1_gram(G: Floats, scale: float) -> Floats:
    """G with the small ridge that makes its l1 path unique."""
    return np.asarray(G + LEAST_RIDGE * scale * np.eye(len(G)))


def positive_ridge_path(G: Floats, h: Floats, scales: Floats, lams: Floats) -> Floats:
    """Ridge among coefficients that are not negative, by Lawson and Hanson's NNLS."""
    theta = np.empty((*h.shape, len(lams)))
    for t, scale in enumerate(scales):
        for a, lam in enumerate(lams):
            A = G[t % len(G)] + lam * scale * np.eye(h.shape[1])
            theta[t, :, a] = _least_not_negative(A, h[t])
    return theta


def positive_l1_path(G: Floats, h: Floats, scales: Floats, lams: Floats) -> Floats:
    """The l1 penalty among coefficients that are not negative: linear, so NNLS too.

    LARS has a form for it, which leaves the minimum where the path gets dense.
    """
    theta = np.empty((*h.shape, len(lams)))
    for t, scale in enumerate(scales):
        A = l1_gram(G[t % len(G)], scale)
        for a, lam in enumerate(lams):
            theta[t, :, a] = _least_not_negative(A, h[t] + 0.5 * lam * scale)
    return theta


def _least_not_negative(A: Floats, h: Floats) -> Floats:
    """Minimum of theta'A theta + 2 theta'h over theta >= 0."""
    values, U = np.linalg.eigh(A)
    # By rounding alone A may be indefinite.
    root = np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1]))
    return np.asarray(nnls(root[:, None] * U.T, -(U.T @ h) / root)[0])


#: Penalties by name: a new one is a function and an entry here.
PENALTIES: dict[str, Penalty] = {
    "ridge": ridge_path,
    "l1": l1_path,
    "features": feature_path,
    "centers": center_path,
}

#: The same among coefficients that are not negative.
POSITIVE_PENALTIES: dict[str, Penalty] = {
    "ridge": positive_ridge_path,
    "l1": positive_l1_path,
}

#: Penalties that only say something about several tasks at once.
NEED_TASKS = frozenset({"features", "centers"})

#: Penalties that iterate: they take the width that the ridge chose.
ITERATIVE = frozenset({"features", "centers"})


def quadratic_loss(G: Floats, h: Floats, theta: Floats) -> Floats:
    """Squared loss of coefficients (tasks, b, a), summed over tasks, shape (a,).

    It is up to the constant that no model changes.
    """
    return np.asarray(
        np.einsum("tba,tba->a", theta, G @ theta + 2.0 * h[:, :, None]),
    )


@one_blas_thread()
def solve(
    moments: Moments,
    scales: Floats,
    lam: float | Floats,
    penalty: Penalty = ridge_path,
) -> Floats:
    """Coefficients of one penalty from the moments of all rows, shape (tasks, b)."""
    return penalty(*moments.mean(), scales, np.asarray(lam)[None])[:, :, 0]


@one_blas_thread()
def response(
    moments: Moments,
    scales: Floats,
    lam: float | Floats,
    penalty: Penalty,
    directions: Floats,
) -> Floats:
    """How coefficients fall as h grows along directions (tasks, b, r).

    For the ridge it is (G + ridge)^-1 directions. Penalties without a closed form are
    solved again a small step up and down each direction.
    """
    G, h = moments.mean()
    if penalty is ridge_path:
        return _solve_ridge(G, directions, np.asarray(lam) * scales[:, None, None])
    candidates = np.asarray(lam)[None]
    if penalty in (feature_path, center_path):
        theta = penalty(G, h, scales, candidates)[:, :, 0]
        gamma, diagonal = float(lam) * mean_scale(h, scales), penalty is center_path
        return feature_response(G, theta, gamma, directions, diagonal=diagonal)
    result = np.zeros_like(directions)
    size = np.linalg.norm(h)
    for r in range(directions.shape[2]):
        along = directions[:, :, r]
        unit = np.abs(along).max()  # squares of small ones would underflow
        if unit == 0.0:
            continue
        along = along / unit
        step = RESPONSE_STEP * size / np.linalg.norm(along)
        up, down = (
            penalty(G, h + t * along, scales, candidates) for t in (step, -step)
        )
        result[:, :, r] = (down - up)[:, :, 0] / (2.0 * step) * unit
    return result
