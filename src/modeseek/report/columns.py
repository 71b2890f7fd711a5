"""Columns of numbers that the page draws rows by, and rows on their way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from modeseek.cluster.features import (
    gradient_in_features,
    has_gradient,
    height_on_graph,
    scaling_of,
)
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.plot.drawing import (
    at_even_pace,
    plane_of_clusters,
    principal_axes,
    without_names,
)
from modeseek.rows.arrays import Floats, Integers

#: Principal components to choose from, where there are more than two features.
COMPONENTS = 6

#: Frames and rows of the animation, and numbers it may take.
FRAMES, CLIMBERS, CLIMB_VALUES = 25, 300, 200_000


#: What the two directions are called in which clusters lie apart.
PLANE = ["cluster plane, across", "cluster plane, up"]


class ScatterColumns:
    """What a row can be drawn by.

    Features, principal components, the plane in which clusters lie apart, and
    log-density. The page starts with that plane, if there is one.
    """

    def __init__(
        self,
        model: ModeClustering,
        X: Floats,
        labels: Integers,
        names: list[str],
        kept: Integers,
    ) -> None:
        self._model, self._kept = without_names(model), kept
        wide = X.shape[1] > 2
        self._components = principal_axes(X, COMPONENTS) if wide else None
        self._plane = plane_of_clusters(self._enter(X), labels) if wide else None
        self.names = [names[j] for j in kept]
        self.start = (0, min(1, len(kept) - 1))
        if self._components is not None:
            self.start = (len(kept), len(kept) + 1)
            self.names += self._components.names()
        if self._plane is not None:
            self.start = (len(self.names), len(self.names) + 1)
            self.names += PLANE
        self._log_density: Callable[[Floats], Floats] | None = None
        if model.ascent_ == "rows":
            self._log_density = partial(height_on_graph, model)
        elif has_gradient(model):
            estimator = without_names(gradient_in_features(model))
            self._log_density = getattr(estimator, "log_density", None)
        if self._log_density is not None:
            self.names.append("log-density")
            if X.shape[1] == 1:
                self.start = (0, 1)

    def _enter(self, X: Floats) -> Floats:
        """Coordinates in which rows climb."""
        return np.asarray(self._model.transform(X))

    def values(self, X: Floats) -> Floats:
        """Values of rows in all columns, shape (m, n_columns)."""
        columns = [X[:, self._kept]]
        if self._components is not None:
            columns.append(self._components.transform(X))
        if self._plane is not None:
            columns.append(self._enter(X) @ self._plane.T)
        if self._log_density is not None:
            columns.append(self._log_density(X)[:, None])
        return np.concatenate(columns, axis=1)

    def count_climbers(self) -> int:
        """Rows of the animation."""
        return max(1, min(CLIMBERS, CLIMB_VALUES // (FRAMES * len(self.names))))

    def climb_values(self, X: Floats, modes: Integers) -> Floats:
        """Values of rows on their way to the modes, (n_frames, m, n_columns)."""
        model, d = self._model, X.shape[1]
        frame = scaling_of(model)
        size = max(1, CLIMB_VALUES * 10 // ((model.n_iter_ + 1) * d))
        parts = []
        for start in range(0, len(X), size):
            part = slice(start, start + size)
            # Rows stop within tol of their modes, or short of them after max_iter.
            ends = model.modes_[modes[part]][None]
            path = np.concatenate([model.paths(X[part]), ends])
            parts.append(frame.leave(at_even_pace(frame.enter(path), FRAMES)))
        along = np.concatenate(parts, axis=1)
        return self.values(along.reshape(-1, d)).reshape(FRAMES, len(X), -1)
