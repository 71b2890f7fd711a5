"""The density of pixels, with a width for colour and one for position, and its modes.

The basis of the paper's section 5.3, its norms squared,

    phi_i(x) = exp(-|x^c - c_i^c|^2 / (2 s_c^2)) exp(-|x^s - c_i^s|^2 / (2 s_s^2)),

is the basis of the core with one width for every colour feature and another for every
feature of position. Both are chosen on a grid of pairs by cross-validation, walking
from pair to better neighbouring pair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from modeseek.field.climbing import Ascent
from modeseek.field.fields import PotentialField, curvature
from modeseek.field.landscape import FieldLandscape
from modeseek.field.modes import (
    Polish,
    find_modes,
    highest_center,
    nearest_modes,
    rank_modes,
)
from modeseek.field.saddles import build_tree
from modeseek.gradient.extensions.penalties import ridge_by_factors, solve
from modeseek.gradient.moments import Problem, compute_moments
from modeseek.gradient.selection import Scores, join, search
from modeseek.image.pixels import draw_grid_centers
from modeseek.image.rough_climb import climb_roughly
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import map_blocks
from modeseek.rows.coordinates import Frame

ShowProgress = Callable[[str, float], None]
Pair = tuple[int, int]  # powers of two: the widths for colour and for position

#: Widths tried, in standard deviations of colour and of position: 2^k.
NARROWEST_POWER, WIDEST_POWER = -3, 1

#: Where the walk over pairs of widths starts: colour, position.
START = -2, 0

#: Penalties tried, relative to the scale of the moments. Larger ones were never best on
#: the Berkeley validation images.
PENALTIES = np.array([1e-4, 1e-3])

#: Penalty where too few pixels are left to choose it.
DEFAULT_PENALTY = 1e-3

#: Folds, the most pixels they hold, and the fewest that can validate. The fewer
#: they are, the wider is the narrowest width that leaves a typical centre neighbours.
#: 1500 were no better on the Berkeley validation images than chance makes them.
N_FOLDS, CV_ROWS, FEWEST_ROWS = 3, 1000, 30

#: Most pixels that the coefficients are estimated from.
FIT_ROWS = 5000

#: The paper's fixed point, by which other rows climb.
ASCENT = Ascent("plain_fixed_point", step_size=None, tol=1e-3, max_iter=240)

#: Pixels end near modes, whose sixth digit nobody sees: what takes more steps of
#: Newton's method than these crawls along a ridge.
POLISH = Polish(max_steps=7, level=1e-6)

#: Pixels among which saddles between modes are sought.
TREE_ROWS = 500


class Pixels(NamedTuple):
    """The pixels of an image, or means of blocks of them, as rows."""

    frame: Frame  # that of :func:`pixel_frame`
    Z: Floats  # (n, d) colour, then position, in the frame
    n_channels: int  # features of colour
    grid: tuple[int, ...]  # shape in which the rows lie


class ClimbedPixels(NamedTuple):
    """The landscape of an image's pixels, and the mode that each pixel reached."""

    landscape: FieldLandscape
    scores: Scores | None  # of the widths tried; None where there were too few pixels
    mode: Integers  # (n,)


def pixel_frame(colors: Floats, place: Floats) -> Frame:
    """Frame of zero means with one unit for colour and one for position.

    The units are standard deviations, pooled over the channels of ``colors`` (n,
    channels) and over the dimensions of ``place`` (n, dimensions).
    """
    units = [
        np.full(part.shape[1], np.sqrt(part.var(axis=0).mean()))
        for part in (colors, place)
    ]
    origin = np.concatenate([colors.mean(axis=0), place.mean(axis=0)])
    return Frame(origin, np.concatenate(units))


def climb_pixels(
    pixels: Pixels,
    rng: np.random.Generator,
    n_jobs: int | None,
    show_progress: ShowProgress,
) -> ClimbedPixels:
    """Estimate the density of pixels, let them climb, and merge modes.

    The generator draws centres, folds and the pixels among which saddles are sought;
    ``show_progress`` is called as in :func:`modeseek.image.fitting.fit_model`.
    """
    frame, Z = pixels.frame, pixels.Z
    field, scores = _fit_field(pixels, rng, n_jobs, show_progress)
    show = partial(show_progress, "climbing")
    ends, end = climb_roughly(field, Z, n_jobs, show)
    modes = _modes_beside(field, ends)
    # The few ends that stopped short of every mode, on a ridge or a plateau, take the
    # nearest.
    reached = nearest_modes(field, ends, modes)[end]
    peaks, weights, mode = rank_modes(field, modes, reached)
    drawn = rng.permutation(len(Z))[:TREE_ROWS]
    show_progress("merging", 0.0)
    tree = build_tree(field, peaks, Z[drawn], mode[drawn], refine=False)
    tree = tree._replace(saddles=frame.leave(tree.saddles))
    landscape = FieldLandscape(frame, field, ASCENT, peaks, weights, tree, False)
    return ClimbedPixels(landscape, scores, mode)


