r"""Saddles between the modes of a field.

The saddle between two modes is the highest point that every path from one to the other
must come down to. Passes are sought on segments between neighbouring rows of
different basins and between modes, then refined to the saddle they lie beside.

Fields without a potential get heights by least squares: those whose differences
along the edges of the graph best match the line integrals of the gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import lsqr
from scipy.spatial import KDTree

from modeseek.field.ascent import POTENTIAL_ROUNDING, accelerated, climb, length
from modeseek.field.fields import (
    Field,
    curvature,
    finite_widths,
    has_potential,
    potential,
    scaled_gradient,
)
from modeseek.field.modes import AT_MODE, assign_modes, newton_work
from modeseek.field.segments import integrals, potential_along, profiles, slopes
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.blocks import chunk_slices, one_blas_thread
from modeseek.tree.merge_tree import (
    MergeTree,
    Saddles,
    highest_of_pairs,
    join_modes,
    merge_down,
)
from modeseek.tree.pairs import distinct_pairs

#: Neighbours of a row in the graph on which saddles are sought.
GRAPH_NEIGHBORS = 10

#: Nearest modes of a mode to which straight lines are tried; fewer, but one, where
#: their profiles would take more Gaussians than about a second's.
LINE_NEIGHBORS, LINE_WORK = 10, 1e8

#: Beyond so many features a tree of points prunes little, and products are faster.
TREE_FEATURES = 32

#: Points of a profile along an edge and along a line between modes.
EDGE_POINTS, LINE_POINTS = 7, 101

#: The lowest point of a line no longer than this, in widths, is sought among so many
#: points of its profile first, then among those beside it.
SHORT_LINE, ROUGH_STEP = 10.0, 5

#: Steps of the saddle search, how far (in widths) it may go, and the step (in widths)
#: after which there is no need of another.
SADDLE_STEPS, SADDLE_REACH, SADDLE_MET = 20, 2.0, 1e-9

#: Multiplications that each search for a saddle may take, about a second's.
SADDLE_WORK = 5e9

#: Steps of the search for the lowest point of a segment.
ZOOM_STEPS = 12


@one_blas_thread()
def build_tree(
    field: Field,
    modes: Floats,
    Z: Floats,
    mode_of_row: Integers,
    refine: bool = True,
) -> MergeTree:
    """Find the saddles between modes and merge them from the highest down.

    They are sought beside segments between modes and between some rows Z, whose modes
    are known. Everything is in the frame; standard errors of the tree are zero. Without
    ``refine`` the passes on these segments stand for the saddles, a little lower.
    """
    k = len(modes)
    away = length(Z - modes[mode_of_row], field) > AT_MODE  # others are like their mode
    nodes = np.concatenate([modes, Z[away]])
    basin = np.concatenate([np.arange(k), mode_of_row[away]])
    edges, lines = _graph(field, nodes, k)
    heights = _node_heights(field, nodes, basin, edges, lines)
    candidates = _lowest_points(field, nodes, heights, basin, edges, lines)
    apart = length(modes[candidates.low] - modes[candidates.high], field)
    if has_potential(field):
        joins = join_modes(heights[:k], candidates, apart)[:, 2]
        chosen = _choose(candidates, joins, (ZOOM_STEPS + 2) * field.centers.size)
        lowest = _zoom(field, _take(candidates, chosen))
        candidates = _replace(candidates, chosen, lowest)
    if has_potential(field) and refine:
        joins = join_modes(heights[:k], candidates, apart)[:, 2]
        chosen = _choose(candidates, joins, SADDLE_STEPS * newton_work(field))
        if len(chosen):
            refined = _refine(field, modes, _take(candidates, chosen))
            candidates = _replace(candidates, chosen, refined)
    return merge_down(heights[:k], candidates, apart)


def _take(candidates: Saddles, chosen: Integers | slice) -> Saddles:
    parts: list[Any] = [part[chosen] for part in candidates]
    return Saddles(*parts)


def _replace(candidates: Saddles, chosen: Integers, better: Saddles) -> Saddles:
    """Candidates with better ones in the places chosen; others lead nowhere."""
    height, point = candidates.height.copy(), candidates.point.copy()
    reach = np.zeros_like(candidates.reach)
    height[chosen], point[chosen] = better.height, better.point
    reach[chosen] = better.reach
    return candidates._replace(height=height, point=point, reach=reach)


def _neighbor_pairs(U: Floats, n_neighbors: int) -> Integers:
    """Pairs of points and their nearest others, shape (e, 2)."""
    n_nearest = min(n_neighbors + 1, len(U))  # each is its own nearest
    if U.shape[1] > TREE_FEATURES:
        neighbor = _nearest_by_products(U, n_nearest)
    else:
        neighbor = KDTree(U).query(U, k=np.arange(1, n_nearest + 1))[1]
    return distinct_pairs(np.arange(len(U))[:, None], neighbor, len(U))


def _nearest_by_products(U: Floats, n_nearest: int) -> Integers:
    """Numbers of the nearest points of each, in no order, shape (m, n_nearest)."""
    U = U - np.median(U, axis=0)  # products cancel digits far from the origin
    halves = 0.5 * np.einsum("ij,ij->i", U, U)
    nearest = [
        np.argpartition(halves - U[rows] @ U.T, n_nearest - 1, axis=1)[:, :n_nearest]
        for rows in chunk_slices(len(U), len(U))
    ]
    return np.concatenate(nearest)


def _graph(field: Field, nodes: Floats, k: int) -> tuple[Integers, Integers]:
    """Edges between near nodes, and lines between near modes, the first k of them."""
    U = nodes / field.widths
    affordable = int(LINE_WORK / (k * LINE_POINTS * len(field.centers)))
    lines = _neighbor_pairs(U[:k], min(max(affordable, 1), LINE_NEIGHBORS))
    # A chain through all modes keeps the graph in one piece.
    chain = np.column_stack([np.arange(k - 1), np.arange(1, k)])
    lines = np.unique(np.concatenate([lines, chain]), axis=0)
    return _neighbor_pairs(U, GRAPH_NEIGHBORS), lines


def _node_heights(
    field: Field, nodes: Floats, basin: Integers, edges: Integers, lines: Integers
) -> Floats:
    """Potential at the nodes, by least squares where the field has none."""
    if has_potential(field):
        return potential(field, nodes)
    own = np.column_stack([basin, np.arange(len(nodes))])[len(np.unique(basin)) :]
    own = own[own[:, 0] != own[:, 1]]
    pairs = np.concatenate([edges, lines, own])
    rise = integrals(field, nodes, pairs, LINE_POINTS)[:, -1]
    # Integrals along long edges are worth less: where there is no potential they
    # depend on the way, and their sums are coarser.
    apart = nodes[pairs[:, 1]] - nodes[pairs[:, 0]]
    worth = 1.0 / np.maximum(length(apart, field), 1e-3)
    rows = np.repeat(np.arange(len(pairs)), 2)
    signs = np.repeat(worth, 2) * np.tile([-1.0, 1.0], len(pairs))
    shape = (len(pairs), len(nodes))
    incidence = coo_array((signs, (rows, pairs.ravel())), shape=shape)
    return np.asarray(lsqr(incidence.tocsr(), worth * rise, atol=1e-10, btol=1e-10)[0])


def _lowest_points(
    field: Field,
    nodes: Floats,
    heights: Floats,
    basin: Integers,
    edges: Integers,
    lines: Integers,
) -> Saddles:
    """Lowest points of segments whose ends lie in different basins.

    Of those between the same basins, that of the segment which stays highest.
    """
    found = []
    for pairs, n_points in ((lines, LINE_POINTS), (edges, EDGE_POINTS)):
        pairs = pairs[basin[pairs[:, 0]] != basin[pairs[:, 1]]]
        lowest = _lowest_of_profiles(field, nodes, heights, pairs, n_points)
        found.append((pairs, *lowest, np.full(len(pairs), n_points - 1.0)))
    pairs, height, number, n_steps = map(np.concatenate, zip(*found, strict=True))
    joined = np.sort(basin[pairs], axis=1)
    best = highest_of_pairs(joined[:, 0], joined[:, 1], height)
    start, end = nodes[pairs[best, 0]], nodes[pairs[best, 1]]
    n_steps = n_steps[best, None]
    t, reach = number[best, None] / n_steps, (end - start) / n_steps
    point = start * (1.0 - t) + end * t
    return Saddles(joined[best, 0], joined[best, 1], height[best], point, reach)


def _lowest_of_profiles(
    field: Field, nodes: Floats, heights: Floats, edges: Integers, n_points: int
) -> tuple[Floats, Integers]:
    """Height and number of the lowest point of profiles, shape (e,) each.

    Short ones with many points are looked at roughly first, where the field has a
    potential.
    """
    n_rough, rest = divmod(n_points - 1, ROUGH_STEP)
    short = np.zeros(len(edges), dtype=bool)
    if has_potential(field) and not rest and n_rough > ROUGH_STEP:
        short = length(nodes[edges[:, 1]] - nodes[edges[:, 0]], field) <= SHORT_LINE
    height, lowest = np.empty(len(edges)), np.empty(len(edges), dtype=np.intp)
    far = np.flatnonzero(~short)
    if len(far):
        whole = profiles(field, nodes, edges[far], n_points, heights)
        lowest[far] = whole.argmin(axis=1)
        height[far] = whole.min(axis=1)
    near = np.flatnonzero(short)
    if len(near):
        rough = profiles(field, nodes, edges[near], n_rough + 1).argmin(axis=1)
        beside = np.arange(1 - ROUGH_STEP, ROUGH_STEP)
        number = np.clip(ROUGH_STEP * rough[:, None] + beside, 0, n_points - 1)
        t = np.linspace(0.0, 1.0, n_points)[number]
        fine = potential_along(field, nodes, edges[near], t)
        lowest[near] = number[np.arange(len(near)), fine.argmin(axis=1)]
        height[near] = fine.min(axis=1)
    return height, lowest


def _zoom(field: Field, candidates: Saddles) -> Saddles:
    """Find the lowest points of the segments between the points of their profiles."""
    chunks = chunk_slices(len(candidates.height), len(field.centers)) or [slice(0, 0)]
    found = [_zoom_some(field, _take(candidates, chunk)) for chunk in chunks]
    parts: list[Any] = [np.concatenate(part) for part in zip(*found, strict=True)]
    return Saddles(*parts)


def _zoom_some(field: Field, candidates: Saddles) -> Saddles:
    """Seek where the slope changes its sign.

    By false position, with the rule of Illinois. Where it falls past the end of a
    segment, the saddle is sought a step further on: ``reach`` then leads there, and is
    zero elsewhere.
    """
    point, reach = candidates.point, candidates.reach
    slope = slopes(field, point, reach)
    low, high = -np.ones(len(point)), np.ones(len(point))
    falls, rises = slope(low), slope(high)
    valley = (falls < 0) & (rises > 0)
    onward = np.where(valley, 0.0, np.where(rises < 0, 1.0, -1.0))
    t, before = np.zeros(len(point)), np.zeros(len(point), dtype=bool)
    for step in range(ZOOM_STEPS):
        span = np.where(valley, rises - falls, 1.0)
        t = np.where(valley, (low * rises - high * falls) / span, 0.0)
        s = slope(t)
        left = s < 0
        again = (left == before) & (step > 0)
        low, high = np.where(left, t, low), np.where(left, high, t)
        falls, rises = (
            np.where(left, s, np.where(again, 0.5, 1.0) * falls),
            np.where(left, np.where(again, 0.5, 1.0) * rises, s),
        )
        before = left
    found = point + t[:, None] * reach
    height = potential(field, found)
    lower = height <= candidates.height
    return candidates._replace(
        height=np.where(lower, height, candidates.height),
        point=np.where(lower[:, None], found, point),
        reach=onward[:, None] * reach,
    )


def _choose(candidates: Saddles, joins: Integers, work: float) -> Integers:
    """Candidates that are worth so much work each: all of them, if that is not long.

    Otherwise those that join modes, the lowest first, and then the highest others.
    """
    most = int(SADDLE_WORK / work)
    others = np.argsort(-candidates.height, kind="stable")
    order = np.concatenate([joins[::-1], others[~np.isin(others, joins)]])
    return order[:most] if len(order) > most else np.arange(len(order))


def _refine(field: Field, modes: Floats, candidates: Saddles) -> Saddles:
    """Move candidates to the saddle beside them, where that joins the same modes.

    Newton's method on the gradient finds the stationary point; it is taken if it is
    no lower, near, and climbs to the pair's two modes on its two sides.
    """
    points, widths = candidates.point + candidates.reach, finite_widths(field)
    moving = np.arange(len(points))
    for _ in range(SADDLE_STEPS):
        g = scaled_gradient(field, field.evaluate(points[moving]))
        values, vectors = np.linalg.eigh(curvature(field, points[moving]))
        small = 1e-3 * np.abs(values).max(axis=1, keepdims=True) + 1e-300
        values = np.where(np.abs(values) < small, -small, values)
        along = np.einsum("mji,mj->mi", vectors, g)
        move = -np.einsum("mij,mj->mi", vectors, along / values)
        size = np.linalg.norm(move, axis=1, keepdims=True)
        move *= np.minimum(1.0, 0.3 / np.maximum(size, 1e-300))
        points[moving] += move * widths
        near = length((points - candidates.point)[moving], field) <= SADDLE_REACH
        moving = moving[near & (size[:, 0] > SADDLE_MET)]
        if not len(moving):
            break
    here = field.evaluate(points)
    assert here.value is not None
    slope = np.linalg.norm(scaled_gradient(field, here), axis=1)
    away = length(points - candidates.point, field)
    higher = here.value >= candidates.height - POTENTIAL_ROUNDING * here.size
    good = (slope <= 1e-6 * here.size) & (away <= SADDLE_REACH) & higher
    if good.any():
        good[good] = _joins(field, modes, points[good], candidates, good)
    return candidates._replace(
        height=np.where(good, here.value, candidates.height),
        point=np.where(good[:, None], points, candidates.point),
    )


def _joins(
    field: Field, modes: Floats, saddles: Floats, candidates: Saddles, rows: Bools
) -> Bools:
    """Whether saddles climb to the modes of their pairs on their two sides."""
    values, vectors = np.linalg.eigh(curvature(field, saddles))
    one_way = (values[:, -1] > 0) & (values[:, :-1] < 0).all(axis=1)
    side = 0.05 * vectors[:, :, -1] * finite_widths(field)

    def arrive(points: Floats) -> Floats:
        return climb(field, points, accelerated(), tol=1e-4, max_iter=1000).points

    starts = np.concatenate([saddles + side, saddles - side])
    reached = assign_modes(field, arrive(starts), modes, arrive).reshape(2, -1)
    reached.sort(axis=0)
    low, high = candidates.low[rows], candidates.high[rows]
    return np.asarray(one_way & (reached[0] == low) & (reached[1] == high))
