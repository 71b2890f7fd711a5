"""A plot of the cross-validation that chose width and penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.features import fitted_gradient
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.gradient.base import GradientEstimator
from modeseek.plot.canvas import GREY, INK, Axes, Display
from modeseek.plot.drawing import COLORS
from modeseek.rows.arrays import Bools, Floats


@dataclass(kw_only=True, eq=False, repr=False)
class ValidationDisplay(Display):
    """Hold-out loss of every width and penalty that was tried, and which was chosen.

    Low is good. Zero is the loss of a gradient that is zero everywhere: what is worse
    than that is drawn as zero. Use :meth:`from_estimator` to make one; it is drawn on
    ``ax_`` of ``figure_``.

    Parameters
    ----------
    bandwidth : ndarray of shape (n_widths,)
        Candidate widths; the geometric mean where features have their own.
    alpha : ndarray of shape (n_alphas,) or None
        Candidate penalties; None for a kernel density estimate.
    loss : ndarray of shape (n_widths, n_alphas) or (n_widths,)
        Hold-out loss.
    allowed : ndarray of shape (n_widths,)
        Whether a width is wide enough to be chosen: its Gaussians reach several
        samples, and are not lost in the rounding of the data.
    winner : tuple of int or None
        Place of the chosen candidate; None where widths were learned from there.
    default_widths : bool, default=False
        Whether the widths are those that are tried by default. The widest of these is
        no edge: with it the model is all but Gaussian.
    gamma : float or None, default=None
        With multi-task coefficients, the chosen strength of the tie between features:
        only candidates of that strength are drawn.

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

    bandwidth: Floats
    alpha: Floats | None
    loss: Floats
    allowed: Bools
    winner: tuple[int, ...] | None
    default_widths: bool = False
    gamma: float | None = None

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
            Where to draw; a new figure if not given.

        Returns
        -------
        ValidationDisplay
        """
        check_is_fitted(estimator)
        if isinstance(estimator, ModeClustering):
            estimator = fitted_gradient(estimator)
        fitted: Any = estimator
        results = fitted.cv_results_
        if not results:
            raise ValueError(
                "Nothing was chosen by cross-validation: bandwidth and alpha were "
                "given. Leave one of them to be chosen."
            )
        widths = results["bandwidth"]
        finite = np.isfinite(widths).all(axis=0)
        chosen = np.isclose(widths, fitted.bandwidth_, rtol=1e-9).all(axis=1)
        winner: tuple[int, ...] = (int(chosen.argmax()),)
        alpha, gamma = results.get("alpha"), None
        if alpha is None:
            loss = -results["mean_test_log_likelihood"]
        else:
            loss = results["mean_test_loss"]
            if "gamma" in results:
                gamma = fitted.gamma_
                at_gamma = results["gamma"] == gamma
                alpha, loss = alpha[at_gamma], loss[:, at_gamma]
            winner += (int(np.abs(alpha - fitted.alpha_).argmin()),)
        display = cls(
            bandwidth=np.exp(np.log(widths[:, finite]).mean(axis=1)),
            alpha=alpha,
            loss=loss,
            allowed=results.get("allowed", np.ones(len(widths), dtype=bool)),
            winner=winner if chosen.any() else None,
            default_widths=fitted.settings_.bandwidth != "given",
            gamma=gamma,
        )
        return display.plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        if self.alpha is None or min(self.loss.shape) == 1:
            self._draw_curve(ax)
        else:
            self._draw_map(ax, self.alpha)
        if self.gamma is not None:
            ax.set_title(f"gamma = {self.gamma:.3g}", fontsize="medium")

    def _name_winner(self) -> str:
        """Call the winner chosen, and say if a better candidate may lie beyond it."""
        edges = [{0, n - 1} if n > 1 else set[int]() for n in self.loss.shape]
        if self.default_widths:
            edges[0].discard(int(self.bandwidth.argmax()))
        assert self.winner is not None
        places = zip(self.winner, edges, strict=True)
        on_edge = any(place in ends for place, ends in places)
        return "chosen (on the edge)" if on_edge else "chosen"

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
            at = x[self.winner], y[self.winner]
            star = {"markersize": 18, "color": "white", "markeredgecolor": INK}
            ax.plot(*at, "*", **star, label=self._name_winner())
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
            star = {"markersize": 17, "color": INK, "markeredgecolor": "white"}
            ax.plot(x[at], y[at], "*", **star, label=self._name_winner())
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
