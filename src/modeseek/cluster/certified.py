"""Climbing in coordinates in which held-out rows confirm that clusters are apart."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from modeseek.cluster.certified_frame import (
    BEYOND_DOUBT,
    CertifiedFrame,
    certify_frame,
    certify_joined,
)
from modeseek.cluster.climbing import Climbed, climb_inside, graph_landscape
from modeseek.cluster.discriminants import SAME_CLUSTERS, cluster_of_nodes
from modeseek.cluster.gaussian_share import are_winding, share_of_gaussian
from modeseek.cluster.gaussians import climb_gaussians
from modeseek.cluster.held_out import (
    certify_clusters,
    certify_merges,
    merge_unconfirmed,
)
from modeseek.cluster.landscape import Landscape
from modeseek.field.climbing import Ascent
from modeseek.field.landscape import FieldLandscape
from modeseek.gradient.base import GradientEstimator
from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.gradient.model import GAUSSIAN_SHARE
from modeseek.graph.landscape import GraphLandscape
from modeseek.rows.arrays import Bools, Floats, Integers, Reals
from modeseek.rows.bends import add_bend
from modeseek.rows.components import FEWEST_FEATURES
from modeseek.rows.coordinates import Frame
from modeseek.rows.ranking import draw_centers, generator
from modeseek.rows.rounding import spread_ties
from modeseek.rows.splits import FEWEST_BESIDE, standardise
from modeseek.rows.subsample import Overview
from modeseek.tree.default_cut import LEAST_PROMINENCE

#: Rows among which splits are sought.
SPLIT_ROWS = 4096

#: Parts between which the gradient is followed, at most: of more, the coordinates are
#: too many for a field of a few hundred Gaussians.
FIELD_PARTS = 4

#: Clusters are at odds below this index (adjusted Rand): of Gaussians that overlap, the
#: graph and the gradient see the same by 0.65 to 0.9.
AT_ODDS = 0.5

#: Centres of the field: more than by default, as it has few features and its heights
#: are to be those of the density.
N_CENTERS = 300

#: Widths of a field that ripples are multiplied by this, until it does not.
WIDER = 1.5


class Found(NamedTuple):
    """What rows climb in certified coordinates."""

    climbed: Climbed
    estimator: GradientEstimator | None  # in those coordinates, if rows follow it
    frame: Frame
    reason: str


class Rows(NamedTuple):
    """Some distinct rows, among which splits are sought."""

    X: Reals  # (n, d) as they are
    Z: Floats  # (n, d) standardised


class Scouted(NamedTuple):
    """What is known of the rows before any climb."""

    rows: Rows
    gaussian_share: float  # of the gradient that one Gaussian explains


class Start(NamedTuple):
    """What a search for certified coordinates starts from.

    The frame has zero means and unit variances; ``climbed`` is the graph of rows.
    """

    frame: Frame
    overview: Overview
    scouted: Scouted
    climbed: Climbed
    ascent: Ascent
    random_state: int | np.random.RandomState | None
    n_jobs: int | None

    @property
    def graph(self) -> GraphLandscape:
        """The graph that was climbed in other coordinates."""
        graph = self.climbed.landscape
        assert isinstance(graph, GraphLandscape)
        return graph

    @property
    def n_shown(self) -> int:
        """Number of clusters that it shows."""
        return 1 + int((~self.graph.default_merges()).sum())


def scout_rows(frame: Frame, overview: Overview) -> Scouted:
    """Rows among which splits are sought, and how nearly Gaussian their density is.

    The frame has zero means and unit variances.
    """
    rows = _rows_that_split(frame, overview)
    share = share_of_gaussian(rows.Z) if rows.Z.any() else 0.0
    return Scouted(rows, share)


def seek_certified(start: Start) -> Found | None:
    """Seek coordinates that held-out rows confirm, and climb there if that is better.

    The graph of rows, which was climbed, sees clusters of any shape. Where much of the
    gradient is that of a Gaussian, they may stand too near each other among too many
    features for it; elsewhere a valley along a direction says little: a ring has one
    along each. So there clusters count that held-out rows confirm, if they are no fewer
    than those that the graph is certain of. Where many overlap, no direction shows a
    valley of all rows, but two of them have one between: these count if they are more.
    Clusters of the graph that wind about each other have no straight cut, and stay. If
    no coordinates are found so, each cluster of the graph is looked at alone, as others
    far away hide what is apart in it.
    """
    rows, _ = start.scouted
    if not rows.Z.any():
        return None
    cluster = _cluster_of_rows(start.graph, rows.X, start.n_jobs)
    return _split_all(start, rows, cluster) or _split_clusters(start, rows, cluster)


def _split_all(start: Start, rows: Rows, cluster: Integers) -> Found | None:
    """What rows climb in coordinates that splits of all rows certify, if better.

    Clusters of the graph that have too few of the rows to be confirmed must show there.
    """
    graph, n_shown = start.graph, start.n_shown
    certified = _certify_all(start, rows)
    n_certain = min(n_shown, graph.count_certain())
    if certified is None or not certified.compares_with(n_certain, n_shown):
        return None
    inside = graph.frame.enter(graph.rows)
    if n_certain > 1 and are_winding(inside, cluster_of_nodes(graph)):
        return None
    if certified.n_parts <= FIELD_PARTS and not certified.joined:
        inside = add_bend(rows.Z, certified.frame.enter(rows.X))
        if are_winding(inside, certified.part):
            return None
    found = _climb(start, certified)
    rare = np.bincount(cluster, minlength=n_shown) < FEWEST_BESIDE
    return found if found and _keeps_apart(found, graph, rare) else None


def _certify_all(start: Start, rows: Rows) -> CertifiedFrame | None:
    """Coordinates in which all rows are split, or many small parts of them joined.

    The latter are taken if they are more, and more than the graph shows; a few features
    it shows well.
    """
    split = None
    if start.scouted.gaussian_share >= GAUSSIAN_SHARE:
        split = certify_frame(start.frame, rows.Z)
    if rows.X.shape[1] < FEWEST_FEATURES:
        return split
    most = max(start.n_shown, split.n_parts if split else 1)
    return certify_joined(start.frame, rows.Z, most) or split


def _split_clusters(start: Start, rows: Rows, cluster: Integers) -> Found | None:
    """The same for splits of the graph's clusters, all of which must show there."""
    graph, n_shown = start.graph, start.n_shown
    few_features = rows.X.shape[1] < FEWEST_FEATURES
    if n_shown == 1 or (few_features and n_shown >= FIELD_PARTS):
        return None  # in a few features a graph in other coordinates shows no more
    _, known = np.unique(cluster, return_inverse=True)
    may_split = partial(_is_hill, graph, rows)
    certified = certify_frame(start.frame, rows.Z, known, may_split)
    found = None if certified is None else _climb(start, certified)
    if found is None or not _keeps_apart(found, graph, np.ones(n_shown, dtype=bool)):
        return None
    assert certified is not None
    return found if _shows(found.climbed.landscape, certified, rows) else None


