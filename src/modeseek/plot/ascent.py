"""A plot of samples on their way to the modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.plot.canvas import (
    MOST_LISTED,
    STAR,
    Axes,
    add_legend,
    mark,
    scatter,
)
from modeseek.plot.drawing import principal_axes, without_names
from modeseek.plot.labelled_rows import (
    LabelledRows,
    LabelledRowsDisplay,
    check_two_features,
)
from modeseek.rows.arrays import Floats, Integers


@dataclass(kw_only=True, eq=False, repr=False)
class AscentDisplay(LabelledRowsDisplay):
    """Paths of samples on their way to the modes.

    The plot has two axes: the features asked for, the two that there are, or else the
    first two principal components of the standardised samples. Use
    :meth:`from_estimator` to make one; it is drawn on ``ax_`` of ``figure_``.

    Parameters
    ----------
    paths : ndarray of shape (n_steps + 1, n_rows, 2)
        Where each sample is after every step of its climb.
    labels : ndarray of shape (n_rows,)
        Clusters of the samples.
    modes : ndarray of shape (n_clusters, 2)
        Highest mode of each cluster.
    names : pair of str
        Names of the axes.

    Examples
    --------
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> from modeseek.plot import AscentDisplay
    >>> X, _ = three_gaussians().sample(500, random_state=0)
    >>> display = AscentDisplay.from_estimator(ModeClustering().fit(X), X)
    >>> display.ax_.get_xlabel()
    'feature 0'
    """

    MAX_ROWS = 300

    paths: Floats
    labels: Integers
    modes: Floats
    names: Sequence[str]

    @classmethod
    def _compute(cls, model: ModeClustering, selected: LabelledRows) -> Self:
        rows, labels, features, names, _ = selected
        d = rows.shape[1]
        paths, modes = without_names(model).paths(rows), model.cluster_centers_
        axes = principal_axes(rows, 2) if features is None and d > 2 else None
        if axes is not None:
            paths, modes = axes.transform(paths), axes.transform(modes)
            names = axes.names()
        else:
            plane = check_two_features(features, rows)
            paths, modes = paths[:, :, plane], modes[:, plane]
            names = [names[j] for j in plane]
        return cls(paths=paths, labels=labels, modes=modes, names=names)

    def _size(self) -> tuple[float, float]:
        return 7.2, 4.8

    def _draw(self, ax: Axes) -> None:
        for k in np.unique(self.labels):
            path = self.paths[:, self.labels == k].transpose(2, 0, 1)
            ax.plot(*path, color=mark(int(k))["color"], alpha=0.35, linewidth=0.8)
        scatter(ax, self.paths[0], self.labels)
        size = 170 if len(self.modes) <= MOST_LISTED else 50
        ax.scatter(*self.modes.T, s=size, **STAR, zorder=3, label="modes")
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        add_legend(ax, len(self.modes))
