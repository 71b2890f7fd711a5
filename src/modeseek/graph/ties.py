"""Ties: where the connected components of a neighbour graph come nearest each other.

What is found is the nearest node outside its component for those nodes of each that
are nearest the others. Bounds leave out most of the rest: by the triangle inequality
about the middles of components, and for two large ones by the gap between them along
the line through their middles.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from modeseek.graph.neighbors import DISTANCE_ROUNDING, LEAF, TREE_FEATURES
from modeseek.graph.products import nearest_of
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.blocks import map_blocks

#: Shortest edges by which a connected component of the graph is tied to the rest.
TIES = 3

#: Nodes of a component from which on it is large: all of a smaller one are tried.
LARGE = 500

#: Nodes of two large components that tell how near they come to each other.
LIKELY_NEAR = 32

#: Others about a large component that are gone through one by one, at most.
FEW_PIECES = 64

#: Tasks that pieces are dealt to, about: one for each of the few large ones.
TASKS = 64

#: Pairs of nodes that are all tried; among more a tree is faster.
FEW_PAIRS = 1 << 20


class Pieces(NamedTuple):
    """Nodes in the order of their connected components, about their median."""

    order: Integers  # (m,) numbers of the nodes
    V: Floats  # (m, d)
    first: Integers  # (p,) of each component
    size: Integers  # (p,)
    middle: Floats  # (p, d)
    nearest: Floats  # (p,) distance of its nearest node from the middle
    farthest: Floats  # (p,)

    def members(self, number: int) -> slice:
        """Positions of the nodes of a component."""
        return slice(self.first[number], self.first[number] + self.size[number])


def nearest_outside(
    nodes: Floats,
    near: Integers,
    piece: Integers,
    some: Integers,
    n_jobs: int | None = None,
) -> Integers:
    """Nearest node in another connected component, for some nodes.

    The nearest nodes (m, q) of every node tell it where one of them is outside; pieces
    with nodes that are left are gone through, on threads. Nodes of a large piece that
    are farther from others than :data:`TIES` of its nodes get their own number.
    """
    away = piece[near[some]] != piece[some, None]
    known = away.any(axis=1)
    found: Integers = near[some, away.argmax(axis=1)]
    left = np.zeros(len(nodes), dtype=bool)
    left[some[~known]] = True
    if left.any():
        found[~known] = _search_outside(nodes, piece, left, n_jobs)[some[~known]]
    return found


def _search_outside(
    nodes: Floats, piece: Integers, wanted: Bools, n_jobs: int | None
) -> Integers:
    """Nearest node in another connected component, for wanted nodes; shape (m,).

    By the triangle inequality it is no farther than the middle of any piece plus the
    distance of that piece's nearest node from there. Pieces that do not come so near
    by their farthest node are left out.
    """
    pieces = _sort_pieces(nodes, piece)
    wanted, found = wanted[pieces.order], np.arange(len(nodes))

    def kernel(some: slice) -> None:
        for own in range(some.start, some.stop):
            start = pieces.first[own]
            rows = start + np.flatnonzero(wanted[pieces.members(own)])
            if len(rows):
                found[rows] = _nearest_beyond(pieces, own, rows)

    size = 1 + len(pieces.first) // TASKS
    deque(map_blocks(kernel, len(pieces.first), n_jobs=n_jobs, size=size), maxlen=0)
    result = np.empty(len(nodes), dtype=np.intp)
    result[pieces.order] = pieces.order[found]
    return result


def _nearest_beyond(pieces: Pieces, own: int, rows: Integers) -> Integers:
    """Nearest node in another piece, for rows of one; their own number if too far."""
    V = pieces.V
    distance = cdist(V[rows], pieces.middle)
    distance[:, own] = np.inf
    reach = (distance + pieces.nearest).min(axis=1, keepdims=True)
    reach *= 1.0 + DISTANCE_ROUNDING
    others = np.flatnonzero((distance - pieces.farthest <= reach).any(axis=0))
    if len(rows) > LARGE and len(others) <= FEW_PIECES:
        return _nearest_across(pieces, own, rows, others)
    targets = np.concatenate([np.r_[pieces.members(int(p))] for p in others])
    return np.asarray(targets[nearest_of(V[targets], V[rows])])


def _sort_pieces(nodes: Floats, piece: Integers) -> Pieces:
    order = np.argsort(piece, kind="stable")
    first = np.flatnonzero(np.diff(piece[order], prepend=-1))
    V = nodes[order] - np.median(nodes, axis=0)  # products cancel far from the origin
    size = np.diff(first, append=len(order))
    middle = np.add.reduceat(V, first) / size[:, None]
    away = np.linalg.norm(V - np.repeat(middle, size, axis=0), axis=1)
    nearest, farthest = (f.reduceat(away, first) for f in (np.minimum, np.maximum))
    return Pieces(order, V, first, size, middle, nearest, farthest)


def _nearest_across(
    pieces: Pieces, own: int, rows: Integers, others: Integers
) -> Integers:
    """Nearest node in other pieces for the rows of a large one that are nearest them.

    Along the line through the middles of two pieces, a row is as far from the other
    piece as from the nearest projection of its nodes, at least. Those that are too far
    for one of the :data:`TIES` shortest edges get their own number.
    """
    V = pieces.V
    best, found = np.full(len(rows), np.inf), rows.copy()
    between = np.linalg.norm(pieces.middle[others] - pieces.middle[own], axis=1)
    for other in others[np.argsort(between - pieces.farthest[others], kind="stable")]:
        targets = np.r_[pieces.members(int(other))]
        along = pieces.middle[other] - pieces.middle[own]
        length = np.linalg.norm(along)
        along = along / length if length > 0 else along
        line = Line(V[rows], V[rows] @ along, V[targets], V[targets] @ along)
        near, reached, shortest = line.within_reach(_shortest_of(best))
        if not len(near):
            continue
        targets = targets[reached]
        number = _nearest_within(V[targets], V[rows[near]], shortest)
        near, number = near[number >= 0], number[number >= 0]
        distance = np.linalg.norm(V[rows[near]] - V[targets[number]], axis=1)
        nearer = distance < best[near]
        best[near[nearer]] = distance[nearer]
        found[near[nearer]] = targets[number[nearer]]
    return np.where(best <= _shortest_of(best), found, rows)


class Line(NamedTuple):
    """Points of two components, and where they are along a line from one to other."""

    U: Floats  # (m, d)
    here: Floats  # (m,)
    V: Floats  # (n, d)
    there: Floats  # (n,)

    def within_reach(self, shortest: float) -> tuple[Integers, Integers, float]:
        """Points of either that may make one of the :data:`TIES` shortest edges.

        Also a length, no more than the given one, that these do not exceed.
        """
        one, two = self._likely()
        nearest = cdist(self.U[one], self.V[two]).min(axis=1)
        shortest = min(shortest, _shortest_of(nearest))
        near, reached = self._reach(shortest)
        if len(near) * len(reached) > FEW_PAIRS:  # worth a closer look
            one = np.union1d(one, nearest_of(self.U, self.V[two]))
            two = nearest_of(self.V, self.U[one])
            nearest = np.linalg.norm(self.U[one] - self.V[two], axis=1)
            shortest = min(shortest, _shortest_of(nearest))
            near, reached = self._reach(shortest)
        return near, reached, shortest

    def _likely(self) -> tuple[Integers, Integers]:
        """Points that come farthest along the line, and the first of the others."""
        n_one, n_two = (min(LIKELY_NEAR, len(points)) for points in (self.U, self.V))
        return (
            np.argpartition(self.here, -n_one)[-n_one:],
            np.argpartition(self.there, n_two - 1)[:n_two],
        )

    def _reach(self, shortest: float) -> tuple[Integers, Integers]:
        near = np.flatnonzero(self.there.min() - self.here <= shortest)
        first = self.here[near].max(initial=-np.inf)
        return near, np.flatnonzero(self.there - first <= shortest)


def _shortest_of(distance: Floats) -> float:
    """Distance of the last of the :data:`TIES` nearest, and what rounding may add."""
    return float(np.partition(distance, TIES - 1)[TIES - 1]) * (1.0 + DISTANCE_ROUNDING)


def _nearest_within(targets: Floats, V: Floats, farthest: float) -> Integers:
    """Number of the nearest target of every row; -1 may be told if that is farther."""
    if V.shape[1] > TREE_FEATURES or len(V) * len(targets) <= FEW_PAIRS:
        return nearest_of(targets, V)
    tree = KDTree(targets, LEAF)
    _, number = tree.query(V, distance_upper_bound=farthest)
    return np.where(number < len(targets), number, -1)
