"""Modes: where climbs end, made exact, and which mode an end belongs to.

A climb stops a little short of its mode, now and then at a saddle or on a plateau.
:func:`find_modes` polishes the distinct ends by Newton's method and keeps those that
are maxima. :func:`assign_modes` gives every end its mode: the one it lies at, else the
one its polished point lies at, else the one it reaches after a push, else the nearest.
Both work row by row, so new rows are assigned exactly as the training rows were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from modeseek.field.ascent import POTENTIAL_ROUNDING, climb, fixed_point, length
from modeseek.field.basins import Basins
from modeseek.field.fields import (
    Evaluation,
    Field,
    curvature,
    finite_widths,
    scaled_gradient,
)
from modeseek.rows.arrays import Bools, Floats, Integers, group_means
from modeseek.rows.blocks import one_blas_thread
from modeseek.tree.pairs import connected_components

#: Ends this close (in widths) to a mode are at the mode.
AT_MODE = 0.05

#: Polished points this close (in widths) are one mode.
SAME_MODE = 0.01

#: Gradient of a polished mode, in the size of the terms it sums.
POLISHED = 1e-9

#: A mode's curvature must be below minus this, in the same size.
CURVED = 1e-9

#: A mode's terms must be at least this large, in the largest of any centre: below, the
#: model says nothing, and its zeros are those of rounding.
ALIVE = 1e-9

#: Push away from a saddle, in widths.
PUSH = 0.1

MAX_NEWTON = 100

#: Steps this short, in widths, do not come down from where the Hessian is not negative.
CRAWL = 1e-4

#: Longest last step, in widths, and most steps of the fixed point in its place.
CLIMBED, MAX_CLIMB = 1e-6, 1000

#: Binary digits of the largest number of a cell.
CELL_BITS = 62

#: Multiplications that a step of Newton's method may take for the ends of a fit
#: together, about half a second's, and for one row. Beyond, the fixed point goes on.
STEP_WORK, ROW_STEP_WORK = 2e9, 1e7


class Polish(NamedTuple):
    """How long Newton's method goes on, and what it then takes for a mode."""

    max_steps: int = MAX_NEWTON
    level: float = POLISHED  # largest gradient of a mode, in the size of its terms


EXACT = Polish()


class Polished(NamedTuple):
    """Stationary points near the points given."""

    points: Floats  # (m, d)
    is_mode: Bools  # (m,) gradient zero and curved downwards in every direction
    is_flat: Bools  # (m,) no way up: on a plateau, or beyond the reach of the model
    direction: Floats  # (m, d) in which the Hessian is largest, in the frame


class _LocalShape(NamedTuple):
    """Gradient and Hessian in widths."""

    gradient: Floats  # (m, d)
    values: Floats  # (m, d) eigenvalues, ascending
    vectors: Floats  # (m, d, d)
    size: Floats  # (m,)


def _local_shape(
    field: Field, Z: Floats, here: Evaluation | None = None
) -> _LocalShape:
    """Shape at points (m, d); ``here`` is the field there, if it is known."""
    here = field.evaluate(Z) if here is None else here
    finite = np.isfinite(field.widths)
    g = scaled_gradient(field, here)
    H = curvature(field, Z)
    values, vectors = np.linalg.eigh(0.5 * (H + H.transpose(0, 2, 1)))
    if not finite.all():
        # Features outside the model have no curvature: let them not count.
        outside = (vectors[:, ~finite, :] ** 2).sum(axis=1) > 0.5
        values = np.where(outside, -np.inf, values)
        order = np.argsort(values, axis=1)
        values = np.take_along_axis(values, order, axis=1)
        vectors = np.take_along_axis(vectors, order[:, None, :], axis=2)
    size = np.maximum(here.size, np.finfo(float).tiny)
    return _LocalShape(g, values, vectors, size)


def newton_work(field: Field) -> float:
    """Multiplications of one of Newton's steps: a Hessian and its eigenvectors."""
    b, d = field.centers.shape
    return float(10 * d**3 + b * d**2)


