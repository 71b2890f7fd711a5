"""ModeClustering: rows climb to the modes of the density and are labelled by mode."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.exceptions import ConvergenceWarning

from modeseek.cluster.answers import Answers
from modeseek.cluster.blurring import blur
from modeseek.field.ascent import Climb
from modeseek.field.fields import Field
from modeseek.field.modes import find_modes
from modeseek.field.saddles import build_tree
from modeseek.gradient.base import GradientEstimator, field_of, frame_of, influence_of
from modeseek.gradient.least_squares import (
    LogDensityGradient,
    fit_to_subsample,
    fit_unless_gaussian,
)
from modeseek.gradient.model import GAUSSIAN_SHARE
from modeseek.gradient.settings import needs_all_rows
from modeseek.gradient.uncertainty import standard_errors
from modeseek.graph.row_graph import MOST_NODES, build_graph, steps_up
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.blocks import map_rows
from modeseek.rows.containers import look_up, open_rows
from modeseek.rows.ranking import Sample, draw_centers, generator
from modeseek.rows.rounding import Rounding, grain_of, warn_of_rounding
from modeseek.rows.source import Source
from modeseek.rows.subsample import Survey, few_of, survey
from modeseek.rows.validation import (
    check_choice,
    check_integer,
    check_jobs,
    check_real,
    is_word,
)
from modeseek.tree.default_cut import merges_on_field, merges_on_rows

ASCENTS = ("auto", "rows", "fixed_point", "gradient", "quasi_newton", "blurring")

#: Rows among which passes between modes are sought.
TREE_ROWS = 3000

#: Rows that are enough to see that a Gaussian explains little of the gradient.
SCOUTS = 2048

#: ascent="auto" follows the gradient where a Gaussian explains this share of it. Where
#: it explains less, but enough to be the model's base, it follows it on trial.
MOSTLY_GAUSSIAN = 0.65

#: The trial fails where more than one of the modes, and more than this share of them,
#: is merged into another.
MOST_CHANCE = 0.25

#: Share of rows that may fail to converge without a warning: their modes are found
#: by polishing.
TOLERATED = 0.01


class ModeClustering(Answers, ClusterMixin, BaseEstimator):
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
        where they are then. With ``"rows"`` they climb from neighbour to neighbour
        instead, by the distances between at most 5,000 of them. ``"auto"`` climbs
        along the gradient of an estimator that is given; by default
        (``bandwidth="auto"``) only where much of it is that of a Gaussian, and from
        row to row elsewhere.
    prominence : "auto" or float, default="auto"
        How far the log-density must fall between two modes for both to be clusters.
        ``"auto"`` decides from the tree, see the user guide: along the gradient it
        merges modes whose prominence is below 0.3 or below its standard error (twice
        that for learned widths), on the graph of rows those that chance or a gap in
        the tree explains. 0 keeps every mode, as the paper does.
    step_size : "auto" or float, default="auto"
        Step size of the gradient ascent, in squared units of the data.
    tol : float, default=1e-4
        Along the gradient, a row has arrived when it moves less than this, in widths
        of the Gaussians.
    max_iter : int, default=1000
        Most steps of a row along the gradient.
    random_state : int, RandomState instance or None, default=0
        Seed: the draw of centres of the default estimator, and of the rows among
        which passes between modes are sought, or which are climbed.
    n_jobs : int or None, default=None
        Threads; None and -1 use every core. The result does not depend on it.
    verbose : int, default=0
        Print progress.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, 0 for the largest. A lazy Dask array where the rows were
        on Dask, like ``row_modes_`` and what methods say about rows there.
    ascent_ : str
        How rows climbed: ``ascent``, or what ``"auto"`` chose.
    n_clusters_ : int
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The highest mode of each cluster.
    modes_ : ndarray of shape (n_modes, n_features)
        All modes, highest first. From row to row they are rows.
    mode_labels_ : ndarray of shape (n_modes,)
        Cluster of each mode.
    row_modes_ : ndarray of shape (n_samples,)
        Mode that each row reached.
    merge_tree_ : MergeTree
        How modes merge, with the prominence of each merge and its standard error.
    estimator_ : LogDensityGradient or KernelDensityGradient
        The fitted gradient. Where rows climb from row to row by default, it only
        decided that, and is fitted to 2,048 of the rows if there are more.
    feature_relevance_ : ndarray of shape (n_features,)
        Share of each feature in what is not Gaussian about the gradient, see
        :class:`LogDensityGradient`; only with that estimator.
    n_iter_ : int
        Most steps that a row took. Of more than 32,768 rows, so many that stand for
        all find the modes, and count here and in the next two.
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
    array([[ 0.4,  2. ],
           [ 2.1, -1.6],
           [-1.8, -2.1]])
    """

    n_clusters_: int
    cluster_centers_: Floats
    n_iter_: int
    n_unconverged_: int
    n_guarded_: int
    _rounding: Rounding

    def __init__(
        self,
        estimator: GradientEstimator | None = None,
        *,
        ascent: str = "auto",
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
            Also a memory-mapped array, chunks of rows, or a Dask array or data
            frame; see "Many rows" in the user guide.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A weight of k equals k copies of the row; a row of weight zero is
            labelled, and counts for nothing else.

        Returns
        -------
        self
        """
        self._check_parameters()
        source = open_rows(self, X, sample_weight, self.n_jobs, reset=True)
        with source.session():
            known = self._fit_estimator(source)
        self._rounding = known.rounding
        self.ascent_ = self._choose_ascent()
        self._graph = None
        self._blurred = []
        self._say(f"climbing from {known.summary.n_rows} rows ({self.ascent_})")
        if self.ascent_ != "rows":
            modes = self._climb_field(known)
            if self._is_doubtful():
                self.ascent_ = "rows"
                self._say("the gradient has modes of chance: from row to row")
        if self.ascent_ == "rows":
            self._climb_rows(known.sample)
            self.row_modes_ = self._ask_source(source, Answers._modes_of)
        else:
            self.row_modes_ = self._complete(source, known.sample.row, modes)
            self._warn_of_moving_rows(len(known.sample.X))
        self._store_level()
        # The kernel density estimate chooses its width by likelihood alone.
        if self.ascent_ == "rows" or isinstance(self.estimator_, LogDensityGradient):
            names = getattr(self, "feature_names_in_", None)
            warn_of_rounding(self._rounding, names, stacklevel=2)
        return self

    def _fit_estimator(self, source: Source) -> Survey:
        """Fit the gradient; rows that stand for all."""
        estimator, jobs = self._make_estimator(), self.n_jobs
        if isinstance(estimator, LogDensityGradient) and self.ascent != "blurring":
            whole = needs_all_rows(estimator, source)
            known = survey(source, whole=whole, n_jobs=jobs)
            if not self._scout(estimator, known):
                fit_to_subsample(estimator, known)
            self.estimator_ = estimator
            return known
        X, weight = source.rows_in_memory(
            "Blurring moves all of them together, and KernelDensityGradient keeps "
            "every one: give some rows in memory, or use LogDensityGradient with "
            "another ascent."
        )
        self.estimator_ = estimator.fit(X, sample_weight=weight)
        return survey(source, whole=True, n_jobs=jobs)

    def _scout(self, estimator: LogDensityGradient, known: Survey) -> bool:
        """Fit the gradient to some rows, if they show that none will follow it."""
        if (
            self.estimator is not None
            or self.ascent not in ("auto", "rows")
            or len(known.sample.ranking.first) <= SCOUTS
        ):
            return False
        return fit_unless_gaussian(estimator, few_of(known, SCOUTS, self.n_jobs))

    def _choose_ascent(self) -> str:
        """What ``ascent="auto"`` means for the fitted estimator."""
        if self.ascent != "auto":
            return self.ascent
        estimator = self.estimator_
        if not isinstance(estimator, LogDensityGradient):
            return "fixed_point"
        if estimator.basis == "common":
            return "quasi_newton"
        return "rows" if self._gaussian_share() < GAUSSIAN_SHARE else "fixed_point"

    def _gaussian_share(self) -> float:
        """Share of the gradient that a Gaussian explains; 1 if all else was given."""
        estimator = self.estimator_
        if (
            self.ascent == "auto"
            and isinstance(estimator, LogDensityGradient)
            and is_word(estimator.bandwidth, "auto")
            and np.isfinite(estimator.gaussian_share_)
        ):
            return estimator.gaussian_share_
        return 1.0

    def _is_doubtful(self) -> bool:
        """Whether the gradient was followed on trial, to many modes of chance.

        A field that is far from Gaussian may ripple: then many of its modes are no
        clusters, and the graph of rows sees more.
        """
        if self._gaussian_share() >= MOSTLY_GAUSSIAN:
            return False
        n_chance = int(self._merges_to_make().sum())
        return n_chance > max(1.0, MOST_CHANCE * len(self.modes_))

    def _climb_rows(self, sample: Sample) -> None:
        """Find modes and their tree on the graph of rows."""
        ranking = sample.ranking
        n_nodes = min(MOST_NODES, len(ranking.first))
        drawn = ranking.first
        if n_nodes < len(drawn):
            drawn = draw_centers(ranking, n_nodes, generator(self.random_state))
        count = np.bincount(ranking.rank, weights=sample.weight).astype(np.float64)
        copies = count[ranking.rank[drawn]]
        frame = frame_of(self.estimator_)
        nodes = frame.enter(sample.X[drawn])
        grain = grain_of(self._rounding.step / frame.unit)
        self._graph, tree = build_graph(nodes, copies, grain, self.n_jobs)
        self.merge_tree_ = tree._replace(saddles=frame.leave(tree.saddles))
        self._modes = nodes[self._graph.peaks]
        self.modes_ = frame.leave(self._modes)
        weights = np.bincount(self._graph.mode, weights=copies)
        self._mode_weight = weights.astype(np.float64)
        self.n_iter_ = 1 + steps_up(self._graph)
        self.n_unconverged_ = self.n_guarded_ = 0

    def _climb_field(self, known: Survey) -> Integers:
        """Find the modes of the field and their tree; modes of the sample's rows."""
        sample = known.sample
        counts = np.ones(len(sample.X)) if sample.weight is None else sample.weight
        if self.ascent_ == "blurring":
            self._blurred = blur(self.estimator_, sample.X, sample.weight)
        frame, field = frame_of(self.estimator_), field_of(self.estimator_)
        arrived = self._climb(self._enter_blurred(sample.X), field)
        modes = find_modes(field, arrived.points)
        if not len(modes):
            modes = _highest_center(field)
        self._store_climb(arrived)
        reached = self._assign(arrived.points, modes, field)
        reached = self._store_modes(field, modes, reached, counts)
        start = frame.enter(sample.X)
        self._grow_tree(known, start, reached)
        nearest = map_rows(
            lambda Z: field.evaluate(Z).nearest, start, len(field.centers), self.n_jobs
        )
        self._reach = float(nearest.max())
        return reached

    def _complete(self, source: Source, row: Integers, reached: Integers) -> Integers:
        """Modes of all rows, where those of some are known."""
        if not len(row):  # they were taken from among many, or are not in memory
            modes: Integers = self._ask_source(source, Answers._modes_of)
            return modes
        X = source.rows_in_memory().X
        modes = np.empty(len(X), dtype=np.intp)
        modes[row] = reached
        rest = np.delete(np.arange(len(modes)), row)  # of weight zero
        if len(rest):
            modes[rest] = self._modes_of(X[rest])
        return modes

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

    def _store_climb(self, arrived: Climb) -> None:
        self.n_iter_ = int(arrived.n_iter.max())
        self.n_unconverged_ = int((~arrived.converged).sum())
        self.n_guarded_ = int(arrived.guarded.sum())

    def _warn_of_moving_rows(self, n: int) -> None:
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
    ) -> Integers:
        """Store the modes that rows reached, highest first; their new numbers."""
        share = np.bincount(mode_of_row, weights=counts, minlength=len(modes))
        weight = share.astype(np.float64)
        value = field.evaluate(modes).value
        height = weight if value is None else value
        order = np.lexsort((*modes.T, -height))
        order = order[weight[order] > 0]
        self._modes = modes[order]
        self._mode_weight = weight[order]
        self.modes_ = frame_of(self.estimator_).leave(self._modes)
        number = np.empty(len(modes), dtype=np.intp)
        number[order] = np.arange(len(order))
        return number[mode_of_row]

    def _grow_tree(self, known: Survey, Z: Floats, mode_of_row: Integers) -> None:
        """Build the merge tree and the standard errors of its prominences."""
        sample = known.sample
        n_drawn = min(TREE_ROWS, len(sample.ranking.first))
        drawn = draw_centers(sample.ranking, n_drawn, generator(self.random_state))
        field = field_of(self.estimator_)
        tree = build_tree(field, self._modes, Z[drawn], mode_of_row[drawn])
        if len(tree.child):
            tops, columns = self._modes[tree.child], len(field.centers)
            errors = standard_errors(
                influence_of(self.estimator_, tops, tree.saddles),
                Z,
                sample.weight,
                len(tops),
                columns,
                self.n_jobs,
            )
            # The field comes from all rows, whose influence the sample tells.
            taken = len(Z) if sample.weight is None else sample.weight.sum()
            errors *= np.sqrt(taken / known.summary.weight)
            tree = tree._replace(std_error=errors)
        saddles = frame_of(self.estimator_).leave(tree.saddles)
        self.merge_tree_ = tree._replace(saddles=saddles)

    def _store_level(self) -> None:
        """Cut the tree at the level asked for and number the clusters by size."""
        tree = self.merge_tree_
        if is_word(self.prominence, "auto"):
            group = tree.merge(self._merges_to_make())
        else:
            group = tree.cut(prominence=float(self.prominence))
        self.mode_labels_, tops = self._number(group)
        self.labels_ = look_up(self.mode_labels_, self.row_modes_)
        self.n_clusters_ = len(tops)
        self.cluster_centers_ = self.modes_[tops]
        self._tops = tops
        self._say(f"{len(self.modes_)} modes, {self.n_clusters_} clusters")

    def _merges_to_make(self) -> Bools:
        if self._graph is None:
            estimator = self.estimator_
            learned = isinstance(estimator, LogDensityGradient) and (
                is_word(estimator.bandwidth, "learned")
                or bool(estimator.gaussian_base_.any())
            )
            return merges_on_field(self.merge_tree_, learned=learned)
        n_nodes, dimension = len(self._graph.nodes), self._graph.dimension
        return merges_on_rows(self.merge_tree_, n_nodes, dimension)


def _highest_center(field: Field) -> Floats:
    """The centre of highest mass: the mode of a field that has no maximum."""
    here = field.evaluate(field.centers)
    mass = (here.factor * here.mass).sum(axis=1)
    return field.centers[[int(np.argmax(mass))]]


ModeClustering.__module__ = "modeseek.cluster"  # model files name it so
