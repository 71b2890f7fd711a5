"""GradientEstimator: what the estimators of a gradient share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from modeseek.field.fields import Field, gradient, potential
from modeseek.gradient.settings import GradientSettings
from modeseek.gradient.uncertainty import Influence
from modeseek.rows.arrays import Floats
from modeseek.rows.blocks import in_chunks, map_rows
from modeseek.rows.containers import apply_rowwise, open_rows
from modeseek.rows.coordinates import Frame
from modeseek.rows.source import Block
from modeseek.rows.validation import check_within_reach


class GradientEstimator(BaseEstimator):
    """What the gradient estimators share: a frame, a field, and asking them.

    A subclass fits ``_origin``, ``_unit`` and the arrays that ``_field`` is made of.
    Other folders ask :func:`frame_of`, :func:`field_of`, :func:`influence_of` and
    :func:`enter_frame`.
    """

    n_jobs: int | None
    centers_: Floats
    _origin: Floats
    _unit: float | Floats
    settings_: GradientSettings
    feature_relevance_: Floats  # of those that measure it

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A file of an earlier version lacks the parameters that came later.
        super().__setstate__({**type(self)().get_params(deep=False), **state})
        if "centers_" in state and "settings_" not in state:
            # Saved by a version that read the parameters whenever it was asked.
            self.settings_ = self._read_settings()

    def _read_settings(self) -> GradientSettings:
        raise NotImplementedError

    def _field(self) -> Field:
        raise NotImplementedError

    def _influence(self, tops: Floats, bottoms: Floats) -> Influence:
        raise NotImplementedError

    def _apply_in_frame(self, X: Any, answer: Callable[[Floats], Floats]) -> Floats:
        """Answer for rows in the frame; on Dask, when the answers are needed."""
        check_is_fitted(self)
        frame, example = frame_of(self), self.centers_[:1]
        answers: Floats = apply_rowwise(
            self, X, lambda rows: answer(enter_frame(self, rows)), frame, example
        )
        return answers

    def _potential(self, Z: Floats) -> Floats:
        """Log-density of rows in the frame, up to a constant."""
        field, columns = self._field(), len(self.centers_)
        return map_rows(partial(potential, field), Z, columns, self.n_jobs)

    def gradient(self, X: ArrayLike) -> Floats:
        """Gradient of the log-density at every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """

        def answer(Z: Floats) -> Floats:
            return np.asarray(gradient_rows(self._field(), Z, self.n_jobs) / self._unit)

        return self._apply_in_frame(X, answer)

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

        def answer(Z: Floats) -> Floats:
            field = self._field()
            columns = len(field.centers) * Z.shape[1]
            unit = np.broadcast_to(self._unit, Z.shape[1:])
            J = map_rows(field.jacobian, Z, columns, self.n_jobs)
            return np.asarray(J / unit / unit[:, None])

        return self._apply_in_frame(X, answer)

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
        check_is_fitted(self)
        source = open_rows(self, X, sample_weight, self.n_jobs, reset=False)
        field, unit = self._field(), np.broadcast_to(self._unit, self._origin.shape)
        smallest = unit.min()
        relative = (smallest / unit) ** 2  # squares of the units may overflow

        def loss(A: Floats) -> Floats:
            g = gradient(field, field.evaluate(A))
            return np.asarray(g**2 @ relative + 2.0 * field.divergence(A, relative))

        def kernel(block: Block) -> Floats:
            Z = enter_frame(self, block.X)
            w = np.ones(len(Z)) if block.weight is None else block.weight
            return np.array([w @ in_chunks(loss, Z, len(field.centers)), w.sum()])

        with source.session():
            total, weight = source.reduce(kernel, np.add)
        return float(-total / weight / smallest / smallest)


def frame_of(estimator: GradientEstimator) -> Frame:
    """Shift and scale between the data and the coordinates of a fitted estimator."""
    return Frame(estimator._origin, estimator._unit)


def enter_frame(estimator: GradientEstimator, rows: NDArray[np.floating]) -> Floats:
    """Take rows (n, d), finite numbers, into the frame; refuse those too far away."""
    frame = frame_of(estimator)
    check_within_reach(frame, rows)
    return frame.enter(rows)


def field_of(estimator: GradientEstimator) -> Field:
    """The fitted gradient as a field that points of the frame can climb."""
    return estimator._field()


def influence_of(
    estimator: GradientEstimator, tops: Floats, bottoms: Floats
) -> Influence:
    """How much each row of the data moves differences of log-density.

    The differences are those between tops and bottoms (r, d), points of the frame;
    the function returned takes rows of the frame (m, d) and gives (m, r).
    """
    return estimator._influence(tops, bottoms)


def gradient_rows(field: Field, Z: Floats, n_jobs: int | None) -> Floats:
    """Gradient of a field at many rows (n, d) of the frame."""
    columns = len(field.centers)
    return map_rows(lambda A: gradient(field, field.evaluate(A)), Z, columns, n_jobs)
