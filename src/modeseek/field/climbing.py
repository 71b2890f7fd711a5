"""Many rows climb a field, in blocks on the thread pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from modeseek.field.approach import approach
from modeseek.field.ascent import (
    SLOW,
    Climb,
    Step,
    accelerated,
    climb,
    fixed_point,
    gradient_ascent,
    largest_step_size,
    length,
    quasi_newton,
)
from modeseek.field.basins import Basins, certain_basins
from modeseek.field.fields import Field, KernelField
from modeseek.field.modes import AT_MODE, assign_modes, cell_means, find_modes
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.blocks import BLOCK_ROWS, chunk_rows, map_blocks

#: Most steps of an approach; at least as many are left for the rest of the way.
APPROACH_STEPS = 200

#: Features with which rows approach: with more, products take longer than the
#: exponentials that single precision saves.
APPROACH_FEATURES = 64

#: Of rows whose approach ends in a cell of this side, in widths, one seeks the mode.
SCOUT_CELL = 0.25

#: Elements, at most, of a work array of rows that climb together: 32 MB.
CLIMBING_ELEMENTS = 1 << 22

#: Basins are proven for more rows than this many times the modes: the proof costs about
#: as much as climbing from the modes.
BASINS_FROM = 4


class Ascent(NamedTuple):
    """How rows climb a field: the parameters of an ascent, in the frame."""

    kind: str  # "fixed_point", "plain_fixed_point", "gradient" or "quasi_newton"
    step_size: float | Floats | None  # of the gradient ascent; the largest safe if None
    tol: float  # a row has arrived when it moves less, in widths
    max_iter: int  # most steps of a row

    def step(self, field: Field) -> Step:
        """The step of this ascent on a field."""
        if self.kind == "gradient":
            size = (
                largest_step_size(field) if self.step_size is None else self.step_size
            )
            return gradient_ascent(size)
        if self.kind == "quasi_newton":
            return quasi_newton()
        return fixed_point() if self.kind == "plain_fixed_point" else accelerated()

    def climb(
        self,
        field: Field,
        Z: Floats,
        n_jobs: int | None = None,
        basins: Basins | None = None,
        *,
        block_rows: int | None = None,
        show_progress: Callable[[float], None] | None = None,
    ) -> Climb:
        """Climb from all rows (n, d) of the frame, in blocks on the thread pool.

        A row stops in one of the basins: its mode is certain there. Blocks are of
        ``block_rows``, or of as many as are worth it. ``show_progress`` is
        called after each with the share of the rows that have climbed.
        """
        if self._approaches(field):
            return self._climb_on(
                field, *self._approach(field, Z, n_jobs), n_jobs, basins
            )
        return self._climb(
            *(field, Z, self.step(field), self.max_iter, n_jobs, basins),
            block_rows=block_rows,
            show_progress=show_progress,
        )

    def seek(
        self, field: Field, Z: Floats, n_jobs: int | None = None
    ) -> tuple[Climb, Floats]:
        """Climb from all rows (n, d) of the frame, and the modes (k, d) they find.

        Where rows approach, scouts among them find modes first. Most others are then in
        the basins of these, and end at the mode.
        """
        if not self._approaches(field):
            arrived = self.climb(field, Z, n_jobs)
            return arrived, find_modes(field, arrived.points)
        points, n_steps = self._approach(field, Z, n_jobs)
        cell = cell_means(points, field.widths, SCOUT_CELL)[1]
        scouts = np.unique(cell, return_index=True)[1]
        others = np.delete(np.arange(len(Z)), scouts)
        found = self._climb_on(field, points[scouts], n_steps[scouts], n_jobs)
        basins = basins_for(field, find_modes(field, found.points), len(others))
        then = self._climb_on(field, points[others], n_steps[others], n_jobs, basins)
        if basins is not None:
            mode, sure = _reached(field, then.points, basins)
            then.points[sure] = basins.modes[mode[sure]]
        order = np.argsort(np.concatenate([scouts, others]))
        parts: list[Any] = [
            np.concatenate(part)[order] for part in zip(found, then, strict=True)
        ]
        arrived = Climb(*parts)
        return arrived, find_modes(field, arrived.points)

    def _approaches(self, field: Field) -> TypeGuard[KernelField]:
        """Whether rows go the first part of their way in single precision."""
        far = self.max_iter >= 2 and self.tol <= SLOW
        few = len(field.widths) <= APPROACH_FEATURES
        kernels = self.kind == "fixed_point" and isinstance(field, KernelField)
        return far and few and kernels

    def _approach(
        self, field: KernelField, Z: Floats, n_jobs: int | None
    ) -> tuple[Floats, Integers]:
        return approach(field, Z, min(APPROACH_STEPS, self.max_iter // 2), n_jobs)

    def _climb_on(
        self,
        field: Field,
        points: Floats,
        n_steps: Integers,
        n_jobs: int | None,
        basins: Basins | None = None,
    ) -> Climb:
        """Climb from where rows are after an approach, unless their mode is certain."""
        ends = Climb(
            points.copy(),
            n_steps.copy(),
            np.ones(len(points), dtype=bool),
            np.zeros(len(points), dtype=bool),
        )
        going = np.arange(len(points))
        if basins is not None:
            going = going[~_reached(field, points, basins)[1]]
        if len(going):
            step, most = accelerated(), self.max_iter - int(n_steps.max())
            rest = self._climb(field, points[going], step, most, n_jobs, basins)
            ends.n_iter[going] += rest.n_iter
            ends.points[going] = rest.points
            ends.converged[going] = rest.converged
            ends.guarded[going] = rest.guarded
        return ends

    def _climb(
        self,
        field: Field,
        Z: Floats,
        step: Step,
        max_iter: int,
        n_jobs: int | None,
        basins: Basins | None,
        *,
        block_rows: int | None = None,
        show_progress: Callable[[float], None] | None = None,
    ) -> Climb:
        columns = len(field.centers)
        if self.kind == "quasi_newton":
            columns = max(columns, Z.shape[1] ** 2)  # an inverse Hessian a row
        size = block_rows or _rows_together(field, columns)
        certain = None if basins is None else lambda Z: basins.find(field, Z)[1]

        def kernel(rows: slice) -> Climb:
            return climb(
                field,
                Z[rows],
                step,
                tol=self.tol,
                max_iter=max_iter,
                certain=certain,
            )

        parts: list[Climb] = []
        for part in map_blocks(kernel, len(Z), n_jobs=n_jobs, size=size):
            parts.append(part)
            if show_progress is not None:
                show_progress(min(1.0, len(parts) * size / len(Z)))
        joined: list[Any] = [np.concatenate(part) for part in zip(*parts, strict=True)]
        return Climb(*joined)

    def assign(
        self,
        field: Field,
        ends: Floats,
        modes: Floats,
        n_jobs: int | None = None,
        basins: Basins | None = None,
    ) -> Integers:
        """Mode of every end of a climb, shape (n,); ends that stopped short climb on.

        Modes and basins are as for :func:`modeseek.field.modes.assign_modes`.
        """
        return assign_modes(
            field, ends, modes, lambda Z: self.climb(field, Z, n_jobs).points, basins
        )


def _rows_together(field: Field, columns: int) -> int:
    """Rows of a block, also where their work array leaves a core's cache.

    The last few rows of a block take hundreds of steps, each of which costs as much as
    one of a thousand rows, where centres are few: blocks that fit took three times as
    long. A kernel density has a centre for each row, and gains nothing.
    """
    fitting = chunk_rows(columns)
    if isinstance(field, KernelField):
        return fitting
    return max(fitting, min(BLOCK_ROWS, CLIMBING_ELEMENTS // columns))


def basins_for(field: Field, modes: Floats, n_rows: int) -> Basins | None:
    """Basins of modes (k, d) for so many rows, if these are worth it."""
    worthwhile = n_rows > BASINS_FROM * len(modes) > 0
    return certain_basins(field, modes) if worthwhile else None


def _reached(field: Field, points: Floats, basins: Basins) -> tuple[Integers, Bools]:
    """Nearest mode of each point, and whether the point is in its basin or at it."""
    mode, certain = basins.find(field, points)
    return mode, certain | (length(points - basins.modes[mode], field) <= AT_MODE)


Ascent.__module__ = "modeseek.field"  # model files name it so