def _cluster_of_rows(graph: GraphLandscape, X: Reals, n_jobs: int | None) -> Integers:
    """Cluster of the graph's nodes that each row is in, numbered as there."""
    group = graph.tree.merge(graph.default_merges())
    return np.searchsorted(np.unique(group), group[graph.locate(X, n_jobs)])


def _keeps_apart(found: Found, graph: GraphLandscape, cluster: Bools) -> bool:
    """Whether some clusters of a graph, told by a mask, are not merged with others.

    A cluster is where most of its nodes are.
    """
    landscape = found.climbed.landscape
    _, label = np.unique(
        landscape.tree.merge(landscape.default_merges())[landscape.locate(graph.rows)],
        return_inverse=True,
    )
    count = np.zeros((len(cluster), label.max() + 1), dtype=np.intp)
    np.add.at(count, (cluster_of_nodes(graph), label), 1)
    most = count.argmax(axis=1)
    return bool((np.bincount(most)[most[cluster]] == 1).all())


def _is_hill(graph: GraphLandscape, rows: Rows, some: Integers) -> bool:
    """Whether a Gaussian explains much of some rows in the coordinates of a graph.

    Features of noise, which it leaves out, are Gaussian whatever the rest is.
    """
    return share_of_gaussian(graph.frame.enter(rows.X[some])) >= GAUSSIAN_SHARE


def _shows(landscape: Landscape, certified: CertifiedFrame, rows: Rows) -> bool:
    """Whether the clusters of a landscape are the parts that rows were split in."""
    label = landscape.tree.merge(landscape.default_merges())[landscape.locate(rows.X)]
    return bool(adjusted_rand_score(certified.part, label) >= SAME_CLUSTERS)


def _climb(start: Start, certified: CertifiedFrame) -> Found | None:
    """What rows climb in certified coordinates, if that tells more than the graph.

    A few parts have few coordinates, and the gradient is followed; many have many, and
    the graph is built anew in these. Joined parts overlap too much for the graph: they
    are Gaussians.
    """
    if certified.joined:
        estimator, risen = climb_gaussians(
            certified,
            start.scouted.rows.Z,
            start.overview,
            start.ascent,
            generator(start.random_state),
            start.n_jobs,
        )
        how = "Rows climb along the gradient of a Gaussian for each cluster, "
        return Found(risen, estimator, certified.frame, how + certified.describe())
    if certified.n_parts > FIELD_PARTS or certified.is_doubtful():
        return _climb_graph(start, certified)
    estimator, risen = climb_certified(certified, start)
    if not _is_preferred(certified, risen, start):
        return None
    how = "Rows climb along the gradient, where the density rises most, "
    return Found(risen, estimator, certified.frame, how + certified.describe())


