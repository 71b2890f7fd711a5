"""What held-out rows confirm: merges of a graph, and coordinates to climb in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from modeseek.cluster.climbing import Climbed, climb_field
from modeseek.field.climbing import Ascent
from modeseek.field.landscape import FieldLandscape
from modeseek.gradient.base import frame_of
from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.gradient.model import GAUSSIAN_SHARE
from modeseek.graph.heights import HEIGHT_NEIGHBORS
from modeseek.graph.landscape import GraphLandscape
from modeseek.rows.arrays import Bools, Floats, Reals
from modeseek.rows.coordinates import Frame
from modeseek.rows.ranking import draw_centers, generator
from modeseek.rows.rounding import Rounding, spread_ties
from modeseek.rows.source import ArrayRows
from modeseek.rows.splits import (
    MOST_PARTS,
    certify_sides,
    find_discriminants,
    find_splits,
)
from modeseek.rows.subsample import Overview, make_overview
from modeseek.tree.default_cut import CERTAIN

#: Rows among which splits are sought.
SPLIT_ROWS = 4096

#: Distinct values of a feature, at least: with fewer it has gaps, not valleys.
FEWEST_VALUES = 10

#: Merges of a graph are put to held-out rows from this dimension on: in fewer, one
#: direction does not tell winding clusters apart ...
LEAST_DIMENSION = 5.0

#: ... if their prominence is this share of that of chance, and are kept from being made
#: where counts differ by so many standard deviations.
LEAST_CHANCE, LEAST_CERTAINTY = 0.4, 2.0

#: Centres of the field: more than by default, as it has few features and its heights
#: are to be those of the density.
N_CENTERS = 300


class CertifiedFrame(NamedTuple):
    """Coordinates in which the parts differ that held-out rows confirm."""

    frame: Frame
    certainty: Floats  # (n_parts - 1,) of the splits, in standard deviations

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.certainty) + 1

    def describe(self) -> str:
        """Say in words why rows climb in these coordinates."""
        assert self.frame.components is not None
        n_coordinates, least = len(self.frame.components), self.certainty.min()
        return (
            "Rows climb along the gradient, where the density rises most, in "
            f"{n_coordinates} coordinate{'s' * (n_coordinates > 1)}: rows that were "
            f"held out confirm that {self.n_parts} clusters are apart there, each "
            f"split by {least:.1f} standard deviations or more."
        )


def explain_graph(graph: GraphLandscape, gaussian_share: float, *, asked: bool) -> str:
    """Say in words why rows climb the graph, and not along the gradient."""
    how = graph.describe()
    if asked:
        return f"{how} That was asked for."
    if graph.default_merges().all():  # one cluster is explained elsewhere
        return how
    if gaussian_share < GAUSSIAN_SHARE:
        return (
            f"{how} That sees clusters of any shape. Along the gradient of the density "
            f"they climb where one Gaussian explains {100 * GAUSSIAN_SHARE:.0f} % of "
            f"it or more; here it explains {100 * gaussian_share:.0f} %."
        )
    return (
        f"{how} Along the gradient of the density they would climb if rows that were "
        "held out showed more clusters in some directions, or these beyond doubt; they "
        "do not."
    )


def certify_frame(frame: Frame, overview: Overview) -> CertifiedFrame | None:
    """Find the coordinates in which parts of the rows differ for certain.

    The given frame has zero means and unit variances. None is returned where no split
    is certain, or so many that a few coordinates do not do.
    """
    sample, rng = overview.sample, np.random.default_rng(0)
    drawn = sample.ranking.first
    if len(drawn) > SPLIT_ROWS:
        drawn = draw_centers(sample.ranking, SPLIT_ROWS, rng)
    Z = _standardise(frame, sample.X[drawn], overview.rounding, rng)
    used = Z.any(axis=0)  # what the others are must not change what is drawn
    if not used.any():
        return None
    splits = find_splits(Z[:, used], rng)
    if not 1 < splits.n_parts <= MOST_PARTS:
        return None
    found = find_discriminants(Z[:, used], splits.part)
    components = np.zeros((len(found), Z.shape[1]))
    components[:, used] = found
    # Back in the features, a point is where rows with its coordinates are on average.
    loadings = np.linalg.lstsq(Z @ components.T, Z, rcond=None)[0]
    inside = frame._replace(components=components, loadings=np.asarray(loadings))
    return CertifiedFrame(inside, splits.certainty)


def _standardise(
    frame: Frame, rows: Reals, rounding: Rounding, rng: np.random.Generator
) -> Floats:
    """Rows in a frame of unit variances; features that cannot show a valley are 0."""
    Z = frame.enter(spread_ties(rows, rounding, rng))
    Z[:, rounding.n_values < FEWEST_VALUES] = 0.0
    return Z


def certify_merges(
    landscape: GraphLandscape, frame: Frame, rounding: Rounding
) -> GraphLandscape:
    """Mark the merges of a graph of many dimensions that held-out rows refuse.

    There heights are noisy, and the bound of chance is above many a valley that is
    plain along the direction which tells its sides apart; heights of more neighbours
    are certain enough. The shallowest valley is looked at first, and its sides are the
    clusters that meet there by then: of all that lies beyond a valley, the rest would
    only blur that direction. Nodes that stand for themselves are not as dense as rows,
    and do not count. The given frame has zero means and unit variances.
    """
    graph, tree = landscape.graph, landscape.tree
    if graph.dimension < LEAST_DIMENSION or tree.p_value is None:
        return landscape
    if graph.n_neighbors > HEIGHT_NEIGHBORS:
        return landscape
    chance = landscape.chance()
    rng = np.random.default_rng(0)
    drawn = slice(len(graph.nodes) - graph.n_single)
    Z, mode = (
        _standardise(frame, landscape.rows[drawn], rounding, rng),
        graph.mode[drawn],
    )
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


def _certify_groups(
    Z: Floats, upper: Bools, lower: Bools, rng: np.random.Generator
) -> float:
    """Certainty that two groups of rows, told by masks, are apart."""
    both = upper | lower
    if not upper.any() or not lower.any():
        return 0.0
    return certify_sides(Z[both], upper[both], rng)


def climb_certified(
    certified: CertifiedFrame,
    overview: Overview,
    ascent: Ascent,
    random_state: int | np.random.RandomState | None,
    n_jobs: int | None,
) -> tuple[LogDensityGradient, Climbed]:
    """Fit the gradient in certified coordinates and let the subsample climb it.

    The estimator takes the coordinates; the landscape takes rows in the data's own. The
    random state draws the centres, and the rows among which saddles are sought.
    """
    sample, outer = overview.sample, certified.frame
    rows, weight = sample.X, sample.weight
    if overview.rounding.step.any():  # copies do not make rounded rows denser
        rows, weight = sample.X[sample.ranking.first], None
    spread = spread_ties(rows, overview.rounding, np.random.default_rng(0))
    estimator = LogDensityGradient(
        min(N_CENTERS, max(1, len(sample.ranking.first) // 2)),
        selection="min",
        random_state=random_state,
        n_jobs=n_jobs,
    ).fit(outer.enter(spread), sample_weight=weight)
    inside = make_overview(
        ArrayRows(outer.enter(sample.X), sample.weight, n_jobs),
        whole=True,
        n_jobs=n_jobs,
    )
    rng = generator(random_state)
    climbed = climb_field(estimator, ascent, inside, rng, blurs=False, n_jobs=n_jobs)
    landscape = climbed.landscape
    assert isinstance(landscape, FieldLandscape)
    tree = landscape.tree
    return estimator, climbed._replace(
        landscape=landscape._replace(
            frame=outer.then(frame_of(estimator)),
            grown=tree._replace(saddles=outer.leave(tree.saddles)),
            n_certified=certified.n_parts,
        )
    )
