"""What a fitted clustering says about rows besides their cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.hills import Hills, raise_hills, share_rows
from modeseek.cluster.landscape import Landscape
from modeseek.cluster.outliers import Radii, measure_radii, score_radii
from modeseek.cluster.reference import Reference
from modeseek.rows.arrays import Floats, Integers, Reals
from modeseek.rows.containers import apply_elementwise, apply_rowwise, look_up

#: Label of noise.
NOISE = -1

#: What is made when it is first asked for, and again by a model that was loaded.
MADE_AGAIN = ("_rows", "_hills", "_radii")


class AnswersMixin:
    """Memberships and outlier scores, of new rows and of those of the fit."""

    labels_: Integers
    mode_labels_: Integers
    modes_: Floats
    n_jobs: int | None
    row_modes_: Integers
    _landscape: Landscape
    _noise: float | None  # the share that the fit was asked for
    _reference: Reference
    _rows: Any  # of the fit, as they were given

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: part for name, part in state.items() if name not in MADE_AGAIN}

    def membership(self, X: ArrayLike) -> Floats:
        """Soft membership of each row in each cluster.

        Every mode is taken for a Gaussian hill, with the weight, mean and covariance
        of the rows around it, in the coordinates in which rows climb; the membership
        in a cluster is the share of its modes' hills in the density at the row. Of
        well estimated mixtures of Gaussians it is the posterior probability. Where a
        hill of another cluster is higher than those of the row's own, the row has
        equal shares in both: the largest share is always that of the label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Rows sum to 1.
        """
        check_is_fitted(self)
        parts = self._landscape, self._hills, self.mode_labels_
        shares: Floats = self._ask(X, partial(_membership, *parts))
        return shares

    def outlier_score(self, X: ArrayLike) -> Floats:
        """How far each row is from its neighbours, compared with its cluster.

        The share of the cluster's rows that are nearer to their neighbours, in all
        features: of rows like those of the fit, scores are uniform from 0 to 1, so that
        0.99 means the same in every cluster, shape and dimension. Past all rows of the
        cluster, scores go on towards 1 with the distance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        parts = self._landscape, self._radii, self.mode_labels_
        scores: Floats = self._ask(X, partial(_outlier_score, *parts))
        return scores

    @property
    def outlier_scores_(self) -> Floats:
        """Outlier score of each row of the fit."""
        check_is_fitted(self)
        scores: Floats = self._score_rows(self.mode_labels_)
        return scores

    @property
    def probabilities_(self) -> Floats:
        """Membership of each row of the fit in its own cluster; 0 of noise."""
        check_is_fitted(self)
        parts = self._landscape, self._hills, self.mode_labels_
        own: Floats = self._ask(self._rows_of_the_fit(), partial(_own_share, *parts))
        if self._noise is not None:
            own = apply_elementwise(_without_noise, own, self.labels_)
        return own

    @cached_property
    def _hills(self) -> Hills:
        return raise_hills(
            self._landscape, self._reference, self.mode_labels_, self.n_jobs
        )

    @cached_property
    def _radii(self) -> Radii:
        return measure_radii(self._landscape, self._reference, self.n_jobs)

    @cached_property
    def _row_radii(self) -> Floats:
        """Logarithm of the radius of each row of the fit."""
        radii: Floats = self._ask(self._rows_of_the_fit(), self._radii.measure)
        return radii

    def _rows_of_the_fit(self) -> Any:
        if "_rows" not in self.__dict__:
            raise AttributeError(
                "The rows of the fit were not saved with the model: give them to "
                "membership or outlier_score."
            )
        return self._rows

    def _predict(self, X: Any) -> Integers:
        """Labels of rows, with noise if that was asked for."""
        if self._noise is None:
            labels = partial(_label, self._landscape, self.mode_labels_)
        else:
            parts = self._landscape, self._radii, self.mode_labels_
            labels = partial(_label_but_noise, self._noise, *parts)
        predicted: Integers = self._ask(X, labels)
        return predicted

    def _label_rows(self, mode_labels: Integers) -> Integers:
        """Labels of the rows of the fit in clusters of the modes."""
        labels: Integers = look_up(mode_labels, self.row_modes_)
        if self._noise is not None:
            mark = partial(_mark_noise, self._noise)
            labels = apply_elementwise(mark, labels, self._score_rows(mode_labels))
        return labels

    def _score_rows(self, mode_labels: Integers) -> Any:
        """Outlier scores of the rows of the fit, in clusters of the modes."""
        score = partial(_score_modes, self._radii.calibrate(mode_labels), mode_labels)
        return apply_elementwise(score, self.row_modes_, self._row_radii)

    def _ask(self, X: Any, ask: Callable[..., NDArray[Any]]) -> Any:
        """Ask about rows; on Dask, when the answers are needed."""
        ask, frame = partial(ask, n_jobs=self.n_jobs), self._landscape.frame
        return apply_rowwise(self, X, ask, frame, self.modes_[:1])


def _label(
    landscape: Landscape, mode_labels: Integers, X: Reals, n_jobs: int | None
) -> Integers:
    return landscape.label(X, mode_labels, n_jobs)


def _label_but_noise(
    noise: float,
    landscape: Landscape,
    radii: Radii,
    mode_labels: Integers,
    X: Reals,
    n_jobs: int | None,
) -> Integers:
    scored = _label_and_score(landscape, radii, mode_labels, X, n_jobs)
    return _mark_noise(noise, *scored)


def _mark_noise(noise: float, labels: Integers, scores: Floats) -> Integers:
    return np.where(scores > 1.0 - noise, NOISE, labels)


def _without_noise(shares: Floats, labels: Integers) -> Floats:
    return np.where(labels == NOISE, 0.0, shares)


def _membership(
    landscape: Landscape,
    hills: Hills,
    mode_labels: Integers,
    X: Reals,
    n_jobs: int | None,
) -> Floats:
    labels = _label(landscape, mode_labels, X, n_jobs)
    return share_rows(
        hills, hills.frame.enter(X), labels, int(mode_labels.max()) + 1, n_jobs
    )


def _own_share(
    landscape: Landscape,
    hills: Hills,
    mode_labels: Integers,
    X: Reals,
    n_jobs: int | None,
) -> Floats:
    shares = _membership(landscape, hills, mode_labels, X, n_jobs)
    return np.asarray(shares.max(axis=1))


def _outlier_score(
    landscape: Landscape,
    radii: Radii,
    mode_labels: Integers,
    X: Reals,
    n_jobs: int | None,
) -> Floats:
    return _label_and_score(landscape, radii, mode_labels, X, n_jobs)[1]


def _label_and_score(
    landscape: Landscape,
    radii: Radii,
    mode_labels: Integers,
    X: Reals,
    n_jobs: int | None,
) -> tuple[Integers, Floats]:
    labels = _label(landscape, mode_labels, X, n_jobs)
    table = radii.calibrate(mode_labels)
    return labels, score_radii(table, labels, radii.measure(X, n_jobs))


def _score_modes(
    table: list[tuple[Floats, Floats]],
    mode_labels: Integers,
    modes: Integers,
    log_radii: Floats,
) -> Floats:
    return score_radii(table, np.asarray(mode_labels[modes]), log_radii)
