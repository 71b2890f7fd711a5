"""What held-out rows say of the clusters that a graph of rows shows."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from modeseek.graph.landscape import GraphLandscape
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.coordinates import Frame
from modeseek.rows.rounding import Rounding
from modeseek.rows.splits import FEWEST_BESIDE, certify_sides, standardise
from modeseek.tree.default_cut import CERTAIN

#: Merges of a graph are put to held-out rows from this dimension on: in fewer, one
#: direction does not tell winding clusters apart ...
LEAST_DIMENSION = 5.0

#: ... if their prominence is this share of that of chance, and are kept from being made
#: where counts differ by so many standard deviations.
LEAST_CHANCE, LEAST_CERTAINTY = 0.4, 2.0


def certify_merges(
    landscape: GraphLandscape, frame: Frame, rounding: Rounding
) -> GraphLandscape:
    """Mark the merges of a graph of many dimensions that held-out rows refuse.

    There heights are noisy, and the bound of chance is above many a valley that is
    plain along the direction which tells its sides apart. The shallowest valley is
    looked at first, and its sides are the clusters that meet there by then: of all that
    lies beyond a valley, the rest would only blur that direction. Nodes that stand for
    themselves are not as dense as rows, and do not count. The given frame has zero
    means and unit variances.
    """
    graph, tree = landscape.graph, landscape.tree
    if graph.dimension < LEAST_DIMENSION or tree.p_value is None:
        return landscape
    chance = landscape.chance()
    rng = np.random.default_rng(0)
    drawn = slice(len(graph.nodes) - graph.n_single)
    Z = standardise(frame, landscape.rows[drawn], rounding, rng)
    mode = graph.mode[drawn]
    made, prominence = landscape.default_merges(), tree.prominence
    doubtful = (prominence >= LEAST_CHANCE * chance) & (prominence <= CERTAIN * chance)
    certified = np.zeros(len(tree.child), dtype=bool)
    p_value, group = tree.p_value.copy(), np.arange(len(tree.child) + 1)
    for i in np.argsort(prominence, kind="stable"):
        if not made[i]:
            continue
        upper, lower = (group == group[side[i]] for side in (tree.child, tree.parent))
        if doubtful[i]:
            certainty = _certify_groups(Z, upper[mode], lower[mode], rng)
            certified[i] = certainty >= LEAST_CERTAINTY
            if certified[i]:
                p_value[i] = min(p_value[i], norm.sf(certainty))
        if not certified[i]:
            group[upper] = group[tree.parent[i]]
    return landscape._replace(certified=certified, tree=tree._replace(p_value=p_value))


def merge_unconfirmed(
    landscape: GraphLandscape, known: Integers, frame: Frame, rounding: Rounding
) -> GraphLandscape:
    """Merge clusters of a graph inside of known ones, unless held-out rows refuse.

    Its coordinates were chosen to tell the known clusters of the nodes (m,) apart, and
    by the same rows: what else shows there has to be confirmed. The given frame has
    zero means and unit variances.
    """
    tree, merged = landscape.tree, landscape.default_merges()
    rng = np.random.default_rng(0)
    Z = standardise(frame, landscape.rows, rounding, rng)
    mode, group = landscape.graph.mode, np.arange(len(tree.child) + 1)
    made = merged.copy()
    for i in np.argsort(tree.prominence, kind="stable"):
        upper, lower = (group == group[side[i]] for side in (tree.child, tree.parent))
        if not merged[i]:
            one, two = (np.bincount(known[side[mode]]) for side in (upper, lower))
            if one.argmax() == two.argmax():
                certainty = _certify_groups(Z, upper[mode], lower[mode], rng)
                made[i] = certainty < LEAST_CERTAINTY
        if made[i]:
            group[upper] = group[tree.parent[i]]
    return landscape._replace(made=made, certified=None)


def certify_clusters(
    landscape: GraphLandscape, frame: Frame, rounding: Rounding
) -> Floats:
    """How certain held-out rows are that clusters of a graph are apart, (m,).

    There is a number for each valley between clusters, in standard deviations; it is
    not a number where a side has too few rows to tell. The given frame has zero means
    and unit variances.
    """
    tree, made = landscape.tree, landscape.default_merges()
    rng = np.random.default_rng(0)
    Z = standardise(frame, landscape.rows, rounding, rng)
    group = tree.merge(made)
    cluster = group[landscape.graph.mode]
    certainty = []
    for valley in np.flatnonzero(~made):
        upper, lower = (cluster == group[s[valley]] for s in (tree.child, tree.parent))
        tells = min(upper.sum(), lower.sum()) >= FEWEST_BESIDE
        certainty.append(_certify_groups(Z, upper, lower, rng) if tells else np.nan)
    return np.asarray(certainty)


def _certify_groups(
    Z: Floats, upper: Bools, lower: Bools, rng: np.random.Generator
) -> float:
    """Certainty that two groups of rows, told by masks, are apart."""
    both = upper | lower
    if not upper.any() or not lower.any():
        return 0.0
    return certify_sides(Z[both], upper[both], rng)
