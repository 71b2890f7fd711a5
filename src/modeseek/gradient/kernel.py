"""KernelDensityGradient: the gradient of a Gaussian kernel density estimate."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from modeseek.field.basis import gaussians, squared_distances
from modeseek.field.fields import KernelField
from modeseek.gradient.base import GradientEstimator, frame_of
from modeseek.gradient.settings import GradientSettings, name_widths
from modeseek.gradient.uncertainty import Influence, kernel_influence
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import chunk_slices, map_blocks
from modeseek.rows.containers import check_in_memory
from modeseek.rows.coordinates import frame_from_centers, typical_distance
from modeseek.rows.entry import whole_fit
from modeseek.rows.ranking import (
    Sample,
    draw_centers,
    generator,
    make_folds,
    take_sample,
)
from modeseek.rows.validation import (
    check_folds,
    check_jobs,
    check_rows,
    check_weights,
    check_widths,
    check_widths_match,
    check_within_reach,
    is_word,
)

#: Default widths, in typical distances between rows: 2^(k/2).
WIDEST_POWER, NARROWEST_POWER = 2, -12

#: Rows from which the typical distance is taken.
REFERENCE_ROWS = 500


class KernelDensityGradient(GradientEstimator):
    r"""Gradient of the log of a Gaussian kernel density estimate.

    The two-step way to a log-density gradient: a density estimate with a kernel on
    every row, its width chosen by cross-validated likelihood, then the gradient of its
    logarithm. Climbing it is the Gaussian mean shift. It is the baseline of
    :class:`LogDensityGradient` and has its interface.

    Parameters
    ----------
    bandwidth : "cv", float or array-like, default="cv"
        Width of the kernels, in the unit of the data: chosen by likelihood among
        multiples of the typical distance between rows; a number; a list of
        candidates; or an array of shape (n_candidates, n_features) with a width
        for each feature.
    cv : int, cross-validation generator or iterable of (train, test), default=5
        Number of folds; or splits, whose test rows must not overlap and which train
        on all other rows.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.
    n_jobs : int or None, default=None
        Threads; None and -1 use every core. The result does not depend on it.
    verbose : int, default=0
        Print what was chosen.

    Attributes
    ----------
    centers_ : ndarray of shape (n_centers, n_features)
        The distinct rows.
    coef_ : ndarray of shape (n_centers,)
        Their share of the weight; sums to 1.
    bandwidth_ : ndarray of shape (n_features,)
        Width for each feature; infinite for a constant feature.
    cv_results_ : dict of ndarray
        ``bandwidth`` (n_widths, n_features) and ``mean_test_log_likelihood``
        (n_widths,). Empty when nothing was to be chosen.
    settings_ : GradientSettings
        What the parameters said at the fit; see :class:`LogDensityGradient`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    LogDensityGradient : estimates the gradient directly.

    Examples
    --------
    >>> import numpy as np
    >>> from modeseek import KernelDensityGradient
    >>> X = np.random.default_rng(0).standard_normal((2000, 1))
    >>> model = KernelDensityGradient().fit(X)
    >>> model.log_density([[0.0]]).round(2)  # the truth is -0.92
    array([-0.97])
    """

    centers_: Floats
    coef_: Floats
    bandwidth_: Floats
    cv_results_: dict[str, NDArray[Any]]

    def __init__(
        self,
        bandwidth: str | ArrayLike = "cv",
        *,
        cv: Any = 5,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.bandwidth = bandwidth
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_fit
    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the density estimate to rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A weight of k equals k copies of the row; only proportions matter.

        Returns
        -------
        self
        """
        jobs = check_jobs(self.n_jobs)
        check_in_memory(
            X,
            "KernelDensityGradient keeps every row: fit it on some of them in memory, "
            "or use LogDensityGradient.",
        )
        rows = check_rows(self, X, reset=True)
        weight = check_weights(sample_weight, len(rows))
        sample = take_sample(rows, weight, jobs)
        ranking, rng = sample.ranking, generator(self.random_state)
        n_distinct, d = len(ranking.first), rows.shape[1]
        reference = draw_centers(ranking, min(REFERENCE_ROWS, n_distinct), rng)
        frame = frame_from_centers(sample.X[reference].astype(np.float64))
        check_within_reach(frame, sample.X, sample.row)

        C = frame.enter(sample.X[ranking.first])
        share = np.bincount(ranking.rank, weights=sample.weight).astype(np.float64)
        share /= share.sum()
        reference_rows = frame.enter(sample.X[reference])
        unit = float(frame.unit)
        candidates = self._candidates(d, typical_distance(reference_rows), unit)
        candidates = np.where(sample.constant, np.inf, candidates)
        check_widths_match(candidates, reference_rows)
        self.cv_results_ = {}
        best = 0
        if len(candidates) > 1:
            none = np.empty(0, dtype=np.intp)
            folds = make_folds(sample, none, check_folds(self.cv, len(rows)), rng)
            likelihood = _hold_out_likelihood(sample, C, *folds, candidates, jobs)
            likelihood -= (~sample.constant).sum() * np.log(float(frame.unit))
            best = int(np.argmax(likelihood))
            self.cv_results_ = {
                "bandwidth": candidates * frame.unit,
                "mean_test_log_likelihood": likelihood,
            }
        self.settings_ = self._read_settings()
        self._origin, self._unit = frame.origin, frame.unit
        self.centers_ = frame.leave(C)
        self.coef_ = share
        self.bandwidth_ = candidates[best] * frame.unit
        if self.verbose:
            print(f"[KernelDensityGradient] bandwidth {np.unique(self.bandwidth_)}")
        return self

    def _candidates(self, d: int, typical: float, unit: float) -> Floats:
        """Candidate widths in the frame, shape (n_widths, d), widest first."""
        if is_word(self.bandwidth, "cv"):
            grid = typical * np.sqrt(2.0) ** np.arange(
                WIDEST_POWER, NARROWEST_POWER - 1, -1
            )
            return np.repeat(grid[:, None], d, axis=1)
        widths = check_widths(self.bandwidth, d) / unit
        return widths[np.argsort(-widths[:, 0], kind="stable")]

    def _read_settings(self) -> GradientSettings:
        return GradientSettings(name_widths(self.bandwidth))

    def _field(self) -> KernelField:
        frame = frame_of(self)
        return KernelField(
            frame.enter(self.centers_), self.bandwidth_ / frame.unit, np.log(self.coef_)
        )

    def _influence(self, tops: Floats, bottoms: Floats) -> Influence:
        return kernel_influence(self._field(), tops, bottoms)

    def log_density(self, X: ArrayLike) -> Floats:
        """Log-density at every row; constant features count nothing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """

        def answer(Z: Floats) -> Floats:
            widths = self.bandwidth_[np.isfinite(self.bandwidth_)]
            constant = np.log(np.sqrt(2.0 * np.pi) * widths).sum()
            return np.asarray(self._potential(Z) - constant)

        return self._apply_in_frame(X, answer)


