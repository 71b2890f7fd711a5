"""LogDensityGradient: the gradient of a log-density by least squares (LSLDG)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from modeseek.field.basis import BasisFunction
from modeseek.field.own import LinearField
from modeseek.gradient.base import GradientEstimator
from modeseek.gradient.extensions.losses import Derivatives
from modeseek.gradient.extensions.penalties import Penalty, l1_paths
from modeseek.gradient.moments import Moments
from modeseek.gradient.settings import (
    GradientSettings,
    needs_all_rows,
    read_settings,
)
from modeseek.gradient.state import (
    add_rows,
    fit_to_subsample,
    rebuild_field,
    rebuild_influence,
    task_scales_of,
)
from modeseek.gradient.uncertainty import Influence
from modeseek.rows.arrays import Floats
from modeseek.rows.containers import open_rows
from modeseek.rows.entry import whole_fit
from modeseek.rows.rounding import Rounding, warn_of_rounding
from modeseek.rows.subsample import make_overview
from modeseek.rows.validation import check_jobs, is_word


def _settings_of(
    estimator: LogDensityGradient,
) -> GradientSettings | LogDensityGradient:
    """What the parameters said at the fit, or say now if there was none."""
    fitted: GradientSettings | None = getattr(estimator, "settings_", None)
    return estimator if fitted is None else fitted


def _has_potential(estimator: LogDensityGradient) -> bool:
    settings = _settings_of(estimator)
    return settings.coefficients == "shared" and not callable(settings.basis)


def _adds_up(estimator: LogDensityGradient) -> bool:
    loss = _settings_of(estimator).loss
    if is_word(loss, "squared"):
        return True
    raise AttributeError(
        f'loss="{loss}" is no sum of moments, so that rows cannot be added: '
        'use loss="squared", or fit on all rows.'
    )


def _has_path(estimator: LogDensityGradient) -> bool:
    settings = _settings_of(estimator)
    return is_word(settings.penalty, "l1") and not settings.positive


class LogDensityGradient(GradientEstimator):
    r"""Gradient of a log-density, fitted directly by least squares (LSLDG).

    The model is a sum of derivatives of Gaussians at a few rows drawn as centres. It
    minimises the expected squared distance to the true gradient, which needs no
    density and has a closed form; width and penalty are chosen by cross-validation.

    Parameters
    ----------
    n_centers : int or "auto", default="auto"
        Rows drawn as centres of Gaussians: 100, 150 where ``bandwidth`` is "auto" or
        "learned", but no more than half of the distinct rows.
    centers : array-like of shape (n_centers, n_features) or None, default=None
        Centres to take instead of drawing rows, in the unit of the data. Rows equal to
        one of them only train, as rows that are drawn do.
    bandwidth : {"cv", "auto", "learned"}, float or array-like, default="cv"
        Width of the Gaussians.

        - ``"cv"`` chooses one width for all features among multiples of the median
          distance between centres, by cross-validation and ``selection``.
        - ``"learned"`` learns a width for each feature of the standardised data, by
          descent of the cross-validated loss. Where a single Gaussian explains at
          least 0.3 of the gradient, that Gaussian joins the model
          (``gaussian_base_``), and kernels are spent on what is not Gaussian.
        - ``"auto"`` chooses one width for the standardised features, and learns
          widths only where they are mostly Gaussian in that sense.
        - A number is taken as it is, in the unit of the data; a list of numbers
          gives candidates; an array of shape (n_candidates, n_features) gives
          candidates with a width for each feature.
    alpha : "cv", float or array-like, default="cv"
        Penalty on the squared coefficients, on the scale of ``penalty_scale``: chosen
        by cross-validation, taken as it is, or chosen among candidates.
    penalty_scale : {"relative", "printed", "authors"}, default="relative"
        What ``alpha`` is in the paper's letters.

        - ``"relative"``: lambda is ``alpha / bandwidth**2``. A number without a unit
          that means the same at every width.
        - ``"printed"``: lambda is ``alpha``. Wide Gaussians are penalised far more.
        - ``"authors"``: lambda is ``alpha / bandwidth**4``, as in the code that the
          authors published, whose basis lacks ``1 / bandwidth**2``.

        With the last two, ``alpha="cv"`` chooses among the paper's candidates,
        ``10.0 ** np.arange(-2, 1.01, 0.5)``; both need the ridge and the squared loss.
    coefficients : {"shared", "separate", "multitask"}, default="shared"
        - ``"shared"``: one coefficient a centre. The model is the gradient of a
          potential (:meth:`log_density`) and costs the same in any dimension.
        - ``"separate"``: one for each centre and feature, each feature solved alone.
        - ``"multitask"``: one for each centre and feature, and a penalty ``gamma`` on
          the squared differences between features. With ``gamma`` = 0 it is
          "separate"; as ``gamma`` grows it tends to "shared" with ``n_features``
          times the ``alpha``.
    basis : {"derivative", "common"} or callable, default="derivative"
        ``"derivative"`` sums derivatives of Gaussians. ``"common"`` sums the
        Gaussians themselves, the same for every feature, so that one factorisation
        serves all; it needs a coefficient for each feature, has no potential and no
        mean shift: to climb it, take the gradient or quasi-Newton ascent. So does a
        basis of your own, a function of rows (m, d), centres (b, d) and widths (d,),
        all in the unit of the data, that gives two arrays of shape (m, b, d): psi of
        every row, centre and feature, and its derivative along that feature. Penalties
        are relative to ``1 / bandwidth**2``, the size of its squares.
    penalty : {"ridge", "l1", "features", "centers"} or callable, default="ridge"
        What ``alpha`` weighs.

        - ``"ridge"``: the squared coefficients.
        - ``"l1"``: their absolute values, which drops centres from the model.
          ``alpha`` is chosen among the knots of the path (:meth:`path`).
        - ``"features"``: multi-task feature learning, the squared trace norm of the
          coefficients: few combinations of centres that all features use. With
          ``coefficients="separate"``, like the next.
        - ``"centers"``: its diagonal form, the squared sum over centres of the
          length of their coefficients, which drops centres for all features alike.
        - A function of ``G, h, scales, alphas`` that gives coefficients, see
          ``docs/adding_a_penalty.md``.

        "features" and "centers" iterate: they take the width the ridge chose.
    positive : bool, default=False
        Keep coefficients from being negative (with "ridge" and "l1"). With shared
        ones the fixed point is then a weighted mean shift, which ascends from
        everywhere at full length.
    gamma : "cv", float or array-like, default="cv"
        Strength of ``coefficients="multitask"``, relative like ``alpha``.
    similarity : {"ones", "learned"} or array-like, default="ones"
        Similarities of the features in ``coefficients="multitask"``: all alike;
        exp(-||difference of coefficients||^2) after a first solution with ones; or a
        symmetric array of shape (n_features, n_features) with entries from 0 to 1.
        The last two solve for all coefficients at once, far slower.
    loss : str or callable, default="squared"
        Distance to the true gradient: "squared", or one of the Bregman losses
        "even_power", "pseudo_huber", "log_cosh", "shifted_kl", "shifted_logistic"
        (:mod:`modeseek.gradient.extensions.losses` says why not as printed). They
        iterate over the rows, at the width that the squared loss chose, and take the
        ridge only. A function is the Bregman loss of a strictly convex f: of an array
        of gradients, positive and negative, in the unit of the data, it gives five
        arrays, f and its first four derivatives.
    loss_power : float, default=0.5
        Exponent a of ``loss="even_power"``, which grows like ``abs(g) ** (1 + a)``:
        0 is "pseudo_huber", 1 is "squared".
    cv : int, cross-validation generator or iterable of (train, test), default=5
        Number of folds; or splits, whose test rows must not overlap and which train
        on all other rows. Rows drawn as centres only train.
    selection : {"one_se", "min"}, default="one_se"
        Which width the cross-validated losses choose, also as the start of learned
        widths:

        - ``"one_se"``: the widest whose loss is within one standard error of the
          smallest. The loss is flat towards narrow Gaussians, and its minimum now
          and then far too narrow.
        - ``"min"``: the one of the smallest loss, as in the paper.
    random_state : int, RandomState instance or None, default=0
        Seed of the draw of centres and folds. The default gives the same model for
        the same data, every time.
    n_jobs : int or None, default=None
        Threads; None and -1 use every core. The result does not depend on it.
    verbose : int, default=0
        Print what was chosen.

    Attributes
    ----------
    centers_ : ndarray of shape (n_centers, n_features)
        Centres of the Gaussians, without those that the penalty dropped.
    coef_ : ndarray of shape (n_centers,) or (n_features, n_centers)
        Shared coefficients, or those of every feature.
    kept_ : ndarray of shape (n_centers,)
        Which of the centres drawn are left.
    bandwidth_ : ndarray of shape (n_features,)
        Width for each feature; infinite for a constant feature, which is not in
        the model.
    alpha_ : float
        Penalty.
    gamma_ : float
        Strength of what ties features together; 0 unless multi-task.
    gaussian_base_ : ndarray of shape (n_features,)
        Inverse variances of the Gaussian in the model; zero where there is none.
    gaussian_share_ : float
        Share of the gradient, in the mean square, that a Gaussian explains: 1 for
        Gaussian data. Measured where ``bandwidth`` is "auto" or "learned", else NaN.
    cv_results_ : dict of ndarray
        ``bandwidth`` (n_widths, n_features), ``alpha`` (n_alphas,),
        ``mean_test_loss`` and ``std_test_loss`` (n_widths, n_alphas),
        ``n_neighbors`` (n_widths,): rows within reach of the median centre, of those
        that chose (32,768 at most), and
        ``allowed`` (n_widths,): whether those were enough. Losses are of the data as
        given, or of standardised features where ``bandwidth`` is "auto" or
        "learned". With multi-task coefficients ``alpha`` and ``gamma`` are the pairs
        tried. Where ``alpha`` was chosen in a second step, at the chosen width,
        ``along_alpha``, ``along_mean_test_loss`` and ``along_std_test_loss`` tell
        that step. Empty when nothing was to be chosen.
    feature_relevance_ : ndarray of shape (n_features,)
        Share of each feature in what is not Gaussian about the gradient: the mean
        square of the gradient's difference from that of a Gaussian with the feature's
        mean and variance, in standard deviations. Features that only add noise are
        near 0; the shares sum to 1.
    moments_ : Moments
        The sums over all rows, for all centres drawn, that the coefficients were
        solved from.
    settings_ : GradientSettings
        What the parameters said at the fit. What is asked later follows these:
        ``set_params`` changes the next fit only.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    KernelDensityGradient : the same through a kernel density estimate.
    ModeClustering : clusters, by climbing the gradient.

    References
    ----------
    Sasaki, Hyvärinen, Sugiyama: Clustering via mode seeking by direct estimation of
    the gradient of a log-density. ECML PKDD 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from modeseek import LogDensityGradient
    >>> X = np.random.default_rng(0).standard_normal((2000, 2))
    >>> model = LogDensityGradient().fit(X)
    >>> model.gradient([[1.0, 0.0], [0.0, -2.0]]).round(1)  # the truth is -x
    array([[-1. , -0.1],
           [ 0.1,  2.1]])
    """

    centers_: Floats
    coef_: Floats
    bandwidth_: Floats
    alpha_: float
    gamma_: float
    kept_: NDArray[np.intp]
    gaussian_base_: Floats
    gaussian_share_: float
    cv_results_: dict[str, NDArray[Any]]
    feature_relevance_: Floats
    moments_: Moments
    _curvature: tuple[Floats, Floats, Floats] | None
    _rounding: Rounding
    _base: Floats  # (n_features,) inverse variances of the Gaussian base, in the frame
    _drawn: Floats  # (n_drawn, n_features) all centres, in the frame

    def __init__(
        self,
        n_centers: int | str = "auto",
        *,
        centers: ArrayLike | None = None,
        bandwidth: str | ArrayLike = "cv",
        alpha: str | ArrayLike = "cv",
        penalty_scale: str = "relative",
        coefficients: str = "shared",
        basis: str | BasisFunction = "derivative",
        penalty: str | Penalty = "ridge",
        positive: bool = False,
        gamma: str | ArrayLike = "cv",
        similarity: str | ArrayLike = "ones",
        loss: str | Derivatives = "squared",
        loss_power: float = 0.5,
        cv: Any = 5,
        selection: str = "one_se",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_centers = n_centers
        self.centers = centers
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.penalty_scale = penalty_scale
        self.coefficients = coefficients
        self.basis = basis
        self.penalty = penalty
        self.positive = positive
        self.gamma = gamma
        self.similarity = similarity
        self.loss = loss
        self.loss_power = loss_power
        self.cv = cv
        self.selection = selection
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @whole_fit
    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the gradient to rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Also a memory-mapped array, chunks of rows, or a Dask array or data
            frame; see "Many rows" in the user guide.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Whole numbers count copies: a weight of k equals k copies of the row.
            Other weights say proportions only, and count with a mean of 1.

        Returns
        -------
        self
        """
        source = open_rows(self, X, sample_weight, check_jobs(self.n_jobs), reset=True)
        with source.session():
            whole = needs_all_rows(self, source)
            overview = make_overview(source, whole=whole, n_jobs=self.n_jobs)
            fit_to_subsample(self, overview)
        names = getattr(self, "feature_names_in_", None)
        warn_of_rounding(self._rounding, names)
        return self

    @available_if(_adds_up)
    @whole_fit
    def partial_fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows to those the gradient was fitted to.

        Available with ``loss="squared"``: the others are no sums of moments.

        The first call fits. Later ones add to the moments and solve again, as one
        pass over all rows would; what the first call chose stays: centres, widths,
        penalty, Gaussian base, the mean and spread of standardised features, and with
        them ``cv_results_`` and ``feature_relevance_``. So its rows should be like
        those to come.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any container that :meth:`fit` takes.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        if not hasattr(self, "moments_"):
            return self.fit(X, sample_weight=sample_weight)
        source = open_rows(self, X, sample_weight, check_jobs(self.n_jobs), reset=False)
        with source.session():
            add_rows(self, source)
        return self

    def _read_settings(self) -> GradientSettings:
        return read_settings(self, self.n_features_in_)

    def _field(self) -> LinearField:
        return rebuild_field(self)

    def _influence(self, tops: Floats, bottoms: Floats) -> Influence:
        return rebuild_influence(self, tops, bottoms)

    @available_if(_has_path)
    def path(self) -> list[tuple[Floats, Floats]]:
        """Entire l1 path at the chosen width, of every task.

        Available with ``penalty="l1"``. Coefficients are linear between the knots.

        Returns
        -------
        list of (alphas, coefs)
            One pair for shared coefficients, one for each feature for separate ones:
            penalties at the knots, descending, of shape (n_knots,), and coefficients
            of all centres drawn, of shape (n_knots, n_drawn).
        """
        check_is_fitted(self)
        return l1_paths(self.moments_, task_scales_of(self))

    @available_if(_has_potential)
    def log_density(self, X: ArrayLike) -> Floats:
        """Log-density at every row, up to one constant for all rows.

        Available with shared coefficients: separate ones have no potential.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._apply_in_frame(X, self._potential)


LogDensityGradient.__module__ = "modeseek.gradient"  # model files name it so
