"""Cross-validation of width and penalty, on moments alone.

The hold-out loss of a fold is a quadratic form in the fold's moments, so one pass
over the rows per width serves all folds and penalties (the paper's section 2.3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modeseek.blocks import map_blocks
from modeseek.frame import Floats
from modeseek.moments import Moments, Problem, compute_moments, task_scales
from modeseek.penalties import quadratic_loss, ridge_path

#: A width that leaves a typical centre fewer rows than this is not trusted: ties and
#: rounding would otherwise drive the width to zero. Small samples get by with a
#: tenth of their rows.
FEWEST_NEIGHBORS = 10.0

#: Default widths, in median distances between centres: 2^(k/2). Squared widths halve
#: from one to the next, which makes their Gaussians cheap.
WIDEST, NARROWEST, NARROWEST_TRIED = 6, -6, -12


class Scores(NamedTuple):
    """Hold-out losses of a grid of widths and penalties."""

    widths: Floats  # (n_widths, d)
    loss: Floats  # (n_widths, n_penalties)
    deviation: Floats  # (n_widths, n_penalties) standard deviation over folds
    neighbors: Floats  # (n_widths,) rows that the median centre reaches
    allowed: NDArray[np.bool_]  # (n_widths,) enough neighbours

    def winner(self) -> tuple[int, int]:
        """Return width and penalty of the smallest loss among allowed widths."""
        allowed = self.allowed
        if not allowed.any():
            allowed = self.neighbors == self.neighbors.max()
        loss = np.where(allowed[:, None], self.loss, np.inf)
        i, j = np.unravel_index(np.argmin(loss), loss.shape)
        return int(i), int(j)


class Selection(NamedTuple):
    """A grid that was scored, and the moments of its best width."""

    scores: Scores
    moments: Moments


def search(problem: Problem, candidates: Floats, lams: Floats) -> Selection:
    """Score candidate widths and penalties by cross-validation.

    Parameters
    ----------
    problem : Problem
        With folds.
    candidates : ndarray of shape (n_widths, d)
    lams : ndarray of shape (n_penalties,)

    Returns
    -------
    Selection
        Widest first where every candidate is one width for all features.
    """
    finite = np.isfinite(candidates[0])
    common = candidates[:, finite][:, 0]
    one_width = bool((candidates[:, finite] == common[:, None]).all())
    if one_width:
        order = np.argsort(-common, kind="stable")
        candidates, common = candidates[order], common[order]
    if problem.shared and one_width:
        widths = np.where(finite, 1.0, np.inf)
        moments = compute_moments(problem, widths, common)
        return _score(moments, candidates, problem, lams)
    # One width after the other: the moments of every task at every width would not
    # fit in memory where there are many features.
    best: Selection | None = None
    for widths in candidates:
        moments = compute_moments(problem, widths, np.ones(1))
        one = _score(moments, widths[None], problem, lams)
        best = one if best is None else join(best, one)
    assert best is not None
    return best


def search_default(problem: Problem, typical: Floats, lams: Floats) -> Selection:
    """Score multiples of a typical distance, narrower while the narrowest wins.

    Parameters
    ----------
    problem : Problem
    typical : ndarray of shape (d,)
        Typical distance between centres; infinite for features not in the model.
    lams : ndarray of shape (n_penalties,)

    Returns
    -------
    Selection
    """

    def multiples(first: int, last: int) -> Floats:
        return np.outer(np.sqrt(2.0) ** np.arange(first, last - 1, -1), typical)

    best = search(problem, multiples(WIDEST, NARROWEST), lams)
    narrowest = NARROWEST
    while narrowest > NARROWEST_TRIED and narrowest_wins(best.scores):
        more = search(problem, multiples(narrowest - 1, narrowest - 2), lams)
        best = join(best, more)
        narrowest -= 2
    return best


def enough_neighbors(count: Floats, weight: Floats) -> NDArray[np.bool_]:
    """Whether a typical centre reaches enough rows.

    Parameters
    ----------
    count : ndarray of shape (..., b)
        Sum of every centre's Gaussian over the rows.
    weight : ndarray of shape (...)
        Weight of all rows.

    Returns
    -------
    ndarray of bool of shape (...)
    """
    fewest = np.minimum(FEWEST_NEIGHBORS, 0.1 * np.asarray(weight))
    return np.asarray(np.median(count, axis=-1) >= fewest)


def narrowest_wins(scores: Scores) -> bool:
    """Whether the winner is the last, narrowest width."""
    return scores.winner()[0] == len(scores.widths) - 1


def join(one: Selection, two: Selection) -> Selection:
    """Join two grids, keeping the moments of the better width."""
    pairs = zip(one.scores, two.scores, strict=True)
    columns: list[Any] = [np.concatenate(pair) for pair in pairs]
    scores = Scores(*columns)
    in_one = scores.winner()[0] < len(one.scores.widths)
    return Selection(scores, one.moments if in_one else two.moments)


def _score(
    moments: Moments, widths: Floats, problem: Problem, lams: Floats
) -> Selection:
    """Score every width and penalty by the loss on rows it was not trained on.

    Without folds there is nothing to choose, and every loss is zero.
    """
    totals = moments.total()
    scales = task_scales(widths, problem.shared)
    n_widths, n_folds = len(widths), problem.n_folds
    pairs = [(s, k) for s in range(n_widths) for k in range(n_folds)]

    def hold_out(which: slice) -> Floats:
        s, k = pairs[which.start]
        judges = moments[s, k]
        theta = ridge_path(*moments.without(s, k).mean(), scales[s], lams)
        return quadratic_loss(*judges.mean(), theta)

    by_pair = list(map_blocks(hold_out, len(pairs), n_jobs=problem.n_jobs, size=1))
    losses = np.array(by_pair).reshape(n_widths, n_folds, len(lams))
    mean = deviation = np.zeros((n_widths, len(lams)))
    if n_folds:
        weight = moments.weight[:, :n_folds, None]
        mean = (weight * losses).sum(axis=1) / weight.sum(axis=1)
        deviation = losses.std(axis=1)
    neighbors = np.median(totals.count, axis=-1)
    scores = Scores(
        widths=widths,
        loss=mean,
        deviation=deviation,
        neighbors=neighbors,
        allowed=enough_neighbors(totals.count, totals.weight),
    )
    return Selection(scores, totals[scores.winner()[0]])
