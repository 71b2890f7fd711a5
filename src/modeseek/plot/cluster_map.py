"""A plot of samples in the colours of their clusters, with the clusters' names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.answers import NOISE
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.profile import name_features
from modeseek.plot.canvas import Axes, Display, scatter, write_beside
from modeseek.plot.drawing import (
    check_cluster_names,
    check_places,
    jittered,
    plane_of_clusters,
    principal_axes,
    sample_each_group,
    varying_features,
    without_names,
)
from modeseek.plot.labelled_rows import LEAST_OF_CLUSTER, rows_in_memory, steps_of
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.ranking import generator
from modeseek.rows.validation import check_integer, is_word

#: Clusters that have their sizes on the plot; of more, their numbers only.
MOST_SIZED = 20


@dataclass(kw_only=True, eq=False, repr=False)
class ClusterMapDisplay(Display):
    """Samples as points on a map, with the name and the size of every cluster.

    Use :meth:`from_estimator` to make one; it is drawn on ``ax_`` of ``figure_``.

    Parameters
    ----------
    points : ndarray of shape (n_rows, 2)
        Where the samples are.
    labels : ndarray of shape (n_rows,)
        Clusters of the samples.
    sizes : ndarray of shape (n_clusters,)
        Samples of every cluster, also of those that are not drawn.
    names : pair of str
        Names of the axes; empty where they have no meaning.
    cluster_names : mapping, optional
        Names of clusters, by their number.

    Examples
    --------
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> from modeseek.plot import ClusterMapDisplay
    >>> X, _ = three_gaussians(5).sample(500, random_state=0)
    >>> display = ClusterMapDisplay.from_estimator(ModeClustering().fit(X), X)
    >>> display.names
    ['cluster plane, across', 'cluster plane, up']
    """

    points: Floats
    labels: Integers
    sizes: Integers
    names: Sequence[str]
    cluster_names: Mapping[int, str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: ModeClustering,
        X: ArrayLike,
        *,
        coordinates: str | ArrayLike = "plane",
        cluster_names: Mapping[int, str] | Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
        max_rows: int = 3000,
        random_state: int | np.random.RandomState | None = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw samples and the clusters that a fitted model gives them.

        Parameters
        ----------
        estimator : ModeClustering
            Fitted model, which predicts the clusters.
        X : array-like of shape (n_samples, n_features)
            Samples: those of the fit, or others.
        coordinates : "plane", "pca" or array-like of shape (n_samples, 2)
            Where the samples are drawn. "plane" takes the two directions, in the
            coordinates that clusters were found in, along which they lie apart most,
            and the features where there are two. "pca" takes principal components of
            the standardised features. Places of your own, such as UMAP or t-SNE makes,
            are taken as they are.
        cluster_names : mapping or sequence of str, optional
            Names of the clusters in their order, or of some by their number.
        feature_names : sequence of str, optional
            Names of all features. By default those that the model was fitted with.
        max_rows : int, default=3000
            Samples drawn at most. Of more, a random selection is drawn that has some
            of every cluster.
        random_state : int, RandomState instance or None, default=0
            Seed of that selection, and of the spread of rounded values.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        ClusterMapDisplay
        """
        check_is_fitted(estimator)
        check_integer("max_rows", max_rows, least=1)
        rows = rows_in_memory(estimator, X)
        features = name_features(estimator, rows.shape[1], feature_names)
        labels = without_names(estimator).predict(rows)
        rng = generator(random_state)
        shown = sample_each_group(labels - NOISE, max_rows, rng, least=LEAST_OF_CLUSTER)
        if isinstance(coordinates, str):
            spread = jittered(rows[shown], steps_of(estimator), rng)
            points, names = _places(
                estimator, spread, labels[shown], features, coordinates, rng
            )
        else:
            points = check_places(coordinates, len(rows), "coordinates")[shown]
            names = [str(name) for name in getattr(coordinates, "columns", ("", ""))]
        display = cls(
            points=points,
            labels=labels[shown],
            sizes=np.bincount(labels[labels >= 0], minlength=estimator.n_clusters_),
            names=names,
            cluster_names=check_cluster_names(cluster_names, estimator.n_clusters_),
        )
        return display.plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        return 7.2, 5.4

    def _draw(self, ax: Axes) -> None:
        small = 10 if len(self.points) > 1000 else 18
        scatter(ax, self.points, self.labels, s=small)
        ax.margins(y=0.08)
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        for name, axis in zip(self.names, (ax.xaxis, ax.yaxis), strict=True):
            if not name:
                axis.set_ticks([])
        places, texts = [], []
        for k in np.argsort(-self.sizes, kind="stable"):
            members = self.points[self.labels == k]
            if len(members):
                far = np.linalg.norm(members - np.median(members, axis=0), axis=1)
                places.append(members[far.argmin()])
                texts.append(self._text(int(k)))
        write_beside(ax, places, texts)

    def _text(self, k: int) -> str:
        name = (self.cluster_names or {}).get(k)
        if len(self.sizes) > MOST_SIZED:
            return str(k) if name is None else name
        return f"{name or f'cluster {k}'}\n{self.sizes[k]:,}"


def _places(
    model: ModeClustering,
    rows: Floats,
    labels: Integers,
    features: list[str],
    how: str,
    rng: np.random.Generator,
) -> tuple[Floats, list[str]]:
    """Places of rows (m, d) on a map, and the names of its axes."""
    if not (is_word(how, "plane") or is_word(how, "pca")):
        raise ValueError(f'coordinates must be "plane", "pca" or places; got {how!r}.')
    varying = varying_features(rows)
    if len(varying) == 1:
        x = rows[:, varying[0]]
        return np.column_stack([x, rng.random(len(x))]), [features[varying[0]], ""]
    if how == "plane" and len(varying) == 2:
        return rows[:, varying], [features[j] for j in varying]
    if how == "plane":
        Z = np.asarray(without_names(model).transform(rows))
        plane = plane_of_clusters(Z, labels)
        if plane is not None:
            return Z @ plane.T, ["cluster plane, across", "cluster plane, up"]
    components = principal_axes(rows, 2)
    if components is None:  # all rows are equal
        return rows[:, :2], features[:2]
    places, names = components.transform(rows), components.names()
    if places.shape[1] < 2:  # of one row
        return np.column_stack([places, np.zeros(len(places))]), [*names, ""]
    return places, names
