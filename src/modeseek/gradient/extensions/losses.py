r"""Bregman losses (the paper's section 4.4): other distances to the true gradient.

For a strictly convex f the loss of feature j is the mean over rows of

.. math:: -f(g_j) + f'(g_j)\, g_j + f''(g_j)\, \partial_j g_j,

the squared loss for f(t) = t^2. It is no quadratic form, so moments do not carry it:
Newton's method passes over the rows, whose first and second derivatives add. Nor is
it convex in the coefficients; the search starts from the squared loss's solution, or
from zero where that is better, and every step descends.

**Signs.** The printed Kullback-Leibler, logistic and power losses, f(t) = -log t,
t log t - (1 + t) log(1 + t) and (t^(1 + a) - t) / a, are defined for t > 0 alone, but
the mean of the true gradient is zero, so it has both signs. What is meaningful:

- a **shift**: the printed f at 1 + t / c, where c is four times the largest gradient
  of the squared loss's solution. It is not symmetric: falls and rises count
  differently;
- an **even** f: (1 + (t / c)^2)^((1 + a) / 2) for the power loss, whose a = 0 is the
  pseudo-Huber loss and whose a = 1 the squared, and log cosh (t / c), whose derivative
  is a logistic curve. Here c is twice the root mean square of that solution.

These are scaled to f''(0) = 2, so that they tend to the squared loss as c grows. For
a = 0 and for log cosh, -f + f' g is bounded: steep slopes through a few rows are then
cheap, and only the penalty and short steps keep them away. So are those through rows
near the end of a shifted loss's domain, where f'' has no bound.

An f of the user's is taken as it is, of gradients in the unit of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from modeseek.field.basis import basis_of_features
from modeseek.field.own import LinearField, basis_of_field
from modeseek.gradient.extensions.penalties import ridge_path
from modeseek.gradient.moments import Problem, compute_moments
from modeseek.gradient.uncertainty import Influence
from modeseek.rows.arrays import Bools, Floats
from modeseek.rows.blocks import chunk_slices, map_blocks, one_blas_thread

#: u -> F and its first four derivatives.
Five: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats]
Derivatives: TypeAlias = Callable[[Floats], Five]

#: Task and feature, its basis and the derivative of that (m, b), and row weights (m,).
_Basis: TypeAlias = tuple[int, int, Floats, Floats, Floats]

#: Numbers of a basis that is kept while Newton's method goes on, 16 bytes each.
KEPT_ELEMENTS = 1 << 20

#: Shift of a shifted loss, in largest gradients; bend of an even one, in root mean
#: squares.
SHIFT, BEND = 4.0, 2.0

#: Gradients in the frame that are smaller are none: their squares would underflow.
LEAST_SCALE = 1e-100

#: Newton's method ends when no coefficient moves by more than this (relative to the
#: largest, or to 1), or after so many steps; each is halved at most so often.
SETTLED, MAX_NEWTON, MAX_HALVINGS = 1e-10, 100, 40

#: Longest step, as the change of the gradient in its root mean square over the scale
#: of the loss: far steps would leave the minimum beside the start for another.
LONGEST = 0.5

#: Least share of the promised descent that a step must bring.
ARMIJO = 1e-4


class Bregman(NamedTuple):
    """A loss: f(t) = c^2 F(t / c), with F''(0) = 2."""

    derivatives: Derivatives
    shifted: bool = False  # F is defined for u > -1 alone
    own: bool = False  # F is the user's f, and c the unit of the data


def _squared(u: Floats) -> Five:
    zero = np.zeros_like(u)
    return u**2, 2.0 * u, zero + 2.0, zero, zero


def _even_power(u: Floats, a: float) -> Five:
    p, v, q = 0.5 * (1.0 + a), u**2, 1.0 + u**2
    p1, p2, p3 = p - 1.0, (p - 1.0) * (p - 2.0), (p - 1.0) * (p - 2.0) * (p - 3.0)
    return (
        (q**p - 1.0) / p,
        2.0 * u * q ** (p - 1.0),
        (2.0 * q + 4.0 * p1 * v) * q ** (p - 2.0),
        (12.0 * p1 * q + 8.0 * p2 * v) * u * q ** (p - 3.0),
        (12.0 * p1 * q**2 + 48.0 * p2 * v * q + 16.0 * p3 * v**2) * q ** (p - 4.0),
    )


def _log_cosh(u: Floats) -> Five:
    t = np.tanh(u)
    s = 1.0 - t**2
    value = 2.0 * (np.logaddexp(u, -u) - np.log(2.0))
    return value, 2.0 * t, 2.0 * s, -4.0 * t * s, 4.0 * s * (3.0 * t**2 - 1.0)


def _shifted_kl(u: Floats) -> Five:
    v = 1.0 + u
    # A linear term changes no Bregman loss; these make F(0) = F'(0) = 0.
    return (
        2.0 * (u - np.log1p(u)),
        2.0 * u / v,
        2.0 / v**2,
        -4.0 / v**3,
        12.0 / v**4,
    )


def _shifted_logistic(u: Floats) -> Five:
    v, w = 1.0 + u, 2.0 + u
    low, high = np.log1p(u), np.log1p(0.5 * u)
    return (
        4.0 * (v * low - w * high),
        4.0 * (low - high),
        4.0 / (v * w),
        4.0 * (1.0 / w**2 - 1.0 / v**2),
        8.0 * (1.0 / v**3 - 1.0 / w**3),
    )


#: Losses by name; the even power's exponent is a parameter.
LOSSES: dict[str, Bregman] = {
    "squared": Bregman(_squared),
    "even_power": Bregman(partial(_even_power, a=0.5)),
    "pseudo_huber": Bregman(partial(_even_power, a=0.0)),
    "log_cosh": Bregman(_log_cosh),
    "shifted_kl": Bregman(_shifted_kl, shifted=True),
    "shifted_logistic": Bregman(_shifted_logistic, shifted=True),
}

#: What the paper prints, and what stands for it here.
PRINTED: dict[str, tuple[str, str]] = {
    "kl": ("f(t) = -log t", "'shifted_kl'"),
    "logistic": (
        "f(t) = t log t - (1 + t) log(1 + t)",
        "'shifted_logistic' or 'log_cosh'",
    ),
    "power": ("f(t) = (t^(1 + a) - t) / a", "'even_power'"),
}


def find_loss(loss: str | Derivatives, power: float) -> Bregman:
    """The loss of a name, the even one of a power, or that of a user's f."""
    if callable(loss):
        return Bregman(partial(_checked, loss), own=True)
    if loss == "even_power":
        return Bregman(partial(_even_power, a=power))
    return LOSSES[loss]


