"""ModeClustering: rows climb to the modes of the density and are labelled by mode."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from modeseek.ascent import (
    Climb,
    Step,
    climb,
    fixed_point,
    gradient_ascent,
    largest_step_size,
    quasi_newton,
)
from modeseek.blocks import chunk_slices, map_blocks
from modeseek.estimator import GradientEstimator
from modeseek.field import Field
from modeseek.frame import Floats
from modeseek.gradient import LogDensityGradient
from modeseek.modes import assign_modes, find_modes
from modeseek.sampling import Integers, draw_centers, generator, take_sample
from modeseek.soft import distance_beyond, drops, soft_memberships
from modeseek.tree import MergeTree, build_tree
from modeseek.uncertainty import standard_errors
from modeseek.validation import (
    check_choice,
    check_integer,
    check_jobs,
    check_real,
    check_rows,
    check_weights,
    is_word,
)

ASCENTS = ("fixed_point", "gradient", "quasi_newton", "blurring")

#: Rows among which passes between modes are sought.
TREE_ROWS = 3000

#: prominence="auto": merge what is lower than this, a density ratio of 1.35 ...
LEAST_PROMINENCE = 0.3

#: ... and what is lower than this many of its standard errors.
LEAST_SIGNIFICANCE = 1.0

#: Blurring stops when rows move less than this on average (in widths), or after so
#: many rounds; what is left is climbed on the field of the rows as they were.
BLURRED, MAX_BLURRING = 1e-3, 10

#: Share of rows that may fail to converge without a warning: their modes are found
#: by polishing.
TOLERATED = 0.01


class ModeClustering(ClusterMixin, BaseEstimator):
    """Clustering by seeking the modes of the density.

    The gradient of the log-density is estimated, every row climbs it to a mode, and
    rows that reach the same mode are a cluster. Modes between which the density
    hardly falls are merged. There is no number of clusters and no bandwidth to set.

    Parameters
    ----------
    estimator : LogDensityGradient or KernelDensityGradient, default=None
        Estimator of the gradient; it is cloned. None is
        ``LogDensityGradient(bandwidth="auto")`` with this object's ``random_state``
        and ``n_jobs``. With ``KernelDensityGradient`` this is the Gaussian mean shift.
    ascent : {"fixed_point", "gradient", "quasi_newton", "blurring"}, \
            default="fixed_point"
        How rows climb. The fixed point is a weighted mean shift; gradient ascent
        takes steps of ``step_size`` times the gradient; quasi-Newton learns the
        curvature along the way. Blurring estimates the gradient anew after every
        step, from the rows where they are then.
    prominence : "auto" or float, default="auto"
        How far the log-density must fall between two modes for both to be clusters.
        ``"auto"`` merges modes whose prominence is below 0.3 or below its standard
        error; 0 keeps every mode, as the paper does.
    step_size : "auto" or float, default="auto"
        Step size of the gradient ascent, in squared units of the data.
    tol : float, default=1e-4
        A row has arrived when it moves less than this, in widths of the Gaussians.
    max_iter : int, default=1000
        Most steps of a row.
    random_state : int, RandomState instance or None, default=0
        Seed: the draw of centres of the default estimator, and of the rows among
        which passes between modes are sought.
    n_jobs : int or None, default=None
        Threads; None and -1 use every core. The result does not depend on it.
    verbose : int, default=0
        Print progress.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, 0 for the largest.
    n_clusters_ : int
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The highest mode of each cluster.
    modes_ : ndarray of shape (n_modes, n_features)
        All modes, highest first.
    mode_labels_ : ndarray of shape (n_modes,)
        Cluster of each mode.
    row_modes_ : ndarray of shape (n_samples,)
        Mode that each row reached.
    merge_tree_ : MergeTree
        How modes merge, with the prominence of each merge and its standard error.
    estimator_ : LogDensityGradient or KernelDensityGradient
        The fitted gradient.
    feature_relevance_ : ndarray of shape (n_features,)
        Share of each feature in what is not Gaussian about the gradient, see
        :class:`LogDensityGradient`; only with that estimator.
    n_iter_ : int
        Most steps that a row took.
    n_unconverged_ : int
        Rows that were still moving after ``max_iter`` steps. They get the mode they
        are nearest to after polishing.
    n_guarded_ : int
        Rows that needed the safe step: the ascent's own would have gone downhill.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    LogDensityGradient, KernelDensityGradient

    Examples
    --------
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> X, y = three_gaussians().sample(1000, random_state=0)
    >>> model = ModeClustering().fit(X)
    >>> model.n_clusters_
    3
    >>> model.cluster_centers_.round(1)
    array([[ 0.1,  2.2],
           [-2.4, -2.2],
           [ 2.5, -2.2]])
    """

    labels_: Integers
    n_clusters_: int
    cluster_centers_: Floats
    modes_: Floats
    mode_labels_: Integers
    row_modes_: Integers
    merge_tree_: MergeTree
    estimator_: GradientEstimator
    n_iter_: int
    n_unconverged_: int
    n_guarded_: int
    _mode_weight: Floats
    _reach: float
    _blurred: list[GradientEstimator]

    def __init__(
        self,
        estimator: GradientEstimator | None = None,
        *,
        ascent: str = "fixed_point",
        prominence: str | float = "auto",
        step_size: str | float = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.ascent = ascent
        self.prominence = prominence
        self.step_size = step_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Estimate the gradient, climb from every row, and merge modes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A weight of k equals k copies of the row; a row of weight zero is
            labelled, and counts for nothing else.

        Returns
        -------
        self
        """
        self._check_parameters()
        rows = check_rows(self, X, reset=True)
        weight = check_weights(sample_weight, len(rows))
        self.estimator_ = self._make_estimator().fit(rows, sample_weight=weight)
        counts = np.ones(len(rows)) if weight is None else weight
        self._blurred = []
        if self.ascent == "blurring":
            self._blur(rows, weight)
        self._say(f"climbing from {len(rows)} rows")
        frame, field = self.estimator_._frame(), self.estimator_._field()
        start = frame.enter(rows)
        arrived = self._climb(self._enter_blurred(rows), field)
        modes = find_modes(field, arrived.points[counts > 0])
        if not len(modes):
            modes = _highest_center(field)
        mode_of_row = self._assign(arrived.points, modes, field)
        self._store_climb(arrived)
        self._store_modes(field, modes, mode_of_row, counts)
        self._grow_tree(rows, start, weight)
        self._store_level()
        nearest = self.estimator_._over_rows(
            start[counts > 0], len(field.centers), lambda Z: field.evaluate(Z).nearest
        )
        self._reach = float(nearest.max())
        return self

    @property
    def feature_relevance_(self) -> Floats:
        """Relevance of the features to the estimator, where it measures that."""
        return self.estimator_.feature_relevance_

    def _check_parameters(self) -> None:
        check_choice("ascent", self.ascent, ASCENTS)
        check_jobs(self.n_jobs)
        check_real("tol", self.tol, least=0.0)
        check_integer("max_iter", self.max_iter, least=1)
        if not is_word(self.prominence, "auto"):
            check_real("prominence", self.prominence, least=0.0)
        if not is_word(self.step_size, "auto"):
            check_real("step_size", self.step_size, least=1e-300)
        if not isinstance(self.estimator, GradientEstimator | None):
            raise TypeError(
                "estimator must be a LogDensityGradient or a KernelDensityGradient; "
                f"got {self.estimator!r}."
            )
        if (
            isinstance(self.estimator, LogDensityGradient)
            and is_word(self.estimator.basis, "common")
            and self.ascent in ("fixed_point", "blurring")
        ):
            raise ValueError(
                f'ascent="{self.ascent}" is a weighted mean of centres, which '
                'basis="common" does not have: use ascent="quasi_newton" or '
                '"gradient", or basis="derivative".'
            )

    def _make_estimator(self) -> GradientEstimator:
        if self.estimator is not None:
            made: GradientEstimator = clone(self.estimator)
            return made
        # Blurring fits anew with fixed widths, which a Gaussian base does not survive.
        return LogDensityGradient(
            bandwidth="cv" if self.ascent == "blurring" else "auto",
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _say(self, what: str) -> None:
        if self.verbose:
            print(f"[ModeClustering] {what}")

    def _step(self, field: Field) -> Step:
        if self.ascent == "gradient":
            if is_word(self.step_size, "auto"):
                return gradient_ascent(largest_step_size(field))
            return gradient_ascent(float(self.step_size) / self.estimator_._unit**2)
        return quasi_newton() if self.ascent == "quasi_newton" else fixed_point()

    def _climb(self, Z: Floats, field: Field) -> Climb:
        """Climb from all rows, in chunks on the thread pool."""
        step = self._step(field)
        columns = len(field.centers)
        if self.ascent == "quasi_newton":
            columns = max(columns, Z.shape[1] ** 2)  # an inverse Hessian a row
        size = chunk_slices(len(Z), columns)[0].stop

        def kernel(rows: slice) -> Climb:
            return climb(field, Z[rows], step, tol=self.tol, max_iter=self.max_iter)

        parts = list(map_blocks(kernel, len(Z), n_jobs=self.n_jobs, size=size))
        columns_of_climb: list[Any] = [
            np.concatenate(part) for part in zip(*parts, strict=True)
        ]
        return Climb(*columns_of_climb)

    def _assign(self, ends: Floats, modes: Floats, field: Field) -> Integers:
        return assign_modes(field, ends, modes, lambda Z: self._climb(Z, field).points)

    def _blur(self, rows: NDArray[np.floating], weight: Floats | None) -> None:
        """Move all rows by a step, estimate anew, and so on; keep the estimators."""
        X = np.asarray(rows, dtype=np.float64)
        widths = self.estimator_.bandwidth_[None]
        fixed: dict[str, Any] = {"bandwidth": np.where(np.isfinite(widths), widths, 1)}
        if isinstance(self.estimator_, LogDensityGradient):
            fixed["alpha"] = self.estimator_.alpha_
            if self.estimator_.coefficients == "multitask":
                fixed["gamma"] = self.estimator_.gamma_
            if self.estimator_.gaussian_base_.any():
                raise ValueError(
                    "Blurring fits anew with fixed widths and no Gaussian base; give "
                    'an estimator with bandwidth="cv".'
                )
        current = self.estimator_
        for _ in range(MAX_BLURRING):
            self._blurred.append(current)
            moved = _blurring_step(current, X)
            change = np.linalg.norm((moved - X) / current.bandwidth_, axis=1)
            X = moved
            if np.average(change, weights=weight) < BLURRED:
                break
            again = clone(current).set_params(**fixed)
            current = again.fit(X, sample_weight=weight)

    def _enter_blurred(self, rows: NDArray[np.floating]) -> Floats:
        """Rows in the frame, after the steps of blurring if there are any."""
        X = np.asarray(rows, dtype=np.float64)
        for estimator in self._blurred:
            X = _blurring_step(estimator, X)
        return self.estimator_._frame().enter(X)

    def _store_climb(self, arrived: Climb) -> None:
        self.n_iter_ = int(arrived.n_iter.max())
        self.n_unconverged_ = int((~arrived.converged).sum())
        self.n_guarded_ = int(arrived.guarded.sum())
        n = len(arrived.points)
        if self.n_unconverged_ > TOLERATED * n:
            warnings.warn(
                f"{self.n_unconverged_} of {n} rows were still moving after "
                f"max_iter={self.max_iter} steps and {self.n_guarded_} needed the safe "
                "step; each got the mode it is nearest to. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _store_modes(
        self, field: Field, modes: Floats, mode_of_row: Integers, counts: Floats
    ) -> None:
        """Store the modes that rows reached, highest first."""
        share = np.bincount(mode_of_row, weights=counts, minlength=len(modes))
        weight = share.astype(np.float64)
        value = field.evaluate(modes).value
        height = weight if value is None else value
        order = np.lexsort((*modes.T, -height))
        order = order[weight[order] > 0]
        self._modes = modes[order]
        self._mode_weight = weight[order]
        self.modes_ = self.estimator_._frame().leave(self._modes)
        nearest = np.full(len(modes), -1, dtype=np.intp)
        nearest[order] = np.arange(len(order))
        lost = nearest[mode_of_row] < 0  # only rows of weight zero reached that mode
        self.row_modes_ = nearest[mode_of_row]
        if lost.any():
            self.row_modes_[lost] = self._assign(
                modes[mode_of_row[lost]], self._modes, field
            )

    def _grow_tree(
        self, rows: NDArray[np.floating], Z: Floats, weight: Floats | None
    ) -> None:
        """Build the merge tree and the standard errors of its prominences."""
        sample = take_sample(rows, weight, self.n_jobs)
        kept = np.arange(len(rows)) if weight is None else np.flatnonzero(weight > 0)
        n_drawn = min(TREE_ROWS, len(sample.ranking.first))
        drawn = draw_centers(sample.ranking, n_drawn, generator(self.random_state))
        drawn = kept[drawn]
        field = self.estimator_._field()
        tree = build_tree(field, self._modes, Z[drawn], self.row_modes_[drawn])
        if len(tree.child):
            tops, columns = self._modes[tree.child], len(field.centers)
            errors = standard_errors(
                self.estimator_._influence(tops, tree.saddles),
                Z[kept],
                None if weight is None else weight[kept],
                len(tops),
                columns,
                self.n_jobs,
            )
            tree = tree._replace(std_error=errors)
        saddles = self.estimator_._frame().leave(tree.saddles)
        self.merge_tree_ = tree._replace(saddles=saddles)

    def _store_level(self) -> None:
        """Cut the tree at the level asked for and number the clusters by size."""
        tree = self.merge_tree_
        if is_word(self.prominence, "auto"):
            doubtful = tree.prominence < LEAST_SIGNIFICANCE * tree.std_error
            group = tree.merge((tree.prominence < LEAST_PROMINENCE) | doubtful)
        else:
            group = tree.cut(prominence=float(self.prominence))
        self.mode_labels_, tops = self._number(group)
        self.labels_ = self.mode_labels_[self.row_modes_]
        self.n_clusters_ = len(tops)
        self.cluster_centers_ = self.modes_[tops]
        self._tops = tops
        self._say(f"{len(self.modes_)} modes, {self.n_clusters_} clusters")

    def _number(self, group: Integers) -> tuple[Integers, Integers]:
        """Number groups of modes by their weight; the top mode of each number."""
        tops, index = np.unique(group, return_inverse=True)
        size = np.bincount(index, weights=self._mode_weight)
        order = np.lexsort((tops, -size))
        number = np.empty(len(tops), dtype=np.intp)
        number[order] = np.arange(len(tops))
        return number[index], tops[order]

    def cut(
        self, prominence: float | None = None, n_clusters: int | None = None
    ) -> Integers:
        """Labels of the training rows at another level of the merge tree.

        Parameters
        ----------
        prominence : float, optional
            Merge modes of a smaller prominence.
        n_clusters : int, optional
            Merge the modes of smallest prominence until so many clusters are left.

        Returns
        -------
        ndarray of shape (n_samples,)
            0 for the largest cluster.
        """
        check_is_fitted(self)
        if prominence is not None:
            prominence = check_real("prominence", prominence, least=0.0)
        if n_clusters is not None:
            n_clusters = check_integer("n_clusters", n_clusters, least=1)
        labels, _ = self._number(self.merge_tree_.cut(prominence, n_clusters))
        return labels[self.row_modes_]

    def _arrive(self, X: ArrayLike) -> tuple[Floats, Integers]:
        """Rows in the frame and the modes they reach."""
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        field = self.estimator_._field()
        Z = self.estimator_._enter(rows)
        arrived = self._climb(self._enter_blurred(rows), field)
        return Z, self._assign(arrived.points, self._modes, field)

    def predict_modes(self, X: ArrayLike) -> Integers:
        """Mode that each row reaches, as a row of ``modes_``.

        With ``merge_tree_.cut`` it gives the clusters of new rows at any level.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._arrive(X)[1]

    def predict(self, X: ArrayLike) -> Integers:
        """Cluster of each row, by the mode it climbs to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            For the training rows, ``labels_``.
        """
        modes = self.predict_modes(X)
        return self.mode_labels_[modes]

    def membership(self, X: ArrayLike) -> Floats:
        """Soft membership of each row in each cluster.

        A row belongs to another cluster as far as the barrier in between is low: its
        share falls as the exponential of the deepest descent of the log-density on
        the way there, straight or through the row's own mode.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Rows sum to 1; the largest entry is the label.
        """
        Z, modes = self._arrive(X)
        field, tree = self.estimator_._field(), self.merge_tree_
        barrier = tree.barriers()[:, self._tops][modes]
        labels = self.mode_labels_[modes]
        tops = self._modes[self._tops]

        def kernel(rows: slice) -> Floats:
            return soft_memberships(field, Z[rows], labels[rows], tops, barrier[rows])

        return np.concatenate(list(map_blocks(kernel, len(Z), n_jobs=self.n_jobs)))

    def outlier_score(self, X: ArrayLike) -> Floats:
        """How far below its mode each row lies, from 0 to 1.

        One minus the ratio of the density at the row to that at its mode; past the
        reach of the training rows it goes on towards 1 with the distance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        Z, modes = self._arrive(X)
        field = self.estimator_._field()
        size = chunk_slices(len(Z), len(field.centers))[0].stop

        def kernel(rows: slice) -> Floats:
            down = drops(field, Z[rows], self._modes[modes[rows]])
            if field.saturates:
                down += distance_beyond(field, Z[rows], self._reach)
            return down

        blocks = map_blocks(kernel, len(Z), n_jobs=self.n_jobs, size=size)
        return np.asarray(-np.expm1(-np.concatenate(list(blocks))))

    def paths(self, X: ArrayLike) -> Floats:
        """Where each row is after every step of its climb.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_steps + 1, n_samples, n_features)
            The first entry is X; a row that has arrived stays where it is.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        self.estimator_._enter(rows)  # refuses rows out of reach
        field, frame = self.estimator_._field(), self.estimator_._frame()
        here = np.asarray(rows, dtype=np.float64)
        points = []
        for estimator in self._blurred:
            points.append(here)
            here = _blurring_step(estimator, here)
        climb(
            field,
            frame.enter(here),
            self._step(field),
            tol=self.tol,
            max_iter=self.max_iter,
            record=lambda Z: points.append(frame.leave(Z)),
        )
        points[0] = np.array(rows, dtype=np.float64)
        return np.stack(points)


def _blurring_step(estimator: GradientEstimator, X: Floats) -> Floats:
    """One fixed-point step of rows, in the data's coordinates."""
    frame, field = estimator._frame(), estimator._field()

    def step(Z: Floats) -> Floats:
        return climb(field, Z, fixed_point(), tol=0.0, max_iter=1).points

    return frame.leave(estimator._over_rows(frame.enter(X), len(field.centers), step))


def _highest_center(field: Field) -> Floats:
    """The centre of highest mass: the mode of a field that has no maximum."""
    here = field.evaluate(field.centers)
    mass = (here.factor * here.mass).sum(axis=1)
    return field.centers[[int(np.argmax(mass))]]
