"""Axes and lines that all figures share; colours that the colour-blind can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from reproduce.methods import (
    DEFAULTS,
    LSLDG,
    LSLDG_OURS,
    LSLDG_PRINTED,
    MEAN_SHIFT,
    MEAN_SHIFT_FINE,
)

#: Okabe and Ito; a method has the same colour, mark and dashes in every figure.
STYLES: dict[str, dict[str, Any]] = {
    LSLDG: {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    LSLDG_OURS: {"color": "#332288", "marker": "D", "linestyle": "-"},
    LSLDG_PRINTED: {"color": "#6b6b6b", "marker": "x", "linestyle": "-."},
    DEFAULTS: {"color": "#009E73", "marker": "s", "linestyle": "-"},
    MEAN_SHIFT: {"color": "#D55E00", "marker": "^", "linestyle": "--"},
    MEAN_SHIFT_FINE: {"color": "#E69F00", "marker": "v", "linestyle": "--"},
    "HDBSCAN": {"color": "#CC79A7", "marker": "x", "linestyle": ":"},
    "MeanShift": {"color": "#882255", "marker": "+", "linestyle": ":"},
    "GMM + BIC": {"color": "#56B4E9", "marker": "D", "linestyle": ":"},
    "ToMATo": {"color": "#6b6b6b", "marker": "P", "linestyle": ":"},
    "PLSCAN": {"color": "#1b1f24", "marker": "*", "linestyle": ":"},
}


def panels(n: int, height: float = 3.4, width: float = 4.2) -> tuple[Any, Any]:
    """A figure with n axes in a row, and the axes as a list."""
    figure, axes = plt.subplots(
        1, n, figsize=(width * n, height), layout="constrained", squeeze=False
    )
    for ax in axes[0]:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, list(axes[0])


def line_with_spread(
    ax: Any, x: list[float], values: list[np.ndarray], name: str, **style: Any
) -> None:
    """Means joined by a line, standard deviations as bars."""
    mean = [v.mean() for v in values]
    spread = [v.std(ddof=1) if len(v) > 1 else 0.0 for v in values]
    look = {"markersize": 5, "linewidth": 1.4, "capsize": 2, "elinewidth": 0.8}
    ax.errorbar(x, mean, yerr=spread, label=name, **look, **style)


def save(figure: Any, path: Path) -> str:
    """Write a PNG without its date; give its name."""
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)
    return path.name