def _checked(f: Derivatives, t: Floats) -> Five:
    """What a user's f gives, if it is what it must be."""
    given = f(t)
    if not isinstance(given, tuple | list) or len(given) != 5:
        raise ValueError(
            "A loss of your own is a function of an array of gradients that gives five "
            "arrays: f and its first four derivatives there."
        )
    values = [np.asarray(part, dtype=np.float64) for part in given]
    if any(part.shape != t.shape for part in values):
        shapes = [part.shape for part in values]
        raise ValueError(f"loss gave arrays of shapes {shapes} for one of {t.shape}.")
    if not (values[2] > 0.0).all():
        raise ValueError(
            "loss must be strictly convex: its second derivative, the third of the "
            "five arrays, is not positive everywhere."
        )
    f0, f1, f2, f3, f4 = values
    return f0, f1, f2, f3, f4


class Rule(NamedTuple):
    """A loss with its scale, and the basis it is asked about."""

    loss: Bregman
    c: Floats  # (d,)
    widths: Floats  # (d,)


class Sums(NamedTuple):
    """Loss, and half its derivatives by the coefficients, summed over rows."""

    value: Floats  # (tasks,) infinite where a gradient leaves the domain of f
    slope: Floats  # (tasks, b)
    curvature: Floats  # (tasks, b, b)


class Fit(NamedTuple):
    """Coefficients, half the second derivatives there, and the penalised loss."""

    theta: Floats  # (tasks, b)
    A: Floats  # (tasks, b, b)
    value: Floats  # (tasks,)


def gradient_scales(
    problem: Problem, widths: Floats, theta: Floats, loss: Bregman
) -> Floats:
    """Scale c (d,) of a loss, from a solution (tasks, b); 1 where that has no size."""
    if loss.own:  # gradients of the frame are so many times those of the data
        return np.broadcast_to(problem.unit, widths.shape).astype(np.float64)

    def kernel(rows: slice) -> tuple[Floats, Floats]:
        sizes = np.zeros((2, len(widths)))
        for t, j, psi, _, w in _each_basis(problem, widths, rows):
            g = psi @ theta[t]
            sizes[0, j] += w @ g**2
            sizes[1, j] = max(sizes[1, j], np.abs(g).max())
        return sizes, np.asarray(problem.weights(rows).sum())

    parts = list(map_blocks(kernel, problem.n_rows, n_jobs=problem.n_jobs))
    squares = sum(sizes[0] for sizes, _ in parts) / sum(w for _, w in parts)
    largest = np.max([sizes[1] for sizes, _ in parts], axis=0)
    c = SHIFT * largest if loss.shifted else BEND * np.sqrt(squares)
    return np.where(c > LEAST_SCALE, c, 1.0)


