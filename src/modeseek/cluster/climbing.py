"""From fitted rows to a landscape: its modes, and the merge tree of these."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.stats import norm

from modeseek.cluster.blurring import blur, rounds_of
from modeseek.cluster.landscape import Landscape
from modeseek.field.climbing import Ascent
from modeseek.field.fields import Field
from modeseek.field.landscape import BlurredLandscape, FieldLandscape
from modeseek.field.modes import (
    highest_center,
    nearest_modes,
    rank_modes,
)
from modeseek.field.saddles import build_tree
from modeseek.gradient.base import GradientEstimator, field_of, frame_of, influence_of
from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.gradient.uncertainty import standard_errors
from modeseek.graph.heights import MANY_NODES
from modeseek.graph.landscape import GraphLandscape
from modeseek.graph.neighbors import arrange
from modeseek.graph.row_graph import (
    build_graph,
    most_nodes,
    most_nodes_in_doubt,
    steps_up,
)
from modeseek.graph.unexplained import (
    Explained,
    Guides,
    find_guides,
    find_unexplained,
    most_single,
)
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import map_blocks, one_blas_thread, one_thread
from modeseek.rows.components import FEWEST_FEATURES, shrink_components
from modeseek.rows.coordinates import TINY, Frame, spread_within
from modeseek.rows.ranking import Sample, draw_centers
from modeseek.rows.rounding import Rounding, grain_of, split_coarse, spread_steps
from modeseek.rows.source import ArrayRows
from modeseek.rows.subsample import Overview, larger_sample, make_overview
from modeseek.rows.summary import Summary
from modeseek.rows.validation import SMALLEST_UNIT
from modeseek.tree.merge_tree import LateTree, MergeTree

#: Nodes that are enough to see in which coordinates there is more evidence of clusters.
TRIAL_NODES = 2048

#: Evidence by which features as they are must be ahead of their components. With less,
#: which of both it is would change with a few rows; and what noise the features have in
#: common, components have less of.
CLEARLY_MORE = 1.0

#: With fewer features than tables have, they are scaled anew at most so often, if their
#: scales change by factors that differ more than this.
MOST_SCALES, ALIKE = 3, 1.1

#: Components hide clusters if features show so many times as many.
HIDDEN = 2

#: Where it leaves doubt, a graph is built anew of so many times the nodes, at least.
ENOUGH_MORE = 1.5

#: Rows among which saddles between modes are sought.
TREE_ROWS = 3000

Built = TypeVar("Built")


class Nodes(NamedTuple):
    """Distinct rows that become nodes of a graph, in the data's coordinates."""

    rows: Floats  # (m, d)
    counts: Floats  # (m,) rows that each stands for, or copies
    n_single: int = 0  # the last so many stand for themselves

    def arranged(self, frame: Frame) -> Nodes:
        """The same in an order in which neighbours are found sooner."""
        n_drawn = len(self.rows) - self.n_single
        Z = frame.enter(self.rows)
        order = np.concatenate([arrange(Z[:n_drawn]), n_drawn + arrange(Z[n_drawn:])])
        return Nodes(self.rows[order], self.counts[order], self.n_single)


class Climbed(NamedTuple):
    """A landscape, and what happened when the subsample climbed it."""

    landscape: Landscape
    row_modes: Integers | None  # of the subsample's rows, where they are known
    n_iter: int  # most steps of a row
    n_unconverged: int  # rows still moving after the last step
    n_guarded: int  # rows that took the safe step
    max_iter: int  # steps that rows were allowed
    nodes: Nodes | None = None  # of a graph of rows


