"""Pictures of a fit: its cross-validation, its merge tree, its features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.gradient.base import GradientEstimator
from modeseek.plot.canvas import GREY, INK, Axes, Display, MouseEvent, mark
from modeseek.plot.drawing import COLORS, name_features
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.validation import check_integer, check_real
from modeseek.tree.dendrogram import Dendrogram, lay_out
from modeseek.tree.merge_tree import MergeTree

#: Modes whose numbers are written below a dendrogram.
MOST_NUMBERED = 30


class ValidationDisplay(Display):
    """The surface of cross-validation, its edges and its winner.

    Low is good. Zero is the loss of a field without any slope: what is worse than
    that is drawn as zero. Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    bandwidth : ndarray of shape (n_widths,)
        Candidate widths; the geometric mean where features have their own.
    alpha : ndarray of shape (n_alphas,) or None
        Candidate penalties; None for a kernel density estimate.
    loss : ndarray of shape (n_widths, n_alphas) or (n_widths,)
        Hold-out loss.
    allowed : ndarray of shape (n_widths,)
        Whether a width had rows enough within reach.
    winner : tuple of int or None
        Place of the chosen candidate; None where widths were learned from there.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from modeseek import LogDensityGradient
    >>> from modeseek.datasets import three_gaussians
    >>> from modeseek.plot import ValidationDisplay
    >>> X, _ = three_gaussians().sample(500, random_state=0)
    >>> display = ValidationDisplay.from_estimator(LogDensityGradient().fit(X))
    >>> display.loss.shape
    (11, 15)
    """

    def __init__(
        self,
        *,
        bandwidth: Floats,
        alpha: Floats | None,
        loss: Floats,
        allowed: Bools,
        winner: tuple[int, ...] | None,
    ) -> None:
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.loss = loss
        self.allowed = allowed
        self.winner = winner

    @classmethod
    def from_estimator(
        cls, estimator: GradientEstimator | ModeClustering, *, ax: Axes | None = None
    ) -> Self:
        """Draw how a fitted estimator chose its width and penalty.

        Parameters
        ----------
        estimator : LogDensityGradient, KernelDensityGradient or ModeClustering
            Fitted, with something to choose.
        ax : matplotlib Axes, optional

        Returns
        -------
        ValidationDisplay
        """
        check_is_fitted(estimator)
        if isinstance(estimator, ModeClustering):
            estimator = estimator.estimator_
        fitted: Any = estimator
        results = fitted.cv_results_
        if not results:
            raise ValueError(
                "Nothing was chosen by cross-validation: bandwidth and alpha were "
                "given. Leave one of them to be chosen."
            )
        widths = results["bandwidth"]
        chosen = np.isclose(widths, fitted.bandwidth_, rtol=1e-9).all(axis=1)
        winner: tuple[int, ...] | None = None
        if chosen.any():
            winner = (int(chosen.argmax()),)
        finite = np.isfinite(widths).all(axis=0)
        mean_width = np.exp(np.log(widths[:, finite]).mean(axis=1))
        if "alpha" not in results:
            display = cls(
                bandwidth=mean_width,
                alpha=None,
                loss=-results["mean_test_log_likelihood"],
                allowed=np.ones(len(widths), dtype=bool),
                winner=winner,
            )
            return display.plot(ax=ax)
        if winner is not None:
            winner = (*winner, int(np.abs(results["alpha"] - fitted.alpha_).argmin()))
        display = cls(
            bandwidth=mean_width,
            alpha=results["alpha"],
            loss=results["mean_test_loss"],
            allowed=results["allowed"],
            winner=winner,
        )
        return display.plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        if self.alpha is None or min(self.loss.shape) == 1:
            self._draw_curve(ax)
        else:
            self._draw_map(ax, self.alpha)

    def _on_edge(self) -> bool:
        """Whether a better candidate may lie beyond the winner."""
        if self.winner is None:
            return False
        sides = zip(self.winner, self.loss.shape, strict=True)
        return any(n > 1 and place in (0, n - 1) for place, n in sides)

    def _draw_map(self, ax: Axes, alpha: Floats) -> None:
        drawn = np.minimum(self.loss, 0.0)
        mesh = ax.pcolormesh(
            _borders(alpha), _borders(self.bandwidth), drawn, cmap="cividis_r"
        )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.figure.colorbar(mesh, ax=ax, label="hold-out loss (low is good)")
        x, y = np.meshgrid(alpha, self.bandwidth)
        poor = (~self.allowed[:, None]) | (self.loss > 0)
        ax.plot(x[poor], y[poor], "x", color="white", markersize=4, linestyle="none")
        best = np.unravel_index(
            np.where(self.allowed[:, None], self.loss, np.inf).argmin(), poor.shape
        )
        ax.plot(x[best], y[best], "o", **_ring(11), label="lowest")
        if self.winner is not None:
            edge = " (on the edge)" if self._on_edge() else ""
            star = {"markersize": 18, "color": "white", "markeredgecolor": INK}
            ax.plot(x[self.winner], y[self.winner], "*", **star, label=f"chosen{edge}")
        if poor.any():
            ax.plot([], [], "x", color=GREY, label="too narrow, or worse than nothing")
        ax.set_xlabel("penalty (alpha)")
        ax.set_ylabel("bandwidth")
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(-0.02, -0.12))

    def _draw_curve(self, ax: Axes) -> None:
        along_width = self.alpha is None or len(self.alpha) == 1
        x = self.bandwidth if along_width else self.alpha
        assert x is not None
        y = self.loss.ravel()
        ax.plot(x, y, "o-", color=COLORS[0], markersize=4)
        best = int(y.argmin())
        ax.plot(x[best], y[best], "o", **_ring(11), label="lowest")
        if self.winner is not None:
            at = self.winner[0 if along_width else 1]
            edge = " (on the edge)" if self._on_edge() else ""
            star = {"markersize": 17, "color": INK, "markeredgecolor": "white"}
            ax.plot(x[at], y[at], "*", **star, label=f"chosen{edge}")
        ax.set_xscale("log")
        ax.set_xlabel("bandwidth" if along_width else "penalty (alpha)")
        what = "minus log-likelihood" if self.alpha is None else "hold-out loss"
        ax.set_ylabel(f"{what} (low is good)")
        ax.legend(frameon=False)


def _ring(size: float) -> dict[str, Any]:
    return {"markersize": size, "color": "none", "markeredgecolor": INK}


def _borders(centers: Floats) -> Floats:
    """Borders of cells around points of a logarithmic axis."""
    logs = np.log(centers)
    inner = 0.5 * (logs[1:] + logs[:-1])
    ends = 2 * logs[[0, -1]] - inner[[0, -1]]
    return np.asarray(np.exp(np.concatenate([ends[:1], inner, ends[1:]])))


class MergeTreeDisplay(Display):
    """The merge tree as a dendrogram, with a cut that can be moved.

    Feet are modes; two branches join at their prominence, drawn with its standard
    error. Branches that join below the dashed line are one cluster. In a window or a
    notebook with a live canvas the line can be dragged. Use :meth:`from_estimator` to
    make one.

    Parameters
    ----------
    estimator : ModeClustering
        Fitted; it numbers the clusters.
    cut : float or None
        Prominence of the cut; None for the clusters as fitted.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    cut_ : float or None
        The level shown.
    mode_labels_ : ndarray of shape (n_modes,)
        Cluster of every mode at that level.

    Examples
    --------
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> from modeseek.plot import MergeTreeDisplay
    >>> X, _ = three_gaussians().sample(500, random_state=0)
    >>> display = MergeTreeDisplay.from_estimator(ModeClustering().fit(X))
    >>> set(display.set_cut(100.0).mode_labels_.tolist())
    {0}
    """

    cut_: float | None
    mode_labels_: Integers

    def __init__(self, *, estimator: ModeClustering, cut: float | None = None) -> None:
        self.estimator = estimator
        self.cut = cut

    @classmethod
    def from_estimator(
        cls,
        estimator: ModeClustering,
        *,
        cut: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the merge tree of a fitted clustering.

        Parameters
        ----------
        estimator : ModeClustering
            Fitted.
        cut : float, optional
            Prominence of the cut; by default the clusters as fitted.
        ax : matplotlib Axes, optional

        Returns
        -------
        MergeTreeDisplay
        """
        check_is_fitted(estimator)
        return cls(estimator=estimator, cut=cut).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        tree, layout = self.estimator.merge_tree_, lay_out(self.estimator.merge_tree_)
        self._draw_brackets(tree, layout)
        self._draw_feet(layout)
        self._line = ax.axhline(0.0, color=INK, linestyle="--", linewidth=1.5)
        top = float((tree.prominence + tree.std_error).max(initial=0.0)) or 1.0
        ax.set_ylim(-0.04 * top, 1.05 * top)
        ax.set_ylabel("prominence")
        ax.set_xlabel("modes, highest is 0")
        self._dragging = False
        canvas = self.figure_.canvas
        canvas.mpl_connect("button_press_event", self._press)
        canvas.mpl_connect("motion_notify_event", self._move)
        canvas.mpl_connect("button_release_event", self._release)
        self.set_cut(self.cut)

    def _draw_brackets(self, tree: MergeTree, layout: Dendrogram) -> None:
        sides = zip(
            layout.left,
            layout.right,
            layout.left_foot,
            layout.right_foot,
            layout.height,
            strict=True,
        )
        self._brackets = [
            self.ax_.plot(
                [a, a, b, b], [foot_a, y, y, foot_b], solid_joinstyle="miter"
            )[0]
            for a, b, foot_a, foot_b, y in sides
        ]
        error = tree.std_error[layout.merge]
        self.ax_.errorbar(
            layout.middle(),
            layout.height,
            [np.minimum(error, layout.height), error],
            fmt="none",
            ecolor=GREY,
            elinewidth=6.0 if len(error) <= MOST_NUMBERED else 2.0,
            alpha=0.35,
            zorder=1,
        )
        self._merge = layout.merge

    def _draw_feet(self, layout: Dendrogram) -> None:
        k = len(layout.x)
        size = 8.0 if k <= MOST_NUMBERED else 4.0
        self._feet = [
            self.ax_.plot(x, 0.0, markersize=size, clip_on=False, zorder=4)[0]
            for x in layout.x
        ]
        numbered = k <= MOST_NUMBERED
        self.ax_.set_xticks(layout.x if numbered else [], range(k) if numbered else [])
        self.ax_.tick_params(axis="x", length=0, pad=8)
        self.ax_.set_xlim(-0.6, k - 0.4)

    def set_cut(self, prominence: float | None) -> Self:
        """Move the cut.

        Parameters
        ----------
        prominence : float or None
            None for the clusters as fitted.

        Returns
        -------
        self
        """
        model, tree = self.estimator, self.estimator.merge_tree_
        labels = model.mode_labels_
        if prominence is not None:
            prominence = check_real("cut", prominence, least=0.0)
            labels = model._number(tree.cut(prominence=prominence))[0]
        self.cut_, self.mode_labels_ = prominence, labels
        made = labels[tree.child] == labels[tree.parent]
        for bracket, merge in zip(self._brackets, self._merge, strict=True):
            color = mark(int(labels[tree.child[merge]]))["color"]
            bracket.set_color(color if made[merge] else GREY)
            bracket.set_linewidth(2.2 if made[merge] else 1.3)
        for foot, label in zip(self._feet, labels, strict=True):
            foot.set(**mark(int(label)), markeredgecolor="white")
        level = self._fitted_level() if prominence is None else prominence
        self._line.set_ydata([level, level])
        n = int(labels.max()) + 1
        where = "as fitted" if prominence is None else f"at prominence {level:.3g}"
        self.ax_.set_title(f"{n} cluster{'s' * (n > 1)} {where}", fontsize="medium")
        self.figure_.canvas.draw_idle()
        return self

    def _fitted_level(self) -> float:
        """A level among the merges that would make as many as the fit made."""
        rising = np.r_[0.0, np.sort(self.estimator.merge_tree_.prominence)]
        made = len(rising) - self.estimator.n_clusters_
        if made == len(rising) - 1:
            return float(1.02 * rising[-1])
        return float(0.5 * (rising[made] + rising[made + 1]))

    def _near(self, event: MouseEvent) -> bool:
        """Whether the mouse is within a few pixels of the line."""
        if event.inaxes is not self.ax_:
            return False
        level = float(np.asarray(self._line.get_ydata())[0])
        line = self.ax_.transData.transform((0.0, level))[1]
        return bool(abs(event.y - line) <= 6.0)

    def _press(self, event: MouseEvent) -> None:
        self._dragging = self._near(event)

    def _move(self, event: MouseEvent) -> None:
        if self._dragging and event.inaxes is self.ax_ and event.ydata is not None:
            self.set_cut(max(0.0, float(event.ydata)))

    def _release(self, event: object) -> None:
        self._dragging = False


