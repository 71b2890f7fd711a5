"""A plot of how two clusterings of the same samples differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from modeseek.cluster.comparison import Comparison, compare_clusterings, name_label
from modeseek.plot.canvas import GREY, INK, Axes, Display, mark
from modeseek.rows.arrays import Floats, Integers

#: Space between two clusters, and the least height of one whose number is written, as
#: shares of all samples.
GAP, LEAST_NAMED = 0.03, 0.015

#: Width of the bars; the columns stand at 0 and 1.
BAR = 0.05


class ComparisonDisplay(Display):
    """Two clusterings of the same samples as columns, with bands between them.

    A band is as high as the number of samples that two clusters share, and has the
    colour of the cluster on the left. Use :meth:`from_clusterings` to make one.

    Parameters
    ----------
    comparison : Comparison
        As :func:`modeseek.compare_clusterings` returns it.
    names : sequence of two str
        What to call the two.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> from modeseek.plot import ComparisonDisplay
    >>> X, _ = three_gaussians().sample(500, random_state=0)
    >>> model = ModeClustering().fit(X)
    >>> display = ComparisonDisplay.from_clusterings(model, model.cut(n_clusters=2))
    >>> display.comparison.overlap.shape
    (3, 2)
    """

    def __init__(
        self, *, comparison: Comparison, names: Sequence[str] = ("one", "other")
    ) -> None:
        self.comparison = comparison
        self.names = names

    @classmethod
    def from_clusterings(
        cls,
        one: Any,
        other: Any,
        X: Any = None,
        *,
        names: Sequence[str] = ("one", "other"),
        ax: Axes | None = None,
    ) -> Self:
        """Draw how two clusterings differ.

        Parameters
        ----------
        one, other : array-like of shape (n_samples,), or fitted clusterers
            Labels, or models that have or predict them.
        X : array-like of shape (n_samples, n_features), optional
            Samples whose labels the models predict; by default those of the fits.
        names : sequence of two str, default=("one", "other")
            What to call the two.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        ComparisonDisplay
        """
        return cls(comparison=compare_clusterings(one, other, X), names=names).plot(ax)

    def _draw(self, ax: Axes) -> None:
        overlap = self.comparison.overlap
        gap = overlap.sum() * min(GAP, 0.5 / max(overlap.shape))
        left = np.arange(len(overlap))
        # From the top down by where the samples come from: so few bands cross.
        right = np.argsort(left @ overlap / overlap.sum(axis=0), kind="stable")
        starts = _stack(overlap.sum(axis=1), left, gap)
        ends = _stack(overlap.sum(axis=0), right, gap)
        colors = [
            GREY if label < 0 else mark(int(label))["color"]
            for label in self.comparison.clusters
        ]
        self._draw_column(0.0, self.comparison.clusters, starts, 1, colors)
        grey = [GREY] * len(right)
        self._draw_column(1.0, self.comparison.others, ends, 0, grey)
        from_top, to_top = starts.copy(), ends.copy()
        for i in left:
            for j in right[overlap[i, right] > 0]:
                height = overlap[i, j]
                self._draw_band(from_top[i], to_top[j], height, colors[i])
                from_top[i] -= height
                to_top[j] -= height
        ax.set(xlim=(-0.3, 1.3), xticks=[0.0, 1.0], yticks=[])
        ax.set_xticklabels(list(self.names))
        ax.tick_params(axis="x", length=0)
        ax.spines[["left", "bottom"]].set_visible(False)
        index = self.comparison.adjusted_rand
        ax.set_title(f"adjusted Rand index {index:.2f}", fontsize="medium")

    def _draw_column(
        self,
        x: float,
        labels: Integers,
        tops: Floats,
        axis: int,
        colors: Sequence[str],
    ) -> None:
        """Draw a bar for each cluster, with its number and size beside it."""
        sizes = self.comparison.overlap.sum(axis=axis)
        self.ax_.bar([x] * len(sizes), -sizes, BAR, tops, color=colors)
        side = {"ha": "right" if x == 0.0 else "left", "va": "center", "color": INK}
        place = -0.7 * BAR if x == 0.0 else 1.0 + 0.7 * BAR
        for label, size, top in zip(labels, sizes, tops, strict=True):
            if size >= LEAST_NAMED * sizes.sum():
                name = f"{name_label(label)} ({size:,})"
                self.ax_.text(place, top - 0.5 * size, name, **side)

    def _draw_band(self, top: float, end: float, height: int, color: str) -> None:
        x = np.linspace(0.0, 1.0, 60)
        high = top + (end - top) * x * x * (3.0 - 2.0 * x)
        across = 0.5 * BAR + (1.0 - BAR) * x
        style = {"color": color, "alpha": 0.45, "linewidth": 0.0}
        self.ax_.fill_between(across, high - height, high, **style)


def _stack(sizes: Integers, order: Integers, gap: float) -> Floats:
    """Top of each bar of a column, stacked from the top down around height zero."""
    tops = np.empty(len(sizes))
    tops[order] = -(np.cumsum(sizes[order] + gap) - sizes[order])
    return np.asarray(tops + 0.5 * (sizes.sum() + gap * (len(sizes) + 1)))
