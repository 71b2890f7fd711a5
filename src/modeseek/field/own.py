"""A field over a basis of the user's own: no mother function, so no mean shift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from modeseek.field.basis import OwnBasis, basis_of_features, squared_distances
from modeseek.field.fields import (
    CommonField,
    Evaluation,
    PotentialField,
    SeparateField,
    finite_widths,
)
from modeseek.rows.arrays import Floats

#: Difference of places, in widths, from which derivatives across features are taken:
#: the cube root of rounding, where a central difference is most exact.
DIFFERENCE = float(np.cbrt(np.finfo(np.float64).eps))


class OwnField(NamedTuple):
    r"""Coefficients over a basis of the user's own: g_j = sum_i theta_ij psi_ij.

    Nothing is known of psi between features, so that the field has no potential. The
    mass is :math:`\sum_{ij} l_j^2 |\theta_{ij}\, \partial_j \psi_{ij}|`, the size
    of the curvatures along the features: a step of pull / mass is a gradient step that
    hardly overshoots.
    """

    centers: Floats  # (b, d)
    widths: Floats  # (d,)
    theta: Floats  # (1, b) if shared by the features, else (d, b)
    own: OwnBasis
    saturates: bool = True

    def evaluate(self, Z: Floats) -> Evaluation:
        """Evaluate everything a step needs."""
        psi, derivative = self.own.evaluate(Z, self.centers, self.widths)
        widths, theta = finite_widths(self), self.theta.T  # (b, d) or (b, 1)
        sizes = np.abs(theta * psi).sum(axis=1) * widths
        bends = np.abs(theta * derivative).sum(axis=1) @ widths**2
        mass = np.maximum(bends, np.finfo(float).tiny)[:, None]
        D = squared_distances(Z, self.centers, 1.0 / self.widths)
        return Evaluation(
            value=None,
            size=np.linalg.norm(sizes, axis=1),
            pull=(theta * psi).sum(axis=1) * widths**2,
            mass=mass,
            bound=mass.copy(),
            factor=np.ones((len(Z), 1)),
            nearest=np.sqrt(D.min(axis=1)),
        )

    def _gradient(self, Z: Floats) -> Floats:
        psi, _ = self.own.evaluate(Z, self.centers, self.widths)
        return np.asarray((self.theta.T * psi).sum(axis=1))

    def _slopes(self, Z: Floats) -> Floats:
        """Derivative of each g_j along feature j, shape (m, d)."""
        _, derivative = self.own.evaluate(Z, self.centers, self.widths)
        return np.asarray((self.theta.T * derivative).sum(axis=1))

    def jacobian(self, Z: Floats) -> Floats:
        """Derivative of g, shape (m, d, d): row j holds the gradient of g_j.

        Along its own feature that is the user's; across features it is a difference.
        """
        J = np.zeros((*Z.shape, Z.shape[1]))
        for k, width in enumerate(finite_widths(self)):
            if width > 0.0:
                move = np.zeros(Z.shape[1])
                move[k] = DIFFERENCE * width
                rise = self._gradient(Z + move) - self._gradient(Z - move)
                J[:, :, k] = rise / (2.0 * move[k])
        diagonal = np.arange(Z.shape[1])
        J[:, diagonal, diagonal] = self._slopes(Z)
        return J

    def divergence(self, Z: Floats, weights: Floats) -> Floats:
        """Weighted sum over j of the derivative of g_j along feature j, shape (m,)."""
        return np.asarray(self._slopes(Z) @ weights)


#: Fields that are sums over a basis with coefficients.
LinearField = PotentialField | SeparateField | CommonField | OwnField


def basis_of_field(
    field: LinearField, Z: Floats
) -> Iterator[tuple[int, int, Floats, Floats]]:
    """Yield task and feature, its basis at rows Z, and the derivative of that."""
    own = field.own if isinstance(field, OwnField) else None
    common, shared = (
        isinstance(field, CommonField),
        len(np.atleast_2d(field.theta)) == 1,
    )
    for j, psi, derivative in basis_of_features(
        Z, field.centers, field.widths, common, own
    ):
        yield 0 if shared else j, j, psi, derivative


OwnField.__module__ = "modeseek.field"  # as the other fields
