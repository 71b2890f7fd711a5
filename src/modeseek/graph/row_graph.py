r"""The graph of rows: climbing from row to row instead of along a field.

A field of some hundred Gaussians is smooth, and it levels off where it has no centres:
right for what is nearly Gaussian, too coarse for many small or winding clusters. There
rows climb from neighbour to neighbour. A row's height is its log-density by the
distances to its neighbours,

.. math:: h_i = -D\, \overline{\log r_{ij}}, \qquad j = 8, \dots, 15,

with D the dimension that the rows fill, which may be less than their number of features
(by maximum likelihood, from the same distances). An edge between neighbours is as high
as its lower end, and no higher than the distances half-way allow: between two clusters
lies an empty place, however near their rows. Each row climbs along its highest edge to
a higher row, if that edge does not lead down first. Where there is none the row is a
mode, unless it is a mere bump. Saddles between modes are the highest edges between
their basins.

Copies of a row are one node with a count, so counts and copies are the same; own copies
lie half-way to the nearest neighbour. New rows take the mode of the nearest node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.graph.cells import cut_cells, nearest_labels
from modeseek.graph.edges import (
    Neighbors,
    edge_heights,
    find_edges,
    find_neighbors,
    safe_log,
)
from modeseek.graph.neighbors import TREE_FEATURES, Search
from modeseek.rows.arrays import Floats, Integers
from modeseek.tree.default_cut import chance_of
from modeseek.tree.merge_tree import MergeTree, Saddles, best_of_pairs, merge_down
from modeseek.tree.pairs import follow_to_end

#: Nodes at most: they are drawn where there are more distinct rows.
MOST_NODES = 5000

#: Neighbours whose distances make a height; the nearer half of them is too noisy.
HEIGHT_NEIGHBORS = 15

#: Neighbours that measure the dimension.
DIMENSION_NEIGHBORS = 20

#: Modes of less prominence are bumps of chance, and belong to the mode beside them.
BUMP = 0.3

#: Cells of nodes are cut for rows that are at least so many times as many: where modes
#: are well apart, 200,000 rows in 10 features found theirs in a ninth of the time.
CELLS_FROM = 2


class Links(NamedTuple):
    """Which nodes are near each other."""

    near: Integers  # (m, q) nearest other nodes of every node, nearest first
    edges: Integers  # (e, 2) between near nodes; they connect all


class RowGraph(NamedTuple):
    """Nodes with their heights and their ways up, in the frame."""

    nodes: Floats  # (m, d) distinct rows
    height: Floats  # (m,) log-density up to a constant
    uphill: Integers  # (m,) the next node on the way up; a mode's own number
    mode: Integers  # (m,) the mode that it ends at
    peaks: Integers  # (k,) nodes that are modes, highest first
    dimension: float
    grain: float  # of the distances, see modeseek.rows.rounding
    links: Links | None = None  # until the merges to make are chosen


def build_graph(
    nodes: Floats, counts: Floats, grain: float = 0.0, n_jobs: int | None = None
) -> tuple[RowGraph, MergeTree]:
    """Find the heights of rows, their ways up, and the tree of their modes.

    Nodes are distinct rows (m, d), at least two, and counts (m,) tell the copies of
    each; only their proportions matter. Distances below the grain mean nothing, see
    :mod:`modeseek.rows.rounding`. Saddles of the tree are in the frame.
    """
    m, d = nodes.shape
    search = Search(nodes, grain, n_jobs)
    near = find_neighbors(search, min(DIMENSION_NEIGHBORS, m - 1))
    dimension = _dimension(near.distance, d)
    k, counts = count_height_neighbors(m), counts / counts.mean()
    radius = log_radius(near, counts, np.maximum(counts - 1.0, 0.0), k)
    height = -dimension * radius
    edges = find_edges(nodes, near)
    edge_height = edge_heights(search, near, edges, height, dimension)
    uphill = _climb_once(height, edges, edge_height)
    peaks, mode = _follow(uphill, nodes, height)
    links = Links(near.node, edges)
    graph = RowGraph(nodes, height, uphill, mode, peaks, dimension, grain, links)
    with_bumps = _build_tree(graph, edges, edge_height)
    graph = _flatten(graph, with_bumps.cut(prominence=BUMP))
    tree = _build_tree(graph, edges, edge_height)
    error = np.sqrt(2.0 / (k - k // 2 / 2.0))
    return graph, tree._replace(
        std_error=np.full(len(tree.child), error),
        p_value=chance_of(tree.prominence, m, dimension),
    )


def point_graph(node: Floats) -> tuple[RowGraph, MergeTree]:
    """Graph of one node (1, d), and the tree of its one mode."""
    zero, first, d = np.zeros(1), np.zeros(1, dtype=np.intp), node.shape[1]
    graph = RowGraph(node, zero, first, first, first, float(d), 0.0)
    no_edges = np.empty((0, 2), dtype=np.intp)
    return graph, _build_tree(graph, no_edges, np.empty(0))


def _dimension(distance: Floats, d: int) -> float:
    """Maximum likelihood of the dimension, from 1 to that of the rows."""
    rise = safe_log(distance[:, -1:]) - safe_log(distance[:, :-1])
    mean = float(rise.mean()) if rise.size else 0.0
    return float(np.clip(1.0 / mean, 1.0, d)) if mean > 0 else float(d)


def count_height_neighbors(n_nodes: int) -> int:
    """Neighbours whose distances make a height among so many nodes."""
    return min(HEIGHT_NEIGHBORS, max(1, n_nodes // 4))


def log_radius(near: Neighbors, counts: Floats, own: Floats, k: int) -> Floats:
    """Mean log-distance (n,) of rows to neighbours k // 2 to k, counted with copies.

    Nodes (m,) count so many times, and rows (n,) have so many copies of their own.
    """
    r = np.maximum(near.distance, np.finfo(float).tiny)
    r = np.column_stack([0.5 * r[:, 0], r])
    copies = np.column_stack([own, counts[near.node]])
    reached = np.cumsum(copies, axis=1)
    last = np.minimum(k, reached[:, -1:])
    first = last * (k // 2) / k
    window = np.minimum(reached, last) - np.maximum(reached - copies, first)
    window = np.maximum(window, 0.0)
    return np.asarray((window * np.log(r)).sum(axis=1) / window.sum(axis=1))


def _climb_once(height: Floats, edges: Integers, edge_height: Floats) -> Integers:
    """The other end of each node's highest edge to a higher node, or its own number."""
    start = np.concatenate([edges[:, 0], edges[:, 1]])
    end = np.concatenate([edges[:, 1], edges[:, 0]])
    along = np.concatenate([edge_height, edge_height])
    level = height[end] == height[start]
    up = (height[end] > height[start]) | (level & (end < start))
    up &= along >= height[start]
    highest = np.full(len(height), -np.inf)
    np.maximum.at(highest, start[up], along[up])
    up &= along == highest[start]
    start, end = start[up], end[up]
    order = np.lexsort((end, -height[end], start))
    nodes, first = np.unique(start[order], return_index=True)
    uphill = np.arange(len(height))
    uphill[nodes] = end[order[first]]
    return uphill


