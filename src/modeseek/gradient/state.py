"""The fitted state of LogDensityGradient: made by a fit, and read when it is asked.

What is fitted is stored in the data's coordinates, as arrays, so that it can be saved;
the field to climb and the influence of rows are rebuilt from it in the frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from modeseek.errors import warn_user
from modeseek.field.basis import OwnBasis
from modeseek.field.fields import CommonField, PotentialField, SeparateField
from modeseek.field.own import LinearField, OwnField
from modeseek.gradient.base import frame_of
from modeseek.gradient.extensions.losses import Rule, bregman_influence
from modeseek.gradient.extensions.penalties import response
from modeseek.gradient.model import (
    LossCurvature,
    Model,
    chosen_edges,
    coefficients_of,
    fit_choice,
    fit_grid,
    fit_learned,
    gaussian_share,
    tabulate_scores,
)
from modeseek.gradient.moments import ONE_SCALE, Basis, sum_moments, task_scales
from modeseek.gradient.preparation import Prepared, prepare
from modeseek.gradient.relevance import measure_relevance
from modeseek.gradient.settings import ALPHAS, AUTO_CENTERS
from modeseek.gradient.uncertainty import (
    Influence,
    differences,
    integral_influence,
    potential_influence,
)
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.source import FramedRows, Source
from modeseek.rows.subsample import Overview
from modeseek.rows.summary import summarize
from modeseek.rows.validation import check_range

if TYPE_CHECKING:
    from modeseek.gradient.least_squares import LogDensityGradient


def fit_to_subsample(estimator: LogDensityGradient, overview: Overview) -> None:
    """Fit an estimator to rows whose summary and subsample were taken already."""
    prepared = prepare(estimator, overview)
    problem, typical = prepared.problem, prepared.typical
    choice, bandwidth = prepared.choice, prepared.settings.bandwidth
    if bandwidth == "learned" or (bandwidth == "auto" and choice.is_plain()):
        ranking, always = overview.sample.ranking, bandwidth == "learned"
        model = fit_learned(problem, typical, ranking, always=always)
    else:
        widths, lams = prepared.grid
        model = fit_choice(problem, choice, lams, typical, widths)
    _store(estimator, model, prepared, overview)


def prepare_coarsely(estimator: LogDensityGradient, overview: Overview) -> Prepared:
    """Prepare a fit to a few rows: after this it draws nothing from a random state."""
    return prepare(estimator, overview, most_centers=AUTO_CENTERS)


def fit_coarsely(
    estimator: LogDensityGradient, overview: Overview, prepared: Prepared
) -> None:
    """Fit to a few rows, with few centres and every other width; learn no widths.

    The share of the gradient that a Gaussian explains comes out somewhat larger.
    """
    model = fit_grid(prepared.problem, ALPHAS, prepared.typical, step=2)
    _store(estimator, model, prepared, overview)


def add_rows(estimator: LogDensityGradient, source: Source) -> None:
    """Add rows to the moments of a fitted estimator, and solve again."""
    choice, frame = estimator.settings_.choice(), frame_of(estimator)
    widths, kind = estimator.bandwidth_ / frame.unit, (choice.shared, choice.common)
    own = _own_basis(estimator)
    basis = Basis(estimator._drawn, estimator._base, widths, *kind, ONE_SCALE, own)
    summary = summarize(source)
    check_range(frame, summary.low, summary.high)
    moments = estimator.moments_ + sum_moments(FramedRows(source, frame), basis)
    theta, kept = coefficients_of(
        moments, task_scales_of(estimator), penalty_of(estimator), choice.penalty
    )
    _store_coefficients(estimator, theta, kept)
    estimator.moments_ = moments


def _own_basis(estimator: LogDensityGradient) -> OwnBasis | None:
    """The basis of the user's that the estimator was fitted with, if any."""
    function = estimator.settings_.basis
    return OwnBasis(function, frame_of(estimator)) if callable(function) else None


def rebuild_field(estimator: LogDensityGradient) -> LinearField:
    """The fitted gradient as a field of the frame."""
    frame, settings = frame_of(estimator), estimator.settings_
    C, widths = frame.enter(estimator.centers_), estimator.bandwidth_ / frame.unit
    own = _own_basis(estimator)
    if own is not None:
        return OwnField(C, widths, np.atleast_2d(estimator.coef_), own)
    if settings.coefficients == "shared":
        return PotentialField(C, widths, estimator.coef_, estimator._base)
    if settings.basis == "common":
        return CommonField(C, widths, (estimator.coef_.T * frame.unit).T)
    return SeparateField(C, widths, estimator.coef_)


