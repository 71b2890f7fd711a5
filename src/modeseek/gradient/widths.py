r"""Learned widths: one for each feature, by descent of the cross-validated loss.

The hold-out loss of the shared model is a smooth function of the inverse squared
widths :math:`a_j = 1 / l_j^2` and of the penalty. Its gradient goes backwards through
the ridge solution of every fold (the adjoint of a linear system) and through the
moments, whose formula in :mod:`modeseek.gradient.moments` needs matrix products only,
so a gradient costs little more than a loss.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigvalsh
from scipy.optimize import minimize

from modeseek.field.basis import squared_distances
from modeseek.gradient.moments import Problem
from modeseek.gradient.selection import enough_neighbors, search
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import one_blas_thread
from modeseek.rows.rounding import narrowest_widths


class FoldedRows(NamedTuple):
    """Rows on which widths are learned, sorted by fold, and the model's centres."""

    Z: Floats  # (m, d)
    weight: Floats  # (m,)
    bounds: Integers  # (n_folds + 2,) where each fold starts; the last only trains
    centers: Floats  # (b, d)
    base: Floats  # (d,) inverse variances of the Gaussian base
    narrowest: Floats  # (d,) widths under rounding


def sort_by_fold(
    problem: Problem, rows: Integers, features: NDArray[np.bool_]
) -> FoldedRows:
    """Take some rows (m,) of a problem that has folds, and some features (d,)."""
    assert problem.fold is not None
    order = np.argsort(problem.fold[rows], kind="stable")
    w = np.ones(len(rows)) if problem.weight is None else problem.weight[rows]
    starts = np.arange(problem.n_folds + 2)
    steps = None if problem.steps is None else problem.steps[features]
    return FoldedRows(
        problem.read(rows)[:, features][order],
        w[order],
        np.searchsorted(problem.fold[rows][order], starts),
        problem.centers[:, features],
        problem.base[features],
        narrowest_widths(steps, int(features.sum()), together=False),
    )


class _FoldMoments(NamedTuple):
    """Moments of every fold and what their derivatives need."""

    P: Floats  # (m, b)
    Q: Floats  # (m, b)
    E: Floats  # (m, b)
    CE: Floats  # (b, b)
    R: Floats  # (m, b) sum_j base_j a_j (c_ij - z_j) z_j
    G: Floats  # (folds, b, b)
    h: Floats  # (folds, b)
    n: Floats  # (folds,)


def _fold_moments(folded: FoldedRows, a: Floats) -> _FoldMoments:
    Z, C, w = folded.Z, folded.centers, folded.weight
    P = np.exp(-0.5 * squared_distances(Z, C, np.sqrt(a)))
    E = squared_distances(Z, C, a)
    CE = squared_distances(C, C, a)
    Q = E * P
    R = (Z * (folded.base * a)) @ C.T - (Z**2 @ (folded.base * a))[:, None]
    trace = a.sum()
    G, h, n = [], [], []
    for i, j in zip(folded.bounds[:-1], folded.bounds[1:], strict=True):
        WP = P[i:j] * w[i:j, None]
        QtP = Q[i:j].T @ WP
        G.append(0.5 * (QtP + QtP.T - CE * (P[i:j].T @ WP)))
        h.append(np.einsum("ij,ij->j", E[i:j] - R[i:j] - trace, WP))
        n.append(w[i:j].sum())
    return _FoldMoments(P, Q, E, CE, R, np.array(G), np.array(h), np.array(n))


def _derivative_by_precision(
    folded: FoldedRows, a: Floats, f: _FoldMoments, dG: Floats, dh: Floats
) -> Floats:
    """Derivative of the loss by ``a`` from those by the moments of every fold."""
    Z, C, w = folded.Z, folded.centers, folded.weight
    trace = a.sum()
    dD, dE, dR = np.empty_like(f.P), np.empty_like(f.P), np.empty_like(f.P)
    dCE = np.zeros_like(f.CE)
    dtrace = 0.0
    for k, (i, j) in enumerate(zip(folded.bounds[:-1], folded.bounds[1:], strict=True)):
        P, Q, E = f.P[i:j], f.Q[i:j], f.E[i:j]
        dQ = P @ dG[k] + dh[k]
        dP = Q @ dG[k] - P @ (f.CE * dG[k]) + E * dQ
        dP -= (trace + f.R[i:j]) * dh[k]
        wP = P * w[i:j, None]
        dE[i:j] = dQ * wP
        dD[i:j] = -0.5 * dP * wP
        dR[i:j] = -dh[k] * wP
        dCE -= 0.5 * dG[k] * (P.T @ wP)
        dtrace -= float(dh[k] @ wP.sum(axis=0))
    by_distance = _weighted_squares(dD, Z, C)
    by_square = _weighted_squares(dE, Z, C) + _weighted_squares(dCE, C, C)
    by_base = np.einsum("kj,kj->j", dR.T @ Z, C) - dR.sum(axis=1) @ Z**2
    return np.asarray(
        by_distance + 2.0 * a * by_square + folded.base * by_base + dtrace
    )