def _follow(
    uphill: Integers, nodes: Floats, height: Floats
) -> tuple[Integers, Integers]:
    """Modes, highest first, and the mode at the end of every node's way up."""
    top = follow_to_end(uphill)
    peaks = np.unique(top)
    peaks = peaks[np.lexsort((*nodes[peaks].T, -height[peaks]))]
    number = np.empty(len(uphill), dtype=np.intp)
    number[peaks] = np.arange(len(peaks))
    return peaks, number[top]


def _flatten(graph: RowGraph, top: Integers) -> RowGraph:
    """Let the modes that are bumps lead on to the top of their group."""
    uphill = graph.uphill.copy()
    uphill[graph.peaks] = graph.peaks[top]
    peaks, mode = _follow(uphill, graph.nodes, graph.height)
    return graph._replace(uphill=uphill, mode=mode, peaks=peaks)


def _build_tree(graph: RowGraph, edges: Integers, edge_height: Floats) -> MergeTree:
    """Tree of the modes, from the edges between their basins."""
    pair = np.sort(graph.mode[edges], axis=1)
    between = pair[:, 0] != pair[:, 1]
    middle = graph.nodes[edges[between]].mean(axis=1)
    candidates = Saddles(
        pair[between, 0],
        pair[between, 1],
        edge_height[between],
        middle,
        np.zeros_like(middle),
    )
    return merge_down(graph.height[graph.peaks], best_of_pairs(candidates))


def nearest_nodes(
    graph: RowGraph, Z: Floats, n_jobs: int | None = None
) -> tuple[Integers, Floats]:
    """Number of the nearest node of every row (n, d) of the frame, and its distance."""
    distance, index = Search(graph.nodes, n_jobs=n_jobs).query(Z, 1)
    return index[:, 0], distance[:, 0]


def nearest_modes(graph: RowGraph, Z: Floats, n_jobs: int | None = None) -> Integers:
    """Mode of the nearest node of every row (n, d) of the frame."""
    few = len(Z) < CELLS_FROM * len(graph.nodes)
    if few or Z.shape[1] <= TREE_FEATURES:
        return graph.mode[nearest_nodes(graph, Z, n_jobs)[0]]
    # Where there is no tree, cells tell most clusters apart.
    mode = nearest_labels(cut_cells(graph.nodes, graph.mode), Z, n_jobs)
    unsure = np.flatnonzero(mode < 0)
    if len(unsure):
        mode[unsure] = graph.mode[nearest_nodes(graph, Z[unsure], n_jobs)[0]]
    return mode


def row_heights(graph: RowGraph, Z: Floats, n_jobs: int | None = None) -> Floats:
    """Log-density at rows, by their distances to nodes; at a node, the node's own."""
    k = count_height_neighbors(len(graph.nodes))
    distance, index = Search(graph.nodes, graph.grain, n_jobs).query(Z, k)
    at_node = (graph.nodes[index[:, 0]] == Z).all(axis=1)
    height = -graph.dimension * safe_log(distance[:, k // 2 :]).mean(axis=1)
    return np.where(at_node, graph.height[index[:, 0]], height)


def nodes_on_the_way(
    graph: RowGraph, Z: Floats, n_jobs: int | None = None
) -> list[Integers]:
    """Nodes (n,) of rows after every step: the nearest one, then its way up."""
    here, _ = nearest_nodes(graph, Z, n_jobs)
    way = [here]
    while not np.array_equal(graph.uphill[here], here):
        here = graph.uphill[here]
        way.append(here)
    return way


def steps_up(graph: RowGraph) -> int:
    """Most steps from a node of the graph to its mode."""
    here, steps = graph.uphill, 0
    while not np.array_equal(graph.uphill[here], here):
        here, steps = graph.uphill[here], steps + 1
    return steps + int((graph.uphill != np.arange(len(here))).any())


RowGraph.__module__ = "modeseek.graph"  # model files name it so