def _climb_graph(start: Start, certified: CertifiedFrame) -> Found | None:
    """The graph in certified coordinates, if it shows more clusters there.

    Where it is certain of some without these, the splits may not be in doubt.
    """
    graph, nodes = start.graph, start.climbed.nodes
    rounding = start.overview.rounding
    assert nodes is not None
    if certified.is_doubtful() and graph.count_certain() > 1:
        return None
    rival = graph_landscape(certified.frame, nodes, rounding, start.n_jobs)
    rival = certify_merges(rival.with_merges(start.n_jobs), start.frame, rounding)
    known = certified.nearest_part(rival.rows)
    rival = merge_unconfirmed(rival, known, start.frame, rounding)
    if (~rival.default_merges()).sum() <= (~graph.default_merges()).sum():
        return None
    how = "Rows climb from row to row, each to a denser neighbour, "
    risen = start.climbed._replace(landscape=rival)
    return Found(risen, None, certified.frame, how + certified.describe())


def _is_preferred(certified: CertifiedFrame, risen: Climbed, start: Start) -> bool:
    """Whether the field in certified coordinates tells more than the graph of rows.

    If the graph shows clusters, the valleys of the field may not be shallow; and if it
    shows as many and is certain of them, both may not be at odds, unless held-out rows
    are beyond doubt surer of those of the field.
    """
    graph, field = start.graph, risen.landscape
    made, merged = graph.default_merges(), field.default_merges()
    if made.all():
        return True
    shallowest = field.tree.prominence[~merged].min(initial=np.inf)
    if shallowest < LEAST_PROMINENCE:
        return False
    if certified.n_parts > min(1 + (~made).sum(), graph.count_certain()):
        return True
    label = field.tree.merge(merged)[field.locate(graph.rows)]
    if adjusted_rand_score(cluster_of_nodes(graph), label) >= AT_ODDS:
        return True
    sure = certify_clusters(graph, start.frame, start.overview.rounding)
    least = np.nan_to_num(sure).min()
    return bool(certified.certainty.min() >= least + BEYOND_DOUBT)


def _rows_that_split(frame: Frame, overview: Overview) -> Rows:
    """Distinct rows, as many as splits are sought among."""
    sample, rng = overview.sample, np.random.default_rng(0)
    drawn = sample.ranking.first
    if len(drawn) > SPLIT_ROWS:
        drawn = draw_centers(sample.ranking, SPLIT_ROWS, rng)
    X = sample.X[drawn]
    return Rows(X, standardise(frame, X, overview.rounding, rng))


def climb_certified(
    certified: CertifiedFrame, start: Start
) -> tuple[LogDensityGradient, Climbed]:
    """Fit the gradient in certified coordinates and let the subsample climb it.

    The estimator takes the coordinates; the landscape takes rows in the data's own. The
    random state draws the centres, and the rows among which saddles are sought. Widths
    of the smallest loss make heights that are not too low; where that field ripples,
    with more clusters than there are parts, or others, they are widened until it does
    not.
    """
    climb = partial(_climb_field, outer=certified.frame, start=start)
    estimator, climbed = climb({"selection": "min"})
    while _ripples(climbed.landscape, certified, start.scouted.rows):
        smoother, smooth = climb({"bandwidth": WIDER * estimator.bandwidth_.min()})
        if len(smooth.landscape.modes) < certified.n_parts:
            break
        estimator, climbed = smoother, smooth
    landscape = climbed.landscape
    assert isinstance(landscape, FieldLandscape)
    landscape = landscape._replace(n_certified=certified.n_parts)
    return estimator, climbed._replace(landscape=landscape)


def _ripples(landscape: Landscape, certified: CertifiedFrame, rows: Rows) -> bool:
    """Whether a field has more clusters than there are parts, or others."""
    assert isinstance(landscape, FieldLandscape)
    if (~landscape.default_merges()).sum() >= certified.n_parts:
        return True
    kept = landscape._replace(n_certified=certified.n_parts)
    return not _shows(kept, certified, rows)


def _climb_field(
    widths: dict[str, Any], outer: Frame, start: Start
) -> tuple[LogDensityGradient, Climbed]:
    """Fit and climb the gradient in the coordinates of a frame.

    How its widths are chosen is said by parameters of the estimator.
    """
    overview, n_jobs = start.overview, start.n_jobs
    random_state, sample = start.random_state, overview.sample
    rows, weight = sample.X, sample.weight
    if overview.rounding.step.any():  # copies do not make rounded rows denser
        rows, weight = sample.X[sample.ranking.first], None
    spread = spread_ties(rows, overview.rounding, np.random.default_rng(0))
    estimator = LogDensityGradient(
        min(N_CENTERS, max(1, len(sample.ranking.first) // 2)),
        **widths,
        random_state=random_state,
        n_jobs=n_jobs,
    ).fit(outer.enter(spread), sample_weight=weight)
    rng = generator(random_state)
    climbed = climb_inside(estimator, outer, overview, start.ascent, rng, n_jobs)
    return estimator, climbed
