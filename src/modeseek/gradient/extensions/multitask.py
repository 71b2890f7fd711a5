r"""Penalties that tie the tasks, one a feature, together (the paper's section 4.2).

**Regularised multi-task** adds to the ridge of every task

.. math:: \gamma \sum_{j,j'} \gamma_{jj'} \|\theta_j - \theta_{j'}\|^2,

whose solution is analytic: with the Laplacian :math:`L = \mathrm{diag}(\Gamma 1) -
\Gamma` of the similarities, [blockdiag(G_j + lambda_j I) + 2 gamma (L kron I)] vec
Theta = -vec h. At gamma = 0 it is separate ridges; as gamma grows it tends to one
ridge on the sums of G_j, of h_j and of lambda_j: the shared model.

**Feature learning** (Argyriou, Evgeniou, Pontil 2006) adds :math:`\gamma \sum_j
\theta_j^T D^{-1} \theta_j` and minimises over D as well, of trace 1: a full D finds a
few combinations of centres that all tasks use, a diagonal D a few centres. Without D
the penalty is gamma times the square of the trace norm of Theta, or of the sum over
centres of the length of their coefficients.

Like lambda, gamma is relative to the scale of G.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import solve

from modeseek.rows.arrays import Floats

#: Coefficients (tasks, b) -> the root of D (b, b), before its trace is made 1.
Root: TypeAlias = Callable[[Floats], Floats]

#: Feature learning adds this to the squares under its roots: without it a feature that
#: once vanished would stay lost.
SMOOTHING = 1e-8

#: Coefficients of a centre shorter than this many roots of the smoothing are those of
#: a centre that the penalty has dropped.
DROPPED = 10.0

#: Feature learning ends when no coefficient changes by more than this share of the
#: largest, or after so many rounds; the loss falls in every one.
SETTLED, MAX_ROUNDS = 1e-11, 200

#: Rounds that it extrapolates from.
MEMORY = 5


def multitask_path(
    G: Floats,
    h: Floats,
    scales: Floats,
    lams: Floats,
    similarity: Floats | None = None,
    *,
    learn: bool = False,
) -> Floats:
    """Coefficients of every pair (a, 2) of lambda and gamma; a penalty like others.

    Similarities (tasks, tasks) are symmetric, ones by default. To ``learn`` them is to
    solve with ones, take exp(-||theta_j - theta_j'||^2), and solve again.
    """
    active = h.any(axis=1)  # a feature outside the model must not pull the others
    theta = np.zeros((*h.shape, len(lams)))
    if not active.any():
        return theta
    some = G if len(G) == 1 else G[active]
    if similarity is None:
        alike = _solve_alike(some, h[active], scales[active], lams)
        if not learn:
            theta[active] = alike
            return theta
        gammas = [learned_similarity(alike[:, :, a]) for a in range(len(lams))]
    else:
        gammas = [similarity[np.ix_(active, active)]] * len(lams)
    for a, (pair, gamma) in enumerate(zip(lams, gammas, strict=True)):
        theta[active, :, a] = _solve_coupled(
            some, h[active], scales[active], pair, gamma
        )
    return theta


def learned_similarity(theta: Floats) -> Floats:
    """exp(-||theta_j - theta_j'||^2) for coefficients (tasks, b)."""
    apart = theta[:, None] - theta
    return np.asarray(np.exp(-np.einsum("ijb,ijb->ij", apart, apart)))


def mean_scale(h: Floats, scales: Floats) -> float:
    """Mean scale of the tasks that have data; gamma is relative to it."""
    active = h.any(axis=1)
    return float(scales[active].mean()) if active.any() else 1.0


def _solve_alike(G: Floats, h: Floats, scales: Floats, lams: Floats) -> Floats:
    r"""Solution for similarities of one, from an eigendecomposition of each task.

    With :math:`M_j = (G_j + (\lambda_j + 2 \gamma m) I)^{-1}` for m tasks,
    :math:`\theta_j = M_j (2 \gamma \sum \theta - h_j)`, and summing over tasks
    :math:`\frac1m \sum_j M_j (G_j + \lambda_j I) \sum \theta = -\sum_j M_j h_j`: a
    system of b equations instead of m b.
    """
    m, b = h.shape
    values, U = np.linalg.eigh(G)
    values = np.maximum(values, 0.0)
    Ut = U.transpose(0, 2, 1)
    projected = (Ut @ h[:, :, None])[:, :, 0]
    theta = np.empty((m, b, len(lams)))
    for a, (lam, gamma) in enumerate(lams):
        pull = 2.0 * gamma * scales.mean()
        own = values + lam * scales[:, None]  # (m, b)
        inverse = 1.0 / (own + pull * m)
        left = ((U * (own * inverse)[:, None, :]) @ Ut).mean(axis=0)
        right = (U @ (inverse * projected)[:, :, None]).sum(axis=0)
        total = solve(left, -right[:, 0], assume_a="sym")
        own_part = inverse * (pull * (Ut @ total) - projected)
        theta[:, :, a] = (U @ own_part[:, :, None])[:, :, 0]
    return theta


def _solve_coupled(
    G: Floats, h: Floats, scales: Floats, pair: Floats, similarity: Floats
) -> Floats:
    """Solution for any similarities: one system of all coefficients."""
    m, b = h.shape
    lam, gamma = pair
    pull = 2.0 * gamma * scales.mean()
    laplacian = np.diag(similarity.sum(axis=1)) - similarity
    A = np.zeros((m, b, m, b))
    each, every = np.arange(m), np.arange(b)
    A[each, :, each, :] = G
    A[:, every, :, every] += pull * laplacian
    A[each[:, None], every, each[:, None], every] += lam * scales[:, None]
    flat = solve(A.reshape(m * b, m * b), -h.ravel(), assume_a="pos")
    return np.asarray(flat.reshape(m, b))


def feature_path(G: Floats, h: Floats, scales: Floats, lams: Floats) -> Floats:
    """Feature learning: few combinations of centres, the same for all tasks.

    The penalties (a,) are the paper's gamma over the mean scale.
    """
    return _alternate(G, h, scales, lams, _root_of_features)


def center_path(G: Floats, h: Floats, scales: Floats, lams: Floats) -> Floats:
    """Feature learning with a diagonal D: few centres, the same for all tasks.

    The coefficients of a centre that is dropped are zero.
    """
    theta = _alternate(G, h, scales, lams, _root_of_centers)
    size = np.linalg.norm(theta, axis=0)
    return np.where(size > DROPPED * np.sqrt(SMOOTHING), theta, 0.0)


def feature_response(
    G: Floats, theta: Floats, gamma: float, directions: Floats, *, diagonal: bool
) -> Floats:
    """How coefficients fall as h grows along directions (tasks, b, r).

    D is held at that of the solution ``theta``: it is (G + gamma D^-1)^-1 directions.
    """
    R = (_root_of_centers if diagonal else _root_of_features)(theta)
    R /= np.linalg.norm(R)
    system = R @ G @ R + gamma * np.eye(len(R))
    return np.asarray(R @ np.linalg.solve(system, R @ directions))


def _root_of_centers(theta: Floats) -> Floats:
    """D^(1/2) before its trace is made 1, for coefficients (tasks, b); diagonal."""
    return np.diag(((theta**2).sum(axis=0) + SMOOTHING) ** 0.25)


def _root_of_features(theta: Floats) -> Floats:
    """The same for a full D = (Theta Theta' + smoothing I)^(1/2)."""
    _, size, V = np.linalg.svd(theta, full_matrices=False)
    beyond = (size**2 + SMOOTHING) ** 0.25 - SMOOTHING**0.25
    return np.asarray((V.T * beyond) @ V + SMOOTHING**0.25 * np.eye(theta.shape[1]))


def _alternate(
    G: Floats, h: Floats, scales: Floats, lams: Floats, root: Root
) -> Floats:
    """Solve for the coefficients given D, then for D, until they settle."""
    identity = np.eye(h.shape[1])
    theta = np.empty((*h.shape, len(lams)))
    for a, gamma in enumerate(lams * mean_scale(h, scales)):

        def solve_given(start: Floats, gamma: float = gamma) -> tuple[Floats, float]:
            """Coefficients given the D of others, and the penalised loss of those."""
            R = root(start)
            trace = float((R**2).sum())  # of D = R R before it is made 1
            R /= np.sqrt(trace)
            # -(G + gamma D^-1)^-1 h, without D^-1, which is huge
            half = np.linalg.solve(R @ G @ R + gamma * identity, (h @ R)[:, :, None])
            slope = (G @ start[:, :, None])[:, :, 0] + 2.0 * h
            return -half[:, :, 0] @ R, float((start * slope).sum()) + gamma * trace**2

        ridge = np.linalg.solve(G + gamma * identity, -h[:, :, None])[:, :, 0]
        theta[:, :, a] = _settle(solve_given, ridge)
    return theta


def _settle(step: Callable[[Floats], tuple[Floats, float]], start: Floats) -> Floats:
    """Fixed point of a step that descends, extrapolated from the last few.

    Anderson's acceleration: the combination of the last steps whose moves cancel best
    is tried next. Where it does not descend, the plain step is taken instead.
    """
    here, plain, lowest = start, start, np.inf
    ends: list[Floats] = []
    moves: list[Floats] = []
    for _ in range(MAX_ROUNDS):
        end, loss = step(here)
        if not loss <= lowest + 1e-12 * abs(lowest):
            here, ends, moves = plain, [], []
            end, loss = step(here)
        lowest = loss
        plain = end
        if np.abs(end - here).max() <= SETTLED * np.abs(end).max():
            break
        ends = [*ends[-MEMORY:], end.ravel()]
        moves = [*moves[-MEMORY:], (end - here).ravel()]
        here = end
        if len(ends) > 1:
            by_move, by_end = np.diff(moves, axis=0).T, np.diff(ends, axis=0).T
            shares = np.linalg.lstsq(by_move, moves[-1], rcond=1e-10)[0]
            here = end - (by_end @ shares).reshape(end.shape)
    return plain
