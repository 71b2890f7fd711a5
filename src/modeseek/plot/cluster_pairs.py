"""A plot of clusters in every pair of a few features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from modeseek.cluster.answers import NOISE
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.profile import telling_features
from modeseek.plot.canvas import GREY, MOST_LISTED, Axes, mark, scatter
from modeseek.plot.drawing import jittered, shortened, varying_features
from modeseek.plot.labelled_rows import (
    LabelledRows,
    LabelledRowsDisplay,
    is_feature,
    steps_of,
)
from modeseek.rows.arrays import Floats, Integers

#: Features that are shown unless told.
MOST_PAIRED = 5

#: Outlines of histograms, for print in grey.
LINES = ("-", "--", ":", "-.")


class ClusterPairsDisplay(LabelledRowsDisplay):
    """Clusters in every pair of a few features, and feature by feature.

    Features that are not asked for are all that vary, or the five that differ most
    between the clusters. Rounded values are spread a little, so that rows do not cover
    each other. Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_shown)
        Samples, in the features shown.
    labels : ndarray of shape (n_rows,)
        Clusters of the samples.
    names : sequence of str
        Names of the features shown.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes whose place the plot takes; hidden.
    axes_ : ndarray of matplotlib Axes, shape (n_shown, n_shown)
        Pairs below the diagonal, histograms on it; None above.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> from modeseek.plot import ClusterPairsDisplay
    >>> X, _ = three_gaussians(3).sample(500, random_state=0)
    >>> display = ClusterPairsDisplay.from_estimator(ModeClustering().fit(X), X)
    >>> display.axes_.shape
    (3, 3)
    """

    MAX_ROWS = 1000
    axes_: Any

    def __init__(self, *, rows: Floats, labels: Integers, names: Sequence[str]) -> None:
        self.rows = rows
        self.labels = labels
        self.names = names

    @classmethod
    def _compute(cls, model: ModeClustering, selected: LabelledRows) -> Self:
        rows, labels, features, names, rng = selected
        d = rows.shape[1]
        if features is None:
            features = _most_telling(rows, labels)
        if not len(features) or not all(is_feature(j, d) for j in features):
            raise ValueError(
                f"features must be numbers from 0 to {d - 1}; got {features!r}."
            )
        shown = [names[j] for j in features]
        spread = jittered(rows, steps_of(model), rng)
        return cls(rows=spread[:, features], labels=labels, names=shown)

    def _size(self) -> tuple[float, float]:
        side = max(3.2, 1.7 * len(self.names))
        return side, side

    def _draw(self, ax: Axes) -> None:
        n = len(self.names)
        ax.set_axis_off()
        place = ax.get_subplotspec()
        grid = place.subgridspec(n, n, wspace=0.08, hspace=0.08)
        self.axes_ = np.full((n, n), None, dtype=object)
        for i in range(n):
            for j in range(i + 1):
                cell = ax.figure.add_subplot(grid[i, j])
                self.axes_[i, j] = cell
                self._draw_cell(cell, i, j)
        handles, names = self.axes_[-1, 0].get_legend_handles_labels()
        if 0 < len(handles) <= MOST_LISTED:
            ax.legend(handles, names, frameon=False, loc="upper right", markerscale=1.8)

    def _draw_cell(self, cell: Axes, i: int, j: int) -> None:
        n = len(self.names)
        cell.spines[["top", "right"]].set_visible(False)
        cell.tick_params(labelsize="small")
        if i == j:
            self._draw_histogram(cell, self.rows[:, i])
            cell.set_yticks([])
            cell.spines["left"].set_visible(False)
        else:
            scatter(cell, self.rows[:, [j, i]], self.labels, s=10)
        if i == n - 1:
            cell.set_xlabel(shortened(self.names[j]))
        else:
            cell.tick_params(labelbottom=False)
        if j == 0 and i > 0:
            cell.set_ylabel(shortened(self.names[i]))
        elif j > 0:
            cell.tick_params(labelleft=False)

    def _draw_histogram(self, cell: Axes, values: Floats) -> None:
        """Draw a histogram of each cluster; of many clusters, one of all samples."""
        edges, distinct = (
            np.histogram_bin_edges(values, bins=24),
            np.unique(self.labels),
        )
        if len(distinct) > MOST_LISTED:
            cell.hist(values, edges, histtype="stepfilled", color=GREY, alpha=0.6)
            return
        for k in distinct:
            inside, color = values[self.labels == k], mark(int(k))["color"]
            line = {"linestyle": LINES[int(k) % len(LINES)], "linewidth": 1.2}
            cell.hist(inside, edges, histtype="stepfilled", color=color, alpha=0.3)
            cell.hist(inside, edges, histtype="step", color=color, **line)


def _most_telling(rows: Floats, labels: Integers) -> list[int]:
    """The few features that differ most between clusters."""
    deviation = rows.std(axis=0)
    U = (rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, np.inf)
    distinct, size = np.unique(labels[labels != NOISE], return_counts=True)
    means = np.stack([U[labels == k].mean(axis=0) for k in distinct])
    varying = varying_features(rows)
    found = telling_features(means[:, varying], size.astype(np.float64), MOST_PAIRED)
    return [int(j) for j in varying[found]]
