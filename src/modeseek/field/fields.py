r"""Fields: what a fitted model is to those who climb it.

A field gives, at any point of the frame, the gradient g of the log-density, its
derivative, and what the fixed point needs: the *pull* :math:`l^2 g = \sum_i \theta_i
\phi_i (c_i - z)` and the *mass* :math:`\sum_i \theta_i \phi_i`, whose quotient is the
step of the paper's section 3.2. Where the coefficients are shared, the mass is also
the *value*, a log-density up to its constant, whose gradient the field is.

Four models, one interface:

- :class:`PotentialField`: coefficients shared by the features, f = sum theta_i phi_i;
- :class:`SeparateField`: coefficients of each feature; no potential;
- :class:`CommonField`: the same over a basis common to the features; no potential, and
  no mean shift either: its mass is a bound of the curvature;
- :class:`KernelField`: the log of a Gaussian kernel density estimate.

**The safe step.** For coefficients of any sign, ``pull / bound`` with bound =
:math:`\sum \theta^+_i \phi_i + 2 e^{-3/2} \sum \theta^-_i` never descends. In units
of the widths, phi is convex in the squared distance, so a positive term lies above a
parabola of curvature theta phi; the largest curvature of phi is 2 exp(-3/2), so a
negative term lies above one of that curvature times its size. The step maximises the
sum of these parabolas, which touches f at the point and lies below it elsewhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from modeseek.field.basis import (
    basis_of_features,
    exponents,
    inverse_square,
    middle_of,
    squared_distances,
)
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.blocks import in_chunks

#: Numbers of points, or which of them.
RowIndex = Integers | Bools

#: Squared distances are taken as no larger than this (a model without coefficients has
#: nothing at any distance).
LARGEST_SQUARE = 1e300

#: Below this, exponentials would be subnormal numbers.
SMALLEST_EXPONENT = -700.0

#: Largest eigenvalue of the Hessian of exp(-r^2 / 2), reached at r^2 = 3.
LARGEST_CURVATURE = 2.0 * np.exp(-1.5)


class Evaluation(NamedTuple):
    """A field at m points.

    Pull and mass are divided by ``factor``, the value of the nearest centre's
    Gaussian, so that their quotient survives where every Gaussian underflows.
    """

    value: Floats | None  # (m,) potential, up to its constant
    size: Floats  # (m,) of the terms it sums: the scale of rounding and of zero
    pull: Floats  # (m, d)
    mass: Floats  # (m, 1) or (m, d)
    bound: Floats  # (m, 1) or (m, d)
    factor: Floats  # (m, 1)
    nearest: Floats  # (m,) distance to the nearest centre, in widths

    def fixed_point_step(self) -> Floats:
        """Return the paper's step where its denominator is positive, else the safe."""
        positive = self.mass > 0
        quotient = self.pull / np.where(positive, self.mass, 1.0)
        return np.where(positive, quotient, self.safe_step())

    def safe_step(self) -> Floats:
        """Return the step that never descends the potential."""
        return self.factor * self.pull / self.bound

    def take(self, rows: RowIndex) -> Evaluation:
        """Pick points."""
        parts: list[Any] = [None if a is None else a[rows] for a in self]
        return Evaluation(*parts)

    def put(self, rows: RowIndex, other: Evaluation) -> None:
        """Overwrite points by those of another evaluation."""
        for mine, theirs in zip(self, other, strict=True):
            if mine is not None:
                mine[rows] = theirs


class Field(Protocol):
    """What ascents, modes and trees ask of a model."""

    @property
    def centers(self) -> Floats:
        """Centres of the Gaussians, shape (b, d)."""
        ...

    @property
    def widths(self) -> Floats:
        """Width of each feature, shape (d,)."""
        ...

    @property
    def saturates(self) -> bool:
        """Whether the potential levels off far from every centre."""
        ...

    def evaluate(self, Z: Floats) -> Evaluation:
        """Evaluate everything a step needs."""
        ...

    def jacobian(self, Z: Floats) -> Floats:
        """Derivative of the gradient, shape (m, d, d)."""
        ...

    def divergence(self, Z: Floats, weights: Floats) -> Floats:
        """Trace of the Jacobian, features weighted by (d,) numbers, shape (m,)."""
        ...


