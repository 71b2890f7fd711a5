"""The density of pixels, with a width for colour and one for position, and its modes.

The basis of the paper's section 5.3, its norms squared,

    phi_i(x) = exp(-|x^c - c_i^c|^2 / (2 s_c^2)) exp(-|x^s - c_i^s|^2 / (2 s_s^2)),

is the basis of the core with one width for every colour feature and another for every
feature of position. Both are chosen on a grid of pairs by cross-validation, walking
from pair to better neighbouring pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from modeseek.field.ascent import climb, fixed_point
from modeseek.field.fields import PotentialField, potential
from modeseek.field.modes import find_modes
from modeseek.field.saddles import build_tree
from modeseek.gradient.extensions.penalties import solve
from modeseek.gradient.moments import Problem, compute_moments, task_scales
from modeseek.gradient.selection import Scores, join, search
from modeseek.image.pixels import draw_grid_centers
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import map_blocks
from modeseek.rows.coordinates import Frame
from modeseek.tree.merge_tree import MergeTree

Report = Callable[[str, float], None]
Pair = tuple[int, int]

#: Widths tried, in standard deviations of colour and of position: 2^k.
NARROWEST_POWER, WIDEST_POWER = -3, 1

#: Where the walk over pairs of widths starts: colour, position.
START = -2, 0

#: Penalties tried, relative to the scale of the moments.
PENALTIES = np.logspace(-4.0, -1.0, 4)

#: Penalty where too few pixels are left to choose it.
DEFAULT_PENALTY = 1e-3

#: Folds, the most rows they hold, and the fewest that can judge.
N_FOLDS, CV_ROWS, FEWEST_ROWS = 3, 3000, 30

#: Climbing: last move in widths, pixels of a block.
TOL, CLIMB_ROWS = 1e-3, 1024

#: Most steps of each stage, after which pixels in a cell of this side, in widths, go on
#: as one.
STAGES, CELL = (10, 20, 40, 240), 0.05

#: Pixels among which saddles between modes are sought.
TREE_ROWS = 2000


class PixelModes(NamedTuple):
    """A field over pixels, its modes, and the mode of each pixel."""

    field: PotentialField
    scores: Scores | None  # of the widths tried; None where there were too few pixels
    modes: Floats  # (k, d) highest first
    mode: Integers  # (n,)
    tree: MergeTree


def pixel_frame(colors: Floats, place: Floats) -> Frame:
    """Frame of zero means with one unit for colour and one for position.

    Parameters
    ----------
    colors : ndarray of shape (n, channels)
    place : ndarray of shape (n, dimensions)

    Returns
    -------
    Frame
        The units are standard deviations, pooled over channels and over dimensions.
    """
    units = [
        np.full(part.shape[1], np.sqrt(part.var(axis=0).mean()))
        for part in (colors, place)
    ]
    origin = np.concatenate([colors.mean(axis=0), place.mean(axis=0)])
    return Frame(origin, np.concatenate(units))


def find_pixel_modes(
    Z: Floats,
    n_channels: int,
    space: tuple[int, ...],
    rng: np.random.Generator,
    n_jobs: int | None,
    report: Report,
) -> PixelModes:
    """Estimate the density of pixels, let them climb, and merge modes.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Colour, then position, in the frame of :func:`pixel_frame`.
    n_channels : int
        Features of colour.
    space : tuple of int
        Shape of the picture.
    rng : numpy.random.Generator
    n_jobs : int or None
    report : callable
        Called with the name of the stage and the share of it that is done.

    Returns
    -------
    PixelModes
    """
    centers = draw_grid_centers(space, rng)
    problem = Problem(
        enter=lambda rows: Z[rows],
        n_rows=len(Z),
        centers=Z[centers],
        base=np.zeros(Z.shape[1]),
        shared=True,
        n_jobs=n_jobs,
    )
    others = rng.permutation(np.delete(np.arange(len(Z)), centers))[:CV_ROWS]
    scores = None
    widths = _pair(START, n_channels, Z.shape[1])
    lam = DEFAULT_PENALTY
    if len(others) >= FEWEST_ROWS:
        scores = choose_widths(problem, others, n_channels, report)
        i, j = scores.best()
        widths, lam = scores.widths[i], float(PENALTIES[j])
    moments = compute_moments(problem, widths, np.ones(1)).total()[0]
    theta = solve(moments, task_scales(widths, True), lam)[0]
    field = PotentialField(problem.centers, widths, theta, problem.base)
    modes, mode = _climb(field, Z, n_jobs, report)
    drawn = rng.permutation(len(Z))[:TREE_ROWS]
    report("merging", 0.0)
    tree = build_tree(field, modes, Z[drawn], mode[drawn])
    return PixelModes(field, scores, modes, mode, tree)


def _pair(steps: Pair, n_channels: int, d: int) -> Floats:
    """Widths of the features for a pair of the grid, shape (d,)."""
    return np.repeat(np.exp2(steps), (n_channels, d - n_channels))


def choose_widths(
    problem: Problem, rows: Integers, n_channels: int, report: Report
) -> Scores:
    """Walk over pairs of widths until no neighbouring pair has a smaller loss.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        Rows that train and judge; no centre among them, see
        :mod:`modeseek.rows.ranking`.
    n_channels : int
    report : callable

    Returns
    -------
    Scores
        Of the pairs looked at. Those that leave a typical centre hardly any neighbours
        are never stepped on.
    """
    folded = problem._replace(
        enter=lambda some: problem.enter(rows[some]),
        n_rows=len(rows),
        fold=np.arange(len(rows)) % N_FOLDS,
        n_folds=N_FOLDS,
        n_jobs=1,
    )
    d = problem.centers.shape[1]
    tried: dict[Pair, Scores] = {}

    def look(pairs: list[Pair]) -> None:
        def kernel(which: slice) -> Scores:
            widths = _pair(pairs[which.start], n_channels, d)
            return search(folded, widths[None], PENALTIES)

        found = map_blocks(kernel, len(pairs), n_jobs=problem.n_jobs, size=1)
        tried.update(zip(pairs, found, strict=True))
        report(
            "choosing widths", len(tried) / (WIDEST_POWER - NARROWEST_POWER + 1) ** 2
        )

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
        look([p for p in around if p not in tried])
        best = min(around, key=loss)
        if best == here:
            return join(*tried.values())
        here = best


def _climb(
    field: PotentialField, Z: Floats, n_jobs: int | None, report: Report
) -> tuple[Floats, Integers]:
    """Modes, highest first, and the mode that each row reaches.

    Paths run together: after each stage, rows that share a small cell go on as one. The
    few that stop short of every mode, on a ridge or a plateau, take the nearest.
    """

    def arrive(rows: Floats, max_iter: int) -> Floats:
        def kernel(block: slice) -> Floats:
            start = rows[block]
            return climb(field, start, fixed_point(), tol=TOL, max_iter=max_iter).points

        ends = []
        for end in map_blocks(kernel, len(rows), n_jobs=n_jobs, size=CLIMB_ROWS):
            ends.append(end)
            report("climbing", min(1.0, len(ends) * CLIMB_ROWS / len(rows)))
        return np.concatenate(ends)

    ends, cell = Z, np.arange(len(Z))
    for steps in STAGES:
        ends, next_cell = cell_means(arrive(ends, steps), CELL * field.widths)
        cell = next_cell[cell]
    modes = find_modes(field, ends)
    if not len(modes):  # a field without a maximum: its highest centre
        modes = field.centers[[int(np.argmax(potential(field, field.centers)))]]
    modes = modes[np.argsort(-potential(field, modes), kind="stable")]
    _, reached = KDTree(modes / field.widths).query(ends / field.widths)
    used, mode = np.unique(reached[cell], return_inverse=True)
    return modes[used], mode


def cell_means(points: Floats, side: Floats) -> tuple[Floats, Integers]:
    """Mean of the points in every cell of a grid, and the cell of each point.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    side : ndarray of shape (d,)

    Returns
    -------
    means : ndarray of shape (n_cells, d)
    cell : ndarray of shape (n,)
    """
    corner = np.floor(points / side)
    _, cell, count = np.unique(corner, axis=0, return_inverse=True, return_counts=True)
    cell = cell.ravel()
    sums = [np.bincount(cell, weights=feature) for feature in points.T]
    return np.stack(sums, axis=1) / count[:, None], cell
