r"""The default rule for cutting the merge tree, where no prominence is given.

**On the field** no merge below :data:`LEAST_PROMINENCE` separates clusters, and none
below one standard error, or two where widths were learned: the errors take the widths
as given, and learned ones follow chance.

**On the graph of rows** heights come from the distances of a few neighbours, and
chance alone makes modes. How prominent it makes them was measured on uniform cubes:
among n rows in D dimensions the largest prominence stays below

.. math::

    \tau = \Bigl(0.28 + \frac{2.15}{D} + 0.055 D\Bigr)
    \Bigl(\frac{n}{n + 300}\Bigr)^{0.7}

in about 19 of 20 draws. If no prominence reaches :math:`\tau` there is one cluster.
Otherwise the level is the lower of two. One is :math:`1.15\,\tau`, which chance hardly
ever reaches: what is above stands by itself. The other is the widest gap. Sort the
prominences from the largest down, :math:`p_1 \ge p_2 \ge \dots`; the gap after the i-th
counts :math:`\sqrt{i}\, \log \frac{1 + p_i}{1 + p_{i+1}}`, as i merges that stand out
together are better evidence than one, and the level is that :math:`p_i \ge 0.5` with
the largest.
"""

from __future__ import annotations

import numpy as np

from modeseek.rows.arrays import Bools, Floats
from modeseek.tree.merge_tree import MergeTree

#: On the field, merges below this, a density ratio of 1.35, separate no clusters ...
LEAST_PROMINENCE = 0.3

#: ... nor do those below this many of their standard errors, of given and of learned
#: widths.
LEAST_SIGNIFICANCE, LEAST_SIGNIFICANCE_LEARNED = 1.0, 2.0

#: On the graph of rows, a prominence of so many times that of chance stands by itself.
CERTAIN = 1.15

#: Share of uniform draws whose largest prominence is at least so many times the bound
#: (``benchmarks/chance.py``); beyond it the share falls by e with every tenth.
CHANCE_RATIOS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CHANCE_SHARES = (1.0, 0.86, 0.71, 0.49, 0.27, 0.12, 0.05)
CHANCE_FALL = 0.1

#: On the graph of rows, prominences that a gap may end with.
LEAST_GAP_END = 0.5


def merges_on_field(tree: MergeTree, *, learned: bool) -> Bools:
    """Merges to make in the tree of a field, whose widths were learned or not."""
    least = LEAST_SIGNIFICANCE_LEARNED if learned else LEAST_SIGNIFICANCE
    doubtful = tree.prominence < least * tree.std_error
    return (tree.prominence < LEAST_PROMINENCE) | doubtful


def merges_to_keep(tree: MergeTree, n_clusters: int) -> Bools:
    """Merges of the smallest prominence that leave so many clusters."""
    made = np.zeros(len(tree.prominence), dtype=bool)
    order = np.argsort(tree.prominence, kind="stable")
    made[order[: max(0, len(made) + 1 - n_clusters)]] = True
    return made


def merges_on_rows(tree: MergeTree, n_rows: int, dimension: float) -> Bools:
    """Merges to make in the tree of a graph of so many rows, which fill a dimension."""
    chance = chance_prominence(n_rows, dimension)
    if tree.prominence.max(initial=0.0) < chance:
        return np.ones(len(tree.prominence), dtype=bool)
    level = min(widest_gap(tree.prominence), CERTAIN * chance)
    return np.asarray(tree.prominence < level)


def evidence_on_rows(tree: MergeTree, n_rows: int, dimension: float) -> float:
    """Evidence that a graph of rows has clusters, to compare graphs of the same rows.

    Sum over the prominences that stand by themselves of how many times, on a log scale,
    they exceed that of chance; 0 where none does.
    """
    excess = tree.prominence / chance_prominence(n_rows, dimension)
    return float(np.log(excess[excess > CERTAIN]).sum())


def chance_prominence(n_rows: int, dimension: float) -> float:
    """Prominence that modes of chance stay below in 19 of 20 uniform draws."""
    size = (n_rows / (n_rows + 300.0)) ** 0.7
    return float((0.28 + 2.15 / dimension + 0.055 * dimension) * size)


def chance_of(prominence: float | Floats, n_rows: int, dimension: float) -> Floats:
    """How likely the largest prominence of a uniform draw is at least as large."""
    ratio = prominence / chance_prominence(n_rows, dimension)
    below = np.exp(np.interp(ratio, CHANCE_RATIOS, np.log(CHANCE_SHARES)))
    return np.asarray(below * np.exp(-np.maximum(ratio - 1.0, 0.0) / CHANCE_FALL))


def widest_gap(prominence: Floats) -> float:
    """Smallest prominence above the widest gap; infinite where there is none."""
    falling = np.sort(prominence)[::-1]
    gap = -np.diff(np.log1p(falling), append=0.0)
    worth = np.sqrt(1.0 + np.arange(len(gap))) * gap
    worth = worth[falling >= LEAST_GAP_END]
    return float(falling[np.argmax(worth)]) if worth.size else np.inf
