"""Many rows climb a field, in blocks on the thread pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from modeseek.field.ascent import (
    Climb,
    Step,
    accelerated,
    climb,
    fixed_point,
    gradient_ascent,
    largest_step_size,
    quasi_newton,
)
from modeseek.field.basins import Basins
from modeseek.field.fields import Field
from modeseek.field.modes import assign_modes
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import chunk_slices, map_blocks


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
        ``block_rows``, or of as many as fit in a core's cache. ``show_progress`` is
        called after each with the share of the rows that have climbed.
        """
        step = self.step(field)
        columns = len(field.centers)
        if self.kind == "quasi_newton":
            columns = max(columns, Z.shape[1] ** 2)  # an inverse Hessian a row
        size = block_rows or chunk_slices(len(Z), columns)[0].stop
        certain = None if basins is None else lambda Z: basins.find(field, Z)[1]

        def kernel(rows: slice) -> Climb:
            return climb(
                field,
                Z[rows],
                step,
                tol=self.tol,
                max_iter=self.max_iter,
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


Ascent.__module__ = "modeseek.field"  # model files name it so