def _hold_out_likelihood(
    sample: Sample,
    C: Floats,  # (b, d)
    fold: Integers,  # (n,) that each row validates; n_folds where it only trains
    n_folds: int,
    candidates: Floats,  # (n_widths, d)
    n_jobs: int | None,
) -> Floats:
    """Mean log-density (n_widths,) of rows under the kernels of the other folds.

    C are the distinct rows of the sample, in the frame. Candidate widths are widest
    first where they differ by a factor only.
    """
    finite = np.isfinite(candidates[0])
    reference = candidates[0]
    factors = candidates[:, finite] / reference[finite]
    if (factors == factors[:, :1]).all():
        families = [(reference, factors[:, 0])]
    else:
        families = [(widths, np.ones(1)) for widths in candidates]
    # Copies of a row are one kernel, unless given splits put them in several folds.
    key, copy = np.unique(
        sample.ranking.rank * (n_folds + 1) + fold, return_inverse=True
    )
    C, fold = C[key // (n_folds + 1)], key % (n_folds + 1)
    weight = np.bincount(copy, weights=sample.weight).astype(np.float64)
    by_fold = np.bincount(fold, weights=weight, minlength=n_folds + 1)
    others = np.array([np.delete(by_fold, k).sum() for k in range(n_folds)])
    validation_rows = np.flatnonzero(fold < n_folds)

    def kernel(rows: slice) -> Floats:
        block = validation_rows[rows]
        total = np.zeros(len(candidates))
        for chunk in chunk_slices(len(block), len(C)):
            r = block[chunk]
            logs = [_log_sums(C, weight, fold, r, *family) for family in families]
            log_density = np.concatenate(logs) - np.log(others[fold[r]])
            total += log_density @ weight[r]
        return total

    total = sum(map_blocks(kernel, len(validation_rows), n_jobs=n_jobs, size=1024))
    constant = np.log(np.sqrt(2.0 * np.pi) * candidates[:, finite]).sum(axis=1)
    return np.asarray(total / weight[validation_rows].sum() - constant)


def _log_sums(
    C: Floats,
    weight: Floats,
    fold: Integers,
    rows: Integers,
    widths: Floats,
    scales: Floats,
) -> Floats:
    """Log of the kernel sums of other folds at rows, shape (n_scales, m)."""
    D = squared_distances(C[rows], C, 1.0 / widths)
    D[fold[rows][:, None] == fold] = np.inf
    smallest = D.min(axis=1, keepdims=True)
    D -= smallest
    sums = np.array([P @ weight for P in gaussians(D, scales)])
    return np.asarray(np.log(sums) - 0.5 * smallest[:, 0] / scales[:, None] ** 2)


KernelDensityGradient.__module__ = "modeseek.gradient"  # model files name it so
