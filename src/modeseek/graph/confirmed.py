"""Clusters of a graph of some of the rows that all rows confirm.

Of many rows few are nodes: some are drawn, and those that these explain least stand for
themselves. Between both are rows that a drawn node just explains, of which there is no
node, so that the tail of a cluster may look like a group of its own, the more the more
rows there are. And a height of many neighbours tells nothing of a group that is
smaller. So the rows themselves are counted, in balls that hold as many nodes around a
mode as make its height, on two straight ways from there: to the saddle, and to the mode
that it would merge with. Whatever the way, it leads through the valley, so that some
ball on it holds fewer rows; from the tail of a cluster on there are ever more.
"""

from __future__ import annotations

from functools import partial
from operator import add

import numpy as np
from scipy.spatial.distance import cdist

from modeseek.graph.heights import HEIGHT_NEIGHBORS
from modeseek.graph.landscape import GraphLandscape
from modeseek.graph.neighbors import Search
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.blocks import chunk_slices, one_thread
from modeseek.rows.source import Block, FramedRows, Source

#: Balls on each way from a mode, both ends included.
N_BALLS = 7

#: Standard deviations by which rows must be missing in the emptiest of them; and where
#: the mode is that of a small group, of which little more is known: one of many places
#: where some rows are near each other by chance (``benchmarks/many.py tails``).
LEAST_CERTAINTY, LEAST_CERTAINTY_SMALL = 1.0, 3.0

#: Rows of a block.
BLOCK_ROWS = 1 << 14


def confirm_by_rows(
    landscape: GraphLandscape, source: Source, row_weight: float = 1.0
) -> GraphLandscape:
    """Merge clusters of a large graph that the rows do not confirm.

    Its merges have been chosen. All rows are read once more, if there is anything to
    ask of them; so much weight counts as one row.
    """
    made = landscape.default_merges()
    asked = np.flatnonzero(~made & _are_doubtful(landscape, made))
    if not len(asked):
        return landscape
    middle, radius = _balls_on_ways(landscape, asked)
    kernel = partial(_count_inside, middle.reshape(-1, middle.shape[-1]), radius)
    rows = FramedRows(source, landscape.frame, row_weight)
    count = rows.reduce(kernel, add, size=BLOCK_ROWS).reshape(middle.shape[:-1])
    small = landscape.are_small()[asked]
    least = np.where(small, LEAST_CERTAINTY_SMALL, LEAST_CERTAINTY)
    refuted = asked[_missing_rows(count) < least]
    tree, made = landscape.tree, made.copy()
    made[refuted] = True
    if tree.p_value is not None:
        p_value = tree.p_value.copy()
        p_value[refuted] = 1.0
        tree = tree._replace(p_value=p_value)
    return landscape._replace(made=made, tree=tree)


def _are_doubtful(landscape: GraphLandscape, made: Bools) -> Bools:
    """Merges (k - 1,) across valleys that nodes alone do not tell.

    All are where some rows stand for themselves; otherwise those of groups with fewer
    nodes than make most heights.
    """
    graph, tree = landscape.graph, landscape.tree
    if graph.n_single:
        return np.ones(len(made), dtype=bool)
    if graph.n_neighbors <= HEIGHT_NEIGHBORS:
        return np.zeros(len(made), dtype=bool)
    group = tree.merge(made)
    n_nodes = np.bincount(group[graph.mode], minlength=len(group))
    few = n_nodes[group[tree.child]] < graph.n_neighbors
    return np.asarray(few | landscape.are_small())


def _balls_on_ways(
    landscape: GraphLandscape, merges: Integers
) -> tuple[Floats, Floats]:
    """Middles (g, 2, N_BALLS, d) of balls in the frame, and the radius of each.

    The ways are those from the lower mode of each merge. Radii are raveled.
    """
    graph, tree = landscape.graph, landscape.tree
    child, nodes = tree.child[merges], graph.nodes
    here, there = nodes[graph.peaks[child]], nodes[graph.peaks[tree.parent[merges]]]
    ends = np.stack([landscape.frame.enter(tree.saddles[merges]), there], axis=1)
    share = np.linspace(0.0, 1.0, N_BALLS)[:, None]
    middle = here[:, None, None] + share * (ends - here[:, None])[:, :, None]
    k = min(graph.n_neighbors, len(nodes) - 1)
    distance = Search(nodes).query(here, 1 + k)[0]
    wide, narrow = distance[:, -1], distance[:, min(k, HEIGHT_NEIGHBORS)]
    radius = np.where(landscape.are_small()[merges], narrow, wide)
    # The farthest of those nodes is a row that rounding must not leave outside.
    return middle, np.repeat((1.0 + 1e-9) * radius, len(ends[0]) * N_BALLS)


def _count_inside(middle: Floats, radius: Floats, block: Block) -> Floats:
    """Rows of a block, by their weight, in each of some balls (b,)."""
    Z, weight = block
    count = np.zeros(len(middle))
    with one_thread():
        for rows in chunk_slices(len(Z), len(middle)):
            inside = cdist(Z[rows], middle) <= radius
            count += inside.sum(axis=0) if weight is None else weight[rows] @ inside
    return count


def _missing_rows(count: Floats) -> Floats:
    """Rows missing in the emptiest ball of two ways (g, 2, N_BALLS), in deviations.

    The way on which they are the less certain counts.
    """
    first, least = count[:, :, 0], count.min(axis=2)
    missing = (first - least) / np.sqrt(np.maximum(first + least, 1.0))
    return np.asarray(missing.min(axis=1))
