"""Labels of the nearest nodes of many rows: by groups first, then by cells."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from modeseek.graph.cells import Cells, cut_cells, nearest_labels
from modeseek.graph.groups import Groups, make_groups, nearest_in_groups
from modeseek.rows.arrays import Floats, Integers

#: Groups at most: all rows are compared with each of them.
MOST_GROUPS = 64


class Shortcuts:
    """Nodes (m, d) with labels (m,) or, without, with their numbers.

    Groups (m,) tell what is apart, if that is known.
    """

    def __init__(
        self,
        nodes: Floats,
        label: Integers | None = None,
        group: Integers | None = None,
    ) -> None:
        self.nodes, self.label, self._group = nodes, label, group

    @cached_property
    def _groups(self) -> Groups | None:
        if self._group is None or len(np.unique(self._group)) > MOST_GROUPS:
            return None
        label = np.arange(len(self.nodes)) if self.label is None else self.label
        return make_groups(self.nodes, self._group, label)

    @cached_property
    def _cells(self) -> Cells:
        return cut_cells(self.nodes, self.label)

    def find(
        self, Z: Floats, n_jobs: int | None = None, *, by_cells: bool = True
    ) -> Integers:
        """Label of the nearest node of rows (n, d); -1 where all must be tried."""
        found = np.full(len(Z), -1)
        if self._groups is not None:
            found = nearest_in_groups(self._groups, Z, n_jobs)
        left = np.flatnonzero(found < 0)
        if by_cells and len(left):
            found[left] = nearest_labels(self._cells, Z[left], n_jobs)
        return found
