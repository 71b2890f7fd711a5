"""GradientEstimator: what the estimators of a gradient share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from modeseek.blocks import in_chunks, map_blocks
from modeseek.field import Field, gradient
from modeseek.frame import Floats, Frame
from modeseek.uncertainty import Influence
from modeseek.validation import check_rows, check_weights, check_within_reach


class GradientEstimator(BaseEstimator):
    """What the gradient estimators share: a frame, a field, and asking them.

    A subclass fits ``_origin``, ``_unit`` and the arrays that ``_field`` is made of.
    """

    n_jobs: int | None
    _origin: Floats
    _unit: float | Floats
    feature_relevance_: Floats  # of those that measure it

    def _frame(self) -> Frame:
        return Frame(self._origin, self._unit)

    def _field(self) -> Field:
        raise NotImplementedError

    def _influence(self, tops: Floats, bottoms: Floats) -> Influence:
        raise NotImplementedError

    def _enter(self, X: ArrayLike) -> Floats:
        """Validate rows and take them into the frame."""
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        check_within_reach(self._frame(), rows)
        return self._frame().enter(rows)

    def _over_rows(self, Z: Floats, columns: int, ask: Any) -> Floats:
        """Ask the field about rows in chunks of cache size, on the thread pool."""

        def kernel(rows: slice) -> Floats:
            return in_chunks(ask, Z[rows], columns)

        return np.concatenate(list(map_blocks(kernel, len(Z), n_jobs=self.n_jobs)))

    def gradient(self, X: ArrayLike) -> Floats:
        """Gradient of the log-density at every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        Z, field = self._enter(X), self._field()
        columns = len(field.centers)
        g = self._over_rows(Z, columns, lambda A: gradient(field, field.evaluate(A)))
        return np.asarray(g / self._unit)

    def hessian(self, X: ArrayLike) -> NDArray[np.float64]:
        """Derivative of the gradient at every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features, n_features)
            The Hessian of the log-density. With separate coefficients the field has
            no potential and the matrices need not be symmetric: row j is the
            gradient of the gradient's j-th entry.
        """
        Z, field = self._enter(X), self._field()
        columns = len(field.centers) * Z.shape[1]
        unit = np.broadcast_to(self._unit, Z.shape[1:])
        J = self._over_rows(Z, columns, field.jacobian)
        return np.asarray(J / unit / unit[:, None])

    def score(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Negative loss on rows: the mean of ``-(|g|^2 + 2 div g)``.

        It estimates the squared error of the gradient up to sign and a constant that
        depends on the data only, so the larger of two scores on the same held-out
        rows is the better gradient.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        Z, field = self._enter(X), self._field()
        weight = check_weights(sample_weight, len(Z))
        unit = np.broadcast_to(self._unit, Z.shape[1:])
        smallest = unit.min()
        relative = (smallest / unit) ** 2  # squares of the units may overflow

        def loss(A: Floats) -> Floats:
            g = gradient(field, field.evaluate(A))
            return np.asarray(g**2 @ relative + 2.0 * field.divergence(A, relative))

        losses = self._over_rows(Z, len(field.centers), loss)
        return float(-np.average(losses, weights=weight) / smallest / smallest)
