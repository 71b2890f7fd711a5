"""Pairs of neighbours, by their numbers: the edges of a graph, and its pieces."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from modeseek.rows.arrays import Integers


def distinct_pairs(one: Integers, other: Integers, m: int) -> Integers:
    """Distinct pairs of two different numbers below m, the lower first, ascending.

    Parameters
    ----------
    one, other : ndarray of int that can be broadcast together
    m : int

    Returns
    -------
    ndarray of shape (e, 2)
    """
    # One number for each pair: rows of two take far longer to sort.
    keys = np.minimum(one, other) * m + np.maximum(one, other)
    keys = np.sort(keys[one != other])
    return np.column_stack(np.divmod(keys[np.diff(keys, prepend=-1) > 0], m))


def find_pieces(pairs: Integers, m: int) -> tuple[int, Integers]:
    """Pieces of m nodes that pairs connect.

    Parameters
    ----------
    pairs : ndarray of shape (e, 2)
    m : int

    Returns
    -------
    n_pieces : int
    piece : ndarray of shape (m,)
        Number of each node's piece.
    """
    ends = pairs.T.astype(np.int32)  # SciPy before 1.13 takes no wider numbers
    graph = coo_array((np.ones(len(pairs)), ends), shape=(m, m))
    n_pieces, piece = connected_components(graph, directed=False)
    return int(n_pieces), piece.astype(np.intp)
