"""Numbers that belong together: pairs, connected components, disjoint sets."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csgraph

from modeseek.rows.arrays import Integers


def distinct_pairs(one: Integers, other: Integers, m: int) -> Integers:
    """Distinct pairs of two different numbers below m, the lower first, ascending.

    Parameters
    ----------
    one, other : ndarray of int that can be broadcast together
        The two numbers of each pair, in any order.
    m : int
        Larger than any of them.

    Returns
    -------
    ndarray of shape (e, 2)
    """
    # One number for each pair: rows of two take far longer to sort.
    keys = np.minimum(one, other) * m + np.maximum(one, other)
    keys = np.sort(keys[one != other])
    return np.column_stack(np.divmod(keys[np.diff(keys, prepend=-1) > 0], m))


def connected_components(pairs: Integers, m: int) -> tuple[int, Integers]:
    """Connected components of the graph with m nodes and the pairs as edges.

    Parameters
    ----------
    pairs : ndarray of shape (e, 2)
        Numbers of the two nodes of each edge.
    m : int
        Number of nodes.

    Returns
    -------
    n_pieces : int
    piece : ndarray of shape (m,)
        Number of each node's component.
    """
    ends = pairs.T.astype(np.int32)  # SciPy before 1.13 takes no wider numbers
    graph = coo_array((np.ones(len(pairs)), ends), shape=(m, m))
    n_pieces, piece = csgraph.connected_components(graph, directed=False)
    return int(n_pieces), piece.astype(np.intp)


def follow_to_end(toward: Integers) -> Integers:
    """Where each number leads in the end.

    Parameters
    ----------
    toward : ndarray of shape (n,)
        The number that each one points at; an end points at itself.

    Returns
    -------
    ndarray of shape (n,)
    """
    while not np.array_equal(toward[toward], toward):
        toward = toward[toward]
    return toward


class DisjointSets:
    """Groups of numbers that are joined two by two; a member stands for each group.

    Parameters
    ----------
    n : int
        The numbers are those below n, each a group by itself at first.
    """

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
        """Join two groups, given by the members that stand for them.

        Parameters
        ----------
        one : int
            Stands for its group no longer.
        into : int
            Stands for both.
        """
        self._toward[one] = into
