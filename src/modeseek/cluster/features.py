"""What a clustering fitted, asked about rows in the user's features."""

from __future__ import annotations

import numpy as np

from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.reference import Reference
from modeseek.gradient.base import GradientEstimator
from modeseek.graph.landscape import GraphLandscape
from modeseek.rows.arrays import Floats
from modeseek.rows.coordinates import Frame


class InFeatures:
    """A gradient that was fitted in coordinates, for rows in features."""

    def __init__(self, estimator: GradientEstimator, frame: Frame) -> None:
        self._estimator, self._frame = estimator, frame
        width = float(np.mean(estimator.bandwidth_))
        self.bandwidth_ = width * np.broadcast_to(frame.unit, frame.origin.shape)

    def gradient(self, X: Floats) -> Floats:
        """Gradient of the log-density by the features, shape (n, d)."""
        along, components = self._frame.enter(X), self._frame.components
        assert components is not None
        return np.asarray(
            self._estimator.gradient(along) @ components / self._frame.unit
        )

    def log_density(self, X: Floats) -> Floats:
        """Log-density at rows, up to one constant, shape (n,)."""
        height: Floats = self._estimator.log_density(self._frame.enter(X))
        return height


def has_gradient(model: ModeClustering) -> bool:
    """Whether a gradient was fitted: not where all rows are equal."""
    return hasattr(model.estimator_, "centers_")


def fitted_gradient(model: ModeClustering) -> GradientEstimator:
    """The fitted gradient of a clustering."""
    if not has_gradient(model):
        raise ValueError("The rows of the fit are all equal: they have no gradient.")
    return model.estimator_


def gradient_in_features(model: ModeClustering) -> GradientEstimator | InFeatures:
    """The fitted gradient of a clustering, for rows in the user's features."""
    estimator = fitted_gradient(model)
    if model._climbs_in_coordinates:
        return InFeatures(estimator, model._frame)
    return estimator


def height_on_graph(model: ModeClustering, X: Floats) -> Floats:
    """Log-density by which rows climb from row to row, up to one constant."""
    landscape = model._landscape
    assert isinstance(landscape, GraphLandscape)
    return landscape.heights(X, model.n_jobs)


def scaling_of(model: ModeClustering) -> Frame:
    """Shift and scale of the features, in which their numbers are near 1."""
    return model._frame.of_features()


def reference_of(model: ModeClustering) -> Reference:
    """Rows of its fit that a clustering keeps."""
    return model._reference
