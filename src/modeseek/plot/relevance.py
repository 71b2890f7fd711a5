"""A plot of the relevance of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.profile import name_features
from modeseek.gradient.base import GradientEstimator
from modeseek.plot.canvas import GREY, Axes, Display
from modeseek.plot.drawing import COLORS
from modeseek.rows.arrays import Floats
from modeseek.rows.validation import check_integer


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureRelevanceDisplay(Display):
    """How much each feature has to say about the clusters, as bars.

    Use :meth:`from_estimator` to make one; it is drawn on ``ax_`` of ``figure_``.

    Parameters
    ----------
    relevance : ndarray of shape (n_features,)
        Shares, not negative, that sum to 1.
    names : sequence of str
        Names of the features.
    max_features : int
        Bars drawn; the rest is summed up below them.

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

    relevance: Floats
    names: Sequence[str]
    max_features: int = 20

    @classmethod
    def from_estimator(
        cls,
        estimator: GradientEstimator | ModeClustering,
        *,
        feature_names: Sequence[str] | None = None,
        max_features: int = 20,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the relevance of the features to a fitted estimator.

        Parameters
        ----------
        estimator : LogDensityGradient or ModeClustering
            Fitted, with ``feature_relevance_``.
        feature_names : sequence of str, optional
            Names of the bars; those that the estimator was fitted with if not given.
        max_features : int, default=20
            Bars drawn; the rest is summed up below them.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.

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
        bars = min(len(self.names), self.max_features)
        return 6.4, 1.4 + 0.28 * bars

    def _draw(self, ax: Axes) -> None:
        order = np.argsort(-self.relevance, kind="stable")
        drawn, rest = order[: self.max_features], order[self.max_features :]
        names = [self.names[j] for j in drawn]
        shares = self.relevance[drawn].tolist()
        places = np.arange(len(names))
        bars = ax.barh(places, shares, color=COLORS[0], height=0.7)
        ax.bar_label(bars, [f"{share:.1%}" for share in shares], padding=3)
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.margins(x=0.12)
        ax.set_xticks([])  # the bars carry their numbers
        ax.spines["bottom"].set_visible(False)
        ax.set_title("share of relevance", fontsize="medium", loc="left")
        if len(rest):
            left = self.relevance[rest]
            ax.set_xlabel(
                f"{len(rest)} more, each at most {left.max():.1%}, {left.sum():.0%} "
                "together",
                color=GREY,
                loc="left",
            )
