"""Heights of edges: as high as the lower end, and no higher than half-way allows.

Half-way, the distance to neighbour q is no more than that to the q-th nearest of one
end and its own neighbours, which the distances around that end tell at once. Hardly any
edge is lower by that bound than at its ends; only for those the neighbours half-way are
sought, among those of both ends.

In the plane an edge may lead across an empty place, which neighbour q half-way is too
far away to see: rows of both sides are as near to it as others on either side are to
each other. The largest ball about the middle that holds no row tells how wide it is.
"""

from __future__ import annotations

import numpy as np

from modeseek.graph.edges import EDGE_NEIGHBORS, Neighbors, safe_log
from modeseek.graph.neighbors import DISTANCE_ROUNDING, Search
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.blocks import chunk_rows, map_blocks

#: Neighbour whose distance half-way along an edge is compared with that at its ends.
MIDWAY_NEIGHBOR = 5

#: Features with which an empty ball half-way lowers an edge. Of even rows in the plane,
#: such a ball is 0.9 times as wide as the fifth neighbour is far, in space 1.2 times.
PLANE = 2


def edge_heights(
    search: Search,
    near: Neighbors,
    edges: Integers,
    height: Floats,
    dimension: float,
    log_count: Floats | None = None,
    q: int = MIDWAY_NEIGHBOR,
    n_jobs: int | None = None,
) -> Floats:
    """Height of the lowest point of each edge, from its ends and half-way; shape (e,).

    ``height`` is the log-density at each node; the dimension makes log-densities of
    distances to neighbour q. Nodes may count differently: then these have as much more
    density as the nodes up to there count, of which ``log_count`` has the logarithms,
    0 for most.
    """
    q = min(q, near.distance.shape[1])
    here = -dimension * safe_log(near.distance[:, q - 1])
    if log_count is not None:
        here += _log_count_of(near.node[:, :q], log_count)

    def lowest(some: Integers, there: Floats) -> Floats:
        fall = np.maximum(here[some] - there[:, None], 0.0)
        return np.asarray((height[some] - fall).min(axis=1))

    bounds, certain = _midway_bounds(search, near, edges, q, n_jobs)
    edge_height = lowest(edges, -dimension * safe_log(bounds))
    ends = height[edges].min(axis=1)
    doubtful = ~certain & (edge_height < ends)
    if log_count is not None:  # a bound on distances says nothing of what they hold
        mixed = np.flatnonzero(_are_mixed(edges, near, q, log_count))
        there = -dimension * safe_log(bounds[mixed] * (1.0 + DISTANCE_ROUNDING))
        there += _least_log_count(edges[mixed], near, q, log_count)
        doubtful[mixed] = lowest(edges[mixed], there) < ends[mixed]
    lower = np.flatnonzero(doubtful)
    if len(lower):
        distance, index = _midway_neighbors(search, near, edges[lower], q, n_jobs)
        there = -dimension * safe_log(distance)
        if log_count is not None:
            there += _log_count_of(index, log_count)
        edge_height[lower] = lowest(edges[lower], there)
    if search.nodes.shape[1] == PLANE:
        fall = dimension * _log_width_of_gaps(search, near, edges, q)
        if log_count is not None:
            fall[_are_mixed(edges, near, q, log_count)] = 0.0
        edge_height = np.minimum(edge_height, height[edges].min(axis=1) - fall)
    return edge_height


def _log_width_of_gaps(
    search: Search, near: Neighbors, edges: Integers, q: int
) -> Floats:
    """How much wider, on a log scale, edges (e,) lead across an empty place than usual.

    Its width is that of the largest ball about the middle that holds no row, and usual
    is the distance to neighbour q, of the end where it is farther. 0 where it is less:
    the ball is no wider than the edge is long, so only long ones are looked at.
    """
    usual = near.distance[edges, q - 1].max(axis=1)
    one, two = search.nodes[edges].transpose(1, 0, 2)
    length = np.hypot(np.linalg.norm(one - two, axis=1), search.grain)
    long = np.flatnonzero(length > usual)
    middle = 0.5 * (one[long] + two[long])
    _, nearest = search.query(middle, 1)
    radius = np.linalg.norm(search.nodes[nearest[:, 0]] - middle, axis=1)
    width = np.hypot(2.0 * radius, search.grain)
    wider = np.zeros(len(edges))
    wider[long] = np.maximum(safe_log(width) - safe_log(usual[long]), 0.0)
    return wider


def _midway_neighbors(
    search: Search, near: Neighbors, edges: Integers, q: int, n_jobs: int | None
) -> tuple[Floats, Integers]:
    """Distance (e,) half-way to neighbour q, and the neighbours (e, q) up to there.

    Half-way between neighbours they are among both ends and their neighbours, but for
    one in a hundred in 50 dimensions; only along ties they are sought.
    """

    def kernel(rows: slice) -> tuple[Floats, Integers]:
        return _midway_among(search.nodes, near, edges[rows], q)

    size = chunk_rows(2 * (near.node.shape[1] + 1) * search.nodes.shape[1])
    parts = map_blocks(kernel, len(edges), n_jobs=n_jobs, size=size)
    distance, index = (np.concatenate(part) for part in zip(*parts, strict=True))
    distance = np.hypot(distance, search.grain)
    one, two = edges.T
    neighbors = near.node[:, :EDGE_NEIGHBORS]
    tied = (neighbors[one] != two[:, None]) & (neighbors[two] != one[:, None])
    sought = np.flatnonzero(tied.all(axis=1))
    if len(sought):
        middle = search.nodes[edges[sought]].mean(axis=1)
        far, nodes = search.query(middle, q)
        distance[sought], index[sought] = far[:, -1], nodes
    return distance, index


