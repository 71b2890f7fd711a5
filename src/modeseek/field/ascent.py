"""Ascents: from every row, uphill to a mode. One loop; each ascent is a step of it.

:func:`climb` owns iterating, stopping, dropping rows that have arrived and counting
those that needed help. A step only proposes a move (the paper's section 3). Where the
field has a potential, a move that would go downhill is replaced by the safe step of
:mod:`modeseek.field.fields`, which cannot; so a potential never falls along a path.

Lengths are measured in widths of the Gaussians.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from modeseek.field.fields import (
    Evaluation,
    Field,
    curvature,
    finite_widths,
    gradient,
    scaled_gradient,
)
from modeseek.rows.arrays import Bools, Floats, Integers

Memory: TypeAlias = tuple[Floats, ...]
Proposal: TypeAlias = tuple[Floats, Memory]  # a move, and what is remembered of it

#: What rounding may take from a potential, in its size: distances come from matrix
#: products, whose errors grow with the distance from the middle of the centres.
POTENTIAL_ROUNDING = 1024.0 * np.finfo(np.float64).eps

#: Longest move of a row that is near the centres.
LONGEST_MOVE = 0.25

#: Shortest share of a fixed point's move that is taken where moves turn back.
SHORTEST = 0.01

#: A quasi-Newton move longer than the radius must go nearly up the gradient (by the
#: cosine of the angle), or it would cross to other basins.
TRUST_RADIUS, STEEPNESS = 0.05, 0.9

#: A row is slow when its fixed point is this near, and slow for long after so many
#: steps times one plus the number of features, which Newton's steps cost as much as.
SLOW, PATIENCE = 0.05, 4

#: How far a foretold gradient may be from what it then is, in the gradient before.
TOLERATED = 0.1

#: Steps of the fixed point that are taken at once, least and most, and halvings of
#: that range; curvatures are taken as no smaller than the flattest, in the mass.
EARLIEST_AND_LATEST, BISECTIONS, FLATTEST = (0.1, 1e7), 10, 1e-12

#: Rows farther than this from every centre see hardly any slope to learn from.
FAR = 6.0

#: Least mass that starts an inverse Hessian, and largest entry that one may learn.
SMALLEST_MASS, LARGEST_INVERSE = 1e-9, 1e12


class Step(NamedTuple):
    """An ascent: what it remembers of every row, and the move it proposes."""

    start: Callable[[Field, Floats, Evaluation], Memory]
    propose: Callable[[Field, Floats, Evaluation, Memory], Proposal]
    bold: bool = False  # where a move falls, the fixed point's is tried before the safe


class Climb(NamedTuple):
    """Where rows arrived."""

    points: Floats  # (m, d)
    n_iter: Integers  # (m,)
    converged: Bools  # (m,)
    guarded: Bools  # (m,) took the safe step at least once


def climb(
    field: Field,
    Z: Floats,
    step: Step,
    *,
    tol: float,
    max_iter: int,
    certain: Callable[[Floats], Bools] | None = None,
    record: Callable[[Floats], None] | None = None,
) -> Climb:
    """Move rows (m, d) of the frame uphill until they move less than ``tol`` widths.

    A row whose mode is ``certain`` at its point climbs no further. ``record`` is called
    with all points before the first step and after every one.
    """
    points = np.array(Z, dtype=np.float64)
    n_iter = np.zeros(len(Z), dtype=np.intp)
    converged = np.zeros(len(Z), dtype=bool)
    guarded = np.zeros(len(Z), dtype=bool)
    active = np.arange(len(Z))
    here = field.evaluate(points)
    memory = step.start(field, points, here)
    if record is not None:
        record(points)
    for _ in range(max_iter):
        start = points[active]
        move, memory = step.propose(field, start, here, memory)
        end, here, helped = _take_move(field, start, here, move, step.bold)
        points[active] = end
        n_iter[active] += 1
        guarded[active] |= helped
        arrived = length(end - start, field) <= tol
        if certain is not None:
            arrived |= certain(end)
        converged[active] = arrived
        if record is not None:
            record(points)
        if arrived.any():
            going = ~arrived
            active, here = active[going], here.take(going)
            memory = tuple(part[going] for part in memory)
        if not active.size:
            break
    return Climb(points, n_iter, converged, guarded)


def length(move: Floats, field: Field) -> Floats:
    """Length of moves in widths, shape (m,)."""
    return np.asarray(np.linalg.norm(move / field.widths, axis=1))


def _take_move(
    field: Field, start: Floats, here: Evaluation, move: Floats, bold: bool
) -> tuple[Floats, Evaluation, Bools]:
    """Move, but never downhill and never far at once."""
    end = start + _limited(field, here, move)
    there = field.evaluate(end)
    helped: Bools = np.asarray(np.any(here.mass <= 0, axis=1))
    if here.value is None or there.value is None:
        return end, there, helped
    lowest = here.value - POTENTIAL_ROUNDING * here.size
    falls = ~(there.value >= lowest)  # also where not a number
    if bold and falls.any():
        low = here.take(falls)
        end[falls] = start[falls] + _limited(field, low, low.fixed_point_step())
        there.put(falls, field.evaluate(end[falls]))
        falls = ~(there.value >= lowest)
    if falls.any():
        end[falls] = start[falls] + here.take(falls).safe_step()
        there.put(falls, field.evaluate(end[falls]))
        stays = falls & ~(there.value >= lowest)  # the safe step is lost in rounding
        end[stays] = start[stays]
        there.put(stays, here.take(stays))
    return end, there, helped | falls


def _limited(field: Field, here: Evaluation, move: Floats) -> Floats:
    """Move a fraction of a width, or from afar to a width from the nearest centre.

    Where the mass is small, the printed step leaps over basins and may even land
    higher: a row would get another's mode.
    """
    reach = LONGEST_MOVE + np.maximum(here.nearest - 1.0, 0.0)
    shrink = reach / np.maximum(length(move, field), reach)
    return np.asarray(shrink[:, None] * move)


def fixed_point() -> Step:
    """The paper's fixed point: the mean of the centres weighted by theta phi.

    Where its denominator is not positive, it stretches the safe step instead, twice
    as far each time that worked: the safe step is short. Without a potential nothing
    tells whether a move worked but that the next one goes on in its direction; where
    that turns back, moves are shortened, or rows would swing about a mode for ever.
    """

    def start(field: Field, Z: Floats, here: Evaluation) -> Memory:
        return np.ones(len(Z)), Z, np.zeros_like(Z)

    def propose(field: Field, Z: Floats, here: Evaluation, memory: Memory) -> Proposal:
        stretch, expected, last = memory
        safe = here.safe_step()
        usual = np.all(here.mass > 0, axis=1)
        # A row that is not where it was sent had its last move refused.
        arrived = length(Z - expected, field) <= 1e-9
        room = LONGEST_MOVE / np.maximum(length(safe, field), 1e-300)
        if here.value is None:
            scaled = (safe / field.widths) * (last / field.widths)
            turned = scaled.sum(axis=1) < 0
            longer = np.where(turned, 0.25 * stretch, 2.0 * stretch)
        else:
            longer = np.where(arrived & ~usual, 2.0 * stretch, 1.0)
        most = np.where(usual, 1.0, np.maximum(room, 1.0))
        stretch = np.clip(longer, np.where(usual, SHORTEST, 1.0), most)
        move = np.where(usual[:, None], here.fixed_point_step(), safe)
        move = stretch[:, None] * move
        limited = _limited(field, here, move)
        return move, (stretch, Z + limited, limited)

    return Step(start, propose)


def accelerated() -> Step:
    """The fixed point, and Newton's steps for rows that have been slow for long.

    On a ridge the fixed point takes hundreds of tiny steps. They follow the gradient
    (in coordinates where the mass is one), whose path on the parabola that touches
    the field is known: far along it is Newton's step, and on a ridge or beside a
    saddle it still goes where the small steps would have gone. How far a row follows
    it depends on how well the last one foretold the gradient. Fields without a
    potential keep to the fixed point: nothing would guard them.
    """
    plain = fixed_point()

    def start(field: Field, Z: Floats, here: Evaluation) -> Memory:
        nothing = np.full_like(Z, np.nan)
        still = np.zeros(len(Z)), np.full(len(Z), SLOW), Z, nothing, nothing
        return (*still, *plain.start(field, Z, here))

    def propose(field: Field, Z: Floats, here: Evaluation, memory: Memory) -> Proposal:
        n_steps, trust, expected, before, foretold, *rest = memory
        move, after = plain.propose(field, Z, here, tuple(rest))
        if here.value is None:
            return move, (n_steps, trust, expected, before, foretold, *after)
        g = scaled_gradient(field, here)
        error = np.linalg.norm(g - foretold, axis=1)
        error /= np.maximum(np.linalg.norm(before, axis=1), 1e-300)
        error[length(Z - expected, field) > 1e-9] = np.inf  # it was refused
        change = np.clip(np.sqrt(TOLERATED / np.maximum(error, 1e-9)), 0.25, 2.0)
        trust = np.where(np.isnan(error), trust, trust * change)
        trust = np.clip(trust, SHORTEST, LONGEST_MOVE)
        n_steps = n_steps + 1.0
        slow = (length(move, field) <= SLOW) & np.all(here.mass > 0, axis=1)
        slow &= (n_steps > PATIENCE * (1 + Z.shape[1])) & (here.nearest <= FAR)
        foretold = np.full_like(Z, np.nan)
        if slow.any():
            move[slow], foretold[slow] = _follow_parabola(
                field, Z[slow], here.take(slow), g[slow], trust[slow]
            )
        end = Z + _limited(field, here, move)
        return move, (n_steps, trust, end, g, foretold, *after)

    return Step(start, propose, bold=True)


def _follow_parabola(
    field: Field, Z: Floats, here: Evaluation, g: Floats, trust: Floats
) -> tuple[Floats, Floats]:
    """Path of the gradient on the local parabola, as far as is trusted.

    With g (in widths) and H divided by the mass, the path is
    :math:`(e^{tH} - 1) H^{-1} g` after t steps of the fixed point; t is sought so that
    the path is as long as trusted. Returns the move, and the gradient at its end if the
    field were the parabola.
    """
    root = np.sqrt(np.broadcast_to(here.factor * here.mass, Z.shape))
    H = curvature(field, Z) / root[:, :, None] / root[:, None, :]
    values, vectors = np.linalg.eigh(H)
    values = np.where(np.abs(values) < FLATTEST, FLATTEST, values)
    along = np.einsum("mji,mj->mi", vectors, g / root)

    def turned(coordinates: Floats) -> Floats:
        return np.asarray(np.einsum("mij,mj->mi", vectors, coordinates))

    def follow(t: Floats) -> Floats:
        grown = np.expm1(np.minimum(values * t[:, None], 50.0))
        return np.asarray(along * grown / values)

    low, high = np.outer(np.log(EARLIEST_AND_LATEST), np.ones(len(Z)))
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        far = np.linalg.norm(turned(follow(np.exp(middle))) / root, axis=1) > trust
        low, high = np.where(far, low, middle), np.where(far, middle, high)
    path = follow(np.exp(low))
    move = turned(path) / root
    return move * finite_widths(field), root * turned(along + values * path)


def gradient_ascent(step_size: float | Floats) -> Step:
    """Steps of the gradient times a number, the paper's epsilon (in the frame)."""

    def propose(field: Field, Z: Floats, here: Evaluation, memory: Memory) -> Proposal:
        return step_size * gradient(field, here), memory

    return Step(lambda field, Z, here: (), propose)