def _modes_beside(field: PotentialField, ends: Floats) -> Floats:
    """Modes (k, d) beside the ends of climbs, at least one.

    Only ends where the density is curved downwards in every direction can be at one.
    """
    downwards = np.linalg.eigvalsh(curvature(field, ends))[:, -1] < 0
    if not downwards.any():
        return highest_center(field)
    modes = find_modes(field, ends[downwards], POLISH)
    return modes if len(modes) else highest_center(field)


def _fit_field(
    pixels: Pixels,
    rng: np.random.Generator,
    n_jobs: int | None,
    show_progress: ShowProgress,
) -> tuple[PotentialField, Scores | None]:
    """The gradient of the log-density of pixels, and the losses of the widths tried."""
    Z, n_channels = pixels.Z, pixels.n_channels
    centers = draw_grid_centers(pixels.grid, rng)
    problem = Problem(
        read=lambda rows: Z[rows],
        n_rows=len(Z),
        centers=Z[centers],
        base=np.zeros(Z.shape[1]),
        shared=True,
        n_jobs=n_jobs,
    )
    others = rng.permutation(np.delete(np.arange(len(Z)), centers))
    fitted = np.concatenate([others, centers])[:FIT_ROWS]
    scores = None
    widths = _widths_of(START, n_channels, Z.shape[1])
    lam = DEFAULT_PENALTY
    if len(others) >= FEWEST_ROWS:
        scores = choose_widths(problem, others[:CV_ROWS], n_channels, show_progress)
        i, j = scores.best()
        widths, lam = scores.widths[i], float(PENALTIES[j])
    moments = compute_moments(problem.subset(fitted), widths).total()[0]
    theta = solve(moments, problem.task_scales(widths), lam, ridge_by_factors)[0]
    field = PotentialField(problem.centers, widths, theta, problem.base)
    return field, scores


def _widths_of(powers: Pair, n_channels: int, d: int) -> Floats:
    """Widths of the features for a pair of the grid, shape (d,)."""
    return np.repeat(np.exp2(powers), (n_channels, d - n_channels))


def choose_widths(
    problem: Problem, rows: Integers, n_channels: int, show_progress: ShowProgress
) -> Scores:
    """Walk over pairs of widths until no neighbouring pair has a smaller loss.

    The ``rows`` (numbers of pixels) train and validate; no centre is among them, see
    :mod:`modeseek.rows.ranking`. The scores are those of the pairs tried; pairs that
    leave a typical centre hardly any neighbours are never stepped on.
    """
    folded = problem.subset(rows)._replace(
        fold=np.arange(len(rows)) % N_FOLDS, n_folds=N_FOLDS, n_jobs=1
    )
    d = problem.centers.shape[1]
    n_pairs = (WIDEST_POWER - NARROWEST_POWER + 1) ** 2
    tried: dict[Pair, Scores] = {}

    def try_pairs(pairs: list[Pair]) -> None:
        def kernel(which: slice) -> Scores:
            widths = _widths_of(pairs[which.start], n_channels, d)
            return search(folded, widths[None], PENALTIES, ridge_by_factors)

        found = map_blocks(kernel, len(pairs), n_jobs=problem.n_jobs, size=1)
        tried.update(zip(pairs, found, strict=True))
        show_progress("choosing widths", len(tried) / n_pairs)

    def loss(pair: Pair) -> float:
        one = tried[pair]
        return float(one.loss.min()) if one.allowed[0] else np.inf

    here = START
    while True:
        steps = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))
        pairs = [(here[0] + i, here[1] + j) for i, j in steps]
        around = [
            p for p in pairs if min(p) >= NARROWEST_POWER and max(p) <= WIDEST_POWER
        ]
        try_pairs([p for p in around if p not in tried])
        best = min(around, key=loss)
        if best == here:
            return join(*tried.values())
        here = best