def rebuild_influence(
    estimator: LogDensityGradient, tops: Floats, bottoms: Floats
) -> Influence:
    """Influence of rows on differences of height, in the frame."""
    field = rebuild_field(estimator)
    moved = differences(field, tops, bottoms)
    curvature = loss_curvature_of(estimator)
    if curvature is not None:
        # Where a feature is of no size in the frame, its curvature is zero.
        U = np.linalg.pinv(curvature.A, hermitian=True) @ moved
        return bregman_influence(field, curvature.rule, U)
    penalty, lam = estimator.settings_.choice().penalty, penalty_of(estimator)
    kept = estimator.moments_.of_centers(estimator.kept_)
    U = response(kept, task_scales_of(estimator), lam, penalty, moved)
    if isinstance(field, PotentialField):
        return potential_influence(field, U)
    return integral_influence(field, U)


def task_scales_of(estimator: LogDensityGradient) -> Floats:
    """Scale of G for every task at the fitted widths, shape (tasks,)."""
    choice = estimator.settings_.choice()
    unit, power = frame_of(estimator).unit, estimator.settings_.scale_power
    kind = choice.shared, choice.common
    return task_scales(estimator.bandwidth_ / unit, *kind, power, unit)


def loss_curvature_of(estimator: LogDensityGradient) -> LossCurvature | None:
    """Loss and its curvature at the fit; None where the loss is squared."""
    if estimator._curvature is None:
        return None
    A, c, widths = estimator._curvature
    loss = estimator.settings_.choice().loss
    assert loss is not None
    return LossCurvature(Rule(loss, c, widths), A)


def penalty_of(estimator: LogDensityGradient) -> float | Floats:
    """The penalty chosen, with its gamma (2,) for multi-task coefficients."""
    if estimator.settings_.coefficients == "multitask":
        return np.array([estimator.alpha_, estimator.gamma_])
    return estimator.alpha_


def _store(
    estimator: LogDensityGradient, model: Model, prepared: Prepared, overview: Overview
) -> None:
    """Store a model, in the data's coordinates, and what is measured with it."""
    summary, frame = overview.summary, prepared.frame
    _check_same_rows(float(model.moments.weight), summary.n_counted)
    estimator.n_features_in_ = len(prepared.typical)
    estimator.settings_ = prepared.settings
    estimator._rounding = overview.rounding
    estimator._origin, estimator._unit = frame.origin, frame.unit
    estimator._base, estimator._drawn = model.base, prepared.problem.centers
    _store_coefficients(estimator, model.theta, model.kept)
    estimator.bandwidth_ = model.widths * frame.unit
    lam = np.ravel(model.lam)
    estimator.alpha_ = float(lam[0])
    estimator.gamma_ = float(lam[1]) if len(lam) > 1 else 0.0
    estimator._curvature = None
    if model.curvature is not None:
        rule = model.curvature.rule
        estimator._curvature = (model.curvature.A, rule.c, rule.widths)
    estimator.gaussian_base_ = model.base / frame.unit / frame.unit
    estimator.moments_ = model.moments.scaled(summary.row_weight)
    estimator.cv_results_ = {}
    if prepared.problem.n_folds:
        estimator.cv_results_ = tabulate_scores(model, frame)
        _warn_of_edges(estimator, model)
    estimator.gaussian_share_ = float("nan")
    if prepared.settings.standardizes and prepared.choice.is_plain():
        estimator.gaussian_share_ = gaussian_share(model, prepared.typical)
    field, sample, n_jobs = rebuild_field(estimator), overview.sample, estimator.n_jobs
    estimator.feature_relevance_ = measure_relevance(
        field, frame, sample, summary, prepared.rng, n_jobs
    )
    if estimator.verbose:
        print(
            f"[LogDensityGradient] {len(estimator.centers_)} centres, alpha "
            f"{estimator.alpha_:.3g}, bandwidth {np.unique(estimator.bandwidth_)}"
        )


def _check_same_rows(weight: float, before: float) -> None:
    """Refuse rows that were others in the last pass than in the first."""
    if not np.isclose(weight, before, rtol=1e-9):
        raise ValueError(
            "The rows of X changed from one pass over them to the next: their "
            f"weight was {before:g} and then {weight:g}."
        )


def _warn_of_edges(estimator: LogDensityGradient, model: Model) -> None:
    given = {"alpha": estimator.alpha, "gamma": estimator.gamma}
    for name in chosen_edges(model, estimator.bandwidth, given):
        warn_user(
            f"The chosen {name} is the first or last of its candidates; a better one "
            "may lie beyond. Widen the candidates, or see cv_results_."
        )


def _store_coefficients(
    estimator: LogDensityGradient, theta: Floats, kept: Integers
) -> None:
    """Store what is solved for, in the data's coordinates."""
    frame, settings = frame_of(estimator), estimator.settings_
    estimator.centers_ = frame.leave(estimator._drawn[kept])
    estimator.kept_ = kept
    estimator.coef_ = theta[0] if settings.coefficients == "shared" else theta
    if settings.basis == "common":  # these are gradients, and have a unit
        estimator.coef_ = (theta.T / frame.unit).T
