r"""From rows to a model: the frame, the widths, the penalty and the coefficients.

Ways to the widths:

- :func:`fit_grid`: candidates, the same for all features or not, by cross-validation;
- :func:`fit_learned`: one for each feature, by descent of the cross-validated loss;
- :func:`fit_auto`: one width in standardised units, unless the features are mostly
  Gaussian; then learned widths, over a Gaussian base;
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
from modeseek.gradient.moments import Moments, Problem, task_scales, total_moments
from modeseek.gradient.selection import Scores, search, search_default
from modeseek.gradient.widths import learn_widths, make_pilot, marginal_start
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.coordinates import Frame
from modeseek.rows.ranking import Ranking, draw_centers

#: Share of the gradient that a Gaussian must explain to become the model's base.
GAUSSIAN_SHARE = 0.3

#: Rows on which widths are learned.
PILOT_ROWS = 2000

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

    Parameters
    ----------
    problem : Problem
    lams : ndarray of shape (a, ...)
    typical : ndarray of shape (d,)
        Typical distance between rows; infinite for features outside the model.
    candidates : ndarray of shape (n_widths, d), optional
        Multiples of the typical distance by default.
    penalty : callable
    step : int
        1, or 2 for every other multiple.

    Returns
    -------
    Model
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
    scales = task_scales(widths, problem.shared, problem.common)
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

    Parameters
    ----------
    moments : Moments
    scales : ndarray of shape (tasks,)
    lam : float or ndarray
    penalty : callable

    Returns
    -------
    theta : ndarray of shape (tasks, n_kept)
    kept : ndarray of shape (n_kept,)
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
    ridge_lams: Floats,
) -> Model:
    """Choose width and penalty for any penalty and loss.

    Parameters
    ----------
    problem : Problem
    choice : Choice
    lams : ndarray of shape (a, ...), optional
        Chosen here by default.
    typical : ndarray of shape (d,)
    candidates : ndarray of shape (n_widths, d), optional
    ridge_lams : ndarray of shape (a,)
        Default candidates of the ridge.

    Returns
    -------
    Model
    """
    grid = ridge_lams if lams is None else lams
    if choice.loss is not None:
        simple = fit_grid(problem, grid, typical, candidates)
        own = float(simple.lam) * LAMS_AROUND if lams is None else lams
        return _fit_loss(problem, choice, simple, own)
    if choice.iterative:
        simple = fit_grid(problem, ridge_lams, typical, candidates)
        own = ITERATIVE_LAMS if lams is None else lams
        return _choose_again(problem, simple, own, choice.penalty)
    model = fit_grid(problem, grid, typical, candidates, choice.penalty)
    if choice.path and lams is None:
        return _choose_again(problem, model, _knots(problem, model), choice.penalty)
    return model


def _knots(problem: Problem, model: Model) -> Floats:
    """Penalties at the knots of the l1 paths of all tasks, ascending."""
    scales = task_scales(model.widths, problem.shared, problem.common)
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
    scales = task_scales(simple.widths, problem.shared, problem.common)
    start = solve(simple.moments, scales, lams[j])
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

    The widest default width is no such edge: there the model is all but Gaussian.

    Parameters
    ----------
    model : Model
    bandwidth : object
        As users give it.
    penalties : dict
        Penalties as users give them, by name.

    Returns
    -------
    list of str
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
    """Hold-out losses by name, in the unit of the data unless it is standardised.

    Parameters
    ----------
    model : Model
    frame : Frame

    Returns
    -------
    dict of ndarray
    """
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

    Parameters
    ----------
    model : Model
        Its grid of widths was searched without a base, in a frame of unit variances.
    typical : ndarray of shape (d,)
        Infinite for features outside the model.

    Returns
    -------
    float
    """
    gaussian = float(np.isfinite(typical).sum())
    return gaussian / max(gaussian, -float(model.scores.loss[model.scores.best()]))


def fit_auto(
    problem: Problem, lams: Floats, typical: Floats, ranking: Ranking
) -> Model:
    """One width, or learned widths over a base where features are mostly Gaussian.

    Parameters
    ----------
    problem : Problem
        Shared coefficients, with folds, in a frame of unit variances.
    lams : ndarray of shape (a,)
    typical : ndarray of shape (d,)
        Typical distance between rows; infinite for features outside the model.
    ranking : Ranking

    Returns
    -------
    Model
    """
    simple = fit_grid(problem, lams, typical)
    if gaussian_share(simple, typical) < GAUSSIAN_SHARE:
        return simple
    return _learn_from(simple, problem, lams, typical, ranking)


def fit_learned(
    problem: Problem, lams: Floats, typical: Floats, ranking: Ranking
) -> Model:
    """Learned widths, over a Gaussian base where that explains enough.

    Parameters are those of :func:`fit_auto`.
    """
    simple = fit_grid(problem, lams, typical)
    return _learn_from(simple, problem, lams, typical, ranking)


def _learn_from(
    simple: Model, problem: Problem, lams: Floats, typical: Floats, ranking: Ranking
) -> Model:
    """Learn widths on some rows, then solve on all of them."""
    if gaussian_share(simple, typical) >= GAUSSIAN_SHARE:
        problem = problem._replace(base=np.where(np.isfinite(typical), 1.0, 0.0))
    finite = np.isfinite(typical)
    rows = _pilot_rows(problem, ranking)
    assert problem.fold is not None
    pilot = make_pilot(
        problem.enter(rows)[:, finite],
        None if problem.weight is None else problem.weight[rows],
        problem.fold[rows],
        problem.n_folds,
        problem.centers[:, finite],
        problem.base[finite],
        None if problem.steps is None else problem.steps[finite],
    )
    reach = float(typical[finite][0])
    starts = [
        (simple.widths[finite], float(simple.lam)),
        (typical[finite], STARTING_LAM),
        marginal_start(pilot, reach, lams[::2]),
    ]
    learned = learn_widths(pilot, reach, starts)
    if not np.isfinite(learned.loss):
        return simple
    widths = np.full(len(typical), np.inf)
    widths[finite] = learned.widths
    chosen = np.array([learned.lam])
    return _solve(problem, widths, chosen, 0, simple.scores)._replace(lams=lams)


def _pilot_rows(problem: Problem, ranking: Ranking) -> Integers:
    """Rows to learn on: copies of distinct rows drawn from the ranking."""
    if len(ranking.first) <= PILOT_ROWS:
        return np.arange(problem.n_rows)
    rng = np.random.default_rng(0)
    drawn = np.zeros(len(ranking.first), dtype=bool)
    drawn[ranking.rank[draw_centers(ranking, PILOT_ROWS, rng)]] = True
    return np.flatnonzero(drawn[ranking.rank])
