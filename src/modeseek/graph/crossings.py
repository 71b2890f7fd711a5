r"""How narrow the ways across valleys are: the share of edges that cross them.

Where one piece of even rows is cut anywhere, about a quarter of the edges of the nodes
along the cut lead across, whatever its shape, dimension and density; where neighbours
of nodes at the border of a cluster are nearly all on their own side, fewer do. So the
share tells a gap between two bands from a thin place along one, which may be as deep.
"""

from __future__ import annotations

import numpy as np

from modeseek.rows.arrays import Floats, Integers
from modeseek.tree.merge_tree import MergeTree

#: Share of edges that cross most valleys of chance, at least: nine in ten of rows that
#: fill a square or a cube, four in five of rings (``benchmarks/crossings.py``).
SELDOM_FEWER = 0.19


def crossing_shares(tree: MergeTree, mode: Integers, edges: Integers) -> Floats:
    """Share of edges that cross the valley of each merge; shape (k - 1,).

    ``mode`` (m,) is the mode of each node, and ``edges`` (e, 2) connect all nodes. Of
    all edges at the nodes that have one across, so many lead across.
    """
    m, n_merges = len(mode), len(tree.child)
    at_merge = _merges_of_pairs(tree)
    one, two = mode[edges].T
    across = np.flatnonzero(one != two)
    merge = at_merge[one[across], two[across]]
    # A node counts once for each valley that it has an edge across.
    borders = np.unique(np.concatenate([merge * m + end for end in edges[across].T]))
    degree = np.bincount(edges.ravel(), minlength=m)
    at_borders = np.bincount(borders // m, degree[borders % m], n_merges)
    return 2.0 * np.bincount(merge, minlength=n_merges) / at_borders


def _merges_of_pairs(tree: MergeTree) -> Integers:
    """Number of the merge that joins each pair of modes; shape (k, k)."""
    k = len(tree.heights)
    number = np.zeros((k, k), dtype=np.intp)
    for i, (one, two) in enumerate(tree.sides()):
        number[np.ix_(one, two)] = number[np.ix_(two, one)] = i
    return number


def count_narrowness(tree: MergeTree, mode: Integers, edges: Integers) -> MergeTree:
    r"""The tree with prominences that count more the fewer edges cross the valley.

    .. math:: p' = p \sqrt{0.19 / s}

    with s the share of :func:`crossing_shares`. Most valleys of chance count less.
    """
    share = crossing_shares(tree, mode, edges)
    return tree._replace(prominence=tree.prominence * np.sqrt(SELDOM_FEWER / share))