def _midway_among(
    nodes: Floats, near: Neighbors, edges: Integers, q: int
) -> tuple[Floats, Integers]:
    """Distance half-way to neighbour q among both ends and their neighbours."""
    candidates = np.concatenate([edges, *near.node[edges].transpose(1, 0, 2)], axis=1)
    V = nodes[candidates] - nodes[edges].mean(axis=1)[:, None]
    square = np.einsum("ikd,ikd->ik", V, V)
    # Some are neighbours of both ends: the first 2 q are q at least.
    first = np.argpartition(square, min(2 * q, square.shape[1]) - 1, axis=1)[:, : 2 * q]
    candidates, square = (
        np.take_along_axis(part, first, axis=1) for part in (candidates, square)
    )
    order = np.argsort(candidates, axis=1)
    candidates, square = (
        np.take_along_axis(part, order, axis=1) for part in (candidates, square)
    )
    square[:, 1:][candidates[:, 1:] == candidates[:, :-1]] = np.inf
    first = np.argpartition(square, q - 1, axis=1)[:, :q]
    distance = np.sqrt(np.take_along_axis(square, first, axis=1).max(axis=1))
    return distance, np.take_along_axis(candidates, first, axis=1)


def _log_count_of(node: Integers, log_count: Floats) -> Floats:
    """Logarithm of how much nodes (n, q) count together, by their mean; shape (n,)."""
    return np.asarray(np.log(np.exp(log_count[node]).mean(axis=1)))


def _are_mixed(edges: Integers, near: Neighbors, q: int, log_count: Floats) -> Bools:
    """Edges about whose ends nodes count differently."""
    other = log_count != 0.0
    near_others = other | other[near.node[:, :q]].any(axis=1)
    return np.asarray(near_others[edges].any(axis=1))


def _least_log_count(
    edges: Integers, near: Neighbors, q: int, log_count: Floats
) -> Floats:
    """Logarithm of how much q nodes count, at least, about both ends of edges."""
    other = log_count != 0.0
    n_others = other + np.count_nonzero(other[near.node], axis=1)
    share = np.minimum(n_others[edges].sum(axis=1) / q, 1.0)
    least = np.exp(log_count.min())
    return np.asarray(np.log(1.0 - share + share * min(least, 1.0)))


def _midway_bounds(
    search: Search, near: Neighbors, edges: Integers, q: int, n_jobs: int | None
) -> tuple[Floats, Bools]:
    """Distance half-way to neighbour q, at most, and where it is no less.

    It is infinite along ties. About a node, the squared distance of its neighbour k
    from half-way to neighbour j is |v_k|^2 - v_k.v_j + |v_j|^2 / 4, and its own
    |v_j|^2 / 4. No other node is nearer than the farthest neighbour less half of v_j.
    """
    nodes, m = search.nodes, len(near.node)
    to, known_keys = near.node[:, :EDGE_NEIGHBORS], edges[:, 0] * m + edges[:, 1]

    def kernel(rows: slice) -> tuple[Floats, Bools, Integers]:
        V = nodes[near.node[rows]] - nodes[rows, None]
        square = np.einsum("ijd,ijd->ij", V, V)
        distance = _midway_distances(V, square, to.shape[1], q)
        half = 0.5 * np.sqrt(square[:, : to.shape[1]])
        others = np.sqrt(square[:, -1:]) * (1.0 - DISTANCE_ROUNDING) - half
        start, end = np.arange(rows.start, rows.stop)[:, None], to[rows]
        joined = end != start
        keys = np.minimum(start, end) * m + np.maximum(start, end)
        position = np.searchsorted(known_keys, keys[joined])
        return distance[joined], (distance <= others)[joined], position

    size = chunk_rows(near.node.shape[1] * max(to.shape[1], nodes.shape[1]))
    parts = map_blocks(kernel, m, n_jobs=n_jobs, size=size)
    distance, certain, position = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    bounds, known = np.full(len(edges), np.inf), np.zeros(len(edges), dtype=bool)
    np.minimum.at(bounds, position, np.hypot(distance, search.grain))
    known[position[certain]] = True
    return bounds, known


def _midway_distances(V: Floats, square: Floats, n_ends: int, q: int) -> Floats:
    """Distance of the q-th point from half-way between the origin and the first points.

    Points (m, k, d), whose squared distances from the origin are given, are seen from
    half-way to each of the first ones (m, n_ends); the origin is a point too.
    """
    ends, quarter = V[:, :n_ends], 0.25 * square[:, :n_ends, None]
    around = np.empty((*ends.shape[:2], V.shape[1] + 1))
    around[:, :, :1] = quarter
    np.matmul(ends, -V.transpose(0, 2, 1), out=around[:, :, 1:])
    around[:, :, 1:] += square[:, None]
    around[:, :, 1:] += quarter
    around.partition(q - 1, axis=2)
    return np.sqrt(np.maximum(around[:, :, q - 1], 0.0))
