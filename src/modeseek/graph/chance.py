r"""Modes that chance makes on a graph of rows, drawn on the graph itself.

Heights are those of a flat density with the noise that heights from a few neighbours
have: every node has a weight of one on average, drawn from the exponential
distribution, and the height of a node is the logarithm of what its neighbours weigh.
So rows along a curve, among which no way leads around a low place, show deep valleys of
chance, and rows that fill a square shallow ones, whatever their dimension is said to
be.
"""

from __future__ import annotations

import numpy as np

from modeseek.graph.edges import EDGE_NEIGHBORS
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import map_blocks
from modeseek.tree.default_cut import CHANCE_NEIGHBORS, ChanceModes
from modeseek.tree.merge_tree import (
    Saddles,
    best_of_pairs,
    join_modes,
    spanning_saddles,
)
from modeseek.tree.pairs import follow_to_end

#: Draws of heights on a graph, at most and at least, and nodes of all draws together:
#: the numbers of merges that are counted in them vary less where nodes are many.
MOST_DRAWS, FEWEST_DRAWS, DRAWN_NODES = 40, 2, 48_000

#: Nodes from which on draws are shared among threads: of fewer, steps are too short.
SHARED_NODES = 4096

#: Neighbours that weigh, of fifteen that make a height: it varies like the logarithm
#: of so many rows.
WEIGHING_NEIGHBORS = 11


def draw_chance_modes(
    near: Integers,
    edges: Integers,
    height: Floats,
    mode: Integers,
    n_neighbors: int,
    n_jobs: int | None = 1,
) -> ChanceModes:
    """Draw flat heights with noise on a graph, and find their modes.

    ``near`` (m, q) has the nearest nodes of each node, ``edges`` (e, 2) connect all
    nodes, ``height`` (m,) is made of so many neighbours, and ``mode`` (m,) is the mode
    of each node by it. Draws of many nodes are made side
    by side.
    """
    rng = np.random.default_rng(0)
    # Dealt from the lowest node up, weights depend on no order and no unit.
    rank = np.empty(len(near), dtype=np.intp)
    rank[np.argsort(height, kind="stable")] = np.arange(len(near))
    weighing = near[:, : round(WEIGHING_NEIGHBORS * n_neighbors / CHANCE_NEIGHBORS)]
    n_draws = int(np.clip(DRAWN_NODES // len(near), FEWEST_DRAWS, MOST_DRAWS))
    weights = rng.exponential(size=(n_draws, len(near)))

    def kernel(draw: slice) -> tuple[Integers, Integers, Floats]:
        weight = weights[draw.start][rank]
        flat = np.log(weight[weighing].sum(axis=1))
        child, parent, prominence = _merges(flat, near[:, :EDGE_NEIGHBORS], edges)
        return mode[child], mode[parent], prominence

    jobs = n_jobs if len(near) >= SHARED_NODES else 1
    found = list(map_blocks(kernel, n_draws, n_jobs=jobs, size=1))
    child, parent, prominence = (
        np.concatenate(part) for part in zip(*found, strict=True)
    )
    return ChanceModes(n_draws, child, parent, prominence)


def _merges(
    height: Floats, near: Integers, edges: Integers
) -> tuple[Integers, Integers, Floats]:
    """Nodes that are modes, those that they merge with, and prominences."""
    m = len(height)
    highest = near[np.arange(m), height[near].argmax(axis=1)]
    uphill = np.where(height[highest] > height, highest, np.arange(m))
    peaks = np.flatnonzero(uphill == np.arange(m))
    number = np.empty(m, dtype=np.intp)
    number[peaks] = np.arange(len(peaks))
    basin = number[follow_to_end(uphill)]
    one, two = basin[edges[:, 0]], basin[edges[:, 1]]
    between = np.flatnonzero(one != two)
    along = np.minimum(height[edges[between, 0]], height[edges[between, 1]])
    saddles = _highest_saddles(one[between], two[between], along, len(peaks))
    merges = join_modes(height[peaks], saddles)
    child = peaks[merges[:, 0]]
    prominence = height[child] - saddles.height[merges[:, 2]]
    return child, peaks[merges[:, 1]], prominence


def _highest_saddles(one: Integers, two: Integers, height: Floats, k: int) -> Saddles:
    """Saddles over which k basins join from the highest down: a spanning tree."""
    nowhere = np.empty((len(height), 0))
    low, high = np.minimum(one, two), np.maximum(one, two)
    best = best_of_pairs(Saddles(low, high, height, nowhere, nowhere))
    return spanning_saddles(best, k)
