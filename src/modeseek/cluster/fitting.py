"""From rows to a fitted gradient and the landscape that the rows climb."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from modeseek.cluster.certified import Scouted, Start, scout_rows, seek_certified
from modeseek.cluster.climbing import Climbed, climb_field, climb_graph
from modeseek.cluster.discriminants import sharpen_graph
from modeseek.cluster.gaussian_share import SCOUTS
from modeseek.cluster.held_out import certify_merges
from modeseek.cluster.landscape import Landscape
from modeseek.cluster.progress import enter_stage
from modeseek.errors import warn_user
from modeseek.field.climbing import Ascent
from modeseek.gradient.base import GradientEstimator, frame_of
from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.gradient.model import GAUSSIAN_SHARE
from modeseek.gradient.settings import needs_all_rows
from modeseek.gradient.state import (
    fit_coarsely,
    fit_to_subsample,
    prepare_coarsely,
)
from modeseek.graph.confirmed import confirm_by_rows
from modeseek.graph.landscape import GraphLandscape
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import beside, one_thread
from modeseek.rows.coordinates import Frame
from modeseek.rows.measurements import unmeasured_features
from modeseek.rows.ranking import generator
from modeseek.rows.source import Block, LevelledRows, Source
from modeseek.rows.subsample import Overview, make_overview, smaller_overview
from modeseek.rows.validation import (
    check_choice,
    check_integer,
    check_jobs,
    check_real,
    is_word,
)

ASCENTS = ("auto", "rows", "fixed_point", "gradient", "quasi_newton", "blurring")

FEATURES = ("auto", "all")

#: ascent="auto" follows the gradient where a Gaussian explains this share of it. Where
#: it explains less, but enough to be the model's base, it follows it on trial.
MOSTLY_GAUSSIAN = 0.65

#: The trial fails where more than one of the modes, and more than this share of them,
#: is merged into another.
MOST_CHANCE = 0.25

#: Rows whose modes are counted at a time.
COUNTED_ROWS = 1 << 16

#: Share of rows that may fail to converge without a warning: their modes are found
#: by polishing.
TOLERATED = 0.01

#: Reasons for a way up, in words.
FOLLOWED = "Rows climb along the gradient of the estimator that was given."
DISCRIMINANTS = "discriminant coordinates, those in which its clusters differ most"
RIPPLES = (
    "Rows climb from row to row: many modes of the estimated gradient are such as "
    "chance makes."
)


class Settings(NamedTuple):
    """Parameters of a clusterer, checked; see :class:`modeseek.ModeClustering`."""

    estimator: GradientEstimator | None
    ascent: str
    features: str
    step_size: float | None  # None is the largest safe one
    tol: float
    max_iter: int
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    verbose: int | None

    def say(self, what: str) -> None:
        """Print what is being done, if that was asked for; a watched fit shows it."""
        enter_stage(what)
        if self.verbose:
            print(f"[ModeClustering] {what}")


class Fitted(NamedTuple):
    """What a fit found."""

    estimator: GradientEstimator
    overview: Overview
    ascent: str  # the one that was taken
    climbed: Climbed
    frame: Frame  # of the coordinates that users see
    reason: str  # why this way and these coordinates, in words
    left_out: dict[int, str]  # features that count for nothing, and why
    held_out: bool = False  # whether held-out rows were asked for splits


def check_settings(
    estimator: object,
    ascent: str,
    prominence: object,
    features: str,
    step_size: object,
    tol: float,
    max_iter: int,
    random_state: int | np.random.RandomState | None,
    n_jobs: int | None,
    verbose: int | None,
) -> Settings:
    """Check the parameters of a clusterer, one by one and together."""
    check_choice("ascent", ascent, ASCENTS)
    check_choice("features", features, FEATURES)
    if not is_word(prominence, "auto"):
        check_real("prominence", prominence, least=0.0)
    check_jobs(n_jobs)
    check_real("tol", tol, least=0.0)
    check_integer("max_iter", max_iter, least=1)
    size = None
    if not is_word(step_size, "auto"):
        size = check_real("step_size", step_size, least=1e-300)
    if not isinstance(estimator, GradientEstimator | None):
        raise TypeError(
            "estimator must be a LogDensityGradient or a KernelDensityGradient; "
            f"got {estimator!r}."
        )
    if (
        isinstance(estimator, LogDensityGradient)
        and not is_word(estimator.basis, "derivative")
        and ascent in ("fixed_point", "blurring")
    ):
        name = "of your own" if callable(estimator.basis) else f'"{estimator.basis}"'
        raise ValueError(
            f'ascent="{ascent}" is a weighted mean of centres, which a basis {name} '
            'does not have: use ascent="quasi_newton" or "gradient", or '
            'basis="derivative".'
        )
    return Settings(
        estimator, ascent, features, size, tol, max_iter, random_state, n_jobs, verbose
    )


def fit_landscape(
    settings: Settings, source: Source, names: Sequence[str] | None = None
) -> Fitted:
    """Estimate the gradient, choose the way up, and let rows climb.

    Features have names, if any, to tell by which are no measurements.
    """
    if settings.estimator is None and settings.ascent in ("auto", "rows"):
        return _fit_default(settings, source, names)
    with source.session():
        estimator, overview = _fit_estimator(settings, source)
    ascent = _choose_ascent(settings, estimator)
    settings.say(f"climbing from {overview.summary.n_rows} rows ({ascent})")
    asked = f'Rows climb as was asked for, ascent="{ascent}".'
    reason = asked if settings.ascent == ascent else FOLLOWED
    if ascent != "rows":
        climbed = climb_field(
            estimator,
            _make_ascent(settings, ascent, estimator),
            overview,
            generator(settings.random_state),
            blurs=ascent == "blurring",
            n_jobs=settings.n_jobs,
        )
        if not _is_doubtful(settings, estimator, climbed.landscape):
            return _fitted(estimator, overview, ascent, climbed, reason)
        settings.say("the gradient has modes of chance: from row to row")
        reason = RIPPLES
    frame = _without_constant(frame_of(estimator), overview)
    climbed = _climb_graph(settings, frame, overview)
    return _fitted(estimator, overview, "rows", climbed, reason)


def _fit_default(
    settings: Settings, source: Source, names: Sequence[str] | None
) -> Fitted:
    """Fit with nothing given: from row to row, or along a gradient that is certain."""
    estimator, n_jobs = make_estimator(settings), settings.n_jobs
    assert isinstance(estimator, LogDensityGradient)
    with source.session():
        overview, left_out = _overlook(settings, source, names)
        few = overview
        if len(overview.sample.ranking.first) > SCOUTS:
            few = smaller_overview(overview, SCOUTS, n_jobs)
        prepared = prepare_coarsely(estimator, few)
        frame = _without_constant(prepared.frame, overview)

        def scout() -> Scouted | None:
            fit_coarsely(estimator, few, prepared)
            return scout_rows(frame, overview) if settings.ascent == "auto" else None

        settings.say(f"climbing from {overview.summary.n_rows} rows")
        # Few rows have steps too short for two threads, and may not be in memory.
        with beside(scout, 1 if few is overview else n_jobs) as scouted:
            climbed = _climb_graph(settings, frame, overview)
            graph = climbed.landscape
            assert isinstance(graph, GraphLandscape)
            graph = certify_merges(graph, frame, overview.rounding)
            climbed = climbed._replace(landscape=graph)
            sharper = sharpen_graph(climbed, frame, overview.rounding, n_jobs)
            climbed = climbed._replace(landscape=sharper)
            known = scouted()
    found, share = None, None
    if known is not None:
        ascent = Ascent("fixed_point", None, settings.tol, settings.max_iter)
        start = Start(
            frame, overview, known, climbed, ascent, settings.random_state, n_jobs
        )
        found, share = seek_certified(start), known.gaussian_share
    if found is not None:
        return Fitted(
            found.estimator or estimator,
            overview,
            "rows" if found.estimator is None else "fixed_point",
            found.climbed,
            found.frame,
            found.reason,
            left_out,
            held_out=True,
        )
    return Fitted(
        estimator,
        overview,
        "rows",
        climbed,
        sharper.frame,
        explain_graph(sharper, share, sharper=sharper is not graph),
        left_out,
        held_out=share is not None and share >= GAUSSIAN_SHARE,
    )


def explain_graph(
    graph: GraphLandscape, gaussian_share: float | None, *, sharper: bool
) -> str:
    """Say in words why rows climb the graph, and not along the gradient.

    How much of the gradient a Gaussian explains is not known where that way was not
    looked at. The graph may be a sharper one, in discriminant coordinates.
    """
    how = graph.describe(DISCRIMINANTS) if sharper else graph.describe()
    if gaussian_share is None:
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


def _overlook(
    settings: Settings, source: Source, names: Sequence[str] | None
) -> tuple[Overview, dict[int, str]]:
    """Overview of rows in which features that are no measurements have one value."""
    overview = make_overview(source, whole=False, n_jobs=settings.n_jobs)
    if settings.features == "all":
        return overview, {}
    left_out = unmeasured_features(overview, names)
    if left_out:
        values = np.full(overview.sample.X.shape[1], np.nan)
        values[list(left_out)] = overview.summary.frame().origin[list(left_out)]
        level = LevelledRows(source, values)
        overview = make_overview(level, whole=False, n_jobs=settings.n_jobs)
    return overview, left_out


def _without_constant(frame: Frame, overview: Overview) -> Frame:
    """A frame in which it does not count what constant features are in new rows."""
    return frame.without(overview.summary.constant) if np.ndim(frame.unit) else frame


def _fitted(
    estimator: GradientEstimator,
    overview: Overview,
    ascent: str,
    climbed: Climbed,
    reason: str,
) -> Fitted:
    """What was found in the coordinates of the landscape itself."""
    frame = climbed.landscape.frame
    return Fitted(estimator, overview, ascent, climbed, frame, reason, {})


def _climb_graph(settings: Settings, frame: Frame, overview: Overview) -> Climbed:
    rng = generator(settings.random_state)
    climbed = climb_graph(frame, overview, rng, settings.n_jobs)
    assert isinstance(climbed.landscape, GraphLandscape)
    graph = confirm_by_rows(
        climbed.landscape, overview.source, overview.summary.row_weight
    )
    return climbed._replace(landscape=graph)


def locate_rows(fitted: Fitted, source: Source, n_jobs: int | None) -> Integers:
    """Mode of every row, also of those that were not in the subsample; lazy on Dask."""
    climbed, row = fitted.climbed, fitted.overview.sample.row
    _warn_of_moving_rows(climbed, len(fitted.overview.sample.X))
    landscape = climbed.landscape
    if climbed.row_modes is None or not len(row):  # drawn from many, or not in memory
        locate = partial(landscape.locate, n_jobs=n_jobs)
        modes: Integers = source.apply_rowwise(
            locate, landscape.frame, landscape.modes[:1]
        )
        return modes
    X = source.rows_in_memory().X
    modes = np.empty(len(X), dtype=np.intp)
    modes[row] = climbed.row_modes
    rest = np.delete(np.arange(len(modes)), row)  # of weight zero
    if len(rest):
        modes[rest] = landscape.locate(X[rest], n_jobs)
    return modes


def weigh_modes(fitted: Fitted, source: Source, row_modes: Any) -> Floats:
    """Rows that reach each mode, or their weight; of all rows, wherever they are."""
    landscape, summary = fitted.climbed.landscape, fitted.overview.summary
    n_modes = len(landscape.modes)
    sizes: Floats | Integers
    if source.in_memory:
        weight = source.rows_in_memory().weight
        sizes = np.bincount(row_modes, weight, n_modes)
    elif isinstance(row_modes, np.ndarray) and summary.weight == len(row_modes):
        sizes = np.bincount(row_modes, minlength=n_modes)
    else:
        kernel = partial(_count_modes, landscape, n_modes)
        with source.session():
            sizes = source.reduce(kernel, np.add, size=COUNTED_ROWS)
    return np.asarray(sizes / summary.row_weight)


def _count_modes(landscape: Landscape, n_modes: int, block: Block) -> Floats:
    with one_thread():
        modes = landscape.locate(block.X)
    return np.bincount(modes, block.weight, n_modes).astype(np.float64)


def _warn_of_moving_rows(climbed: Climbed, n_rows: int) -> None:
    if climbed.n_unconverged > TOLERATED * n_rows:
        warn_user(
            f"{climbed.n_unconverged} of {n_rows} rows were still moving after "
            f"max_iter={climbed.max_iter} steps and {climbed.n_guarded} needed the "
            "safe step; each got the mode it is nearest to. Raise max_iter or tol.",
            ConvergenceWarning,
        )


def _fit_estimator(
    settings: Settings, source: Source
) -> tuple[GradientEstimator, Overview]:
    """Fit the gradient; also an overview of the rows."""
    estimator, jobs = make_estimator(settings), settings.n_jobs
    blurs = settings.ascent == "blurring"
    if blurs or not isinstance(estimator, LogDensityGradient):
        X, weight = source.rows_in_memory(
            "Blurring moves all of them together, and KernelDensityGradient keeps "
            "every one: give some rows in memory, or use LogDensityGradient with "
            "another ascent."
        )
    if not isinstance(estimator, LogDensityGradient):
        estimator.fit(X, sample_weight=weight)
        return estimator, make_overview(source, whole=True, n_jobs=jobs)
    # Not by its own fit, which would warn of rounding as well.
    whole = needs_all_rows(estimator, source)
    overview = make_overview(source, whole=whole, n_jobs=jobs)
    fit_to_subsample(estimator, overview)
    if blurs and not whole:
        overview = make_overview(source, whole=True, n_jobs=jobs)
    return estimator, overview


def make_estimator(settings: Settings) -> GradientEstimator:
    """Clone of the estimator that is given, or the default one, not fitted."""
    if settings.estimator is not None:
        made: GradientEstimator = clone(settings.estimator)
        return made
    # Blurring fits anew with fixed widths, which a Gaussian base does not survive.
    return LogDensityGradient(
        bandwidth="cv" if settings.ascent == "blurring" else "auto",
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
        verbose=settings.verbose or 0,
    )


def _choose_ascent(settings: Settings, estimator: GradientEstimator) -> str:
    """What ``ascent="auto"`` means for the fitted estimator."""
    if settings.ascent != "auto":
        return settings.ascent
    if not isinstance(estimator, LogDensityGradient):
        return "fixed_point"
    if not estimator.settings_.has_mean_shift:
        return "quasi_newton"
    share = _gaussian_share(settings, estimator)
    return "rows" if share < GAUSSIAN_SHARE else "fixed_point"


def _gaussian_share(settings: Settings, estimator: GradientEstimator) -> float:
    """Share of the gradient that a Gaussian explains; 1 if all else was given."""
    if (
        settings.ascent == "auto"
        and isinstance(estimator, LogDensityGradient)
        and estimator.settings_.bandwidth == "auto"
        and np.isfinite(estimator.gaussian_share_)
    ):
        return estimator.gaussian_share_
    return 1.0


def _make_ascent(
    settings: Settings, ascent: str, estimator: GradientEstimator
) -> Ascent:
    """Parameters of the ascent, in the frame."""
    step_size: float | Floats | None = None
    if settings.step_size is not None:
        step_size = settings.step_size / frame_of(estimator).unit ** 2
    return Ascent(ascent, step_size, settings.tol, settings.max_iter)


def _is_doubtful(
    settings: Settings, estimator: GradientEstimator, landscape: Landscape
) -> bool:
    """Whether the gradient was followed on trial, to many modes of chance.

    A field that is far from Gaussian may ripple: then many of its modes are no
    clusters, and the graph of rows sees more.
    """
    if _gaussian_share(settings, estimator) >= MOSTLY_GAUSSIAN:
        return False
    made = landscape.default_merges()
    return int(made.sum()) > max(1.0, MOST_CHANCE * (len(made) + 1))
