r"""Basins: balls around modes in which every way up ends at the mode.

Where the Hessian is negative definite in a whole ball around a mode, the gradient
points nearer to the mode everywhere in it: a row that enters has found its mode, and
need not climb on. The ball is proven, not sampled. With s = c - mode, in widths:

- the sum of Gaussians: by Taylor's theorem the Hessian at a distance r is at most
  :math:`-\lambda + r \|D^3 f\| + r^2 / 2\ \sum_i |\theta_i| q_i`, where the third
  derivative is that at the mode (its Frobenius norm) and q bounds the fourth
  derivative of a Gaussian in the ball;
- the log of a kernel density: moving by at most r multiplies the share P of a kernel by
  at most :math:`e^{r |s|}`, and the shares' sum does not fall below 1, so the Hessian
  is at most :math:`\sum_i P_i e^{r |s_i|} s_i s_i' - I`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree
from scipy.special import eval_hermitenorm, softmax

from modeseek.field.fields import Field, KernelField, PotentialField, curvature
from modeseek.rows.arrays import Bools, Floats, Integers

#: Radii that are tried, in widths, ascending.
RADII = np.geomspace(0.05, 1.0, 14)

#: Distances at which the bound of the fourth derivative is tabulated.
DISTANCES = np.linspace(0.0, 12.0, 2401)


class Basins(NamedTuple):
    """Modes, and around each the ellipsoid that is certain to climb to it."""

    modes: Floats  # (k, d)
    radii: Floats  # (k,) zero where nothing is certain
    scales: Floats  # (k, d) factors of each feature before a distance is taken

    def find(self, field: Field, Z: Floats) -> tuple[Integers, Bools]:
        """Nearest mode of each point, and whether the point is certain to reach it."""
        mode = KDTree(self.modes / field.widths).query(Z / field.widths)[1]
        away = np.linalg.norm((Z - self.modes[mode]) * self.scales[mode], axis=1)
        return mode, away < self.radii[mode]


def certain_basins(field: Field, modes: Floats) -> Basins:
    """Ellipsoids around modes (k, d) in which every way up ends there.

    A radius is zero where nothing is certain, as in fields without a potential.
    """
    radii = _radii(field, modes)
    scales = np.tile(1.0 / field.widths, (len(modes), 1))
    proven = radii > 0
    if proven.any():
        # Where features have masses of their own, rows climb by the gradient over
        # them: an ellipsoid in the ball, short where the mass is large, none leaves.
        here = field.evaluate(modes[proven])
        usual = np.all(here.mass > 0, axis=1, keepdims=True)
        mass = np.where(usual, here.mass, here.bound)
        scales[proven] *= np.sqrt(mass / mass.min(axis=1, keepdims=True))
    return Basins(modes, radii, scales)


def _radii(field: Field, modes: Floats) -> Floats:
    """Radius of the ball around each mode in which the Hessian is negative."""
    if not isinstance(field, PotentialField | KernelField):
        return np.zeros(len(modes))
    used = np.isfinite(field.widths)
    C, M, widths = field.centers[:, used], modes[:, used], field.widths[used]
    steps = [(C - mode) / widths for mode in M]  # (b, d) from each mode to all centres
    if isinstance(field, KernelField):
        return np.array([_radius_of_log(s, field.log_weights) for s in steps])
    H = curvature(field, modes)[:, used][:, :, used]
    bend = -np.linalg.eigvalsh(H)[:, -1]
    theta = field.theta
    return np.array(
        [_radius_of_sum(*of, theta) for of in zip(steps, bend, strict=True)]
    )


def _radius_of_sum(steps: Floats, bend: float, theta: Floats) -> float:
    """Radius about a mode of a sum of Gaussians; the Hessian there is -bend or less."""
    squared = (steps**2).sum(axis=1)
    third = _third_derivative(steps, theta * np.exp(-0.5 * squared))
    gap = np.maximum(np.sqrt(squared) - RADII[:, None], 0.0)  # (r, b)
    index = np.minimum(gap / DISTANCES[1], len(DISTANCES) - 1.0).astype(np.intp)
    fourth = _fourth_derivatives()[index] @ np.abs(theta)
    return _largest(bend > RADII * third + 0.5 * RADII**2 * fourth)


def _third_derivative(steps: Floats, weights: Floats) -> float:
    r"""Frobenius norm of the third derivative of a sum of Gaussians.

    That of a Gaussian is a Hermite polynomial; two of them, at x and y with
    :math:`c = x \cdot y`, have the product :math:`c^3 - 3 c (|x|^2 + |y|^2 - d - 2)`.
    """
    squared = (steps**2).sum(axis=1)
    near = squared < DISTANCES[-1] ** 2
    x, w, squared = steps[near], weights[near], squared[near]
    c = x @ x.T
    product = c * (c**2 - 3.0 * (squared[:, None] + squared - x.shape[1] - 2.0))
    return float(np.sqrt(max(w @ product @ w, 0.0)))


@functools.cache
def _fourth_derivatives() -> Floats:
    """Bound of the fourth derivative of a Gaussian at the tabulated distances or more.

    Along any direction it is a Hermite polynomial of a number up to the distance.
    """
    largest = np.maximum.accumulate(np.abs(eval_hermitenorm(4, DISTANCES)))
    bound = largest * np.exp(-0.5 * DISTANCES**2)
    # What lies between two distances is within a hundredth.
    return np.asarray(1.01 * np.maximum.accumulate(bound[::-1])[::-1])


def _radius_of_log(steps: Floats, log_weights: Floats) -> float:
    """Radius about a mode of the log of a kernel density."""
    distance = np.linalg.norm(steps, axis=1)
    shares = softmax(log_weights - 0.5 * distance**2)
    # Farther kernels have no share that could grow to anything.
    grown = shares * np.exp(RADII[:, None] * np.minimum(distance, 700.0))
    sums = (steps.T * grown[:, None, :]) @ steps  # (r, d, d)
    return _largest(np.linalg.eigvalsh(sums)[:, -1] < 1.0)


def _largest(proven: Bools) -> float:
    """Largest radius up to which all are proven, or zero."""
    n_proven = int(np.argmin(np.append(proven, False)))
    return float(RADII[n_proven - 1]) if n_proven else 0.0
