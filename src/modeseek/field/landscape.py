"""A field as a landscape: rows climb it to its modes, and ask it about themselves."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from modeseek.field.ascent import climb, fixed_point
from modeseek.field.climbing import Ascent, basins_for
from modeseek.field.fields import Field
from modeseek.field.modes import nearest_modes
from modeseek.rows.arrays import Bools, Floats, Integers, Reals
from modeseek.rows.blocks import map_rows
from modeseek.rows.coordinates import Frame
from modeseek.rows.validation import check_within_reach
from modeseek.tree.default_cut import merges_on_field, merges_to_keep
from modeseek.tree.merge_tree import LateTree, MergeTree


class FieldLandscape(NamedTuple):
    """A field with its modes and their merge tree.

    Rows come in the data's coordinates; see :class:`modeseek.cluster.Landscape` for
    what they can ask.
    """

    frame: Frame
    field: Field
    ascent: Ascent
    peaks: Floats  # (k, d) the modes in the frame, highest first
    mode_weights: Floats  # (k,) of the rows that reached each mode
    grown: MergeTree | LateTree  # its saddles in the data's coordinates
    learned_widths: bool  # whether widths followed the rows one feature at a time
    n_certified: int = 0  # clusters that held-out rows confirmed; 0 if not asked

    @property
    def modes(self) -> Floats:
        """Modes in the data's coordinates, shape (k, d)."""
        return self.frame.leave(self.peaks)

    @property
    def tree(self) -> MergeTree:
        """How the modes merge; built when it is first asked for."""
        return self.grown if isinstance(self.grown, MergeTree) else self.grown()

    def with_tree(self) -> FieldLandscape:
        """The same with its tree built."""
        return self._replace(grown=self.tree)

    def enter(self, X: Reals) -> Floats:
        """Rows in the frame; those out of reach are refused."""
        check_within_reach(self.frame, X)
        return self.frame.enter(X)

    def locate(self, X: Reals, n_jobs: int | None = None) -> Integers:
        """Mode that each row climbs to."""
        basins = basins_for(self.field, self.peaks, len(X))
        ends = self.ascent.climb(self.field, self.enter(X), n_jobs, basins).points
        return self.ascent.assign(self.field, ends, self.peaks, n_jobs, basins)

    def label(
        self, X: Reals, mode_labels: Integers, n_jobs: int | None = None
    ) -> Integers:
        """Label of the mode that each row reaches."""
        return np.asarray(mode_labels[self.locate(X, n_jobs)])

    def paths(self, X: Reals, n_jobs: int | None = None) -> list[Floats]:
        """Where each row is after every step, in the data's coordinates."""
        points: list[Floats] = []
        climb(
            self.field,
            self.enter(X),
            self.ascent.step(self.field),
            tol=self.ascent.tol,
            max_iter=self.ascent.max_iter,
            record=lambda here: points.append(self.frame.leave(here)),
        )
        return points

    def default_merges(self) -> Bools:
        """Merges of the tree that are made by default."""
        if self.n_certified:
            return merges_to_keep(self.tree, self.n_certified)
        return merges_on_field(self.tree, learned=self.learned_widths)


class BlurredLandscape(NamedTuple):
    """The places where rows ended that were blurred, and the first field.

    Blurring moved all rows by a step, estimated the gradient anew, and so on. New rows
    take the same steps through the same fields, which they do not change, and are of
    the place that they are nearest to then. How these merge is told by the first field,
    the density of rows where they were.
    """

    first: FieldLandscape  # its peaks are the places
    rounds: tuple[tuple[Frame, Field], ...]  # a fixed-point step on each
    climbs: bool = True  # the first field in the end, as model files of formats 1 to 3

    @property
    def frame(self) -> Frame:
        """Coordinates of the first field."""
        return self.first.frame

    @property
    def modes(self) -> Floats:
        """Places where rows ended, in the data's coordinates, shape (k, d)."""
        return self.first.modes

    @property
    def mode_weights(self) -> Floats:
        """Weight of the rows that ended at each place, shape (k,)."""
        return self.first.mode_weights

    @property
    def tree(self) -> MergeTree:
        """How the modes merge."""
        return self.first.tree

    def with_tree(self) -> BlurredLandscape:
        """The same with its tree built."""
        return self._replace(first=self.first.with_tree())

    def locate(self, X: Reals, n_jobs: int | None = None) -> Integers:
        """Place that each row ends nearest to."""
        check_within_reach(self.frame, X)
        return self._assign(blur_rows(self.rounds, X, n_jobs), n_jobs)

    def label(
        self, X: Reals, mode_labels: Integers, n_jobs: int | None = None
    ) -> Integers:
        """Label of the place that each row ends nearest to."""
        return np.asarray(mode_labels[self.locate(X, n_jobs)])

    def _assign(self, moved: Floats, n_jobs: int | None) -> Integers:
        """Place of rows that have taken all steps."""
        if self.climbs:
            return self.first.locate(moved, n_jobs)
        ends = self.frame.enter(moved)
        return nearest_modes(self.first.field, ends, self.first.peaks)

    def paths(self, X: Reals, n_jobs: int | None = None) -> list[Floats]:
        """Where each row is after every step, in the data's coordinates."""
        check_within_reach(self.frame, X)
        points = [np.asarray(X, dtype=np.float64)]
        for one in self.rounds:
            points.append(blur_rows((one,), points[-1], n_jobs))
        return [*points, self.modes[self._assign(points[-1], n_jobs)]]

    def default_merges(self) -> Bools:
        """Merges of the tree that are made by default."""
        return self.first.default_merges()


def blur_rows(
    rounds: tuple[tuple[Frame, Field], ...],
    X: Reals,
    n_jobs: int | None = None,
) -> Floats:
    """Rows of data (n, d) after a fixed-point step on each of several fields."""
    moved = np.asarray(X, dtype=np.float64)
    for frame, field in rounds:
        step = partial(_fixed_point_step, field)
        columns = len(field.centers)
        moved = frame.leave(map_rows(step, frame.enter(moved), columns, n_jobs))
    return moved


def _fixed_point_step(field: Field, Z: Floats) -> Floats:
    return climb(field, Z, fixed_point(), tol=0.0, max_iter=1).points


# Model files name the types so.
FieldLandscape.__module__ = "modeseek.field"
BlurredLandscape.__module__ = "modeseek.field"
