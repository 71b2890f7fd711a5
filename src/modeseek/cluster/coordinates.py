"""The coordinates in which rows climb, as a transformer of scikit-learn."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from modeseek.gradient.base import GradientEstimator
from modeseek.gradient.kernel import KernelDensityGradient
from modeseek.rows.arrays import Floats
from modeseek.rows.containers import apply_rowwise
from modeseek.rows.coordinates import Frame


class CoordinatesMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """What a fitted clustering tells of its coordinates."""

    ascent_: str
    estimator_: GradientEstimator
    modes_: Floats
    n_components_: int
    n_features_in_: int
    _frame: Frame  # of the coordinates that users see

    @property
    def _climbs_in_coordinates(self) -> bool:
        """Whether rows climb a gradient that was fitted in the coordinates."""
        return self.ascent_ != "rows" and self._frame.components is not None

    def transform(self, X: ArrayLike) -> Floats:
        """Coordinates in which rows climb.

        They are products of ``components_`` with scaled features, and what plots of
        the clusters look best in. Where rows climb in all features there is a column
        for each, as with :class:`sklearn.preprocessing.StandardScaler`; that of a
        feature that is constant or left out is zero.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        frame, example = self._frame, self.modes_[:1]
        coordinates: Floats = apply_rowwise(self, X, frame.enter, frame, example)
        return coordinates

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def components_(self) -> Floats:
        """Directions of the coordinates, in scaled features."""
        check_is_fitted(self)
        components = self._frame.components
        return np.eye(self.n_features_in_) if components is None else components

    @property
    def feature_relevance_(self) -> Floats:
        """Relevance of the features to the estimator, where it measures that."""
        if not self._climbs_in_coordinates:
            return self.estimator_.feature_relevance_
        if isinstance(self.estimator_, KernelDensityGradient):  # of one width in all
            relevance = np.full(self.n_components_, 1.0 / self.n_components_)
        else:
            relevance = self.estimator_.feature_relevance_
        # A feature's share in each coordinate is that of its squared entry.
        squares = self.components_**2
        return np.asarray(relevance @ (squares / squares.sum(axis=1, keepdims=True)))
