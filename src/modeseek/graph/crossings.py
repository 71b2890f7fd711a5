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
    one, two = mode[edges].T
    across = np.flatnonzero(one != two)
    merge = _joining_merges(tree, one[across], two[across])
    # A node counts once for each valley that it has an edge across.
    borders = np.unique(np.concatenate([merge * m + end for end in edges[across].T]))
    degree = np.bincount(edges.ravel(), minlength=m)
    at_borders = np.bincount(borders // m, degree[borders % m], n_merges)
    return 2.0 * np.bincount(merge, minlength=n_merges) / at_borders


def _joining_merges(tree: MergeTree, one: Integers, two: Integers) -> Integers:
    """Number of the merge that joins each of some pairs of different modes.

    It is the last of those that the way through the tree from one to the other takes.
    """
    k = len(tree.heights)
    toward, merge = np.arange(k), np.zeros(k, dtype=np.intp)
    toward[tree.child], merge[tree.child] = tree.parent, np.arange(len(tree.child))
    depth, above = np.zeros(k, dtype=np.intp), np.arange(k)
    while (above != toward[above]).any():
        depth += above != toward[above]
        above = toward[above]
    one, two, last = one.copy(), two.copy(), np.zeros(len(one), dtype=np.intp)
    left = np.arange(len(one))
    while len(left):
        deeper = depth[one[left]] > depth[two[left]]
        for end, moved in ((one, left[deeper]), (two, left[~deeper])):
            last[moved] = np.maximum(last[moved], merge[end[moved]])
            end[moved] = toward[end[moved]]
        left = left[one[left] != two[left]]
    return last


def count_narrowness(tree: MergeTree, mode: Integers, edges: Integers) -> MergeTree:
    r"""The tree with prominences that count more the fewer edges cross the valley.

    .. math:: p' = p \sqrt{0.19 / s}

    with s the share of :func:`crossing_shares`. Most valleys of chance count less.
    """
    share = crossing_shares(tree, mode, edges)
    return tree._replace(prominence=tree.prominence * np.sqrt(SELDOM_FEWER / share))
