"""The merge tree: modes, the saddles between them, and cuts of the hierarchy.

Going down from the highest saddle, each one joins two groups of modes, and the group
with the lower summit loses its name; its *prominence* is the height of that summit
above the saddle: a log-density ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csgraph, csr_array

from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.tree.export import (
    graph_of,
    import_for,
    linkage_of,
    newick_of,
    table_of_modes,
)
from modeseek.tree.outline import draw_html, print_tree, title_of
from modeseek.tree.pairs import DisjointSets, follow_to_end

#: Saddles whose heights differ by less may be one, found twice.
SAME_HEIGHT = 1e-6


class MergeTree(NamedTuple):
    """Merges of modes, from the highest saddle down.

    Merge i joins the group whose highest mode is ``child[i]`` to a group with a higher
    one, and ``parent[i]`` is the mode of that group which lies across the saddle. So a
    mode of little prominence goes to its neighbour, not to the highest mode that the
    neighbour's group had by then. Any subset of merges is a partition of the modes,
    and those below a prominence are a hierarchy.

    ``print`` shows the clusters, each below the one that it would merge into next; so
    does a notebook.

    Attributes
    ----------
    heights : ndarray of shape (n_modes,)
        Log-density of each mode, up to one constant for all.
    child, parent : ndarray of shape (n_modes - 1,)
        Modes.
    saddles : ndarray of shape (n_modes - 1, n_features)
        Where the groups meet.
    passes : ndarray of shape (n_modes - 1,)
        Heights of the saddles.
    prominence : ndarray of shape (n_modes - 1,)
        Height of the child above the saddle.
    std_error : ndarray of shape (n_modes - 1,)
        Standard error of the prominence, for the given centres and widths; on the
        graph of rows, of a difference of two heights.
    labels : ndarray of shape (n_modes,) or None
        Cluster of each mode in the clustering that the tree belongs to.
    sizes : ndarray of shape (n_modes,) or None
        Samples of the fit that reached each mode; where they are on Dask, as
        the subsample tells.
    p_value : ndarray of shape (n_modes - 1,) or None
        How likely chance makes a valley as deep. On the graph of rows, anywhere among
        as many rows that fill a cube, or on the same graph, whichever is likelier; or,
        where held-out rows refused the merge, that they are missing in the valley as
        they are. On the field, where there is no
        valley, by the standard error. None in models of earlier versions.

    Examples
    --------
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> X, _ = three_gaussians().sample(1000, random_state=0)
    >>> tree = ModeClustering().fit(X).merge_tree_
    >>> tree
    MergeTree(3 modes, 3 clusters, 1,000 samples)
    >>> print(tree)
    MergeTree(3 modes, 3 clusters, 1,000 samples)
    cluster 0: 425 samples, highest
    ├─ cluster 2: 287 samples, prominence 1.26 ± 0.19
    └─ cluster 1: 288 samples, prominence 1.25 ± 0.20
    >>> tree.to_linkage().round(2)
    array([[0.  , 1.  , 1.25, 2.  ],
           [2.  , 3.  , 1.26, 3.  ]])
    """

    heights: Floats
    child: Integers
    parent: Integers
    saddles: Floats
    passes: Floats
    prominence: Floats
    std_error: Floats
    labels: Integers | None = None
    sizes: Integers | None = None
    p_value: Floats | None = None

    def __repr__(self) -> str:
        return title_of(self)

    def __str__(self) -> str:
        return print_tree(self)

    def _repr_html_(self) -> str:
        return draw_html(self)

    def to_pandas(self) -> Any:
        """The tree as a data frame, a line for each mode.

        Returns
        -------
        pandas.DataFrame
            Columns ``cluster``, ``size`` and ``height`` of each mode, and of its merge
            the mode that it joins (``parent``, -1 for the highest mode),
            ``saddle_height``, ``prominence`` and ``std_error`` (NaN for the highest).
        """
        pandas = import_for("to_pandas", "pandas")
        return pandas.DataFrame(table_of_modes(self)).rename_axis("mode")

    def to_linkage(self) -> Floats:
        """The tree as a linkage matrix of SciPy, for :mod:`scipy.cluster.hierarchy`.

        Returns
        -------
        ndarray of shape (n_modes - 1, 4)
            The two groups that are joined, the prominence as their distance, and the
            number of modes. Observations are the modes.
        """
        return linkage_of(self)

    def to_networkx(self) -> Any:
        """The tree as a graph: an edge from every mode to those that merge into it.

        Returns
        -------
        networkx.DiGraph
            Nodes, the modes, have ``name``, ``cluster``, ``size`` and ``height``; edges
            ``saddle_height``, ``prominence`` and ``std_error``.
        """
        return graph_of(self)

    def to_newick(self) -> str:
        """The tree in Newick's format, as programs for phylogenetic trees read it.

        Returns
        -------
        str
            Leaves are the modes, named by cluster and size; a way down from the root
            is as long as the prominence of the merge that it starts from.
        """
        return newick_of(self)

    def cut(
        self, prominence: float | None = None, n_clusters: int | None = None
    ) -> Integers:
        """Group of every mode when merges below a level are made.

        Parameters
        ----------
        prominence : float, optional
            Make every merge of a smaller prominence.
        n_clusters : int, optional
            Make the merges of smallest prominence until so many groups are left.

        Returns
        -------
        ndarray of shape (n_modes,)
            The highest mode of each one's group.
        """
        if (prominence is None) == (n_clusters is None):
            raise ValueError("Give either prominence or n_clusters.")
        if prominence is not None:
            return self.merge(self.prominence < prominence)
        if not 1 <= int(n_clusters or 0) <= len(self.heights):
            raise ValueError(
                f"n_clusters must be from 1 to {len(self.heights)}, the number of "
                f"modes; got {n_clusters}."
            )
        made = np.zeros(len(self.child), dtype=bool)
        order = np.argsort(self.prominence, kind="stable")
        made[order[: len(self.heights) - int(n_clusters or 0)]] = True
        return self.merge(made)

    def merge(self, made: Bools) -> Integers:
        """Group of every mode when the given merges are made.

        Parameters
        ----------
        made : ndarray of bool of shape (n_modes - 1,)
            Whether each merge is made.

        Returns
        -------
        ndarray of shape (n_modes,)
            The highest mode of each one's group.
        """
        group = np.arange(len(self.heights))
        group[self.child[made]] = self.parent[made]
        group = follow_to_end(group)
        # The end of the way may be lower than others when merges are left out.
        order = np.argsort(-self.heights, kind="stable")
        ends, first = np.unique(group[order], return_index=True)
        top = np.empty_like(group)
        top[ends] = order[first]
        return top[group]

    def sides(self) -> Iterator[tuple[Integers, Integers]]:
        """Modes on the two sides of every merge, if all merges before it are made.

        Yields
        ------
        child_side, parent_side : ndarray of int
        """
        group = np.arange(len(self.heights))
        for child, parent in zip(self.child, self.parent, strict=True):
            one = np.flatnonzero(group == group[child])
            yield one, np.flatnonzero(group == group[parent])
            group[one] = group[parent]

    def barriers(self) -> Floats:
        """Height of each mode above the saddle to each other one; 0 to itself.

        Returns
        -------
        ndarray of shape (n_modes, n_modes)
        """
        highest_saddle = np.diag(self.heights)
        for (one, two), height in zip(self.sides(), self.passes, strict=True):
            highest_saddle[np.ix_(one, two)] = height
            highest_saddle[np.ix_(two, one)] = height
        return np.maximum(self.heights[:, None] - highest_saddle, 0.0)


class LateTree:
    """A merge tree that is built when it is first asked for.

    Threads that ask at the same time may both build it; they get the same. What is
    pickled is the tree.
    """

    def __init__(self, build: Callable[[], MergeTree]) -> None:
        self._build: Callable[[], MergeTree] | None = build

    def __call__(self) -> MergeTree:
        """The tree."""
        build = self._build
        if build is not None:
            self._tree, self._build = build(), None
        return self._tree

    def __reduce__(self) -> tuple[Any, ...]:
        return _given, (self(),)


def _given(tree: MergeTree) -> MergeTree:
    return tree


class Clusters(NamedTuple):
    """Groups of modes, numbered by the weight of their rows, the heaviest first."""

    labels: Integers  # (n_modes,) number of each mode's group
    tops: Integers  # (n_clusters,) the highest mode of each group


def number_groups(group: Integers, weights: Floats) -> Clusters:
    """Number groups of modes by the weight of the rows that reached each mode.

    ``group`` has the highest mode of each one's group, as :meth:`MergeTree.cut` does.
    """
    tops, index = np.unique(group, return_inverse=True)
    size = np.bincount(index, weights=weights)
    order = np.lexsort((tops, -size))
    number = np.empty(len(tops), dtype=np.intp)
    number[order] = np.arange(len(tops))
    return Clusters(number[index], tops[order])


class Saddles(NamedTuple):
    """Saddles between pairs of modes; candidates until the highest are picked."""

    low: Integers  # (p,) the pair, low < high
    high: Integers
    height: Floats  # (p,)
    point: Floats  # (p, d)
    reach: Floats  # (p, d) from the point to the next one of its profile


def best_of_pairs(candidates: Saddles) -> Saddles:
    """Highest candidate of every pair of modes."""
    best = highest_of_pairs(candidates.low, candidates.high, candidates.height)
    parts: list[Any] = [part[best] for part in candidates]
    return Saddles(*parts)


def highest_of_pairs(low: Integers, high: Integers, height: Floats) -> Integers:
    """Numbers of the highest candidates of every pair of modes."""
    pair = low * (1 + high.max(initial=0)) + high
    order = np.lexsort((-height, pair))
    return np.asarray(order[np.diff(pair[order], prepend=-1) > 0])


def spanning_saddles(best: Saddles, n_modes: int) -> Saddles:
    """Saddles over which modes join, from the highest down; the others do not matter.

    ``best`` has one saddle of each pair, in the order of pairs, as by
    :func:`best_of_pairs`: a spanning tree of modes, or one for each group of them.
    """
    depth = 1.0 + best.height.max(initial=0.0) - best.height  # none is 0
    ends = best.low.astype(np.int32), best.high.astype(np.int32)
    graph = csr_array((depth, ends), shape=(n_modes, n_modes))
    kept = csgraph.minimum_spanning_tree(graph).tocoo()
    pair = np.sort(kept.row.astype(np.intp) * n_modes + kept.col)
    number = np.searchsorted(best.low * n_modes + best.high, pair)
    parts: list[Any] = [part[number] for part in best]
    return Saddles(*parts)


def _from_the_highest(height: Floats, apart: Floats | None) -> Integers:
    order = np.argsort(-height, kind="stable")
    if apart is None:
        return order
    lower = -np.diff(height[order]) > SAME_HEIGHT
    level = np.empty(len(height), dtype=np.intp)
    level[order] = np.cumsum(np.append(0, lower)) if len(order) else 0
    return np.lexsort((apart, level))


def join_modes(
    heights: Floats, saddles: Saddles, apart: Floats | None = None
) -> Integers:
    """Groups that are joined, from the highest saddle down; shape (k - 1, 3).

    In each row the highest mode of the group that joins another, the mode beyond the
    saddle, and the number of that saddle; arguments are those of :func:`merge_down`.
    """
    groups = DisjointSets(len(heights))  # their highest modes stand for them
    merges: list[tuple[int, int, int]] = []
    for i in _from_the_highest(saddles.height, apart):
        one, two = int(saddles.low[i]), int(saddles.high[i])
        a, b = groups.find(one), groups.find(two)
        if a == b:
            continue
        if (heights[a], -a) > (heights[b], -b):
            a, b, two = b, a, one
        groups.join(a, into=b)
        merges.append((a, two, int(i)))
    return np.array(merges, dtype=np.intp).reshape(-1, 3)


def merge_down(
    heights: Floats, saddles: Saddles, apart: Floats | None = None
) -> MergeTree:
    """Join groups of modes from the highest saddle down; the higher summit stays.

    ``heights`` are log-densities of the modes, all of which the saddles connect. The
    way between two modes may lead past a third and over the same saddle: of saddles of
    one height the nearest pair's is taken, if the pairs' distances are given in
    ``apart``. Standard errors of the tree are zero.
    """
    table = join_modes(heights, saddles, apart)
    child, which = table[:, 0], table[:, 2]
    # A saddle cannot be above a summit but by rounding.
    saddle_height = np.minimum(saddles.height[which], heights[child])
    return MergeTree(
        heights=heights,
        child=child,
        parent=table[:, 1],
        saddles=saddles.point[which],
        passes=saddle_height,
        prominence=heights[child] - saddle_height,
        std_error=np.zeros(len(child)),
    )


MergeTree.__module__ = "modeseek.tree"  # model files name it so
