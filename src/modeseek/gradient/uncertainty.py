r"""How sure a difference of heights is, in closed form.

An estimate that solves an equation summed over rows changes, when a row's weight grows
a little, by the row's *influence*. The variance of a difference of heights is the sum
of squared influences of the rows. For a solution theta of G and h and a difference
:math:`\theta^T a` it is :math:`u^T (\psi \psi^T \theta + \mathrm{div}\,\psi)` at the
row, where u is the *response* of the coefficients to a: with the ridge
:math:`u = (G + \lambda I)^{-1} a`. Centres, widths and penalty are held fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from modeseek.field.basis import inverse_square, squared_distances
from modeseek.field.fields import KernelField, PotentialField, gradient
from modeseek.field.own import LinearField, basis_of_field
from modeseek.rows.arrays import Floats
from modeseek.rows.blocks import chunk_slices, in_chunks, map_blocks, one_blas_thread

#: Influence of rows (m, d) on r differences of heights: (m, r).
Influence: TypeAlias = Callable[[Floats], Floats]

#: Points of the line integral along which a field without a potential is summed.
LINE_POINTS = 33


@one_blas_thread()
def differences(field: LinearField, tops: Floats, bottoms: Floats) -> Floats:
    """What coefficients are multiplied by in heights of tops above bottoms (r, d).

    The result has shape (tasks, b, r). Without a potential, the height is the integral
    of the gradient on the straight way.
    """
    C, widths = field.centers, field.widths
    if isinstance(field, PotentialField):
        both = np.stack([tops, bottoms])
        high, low = (squared_distances(Z, C, 1.0 / widths) for Z in both)
        return np.asarray((np.exp(-0.5 * high) - np.exp(-0.5 * low)).T[None])
    t = (np.arange(LINE_POINTS) + 0.5) / LINE_POINTS
    integral = np.zeros((len(field.theta), len(C), len(tops)))
    for along in t:
        points = bottoms + along * (tops - bottoms)
        for task, j, psi, _ in basis_of_field(field, points):
            rise = (tops - bottoms)[:, j] / LINE_POINTS
            integral[task] += (psi * rise[:, None]).T
    return integral


def potential_influence(field: PotentialField, U: Floats) -> Influence:
    """Influence on f(top) - f(bottom) of a model with shared coefficients.

    U (1, b, r) is the response of the coefficients to the :func:`differences`.
    """
    precision = inverse_square(field.widths)

    def influence(Z: Floats) -> Floats:
        g = gradient(field, field.evaluate(Z)) * precision
        along = g @ field.centers.T - np.einsum("ij,ij->i", g, Z)[:, None]
        excess = squared_distances(Z, field.centers, precision) - precision.sum()
        D = squared_distances(Z, field.centers, 1.0 / field.widths)
        return np.asarray((np.exp(-0.5 * D) * (along + excess)) @ U[0])

    return influence


def integral_influence(field: LinearField, U: Floats) -> Influence:
    """Influence on the integral of the gradient from bottom to top.

    U (tasks, b, r) is the response of the coefficients to the :func:`differences`.
    """

    def influence(Z: Floats) -> Floats:
        g = gradient(field, field.evaluate(Z))
        total = np.zeros((len(Z), U.shape[2]))
        for task, j, psi, derivative in basis_of_field(field, Z):
            total += (psi * g[:, j, None] + derivative) @ U[task]
        return total

    return influence


def kernel_influence(field: KernelField, tops: Floats, bottoms: Floats) -> Influence:
    """Influence on log-density ratios of a kernel density estimate, at r pairs."""
    # No row has more of the density at a point than all; rounding of huge distances
    # may say so.
    most = -field.log_weights.min()
    above, below = (
        in_chunks(field.log_density, points, len(field.centers))
        for points in (tops, bottoms)
    )

    def ratio(Z: Floats, points: Floats, log_density: Floats) -> Floats:
        D = squared_distances(Z, points, 1.0 / field.widths)
        return np.asarray(np.exp(np.minimum(most, -0.5 * D - log_density)))

    def influence(Z: Floats) -> Floats:
        return ratio(Z, tops, above) - ratio(Z, bottoms, below)

    return influence


def standard_errors(
    influence: Influence,
    Z: Floats,
    weight: Floats | None,
    n_differences: int,
    n_columns: int,
    n_jobs: int | None,
) -> Floats:
    """Standard errors (n_differences,) from the influence of every row Z (n, d).

    A weight of k counts as k independent rows. ``n_columns`` are those of the largest
    work array, for the size of chunks.
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