class FeatureRelevanceDisplay(Display):
    """How much each feature has to say about the clusters.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    relevance : ndarray of shape (n_features,)
        Shares, not negative, that sum to 1.
    names : sequence of str
        Names of the features.
    max_features : int
        Bars drawn; the rest is summed up in one.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from modeseek.plot import FeatureRelevanceDisplay
    >>> display = FeatureRelevanceDisplay(
    ...     relevance=np.array([0.1, 0.9]), names=["width", "length"]
    ... ).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['length', 'width']
    """

    def __init__(
        self, *, relevance: Floats, names: Sequence[str], max_features: int = 20
    ) -> None:
        self.relevance = relevance
        self.names = names
        self.max_features = max_features

    @classmethod
    def from_estimator(
        cls,
        estimator: GradientEstimator | ModeClustering,
        *,
        feature_names: Sequence[str] | None = None,
        max_features: int = 20,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the relevances of a fitted estimator.

        Parameters
        ----------
        estimator : LogDensityGradient or ModeClustering
            Fitted, with ``feature_relevance_``.
        feature_names : sequence of str, optional
        max_features : int, default=20
            Bars drawn; the rest is summed up in one.
        ax : matplotlib Axes, optional

        Returns
        -------
        FeatureRelevanceDisplay
        """
        check_is_fitted(estimator)
        check_integer("max_features", max_features, least=1)
        relevance = getattr(estimator, "feature_relevance_", None)
        if relevance is None:
            raise ValueError(
                f"This {type(estimator).__name__} has no feature_relevance_: only a "
                "LogDensityGradient, or a ModeClustering over one, measures it."
            )
        names = name_features(estimator, len(relevance), feature_names)
        display = cls(
            relevance=np.asarray(relevance), names=names, max_features=max_features
        )
        return display.plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        bars = min(len(self.names), self.max_features + 1)
        return 6.4, 1.2 + 0.28 * bars

    def _draw(self, ax: Axes) -> None:
        order = np.argsort(-self.relevance, kind="stable")
        drawn, rest = order[: self.max_features], order[self.max_features :]
        names = [self.names[j] for j in drawn]
        shares = self.relevance[drawn].tolist()
        if len(rest):
            names.append(f"{len(rest)} more")
            shares.append(float(self.relevance[rest].sum()))
        places = np.arange(len(names))
        bars = ax.barh(places, shares, color=COLORS[0], height=0.7)
        if len(rest):
            bars[-1].set(facecolor="white", edgecolor=COLORS[0], hatch="///")
        ax.bar_label(bars, [f"{share:.1%}" for share in shares], padding=3)
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.margins(x=0.12)
        ax.set_xticks([])  # the bars carry their numbers
        ax.spines["bottom"].set_visible(False)
        ax.set_title("share of relevance", fontsize="medium", loc="left")
