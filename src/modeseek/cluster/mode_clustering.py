"""ModeClustering: rows climb to the modes of the density and are labelled by mode."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.answers import AnswersMixin
from modeseek.cluster.coordinates import CoordinatesMixin
from modeseek.cluster.fitting import (
    Fitted,
    check_settings,
    locate_rows,
    weigh_modes,
)
from modeseek.cluster.one_cluster import explain_one
from modeseek.cluster.point import fit_rows
from modeseek.cluster.progress import watched
from modeseek.cluster.reference import draw_reference
from modeseek.cluster.summary import SummaryMixin, profile_fit
from modeseek.cluster.telling import warn_of_data
from modeseek.errors import warn_user
from modeseek.gradient.base import GradientEstimator
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.containers import check_in_memory, open_rows
from modeseek.rows.entry import whole_fit
from modeseek.rows.validation import check_integer, check_real, check_rows, is_word
from modeseek.tree.merge_tree import number_groups


class ModeClustering(
    SummaryMixin, AnswersMixin, CoordinatesMixin, ClusterMixin, BaseEstimator
):
    """Clustering by seeking the modes of the density.

    The gradient of the log-density is estimated, every row climbs to a mode, along the
    gradient or from row to row, and rows that reach the same mode are a cluster. Modes
    between which the density hardly falls are merged. There is no number of clusters
    and no bandwidth to set.

    Parameters
    ----------
    estimator : LogDensityGradient or KernelDensityGradient, default=None
        Estimator of the gradient; it is cloned. None is
        ``LogDensityGradient(bandwidth="auto")`` with this object's ``random_state``
        and ``n_jobs``. With ``KernelDensityGradient`` this is the Gaussian mean shift.
    ascent : {"auto", "rows", "fixed_point", "gradient", "quasi_newton", "blurring"}, \
            default="auto"
        How rows climb. The fixed point is a weighted mean shift along the estimated
        gradient, many steps at once where it is slow; gradient ascent takes steps of
        ``step_size`` times the gradient; quasi-Newton learns the curvature along the
        way. Blurring estimates the gradient anew after every step, from the rows
        where they are then, until they stand still; new rows take the same steps, and
        go with the end that is nearest. With ``"rows"`` they climb from neighbour to
        neighbour instead, by the distances between them. ``"auto"``
        climbs along the gradient of an estimator that is given; by default
        (``bandwidth="auto"``) only where much of it is that of a Gaussian, and from
        row to row elsewhere.
    prominence : "auto" or float, default="auto"
        How far the log-density must fall between two modes for both to be clusters.
        ``"auto"`` decides from the tree, see the user guide: along the gradient it
        merges modes whose prominence is below 0.3 or below its standard error (twice
        that for learned widths), on the graph of rows those that chance explains, as
        it is drawn on that graph. 0 keeps every mode, as the paper does.
    n_clusters : int or None, default=None
        Number of clusters, where it is known: modes of the least prominence are merged
        until so many are left. A warning says if there are fewer modes.
    noise : float or None, default=None
        Share of the rows of each cluster that are noise, of label -1: those whose
        :meth:`outlier_score` is above ``1 - noise``, in the fit and in
        :meth:`predict`. None leaves every row in its cluster.
    features : {"auto", "all"}, default="auto"
        Which features count. ``"auto"`` leaves out, with a ``FeatureWarning``, what is
        no measurement: numbers given to the rows, and two or three values, unless most
        features have few. With an estimator or another ascent they are warned of only.
    step_size : "auto" or float, default="auto"
        Step size of the gradient ascent, in squared units of the data.
    tol : float, default=1e-4
        Along the gradient, a row has arrived when it moves less than this, in widths
        of the Gaussians.
    max_iter : int, default=1000
        Most steps of a row along the gradient.
    random_state : int, RandomState instance or None, default=0
        Seed: the draw of centres of the default estimator, and of the rows among
        which saddles between modes are sought, or which are climbed.
    n_jobs : int or None, default=None
        Threads; None and -1 use every core. The result does not depend on it.
    verbose : int or None, default=None
        None shows a line of progress in terminals and notebooks while a fit takes more
        than 5 seconds; 0 shows nothing, and 1 prints what is done.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, 0 for the largest; -1 for ``noise``. A lazy Dask array
        where the rows were on Dask, like ``row_modes_`` and what methods say about
        rows there.
    ascent_ : str
        How rows climbed: ``ascent``, or what ``"auto"`` chose.
    decision_ : str
        Why rows climbed this way and in these coordinates, in words; and why there is
        one cluster, where there is one: the deepest valley, how likely chance makes
        it, and what to try next.
    components_ : ndarray of shape (n_components, n_features)
        Directions of the coordinates in which rows climb, see :meth:`transform`: all
        features, principal components less noise, or the directions in which
        held-out rows confirm clusters.
    n_components_ : int
    features_left_out_ : dict
        Numbers of features that do not count, and why. Modes have their mean there.
    n_clusters_ : int
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The highest mode of each cluster.
    modes_ : ndarray of shape (n_modes, n_features)
        All modes, highest first. From row to row they are rows.
    mode_labels_ : ndarray of shape (n_modes,)
        Cluster of each mode.
    mode_weights_ : ndarray of shape (n_modes,)
        Weight of the rows that reached each mode: their number, if they have no
        weights.
    cluster_modes_ : ndarray of shape (n_clusters,)
        The highest mode of each cluster, as a row of ``modes_``.
    row_modes_ : ndarray of shape (n_samples,)
        Mode that each row reached.
    outlier_scores_ : ndarray of shape (n_samples,)
        Outlier score of each row, see :meth:`outlier_score`. This and the next are
        computed when they are asked for, from the rows that were given to ``fit``;
        a model that was saved does not have these.
    probabilities_ : ndarray of shape (n_samples,)
        Membership of each row in its own cluster, see :meth:`membership`.
    merge_tree_ : MergeTree
        How modes merge, with the prominence of each merge and its standard error.
        Where no merge depends on it (``prominence=0``) it is built when it is first
        asked for, or when the model is saved.
    estimator_ : LogDensityGradient or KernelDensityGradient
        The fitted gradient. Where rows climb from row to row by default, it only
        helped to decide that, and is fitted to 2,048 of the rows if there are more.
        Where they climb in coordinates, it takes ``transform(X)``; of one Gaussian for
        each cluster it is a :class:`KernelDensityGradient`. Not fitted where all rows
        are equal: they have no density.
    feature_relevance_ : ndarray of shape (n_features,)
        Share of each feature in what is not Gaussian about the gradient, see
        :class:`LogDensityGradient`; not with a :class:`KernelDensityGradient` that
        was given. Of one Gaussian for each cluster all coordinates are as relevant.
    rounding_ : Rounding
        Steps in which features were recorded, where rounding was found.
    n_iter_ : int
        Most steps that a row took. This and the next two count the rows that find the
        modes: all, or a subsample of more than 32,768.
    n_unconverged_ : int
        Rows that were still moving after ``max_iter`` steps. They get the mode they
        are nearest to after polishing. From row to row there are none.
    n_guarded_ : int
        Rows that needed the safe step: the ascent's own would have gone downhill. From
        row to row there are none.
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
    array([[ 0.2,  1.9],
           [-2.2, -2. ],
           [ 2.2, -2. ]])
    """

    ascent_: str
    _level: str | float  # the prominence that the fit was asked for ...
    _n_wanted: int | None  # ... or the number of clusters

    def __init__(
        self,
        estimator: GradientEstimator | None = None,
        *,
        ascent: str = "auto",
        prominence: str | float = "auto",
        n_clusters: int | None = None,
        noise: float | None = None,
        features: str = "auto",
        step_size: str | float = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.ascent = ascent
        self.prominence = prominence
        self.n_clusters = n_clusters
        self.noise = noise
        self.features = features
        self.step_size = step_size
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_fit
    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Estimate the gradient, climb from every row, and merge modes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Also a memory-mapped array, chunks of rows, or a Dask array or data
            frame; see "Many rows" in the user guide.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Whole numbers count copies: a weight of k equals k copies of the row.
            Other weights say proportions only, and count with a mean of 1. A row of
            weight zero is labelled, and counts for nothing else.

        Returns
        -------
        self
        """
        settings = check_settings(**_check_cut(**self.get_params(deep=False)))
        source = open_rows(self, X, sample_weight, self.n_jobs, reset=True, least=1)
        names = getattr(self, "feature_names_in_", None)
        with watched(settings.verbose):
            fitted = fit_rows(settings, source, names)
            self._store_fitted(fitted)
            self._rows = X
            settings.say("labelling rows")
            self.row_modes_ = locate_rows(fitted, source, self.n_jobs)
            self.mode_weights_ = weigh_modes(fitted, source, self.row_modes_)
            self._profile = profile_fit(fitted, source, self.row_modes_, self.n_jobs)
            self._store_cut(self._groups_of_the_fit())
        self._explain_one_cluster(held_out=fitted.held_out)
        settings.say(f"{len(self.modes_)} modes, {self.n_clusters_} clusters")
        warn_of_data(fitted, settings.features, names)
        return self

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
        check_is_fitted(self)
        return self._predict(X)

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
        check_is_fitted(self)
        modes: Integers = self._ask(X, self._landscape.locate)
        return modes

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
        return self._label_rows(self.label_modes(prominence, n_clusters))

    def label_modes(
        self, prominence: float | None = None, n_clusters: int | None = None
    ) -> Integers:
        """Cluster of each mode at another level; parameters are those of :meth:`cut`.

        Returns
        -------
        ndarray of shape (n_modes,)
            0 for the largest cluster.
        """
        group = self._groups(prominence, n_clusters)
        return number_groups(group, self.mode_weights_).labels

    def recut(
        self, prominence: float | None = None, n_clusters: int | None = None
    ) -> Self:
        """Move the fitted clustering to another level of the merge tree.

        ``labels_``, ``n_clusters_`` and what else speaks of clusters change, and what
        :meth:`predict` and :meth:`membership` say; modes and tree stay. Parameters are
        those of :meth:`cut`; with neither, the level is that of the fit again.

        Returns
        -------
        self
        """
        if prominence is None and n_clusters is None:
            check_is_fitted(self)
            self._store_cut(self._groups_of_the_fit())
        else:
            self._store_cut(self._groups(prominence, n_clusters))
        return self

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
        check_in_memory(X, "paths are for some of them: give those as an array.")
        rows = check_rows(self, X, reset=False)
        _, *steps = self._landscape.paths(rows, self.n_jobs)
        return np.stack([np.array(rows, dtype=np.float64), *steps])

    def _store_fitted(self, fitted: Fitted) -> None:
        climbed, landscape = fitted.climbed, fitted.climbed.landscape
        self.estimator_ = fitted.estimator
        width = getattr(fitted.estimator, "n_features_in_", 0)
        if width == self.n_features_in_ and hasattr(self, "feature_names_in_"):
            self.estimator_.feature_names_in_ = self.feature_names_in_
        self.rounding_ = fitted.overview.rounding
        self.ascent_ = fitted.ascent
        self.decision_ = fitted.reason
        self.features_left_out_ = fitted.left_out
        self._landscape = landscape
        self._reference = draw_reference(fitted.overview, landscape.frame)
        for former in ("_radii", "_row_radii", "merge_tree_"):
            self.__dict__.pop(former, None)
        self._frame = fitted.frame
        self.n_components_ = fitted.frame.n_coordinates
        self._level, self._n_wanted = self.prominence, self.n_clusters
        self._noise = self.noise
        self.modes_ = landscape.modes
        self.n_iter_ = climbed.n_iter
        self.n_unconverged_ = climbed.n_unconverged
        self.n_guarded_ = climbed.n_guarded

    def _explain_one_cluster(self, *, held_out: bool) -> None:
        """Add to the decision why there is one cluster, if that was not asked for."""
        asked = self._n_wanted is not None or not is_word(self._level, "auto")
        if self.n_clusters_ == 1 and not asked and hasattr(self.estimator_, "centers_"):
            why = explain_one(self._landscape, held_out=held_out)
            self.decision_ = f"{self.decision_} {why}"

    def _groups_of_the_fit(self) -> Integers:
        """Highest mode of each one's group, at the level of the fit."""
        if self._n_wanted is not None:
            n_modes = len(self.modes_)
            if n_modes < self._n_wanted:
                there_are = "is 1 mode" if n_modes == 1 else f"are {n_modes} modes"
                warn_user(
                    f"There {there_are}, fewer than n_clusters="
                    f"{self._n_wanted}: each is a cluster.",
                    ConvergenceWarning,
                )
            return self.merge_tree_.cut(n_clusters=min(self._n_wanted, n_modes))
        if is_word(self._level, "auto"):
            return self.merge_tree_.merge(self._landscape.default_merges())
        return self._cut(float(self._level), None)

    def _groups(self, prominence: float | None, n_clusters: int | None) -> Integers:
        """Highest mode of each one's group, at another level."""
        check_is_fitted(self)
        if prominence is not None:
            prominence = check_real("prominence", prominence, least=0.0)
        if n_clusters is not None:
            n_clusters = check_integer("n_clusters", n_clusters, least=1)
        return self._cut(prominence, n_clusters)

    def _cut(self, prominence: float | None, n_clusters: int | None) -> Integers:
        if prominence == 0.0 and n_clusters is None:  # nothing merges: spare the tree
            return np.arange(len(self.modes_))
        return self.merge_tree_.cut(prominence, n_clusters)

    def _store_cut(self, group: Integers) -> None:
        """Number the groups by size and store what speaks of clusters."""
        self.mode_labels_, self.cluster_modes_ = number_groups(
            group, self.mode_weights_
        )
        if "merge_tree_" in self.__dict__:
            self.merge_tree_ = self.merge_tree_._replace(labels=self.mode_labels_)
        self.__dict__.pop("_hills", None)
        self.labels_ = self._label_rows(self.mode_labels_)
        self.n_clusters_ = len(self.cluster_modes_)
        self.cluster_centers_ = self.modes_[self.cluster_modes_]


def _check_cut(n_clusters: object, noise: object, **others: Any) -> dict[str, Any]:
    """Check what does not concern the landscape; the other parameters come back."""
    if n_clusters is not None:
        check_integer("n_clusters", n_clusters, least=1)
        if not is_word(others["prominence"], "auto"):
            raise ValueError("Give either prominence or n_clusters, not both.")
    if noise is not None and check_real("noise", noise, least=0.0) >= 1.0:
        raise ValueError(f"noise must be a share, from 0 to below 1; got {noise}.")
    return others


ModeClustering.__module__ = "modeseek.cluster"  # model files name it so