def largest_step_size(field: Field) -> float:
    """Step size that makes a gradient step no longer than the fixed point's.

    The fixed point's own is l^2 over the mass; this takes the narrowest width and the
    largest mass among the centres.
    """
    mass = field.evaluate(field.centers)
    largest = np.maximum(mass.factor * mass.mass, 0.0).max()
    if largest <= 0.0:
        largest = max(mass.bound.max(), SMALLEST_MASS)
    return float(np.min(field.widths) ** 2 / largest)


def quasi_newton() -> Step:
    """BFGS: every row learns its own inverse Hessian from its last moves.

    It starts from the fixed point's step, and takes that step itself far from every
    centre and where its own would leave the way up; coordinates are in widths.
    """

    def start(field: Field, Z: Floats, here: Evaluation) -> Memory:
        first = np.where(here.mass > 0, here.factor * here.mass, here.bound)
        first = np.broadcast_to(np.maximum(first, SMALLEST_MASS), Z.shape)
        inverse = np.zeros((*Z.shape, Z.shape[1]))
        diagonal = np.arange(Z.shape[1])
        inverse[:, diagonal, diagonal] = 1.0 / first
        return inverse, Z / field.widths, scaled_gradient(field, here)

    def propose(field: Field, Z: Floats, here: Evaluation, memory: Memory) -> Proposal:
        inverse, last, last_gradient = memory
        U, g = Z / field.widths, scaled_gradient(field, here)
        inverse = _bfgs_update(inverse, U - last, last_gradient - g)
        move = np.einsum("mij,mj->mi", inverse, g)
        size = np.linalg.norm(move, axis=1)
        uphill = np.einsum("mi,mi->m", move, g)
        steep = uphill >= STEEPNESS * size * np.linalg.norm(g, axis=1)
        short = (size <= TRUST_RADIUS) & (uphill > 0)
        move *= finite_widths(field)
        usual = (here.nearest > FAR) | ~(steep | short)
        move[usual] = here.take(usual).fixed_point_step()
        return move, (inverse, U, g)

    return Step(start, propose)


def _bfgs_update(inverse: Floats, s: Floats, y: Floats) -> Floats:
    """Update inverse Hessians of -f where the curvature along the move is positive."""
    sy = np.einsum("mi,mi->m", s, y)
    size = np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
    good = (sy > 1e-10 * size) & (size > 1e-30)
    if not good.any():
        return inverse
    H, s, y, rho = inverse[good], s[good], y[good], 1.0 / sy[good]
    Hy = np.einsum("mij,mj->mi", H, y)
    yHy = np.einsum("mi,mi->m", y, Hy)
    outer = np.einsum("mi,mj->mij", Hy, s)
    updated = (
        H
        - rho[:, None, None] * (outer + outer.transpose(0, 2, 1))
        + (rho + rho**2 * yHy)[:, None, None] * np.einsum("mi,mj->mij", s, s)
    )
    # Where the curvature is all but zero, the update is all but infinite.
    sound = np.abs(updated).max(axis=(1, 2)) < LARGEST_INVERSE
    rows = np.flatnonzero(good)[sound]
    result = inverse.copy()
    result[rows] = updated[sound]
    return np.asarray(result)