def climb_graph(
    frame: Frame, overview: Overview, rng: np.random.Generator, n_jobs: int | None
) -> Climbed:
    """Build the graph of rows and let its nodes climb.

    Nodes are the distinct rows, or a draw of them where they are many, with the rows
    that these do not explain. They are near each other by the features as they are, in
    a frame that scales them, or by their shrunken principal components, if these do not
    clearly show less evidence of clusters, among some of the nodes where they are many.
    A few features are scaled by their spread within clusters, see :func:`scale_within`.
    """
    sample = overview.sample
    drawn = few = _draw_nodes(sample, MANY_NODES, rng)
    frames = graph_frames(frame, sample, drawn)
    if len(frames) > 1 and len(drawn) > TRIAL_NODES:
        few = draw_centers(sample.ranking, TRIAL_NODES, rng)
    all_drawn = _are_all(overview, sample, drawn)
    has_few_features = 1 < sample.X.shape[1] < FEWEST_FEATURES
    nodes = nodes_of(sample, few)
    if len(frames) > 1 or all_drawn or has_few_features:
        rounding = overview.rounding
        build = partial(graph_landscape, nodes=nodes, rounding=rounding, n_jobs=n_jobs)
        best = choose_landscape(*_build_each(build, frames, n_jobs))
        if has_few_features:
            best = scale_within(best, build)
        if best.frame is not frames[-1]:  # components that were chosen may be left yet
            frames = [best.frame]
    if few is not drawn or not all_drawn:
        best, nodes = _climb_whole(frames, overview, drawn, rng, n_jobs)
    best = best.with_merges(n_jobs)
    steps = 1 + steps_up(best.graph)
    return Climbed(best, None, steps, 0, 0, steps, nodes)


