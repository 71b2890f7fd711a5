"""A plot of the means of every feature in every cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.features import scaling_of
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.profile import name_features, profile_rows
from modeseek.plot.canvas import GREY, Axes, Display, shades
from modeseek.plot.drawing import check_cluster_names, shortened, without_names
from modeseek.plot.labelled_rows import rows_in_memory
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.validation import check_integer

#: Standard deviations that colours tell apart: a few means may be far out.
MOST_COLORED = 2.5

#: Features and clusters of a plot with numbers in its cells.
FEATURES_WITH_NUMBERS, CLUSTERS_WITH_NUMBERS = 16, 30


@dataclass(kw_only=True, eq=False, repr=False)
class ClusterProfileDisplay(Display):
    """Means of the features in every cluster, as a table of colours.

    A mean is told in standard deviations from that of all samples. Use
    :meth:`from_estimator` to make one; it is drawn on ``ax_`` of ``figure_``.

    Parameters
    ----------
    means : ndarray of shape (n_clusters, n_shown)
        Means of the features shown; NaN for a cluster without samples.
    sizes : ndarray of shape (n_clusters,)
        Samples of every cluster.
    names : sequence of str
        Names of the features shown.
    cluster_names : mapping, optional
        Names of clusters, by their number.
    max_clusters : int
        Clusters drawn, the largest.

    Examples
    --------
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> from modeseek.plot import ClusterProfileDisplay
    >>> X, _ = three_gaussians(4).sample(500, random_state=0)
    >>> display = ClusterProfileDisplay.from_estimator(ModeClustering().fit(X), X)
    >>> display.means.shape
    (3, 4)
    """

    means: Floats
    sizes: Integers
    names: Sequence[str]
    cluster_names: Mapping[int, str] | None = None
    max_clusters: int = 30

    @classmethod
    def from_estimator(
        cls,
        estimator: ModeClustering,
        X: ArrayLike,
        *,
        feature_names: Sequence[str] | None = None,
        cluster_names: Mapping[int, str] | Sequence[str] | None = None,
        max_features: int = 40,
        max_clusters: int = 30,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the means of samples in the clusters that a fitted model gives them.

        Parameters
        ----------
        estimator : ModeClustering
            Fitted model.
        X : array-like of shape (n_samples, n_features)
            Samples: those of the fit, or others.
        feature_names : sequence of str, optional
            Names of all features. By default those that the model was fitted with.
        cluster_names : mapping or sequence of str, optional
            Names of the clusters in their order, or of some by their number.
        max_features : int, default=40
            Features drawn at most: those that differ most between the clusters.
        max_clusters : int, default=30
            Clusters drawn at most, the largest.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        ClusterProfileDisplay
        """
        check_is_fitted(estimator)
        check_integer("max_features", max_features, least=1)
        check_integer("max_clusters", max_clusters, least=1)
        rows = rows_in_memory(estimator, X)
        names = name_features(estimator, rows.shape[1], feature_names)
        modes = without_names(estimator).predict_modes(rows)
        labels, n_modes = estimator.mode_labels_, len(estimator.modes_)
        profile = profile_rows(scaling_of(estimator), rows, modes, n_modes)
        shown = profile.separating(labels, max_features)
        display = cls(
            means=profile.means(labels)[:, shown],
            sizes=np.bincount(labels[modes], minlength=estimator.n_clusters_),
            names=[names[j] for j in shown],
            cluster_names=check_cluster_names(cluster_names, estimator.n_clusters_),
            max_clusters=max_clusters,
        )
        return display.plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        k, width = min(len(self.means), self.max_clusters), len(self.names)
        longest = max(len(shortened(name)) for name in self.names)
        return 2.2 + max(2.0, 0.42 * width), 0.8 + 0.26 * k + 0.06 * longest

    def _draw(self, ax: Axes) -> None:
        order = np.argsort(-self.sizes, kind="stable")[: self.max_clusters]
        means = self.means[order]
        most = min(MOST_COLORED, max(1.0, float(np.nanmax(np.abs(means), initial=0.0))))
        colors = shades("#00406b", "#ffffff", "#e69f00")
        image = ax.imshow(means, cmap=colors, vmin=-most, vmax=most, aspect="auto")
        ax.set_xticks(range(len(self.names)), map(shortened, self.names))
        ax.tick_params(axis="x", rotation=45, length=0)
        for text in ax.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(order)), [self._text(int(k)) for k in order])
        ax.tick_params(axis="y", length=0)
        ax.spines[:].set_visible(False)
        # White lines between the cells.
        ax.set_xticks(np.arange(len(self.names) - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(len(order) - 1) + 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.2)
        ax.tick_params(which="minor", length=0)
        told = "means, in standard deviations"
        if len(self.means) > len(order):
            told += f"\n{len(self.means) - len(order)} smaller clusters not drawn"
        ax.set_title(told, fontsize="small", color=GREY, loc="left")
        roomy = len(self.names) <= FEATURES_WITH_NUMBERS
        if roomy and len(order) <= CLUSTERS_WITH_NUMBERS:
            self._write_numbers(ax, means, most)
        else:
            ax.figure.colorbar(image, ax=ax, shrink=0.8, pad=0.01)

    def _write_numbers(self, ax: Axes, means: Floats, most: float) -> None:
        for (i, j), mean in np.ndenumerate(means):
            if np.isfinite(mean):
                dark = mean < -0.55 * most
                text = f"{mean:.1f}".replace("-0.0", "0.0").replace(
                    "-", "\N{MINUS SIGN}"
                )
                ax.text(
                    j,
                    i,
                    text,
                    ha="center",
                    va="center",
                    fontsize="small",
                    color="white" if dark else "#1b1f24",
                )

    def _text(self, k: int) -> str:
        name = (self.cluster_names or {}).get(k, f"cluster {k}")
        return f"{shortened(name)} ({self.sizes[k]:,})"
