r"""Learned widths: one for each feature, by descent of the cross-validated loss.

The hold-out loss of the shared model is a smooth function of the inverse squared
widths :math:`a_j = 1 / l_j^2` and of the penalty. Its gradient goes backwards through
the ridge solution of every fold (the adjoint of a linear system) and through the
moments, whose formula in :mod:`modeseek.moments` needs matrix products only, so a
gradient costs little more than a loss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from modeseek.basis import squared_distances
from modeseek.frame import Floats
from modeseek.sampling import Integers


class Pilot(NamedTuple):
    """Rows on which widths are learned, sorted by fold."""

    Z: Floats  # (m, d)
    weight: Floats  # (m,)
    bounds: Integers  # (n_folds + 2,) where each fold starts; the last only trains
    centers: Floats  # (b, d)


def make_pilot(
    Z: Floats, weight: Floats | None, fold: Integers, n_folds: int, centers: Floats
) -> Pilot:
    """Sort rows by fold."""
    order = np.argsort(fold, kind="stable")
    w = np.ones(len(Z)) if weight is None else weight
    bounds = np.searchsorted(fold[order], np.arange(n_folds + 2))
    return Pilot(Z[order], w[order], bounds, centers)


class _Forward(NamedTuple):
    """Moments of every fold and what their derivatives need."""

    P: Floats  # (m, b)
    Q: Floats  # (m, b)
    E: Floats  # (m, b)
    CE: Floats  # (b, b)
    G: Floats  # (folds, b, b)
    h: Floats  # (folds, b)
    n: Floats  # (folds,)


def _forward(pilot: Pilot, a: Floats) -> _Forward:
    Z, C, w = pilot.Z, pilot.centers, pilot.weight
    P = np.exp(-0.5 * squared_distances(Z, C, np.sqrt(a)))
    E = squared_distances(Z, C, a)
    CE = squared_distances(C, C, a)
    Q = E * P
    trace = a.sum()
    G, h, n = [], [], []
    for i, j in zip(pilot.bounds[:-1], pilot.bounds[1:], strict=True):
        WP = P[i:j] * w[i:j, None]
        QtP = Q[i:j].T @ WP
        G.append(0.5 * (QtP + QtP.T - CE * (P[i:j].T @ WP)))
        h.append(w[i:j] @ Q[i:j] - trace * WP.sum(axis=0))
        n.append(w[i:j].sum())
    return _Forward(P, Q, E, CE, np.array(G), np.array(h), np.array(n))


def _backward(
    pilot: Pilot, a: Floats, f: _Forward, dG: Floats, dh: Floats
) -> Floats:
    """Derivative of the loss by ``a`` from those by the moments of every fold."""
    Z, C, w = pilot.Z, pilot.centers, pilot.weight
    trace = a.sum()
    dD, dE = np.empty_like(f.P), np.empty_like(f.P)
    dCE = np.zeros_like(f.CE)
    dtrace = 0.0
    for k, (i, j) in enumerate(zip(pilot.bounds[:-1], pilot.bounds[1:], strict=True)):
        P, Q, E = f.P[i:j], f.Q[i:j], f.E[i:j]
        dQ = P @ dG[k] + dh[k]
        dP = Q @ dG[k] - P @ (f.CE * dG[k]) - trace * dh[k] + E * dQ
        wP = P * w[i:j, None]
        dE[i:j] = dQ * wP
        dD[i:j] = -0.5 * dP * wP
        dCE -= 0.5 * dG[k] * (P.T @ wP)
        dtrace -= float(dh[k] @ wP.sum(axis=0))
    by_distance = _squares(dD, Z, C)
    by_square = _squares(dE, Z, C) + _squares(dCE, C, C)
    return np.asarray(by_distance + 2.0 * a * by_square + dtrace)


def _squares(W: Floats, A: Floats, B: Floats) -> Floats:
    """sum_ik W_ik (A_ij - B_kj)^2 for every feature j."""
    cross = np.einsum("kj,kj->j", W.T @ A, B)
    return np.asarray(W.sum(axis=1) @ A**2 + W.sum(axis=0) @ B**2 - 2.0 * cross)


def loss_and_gradient(
    pilot: Pilot, log_widths: Floats, log_lam: float
) -> tuple[float, Floats, float]:
    """Cross-validated loss with its derivatives by log widths and log penalty.

    Parameters
    ----------
    pilot : Pilot
    log_widths : ndarray of shape (d,)
    log_lam : float

    Returns
    -------
    loss : float
    by_log_widths : ndarray of shape (d,)
    by_log_lam : float
    """
    a = np.exp(-2.0 * log_widths)
    f = _forward(pilot, a)
    ridge = np.exp(log_lam) * a.mean()
    n_folds = len(f.n) - 1
    total_G, total_h, total_n = f.G.sum(axis=0), f.h.sum(axis=0), f.n.sum()
    judged = f.n[:-1].sum()
    dG, dh = np.zeros_like(f.G), np.zeros_like(f.h)
    loss, dridge = 0.0, 0.0
    for k in range(n_folds):
        n_train = total_n - f.n[k]
        A = (total_G - f.G[k]) / n_train
        A[np.diag_indices_from(A)] += ridge
        factor = cho_factor(A)
        theta = -cho_solve(factor, (total_h - f.h[k]) / n_train)
        slope = f.G[k] @ theta + f.h[k]
        loss += float(theta @ (slope + f.h[k])) / judged
        adjoint = cho_solve(factor, 2.0 * slope / judged)
        dG[k] += np.outer(theta, theta) / judged
        dh[k] += 2.0 * theta / judged
        both = -0.5 * (np.outer(adjoint, theta) + np.outer(theta, adjoint)) / n_train
        others = np.arange(n_folds + 1) != k
        dG[others] += both
        dh[others] -= adjoint / n_train
        dridge -= float(adjoint @ theta)
    da = _backward(pilot, a, f, dG, dh) + dridge * np.exp(log_lam) / len(a)
    return loss, -2.0 * a * da, dridge * ridge
