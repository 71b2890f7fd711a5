"""A plot of the gradient of the log-density on a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.features import gradient_in_features
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.profile import name_features
from modeseek.gradient.base import GradientEstimator
from modeseek.plot.canvas import GREY, INK, STAR, Axes, Display, shades
from modeseek.plot.drawing import without_names
from modeseek.plot.labelled_rows import check_two_features, rows_in_memory
from modeseek.rows.arrays import Floats
from modeseek.rows.validation import check_integer

#: How far below its highest value the log-density is shaded.
DEPTH = 6.0

#: Features beside the plane whose values the title tells.
MOST_TITLED = 3


@dataclass(kw_only=True, eq=False, repr=False)
class GradientFieldDisplay(Display):
    """The gradient of the log-density on a plane, as arrows, with the modes.

    Use :meth:`from_estimator` to make one; it is drawn on ``ax_`` of ``figure_``.

    Parameters
    ----------
    x, y : ndarray of shape (n_across,), (n_up,)
        Grid of the plane.
    gradient : ndarray of shape (n_up, n_across, 2)
        Gradient along the plane.
    log_density : ndarray of shape (n_up, n_across) or None
        Shaded where there is one.
    modes : ndarray of shape (n_modes, 2)
        Modes, projected to the plane.
    rows : ndarray of shape (n_rows, 2)
        Samples to draw below the arrows.
    names : pair of str
        Names of the two features.
    title : str
        What the plane is.

    Examples
    --------
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> from modeseek.plot import GradientFieldDisplay
    >>> X, _ = three_gaussians().sample(500, random_state=0)
    >>> model = ModeClustering(ascent="fixed_point").fit(X)
    >>> display = GradientFieldDisplay.from_estimator(model, X)
    >>> display.modes.shape
    (3, 2)
    """

    x: Floats
    y: Floats
    gradient: Floats
    log_density: Floats | None
    modes: Floats
    rows: Floats
    names: Sequence[str]
    title: str

    @classmethod
    def from_estimator(
        cls,
        estimator: GradientEstimator | ModeClustering,
        X: ArrayLike,
        *,
        features: Sequence[int] | None = None,
        at: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        grid_resolution: int = 24,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the gradient that an estimator was fitted to, over the range of X.

        Parameters
        ----------
        estimator : LogDensityGradient, KernelDensityGradient or ModeClustering
            Fitted. Only the last has modes to draw.
        X : array-like of shape (n_samples, n_features)
            Samples: their range is drawn, and where there are two features, they are.
        features : pair of int, optional
            The plane; the first two features that vary if not given.
        at : array-like of shape (n_features,), optional
            Where the plane cuts the other features: by default at the highest mode,
            or at the median of X where there are no modes.
        feature_names : sequence of str, optional
            By default those that the estimator was fitted with.
        grid_resolution : int, default=24
            Arrows across and up.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        GradientFieldDisplay
        """
        check_is_fitted(estimator)
        check_integer("grid_resolution", grid_resolution, least=2)
        rows = rows_in_memory(estimator, X)
        d = rows.shape[1]
        names = name_features(estimator, d, feature_names)
        plane = check_two_features(features, rows)
        modes: Floats = np.empty((0, d))
        field: Any = estimator
        if isinstance(estimator, ModeClustering):
            modes, field = estimator.modes_, gradient_in_features(estimator)
        middle = modes[0] if len(modes) else np.median(rows, axis=0)
        if at is not None:
            middle = np.asarray(at, dtype=np.float64)
            if middle.shape != (d,):
                raise ValueError(f"at must have {d} numbers; got shape {middle.shape}.")
        low, high = _ranges(rows[:, plane], field.bandwidth_[plane])
        x, y = np.linspace(low, high, grid_resolution).T
        points = np.tile(middle, (grid_resolution**2, 1))
        points[:, plane] = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        shape = (grid_resolution, grid_resolution)
        field = without_names(field)
        height = None
        if hasattr(field, "log_density"):
            height = field.log_density(points).reshape(shape)
        others = [f"{names[j]} = {middle[j]:.3g}" for j in range(d) if j not in plane]
        display = cls(
            x=x,
            y=y,
            gradient=field.gradient(points)[:, plane].reshape(*shape, 2),
            log_density=height,
            modes=modes[:, plane],
            rows=rows[:, plane] if d == 2 else np.empty((0, 2)),
            names=[names[j] for j in plane],
            title=f"at {', '.join(others)}" if 0 < len(others) <= MOST_TITLED else "",
        )
        return display.plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        if self.log_density is not None:
            top = float(self.log_density.max())
            levels = top + np.linspace(-DEPTH, 0.0, 13)
            pale = shades("#ffffff", "#9fc5e0")
            ax.contourf(
                self.x, self.y, self.log_density, levels, cmap=pale, extend="min"
            )
        ax.scatter(*self.rows.T, s=3, color=GREY, linewidth=0, alpha=0.6)
        # Directions as they are on the axes; lengths grow with the root, or the steep
        # outskirts would leave only dots in the middle.
        spacing = np.array([np.ptp(self.x), np.ptp(self.y)]) / (len(self.x) - 1)
        arrow = self.gradient * spacing**2
        length = np.linalg.norm(arrow / spacing, axis=-1, keepdims=True)
        longest = length.max() or 1.0
        arrow = arrow / np.maximum(length, 1e-300) * np.sqrt(length / longest)
        ax.quiver(
            self.x,
            self.y,
            *np.moveaxis(arrow, -1, 0),
            angles="xy",
            scale_units="xy",
            scale=1.0,
            width=0.0025,
            color=INK,
            alpha=0.75,
        )
        if len(self.modes):
            ax.scatter(*self.modes.T, s=170, **STAR, zorder=3, label="modes")
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        ax.set_title(self.title, fontsize="medium")


def _ranges(points: Floats, widths: Floats) -> tuple[Floats, Floats]:
    """Least and largest values; a width about a value that is the only one."""
    low, high = points.min(axis=0), points.max(axis=0)
    around = np.where(np.isfinite(widths), widths, 1.0) * (low == high)
    return low - around, high + around
