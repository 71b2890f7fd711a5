"""Nearest nodes of rows: by a tree in few dimensions, by matrix products in many."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors

from modeseek.graph.products import nearest_of
from modeseek.graph.shortcuts import Shortcuts
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import count_workers, map_blocks, one_openmp_thread

#: A tree prunes little beyond so many features, and products are faster.
TREE_FEATURES = 8

#: Nodes of a leaf of the tree: with 24 instead of SciPy's 10, rows in 5 and 8 features
#: found their nearest of 5,000 nodes in 0.9 and 0.8 of the time.
LEAF = 24

#: In more features than these a leaf of the tree that is searched has twice as many: in
#: 8, neighbours of 20,000 nodes were found in 0.85 of the time.
SMALL_LEAF_FEATURES = 3

#: Rows of a leaf where a tree is only to put those near each other in one place.
ROUGH_LEAF = 256

#: Cells of nodes are cut for rows that are at least so many times as many: where modes
#: are well apart, 200,000 rows in 10 features found theirs in a ninth of the time.
CELLS_FROM = 2

#: Rows that are arranged before their neighbours are sought, at least.
FEWEST_TO_ARRANGE = 10_000

#: More than rounding changes of distances, relative to them.
DISTANCE_ROUNDING = 1e-9

#: Rows of a block, a multiple of what scikit-learn takes at once.
BLOCK = 1024


class Search:
    """Nodes (m, d), distinct ones, among which the nearest are sought.

    Distances are measured as with the grain added at a right angle, see
    :mod:`modeseek.rows.rounding`. The result does not depend on ``n_jobs``, the number
    of threads, nor on groups (m,) of nodes that are apart, which make it sooner.
    """

    def __init__(
        self,
        nodes: Floats,
        grain: float = 0.0,
        n_jobs: int | None = None,
        group: Integers | None = None,
    ) -> None:
        self.nodes, self.grain, self._n_jobs = nodes, grain, n_jobs
        leaf = LEAF if nodes.shape[1] <= SMALL_LEAF_FEATURES else 2 * LEAF
        self._tree = KDTree(nodes, leaf) if nodes.shape[1] <= TREE_FEATURES else None
        self._shortcuts = Shortcuts(nodes, group=group)

    def query(self, Z: Floats, k: int) -> tuple[Floats, Integers]:
        """Distances to the k nearest nodes, nearest first, and the nodes' numbers.

        Both are of shape (n, k).
        """
        if self._tree is not None:
            distance, index = self._query_by_tree(Z, k)
        elif k == 1:
            distance, index = self._query_nearest(Z)
        else:
            distance, index = self._query_by_products(Z, k)
        if self.grain > 0:
            distance = np.hypot(distance, self.grain)
        return distance, index

    def _query_by_tree(self, Z: Floats, k: int) -> tuple[Floats, Integers]:
        """Ask for rows that are near each other one after the other."""
        assert self._tree is not None
        ranks, workers = np.arange(1, k + 1), count_workers(self._n_jobs)
        if Z is self.nodes or len(Z) < FEWEST_TO_ARRANGE:
            distance, index = self._tree.query(Z, k=ranks, workers=workers)
            return distance, index
        rough = KDTree(Z, ROUGH_LEAF, compact_nodes=False, balanced_tree=False)
        order = rough.indices
        distance, index = self._tree.query(Z[order], k=ranks, workers=workers)
        back = np.empty(len(order), dtype=np.intp)
        back[order] = np.arange(len(order))
        return distance[back], index[back]

    def _query_nearest(self, Z: Floats) -> tuple[Floats, Integers]:
        """Find one neighbour by products with the nodes that may be nearest."""
        index = np.full(len(Z), -1)
        if len(Z) >= CELLS_FROM * len(self.nodes):
            index = self._shortcuts.find(Z, self._n_jobs)
        left = np.flatnonzero(index < 0)
        if len(left):
            index[left] = self._nearest_of_all(Z[left])
        off = Z - self.nodes[index]
        return np.sqrt(np.einsum("ij,ij->i", off, off))[:, None], index[:, None]

    def _nearest_of_all(self, Z: Floats) -> Integers:
        origin = np.median(self.nodes, axis=0)
        nodes = self.nodes - origin

        def kernel(rows: slice) -> Integers:
            return nearest_of(nodes, Z[rows] - origin)

        parts = map_blocks(kernel, len(Z), n_jobs=self._n_jobs, size=BLOCK)
        return np.concatenate(list(parts))

    def _query_by_products(self, Z: Floats, k: int) -> tuple[Floats, Integers]:
        """Find candidates by products, and their distances by differences.

        Products cancel digits where rows are far from the origin and near each other;
        about the median few are.
        """
        origin = np.median(self.nodes, axis=0)
        products = NearestNeighbors(algorithm="brute").fit(self.nodes - origin)

        def kernel(rows: slice) -> tuple[Floats, Integers]:
            # Threads of scikit-learn would make ties depend on how many there are.
            with one_openmp_thread():
                index = products.kneighbors(Z[rows] - origin, k, return_distance=False)
            return _sort_by_distance(self.nodes, Z[rows], index)

        parts = map_blocks(kernel, len(Z), n_jobs=self._n_jobs, size=BLOCK)
        distance, index = zip(*parts, strict=True)
        return np.concatenate(distance), np.concatenate(index)


def arrange(Z: Floats) -> Integers:
    """Order of rows in which those that are near follow each other.

    They go the same ways through a tree, which are then in the processor's cache:
    100,000 rows with 5 features found their neighbours in 0.6 of the time. Few rows and
    rows with many features stay as they are.
    """
    if Z.shape[1] > TREE_FEATURES or len(Z) < FEWEST_TO_ARRANGE:
        return np.arange(len(Z))
    return np.asarray(KDTree(Z, LEAF).indices)


def _sort_by_distance(
    nodes: Floats, Z: Floats, index: Integers
) -> tuple[Floats, Integers]:
    distance = np.empty(index.shape)
    for column in range(index.shape[1]):
        off = Z - nodes[index[:, column]]
        distance[:, column] = np.sqrt(np.einsum("ij,ij->i", off, off))
    order = np.argsort(distance, axis=1, kind="stable")
    return (
        np.take_along_axis(distance, order, axis=1),
        np.take_along_axis(index, order, axis=1),
    )
