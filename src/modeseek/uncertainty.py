r"""How sure a difference of heights is, in closed form.

An estimate that solves an equation summed over rows changes, when a row's weight grows
a little, by the row's *influence*. The variance of a difference of heights is the sum
of squared influences of the rows. For the ridge solution theta with
:math:`A = G + \lambda I` and a difference :math:`\theta^T a` it is
:math:`u^T (\psi \psi^T \theta + \mathrm{div}\,\psi)` at the row, with
:math:`u = A^{-1} a`; centres, widths and penalty are held fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from modeseek.basis import inverse_square, squared_distances
from modeseek.blocks import chunk_slices, map_blocks, one_blas_thread
from modeseek.field import KernelField, PotentialField, SeparateField, gradient
from modeseek.frame import Floats

#: Influence of rows (m, d) on r differences of heights: (m, r).
Influence: TypeAlias = Callable[[Floats], Floats]

#: Points of the line integral along which a field without a potential is summed.
LINE_POINTS = 33


@one_blas_thread()
def potential_influence(
    field: PotentialField, A: Floats, tops: Floats, bottoms: Floats
) -> Influence:
    """Influence on f(top) - f(bottom) of a model with shared coefficients.

    Parameters
    ----------
    field : PotentialField
    A : ndarray of shape (b, b)
        The matrix that was solved: G per unit of weight, plus the ridge.
    tops, bottoms : ndarray of shape (r, d)

    Returns
    -------
    callable
    """
    inverse_widths, precision = 1.0 / field.widths, inverse_square(field.widths)

    def values(points: Floats) -> Floats:
        D = squared_distances(points, field.centers, inverse_widths)
        return np.asarray(np.exp(-0.5 * D))

    U = np.linalg.solve(A, (values(tops) - values(bottoms)).T)  # (b, r)

    def influence(Z: Floats) -> Floats:
        g = gradient(field, field.evaluate(Z)) * precision
        along = g @ field.centers.T - np.einsum("ij,ij->i", g, Z)[:, None]
        excess = squared_distances(Z, field.centers, precision) - precision.sum()
        return np.asarray((values(Z) * (along + excess)) @ U)

    return influence


@one_blas_thread()
def separate_influence(
    field: SeparateField, A: Floats, tops: Floats, bottoms: Floats
) -> Influence:
    """Influence on the integral of the gradient from bottom to top.

    Parameters
    ----------
    field : SeparateField
    A : ndarray of shape (d, b, b)
    tops, bottoms : ndarray of shape (r, d)

    Returns
    -------
    callable
    """
    precision = inverse_square(field.widths)
    t = (np.arange(LINE_POINTS) + 0.5) / LINE_POINTS
    integral = np.zeros((len(field.widths), len(field.centers), len(tops)))
    for along in t:
        points = bottoms + along * (tops - bottoms)
        for j, psi in _basis_of_features(field, points):
            rise = (tops - bottoms)[:, j] / LINE_POINTS
            integral[j] += (psi * rise[:, None]).T
    U = np.linalg.solve(A, integral)  # (d, b, r)

    def influence(Z: Floats) -> Floats:
        g = gradient(field, field.evaluate(Z))
        P = np.exp(-0.5 * squared_distances(Z, field.centers, 1.0 / field.widths))
        total = np.zeros((len(Z), len(tops)))
        for j, psi in _basis_of_features(field, Z):
            steps = (field.centers[:, j] - Z[:, j, None]) * precision[j]
            total += (psi * (g[:, j, None] + steps) - P * precision[j]) @ U[j]
        return total

    return influence


def _basis_of_features(field: SeparateField, Z: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield every feature j with its basis psi_j at the points, (m, b)."""
    P = np.exp(-0.5 * squared_distances(Z, field.centers, 1.0 / field.widths))
    for j, inverse in enumerate(inverse_square(field.widths)):
        yield j, (field.centers[:, j] - Z[:, j, None]) * inverse * P


def kernel_influence(field: KernelField, tops: Floats, bottoms: Floats) -> Influence:
    """Influence on the log-density ratio of a kernel density estimate.

    Parameters
    ----------
    field : KernelField
    tops, bottoms : ndarray of shape (r, d)

    Returns
    -------
    callable
    """

    def ratio(Z: Floats, points: Floats) -> Floats:
        D = squared_distances(Z, points, 1.0 / field.widths)
        return np.asarray(np.exp(-0.5 * D - field.log_density(points)))

    def influence(Z: Floats) -> Floats:
        return ratio(Z, tops) - ratio(Z, bottoms)

    return influence


def standard_errors(
    influence: Influence,
    Z: Floats,
    weight: Floats | None,
    n_differences: int,
    n_columns: int,
    n_jobs: int | None,
) -> Floats:
    """Standard errors of differences from the influence of every row.

    Parameters
    ----------
    influence : callable
    Z : ndarray of shape (n, d)
    weight : ndarray of shape (n,), optional
        A weight of k counts as k independent rows.
    n_differences : int
        Number r of differences.
    n_columns : int
        Columns of the largest work array, for the size of chunks.
    n_jobs : int or None

    Returns
    -------
    ndarray of shape (r,)
    """

    def kernel(rows: slice) -> Floats:
        block = Z[rows]
        w = np.ones(len(block)) if weight is None else weight[rows]
        total = np.zeros((2, n_differences))
        for chunk in chunk_slices(len(block), n_columns):
            v = influence(block[chunk])
            total += [w[chunk] @ v, w[chunk] @ v**2]
        return total

    sums = np.zeros((2, n_differences))
    for block_sums in map_blocks(kernel, len(Z), n_jobs=n_jobs):
        sums += block_sums
    first, second = sums
    n = float(len(Z)) if weight is None else float(weight.sum())
    return np.asarray(np.sqrt(np.maximum(second - first**2 / n, 0.0)) / n)
