"""Nearest nodes of rows: by a tree in few dimensions, by matrix products in many."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors

from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import count_workers

#: A tree prunes little beyond so many features, and products are faster.
TREE_FEATURES = 8

#: Nodes of a leaf of the tree: with 24 instead of SciPy's 10, rows in 5 and 8 features
#: found their nearest of 5,000 nodes in 0.9 and 0.8 of the time.
LEAF = 24

#: Rows whose candidates are measured at once.
BLOCK = 4096


class Search:
    """Nodes among which the nearest are sought.

    Parameters
    ----------
    nodes : ndarray of shape (m, d)
    grain : float
        Distances are measured as with this much added at a right angle, see
        :mod:`modeseek.rows.rounding`.
    n_jobs : int or None
        Threads of the tree; products use those of scikit-learn.
    """

    def __init__(
        self, nodes: Floats, grain: float = 0.0, n_jobs: int | None = None
    ) -> None:
        self.nodes, self.grain = nodes, grain
        self._workers = count_workers(n_jobs)
        self._tree = KDTree(nodes, LEAF) if nodes.shape[1] <= TREE_FEATURES else None

    def query(self, Z: Floats, k: int) -> tuple[Floats, Integers]:
        """Distances to the k nearest nodes, nearest first, and their numbers.

        Parameters
        ----------
        Z : ndarray of shape (n, d)
        k : int

        Returns
        -------
        distance : ndarray of shape (n, k)
        index : ndarray of shape (n, k)
        """
        if self._tree is not None:
            ranks = np.arange(1, k + 1)
            distance, index = self._tree.query(Z, k=ranks, workers=self._workers)
        else:
            distance, index = self._measure(Z, k)
        if self.grain > 0:
            distance = np.hypot(distance, self.grain)
        return distance, index

    def _measure(self, Z: Floats, k: int) -> tuple[Floats, Integers]:
        """Find candidates by products, and their distances by differences.

        Products cancel digits where rows are far from the origin and near each other;
        about the median few are.
        """
        origin = np.median(self.nodes, axis=0)
        products = NearestNeighbors(algorithm="brute").fit(self.nodes - origin)
        index = products.kneighbors(Z - origin, k, return_distance=False)
        distance = np.empty(index.shape)
        for start in range(0, len(Z), BLOCK):
            part = slice(start, start + BLOCK)
            for column in range(k):
                off = Z[part] - self.nodes[index[part, column]]
                distance[part, column] = np.sqrt(np.einsum("ij,ij->i", off, off))
        order = np.argsort(distance, axis=1, kind="stable")
        return (
            np.take_along_axis(distance, order, axis=1),
            np.take_along_axis(index, order, axis=1),
        )