def _polish(field: Field, Z: Floats, newton: bool, how: Polish = EXACT) -> Polished:
    """Newton's method to the maxima, or the fixed point where it is too much work."""
    if newton:
        return polish(field, Z, how)
    arrived = climb(field, Z, fixed_point(), tol=CLIMBED, max_iter=MAX_CLIMB)
    here = field.evaluate(arrived.points)
    alive = here.size >= ALIVE * field.evaluate(field.centers).size.max()
    uphill = scaled_gradient(field, here)
    slope = np.linalg.norm(uphill, axis=1, keepdims=True)
    return Polished(
        arrived.points,
        is_mode=alive & arrived.converged,
        is_flat=~alive,
        direction=uphill / np.maximum(slope, 1e-300) * finite_widths(field),
    )


def polish(field: Field, Z: Floats, how: Polish = EXACT) -> Polished:
    """Newton's method to the maximum beside each point.

    Where the Hessian is not negative definite, or Newton's step would go downhill, the
    fixed point's step is taken instead, so a point never leaves its basin for a saddle.
    """
    points = np.array(Z, dtype=np.float64)
    here = field.evaluate(points)
    local = near = _local_shape(field, points, here)
    active = np.arange(len(points))
    for _ in range(how.max_steps):
        for mine, theirs in zip(local, near, strict=True):
            mine[active] = theirs
        rough = np.linalg.norm(near.gradient, axis=1) > how.level * near.size
        active, near = active[rough], _LocalShape(*(part[rough] for part in near))
        if not active.size:
            break
        start = points[active]
        end, there = _step_up(field, start, here.take(rough), near)
        points[active] = end
        # What stands will not move again, and what crawls on a plateau gets nowhere.
        far = length(end - start, field)
        moves = (end != start).any(axis=1) & ((near.values[:, -1] < 0) | (far > CRAWL))
        active = active[moves]
        if not active.size:
            break
        here = there.take(moves)
        near = _local_shape(field, end[moves], here)
    slope = np.linalg.norm(local.gradient, axis=1)
    alive = local.size >= ALIVE * field.evaluate(field.centers).size.max()
    top = local.values[:, -1]
    level = slope <= how.level * local.size
    return Polished(
        points,
        is_mode=level & alive & (top < -CURVED * local.size),
        is_flat=~alive | (top <= 0),
        direction=local.vectors[:, :, -1] * finite_widths(field),
    )


def _step_up(
    field: Field, start: Floats, here: Evaluation, near: _LocalShape
) -> tuple[Floats, Evaluation]:
    """Newton's step where it leads up, else some of the fixed point's; the field there.

    The field has been evaluated at the start, and its shape there is ``near``.
    """
    end = start + _newton_move(field, near)
    there = field.evaluate(end)
    fails = ~_improves(field, here, there) | (near.values[:, -1] >= 0)
    if fails.any():
        end[fails] = climb(
            field, start[fails], fixed_point(), tol=0.0, max_iter=5
        ).points
        there.put(fails, field.evaluate(end[fails]))
    return end, there


def _newton_move(field: Field, near: _LocalShape) -> Floats:
    """Newton's step for a maximum, at most half a width long."""
    curvature = np.minimum(near.values, -CURVED * near.size[:, None])
    along = np.einsum("mji,mj->mi", near.vectors, near.gradient)
    move = -np.einsum("mij,mj->mi", near.vectors, along / curvature)
    size = np.linalg.norm(move, axis=1, keepdims=True)
    move *= np.minimum(1.0, 0.5 / np.maximum(size, 1e-300))
    return np.asarray(move * finite_widths(field))


def _improves(field: Field, here: Evaluation, there: Evaluation) -> Bools:
    """Whether the end is no lower than the start, or flatter without a potential."""
    if here.value is None or there.value is None:
        before = np.linalg.norm(scaled_gradient(field, here), axis=1)
        after = np.linalg.norm(scaled_gradient(field, there), axis=1)
        return np.asarray(after < before)
    return np.asarray(there.value >= here.value - POTENTIAL_ROUNDING * here.size)


@one_blas_thread()
def find_modes(field: Field, ends: Floats, how: Polish = EXACT) -> Floats:
    """Distinct maxima at the ends (m, d) of climbs, polished; there may be none."""
    ends = cell_means(ends, field.widths, AT_MODE)[0]
    affordable = len(ends) * newton_work(field) <= STEP_WORK
    polished = _polish(field, ends, affordable, how)
    points = polished.points[polished.is_mode]
    if len(points) < 2:
        return points
    scaled = points * (1.0 / field.widths)
    near = KDTree(scaled).query_pairs(SAME_MODE, output_type="ndarray")
    _, group = connected_components(near, len(points))
    return points[np.unique(group, return_index=True)[1]]