def _climb_whole(
    frames: list[Frame],
    overview: Overview,
    drawn: Integers,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> tuple[GraphLandscape, Nodes]:
    """Graph of as many nodes as there may be, and these.

    Components that a trial has chosen are left if more nodes show that they hide most
    clusters. Where some valley is neither certain nor such as chance makes, there are
    more nodes.
    """
    n_rows = overview.summary.n_rows

    def build(frame: Frame, most: int) -> tuple[GraphLandscape, Nodes]:
        draw = deepcopy(rng)  # the same for each graph, also side by side
        nodes = _whole_nodes(frame, overview, drawn, draw, most, n_jobs)
        return graph_landscape(frame, nodes, overview.rounding, n_jobs), nodes

    def build_first(frame: Frame) -> tuple[GraphLandscape, Nodes]:
        return build(frame, most_nodes(frame.n_coordinates, n_rows))

    known = _build_each(build_first, frames, n_jobs)
    best, nodes = known[-1]
    if known[0][0].count_certain() > HIDDEN * best.count_certain():
        best, nodes = known[0]
    best = best.with_merges(n_jobs)
    most = most_nodes_in_doubt(best.frame.n_coordinates, n_rows)
    n_drawn = len(nodes.rows) - nodes.n_single
    if best.leaves_doubt() and min(most, n_rows) > ENOUGH_MORE * n_drawn:
        best, nodes = build(best.frame, most)
    return best, nodes


def _build_each(
    build: Callable[[Frame], Built], frames: list[Frame], n_jobs: int | None
) -> list[Built]:
    """Graphs in several frames side by side: small ones have little for two threads."""
    if len(frames) == 1:
        return [build(frames[0])]

    def kernel(one: slice) -> Built:
        with one_thread():
            return build(frames[one][0])

    return list(map_blocks(kernel, len(frames), n_jobs=n_jobs, size=1))


def choose_landscape(
    plain: GraphLandscape, shrunken: GraphLandscape | None = None
) -> GraphLandscape:
    """The graph of shrunken components, unless that of the features clearly shows more.

    Where neither shows clusters, it is that of the features as they are.
    """
    if shrunken is None or plain.count_certain() == shrunken.count_certain() == 1:
        return plain
    more = plain.evidence() - shrunken.evidence()
    return plain if more > CLEARLY_MORE else shrunken


def scale_within(
    best: GraphLandscape, build: Callable[[Frame], GraphLandscape]
) -> GraphLandscape:
    """Scale a few features by their spread within clusters, while the evidence grows.

    Over all rows, a feature varies the more, the farther apart it has the clusters:
    divided by that, round clusters become thin, and rows in them seem to lie on curves.
    On curves chance is deep, so that clusters count which may turn out to be chance.
    """
    for _ in range(MOST_SCALES):
        made, frame = best.merges_by_formula(), best.frame
        if made.all() or not np.ndim(frame.unit):
            break
        _, cluster = np.unique(best.tree.merge(made), return_inverse=True)
        within = spread_within(frame.enter(best.rows), cluster[best.graph.mode])
        counts = within > 0.0
        if within.max() <= ALIKE * within[counts].min(initial=np.inf):
            break
        within[~counts] = 1.0
        unit = np.maximum(frame.unit * within, SMALLEST_UNIT)
        rival = build(frame._replace(unit=unit))
        if rival.evidence() <= best.evidence():
            break
        best = rival
    return best


def _are_all(overview: Overview, sample: Sample, drawn: Integers) -> bool:
    """Whether rows drawn from a sample are all the distinct rows that there are."""
    is_whole = len(sample.X) == overview.summary.n_rows
    return is_whole and len(drawn) == len(sample.ranking.first)


def _draw_nodes(sample: Sample, most: int, rng: np.random.Generator) -> Integers:
    """Distinct rows of a sample, all or as many as are drawn."""
    distinct = sample.ranking.first
    if len(distinct) <= most:
        return distinct
    return draw_centers(sample.ranking, most, rng)


def _whole_nodes(
    frame: Frame,
    overview: Overview,
    drawn: Integers,
    rng: np.random.Generator,
    most: int,
    n_jobs: int | None,
) -> Nodes:
    """As many nodes as there may be, and rows that they do not explain."""
    d, n_rows = frame.n_coordinates, overview.summary.n_rows
    sample = overview.sample
    if most > len(drawn) < n_rows:
        sample = larger_sample(overview, most, n_jobs)
        drawn = _draw_nodes(sample, most, rng)
    nodes = nodes_of(sample, drawn)
    if _are_all(overview, sample, drawn):
        return nodes
    Z = frame.enter(nodes.rows)
    guides = find_guides(Z, n_jobs)
    if guides is None:
        return nodes
    explained = find_unexplained(overview.source, frame, guides, most_single(d, n_rows))
    return _with_single(nodes, Z, guides, explained, overview.summary)


def graph_frames(frame: Frame, sample: Sample, drawn: Integers) -> list[Frame]:
    """Frames in which rows may be near each other: that given, and of components."""
    if not np.ndim(frame.unit):
        return [frame]
    shrunk = shrink_components(frame, sample.X[drawn].astype(np.float64))
    return [frame] if shrunk is frame else [frame, shrunk]


def nodes_of(sample: Sample, drawn: Integers) -> Nodes:
    """Some distinct rows of a sample, with their copies there."""
    count = np.bincount(sample.ranking.rank, weights=sample.weight)
    copies = count[sample.ranking.rank[drawn]].astype(np.float64)
    return Nodes(sample.X[drawn].astype(np.float64), copies)


def _with_single(
    nodes: Nodes, Z: Floats, guides: Guides, explained: Explained, summary: Summary
) -> Nodes:
    """Nodes that stand for the rows they explain, and rows that stand for themselves.

    Where all nodes could be guides, those that are remain, and it is known how many
    rows each explains.
    """
    guide, unlike = guides.explain(Z)
    if guides.n_asked == len(Z):
        kept = unlike == 0.0
        counts = explained.weight[guide[kept]]
    else:
        kept = unlike <= explained.least
        counts = nodes.counts[kept]
        counts = counts * (explained.weight.sum() / counts.sum())
    X, weight = explained.single
    assert weight is not None
    return Nodes(
        np.concatenate([nodes.rows[kept], X.astype(np.float64)]),
        np.concatenate([counts, weight]) / summary.row_weight,
        n_single=len(X),
    )


def graph_landscape(
    frame: Frame, nodes: Nodes, rounding: Rounding, n_jobs: int | None
) -> GraphLandscape:
    """Graph of nodes, in a frame, with its tree.

    Copies of rows count, unless features were rounded: then rows may be equal by that
    alone, and copies do not make them denser. Counts and ratings among measurements are
    spread over their steps for neighbours and heights; rows are located as they are.
    """
    nodes = nodes.arranged(frame)
    used = np.isfinite(np.broadcast_to(frame.unit, nodes.rows.shape[1]))
    coarse, fine = split_coarse(rounding, used)
    grain = grain_of(frame.steps(fine.step))
    counts = nodes.counts
    if grain > 0 and not nodes.n_single:
        counts = np.ones(len(counts))
    spread = spread_steps(nodes.rows, coarse, np.random.default_rng(0))
    graph, tree = build_graph(
        frame.enter(spread), counts, grain, n_jobs, nodes.n_single
    )
    graph = graph._replace(nodes=frame.enter(nodes.rows))
    tree = tree._replace(saddles=frame.leave(tree.saddles))
    weights = np.bincount(graph.mode, weights=nodes.counts).astype(np.float64)
    return GraphLandscape(frame, nodes.rows, graph, weights, tree)


def climb_field(
    estimator: GradientEstimator,
    ascent: Ascent,
    overview: Overview,
    rng: np.random.Generator,
    *,
    blurs: bool,
    n_jobs: int | None,
) -> Climbed:
    """Let the subsample climb along the estimated gradient, or blur it if asked.

    The generator draws the rows among which saddles are sought.
    """
    sample = overview.sample
    frame, field = frame_of(estimator), field_of(estimator)
    start = frame.enter(sample.X)
    rounds: tuple[tuple[Frame, Field], ...] = ()
    if blurs:
        blurred = blur(estimator, sample.X, sample.weight, ascent.max_iter)
        modes, rounds = frame.enter(blurred.ends), rounds_of(blurred.used)
        reached = nearest_modes(field, frame.enter(blurred.rows), modes)
        moving = 0 if blurred.stopped else len(reached)
        done = len(rounds), moving, 0
    else:
        arrived, modes = ascent.seek(field, start, n_jobs)
        if not len(modes):
            modes = highest_center(field)
        reached = ascent.assign(field, arrived.points, modes, n_jobs)
        done = (
            int(arrived.n_iter.max()),
            int((~arrived.converged).sum()),
            int(arrived.guarded.sum()),
        )
    peaks, weights, reached = rank_modes(field, modes, reached, sample.weight)
    drawn = draw_centers(sample.ranking, min(TREE_ROWS, len(sample.ranking.first)), rng)
    # A copy: who asks for the tree may have added rows to the estimator before.
    known = copy(estimator), peaks, start, sample.weight, reached, drawn
    tree = LateTree(partial(_grow_tree, *known, overview.summary.n_counted, n_jobs))
    learned = has_learned_widths(estimator)
    landscape = FieldLandscape(frame, field, ascent, peaks, weights, tree, learned)
    return Climbed(
        BlurredLandscape(landscape, rounds, climbs=False) if blurs else landscape,
        reached,
        *done,
        max_iter=ascent.max_iter,
    )


def climb_inside(
    estimator: GradientEstimator,
    outer: Frame,
    overview: Overview,
    ascent: Ascent,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> Climbed:
    """Climb the field of an estimator that was fitted in the coordinates of a frame.

    The landscape takes rows in the data's own. The generator draws the rows among which
    saddles are sought.
    """
    sample = overview.sample
    rows = ArrayRows(outer.enter(sample.X), sample.weight, n_jobs)
    inside = make_overview(rows, whole=True, n_jobs=n_jobs)
    climbed = climb_field(estimator, ascent, inside, rng, blurs=False, n_jobs=n_jobs)
    landscape = climbed.landscape
    assert isinstance(landscape, FieldLandscape)
    tree = landscape.tree
    landscape = landscape._replace(
        frame=outer.then(frame_of(estimator)),
        grown=tree._replace(saddles=outer.leave(tree.saddles)),
    )
    return climbed._replace(landscape=landscape)


@one_blas_thread()
def _grow_tree(
    estimator: GradientEstimator,
    peaks: Floats,
    Z: Floats,
    weight: Floats | None,
    mode_of_row: Integers,
    drawn: Integers,
    n_counted: float,
    n_jobs: int | None,
) -> MergeTree:
    """Merge modes across saddles among rows drawn; standard errors are of all rows."""
    frame, field = frame_of(estimator), field_of(estimator)
    tree = build_tree(field, peaks, Z[drawn], mode_of_row[drawn])
    if not len(tree.child):
        return tree._replace(saddles=frame.leave(tree.saddles))
    tops = peaks[tree.child]
    errors = standard_errors(
        influence_of(estimator, tops, tree.saddles),
        Z,
        weight,
        len(tops),
        len(field.centers),
        n_jobs,
    )
    # The field comes from all rows, whose influence the subsample tells.
    taken = len(Z) if weight is None else weight.sum()
    errors = errors * np.sqrt(taken / n_counted)
    with np.errstate(over="ignore"):  # infinitely many errors have a p-value of 0
        p_value = norm.sf(tree.prominence / np.maximum(errors, TINY))
    saddles = frame.leave(tree.saddles)
    return tree._replace(saddles=saddles, std_error=errors, p_value=p_value)


def has_learned_widths(estimator: GradientEstimator) -> bool:
    """Whether the widths of the features were learned one by one."""
    return isinstance(estimator, LogDensityGradient) and (
        estimator.settings_.bandwidth == "learned"
        or bool(estimator.gaussian_base_.any())
    )
