r"""Penalties: from moments to coefficients. They see G and h, never the data.

The ridge minimises :math:`\theta^T G \theta + 2 \theta^T h + \lambda s\,
\theta^T \theta` for every task, where s is the scale of G: lambda is a pure number
and means the same at every width. With one width sigma and shared coefficients
s = 1 / sigma^2, so the paper's lambda is this one divided by sigma^2.
"""

from __future__ import annotations

import numpy as np

from modeseek.blocks import one_blas_thread
from modeseek.frame import Floats
from modeseek.moments import Moments


def ridge_path(G: Floats, h: Floats, scales: Floats, lams: Floats) -> Floats:
    """Coefficients of every penalty, from one eigendecomposition per task.

    Parameters
    ----------
    G : ndarray of shape (tasks, b, b)
    h : ndarray of shape (tasks, b)
    scales : ndarray of shape (tasks,)
        Scale of G, see :func:`modeseek.moments.task_scales`.
    lams : ndarray of shape (a,)

    Returns
    -------
    ndarray of shape (tasks, b, a)
    """
    values, U = np.linalg.eigh(G)
    values = np.maximum(values, 0.0)  # G is a Gram matrix; below zero is rounding
    ridge = scales[:, None, None] * lams
    projected = np.einsum("tbi,tb->ti", U, h)
    return np.asarray(-U @ (projected[:, :, None] / (values[:, :, None] + ridge)))


def quadratic_loss(G: Floats, h: Floats, theta: Floats) -> Floats:
    """Squared loss of coefficients, up to the constant that no model changes.

    Parameters
    ----------
    G : ndarray of shape (tasks, b, b)
    h : ndarray of shape (tasks, b)
    theta : ndarray of shape (tasks, b, a)

    Returns
    -------
    ndarray of shape (a,)
        Summed over tasks.
    """
    return np.asarray(
        np.einsum("tba,tba->a", theta, G @ theta + 2.0 * h[:, :, None]),
    )


def ridge(moments: Moments, scales: Floats, lam: float) -> Floats:
    """Coefficients of one penalty from the moments of all rows, shape (tasks, b)."""
    with one_blas_thread():
        return ridge_path(*moments.mean(), scales, np.array([lam]))[:, :, 0]