def gradient(field: Field, evaluation: Evaluation) -> Floats:
    """Gradient of the log-density from an evaluation, shape (m, d)."""
    pull = evaluation.factor * evaluation.pull
    return np.asarray(pull * inverse_square(field.widths))


def scaled_gradient(field: Field, evaluation: Evaluation) -> Floats:
    """Gradient per width of each feature, shape (m, d)."""
    return np.asarray(evaluation.factor * evaluation.pull / field.widths)


def finite_widths(field: Field) -> Floats:
    """Widths, with 0 for features that are not in the model, shape (d,)."""
    return np.where(np.isfinite(field.widths), field.widths, 0.0)


def has_potential(field: Field) -> bool:
    """Whether the field is the gradient of something."""
    return isinstance(field, PotentialField | KernelField)


def potential(field: Field, Z: Floats) -> Floats:
    """Potential at any number of points, shape (m,)."""
    return in_chunks(
        lambda A: np.asarray(field.evaluate(A).value), Z, len(field.centers)
    )


def curvature(field: Field, Z: Floats) -> Floats:
    """Jacobian in units of the widths, at any number of points, shape (m, d, d)."""
    widths = finite_widths(field)
    J = in_chunks(field.jacobian, Z, field.centers.size)
    return np.asarray(J * widths[:, None] * widths)


def _nearest_first(E: Floats) -> tuple[Floats, Floats, Floats]:
    """Return exp(E - max E) in place of E, exp(max E) and the distance of that."""
    top = np.maximum(E.max(axis=1, keepdims=True), -0.5 * LARGEST_SQUARE)
    E -= top
    return _exponential(E), np.exp(top), np.sqrt(-2.0 * top[:, 0])


def _exponential(E: Floats) -> Floats:
    """Return exp(E) in place of E, none of them so small that arithmetic is slow."""
    np.maximum(E, SMALLEST_EXPONENT, out=E)
    return np.exp(E, out=E)


def _sums_of_squares(T: Floats, Z: Floats, C: Floats, widths: Floats) -> Floats:
    """Sums over centres of T (s s' / l^4 - I / l^2) with s = c - z, shape (m, d, d).

    The squares are multiplied out, so that matrix products sum over the centres.
    """
    middle = middle_of(C, 1.0 / widths)
    U, V = (Z - middle) / widths, (C - middle) / widths
    mass, first = T.sum(axis=1, keepdims=True), T @ V
    H = np.empty((*Z.shape, Z.shape[1]))
    for j in range(Z.shape[1]):
        row = T @ (V[:, [j]] * V[:, j:]) - U[:, [j]] * first[:, j:]
        row += (mass * U[:, [j]] - first[:, [j]]) * U[:, j:]
        H[:, j, j:] = H[:, j:, j] = row
        H[:, j, j] -= mass[:, 0]
    return np.asarray(H / widths / widths[:, None])


