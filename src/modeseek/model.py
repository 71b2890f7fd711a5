r"""From rows to a model: the frame, the widths, the penalty and the coefficients.

Three ways to the widths:

- :func:`fit_grid`: candidates, the same for all features or not, by cross-validation;
- :func:`fit_learned`: one for each feature, by descent of the cross-validated loss;
- :func:`fit_auto`: one width in standardised units, unless the features are mostly
  Gaussian; then learned widths, over a Gaussian base.

How Gaussian they are is measured by the loss. For d features of unit variance a
Gaussian has the loss -d, minus its Fisher information, and the best loss of any model
is minus the data's. Their quotient is the share of the gradient, in the mean square,
that the Gaussian explains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.frame import Floats
from modeseek.moments import Moments, Problem, compute_moments, task_scales
from modeseek.penalties import ridge
from modeseek.sampling import Integers, Ranking, draw_centers
from modeseek.selection import Scores, search, search_default
from modeseek.widths import learn_widths, make_pilot, marginal_start

#: Share of the gradient that a Gaussian must explain to become the model's base.
GAUSSIAN_SHARE = 0.3

#: Rows on which widths are learned.
PILOT_ROWS = 2000

#: Penalty of a start that has none of its own.
STARTING_LAM = 1e-3


class Model(NamedTuple):
    """A fitted model, in its frame."""

    centers: Floats  # (b, d)
    widths: Floats  # (d,)
    base: Floats  # (d,)
    theta: Floats  # (tasks, b)
    lam: float
    moments: Moments
    scores: Scores  # of the grid of widths, also where widths were learned after it


def fit_grid(
    problem: Problem, lams: Floats, typical: Floats, candidates: Floats | None = None
) -> Model:
    """Choose width and penalty by cross-validation and solve.

    Parameters
    ----------
    problem : Problem
    lams : ndarray of shape (a,)
    typical : ndarray of shape (d,)
        Typical distance between rows; infinite for features outside the model.
    candidates : ndarray of shape (n_widths, d), optional
        Multiples of the typical distance by default.

    Returns
    -------
    Model
    """
    if candidates is None:
        scores = search_default(problem, typical, lams)
    else:
        scores = search(problem, candidates, lams)
    i, j = scores.winner()
    return _solve(problem, scores.widths[i], float(lams[j]), scores)


def _solve(problem: Problem, widths: Floats, lam: float, scores: Scores) -> Model:
    """Solve for the coefficients on all rows."""
    everything = problem._replace(fold=None, n_folds=0)
    moments = compute_moments(everything, widths, np.ones(1)).total()[0]
    theta = ridge(moments, task_scales(widths, problem.shared), lam)
    return Model(problem.centers, widths, problem.base, theta, lam, moments, scores)


def gaussian_share(model: Model) -> float:
    """Share of the gradient that a Gaussian explains, from 0 to 1.

    Parameters
    ----------
    model : Model
        Without a base, chosen by cross-validation in a frame of unit variances.

    Returns
    -------
    float
    """
    gaussian = float(np.isfinite(model.widths).sum())
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
    if gaussian_share(simple) < GAUSSIAN_SHARE:
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
    if gaussian_share(simple) >= GAUSSIAN_SHARE:
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
    )
    reach = float(typical[finite][0])
    starts = [
        (simple.widths[finite], simple.lam),
        (typical[finite], STARTING_LAM),
        marginal_start(pilot, reach, lams[::2]),
    ]
    learned = learn_widths(pilot, reach, starts)
    if not np.isfinite(learned.loss):
        return simple
    widths = np.full(len(typical), np.inf)
    widths[finite] = learned.widths
    return _solve(problem, widths, learned.lam, simple.scores)


def _pilot_rows(problem: Problem, ranking: Ranking) -> Integers:
    """Rows to learn on: copies of distinct rows drawn from the ranking."""
    if len(ranking.first) <= PILOT_ROWS:
        return np.arange(problem.n_rows)
    rng = np.random.default_rng(0)
    drawn = np.zeros(len(ranking.first), dtype=bool)
    drawn[ranking.rank[draw_centers(ranking, PILOT_ROWS, rng)]] = True
    return np.flatnonzero(drawn[ranking.rank])
