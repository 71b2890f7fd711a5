"""Figure 4: rows of three Gaussians move to the modes, at iterations 0, 5, 15 and last.

Also as an animation, ``figure4.gif``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from modeseek.datasets import three_gaussians
from reproduce.entries import Claim, Entry
from reproduce.methods import lsldg
from reproduce.pictures import panels, plt, save
from reproduce.runs import Batch, Lab, extent, numbers

COLORS, MARKERS = ("#0072B2", "#D55E00", "#009E73"), ("o", "^", "s")

#: The paper's last iteration.
LAST = 47

#: Rows this near to their mode have arrived, as far as a picture shows.
ARRIVED = 0.05

#: Frames of the animation, and its frames a second.
FRAMES, PACE = 40, 8


def draw_rows(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return three_gaussians(2).sample(rows, random_state=seed)


def compute(rows: int, seed: int) -> dict[str, Any]:
    """Climb from every row in the paper's setting."""
    X, y = draw_rows(rows, seed)
    model = lsldg().fit(X)
    paths = model.paths(X)
    ends = model.modes_[model.row_modes_]
    away = np.linalg.norm(paths - ends, axis=2).max(axis=1)
    nearest = cdist(X, model.modes_).argmin(axis=1)
    return {
        "modes": len(model.modes_),
        "arrived_after": int(np.argmax(away < ARRIVED)) if away[-1] < ARRIVED else -1,
        "steps": len(paths) - 1,
        "to_nearest": float((nearest == model.row_modes_).mean()),
        "ari": adjusted_rand_score(y, model.labels_),
    }


def batches(lab: Lab) -> list[Batch]:
    return [Batch("climb", [{"rows": lab.size.rows, "seed": 0}], compute)]


def run(lab: Lab) -> list[Entry]:
    n = lab.size.rows
    (batch,) = batches(lab)
    rows = lab.lines(batch)
    (modes,), (arrived,), (steps,), (near,), (ari,) = (
        numbers(rows, name)
        for name in ("modes", "arrived_after", "steps", "to_nearest", "ari")
    )
    claims = [
        Claim(
            "All points converge to three modes.",
            "three modes are found and every row ends at one",
            f"{modes:.0f} modes; adjusted Rand index {ari:.3f} to the components",
            bool(modes == 3 and arrived >= 0),
        ),
        Claim(
            "The modes are the nearest ones.",
            "at least 95 % of the rows go to the mode nearest to them",
            f"{near:.1%} do",
            bool(near >= 0.95),
        ),
        Claim(
            f"They converge within {LAST} iterations.",
            f"every row is within {ARRIVED:g} of its mode after {LAST} steps",
            f"after {arrived:.0f} steps; the last row stops after {steps:.0f}"
            if arrived >= 0
            else "not all arrive",
            bool(0 <= arrived <= LAST),
            "Our steps are cut to a quarter of a width near the centres, so that no "
            "row leaps over a valley; that takes more of them. The paper's rule for "
            "stopping is not given.",
        ),
    ]
    pictures = draw(lab)
    return [
        Entry(
            "Figure 4",
            "Rows moving to the modes",
            f"Three Gaussians in a plane, n = {n} (the paper: 1000), seed 0; separate "
            "coefficients, every mode a cluster.",
            claims,
            pictures,
            extent=extent(batch, rows),
        )
    ]


def draw(lab: Lab) -> list[tuple[str, str]]:
    """Four moments, and the animation."""
    X, y = draw_rows(lab.size.rows, 0)
    paths = lsldg().fit(X).paths(X)
    figure, axes = panels(4, height=3.1, width=3.0)
    for ax, step in zip(axes, (0, 5, 15, len(paths) - 1), strict=True):
        at = min(step, len(paths) - 1)
        show(ax, paths[at], y)
        ax.set(xlim=(-6, 6), ylim=(-6, 6), aspect="equal", title=f"iteration {at}")
    still = save(figure, lab.out / "figure4.png")
    figure, (ax,) = panels(1, height=4.0, width=4.0)
    times = np.unique(np.geomspace(1, len(paths), FRAMES).astype(int)) - 1

    def frame(step: int) -> None:
        ax.clear()
        show(ax, paths[step], y)
        ax.set(xlim=(-6, 6), ylim=(-6, 6), aspect="equal", title=f"iteration {step}")

    animation = FuncAnimation(figure, frame, frames=times)
    animation.save(lab.out / "figure4.gif", writer=PillowWriter(fps=PACE), dpi=80)
    plt.close(figure)
    return [
        (still, "Rows at four iterations, marked by the Gaussian they come from"),
        ("figure4.gif", "The same as an animation; later iterations pass faster"),
    ]


def show(ax: Any, points: np.ndarray, y: np.ndarray) -> None:
    for k, (color, marker) in enumerate(zip(COLORS, MARKERS, strict=True)):
        ax.scatter(*points[y == k].T, s=9, c=color, marker=marker, linewidth=0)