class PotentialField(NamedTuple):
    """Shared coefficients: g is the gradient of a potential.

    f = sum_i theta_i phi_i - sum_j base_j z_j^2 / 2; the second term, absent by
    default, is the log of a Gaussian at the frame's origin.
    """

    centers: Floats  # (b, d)
    widths: Floats  # (d,)
    theta: Floats  # (b,)
    base: Floats  # (d,) inverse variances, not negative

    @property
    def saturates(self) -> bool:
        """Whether the potential levels off far from every centre."""
        return not self.base.any()

    def evaluate(self, Z: Floats) -> Evaluation:
        """Evaluate everything a step needs."""
        E = exponents(Z, self.centers, 1.0 / self.widths)
        if self.saturates:
            E[:, self.theta == 0] = -np.inf  # no pull, however near
            P, factor, nearest = _nearest_first(E)
        else:  # the Gaussian's pull remains where every other underflows
            nearest, factor = np.sqrt(-2.0 * E.max(axis=1)), np.ones((len(Z), 1))
            P = _exponential(E)
        positive = np.maximum(self.theta, 0.0)
        middle = middle_of(self.centers, 1.0 / self.widths)
        weighted = self.theta[:, None] * (self.centers - middle)
        columns = np.column_stack([self.theta, positive, weighted])
        sums = P @ columns  # (m, 2 + d)
        mass, plus = sums[:, :1], sums[:, 1:2]
        minus = (positive - self.theta).sum()
        bound = factor * plus + LARGEST_CURVATURE * minus
        size = factor * (2.0 * plus - mass)  # sum |theta| phi
        here = Evaluation(
            value=(factor * mass)[:, 0],
            size=size[:, 0],
            pull=sums[:, 2:] - mass * (Z - middle),
            mass=mass,
            bound=np.maximum(bound, np.finfo(float).tiny),
            factor=factor,
            nearest=nearest,
        )
        return here if self.saturates else self._add_base(Z, here)

    def _add_base(self, Z: Floats, here: Evaluation) -> Evaluation:
        """Add the Gaussian: a centre at the origin of mass base * width^2."""
        weight = self.base * np.where(self.base > 0, self.widths, 0.0) ** 2
        depth = 0.5 * (Z**2 @ self.base)
        assert here.value is not None
        return here._replace(
            value=here.value - depth,
            size=here.size + depth,
            pull=here.pull - weight * Z,
            mass=here.mass + weight,
            bound=here.bound + weight,
        )

    def jacobian(self, Z: Floats) -> Floats:
        """Hessian of f, shape (m, d, d)."""
        T = _exponential(exponents(Z, self.centers, 1.0 / self.widths))
        T *= self.theta
        return _sums_of_squares(T, Z, self.centers, self.widths) - np.diag(self.base)

    def divergence(self, Z: Floats, weights: Floats) -> Floats:
        """Laplacian of f, its terms weighted, shape (m,)."""
        precision = inverse_square(self.widths)
        P = np.exp(-0.5 * squared_distances(Z, self.centers, 1.0 / self.widths))
        E = squared_distances(Z, self.centers, precision * np.sqrt(weights))
        laplacian = (P * (E - precision @ weights)) @ self.theta
        return np.asarray(laplacian - self.base @ weights)


class SeparateField(NamedTuple):
    """Coefficients theta_ij of each feature: g need not be a gradient field."""

    centers: Floats  # (b, d)
    widths: Floats  # (d,)
    theta: Floats  # (d, b)
    saturates: bool = True

    def evaluate(self, Z: Floats) -> Evaluation:
        """Evaluate everything a step needs; each feature has its own mass."""
        positive = np.maximum(self.theta, 0.0)
        middle = middle_of(self.centers, 1.0 / self.widths)
        E = exponents(Z, self.centers, 1.0 / self.widths)
        P, factor, nearest = _nearest_first(E)
        mass = P @ self.theta.T
        minus = (positive - self.theta).sum(axis=1)
        bound = factor * (P @ positive.T) + LARGEST_CURVATURE * minus
        return Evaluation(
            value=None,
            size=(factor * (P @ np.abs(self.theta).T)).max(axis=1),
            pull=P @ (self.theta.T * (self.centers - middle)) - mass * (Z - middle),
            mass=mass,
            bound=np.maximum(bound, np.finfo(float).tiny),
            factor=factor,
            nearest=nearest,
        )

    def jacobian(self, Z: Floats) -> Floats:
        """Derivative of g, shape (m, d, d): row j holds the gradient of g_j."""
        precision = inverse_square(self.widths)
        D = squared_distances(Z, self.centers, 1.0 / self.widths)
        P = np.exp(-0.5 * D)
        steps = (self.centers - Z[:, None, :]) * precision
        J = (P[:, :, None] * self.theta.T * steps).transpose(0, 2, 1) @ steps
        diagonal = np.arange(len(self.widths))
        J[:, diagonal, diagonal] -= (P @ self.theta.T) * precision
        return np.asarray(J)

    def divergence(self, Z: Floats, weights: Floats) -> Floats:
        """Weighted sum over j of the derivative of g_j along feature j, shape (m,)."""
        precision = inverse_square(self.widths)
        P = np.exp(-0.5 * squared_distances(Z, self.centers, 1.0 / self.widths))
        total = np.zeros(len(Z))
        for j, inverse in enumerate(precision):
            steps = (self.centers[:, j] - Z[:, j, None]) * inverse
            total += weights[j] * ((P * (steps**2 - inverse)) @ self.theta[j])
        return total


