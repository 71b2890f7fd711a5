"""Pictures of rows: the field they climb, their paths, their clusters in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.gradient.base import GradientEstimator
from modeseek.plot.canvas import (
    GREY,
    INK,
    MOST_LISTED,
    STAR,
    Axes,
    Display,
    add_legend,
    mark,
    scatter,
    shades,
)
from modeseek.plot.drawing import (
    name_features,
    principal_axes,
    telling_features,
    thin,
    without_names,
)
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.containers import check_in_memory
from modeseek.rows.ranking import generator
from modeseek.rows.validation import check_integer, check_rows

#: How far below its highest value the log-density is shaded.
DEPTH = 6.0

#: Features that pair plots show unless told, and letters of a name beside them.
MOST_PAIRED, NAME_LENGTH = 5, 18

#: Why rows in chunks or on Dask are refused.
SOME_ROWS = "a picture is of some of them: give those as an array."

#: Outlines of histograms, for print in grey.
LINES = ("-", "--", ":", "-.")


def _two_features(features: Sequence[int] | None, d: int) -> list[int]:
    """Check a pair of features; the first two by default."""
    chosen = [0, 1] if features is None else list(features)
    if d < 2 or len(chosen) != 2 or not all(_is_feature(j, d) for j in chosen):
        raise ValueError(
            f"features must be two numbers from 0 to {d - 1}, and X have at least two "
            f"features; got features={features!r} for {d} features."
        )
    return chosen


def _is_feature(j: object, d: int) -> bool:
    return isinstance(j, Integral) and 0 <= int(j) < d


def _ranges(points: Floats, widths: Floats) -> tuple[Floats, Floats]:
    """Least and largest values; a width about a value that is the only one."""
    low, high = points.min(axis=0), points.max(axis=0)
    around = np.where(np.isfinite(widths), widths, 1.0) * (low == high)
    return low - around, high + around


class GradientFieldDisplay(Display):
    """The gradient of the log-density on a plane, with its modes.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    x, y : ndarray of shape (n_across,), (n_up,)
        Grid of the plane.
    gradient : ndarray of shape (n_up, n_across, 2)
        Gradient along the plane.
    log_density : ndarray of shape (n_up, n_across) or None
        Shaded where there is one.
    modes : ndarray of shape (n_modes, 2)
        Modes, or their shadows on the plane.
    rows : ndarray of shape (n_rows, 2)
        Rows to draw below the arrows.
    names : pair of str
        Names of the two features.
    title : str
        What the plane is.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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

    def __init__(
        self,
        *,
        x: Floats,
        y: Floats,
        gradient: Floats,
        log_density: Floats | None,
        modes: Floats,
        rows: Floats,
        names: Sequence[str],
        title: str,
    ) -> None:
        self.x, self.y = x, y
        self.gradient = gradient
        self.log_density = log_density
        self.modes = modes
        self.rows = rows
        self.names = names
        self.title = title

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
        """Draw the field of a fitted estimator over the range of rows.

        Parameters
        ----------
        estimator : LogDensityGradient, KernelDensityGradient or ModeClustering
            Modes are drawn for the last.
        X : array-like of shape (n_samples, n_features)
            Rows.
        features : pair of int, optional
            The plane; the first two features if not given.
        at : array-like of shape (n_features,), optional
            Where the plane cuts the other features: by default at the highest mode,
            or at the median of the rows where there are no modes.
        feature_names : sequence of str, optional
        grid_resolution : int, default=24
            Arrows across and up.
        ax : matplotlib Axes, optional

        Returns
        -------
        GradientFieldDisplay
        """
        check_is_fitted(estimator)
        check_integer("grid_resolution", grid_resolution, least=2)
        check_in_memory(X, SOME_ROWS)
        rows = np.asarray(check_rows(estimator, X, reset=False), dtype=np.float64)
        d = rows.shape[1]
        names = name_features(estimator, d, feature_names)
        plane = _two_features(features, d)
        modes, field = np.empty((0, d)), estimator
        if isinstance(estimator, ModeClustering):
            modes, field = estimator.modes_, estimator.estimator_
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
        g = field.gradient(points)[:, plane].reshape(*shape, 2)
        height = None
        if hasattr(field, "log_density"):
            height = field.log_density(points).reshape(shape)
        others = ", ".join(
            f"{names[j]} = {middle[j]:.3g}" for j in range(d) if j not in plane
        )
        display = cls(
            x=x,
            y=y,
            gradient=g,
            log_density=height,
            modes=modes[:, plane],
            rows=rows[:, plane] if d == 2 else np.empty((0, 2)),
            names=[names[j] for j in plane],
            title=f"at {others}" if 0 < d - 2 <= 3 else "",
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
        step = np.array([np.ptp(self.x), np.ptp(self.y)]) / (len(self.x) - 1)
        move = self.gradient * step**2
        length = np.linalg.norm(move / step, axis=-1, keepdims=True)
        largest = length.max() or 1.0
        move = move / np.maximum(length, 1e-300) * np.sqrt(length / largest)
        ax.quiver(
            self.x,
            self.y,
            *np.moveaxis(move, -1, 0),
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


class AscentDisplay(Display):
    """Rows on their way to the modes.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    paths : ndarray of shape (n_steps + 1, n_rows, 2)
        Places of the rows after every step.
    labels : ndarray of shape (n_rows,)
        Their clusters.
    modes : ndarray of shape (n_clusters, 2)
        Highest mode of each cluster.
    names : pair of str
        Names of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

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

    def __init__(
        self, *, paths: Floats, labels: Integers, modes: Floats, names: Sequence[str]
    ) -> None:
        self.paths = paths
        self.labels = labels
        self.modes = modes
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: ModeClustering,
        X: ArrayLike,
        *,
        features: Sequence[int] | None = None,
        feature_names: Sequence[str] | None = None,
        max_rows: int = 300,
        random_state: int | np.random.RandomState | None = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the paths of some rows.

        Parameters
        ----------
        estimator : ModeClustering
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Rows.
        features : pair of int, optional
            Axes. By default the two features there are, or the first two principal
            components of the standardised rows.
        feature_names : sequence of str, optional
        max_rows : int, default=300
            Rows drawn; more are thinned, some of every cluster kept.
        random_state : int, RandomState instance or None, default=0
            Seed of the thinning.
        ax : matplotlib Axes, optional

        Returns
        -------
        AscentDisplay
        """
        rows, labels = _labelled(estimator, X, max_rows, random_state)
        d = rows.shape[1]
        names = name_features(estimator, d, feature_names)
        paths, modes = without_names(estimator).paths(rows), estimator.cluster_centers_
        axes = principal_axes(rows, 2) if features is None and d > 2 else None
        if axes is not None:
            paths, modes = axes.transform(paths), axes.transform(modes)
            names = axes.names()
        else:
            plane = _two_features(features, d)
            paths, modes = paths[:, :, plane], modes[:, plane]
            names = [names[j] for j in plane]
        return cls(paths=paths, labels=labels, modes=modes, names=names).plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        return 7.2, 4.8

    def _draw(self, ax: Axes) -> None:
        for k in np.unique(self.labels):
            way = self.paths[:, self.labels == k].transpose(2, 0, 1)
            ax.plot(*way, color=mark(int(k))["color"], alpha=0.35, linewidth=0.8)
        scatter(ax, self.paths[0], self.labels)
        ax.scatter(*self.modes.T, s=170, **STAR, zorder=3, label="modes")
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        add_legend(ax, len(self.modes))


def _labelled(
    model: ModeClustering,
    X: ArrayLike,
    max_rows: int,
    random_state: int | np.random.RandomState | None,
) -> tuple[Floats, Integers]:
    """Some rows of X, and their clusters."""
    check_is_fitted(model)
    check_integer("max_rows", max_rows, least=1)
    check_in_memory(X, SOME_ROWS)
    rows = np.asarray(check_rows(model, X, reset=False), dtype=np.float64)
    labels = model.predict(X)
    shown = thin(labels, max_rows, generator(random_state), least=10)
    return rows[shown], labels[shown]


class ClusterPairsDisplay(Display):
    """Clusters in every pair of a few features, and feature by feature.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_shown)
        The features shown.
    labels : ndarray of shape (n_rows,)
        Clusters of the rows.
    names : sequence of str
        Names of the features shown.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes whose place the picture takes; hidden.
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

    axes_: Any

    def __init__(self, *, rows: Floats, labels: Integers, names: Sequence[str]) -> None:
        self.rows = rows
        self.labels = labels
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: ModeClustering,
        X: ArrayLike,
        *,
        features: Sequence[int] | None = None,
        feature_names: Sequence[str] | None = None,
        max_rows: int = 1000,
        random_state: int | np.random.RandomState | None = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw rows in pairs of features.

        Parameters
        ----------
        estimator : ModeClustering
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Rows.
        features : sequence of int, optional
            By default all, or the five that differ most between the clusters.
        feature_names : sequence of str, optional
        max_rows : int, default=1000
            Rows drawn; more are thinned, some of every cluster kept.
        random_state : int, RandomState instance or None, default=0
            Seed of the thinning.
        ax : matplotlib Axes, optional

        Returns
        -------
        ClusterPairsDisplay
        """
        rows, labels = _labelled(estimator, X, max_rows, random_state)
        d = rows.shape[1]
        names = name_features(estimator, d, feature_names)
        if features is None:
            features = _most_telling(rows, labels)
        if not len(features) or not all(_is_feature(j, d) for j in features):
            raise ValueError(
                f"features must be numbers from 0 to {d - 1}; got {features!r}."
            )
        display = cls(
            rows=rows[:, features], labels=labels, names=[names[j] for j in features]
        )
        return display.plot(ax=ax)

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
            edges = np.histogram_bin_edges(self.rows[:, i], bins=24)
            for k in np.unique(self.labels):
                values, color = self.rows[self.labels == k, i], mark(int(k))["color"]
                line = {"linestyle": LINES[int(k) % len(LINES)], "linewidth": 1.2}
                cell.hist(values, edges, histtype="stepfilled", color=color, alpha=0.3)
                cell.hist(values, edges, histtype="step", color=color, **line)
            cell.set_yticks([])
            cell.spines["left"].set_visible(False)
        else:
            scatter(cell, self.rows[:, [j, i]], self.labels, s=10)
        if i == n - 1:
            cell.set_xlabel(_shortened(self.names[j]))
        else:
            cell.tick_params(labelbottom=False)
        if j == 0 and i > 0:
            cell.set_ylabel(_shortened(self.names[i]))
        elif j > 0:
            cell.tick_params(labelleft=False)


def _shortened(name: str) -> str:
    """A name that fits beside a small picture."""
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…"


def _most_telling(rows: Floats, labels: Integers) -> list[int]:
    """The few features that differ most between clusters."""
    scale = rows.std(axis=0)
    U = (rows - rows.mean(axis=0)) / np.where(scale > 0, scale, np.inf)
    distinct, size = np.unique(labels, return_counts=True)
    means = np.stack([U[labels == k].mean(axis=0) for k in distinct])
    return [
        int(j) for j in telling_features(means, size.astype(np.float64), MOST_PAIRED)
    ]
