r"""The graph of rows: climbing from row to row instead of along a field.

A field of some hundred Gaussians is smooth, and it levels off where it has no centres:
right for what is nearly Gaussian, too coarse for many small or winding clusters. There
rows climb from neighbour to neighbour. A row's height is its log-density by the
distances to its neighbours, see :mod:`modeseek.graph.heights`. An edge between
neighbours is as high as its lower end, and no higher than the distances half-way allow:
between two clusters lies an empty place, however near their rows. Each row climbs along
its highest edge to a higher row, if that edge does not lead down first. Where there is
none the row is a mode, unless it is a mere bump. Saddles between modes are the highest
edges between their basins; no way up leads from one piece of the graph to another.

Copies of a row are one node with a count, so counts and copies are the same; own copies
lie half-way to the nearest neighbour. New rows take the mode of the nearest node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.graph.edges import (
    CURVES,
    EDGE_NEIGHBORS,
    Neighbors,
    find_neighbors,
    find_pieces,
    neighbor_edges,
    safe_log,
    tie_pieces,
)
from modeseek.graph.heights import (
    DIMENSION_NEIGHBORS,
    HEIGHT_NEIGHBORS,
    MANY_NODES,
    count_height_neighbors,
    count_neighbors,
    height_error,
    log_counts,
    measure_dimension,
    node_heights,
)
from modeseek.graph.midway import MIDWAY_NEIGHBOR, edge_heights
from modeseek.graph.neighbors import CELLS_FROM, TREE_FEATURES, Search
from modeseek.graph.shortcuts import Shortcuts
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.tree.default_cut import CHANCE_POWER, chance_of, chance_prominence
from modeseek.tree.merge_tree import (
    MergeTree,
    Saddles,
    best_of_pairs,
    merge_down,
    spanning_saddles,
)
from modeseek.tree.pairs import follow_to_end

#: Nodes at most in up to so many features, where trees find neighbours at once ...
MOST_NODES, PLANE_OR_SPACE = 200_000, 3

#: ... and in up to so many, if one in five rows is a node: a graph shall not take much
#: longer than to label the rows.
MOST_NODES_OF_MORE, FEW_FEATURES, ROWS_PER_NODE = 32_768, 5, 5

#: So many are no burden there. In more features there are as many where fewer leave in
#: doubt which valleys are chance, if products of all pairs of them take no more
#: multiplications than these.
ENOUGH_NODES, MOST_PRODUCTS = 20_000, 8e9

#: How likely chance cuts the graph in two, for the kind of rows among which it does so
#: most often (``benchmarks/pieces.py``).
SELDOM = 0.03

#: Modes of less prominence are bumps of chance, and belong to the mode beside them;
#: of more neighbours, of so much less as their heights are more certain.
BUMP = 0.3


class Links(NamedTuple):
    """Which nodes are near each other."""

    near: Integers  # (m, q) nearest other nodes of every node, nearest first
    edges: Integers  # (e, 2) between near nodes; they connect all
    piece: Integers  # (m,) what neighbours alone connect


class Valleys(NamedTuple):
    """All modes of a graph, bumps too, with the tree of their merges."""

    tree: MergeTree
    mode: Integers  # (m,) of every node
    usual: Bools  # merges of modes whose height is made as most heights are

    def prominences(self) -> Floats:
        """Of merges of such modes."""
        return np.asarray(self.tree.prominence[self.usual])


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
    n_neighbors: int = HEIGHT_NEIGHBORS  # that made the heights of most nodes
    n_single: int = 0  # the last so many nodes stand for themselves
    chance: Floats | None = None  # (k,) prominence that chance makes of each mode
    valleys: Valleys | None = None  # until the merges to make are chosen

    def are_apart(self, tree: MergeTree) -> Bools:
        """Merges of groups that no edge between neighbours connects, until cut."""
        if self.links is None:
            return np.zeros(len(tree.child), dtype=bool)
        piece = self.links.piece[self.peaks]
        return np.asarray(piece[tree.child] != piece[tree.parent])

    def chance_of_merges(self, tree: MergeTree) -> Floats:
        """Prominence that chance makes of the lower mode of each merge."""
        if self.chance is None:
            usual = chance_prominence(len(self.nodes), self.dimension, self.n_neighbors)
            return np.full(len(tree.child), usual)
        return self.chance[tree.child]


def most_nodes(d: int, n_rows: int) -> int:
    """Nodes of a graph of so many rows in so many features, at most."""
    if d <= PLANE_OR_SPACE:
        return MOST_NODES
    if d <= FEW_FEATURES:
        share = n_rows // ROWS_PER_NODE
        return max(ENOUGH_NODES, min(MOST_NODES_OF_MORE, share))
    return MANY_NODES


def most_nodes_in_doubt(d: int, n_rows: int) -> int:
    """Nodes, at most, where fewer leave in doubt which valleys are chance."""
    most = min(ENOUGH_NODES, int(np.sqrt(MOST_PRODUCTS / d)))
    return max(most_nodes(d, n_rows), most)


def build_graph(
    nodes: Floats,
    counts: Floats,
    grain: float = 0.0,
    n_jobs: int | None = None,
    n_single: int = 0,
) -> tuple[RowGraph, MergeTree]:
    """Find the heights of rows, their ways up, and the tree of their modes.

    Nodes are distinct rows (m, d), at least two, and counts (m,) tell the copies of
    each; only their proportions matter. The last ``n_single`` stand for themselves, see
    :mod:`modeseek.graph.heights`. Distances below the grain mean nothing, see
    :mod:`modeseek.rows.rounding`. Saddles of the tree are in the frame.
    """
    m, d = nodes.shape
    search = Search(nodes, grain, n_jobs)
    near = find_neighbors(search, count_neighbors(m, n_single))
    dimension = measure_dimension(near, d)
    height, used = node_heights(near, counts, dimension, n_single)
    links = _link(nodes, near, dimension, n_single, n_jobs)
    usual, q, log_count = int(used.max()), MIDWAY_NEIGHBOR, None
    if dimension <= CURVES:  # what is half-way must be as certain as heights are
        q = max(q, q * usual // HEIGHT_NEIGHBORS)
    if n_single:
        log_count = log_counts(counts, n_single)
    around = near.first(max(q, DIMENSION_NEIGHBORS))
    edge_height = edge_heights(
        search, around, links.edges, height, dimension, log_count, q, n_jobs
    )
    uphill = _climb_once(height, links, edge_height)
    peaks, mode = _follow(uphill, nodes, height)
    graph = RowGraph(
        nodes, height, uphill, mode, peaks, dimension, grain, links, usual, n_single
    )
    with_bumps = _build_tree(graph, links, edge_height)
    bump = BUMP * min(1.0, (HEIGHT_NEIGHBORS / usual) ** CHANCE_POWER)
    flat = (with_bumps.prominence < bump) & ~graph.are_apart(with_bumps)
    top = graph.peaks[with_bumps.child]
    is_usual = (used[top] == usual) & (top < m - n_single)
    valleys = Valleys(with_bumps, graph.mode, is_usual)
    graph = _flatten(graph, with_bumps.merge(flat))._replace(valleys=valleys)
    if n_single or (used < usual).any():
        graph = graph._replace(chance=_chance_of_modes(graph, near, used))
    tree = _build_tree(graph, links, edge_height)
    chance = graph.chance_of_merges(tree)
    p_value = chance_of(tree.prominence, chance)
    # A mode is the highest of many nodes, a saddle the lowest of a way: two standard
    # errors are no less than what chance makes of flat rows in 19 of 20 draws.
    error = np.sqrt(2.0) * height_error(used[graph.peaks[tree.child]])
    return graph, tree._replace(
        std_error=np.maximum(error, 0.5 * chance),
        p_value=np.where(graph.are_apart(tree), np.minimum(p_value, SELDOM), p_value),
    )


def _link(
    nodes: Floats, near: Neighbors, dimension: float, n_single: int, n_jobs: int | None
) -> Links:
    """Edges of the graph, and what is connected without ties.

    Nodes that stand for themselves were chosen for being apart: among them all is one.
    """
    edges = neighbor_edges(near, EDGE_NEIGHBORS)
    piece = np.zeros(len(nodes), dtype=np.intp)
    if not n_single:
        piece = find_pieces(near, edges, dimension)
    tied = tie_pieces(nodes, near, edges, n_jobs)
    return Links(near.node, tied, piece)


def _chance_of_modes(graph: RowGraph, near: Neighbors, used: Integers) -> Floats:
    """Prominence that chance makes of each mode, by the neighbours of its height.

    Single nodes may lie where the rows fill fewer dimensions, as on arms that reach far
    out: logarithms of distances vary more there, as their mean rise tells.
    """
    m, k = len(graph.nodes), len(graph.peaks)
    chance = chance_prominence(m, graph.dimension, used[graph.peaks])
    first = m - graph.n_single
    if not graph.n_single:
        return chance
    log = safe_log(near.distance[first:, :HEIGHT_NEIGHBORS])
    rise = (log[:, -1:] - log[:, :-1]).mean(axis=1)
    mode = graph.mode[first:]
    rise_of_mode = np.bincount(mode, rise, k) / np.maximum(
        np.bincount(mode, None, k), 1
    )
    more = np.maximum(1.0, rise_of_mode * graph.dimension)
    return np.where(graph.peaks >= first, chance * more, chance)


def point_graph(node: Floats) -> tuple[RowGraph, MergeTree]:
    """Graph of one node (1, d), and the tree of its one mode."""
    zero, first, d = np.zeros(1), np.zeros(1, dtype=np.intp), node.shape[1]
    graph = RowGraph(node, zero, first, first, first, float(d), 0.0)
    nobody = np.empty((0, 2), dtype=np.intp)
    no_links = Links(nobody, nobody, first)
    return graph, _build_tree(graph, no_links, np.empty(0))


def _climb_once(height: Floats, links: Links, edge_height: Floats) -> Integers:
    """The highest node at the end of an edge that never leads down, or its own number.

    Of equally high nodes the first is the higher. An edge is no higher than its lower
    end: one that is as high leads up from there. No way up leads from piece to piece.
    """
    order = np.argsort(-height, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    one, two = links.edges.T
    lower = np.where(rank[one] < rank[two], two, one)
    up = edge_height >= height[lower]
    up &= links.piece[one] == links.piece[two]
    top = np.minimum(rank[one[up]], rank[two[up]])
    np.minimum.at(rank, lower[up], top)
    return np.asarray(order[rank])


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


def _build_tree(graph: RowGraph, links: Links, edge_height: Floats) -> MergeTree:
    """Tree of the modes, from the edges between their basins."""
    one, two = (graph.mode[ends] for ends in links.edges.T)
    between = np.flatnonzero(one != two)
    one, two = one[between], two[between]
    middle = graph.nodes[links.edges[between]].mean(axis=1)
    candidates = Saddles(
        np.minimum(one, two),
        np.maximum(one, two),
        edge_height[between],
        middle,
        np.zeros_like(middle),
    )
    best = best_of_pairs(candidates)
    best = _tie_last(best, links.piece[graph.peaks])
    heights = graph.height[graph.peaks]
    return merge_down(heights, spanning_saddles(best, len(heights)))


def _tie_last(saddles: Saddles, piece: Integers) -> Saddles:
    """Put saddles between pieces below those inside them: no neighbours lead there."""
    one, two = piece[saddles.low], piece[saddles.high]
    tied = one != two
    if not tied.any():
        return saddles
    inside = Saddles(*(part[~tied] for part in saddles))
    inside = spanning_saddles(inside, len(piece))
    lowest = np.full(piece.max() + 1, np.inf)
    np.minimum.at(lowest, piece[inside.low], inside.height)
    below = np.nextafter(np.minimum(lowest[one], lowest[two]), -np.inf)
    height = np.where(tied, np.minimum(saddles.height, below), saddles.height)
    return saddles._replace(height=height)


def nearest_nodes(
    graph: RowGraph, Z: Floats, n_jobs: int | None = None
) -> tuple[Integers, Floats]:
    """Number of the nearest node of every row (n, d) of the frame, and its distance."""
    distance, index = Search(graph.nodes, n_jobs=n_jobs).query(Z, 1)
    return index[:, 0], distance[:, 0]


def nearest_modes(
    graph: RowGraph,
    Z: Floats,
    n_jobs: int | None = None,
    group: Integers | None = None,
) -> Integers:
    """Mode of the nearest node of every row (n, d) of the frame.

    Groups of the modes (k,) that are apart make it sooner where there is no tree.
    """
    if group is None or Z.shape[1] <= TREE_FEATURES:
        return _nearest_labels(graph.nodes, graph.mode, None, Z, n_jobs)
    return _nearest_labels(graph.nodes, graph.mode, group[graph.mode], Z, n_jobs)


def nearest_mode_labels(
    graph: RowGraph, label: Integers, Z: Floats, n_jobs: int | None = None
) -> Integers:
    """Label, of those (k,) of the modes, of the mode of the nearest node of each row.

    That is known sooner than the mode.
    """
    node_label = label[graph.mode]
    return _nearest_labels(graph.nodes, node_label, node_label, Z, n_jobs)


def _nearest_labels(
    nodes: Floats,
    label: Integers,
    group: Integers | None,
    Z: Floats,
    n_jobs: int | None,
) -> Integers:
    """Label of the nearest node of each row, by shortcuts where rows are many."""
    found = np.full(len(Z), -1)
    if len(Z) >= CELLS_FROM * len(nodes):
        by_cells = Z.shape[1] > TREE_FEATURES
        found = Shortcuts(nodes, label, group).find(Z, n_jobs, by_cells=by_cells)
    left = np.flatnonzero(found < 0)
    if len(left):
        found[left] = label[Search(nodes, n_jobs=n_jobs).query(Z[left], 1)[1][:, 0]]
    return found


def row_heights(graph: RowGraph, Z: Floats, n_jobs: int | None = None) -> Floats:
    """Log-density at rows, by their distances to nodes; at a node, the node's own."""
    if len(graph.nodes) > MANY_NODES:  # one of so many nodes is near
        return np.asarray(graph.height[nearest_nodes(graph, Z, n_jobs)[0]])
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
