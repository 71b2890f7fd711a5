"""Pixels climb roughly: in single precision, and together where they meet.

Many pixels climb to few modes, and these are made exact afterwards. So the way there
may be rounded: exponentials of single precision take an eighth of the time, and pixels
that meet in a small cell go on as one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from modeseek.field.basis import middle_of
from modeseek.field.fields import PotentialField
from modeseek.field.modes import cell_means
from modeseek.rows.arrays import Floats, Integers, Singles
from modeseek.rows.blocks import map_blocks

#: Steps of each stage. Few at first, when there are many pixels: most meet soon.
STAGES = (1, 1, 2, 2, 4, 4, 8, 16, 32)

#: Pixels go on as one where they meet in a cell of this side, in widths.
MEETING_CELL = 0.1

#: Longest move, in widths: a longer one may leap over a basin. With 0.25 no more pixels
#: end where they would alone.
LONGEST_MOVE = 0.5

#: What rounding may take from a height, as a share of it.
HEIGHT_ROUNDING = 1e-5

#: Pixels lower than this, in the largest coefficient, have no way up that can be told
#: from rounding.
LOWEST = 1e-9

#: Logs of Gaussians are taken as no smaller: these would be subnormal numbers, slow.
SMALLEST_LOG = -80.0

#: Pixels that are worked on together: their Gaussians fit in a core's cache.
BLOCK_PIXELS = 1024


class _Terms(NamedTuple):
    """A sum of Gaussians in single precision, in widths about its middle."""

    logs: Singles  # (d + 2, b) times a row (u, -|u|^2 / 2, 1): logs of the Gaussians
    sums: Singles  # (b, 1 + d) coefficients, and centres times these
    lowest: float  # height of a pixel that can climb


def climb_roughly(
    field: PotentialField,
    Z: Floats,
    n_jobs: int | None,
    show_progress: Callable[[float], None],
) -> tuple[Floats, Integers]:
    """Where rows Z (n, d) of the frame end, (m, d), and the end that each reached (n,).

    Rows take steps of the fixed point, in stages, after each of which those that met go
    on as one. The few that are slower end beside a mode, or on the way to it.
    """
    middle = middle_of(field.centers, 1.0 / field.widths)
    terms = _terms_of(field, middle)
    points, end = (Z - middle) / field.widths, np.arange(len(Z))
    in_widths = np.ones(Z.shape[1])
    for stage, n_steps in enumerate(STAGES, start=1):
        start = points.astype(np.float32)

        def kernel(rows: slice, U: Singles = start, n: int = n_steps) -> Singles:
            return _climb(terms, U[rows], n)

        blocks = map_blocks(kernel, len(start), n_jobs=n_jobs, size=BLOCK_PIXELS)
        arrived = np.concatenate(list(blocks)).astype(np.float64)
        points, cell = cell_means(arrived, in_widths, MEETING_CELL)
        end = cell[end]
        show_progress(stage / len(STAGES))
    return points * field.widths + middle, end


def _terms_of(field: PotentialField, middle: Floats) -> _Terms:
    V = (field.centers - middle) / field.widths
    half, one = -0.5 * np.einsum("ij,ij->i", V, V), np.ones(len(V))
    logs = np.column_stack([V, one, half]).T
    sums = field.theta[:, None] * np.column_stack([one, V])
    lowest = LOWEST * float(np.abs(field.theta).max())
    return _Terms(
        np.ascontiguousarray(logs, dtype=np.float32), sums.astype(np.float32), lowest
    )


def _climb(terms: _Terms, U: Singles, n_steps: int) -> Singles:
    """Rows (m, d) after some steps; one that a step leads down goes back and stays.

    That shows at the next step, so the last one of a stage is not looked at.
    """
    before, height = U, np.full((len(U), 1), -np.inf, dtype=np.float32)
    going = np.ones((len(U), 1), dtype=bool)
    for _ in range(n_steps):
        here, pull = _evaluate(terms, U)
        fell = going & (here < (1.0 - HEIGHT_ROUNDING) * height)
        U = np.where(fell, before, U)
        going &= ~fell & (here > terms.lowest)
        move = pull / np.where(going, here, 1.0)
        far = np.sqrt(np.einsum("ij,ij->i", move, move))[:, None]
        shrink = LONGEST_MOVE / np.maximum(far, LONGEST_MOVE)
        before, height = U, here
        U = np.where(going, U + shrink * move, U)
    return U


def _evaluate(terms: _Terms, U: Singles) -> tuple[Singles, Singles]:
    """Height (m, 1) at points U (m, d), and the pull (m, d) of the centres, in widths.

    The height is the denominator of the fixed point, whose step is pull / height.
    """
    half = -0.5 * np.einsum("ij,ij->i", U, U)
    rows = np.column_stack([U, half, np.ones_like(half)])
    P = rows @ terms.logs
    np.maximum(P, SMALLEST_LOG, out=P)
    np.exp(P, out=P)
    sums = P @ terms.sums
    height = sums[:, :1]
    return height, sums[:, 1:] - height * U
