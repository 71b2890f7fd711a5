"""Edges of the neighbour graph of rows, and ties between its connected components."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.graph.neighbors import Search
from modeseek.graph.ties import TIES, nearest_outside
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import one_blas_thread
from modeseek.tree.pairs import connected_components, distinct_pairs

#: Neighbours to which a node has edges.
EDGE_NEIGHBORS = 10

#: Up to this dimension rows lie on curves, where every way leads over every edge.
CURVES = 1.5


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


def neighbor_edges(near: Neighbors, q: int) -> Integers:
    """Edges between every node and its q nearest; shape (e, 2).

    The lower number of an edge comes first, and edges are in ascending order.
    """
    m = len(near.node)
    return distinct_pairs(np.arange(m)[:, None], near.node[:, :q], m)


def find_pieces(near: Neighbors, edges: Integers, dimension: float) -> Integers:
    """Connected component of every node, by its neighbours alone; shape (m,).

    Chance hardly ever cuts a graph of ten neighbours in two, whatever the density. In
    one dimension it does, wherever a gap is longer than as many others on both sides:
    with each neighbour more that becomes half as likely or less, and more of them count
    the more places there are for it.
    """
    m = len(near.node)
    if dimension <= CURVES:
        q = int(np.ceil(np.log2(m))) + 3
        edges = neighbor_edges(near, max(q, EDGE_NEIGHBORS))
    return connected_components(edges, m)[1]


@one_blas_thread()
def tie_pieces(
    nodes: Floats, near: Neighbors, edges: Integers, n_jobs: int | None = None
) -> Integers:
    """Add ties to the edges of a graph, until it is connected; shape (e, 2).

    Every connected component is tied to its nearest nodes outside. Edges stay in order.
    """
    m = len(nodes)
    # Those nearer are in the same component: there are edges to them.
    outside, few = (
        np.arange(m),
        near.first(2 * EDGE_NEIGHBORS).node[:, -EDGE_NEIGHBORS:],
    )
    while True:
        n_pieces, piece = connected_components(edges, m)
        if n_pieces == 1:
            return edges
        # What is still outside is still the nearest there.
        joined = np.flatnonzero(piece[outside] == piece)
        outside[joined] = nearest_outside(nodes, few, piece, joined, n_jobs)
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


def safe_log(distance: Floats) -> Floats:
    """Logarithm of distances, also of zero."""
    return np.asarray(np.log(np.maximum(distance, np.finfo(float).tiny)))
