"""Edges of the neighbour graph of rows, ties between its components, and edge heights.

An edge is as high as its lower end, and no higher than half-way distances allow. Half
way, the distance to neighbour q is no more than that to the q-th nearest of one end and
its own neighbours, which the distances around that end tell at once. Hardly any edge is
lower by that bound than at its ends; only for those the neighbours half-way are sought.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from modeseek.graph.neighbors import LEAF, TREE_FEATURES, Search
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.blocks import chunk_slices, one_blas_thread
from modeseek.tree.pairs import connected_components, distinct_pairs

#: Neighbours to which a node has edges.
EDGE_NEIGHBORS = 10

#: Neighbour whose distance half-way along an edge is compared with that at its ends.
MIDWAY_NEIGHBOR = 5

#: More than rounding changes of distances, relative to them.
DISTANCE_ROUNDING = 1e-9

#: Rows whose nearest targets are sought by a tree, at least; products serve fewer.
FEWEST_FOR_A_TREE = 1000

#: Rows that tell then how near a piece comes to others.
LIKELY_NEAR = 64

#: Shortest edges by which a connected component of the graph is tied to the rest.
TIES = 3


class Neighbors(NamedTuple):
    """Nearest other nodes of every node, nearest first."""

    distance: Floats  # (m, q)
    node: Integers  # (m, q)

    def first(self, q: int) -> Neighbors:
        """Fewer neighbours, the nearest."""
        return Neighbors(self.distance[:, :q], self.node[:, :q])


def find_neighbors(search: Search, q: int) -> Neighbors:
    """Find the q nearest others of every node; q is less than the number of nodes."""
    distance, index = search.query(search.nodes, q + 1)
    # Each one's nearest is itself, unless rows that differ coincide in the frame.
    return Neighbors(distance[:, 1:], index[:, 1:])


@one_blas_thread()
def find_edges(nodes: Floats, near: Neighbors) -> Integers:
    """Edges between near neighbours, and ties that connect all nodes; shape (e, 2).

    Every connected component is tied to its nearest nodes outside, until one is left.
    The lower number of an edge comes first, and edges are in ascending order.
    """
    m = len(nodes)
    edges = distinct_pairs(np.arange(m)[:, None], near.node[:, :EDGE_NEIGHBORS], m)
    outside = np.arange(m)
    while True:
        n_pieces, piece = connected_components(edges, m)
        if n_pieces == 1:
            return edges
        # What is still outside is still the nearest there.
        joined = np.flatnonzero(piece[outside] == piece)
        outside[joined] = _nearest_outside(nodes, near, piece, joined)
        # Products cancel digits: the distance comes from the difference.
        distance = np.linalg.norm(nodes - nodes[outside], axis=1)
        distance[piece[outside] == piece] = np.inf  # not among the nearest of a piece
        order = np.lexsort((distance, piece))
        first = np.searchsorted(piece[order], np.arange(n_pieces))
        rank = np.arange(m) - first[piece[order]]
        inside = order[rank < TIES]
        one = np.append(edges[:, 0], inside)
        other = np.append(edges[:, 1], outside[inside])
        edges = distinct_pairs(one, other, m)


def _nearest_outside(
    nodes: Floats, near: Neighbors, piece: Integers, some: Integers
) -> Integers:
    """Nearest node in another connected component, for some nodes.

    The neighbours that are known tell it where one of them is outside; pieces with
    nodes that are left are gone through one by one.
    """
    away = piece[near.node[some]] != piece[some, None]
    known = away.any(axis=1)
    found: Integers = near.node[some, away.argmax(axis=1)]
    left = np.zeros(len(nodes), dtype=bool)
    left[some[~known]] = True
    if left.any():
        found[~known] = _search_outside(nodes, piece, left)[some[~known]]
    return found


def _search_outside(nodes: Floats, piece: Integers, wanted: Bools) -> Integers:
    """Nearest node in another connected component, for wanted nodes; shape (m,).

    By the triangle inequality it is no farther than the middle of any piece plus the
    distance of that piece's nearest node from there. Pieces that do not come so near
    by their farthest node are left out. Nodes of a large piece that are farther from
    others than :data:`TIES` of its nodes get their own number.
    """
    order = np.argsort(piece, kind="stable")
    piece_of = piece[order]
    first = np.flatnonzero(np.diff(piece_of, prepend=-1))
    V = nodes[order] - np.median(nodes, axis=0)  # products cancel far from the origin
    size = np.diff(first, append=len(order))
    middle = np.add.reduceat(V, first) / size[:, None]
    away = np.linalg.norm(V - np.repeat(middle, size, axis=0), axis=1)
    nearest, farthest = (f.reduceat(away, first) for f in (np.minimum, np.maximum))
    wanted = wanted[order]
    found = np.arange(len(nodes))
    for own, start in enumerate(first):
        rows = start + np.flatnonzero(wanted[start : start + size[own]])
        if not len(rows):
            continue
        distance = cdist(V[rows], middle)
        distance[:, own] = np.inf
        reach = (distance + nearest).min(axis=1, keepdims=True) * (
            1.0 + DISTANCE_ROUNDING
        )
        pieces = np.flatnonzero((distance - farthest <= reach).any(axis=0))
        targets = np.concatenate(
            [np.arange(first[p], first[p] + size[p]) for p in pieces]
        )
        rows = rows[np.argsort(reach[:, 0], kind="stable")]
        number = _nearest_among(V[targets], V[rows])
        found[rows] = np.where(number >= 0, targets[number], rows)
    result = np.empty(len(nodes), dtype=np.intp)
    result[order] = order[found]
    return result


def _nearest_among(targets: Floats, V: Floats) -> Integers:
    """Number of the nearest target of every row, those likely to be near coming first.

    By a tree, where that is faster: rows that are farther than :data:`TIES` of the
    first are then given up, with -1.
    """
    if V.shape[1] <= TREE_FEATURES and len(V) > FEWEST_FOR_A_TREE:
        tree = KDTree(targets, LEAF)
        some, _ = tree.query(V[:LIKELY_NEAR])
        farthest = np.partition(some, TIES - 1)[TIES - 1] * (1.0 + DISTANCE_ROUNDING)
        _, number = tree.query(V, distance_upper_bound=farthest)
        return np.where(number < len(targets), number, -1)
    # The nearest v has the greatest u.v - |v|^2 / 2, a product with a column more.
    outer = np.column_stack([targets, -0.5 * np.einsum("ij,ij->i", targets, targets)])
    U = np.column_stack([V, np.ones(len(V))])
    found = [
        (U[part] @ outer.T).argmax(axis=1)
        for part in chunk_slices(len(V), len(targets))
    ]
    return np.concatenate(found)


def edge_heights(
    search: Search,
    near: Neighbors,
    edges: Integers,
    height: Floats,
    dimension: float,
    log_count: Floats | None = None,
    q: int = MIDWAY_NEIGHBOR,
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

    bounds = _midway_bounds(search, near, edges, q)
    edge_height = lowest(edges, -dimension * safe_log(bounds))
    if log_count is not None:  # a bound on distances says nothing of what they hold
        mixed = np.flatnonzero(_are_mixed(edges, near, q, log_count))
        edge_height[mixed] = -np.inf
    lower = np.flatnonzero(edge_height < height[edges].min(axis=1))
    if len(lower):
        middle = search.nodes[edges[lower]].mean(axis=1)
        distance, index = search.query(middle, q)
        there = -dimension * safe_log(distance[:, -1])
        if log_count is not None:
            there += _log_count_of(index, log_count)
        edge_height[lower] = lowest(edges[lower], there)
    return edge_height


def _log_count_of(node: Integers, log_count: Floats) -> Floats:
    """Logarithm of how much nodes (n, q) count together, by their mean; shape (n,)."""
    return np.asarray(np.log(np.exp(log_count[node]).mean(axis=1)))


def _are_mixed(edges: Integers, near: Neighbors, q: int, log_count: Floats) -> Bools:
    """Edges about whose ends nodes count differently."""
    other = log_count != 0.0
    near_others = other | other[near.node[:, :q]].any(axis=1)
    return np.asarray(near_others[edges].any(axis=1))


def safe_log(distance: Floats) -> Floats:
    """Logarithm of distances, also of zero."""
    return np.asarray(np.log(np.maximum(distance, np.finfo(float).tiny)))


def _midway_bounds(search: Search, near: Neighbors, edges: Integers, q: int) -> Floats:
    """Distance half-way to neighbour q, at most; infinite along ties.

    About a node, the squared distance of its neighbour k from half-way to neighbour j
    is |v_k|^2 - v_k.v_j + |v_j|^2 / 4, and its own |v_j|^2 / 4.
    """
    nodes, m = search.nodes, len(near.node)
    to = near.node[:, :EDGE_NEIGHBORS]
    square = np.empty(to.shape)
    columns = near.node.shape[1] * max(to.shape[1], nodes.shape[1])
    for rows in chunk_slices(m, columns):
        V = nodes[near.node[rows]] - nodes[rows, None]
        far = np.einsum("ijd,ijd->ij", V, V)
        ends = V[:, : to.shape[1]]
        quarter = 0.25 * far[:, : to.shape[1], None]
        around = np.empty((*ends.shape[:2], V.shape[1] + 1))
        around[:, :, :1] = quarter
        np.matmul(ends, -V.transpose(0, 2, 1), out=around[:, :, 1:])
        around[:, :, 1:] += far[:, None]
        around[:, :, 1:] += quarter
        around.partition(q - 1, axis=2)
        square[rows] = around[:, :, q - 1]
    bound = np.hypot(np.sqrt(np.maximum(square, 0.0)), search.grain)
    start = np.arange(m)[:, None]
    others = to != start
    keys = (np.minimum(start, to) * m + np.maximum(start, to))[others]
    position = np.searchsorted(edges[:, 0] * m + edges[:, 1], keys)
    bounds = np.full(len(edges), np.inf)
    np.minimum.at(bounds, position, bound[others])
    return bounds
