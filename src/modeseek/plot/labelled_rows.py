"""What the plots of labelled samples share: checks, a random selection, labels."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.answers import NOISE
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.profile import name_features
from modeseek.plot.canvas import Axes, Display
from modeseek.plot.drawing import sample_each_group, varying_features
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.containers import check_in_memory
from modeseek.rows.ranking import generator
from modeseek.rows.validation import check_integer, check_rows

#: Samples of every cluster that are drawn, if it has so many.
LEAST_OF_CLUSTER = 10


class LabelledRows(NamedTuple):
    """Samples to draw, and what to show of them."""

    rows: Floats  # (m, d)
    labels: Integers  # (m,)
    features: Sequence[int] | None  # as users give them
    names: list[str]  # (d,)
    rng: np.random.Generator


class LabelledRowsDisplay(Display):
    """A plot of samples in the colours of their clusters."""

    #: Samples drawn unless told.
    MAX_ROWS: ClassVar[int]

    @classmethod
    def from_estimator(
        cls,
        estimator: ModeClustering,
        X: ArrayLike,
        *,
        features: Sequence[int] | None = None,
        feature_names: Sequence[str] | None = None,
        max_rows: int | None = None,
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
        features : sequence of int, optional
            Features to show, by their column in X. By default all of them; where
            there are too many, the display chooses, as it says above.
        feature_names : sequence of str, optional
            Names of all features. By default those that the model was fitted with.
        max_rows : int, optional
            Samples drawn at most. Of more, a random selection is drawn that has some
            of every cluster. By default 300 paths, or 1000 points.
        random_state : int, RandomState instance or None, default=0
            Seed of that selection.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        display
            Drawn.
        """
        check_is_fitted(estimator)
        max_rows = cls.MAX_ROWS if max_rows is None else max_rows
        check_integer("max_rows", max_rows, least=1)
        rows = rows_in_memory(estimator, X)
        names = name_features(estimator, rows.shape[1], feature_names)
        labels = estimator.predict(X)
        rng = generator(random_state)
        shown = sample_each_group(labels - NOISE, max_rows, rng, least=LEAST_OF_CLUSTER)
        selected = LabelledRows(rows[shown], labels[shown], features, names, rng)
        return cls._compute(estimator, selected).plot(ax=ax)

    @classmethod
    def _compute(cls, model: ModeClustering, selected: LabelledRows) -> Self:
        """Compute what is drawn."""
        raise NotImplementedError


def steps_of(model: ModeClustering) -> Floats:
    """What each feature is rounded to, 0 where it is not."""
    return model.rounding_.step


def rows_in_memory(estimator: BaseEstimator, X: ArrayLike) -> Floats:
    """Check the samples of a plot, which must be an array or a data frame."""
    check_in_memory(X, "a plot shows some of them: give those as an array.")
    return np.asarray(check_rows(estimator, X, reset=False), dtype=np.float64)


def check_two_features(features: Sequence[int] | None, rows: Floats) -> list[int]:
    """Check a pair of features; the first two that are not constant by default."""
    d = rows.shape[1]
    chosen = [0, 1] if features is None else list(features)
    if d < 2 or len(chosen) != 2 or not all(is_feature(j, d) for j in chosen):
        raise ValueError(
            f"features must be two numbers from 0 to {d - 1}, and X have at least two "
            f"features; got features={features!r} for {d} features."
        )
    varying = varying_features(rows)
    if features is None and len(varying) > 1:
        return [int(j) for j in varying[:2]]
    return chosen


def is_feature(j: object, d: int) -> bool:
    """Whether j is the number of one of d features."""
    return isinstance(j, Integral) and 0 <= int(j) < d