def cell_means(points: Floats, widths: Floats, side: float) -> tuple[Floats, Integers]:
    """Mean of the points in every cell of a grid, and the cell of each point.

    The sides of a cell are so many widths of each feature.
    """
    corner = np.floor(points * (1.0 / widths) / side)
    corner -= corner.min(axis=0)
    counts = corner.max(axis=0) + 1.0
    if np.log2(counts).sum() < CELL_BITS:
        # One number for a cell: sorting numbers is many times as fast as sorting rows.
        sizes = np.append(1.0, counts[:0:-1]).astype(np.int64)
        code = corner.astype(np.int64) @ np.cumprod(sizes)[::-1]
        cell = np.unique(code, return_inverse=True)[1]
    else:
        cell = np.unique(corner, axis=0, return_inverse=True)[1].ravel()
    return group_means(points, cell), cell


def highest_center(field: Field) -> Floats:
    """The centre of highest mass, shape (1, d): the mode where there is no maximum."""
    here = field.evaluate(field.centers)
    mass = (here.factor * here.mass).sum(axis=1)
    return field.centers[[int(np.argmax(mass))]]


def rank_modes(
    field: Field, modes: Floats, reached: Integers, weight: Floats | None = None
) -> tuple[Floats, Floats, Integers]:
    """Drop modes that no row reached, and number the others by height, highest first.

    ``reached`` has the mode of each row, of weight 1 by default. Without a potential,
    the weight of its rows is the height of a mode. Returns the modes in their new
    order, the weight of the rows that reached each, and the new number of each row's
    mode.
    """
    share = np.bincount(reached, weights=weight, minlength=len(modes))
    weights = share.astype(np.float64)
    value = field.evaluate(modes).value
    height = weights if value is None else value
    order = np.lexsort((*modes.T, -height))
    order = order[weights[order] > 0]
    number = np.empty(len(modes), dtype=np.intp)
    number[order] = np.arange(len(order))
    return modes[order], weights[order], number[reached]


def nearest_modes(field: Field, points: Floats, modes: Floats) -> Integers:
    """Mode that is nearest to each point, in widths."""
    return _match(KDTree(modes / field.widths), field, points)[0]


@one_blas_thread()
def assign_modes(
    field: Field,
    ends: Floats,
    modes: Floats,
    climb_on: Callable[[Floats], Floats],
    basins: Basins | None = None,
) -> Integers:
    """Number of the mode that each end (m, d) of a climb belongs to.

    ``climb_on`` climbs from points that were pushed off a saddle or a plateau. An end
    in one of the modes' basins is not followed further.
    """
    tree = KDTree(modes / field.widths)
    mode, lost = _match(tree, field, ends)
    if basins is not None:
        lost &= ~basins.find(field, ends)[1]
    if lost.any():
        affordable = newton_work(field) <= ROW_STEP_WORK
        polished = _polish(field, ends[lost], newton=affordable)
        found, still = _match(tree, field, polished.points)
        if still.any():
            pushed = climb_on(_push(field, polished, still))
            # What is lost even now takes the nearest mode.
            pushed = _polish(field, pushed, newton=affordable).points
            found[still], _ = _match(tree, field, pushed)
        mode[lost] = found
    return mode


def _match(tree: KDTree, field: Field, points: Floats) -> tuple[Integers, Bools]:
    """Nearest mode of each point, and whether the point is not at it."""
    distance, mode = tree.query(points / field.widths)
    return mode, distance > AT_MODE


def _push(field: Field, polished: Polished, rows: Bools) -> Floats:
    """Push points off a saddle uphill, and off a plateau to the nearest centre."""
    points, direction = polished.points[rows], polished.direction[rows]
    either = np.stack([points + PUSH * direction, points - PUSH * direction])
    value = [field.evaluate(side) for side in either]
    if value[0].value is None or value[1].value is None:
        uphill = np.zeros(len(points), dtype=bool)
    else:
        uphill = value[0].value >= value[1].value
    pushed = np.where(uphill[:, None], either[0], either[1])
    flat = polished.is_flat[rows]
    if flat.any():
        tree = KDTree(field.centers / field.widths)
        pushed[flat] = field.centers[tree.query(points[flat] / field.widths)[1]]
    return np.asarray(pushed)
