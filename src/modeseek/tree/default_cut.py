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

in about 19 of 20 draws, and how likely chance makes one as large follows from the ratio
to it. Rows may also lie along curves or in many small heaps, and how prominent chance
makes modes depends on that. So, if any prominence reaches :math:`\tau`, heights of a
flat density with the noise of true ones are drawn on the graph itself, see
:mod:`modeseek.graph.chance`. Rows without clusters, whatever their shape, show
prominences of 1.0 to 1.7 times those, and they count 1.7 times. The number of merges
that chance makes as prominent, on average over the draws, inside the clusters which a
cut there would leave, is a likelihood, too; the larger of the two is the p-value.

Among many nodes most valleys are chance, and tell themselves how deep it is: the
prominence that one in twenty of them exceeds, over that of as many drawn ones, with a
margin of 1.3. Where that is less than 1.7 it counts in its place, and what is drawn is
the p-value, as cubes need not stand in for the rows; a merge is made if both ways say
so.

If no prominence reaches :math:`\tau` there is one cluster. Otherwise the level is the
lowest at which no more than one in ten of the merges above it is expected by chance, a
false discovery rate as that of Benjamini and Hochberg; on the graph itself half a merge
may be, as the factor is on the safe side. Where it was measured it is not, and one in
fifty may be, or a tenth of one. So few clusters must be plain, and among many some may
be shallower. From four features on rows are tables, measured and not drawn; their
density varies by more than chance, and the coordinates were taken that show most
clusters: there one valley must have a p-value of 0.2 or less, and the level is no lower
than :math:`1.15\,\tau`, unless the factor was measured. With fewer features the
prominence of a valley counts more where few edges cross it, see
:mod:`modeseek.graph.crossings`. Pieces of the graph that no neighbours connect are kept
apart whatever their prominence, see :func:`modeseek.graph.edges.find_pieces`.

Among more than 5,000 nodes heights come from k > 15 neighbours: the bound is multiplied
by :math:`(15 / k)^{0.6}` and, as there are more places for chance, by :math:`1 + 0.1
\log (n / 5000)`. Small groups, whose heights come from 15 neighbours, have a larger
bound of their own, and are clusters from 1.15 times that on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.tree.merge_tree import MergeTree

#: On the field, merges below this, a density ratio of 1.35, separate no clusters ...
LEAST_PROMINENCE = 0.3

#: ... nor do those below this many of their standard errors, of given and of learned
#: widths.
LEAST_SIGNIFICANCE, LEAST_SIGNIFICANCE_LEARNED = 1.0, 2.0

#: On the graph of rows, a prominence of so many times that of chance stands by itself:
#: the level is no lower where there are many features ...
CERTAIN = 1.15

#: ... and there is one cluster if chance makes each valley more often than this.
SELDOM_ENOUGH = 0.2

#: No larger share of the merges above the level may be expected by chance; where that
#: is drawn on the graph, so many on average may be.
FALSE_SHARE, FALSE_MERGES = 0.1, 0.5

#: Neighbours that heights are made of among few nodes, how chance falls with more of
#: them, and how it grows beyond so many nodes (``benchmarks/chance.py --rows``).
CHANCE_NEIGHBORS, CHANCE_POWER = 15, 0.6
CHANCE_NODES, CHANCE_GROWTH = 5000, 0.1

#: Share of uniform draws whose largest prominence is at least so many times the bound
#: (``benchmarks/chance.py``); beyond it the share falls by e with every tenth.
CHANCE_RATIOS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CHANCE_SHARES = (1.0, 0.86, 0.71, 0.49, 0.27, 0.12, 0.05)
CHANCE_FALL = 0.1

#: Prominences of flat heights with noise, which are drawn on a graph, count so many
#: times (``benchmarks/level.py``), unless fewer are measured on the graph itself.
FLAT_FACTOR = 1.7

#: Valleys that are no clusters, at least, that measure it; the share of them that is
#: deeper than the one that tells; and its margin: the deepest of chance is 0.8 to 1.3
#: times as much deeper than drawn ones (``benchmarks/calibration.py``).
FEWEST_TELLING, DEEPER_SHARE, MARGIN = 125, 0.05, 1.3

#: The same where the factor was measured, which is not on the safe side.
FALSE_SHARE_MEASURED, FALSE_MERGES_MEASURED = 0.02, 0.1

#: Largest of those prominences that tell how fast their number falls, at most and at
#: least.
TAIL_MODES, FEWEST_OF_TAIL = 30, 3


