"""Where plots are drawn: axes, markers of clusters, legends; home of matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from modeseek.cluster.answers import NOISE
from modeseek.errors import UsageError
from modeseek.plot.drawing import COLORS, MARKERS
from modeseek.rows.arrays import Floats, Integers

# matplotlib's own; the base install has none to take them from.
Axes: TypeAlias = Any
Figure: TypeAlias = Any
Colormap: TypeAlias = Any
MouseEvent: TypeAlias = Any

INK, GREY = "#1b1f24", "#8c959f"

#: Modes are stars, in black.
STAR: dict[str, Any] = {
    "marker": "*",
    "color": INK,
    "edgecolor": "white",
    "linewidth": 0.8,
}

#: Clusters in a legend.
MOST_LISTED = 12


def pyplot() -> Any:
    """The module that makes figures, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib: pip install 'modeseek[plot]'."
        ) from error
    return plt


def save(figure: Figure, file: Path, name: Path) -> None:
    """Save a figure in a file, in the format that the ending of a name says."""
    kinds = sorted(figure.canvas.get_supported_filetypes())
    kind = name.suffix[1:].lower() or "png"
    if kind not in kinds:
        raise UsageError(f"{name}: no picture; end it in one of {', '.join(kinds)}.")
    figure.savefig(file, format=kind)
    pyplot().close(figure)


class Display:
    """What displays share: they draw on axes, their own or given ones."""

    ax_: Axes  # where the plot was drawn
    figure_: Figure  # the figure of these axes

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        self
        """
        if ax is None:
            _, ax = pyplot().subplots(figsize=self._size(), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        ax.spines[["top", "right"]].set_visible(False)
        self._draw(ax)
        return self

    def _size(self) -> tuple[float, float]:
        """Inches of a new figure."""
        return 6.4, 4.8

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError


def shades(low: str, high: str) -> Colormap:
    """Colour map from one colour to another."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(f"{low} to {high}", [low, high])


def mark(cluster: int) -> dict[str, Any]:
    """Colour and marker of a cluster, or of noise."""
    if cluster == NOISE:
        return {"color": GREY, "marker": "."}
    return {
        "color": COLORS[cluster % len(COLORS)],
        "marker": MARKERS[cluster % len(MARKERS)],
    }


def scatter(ax: Axes, points: Floats, labels: Integers, **style: Any) -> None:
    """Draw rows with the markers of their clusters, and names for a legend."""
    style = {"s": 18, "linewidth": 0.3, "edgecolor": "white", "alpha": 0.85, **style}
    for k in np.unique(labels):
        rows, name = labels == k, "noise" if k == NOISE else f"cluster {k}"
        ax.scatter(*points[rows].T, **style, **mark(int(k)), label=name)


def add_legend(ax: Axes, n_clusters: int) -> None:
    """Put a legend beside the axes, if it is of a size to be read."""
    if n_clusters <= MOST_LISTED:
        place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        ax.legend(frameon=False, markerscale=1.3, **place)
