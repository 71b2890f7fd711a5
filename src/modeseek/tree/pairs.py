"""Numbers that belong together: pairs, connected components, disjoint sets."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csgraph

from modeseek.rows.arrays import Integers


def distinct_pairs(one: Integers, other: Integers, m: int) -> Integers:
    """Distinct pairs of two different numbers below m, the lower first, ascending.

    ``one`` and ``other`` hold the two numbers of each pair and can be broadcast
    together. The result is of shape (e, 2).
    """
    # One number for each pair: rows of two take far longer to sort.
    bits = m.bit_length()
    keys = (np.minimum(one, other) << bits) | np.maximum(one, other)
    # Pairs nearly in order, as of rows that are arranged, are sorted in half the time.
    keys = np.sort(keys[one != other], kind="stable")
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return np.column_stack([keys >> bits, keys & ((1 << bits) - 1)])


def connected_components(pairs: Integers, m: int) -> tuple[int, Integers]:
    """Number of connected components of a graph, and the component of each of m nodes.

    Its edges are pairs of nodes, shape (e, 2).
    """
    ends = pairs.T.astype(np.int32)  # SciPy before 1.13 takes no wider numbers
    graph = coo_array((np.ones(len(pairs)), ends), shape=(m, m))
    n_pieces, piece = csgraph.connected_components(graph, directed=False)
    return int(n_pieces), piece.astype(np.intp)


def follow_to_end(toward: Integers) -> Integers:
    """Where each number leads in the end; each points at another, an end at itself."""
    while not np.array_equal(toward[toward], toward):
        toward = toward[toward]
    return toward


class DisjointSets:
    """Groups of numbers below n, joined two by two; a member stands for each group."""

    def __init__(self, n: int) -> None:
        self._toward = list(range(n))

    def find(self, member: int) -> int:
        """Return the member that stands for the group."""
        toward = self._toward
        while toward[member] != member:
            toward[member] = toward[toward[member]]
            member = toward[member]
        return member

    def join(self, one: int, into: int) -> None:
        """Join two groups, given by the members that stand for them; ``into`` stays."""
        self._toward[one] = into