class ChanceModes(NamedTuple):
    """Modes that chance makes on a graph of rows, in several draws of flat heights.

    Each lies below a mode of the tree, and merges with one below another or the same.
    """

    n_draws: int
    child: Integers  # (c,) mode of the tree that it lies below ...
    parent: Integers  # (c,) ... and that which its merge leads to
    prominence: Floats  # (c,)

    def mean_number_inside(self, tree: MergeTree, level: float, least: float) -> float:
        """Number inside the clusters that a level makes, on average over the draws.

        Those count that are at least so prominent.
        """
        group = tree.merge(tree.prominence < level)
        inside = group[self.child] == group[self.parent]
        return mean_number(self.prominence[inside], self.n_draws, least)

    def measure_factor(self, prominence: Floats) -> float | None:
        """How many times deeper than drawn ones valleys of chance are on this graph.

        Prominences are those of all its merges, however shallow. None is returned where
        too few of them are chance, or no fewer than :data:`FLAT_FACTOR` times.
        """
        if not len(self.prominence):
            return None
        drawn, found = np.sort(self.prominence)[::-1], np.sort(prominence)[::-1]
        deepest = FLAT_FACTOR * drawn[min(self.n_draws // 2, len(drawn) - 1)]
        found = found[found < deepest]  # the others may be clusters
        n_deeper = int(np.ceil(DEEPER_SHARE * len(found)))
        if len(found) < FEWEST_TELLING or n_deeper * self.n_draws >= len(drawn):
            return None
        factor = MARGIN * found[n_deeper] / drawn[n_deeper * self.n_draws]
        return float(max(factor, 1.0)) if factor < FLAT_FACTOR else None


def mean_number(prominence: Floats, n_draws: int, least: float) -> float:
    """Number of prominences that are at least so large, on average over some draws.

    Beyond most of them it falls by e with each mean excess of the largest over the next
    one, which tells it more exactly than the few that are counted there.
    """
    falling = np.sort(prominence)[::-1]
    n_tail = min(TAIL_MODES, len(falling) // 2)
    counted = float((falling >= least).sum() / n_draws)
    if n_tail < FEWEST_OF_TAIL or counted * n_draws > n_tail:
        return counted
    first = float(falling[n_tail])
    mean_excess = float(falling[:n_tail].mean()) - first
    if mean_excess <= 1e-6 * first:
        return counted
    return float(n_tail / n_draws * np.exp((first - least) / mean_excess))


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


def chance_on_rows(
    tree: MergeTree,
    bound: float | Floats,
    chance: ChanceModes,
    factor: float | None = None,
    *,
    measured: bool = False,
) -> Floats:
    """How likely chance makes each merge of a graph of rows as prominent, (k - 1,).

    The likelier counts: anywhere among rows that fill a cube, for which there is a
    bound, or on the graph itself, inside the clusters that a cut at a merge leaves.
    Prominences that were drawn there count so many times, by default
    :data:`FLAT_FACTOR`. Where that was measured on the graph, what is drawn counts
    alone.
    """
    by_formula = chance_of(tree.prominence, bound)
    times = FLAT_FACTOR if factor is None else factor
    expected = np.where(by_formula < 1.0, 0.0, np.inf)
    for i in np.flatnonzero(by_formula < 1.0):
        level = tree.prominence[i]
        expected[i] = chance.mean_number_inside(tree, level, level / times)
    drawn = -np.expm1(-expected)
    return drawn if measured else np.maximum(by_formula, drawn)


def merges_on_rows(
    tree: MergeTree,
    p_value: Floats,
    bound: float | Floats,
    *,
    strict: bool,
    measured: bool = False,
) -> Bools:
    """Merges to make in the tree of a graph of rows, with their p-values (k - 1,).

    A share p of draws in which chance makes any as prominent is that of a mean number
    of -log(1 - p), as rare events have it. Each merge may have a bound of its own:
    where it is larger than for others, the lower mode is in a small group, which must
    stand by itself. How deep chance is may have been measured on the graph: then the
    bound, which is that of cubes, only says whether there are clusters at all.
    """
    prominence = tree.prominence
    if (prominence < bound).all() or (strict and (p_value > SELDOM_ENOUGH).all()):
        return np.ones(len(prominence), dtype=bool)
    n_above = len(prominence) - np.searchsorted(np.sort(prominence), prominence)
    share, number = FALSE_SHARE, FALSE_MERGES
    if measured:
        share, number = FALSE_SHARE_MEASURED, FALSE_MERGES_MEASURED
    most = share * n_above
    with np.errstate(divide="ignore"):
        few = -np.log1p(-p_value) <= np.maximum(number, most)
        if not measured:
            few &= -np.log1p(-chance_of(prominence, bound)) <= most
    if strict and not measured:
        few &= prominence >= np.minimum(CERTAIN * bound, prominence.max())
    made = prominence < prominence[few].min(initial=np.inf)
    is_small = bound > np.min(bound)
    return np.asarray(made | (is_small & (prominence < CERTAIN * bound)))


def evidence_on_rows(tree: MergeTree, bound: float | Floats) -> float:
    """Evidence that a graph of rows has clusters, to compare graphs of the same rows.

    Sum over the prominences that stand by themselves of how many times, on a log scale,
    they exceed the bound of chance; 0 where none does.
    """
    excess = tree.prominence / bound
    return float(np.log(excess[excess > CERTAIN]).sum())


def chance_prominence(
    n_rows: int, dimension: float, neighbors: int | Integers = CHANCE_NEIGHBORS
) -> Floats:
    """Prominence that modes of chance stay below in 19 of 20 uniform draws.

    It falls with the neighbours that heights are made of, where these are many.
    """
    size = (n_rows / (n_rows + 300.0)) ** 0.7
    bound = (0.28 + 2.15 / dimension + 0.055 * dimension) * size
    bound *= 1.0 + CHANCE_GROWTH * np.log(max(1.0, n_rows / CHANCE_NODES))
    more = np.maximum(neighbors, CHANCE_NEIGHBORS) / CHANCE_NEIGHBORS
    return np.asarray(bound * more**-CHANCE_POWER)


def chance_of(prominence: float | Floats, bound: float | Floats) -> Floats:
    """How likely the largest prominence of a uniform draw is at least as large.

    The bound of chance is that of :func:`chance_prominence`.
    """
    ratio = prominence / bound
    below = np.exp(np.interp(ratio, CHANCE_RATIOS, np.log(CHANCE_SHARES)))
    return np.asarray(below * np.exp(-np.maximum(ratio - 1.0, 0.0) / CHANCE_FALL))
