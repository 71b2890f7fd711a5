"""Where plots are drawn: axes, markers of clusters, legends; home of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from modeseek.cluster.answers import NOISE
from modeseek.errors import UsageError
from modeseek.plot.drawing import MARKERS, palette
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


def shades(*colors: str) -> Colormap:
    """Colour map from one colour to another, and on to further ones."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(" to ".join(colors), colors)


def write_beside(ax: Axes, places: Sequence[Floats], texts: Sequence[str]) -> None:
    """Write texts at places where they do not cover each other, the first ones first.

    A text stands above its place, or else below, or else it is left out.
    """
    from matplotlib import patheffects

    halo = [patheffects.withStroke(linewidth=3, foreground="white")]
    ax.figure.canvas.draw()  # axes have their size and range only then
    points = 72.0 / ax.figure.dpi
    taken: list[tuple[float, float, float, float]] = []
    for place, text in zip(places, texts, strict=True):
        x, y = points * ax.transData.transform(place)
        lines = text.split("\n")
        half = 1.0 + 2.9 * max(map(len, lines))
        high = 11.0 * len(lines)
        for side, bottom in (("bottom", y + 3.0), ("top", y - 3.0 - high)):
            box = (x - half, x + half, bottom, bottom + high)
            if all(
                box[1] < left or box[0] > right or box[3] < low or box[2] > up
                for left, right, low, up in taken
            ):
                taken.append(box)
                ax.annotate(
                    text,
                    place,
                    (0.0, 3.0 if side == "bottom" else -3.0),
                    textcoords="offset points",
                    ha="center",
                    va=side,
                    fontsize=9,
                    fontweight="bold",
                    color=INK,
                    linespacing=1.0,
                    path_effects=halo,
                )
                break


def mark(cluster: int) -> dict[str, Any]:
    """Colour and marker of a cluster, or of noise."""
    if cluster == NOISE:
        return {"color": GREY, "marker": "."}
    return {
        "color": palette(cluster + 1)[-1],
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
