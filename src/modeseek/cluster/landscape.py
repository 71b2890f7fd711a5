"""What a clusterer asks of whatever its rows climb."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.coordinates import Frame
from modeseek.tree.merge_tree import MergeTree


class Landscape(Protocol):
    """What rows climb: a field, a graph of rows, a blurred field.

    Rows and answers are in the data's coordinates; the frame, in which everything is
    computed, stays inside. A new way to climb is a class with these members.
    """

    @property
    def frame(self) -> Frame:
        """The coordinates in which everything is computed."""
        ...

    @property
    def modes(self) -> Floats:
        """Modes, highest first, shape (n_modes, n_features)."""
        ...

    @property
    def mode_weights(self) -> Floats:
        """Weight of the rows that reached each mode, shape (n_modes,)."""
        ...

    @property
    def tree(self) -> MergeTree:
        """How the modes merge; it may be built only now."""
        ...

    def with_tree(self) -> Landscape:
        """The same with its tree built, as files hold it."""
        ...

    def locate(self, X: NDArray[np.floating], n_jobs: int | None = None) -> Integers:
        """Mode that each row reaches, shape (n,)."""
        ...

    def label(
        self,
        X: NDArray[np.floating],
        mode_labels: Integers,
        n_jobs: int | None = None,
    ) -> Integers:
        """Label of the mode that each row reaches, shape (n,); modes have these."""
        ...

    def paths(self, X: NDArray[np.floating], n_jobs: int | None = None) -> list[Floats]:
        """Where rows are after every step of their climb, each of shape (n, d)."""
        ...

    def default_merges(self) -> Bools:
        """Merges of the tree that are made by default, shape (n_modes - 1,)."""
        ...