class CommonField(NamedTuple):
    r"""Coefficients of each feature over plain Gaussians: g_j = sum_i theta_ij phi_i.

    In widths, the derivative of the field at a point is no larger than
    :math:`\sum_i \|l \theta_i\| r_i \phi_i`, where r_i is the distance to centre i.
    The mass is that sum with :math:`\max(1, r_i)`, so that a step of pull / mass is a
    gradient step that does not overshoot.
    """

    centers: Floats  # (b, d)
    widths: Floats  # (d,)
    theta: Floats  # (d, b)
    saturates: bool = True

    def evaluate(self, Z: Floats) -> Evaluation:
        """Evaluate everything a step needs; the mass bounds the curvature."""
        E = exponents(Z, self.centers, 1.0 / self.widths)
        far = np.sqrt(np.clip(-2.0 * E, 1.0, LARGEST_SQUARE))
        P, factor, nearest = _nearest_first(E)
        widths = finite_widths(self)
        lengths = np.linalg.norm(self.theta * widths[:, None], axis=0)
        mass = np.maximum((P * far) @ lengths, np.finfo(float).tiny)[:, None]
        return Evaluation(
            value=None,
            size=factor[:, 0] * (P @ lengths),
            pull=(P @ self.theta.T) * widths**2,
            mass=mass,
            bound=np.maximum(factor * mass, np.finfo(float).tiny),
            factor=factor,
            nearest=nearest,
        )

    def jacobian(self, Z: Floats) -> Floats:
        """Derivative of g, shape (m, d, d): row j holds the gradient of g_j."""
        P = np.exp(-0.5 * squared_distances(Z, self.centers, 1.0 / self.widths))
        steps = (self.centers - Z[:, None, :]) * inverse_square(self.widths)
        weighted = P[:, :, None] * self.theta.T
        return np.asarray(weighted.transpose(0, 2, 1) @ steps)

    def divergence(self, Z: Floats, weights: Floats) -> Floats:
        """Weighted sum over j of the derivative of g_j along feature j, shape (m,)."""
        total = np.zeros(len(Z))
        basis = basis_of_features(Z, self.centers, self.widths, common=True)
        for j, _, derivative in basis:
            total += weights[j] * (derivative @ self.theta[j])
        return total


class KernelField(NamedTuple):
    """Log of a Gaussian kernel density estimate: the mean shift's field."""

    centers: Floats  # (b, d)
    widths: Floats  # (d,)
    log_weights: Floats  # (b,)
    saturates: bool = False

    def _shares(self, Z: Floats) -> tuple[Floats, Floats, Floats]:
        return self.shares(exponents(Z, self.centers, 1.0 / self.widths))

    def shares(self, E: Floats) -> tuple[Floats, Floats, Floats]:
        """Share of each kernel in the density, the log-density, and distances.

        The logs of the kernels (m, b) are overwritten.
        """
        nearest = np.sqrt(-2.0 * E.max(axis=1))
        E += self.log_weights
        top = E.max(axis=1, keepdims=True)
        E -= top
        P = _exponential(E)
        total = P.sum(axis=1, keepdims=True)
        P /= total
        return P, (top + np.log(total))[:, 0], nearest

    def log_density(self, Z: Floats) -> Floats:
        """Log of the kernel sum, up to the kernel's own constant, shape (m,)."""
        return self._shares(Z)[1]

    def evaluate(self, Z: Floats) -> Evaluation:
        """Evaluate everything a step needs."""
        P, value, nearest = self._shares(Z)
        one = np.ones((len(Z), 1))
        return Evaluation(
            value=value,
            size=1.0 + np.abs(value),
            pull=P @ self.centers - Z,
            mass=one,
            bound=one,
            factor=one,
            nearest=nearest,
        )

    def jacobian(self, Z: Floats) -> Floats:
        """Hessian of the log-density, shape (m, d, d)."""
        P, _, _ = self._shares(Z)
        # Deviations from the mean centre: those from Z would cancel far away.
        return _sums_of_squares(P, P @ self.centers, self.centers, self.widths)

    def divergence(self, Z: Floats, weights: Floats) -> Floats:
        """Laplacian of the log-density, its terms weighted, shape (m,)."""
        precision = inverse_square(self.widths)
        P, _, _ = self._shares(Z)
        means = P @ self.centers
        E = squared_distances(means, self.centers, precision * np.sqrt(weights))
        return np.asarray((P * E).sum(axis=1) - precision @ weights)


# Model files name the types so.
PotentialField.__module__ = "modeseek.field"
SeparateField.__module__ = "modeseek.field"
CommonField.__module__ = "modeseek.field"
KernelField.__module__ = "modeseek.field"