def _each_basis(problem: Problem, widths: Floats, rows: slice) -> Iterator[_Basis]:
    """Yield task and feature, its basis and the derivative of that, and row weights.

    Rows come a few at a time, with every feature.
    """
    Z, w = problem.read(rows), problem.weights(rows)
    for chunk in chunk_slices(len(Z), len(problem.centers)):
        basis = basis_of_features(
            Z[chunk], problem.centers, widths, problem.common, problem.own
        )
        for j, psi, derivative in basis:
            yield 0 if problem.shared else j, j, psi, derivative, w[chunk]


def _kept_basis(
    problem: Problem, widths: Floats
) -> Callable[[slice], Iterable[_Basis]]:
    """What :func:`_each_basis` yields for rows, computed once if it takes little room.

    Newton's method asks for it again at every step.
    """
    if problem.n_rows * problem.centers.size > KEPT_ELEMENTS:
        return partial(_each_basis, problem, widths)
    kept: dict[int, list[_Basis]] = {}

    def look_up(rows: slice) -> list[_Basis]:
        if rows.start not in kept:
            kept[rows.start] = list(_each_basis(problem, widths, rows))
        return kept[rows.start]

    return look_up


def row_derivatives(rule: Rule, j: int, g: Floats, slope: Floats) -> Five:
    """Loss of rows, and its derivatives by g_j (m,) and by its slope (m,) along j.

    In turn the value, which is infinite outside the domain of f, and the derivatives
    by g, by the slope, by g twice, and by g and the slope.
    """
    c, loss = rule.c[j], rule.loss
    u = g / c
    outside = u <= -1.0 if loss.shifted else np.zeros(len(u), dtype=bool)
    F0, F1, F2, F3, F4 = loss.derivatives(np.where(outside, 0.0, u))
    value = np.where(outside, np.inf, c**2 * (u * F1 - F0) + F2 * slope)
    by_g = F2 * g + F3 * slope / c
    by_g_g = F2 + F3 * u + F4 * slope / c**2
    return value, by_g, F2, by_g_g, F3 / c


def loss_sums(
    problem: Problem,
    rule: Rule,
    theta: Floats,
    *,
    second: bool,
    basis: Callable[[slice], Iterable[_Basis]] | None = None,
    asked: Bools | None = None,
) -> Sums:
    """Mean over rows of the loss of coefficients (tasks, b), and of its derivatives.

    Derivatives are zero unless ``second``, and everything of tasks that are not asked
    for. Folds are not looked at. The basis of rows is computed unless it is given.
    """
    tasks, b = theta.shape
    basis = basis or partial(_each_basis, problem, rule.widths)

    def kernel(rows: slice) -> tuple[Floats, Floats, Floats, float]:
        value, slope = np.zeros(tasks), np.zeros((tasks, b))
        curvature = np.zeros((tasks, b, b))
        for t, j, psi, derivative, w in basis(rows):
            if asked is not None and not asked[t]:
                continue
            by_row = row_derivatives(rule, j, psi @ theta[t], derivative @ theta[t])
            loss, by_g, by_slope, by_g_g, by_g_slope = by_row
            value[t] += w @ loss
            if not second:
                continue
            slope[t] += (w * by_g) @ psi + (w * by_slope) @ derivative
            curvature[t] += (psi * (w * by_g_g)[:, None]).T @ psi
            if by_g_slope.any():
                cross = (psi * (w * by_g_slope)[:, None]).T @ derivative
                curvature[t] += cross + cross.T
        return value, slope, curvature, float(problem.weights(rows).sum())

    blocks = list(map_blocks(kernel, problem.n_rows, n_jobs=problem.n_jobs))
    value, slope, curvature, weight = (sum(part) for part in zip(*blocks, strict=True))
    return Sums(value / weight, 0.5 * slope / weight, 0.5 * curvature / weight)


