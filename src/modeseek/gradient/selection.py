"""Cross-validation of width and penalty, on moments alone.

The hold-out loss of a fold is a quadratic form in the fold's moments, so one pass
over the rows per width serves all folds and penalties (the paper's section 2.3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modeseek.gradient.extensions.penalties import Penalty, quadratic_loss, ridge_path
from modeseek.gradient.moments import Moments, Problem, compute_moments
from modeseek.rows.arrays import Floats
from modeseek.rows.blocks import map_blocks
from modeseek.rows.rounding import narrowest_widths

#: A width that leaves a typical centre fewer rows than this is not trusted: ties and
#: rounding would otherwise drive the width to zero. Small samples get by with a
#: tenth of their rows.
FEWEST_NEIGHBORS = 10.0

#: Default widths, in median distances between centres: 2^(k/2). Squared widths halve
#: from one to the next, which makes their Gaussians cheap.
WIDEST_POWER, NARROWEST_POWER, NARROWEST_POWER_TRIED = 4, -6, -12


class Scores(NamedTuple):
    """Hold-out losses of a grid of widths and penalties."""

    widths: Floats  # (n_widths, d)
    loss: Floats  # (n_widths, n_penalties)
    fold_loss: Floats  # (n_widths, n_penalties, n_folds)
    neighbors: Floats  # (n_widths,) rows that the median centre reaches
    allowed: NDArray[np.bool_]  # (n_widths,) enough neighbours, beyond rounding

    def best(self) -> tuple[int, int]:
        """Return width and penalty of the smallest loss among allowed widths."""
        allowed = self.allowed
        if not allowed.any():
            allowed = self.neighbors == self.neighbors.max()
        loss = np.where(allowed[:, None], self.loss, np.inf)
        i, j = np.unravel_index(np.argmin(loss), loss.shape)
        return int(i), int(j)

    def winner(self) -> tuple[int, int]:
        """Return the widest width that is not clearly worse than the best.

        Not clearly: by no more than one standard error of the difference, paired
        over folds. The loss is flat towards narrow kernels, and its minimum now and
        then far too narrow. Where candidates differ by more than a factor, none is
        the widest, and the best wins.
        """
        i, j = self.best()
        n_folds = self.fold_loss.shape[-1]
        if n_folds < 2 or _factors(self.widths) is None:
            return i, j
        penalties = self.loss.argmin(axis=1)
        rows = np.arange(len(self.loss))
        worse = self.fold_loss[rows, penalties] - self.fold_loss[i, j]
        error = worse.std(axis=1, ddof=1) / np.sqrt(n_folds)
        close = self.loss[rows, penalties] - self.loss[i, j] <= error
        widest = int(np.flatnonzero(close & (self.allowed | (rows == i)))[0])
        return widest, int(penalties[widest])


def _factors(candidates: Floats) -> Floats | None:
    """Factors by which candidates differ from the first, if by a factor only."""
    finite = np.isfinite(candidates[0])
    ratio = candidates[:, finite] / candidates[0, finite]
    same = np.allclose(ratio, ratio[:, :1], rtol=1e-12, atol=0.0)
    return ratio[:, 0] if same else None


def search(
    problem: Problem, candidates: Floats, lams: Floats, penalty: Penalty = ridge_path
) -> Scores:
    """Score candidate widths (n_widths, d) and penalties by cross-validation.

    The scores are widest first where candidates differ by a factor only.
    """
    factors = _factors(candidates)
    if factors is not None:
        widest_first = np.argsort(-factors, kind="stable")
        candidates, factors = candidates[widest_first], factors[widest_first]
    if (problem.shared or problem.common) and factors is not None:
        scales = factors / factors[0]
        moments = compute_moments(problem, candidates[0], scales)
        return _score(moments, candidates, problem, lams, penalty)
    # One width after the other: the moments of every task at every width would not
    # fit in memory where there are many features.
    one_by_one = []
    for widths in candidates:
        moments = compute_moments(problem, widths)
        one_by_one.append(_score(moments, widths[None], problem, lams, penalty))
    return join(*one_by_one)


def search_default(
    problem: Problem,
    typical: Floats,
    lams: Floats,
    penalty: Penalty = ridge_path,
    step: int = 1,
) -> Scores:
    """Score multiples of a typical distance, narrower while the narrowest wins.

    The distance (d,) between centres is infinite for features not in the model;
    ``step=2`` leaves out every other width.
    """

    def multiples(first: int, last: int) -> Floats:
        return np.outer(np.sqrt(2.0) ** np.arange(first, last - 1, -step), typical)

    scores = search(problem, multiples(WIDEST_POWER, NARROWEST_POWER), lams, penalty)
    narrowest = NARROWEST_POWER
    while (
        narrowest > NARROWEST_POWER_TRIED and scores.best()[0] == len(scores.widths) - 1
    ):
        narrower = multiples(narrowest - step, narrowest - 2)
        more = search(problem, narrower, lams, penalty)
        scores = join(scores, more)
        narrowest -= 2
    return scores


def enough_neighbors(count: Floats, weight: Floats) -> NDArray[np.bool_]:
    """Whether a typical centre reaches enough rows.

    ``count`` (..., b) sums every centre's Gaussian over the rows, ``weight`` (...) is
    the weight of all rows.
    """
    fewest = np.minimum(FEWEST_NEIGHBORS, 0.1 * np.asarray(weight))
    return np.asarray(np.median(count, axis=-1) >= fewest)


def join(*grids: Scores) -> Scores:
    """Join grids of the same penalties and folds."""
    columns: list[Any] = [np.concatenate(column) for column in zip(*grids, strict=True)]
    return Scores(*columns)


def _score(
    moments: Moments, widths: Floats, problem: Problem, lams: Floats, penalty: Penalty
) -> Scores:
    """Score every width and penalty by the loss on rows it was not trained on.

    Without folds there is nothing to choose, and every loss is zero.
    """
    totals = moments.total()
    least = narrowest_widths(problem.steps, widths.shape[1], together=True)
    scales = problem.task_scales(widths)
    n_widths, n_folds = len(widths), problem.n_folds
    pairs = [(s, k) for s in range(n_widths) for k in range(n_folds)]

    def hold_out(which: slice) -> Floats:
        s, k = pairs[which.start]
        validation = moments[s, k]
        theta = penalty(*moments.without(s, k).mean(), scales[s], lams)
        return quadratic_loss(*validation.mean(), theta)

    by_pair = list(map_blocks(hold_out, len(pairs), n_jobs=problem.n_jobs, size=1))
    losses = np.array(by_pair).reshape(n_widths, n_folds, len(lams))
    mean = np.zeros((n_widths, len(lams)))
    if n_folds:
        weight = moments.weight[:, :n_folds, None]
        mean = (weight * losses).sum(axis=1) / weight.sum(axis=1)
    return Scores(
        widths=widths,
        loss=mean,
        fold_loss=losses.transpose(0, 2, 1),
        neighbors=np.median(totals.count, axis=-1),
        allowed=enough_neighbors(totals.count, totals.weight)
        & (widths >= least).all(axis=1),
    )
