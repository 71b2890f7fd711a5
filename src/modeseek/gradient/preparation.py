"""Before a fit: centres and folds are drawn, and the frame is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from modeseek.field.basis import OwnBasis
from modeseek.gradient.extensions.choices import Choice
from modeseek.gradient.moments import Problem
from modeseek.gradient.settings import (
    AUTO_CENTERS,
    GradientSettings,
    Grid,
    count_centers,
    read_centers,
    read_grid,
    read_settings,
)
from modeseek.rows.arrays import Floats, Integers, Reals
from modeseek.rows.coordinates import Frame, frame_from_centers, typical_distance
from modeseek.rows.ranking import (
    draw_centers,
    generator,
    make_folds,
    rows_among,
)
from modeseek.rows.source import FramedRows
from modeseek.rows.subsample import Overview
from modeseek.rows.validation import (
    check_folds,
    check_range,
    check_widths_match,
    check_within_reach,
)

if TYPE_CHECKING:
    from modeseek.gradient.least_squares import LogDensityGradient


class Prepared(NamedTuple):
    """A problem to solve, the candidates for it, and the frame that it is posed in."""

    problem: Problem
    frame: Frame
    typical: Floats  # (d,) typical distance between rows; infinite for constant ones
    settings: GradientSettings
    choice: Choice
    grid: Grid  # widths in the frame
    rng: np.random.Generator


def prepare(
    given: LogDensityGradient, overview: Overview, most_centers: int | None = None
) -> Prepared:
    """Read the parameters, draw centres and folds, and find the frame.

    No more than ``most_centers`` are drawn, whatever the parameters say.
    """
    source, summary, sample, rounding = overview
    d = sample.X.shape[1]
    settings = read_settings(given, d)
    choice = settings.choice()
    grid = read_grid(given, d, settings, choice)
    rng = generator(given.random_state)

    n_distinct = len(sample.ranking.first)
    most = n_distinct // 2 if grid.has_choice else n_distinct
    centers, drawn = _take_centers(given, settings, overview, most, most_centers, rng)
    # A single centre has no distance to another: rows stand in for centres.
    reference = centers
    if len(centers) == 1:
        some = draw_centers(sample.ranking, min(AUTO_CENTERS, n_distinct), rng)
        reference = sample.X[some]
    frame = _choose_frame(overview, reference, settings)
    reference_rows = frame.enter(reference)
    if grid.widths is not None:
        widths = np.where(summary.constant, np.inf, grid.widths / frame.unit)
        check_widths_match(widths, reference_rows)
        grid = grid._replace(widths=widths)
    is_subsample = not len(sample.row)
    all_rows = FramedRows(source, frame, summary.row_weight) if is_subsample else None
    problem = Problem(
        read=lambda part: frame.enter(sample.X[part]),
        n_rows=len(sample.X),
        centers=frame.enter(centers),
        base=np.zeros(d),
        shared=choice.shared,
        common=choice.common,
        weight=sample.weight,
        n_jobs=given.n_jobs,
        all_rows=all_rows,
        steps=rounding.step / frame.unit,
        selection=settings.selection,
        scale_power=settings.scale_power,
        unit=frame.unit,
        own=None if choice.own is None else OwnBasis(choice.own, frame),
    )
    if grid.has_choice:
        folds = check_folds(given.cv, source.n_rows or 0)
        fold, n_folds = make_folds(sample, drawn, folds, rng)
        if given.centers is not None and not n_folds:
            raise ValueError(
                "Every row is one of the centers, and none is left to judge widths and "
                "penalties: give fewer centers, or bandwidth and alpha as numbers."
            )
        problem = problem._replace(fold=fold, n_folds=n_folds)
    typical = np.where(summary.constant, np.inf, typical_distance(reference_rows))
    return Prepared(problem, frame, typical, settings, choice, grid, rng)


def _take_centers(
    given: LogDensityGradient,
    settings: GradientSettings,
    overview: Overview,
    most: int,
    most_centers: int | None,
    rng: np.random.Generator,
) -> tuple[Reals, Integers]:
    """Centres in the data's coordinates, and the rows of the sample that they are."""
    summary, sample = overview.summary, overview.sample
    own = read_centers(given, sample.X.shape[1])
    if own is not None:
        reach = (summary.high - summary.low).max()
        if ((own < summary.low - reach) | (own > summary.high + reach)).any():
            raise ValueError(
                "Some of the centers are farther from all rows than rows are from each "
                "other: give centers in the unit of X."
            )
        return own, rows_among(sample.X, own)
    n_centers = count_centers(given, settings, most)
    n_centers = min(n_centers, most_centers or n_centers)
    drawn = draw_centers(sample.ranking, n_centers, rng)
    return sample.X[drawn], drawn


def _choose_frame(
    overview: Overview, reference: Reals, settings: GradientSettings
) -> Frame:
    """Frame of reference rows, or of standardised features; refuse rows beyond it."""
    summary, sample = overview.summary, overview.sample
    frame = frame_from_centers(reference.astype(np.float64))
    if len(sample.row):  # the subsample is all rows, and a refusal can name the row
        check_within_reach(frame, sample.X, sample.row)
    check_range(frame, summary.low, summary.high)
    if not settings.standardizes:
        return frame
    frame = summary.frame()
    check_range(frame.without(summary.constant), summary.low, summary.high)
    return frame
