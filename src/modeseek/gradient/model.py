r"""From rows to a model: the frame, the widths, the penalty and the coefficients.

Ways to the widths:

- :func:`fit_grid`: candidates, the same for all features or not, by cross-validation;
- :func:`fit_learned`: one for each feature, by descent of the cross-validated loss,
  always or only where the features are mostly Gaussian, over a Gaussian base then;
- :func:`fit_choice`: a grid for any penalty and loss. Those that iterate take the
  width that the ridge chose, and choose their own penalty at that width.

How Gaussian they are is measured by the loss. For d features of unit variance a
Gaussian has the loss -d, minus its Fisher information, and the best loss of any model
is minus the data's. Their quotient is the share of the gradient, in the mean square,
that the Gaussian explains.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modeseek.gradient.extensions.choices import Choice
from modeseek.gradient.extensions.losses import (
    Rule,
    gradient_scales,
    held_out,
    minimize_loss,
)
from modeseek.gradient.extensions.penalties import Penalty, l1_paths, ridge_path, solve
from modeseek.gradient.moments import Moments, Problem, total_moments
from modeseek.gradient.selection import Scores, search, search_default
from modeseek.gradient.settings import ALPHAS
from modeseek.gradient.widths import learn_widths, marginal_start, sort_by_fold
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.coordinates import Frame
from modeseek.rows.ranking import Ranking, draw_centers

#: Share of the gradient that a Gaussian must explain to become the model's base.
GAUSSIAN_SHARE = 0.3

#: Rows on which widths are learned.
LEARNING_ROWS = 2000

#: Penalty of a start that has none of its own.
STARTING_LAM = 1e-3

#: Penalties of a loss that is not squared, in the squared loss's own.
LAMS_AROUND = 10.0 ** np.arange(-1.0, 1.01, 0.5)


#: Penalties of those that iterate; stronger ones leave next to nothing.
ITERATIVE_LAMS = 10.0 ** np.arange(-6.0, -0.9)


class PenaltyScores(NamedTuple):
    """Hold-out losses of penalties at the chosen width, a second choice after it."""

    lams: Floats  # (a,)
    loss: Floats  # (a,)
    fold_loss: Floats  # (a, n_folds)


class LossCurvature(NamedTuple):
    """A loss that is not squared, and half its second derivatives at the minimum."""

    rule: Rule
    A: Floats  # (tasks, b, b)


class Model(NamedTuple):
    """A fitted model, in its frame."""

    centers: Floats  # (b, d) those with a coefficient
    widths: Floats  # (d,)
    base: Floats  # (d,)
    theta: Floats  # (tasks, b)
    lam: float | Floats
    moments: Moments  # of all centres drawn
    scores: Scores  # of the grid of widths, also where widths were learned after it
    lams: Floats  # of that grid
    kept: Integers  # (b,) which of the centres drawn they are
    penalty_scores: PenaltyScores | None = None
    curvature: LossCurvature | None = None


def fit_grid(
    problem: Problem,
    lams: Floats,
    typical: Floats,
    candidates: Floats | None = None,
    penalty: Penalty = ridge_path,
    step: int = 1,
) -> Model:
    """Choose width and penalty by cross-validation and solve.

    Widths are the candidates (n_widths, d), by default multiples of the typical
    distance (d,) between rows, which is infinite for features outside the model;
    ``step=2`` tries every other multiple. Penalties are ``lams`` (a, ...).
    """
    if candidates is None:
        scores = search_default(problem, typical, lams, penalty, step)
    else:
        scores = search(problem, candidates, lams, penalty)
    i, j = scores.best() if problem.selection == "min" else scores.winner()
    return _solve(problem, scores.widths[i], lams, j, scores, penalty)


def _solve(
    problem: Problem,
    widths: Floats,
    lams: Floats,
    j: int,
    scores: Scores,
    penalty: Penalty = ridge_path,
) -> Model:
    """Solve for the coefficients on all rows; centres without any are dropped."""
    moments = total_moments(problem, widths)
    scales = problem.task_scales(widths)
    theta, kept = coefficients_of(moments, scales, lams[j], penalty)
    return Model(
        centers=problem.centers[kept],
        widths=widths,
        base=problem.base,
        theta=theta,
        lam=lams[j],
        moments=moments,
        scores=scores,
        lams=lams,
        kept=kept,
    )


def coefficients_of(
    moments: Moments, scales: Floats, lam: float | Floats, penalty: Penalty
) -> tuple[Floats, Integers]:
    """Solve for the coefficients; drop centres without any, but for one.

    Returns the coefficients (tasks, n_kept), and which centres (n_kept,) they are of.
    """
    theta = solve(moments, scales, lam, penalty)
    kept = np.flatnonzero(theta.any(axis=0))
    if not kept.size:
        kept = np.zeros(1, dtype=np.intp)
    return theta[:, kept], kept


def fit_choice(
    problem: Problem,
    choice: Choice,
    lams: Floats | None,
    typical: Floats,
    candidates: Floats | None,
) -> Model:
    """Choose width and penalty for any penalty and loss, as :func:`fit_grid` does.

    Without ``lams`` (a, ...) the penalties to try follow from the choice.
    """
    grid = ALPHAS if lams is None else lams
    if choice.loss is not None:
        simple = fit_grid(problem, grid, typical, candidates)
        own = float(simple.lam) * LAMS_AROUND if lams is None else lams
        return _fit_loss(problem, choice, simple, own)
    if choice.iterative:
        simple = fit_grid(problem, ALPHAS, typical, candidates)
        own = ITERATIVE_LAMS if lams is None else lams
        return _choose_again(problem, simple, own, choice.penalty)
    model = fit_grid(problem, grid, typical, candidates, choice.penalty)
    if choice.path and lams is None:
        return _choose_again(problem, model, _knots(problem, model), choice.penalty)
    return model


def _knots(problem: Problem, model: Model) -> Floats:
    """Penalties at the knots of the l1 paths of all tasks, ascending."""
    scales = problem.task_scales(model.widths)
    least = float(model.lams.min())
    paths = l1_paths(model.moments, scales, least)
    knots = np.concatenate([*(lams for lams, _ in paths), np.ravel(model.lam)])
    return np.unique(knots[knots >= least])


def _choose_again(
    problem: Problem, model: Model, lams: Floats, penalty: Penalty
) -> Model:
    """Keep the width of a model and choose the penalty among others."""
    scores = search(problem, model.widths[None], lams, penalty)
    j = int(scores.loss[0].argmin())
    tried = PenaltyScores(lams, scores.loss[0], scores.fold_loss[0])
    again = _solve(problem, model.widths, lams, j, model.scores, penalty)
    return again._replace(lams=model.lams, penalty_scores=tried)


def _fit_loss(problem: Problem, choice: Choice, simple: Model, lams: Floats) -> Model:
    """Minimise a loss that is not squared, at the width of the squared one."""
    assert choice.loss is not None
    theta = np.zeros(simple.moments.h.shape)
    theta[:, simple.kept] = simple.theta
    c = gradient_scales(problem, simple.widths, theta, choice.loss)
    rule = Rule(choice.loss, c, simple.widths)
    tried, j = None, 0
    if problem.n_folds and len(lams) > 1:
        fold_loss = held_out(problem, rule, lams)
        assert problem.fold is not None
        weight = np.bincount(problem.fold, problem.weight, problem.n_folds + 1)[:-1]
        loss = np.average(fold_loss, axis=1, weights=weight)
        tried = PenaltyScores(lams, loss, fold_loss)
        j = int(loss.argmin())
        if not np.isfinite(loss[j]):
            raise ValueError(
                "For every penalty some held-out gradient leaves the domain of the "
                "shifted loss. Use an even loss, such as 'even_power', or 'squared'."
            )
    start = solve(simple.moments, problem.task_scales(simple.widths), lams[j])
    fit = minimize_loss(problem, rule, float(lams[j]), start)
    return simple._replace(
        centers=problem.centers,
        theta=fit.theta,
        lam=lams[j],
        kept=np.arange(len(problem.centers)),
        penalty_scores=tried,
        curvature=LossCurvature(rule, fit.A),
    )


def chosen_edges(model: Model, bandwidth: Any, penalties: dict[str, Any]) -> list[str]:
    """Name what was chosen on an edge that more candidates would move.

    The bandwidth and, by name, the penalties are as users give them. The widest
    default width is no such edge: there the model is all but Gaussian.
    """
    i, j = model.scores.best()
    last = len(model.scores.widths) - 1
    on_edge = []
    if isinstance(bandwidth, str):
        on_edge += ["bandwidth"] * (i == last)
    elif np.ndim(bandwidth) == 1 and last > 0:
        on_edge += ["bandwidth"] * (i in (0, last))
    penalty = np.ravel(model.lams[j] if model.penalty_scores is None else model.lam)
    for (name, candidates), chosen in zip(penalties.items(), penalty, strict=False):
        if np.ndim(candidates) == 1 and np.size(candidates) > 1:
            ends = np.min(candidates), np.max(candidates)
            on_edge += [name] * (chosen in ends)
    return on_edge


def tabulate_scores(model: Model, frame: Frame) -> dict[str, NDArray[Any]]:
    """Hold-out losses by name, in the unit of the data unless it is standardised."""
    scores, tried, lams = model.scores, model.penalty_scores, model.lams
    unit = 1.0 if np.ndim(frame.unit) else float(frame.unit)
    table = {
        "bandwidth": scores.widths * frame.unit,
        "alpha": lams if lams.ndim == 1 else lams[:, 0],
        "mean_test_loss": scores.loss / unit / unit,
        "std_test_loss": scores.fold_loss.std(axis=-1) / unit / unit,
        "n_neighbors": scores.neighbors,
        "allowed": scores.allowed,
    }
    if lams.ndim > 1:
        table["gamma"] = lams[:, 1]
    if tried is not None:
        spread = np.full(len(tried.loss), np.inf)
        finite = np.isfinite(tried.loss)  # a shifted loss may leave its domain
        spread[finite] = tried.fold_loss[finite].std(axis=-1)
        table["along_alpha"] = tried.lams
        table["along_mean_test_loss"] = tried.loss / unit / unit
        table["along_std_test_loss"] = spread / unit / unit
    return table


def gaussian_share(model: Model, typical: Floats) -> float:
    """Share of the gradient that a Gaussian explains, from 0 to 1.

    The model's grid of widths was searched without a base, in a frame of unit
    variances; typical distances (d,) are infinite for features outside the model.
    """
    gaussian = float(np.isfinite(typical).sum())
    return gaussian / max(gaussian, -float(model.scores.loss[model.scores.best()]))


def fit_learned(
    problem: Problem, typical: Floats, ranking: Ranking, *, always: bool
) -> Model:
    """Learn widths on some rows, then solve on all; over a base if that is apt.

    A Gaussian base joins the model where it explains enough; where it does not, and
    not ``always``, the one width that a grid chose is kept. The problem has shared
    coefficients, folds, and a frame of unit variances; typical distances (d,) are
    those of :func:`fit_grid`.
    """
    simple = fit_grid(problem, ALPHAS, typical)
    mostly_gaussian = gaussian_share(simple, typical) >= GAUSSIAN_SHARE
    if not (mostly_gaussian or always):
        return simple
    finite = np.isfinite(typical)
    if mostly_gaussian:
        problem = problem._replace(base=np.where(finite, 1.0, 0.0))
    folded = sort_by_fold(problem, _rows_to_learn_on(problem, ranking), finite)
    reach = float(typical[finite][0])
    starts = [
        (simple.widths[finite], float(simple.lam)),
        (typical[finite], STARTING_LAM),
        marginal_start(folded, reach, ALPHAS[::2]),
    ]
    learned = learn_widths(folded, reach, starts)
    if not np.isfinite(learned.loss):
        return simple
    widths = np.full(len(typical), np.inf)
    widths[finite] = learned.widths
    chosen = np.array([learned.lam])
    return _solve(problem, widths, chosen, 0, simple.scores)._replace(lams=ALPHAS)


def _rows_to_learn_on(problem: Problem, ranking: Ranking) -> Integers:
    """Copies of distinct rows drawn from the ranking; all where they are few."""
    if len(ranking.first) <= LEARNING_ROWS:
        return np.arange(problem.n_rows)
    rng = np.random.default_rng(0)
    drawn = np.zeros(len(ranking.first), dtype=bool)
    drawn[ranking.rank[draw_centers(ranking, LEARNING_ROWS, rng)]] = True
    return np.flatnonzero(drawn[ranking.rank])
