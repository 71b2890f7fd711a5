"""The first part of a way up a kernel density, in single precision.

Most of a row's steps bring it near a mode, where how it got there is forgotten:
rounding on the way matters to rows on a watershed alone. Every move goes up the
gradient, as the mean shift does, which always rises; it is as much longer as the bend
that the last one showed allows (the steps of Barzilai and Borwein), if that rises too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.field.ascent import LONGEST_MOVE
from modeseek.field.basis import middle_of
from modeseek.field.fields import KernelField, finite_widths
from modeseek.rows.arrays import Floats, Integers, Singles
from modeseek.rows.blocks import CHUNK_ELEMENTS, map_blocks, row_slices

#: Rows farther than this from the middle of the centres, in widths, stay where they
#: are: products there leave too few digits.
REACH = 64.0

#: Where a centre is farther than this, no row approaches: squares would overflow in
#: single precision.
FARTHEST = 1e15

#: A mean shift this short, in widths, ends an approach.
ARRIVED = 0.002

#: What rounding may take from a log-density, in one plus its size.
ROUNDING = 1e-5

#: Logs of kernels are taken as no smaller: these would be subnormal numbers, slow.
SMALLEST_LOG = -80.0

#: Rows that approach together, so that those still moving fill their chunks.
BLOCK_ROWS = 2048


class _Kernels(NamedTuple):
    """Kernels in widths about their middle."""

    logs: Singles  # (d + 2, b) times a row (u, -|u|^2 / 2, 1): logs of the kernels
    sums: Singles  # (b, 1 + d) one, and the centres


def approach(
    field: KernelField, Z: Floats, max_steps: int, n_jobs: int | None = None
) -> tuple[Floats, Integers]:
    """Rows Z (n, d) of the frame where they begin to be slow, and the steps to there.

    A row takes so many steps at most.
    """
    middle = middle_of(field.centers, 1.0 / field.widths)
    V = (field.centers - middle) / field.widths
    if np.abs(V).max() > FARTHEST:
        return Z.copy(), np.zeros(len(Z), dtype=np.intp)
    kernels, widths = _kernels_of(V, field.log_weights), finite_widths(field)

    def kernel(rows: slice) -> tuple[Floats, Integers]:
        U = (Z[rows] - middle) / field.widths
        near = np.flatnonzero(np.einsum("ij,ij->i", U, U) <= REACH**2)
        points, n_steps = Z[rows].copy(), np.zeros(len(U), dtype=np.intp)
        ends, n_steps[near] = _approach(kernels, U[near], max_steps)
        moved = n_steps[near] > 0
        points[near[moved]] = middle + ends[moved] * widths
        points[:, widths == 0.0] = Z[rows][:, widths == 0.0]
        return points, n_steps

    parts = list(map_blocks(kernel, len(Z), n_jobs=n_jobs, size=BLOCK_ROWS))
    points, n_steps = (np.concatenate(part) for part in zip(*parts, strict=True))
    return points, n_steps


def _kernels_of(V: Floats, log_weights: Floats) -> _Kernels:
    """Kernels in single precision, of centres (b, d) in widths and their weights."""
    one, half = np.ones(len(V)), -0.5 * np.einsum("ij,ij->i", V, V)
    logs = np.column_stack([V, one, half + log_weights]).T
    return _Kernels(
        np.ascontiguousarray(logs, dtype=np.float32),
        np.column_stack([one, V]).astype(np.float32),
    )


def _approach(kernels: _Kernels, U: Floats, max_steps: int) -> tuple[Floats, Integers]:
    """Rows (m, d) in widths after their steps, and the number of these (m,)."""
    n_steps = np.zeros(len(U), dtype=np.intp)
    ends, active = U.astype(np.float32), np.arange(len(U))
    points, before, last = ends.copy(), ends.copy(), np.zeros_like(ends)
    height = np.full(len(U), -np.inf, dtype=np.float32)
    for step in range(max_steps + 1 if len(U) else 0):
        shift, here = _mean_shift(kernels, points)
        fell = here < height - ROUNDING * (1.0 + np.abs(here))
        stretch = np.where(fell, 1.0, _stretch(points - before, last - shift))
        points = np.where(fell[:, None], before, points)
        shift = np.where(fell[:, None], last, shift)
        height = np.where(fell, height, here)
        ends[active], n_steps[active] = points, step
        far = np.sqrt(np.einsum("ij,ij->i", shift, shift))
        going = far > ARRIVED
        active, before, last = active[going], points[going], shift[going]
        height, far, stretch = height[going], far[going], stretch[going]
        if not len(active):
            break
        share = np.minimum(stretch, LONGEST_MOVE / far).astype(np.float32)
        points = before + share[:, None] * last
    return ends.astype(np.float64), n_steps


def _stretch(moved: Singles, flatter: Singles) -> Floats:
    """Mean shifts (m,) to the top of the parabola that the last move suggests.

    At least one, which rises anyway; infinitely many where there is no bend.
    """
    bend = np.einsum("ij,ij->i", moved, flatter)
    squared = np.einsum("ij,ij->i", moved, moved)
    curved = bend > 0
    top = np.where(curved, squared / np.where(curved, bend, 1.0), np.inf)
    return np.where(squared > 0, np.maximum(top, 1.0), 1.0)


def _mean_shift(kernels: _Kernels, U: Singles) -> tuple[Singles, Singles]:
    """From points U (m, d) to the mean of the centres as they see them; log-density."""
    size = max(1, 2 * CHUNK_ELEMENTS // len(kernels.sums))
    parts = [_shift_some(kernels, U[rows]) for rows in row_slices(len(U), size)]
    shift, height = (np.concatenate(part) for part in zip(*parts, strict=True))
    return shift, height


def _shift_some(kernels: _Kernels, U: Singles) -> tuple[Singles, Singles]:
    half = -0.5 * np.einsum("ij,ij->i", U, U)
    E = np.column_stack([U, half, np.ones_like(half)]) @ kernels.logs
    top = E.max(axis=1, keepdims=True)
    E -= top
    np.maximum(E, SMALLEST_LOG, out=E)
    sums = np.exp(E, out=E) @ kernels.sums
    height = top + np.log(sums[:, :1])
    return sums[:, 1:] / sums[:, :1] - U, height[:, 0]