def _weighted_squares(W: Floats, A: Floats, B: Floats) -> Floats:
    """sum_ik W_ik (A_ij - B_kj)^2 for every feature j."""
    cross = np.einsum("kj,kj->j", W.T @ A, B)
    return np.asarray(W.sum(axis=1) @ A**2 + W.sum(axis=0) @ B**2 - 2.0 * cross)


def _factor(A: Floats, ridge: float) -> Any:
    """Cholesky factor of moments with a ridge on them.

    Moments have no negative eigenvalues but by rounding: they are differences, whose
    terms may be larger by far where centres stand on a line or far away.
    """
    try:
        return cho_factor(A)
    except LinAlgError:
        lost = ridge - eigvalsh(A, subset_by_index=[0, 0])[0]
        return cho_factor(A + 2.0 * lost * np.eye(len(A)))


def loss_and_gradient(
    folded: FoldedRows, log_widths: Floats, log_lam: float
) -> tuple[float, Floats, float]:
    """Cross-validated loss with its derivatives by log widths (d,) and log penalty."""
    a = np.exp(-2.0 * log_widths)
    f = _fold_moments(folded, a)
    ridge = np.exp(log_lam) * a.mean()
    n_folds = len(f.n) - 1
    total_G, total_h, total_n = f.G.sum(axis=0), f.h.sum(axis=0), f.n.sum()
    validated = f.n[:-1].sum()
    dG, dh = np.zeros_like(f.G), np.zeros_like(f.h)
    loss, dridge = 0.0, 0.0
    for k in range(n_folds):
        n_train = total_n - f.n[k]
        A = (total_G - f.G[k]) / n_train
        A[np.diag_indices_from(A)] += ridge
        factor = _factor(A, ridge)
        theta = -cho_solve(factor, (total_h - f.h[k]) / n_train)
        slope = f.G[k] @ theta + f.h[k]
        loss += float(theta @ (slope + f.h[k])) / validated
        adjoint = cho_solve(factor, 2.0 * slope / validated)
        dG[k] += np.outer(theta, theta) / validated
        dh[k] += 2.0 * theta / validated
        both = -0.5 * (np.outer(adjoint, theta) + np.outer(theta, adjoint)) / n_train
        others = np.arange(n_folds + 1) != k
        dG[others] += both
        dh[others] -= adjoint / n_train
        dridge -= float(adjoint @ theta)
    da = _derivative_by_precision(folded, a, f, dG, dh)
    da += dridge * np.exp(log_lam) / len(a)
    return loss, -2.0 * a * da, dridge * ridge


#: Penalties that learning may reach.
LEAST_LAM, MOST_LAM = 1e-6, 10.0

#: Narrowest learned width, in standard deviations of the feature.
NARROWEST_LEARNED = 0.3

#: Widest learned width, in typical distances between centres: there a feature is out
#: of the model, for all that matters.
WIDEST_LEARNED = 8.0

#: Iterations of each descent.
MAX_DESCENT = 60

#: Widths, in standard deviations, that are tried for wide features.
NARROW_TRIALS = (0.7, 1.4)

#: A feature is wide when its width is beyond this many standard deviations.
WIDE = 3.0

#: Widths tried for a feature alone, in standard deviations, and every how many
#: centres: one dimension needs few.
MARGINAL_WIDTHS = np.sqrt(2.0) ** np.arange(2, -6.1, -1)
MARGINAL_THINNING = 4

#: Most rounds of narrowing one feature and descending again.
MAX_NARROWINGS = 4

#: Share of the size of the loss by which that must improve it.
WORTH_NARROWING = 0.02


