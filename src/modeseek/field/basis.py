r"""The Gaussian basis: distances, values, and what follows from them.

With :math:`D_i(z) = \sum_j (z_j - c_{ij})^2 / l_j^2` the mother basis of the paper is
:math:`\phi_i(z) = \exp(-D_i(z) / 2)` and the basis of the gradient its derivative,
:math:`\psi_{ij}(z) = \partial_j \phi_i(z) = (c_{ij} - z_j) / l_j^2\ \phi_i(z)`.

A width of infinity takes its feature out of the model: every weight 1 / l is then 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from modeseek.rows.arrays import Floats
from modeseek.rows.coordinates import Frame

#: A basis of the user's: rows (m, d), centres (b, d) and widths (d,) in the data's unit
#: -> psi and its derivative along its own feature, (m, b, d) each.
BasisFunction: TypeAlias = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]


class OwnBasis(NamedTuple):
    """A basis of the user's, and the frame from which it is asked."""

    function: BasisFunction
    frame: Frame

    def evaluate(self, Z: Floats, C: Floats, widths: Floats) -> tuple[Floats, Floats]:
        """Basis and derivative (m, b, d) at rows Z (m, d), so that g is the frame's.

        Features of an infinite width are not in the model.
        """
        unit = np.broadcast_to(self.frame.unit, widths.shape)
        given = self.function(self.frame.leave(Z), self.frame.leave(C), widths * unit)
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ValueError(
                "A basis of your own is a function of rows, centers and bandwidth that "
                "gives two arrays: psi and its derivative along its own feature."
            )
        shape = (len(Z), len(C), len(widths))
        parts = [np.asarray(part, dtype=np.float64) for part in given]
        if any(part.shape != shape for part in parts):
            shapes = [part.shape for part in parts]
            raise ValueError(
                f"basis gave arrays of shapes {shapes}; rows, centers and features "
                f"make {shape}."
            )
        active = np.isfinite(widths)
        psi, derivative = (np.where(active, part, 0.0) for part in parts)
        if not (np.isfinite(psi).all() and np.isfinite(derivative).all()):
            raise ValueError("basis gave numbers that are not finite.")
        return psi * unit, derivative * unit**2


#: Widths from the mean of the centres beyond which their squares leave few digits.
FAR = 1e6


def middle_of(C: Floats, weights: Floats) -> Floats:
    """Point about which products with centres C (b, d) are taken, shape (d,).

    They cancel digits far from it. It is the mean, or the median where few centres pull
    the mean far away from all others.
    """
    return _around_middle(C, weights)[0]


def _around_middle(
    C: Floats, weights: Floats, n_spare: int = 0
) -> tuple[Floats, Floats]:
    """The same point, and the centres from there, in widths (b, d + n_spare).

    Spare columns at the end are not filled in.
    """
    middle = C.mean(axis=0)
    V = _scaled(C, middle, weights, n_spare)
    inner = V[:, : C.shape[1]]
    if max(inner.max(), -inner.min()) > FAR:
        middle = np.median(C, axis=0)
        V = _scaled(C, middle, weights, n_spare)
    return middle, V


def _scaled(Z: Floats, middle: Floats, weights: Floats, n_spare: int) -> Floats:
    """Rows about a middle, in widths, with so many columns more, in their order."""
    n, d = Z.shape
    U: Floats = np.empty_like(Z, dtype=np.float64, shape=(n, d + n_spare))
    np.subtract(Z, middle, out=U[:, :d])
    U[:, :d] *= weights
    return U


def squared_distances(Z: Floats, C: Floats, weights: Floats) -> Floats:
    """Squared distances of rows (m, d) from centres (b, d), shape (m, b).

    Each feature is multiplied by its weight before squaring: 1 / width.
    """
    middle, V = _around_middle(C, weights)
    U = (Z - middle) * weights
    D: Floats = U @ (-2.0 * V.T)
    D += np.einsum("ij,ij->i", U, U)[:, None]
    D += np.einsum("ij,ij->i", V, V)
    np.maximum(D, 0.0, out=D)
    return D


def exponents(Z: Floats, C: Floats, weights: Floats) -> Floats:
    """Logs of the Gaussians: minus half the squared distances, in a single product."""
    middle, V = _around_middle(C, weights, n_spare=2)
    U = _scaled(Z, middle, weights, n_spare=2)
    for A, half, one in ((U, -2, -1), (V, -1, -2)):
        A[:, half] = -0.5 * np.einsum("ij,ij->i", A[:, :-2], A[:, :-2])
        A[:, one] = 1.0
    E: Floats = U @ V.T
    np.minimum(E, 0.0, out=E)
    return E


def gaussians(D: Floats, scales: Floats) -> Iterator[Floats]:
    """Yield ``exp(-D / (2 s^2))`` for descending scales s; D is of shape (m, b).

    Where a squared scale is half or a quarter of the one before, the values are squared
    instead of computed: the exponential is most of the cost of a width. The array
    yielded is overwritten by the next one.
    """
    P = np.empty_like(D)
    previous = np.inf
    for scale in scales:
        halvings = (k for k in (1, 2) if _is_close(previous**2, 2.0**k * scale**2))
        n_squarings = next(halvings, 0)
        for _ in range(n_squarings):
            np.multiply(P, P, out=P)
        if not n_squarings:
            np.multiply(D, -0.5 / scale**2, out=P)
            np.exp(P, out=P)
        yield P
        previous = scale


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-12 * other


def inverse_square(widths: Floats) -> Floats:
    """Return 1 / l^2, and 0 for an infinite width."""
    return np.square(1.0 / widths)


def basis_of_features(
    Z: Floats,
    C: Floats,
    widths: Floats,
    common: bool = False,
    own: OwnBasis | None = None,
) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield every feature's number, its basis, and the derivative of that along it.

    Both are of shape (m, b), for rows Z and centres C. The basis is the user's ``own``,
    phi for every feature if it is ``common``, else the derivative of phi.
    """
    if own is not None:
        psi, derivative = own.evaluate(Z, C, widths)
        for j in range(len(widths)):
            yield j, psi[:, :, j], derivative[:, :, j]
        return
    P = np.exp(-0.5 * squared_distances(Z, C, 1.0 / widths))
    for j, inverse in enumerate(inverse_square(widths)):
        steps = (C[:, j] - Z[:, j, None]) * inverse
        slope = steps * P
        yield (j, P, slope) if common else (j, slope, steps * slope - inverse * P)
