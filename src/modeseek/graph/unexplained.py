r"""Rows that the nodes of a graph do not explain: where small groups hide.

Of many rows some are drawn as nodes, and a group of fifty among a million may have one
or none of them. Its rows are far from the nodes around, measured by how far these are
from each other: the more, the less a row is explained by them. Such rows join the graph
as nodes that stand for themselves.

A group that has some nodes, but fewer than the neighbours that make a height, must not
be explained by these. Among nodes of one density in D dimensions the i-th distance from
a node is followed by another that is longer by a factor of which :math:`i D \log` is
exponential with mean 1; a jump that chance does not make at any node ends a group, and
neither its nodes nor those that are alone explain anything.

Which rows these are depends on the rows and the nodes only. Of every block of rows the
least explained are kept, so that they are the same in memory, in chunks and on Dask.
"""

from __future__ import annotations

from functools import partial
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
)
from modeseek.graph.heights import (
    DIMENSION_NEIGHBORS,
    HEIGHT_NEIGHBORS,
    log_radius,
    measure_dimension,
)
from modeseek.graph.neighbors import TREE_FEATURES, Search, arrange
from modeseek.graph.row_graph import FEW_FEATURES
from modeseek.rows.arrays import Bools, Floats, Integers, Reals
from modeseek.rows.blocks import one_thread
from modeseek.rows.coordinates import Frame
from modeseek.rows.source import Block, Source, stack

#: Rows that join a graph: one in so many, but no fewer and no more than these.
ROWS_PER_SINGLE, FEWEST_SINGLE, MOST_SINGLE = 20, 1_024, 16_384

#: In more than few features there are no more than these.
MOST_SINGLE_BEYOND = 4_096

#: Nodes that explain rows where there are no trees: products with all take too long.
GUIDES_BEYOND = 1024

#: A node is alone where its nearest is so many times as far as neighbours of that are.
ALONE = 1.5

#: Rows of a block.
BLOCK_ROWS = 1 << 14


class Guides(NamedTuple):
    """Nodes that explain the rows around them, in the frame."""

    search: Search
    radius: Floats  # (g,) mean distance of their neighbours
    n_asked: int  # nodes of which these are those that explain others

    def explain(self, Z: Floats) -> tuple[Integers, Floats]:
        """Nearest guide of rows (n, d), and how far it is, in radii of it."""
        distance, index = self.search.query(Z, 1)
        nearest = index[:, 0]
        with np.errstate(over="ignore"):  # infinitely far from nodes that coincide
            return nearest, np.asarray(distance[:, 0] / self.radius[nearest])


class Found(NamedTuple):
    """Rows that are the least explained so far, and what guides explain of the rest."""

    block: Block
    guide: Integers  # (n,) nearest of each row
    unlikeness: Floats  # (n,)
    least: float  # rows of this unlikeness, and below, were left out
    explained: Floats  # (g,) weight of rows that were left out, by nearest guide


class Explained(NamedTuple):
    """Which rows are explained by guides, and which stand for themselves."""

    weight: Floats  # (g,) of the rows that each explains
    single: Block  # distinct rows that none explains, with their weights
    least: float  # rows are explained up to this unlikeness


def find_guides(nodes: Floats, n_jobs: int | None = None) -> Guides | None:
    """Nodes that explain others; None where none does, and on curves.

    On a curve every way leads through every gap, also those between nodes that were
    drawn and rows that were not.
    """
    if nodes.shape[1] > TREE_FEATURES:
        nodes = nodes[:: max(1, len(nodes) // GUIDES_BEYOND)]
    if len(nodes) <= DIMENSION_NEIGHBORS:
        return None
    nodes = nodes[arrange(nodes)]
    near = find_neighbors(Search(nodes, n_jobs=n_jobs), DIMENSION_NEIGHBORS)
    none = np.zeros(len(nodes))
    radius = np.exp(log_radius(near, none + 1.0, none, HEIGHT_NEIGHBORS))
    alone = near.distance[:, 0] > ALONE * radius[near.node[:, 0]]
    dimension = measure_dimension(near, nodes.shape[1])
    explain = ~(alone | _in_small_groups(near, dimension))
    if not explain.any() or dimension <= CURVES:
        return None
    group = None
    if nodes.shape[1] > TREE_FEATURES:  # where there is no tree
        edges = neighbor_edges(near, EDGE_NEIGHBORS)
        group = find_pieces(near, edges, dimension)[explain]
    search = Search(nodes[explain], n_jobs=n_jobs, group=group)
    return Guides(search, radius[explain], len(nodes))


def _in_small_groups(near: Neighbors, dimension: float) -> Bools:
    """Nodes of groups that end with a jump of the distances from some node."""
    log = safe_log(near.distance[:, : HEIGHT_NEIGHBORS + 1])
    rank = 1.0 + np.arange(HEIGHT_NEIGHBORS)
    jump = dimension * rank * np.diff(log, axis=1)
    certain = np.log(len(log) * HEIGHT_NEIGHBORS) + np.log(20.0)
    member = np.zeros(len(log), dtype=bool)
    for node in np.flatnonzero(jump.max(axis=1) > certain):
        member[node] = True
        member[near.node[node, : jump[node].argmax() + 1]] = True
    return member


def most_single(d: int, n_rows: int) -> int:
    """Rows that join a graph of so many in so many features, at most."""
    most = MOST_SINGLE if d <= FEW_FEATURES else MOST_SINGLE_BEYOND
    return min(most, max(FEWEST_SINGLE, n_rows // ROWS_PER_SINGLE))


def find_unexplained(
    source: Source, frame: Frame, guides: Guides, most: int
) -> Explained:
    """Find the rows that guides explain least; rows equal to a guide never are."""
    kernel = partial(_least_explained, frame, guides, most)
    found = source.reduce(kernel, partial(_join, most), size=BLOCK_ROWS)
    return Explained(found.explained, _without_copies(found.block), found.least)


def _least_explained(frame: Frame, guides: Guides, most: int, block: Block) -> Found:
    with one_thread():
        guide, unlike = guides.explain(frame.enter(block.X))
    weight = np.ones(len(unlike)) if block.weight is None else block.weight
    none = np.zeros(len(guides.radius))
    return _keep(Found(Block(block.X, weight), guide, unlike, 0.0, none), most)


def _join(most: int, one: Found, other: Found) -> Found:
    return _keep(
        Found(
            stack(one.block, other.block),
            np.concatenate([one.guide, other.guide]),
            np.concatenate([one.unlikeness, other.unlikeness]),
            max(one.least, other.least),
            one.explained + other.explained,
        ),
        most,
    )


def _keep(found: Found, most: int) -> Found:
    """Keep the rows that are least explained; of equally explained ones all or none."""
    (X, w), guide, unlike, least, explained = found
    assert w is not None
    if len(unlike) > most:
        least = max(least, float(np.partition(unlike, -most - 1)[-most - 1]))
    kept = unlike > least
    left = np.bincount(guide[~kept], w[~kept], len(explained))
    return Found(
        Block(X[kept], w[kept]), guide[kept], unlike[kept], least, explained + left
    )


def _without_copies(block: Block) -> Block:
    if not len(block.X):
        return block
    X: Reals
    number: Integers
    X, number = np.unique(block.X, axis=0, return_inverse=True)
    weight = np.bincount(np.ravel(number), block.weight, len(X))
    return Block(X, weight.astype(np.float64))