@one_blas_thread()
def minimize_loss(problem: Problem, rule: Rule, lam: float, start: Floats) -> Fit:
    """Damped Newton's method on the loss with a ridge, until no step descends.

    The penalty is relative to the scale of G, as in
    :mod:`modeseek.gradient.extensions.penalties`. The start (tasks, b) is taken for
    every task where its loss is finite and below that of zero.
    """
    ridge = lam * problem.task_scales(rule.widths)
    basis = _kept_basis(problem, rule.widths)
    moving = np.ones(len(start), dtype=bool)

    def penalised(theta: Floats, second: bool) -> Sums:
        sums = loss_sums(problem, rule, theta, second=second, basis=basis, asked=moving)
        return Sums(
            sums.value + ridge * (theta**2).sum(axis=1),
            sums.slope + ridge[:, None] * theta,
            sums.curvature + ridge[:, None, None] * np.eye(theta.shape[1]),
        )

    squares = (rule.c**2).sum(keepdims=True) if problem.shared else rule.c**2
    reach = LONGEST * np.sqrt(squares)
    zero = penalised(np.zeros_like(start), second=False).value
    better = penalised(start, second=False).value < zero
    theta = np.where(better[:, None], start, 0.0)
    here = penalised(theta, second=True)
    longest = np.ones(len(theta))
    for _ in range(MAX_NEWTON):
        step = np.where(moving[:, None], _descent(here, ridge), 0.0)
        promised = 2.0 * np.einsum("tb,tb->t", here.slope, step)
        length = np.minimum(longest, reach / np.sqrt(np.maximum(-promised, 1e-300)))
        for _ in range(MAX_HALVINGS):
            tried = penalised(theta + length[:, None] * step, second=False).value
            enough = here.value + ARMIJO * length * promised
            falls = ~moving | (tried <= enough + 1e-13 * np.abs(here.value))
            if falls.all():
                break
            length = np.where(falls, length, 0.5 * length)
        step *= np.where(falls, length, 0.0)[:, None]
        longest = np.minimum(1.0, 4.0 * length)
        theta = theta + step
        for mine, theirs in zip(here, penalised(theta, second=True), strict=True):
            mine[moving] = theirs[moving]
        shortest = SETTLED * max(1.0, np.abs(theta).max())
        moving &= np.abs(step).max(axis=1) > shortest
        if not moving.any():
            break
    return Fit(theta, here.curvature, here.value)


def _descent(here: Sums, ridge: Floats) -> Floats:
    """Newton's step with the sizes of the curvatures, so that it always descends."""
    values, U = np.linalg.eigh(here.curvature)
    values = np.maximum(np.abs(values), ridge[:, None])
    along = np.einsum("tbi,tb->ti", U, here.slope)
    return np.asarray(-np.einsum("tbi,ti->tb", U, along / values))


def held_out(problem: Problem, rule: Rule, lams: Floats) -> Floats:
    """Loss of every penalty on the rows of every fold, trained on the others.

    Shape (a, n_folds), infinite where a held-out gradient leaves the domain of f.
    """
    assert problem.fold is not None
    fold = problem.fold
    moments = compute_moments(problem, rule.widths)
    scales = problem.task_scales(rule.widths)
    alone = problem._replace(n_jobs=1)

    def validate(which: slice) -> Floats:
        k = which.start
        train = alone.subset(np.flatnonzero(fold != k))
        validation = alone.subset(np.flatnonzero(fold == k))
        starts = ridge_path(*moments.without(0, k).mean(), scales, lams)
        fits = [
            minimize_loss(train, rule, float(lam), starts[:, :, a])
            for a, lam in enumerate(lams)
        ]
        losses = [
            loss_sums(validation, rule, f.theta, second=False).value for f in fits
        ]
        return np.asarray(np.sum(losses, axis=1))

    by_fold = map_blocks(validate, problem.n_folds, n_jobs=problem.n_jobs, size=1)
    return np.stack(list(by_fold), axis=1)


def bregman_influence(field: LinearField, rule: Rule, U: Floats) -> Influence:
    """Influence of rows on heights in a model that minimises a Bregman loss.

    U (tasks, b, r) is the response of the coefficients to the differences.
    """
    theta = np.atleast_2d(field.theta)

    def influence(Z: Floats) -> Floats:
        total = np.zeros((len(Z), U.shape[2]))
        for t, j, psi, derivative in basis_of_field(field, Z):
            g, slope = psi @ theta[t], derivative @ theta[t]
            _, by_g, by_slope, _, _ = row_derivatives(rule, j, g, slope)
            rows = psi * by_g[:, None] + derivative * by_slope[:, None]
            total += 0.5 * rows @ U[t]
        return total

    return influence