class Learned(NamedTuple):
    """Widths and penalty with the smallest cross-validated loss found."""

    widths: Floats  # (d,)
    lam: float
    loss: float  # infinite where the widths leave centres without neighbours


@one_blas_thread()
def learn_widths(
    folded: FoldedRows, typical: float, starts: list[tuple[Floats, float]]
) -> Learned:
    """Descend from several starts (widths, penalty), then try to narrow wide features.

    The rows are in a frame where features have unit variance; ``typical`` is the
    distance between centres there.

    Widths that leave a typical centre hardly any neighbours are refused, as in
    :mod:`modeseek.gradient.selection`: with many features, some narrow combination
    fits the rows of every fold.

    A wide feature has almost no gradient, and descent alone never narrows it: so
    after descending, each one is tried at a narrow width, the best is kept if it
    helps, and descent goes on from there.
    """
    best = min((_descend(folded, typical, *s) for s in starts), key=lambda r: r.loss)
    for _ in range(MAX_NARROWINGS):
        narrowed = _narrow_one_feature(folded, best)
        if narrowed is None:
            break
        better = _descend(folded, typical, narrowed, best.lam)
        if not better.loss < best.loss - WORTH_NARROWING * abs(best.loss):
            break
        best = better
    return best


def _descend(folded: FoldedRows, typical: float, widths: Floats, lam: float) -> Learned:
    """Local minimum of the cross-validated loss, within bounds."""
    d = len(widths)

    def objective(v: Floats) -> tuple[float, Floats]:
        loss, by_widths, by_lam = loss_and_gradient(folded, v[:d], v[d])
        return loss, np.append(by_widths, by_lam)

    low = np.append(np.maximum(folded.narrowest, NARROWEST_LEARNED), LEAST_LAM)
    # Where few rows lie far from all others, the typical distance is below any width.
    high = np.maximum(low, np.append(np.full(d, WIDEST_LEARNED * typical), MOST_LAM))
    start = np.log(np.clip(np.append(widths, lam), low, high))
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(np.log(low), np.log(high), strict=True)),
        options={"maxiter": MAX_DESCENT},
    )
    learned, penalty = np.exp(found.x[:d]), float(np.exp(found.x[d]))
    reached = np.exp(-0.5 * squared_distances(folded.Z, folded.centers, 1.0 / learned))
    few = not enough_neighbors(folded.weight @ reached, folded.weight.sum())
    return Learned(learned, penalty, np.inf if few else float(found.fun))


def _narrow_one_feature(folded: FoldedRows, learned: Learned) -> Floats | None:
    """Widths with the one wide feature narrowed that lowers the loss most."""
    best, loss = None, learned.loss
    for j in np.flatnonzero(learned.widths > WIDE):
        for width in NARROW_TRIALS:
            tried = learned.widths.copy()
            tried[j] = width
            one = loss_and_gradient(folded, np.log(tried), np.log(learned.lam))[0]
            if one < loss:
                best, loss = tried, one
    return best


def marginal_start(
    folded: FoldedRows, typical: float, lams: Floats
) -> tuple[Floats, float]:
    """Widths (d,) from every feature alone: narrow where it is not Gaussian.

    With them the median penalty, among ``lams`` (a,), of the features found.
    """
    widths = np.full(folded.Z.shape[1], WIDEST_LEARNED * typical)
    fold = np.repeat(np.arange(len(folded.bounds) - 1), np.diff(folded.bounds))
    penalties = []
    for j in range(len(widths)):
        one = Problem(
            read=lambda rows, j=j: folded.Z[rows, j : j + 1],  # type: ignore[misc]
            n_rows=len(folded.Z),
            centers=folded.centers[::MARGINAL_THINNING, j : j + 1],
            base=folded.base[j : j + 1],
            shared=True,
            fold=fold,
            n_folds=len(folded.bounds) - 2,
            weight=folded.weight,
            n_jobs=1,
        )
        scores = search(one, MARGINAL_WIDTHS[:, None], lams)
        i, k = scores.best()
        error = scores.fold_loss[i, k].std() / np.sqrt(one.n_folds)
        if scores.loss[i, k] < -2.0 * error:
            widths[j] = scores.widths[i, 0]
            penalties.append(lams[k])
    return widths, float(np.median(penalties)) if penalties else 1e-3
