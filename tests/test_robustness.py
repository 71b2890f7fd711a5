"""Two hundred awkward data sets: every row gets a label, and nothing is not a number.

Outliers, heavy tails, ties, wildly mixed scales, 1 to 60 features, 5 to 300 rows.
``make test`` fits half of them; ``make soak`` the others, and many that are worse.
"""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from modeseek import (
    FeatureWarning,
    KernelDensityGradient,
    LogDensityGradient,
    ModeClustering,
    RoundingWarning,
)
from modeseek.gradient.extensions.losses import LOSSES

ESTIMATORS = {
    "default": None,
    "one_width": LogDensityGradient(),
    "separate": LogDensityGradient(10, coefficients="separate"),
}

ASCENTS = ("auto", "rows", "fixed_point", "gradient", "quasi_newton")

#: What modeseek may say about such data; anything else is an error.
DOCUMENTED = (
    (ConvergenceWarning, r"\d+ of \d+ rows were still moving"),
    (UserWarning, "The chosen (bandwidth|alpha) is the first or last"),
    (RoundingWarning, r"\d+ features? ha(s|ve) few distinct values"),
    (FeatureWarning, "(not )?clustered by|far from all other values"),
    (UserWarning, "All rows of X are equal: that is one cluster"),
    (UserWarning, r"n_centers=\d+ is more than the distinct rows allow"),
)


def blobs(rng, n, d):
    means = 4.0 * rng.standard_normal((int(rng.integers(1, 5)), d))
    return means[rng.integers(0, len(means), n)] + rng.standard_normal((n, d))


def outliers(rng, n, d):
    X = blobs(rng, n, d)
    far = rng.choice(n, max(1, n // 20), replace=False)
    X[far] *= 10.0 ** rng.uniform(1.0, 8.0, (len(far), 1))
    return X


def heavy_tails(rng, n, d):
    return rng.standard_cauchy((n, d))


def rounded(rng, n, d):
    return np.round(blobs(rng, n, d), int(rng.integers(0, 2)))


def integers(rng, n, d):
    return rng.integers(0, int(rng.integers(2, 12)), (n, d)).astype(float)


def duplicates(rng, n, d):
    few = blobs(rng, max(2, n // 4), d)
    return few[rng.integers(0, len(few), n)]


def mixed_scales(rng, n, d):
    return blobs(rng, n, d) * 10.0 ** rng.uniform(-6.0, 6.0, d)


def mixed_offsets(rng, n, d):
    return blobs(rng, n, d) + 10.0 ** rng.uniform(-6.0, 6.0, d)


def constant_features(rng, n, d):
    X = blobs(rng, n, d)
    X[:, rng.random(d) < 0.3] = 7.0
    X[:, 0] = rng.standard_normal(n)
    return X


def mostly_zero(rng, n, d):
    return rng.exponential(1.0, (n, d)) * (rng.random((n, d)) < 0.15)


def on_a_line(rng, n, d):
    return rng.standard_normal((n, 1)) * rng.standard_normal(d)


def grid(rng, n, d):
    return np.stack([np.arange(n) // (j + 1) for j in range(d)], axis=1).astype(float)


KINDS = (
    outliers,
    heavy_tails,
    rounded,
    integers,
    duplicates,
    mixed_scales,
    mixed_offsets,
    constant_features,
    mostly_zero,
    on_a_line,
    grid,
    blobs,
)


def draw(seed):
    """Data set number ``seed``, its kind, and the model to fit."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n = int(np.exp(rng.uniform(np.log(5), np.log(301))))
    d = int(np.exp(rng.uniform(0.0, np.log(61))))
    n = min(n, 2000 // d)  # for time's sake
    X = kind(rng, n, d)
    X[0, 0] += 1.0  # at least two rows differ
    name = list(ESTIMATORS)[(seed // len(KINDS)) % len(ESTIMATORS)]
    ascent = ASCENTS[int(rng.integers(len(ASCENTS)))]
    model = ModeClustering(ESTIMATORS[name], ascent=ascent, max_iter=100)
    return X, model, f"{kind.__name__}, n={n}, d={d}, {name}, {ascent}"


def fit(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category, message in DOCUMENTED:
            warnings.filterwarnings("ignore", message=message, category=category)
        return model.fit(X)


def check(model, X, what):
    n = len(X)
    assert np.isfinite(model.modes_).all(), what
    assert np.isfinite(model.cluster_centers_).all(), what
    assert model.n_clusters_ >= 1, what
    assert model.labels_.shape == (n,), what
    np.testing.assert_array_equal(
        np.unique(model.labels_), range(model.n_clusters_), err_msg=what
    )
    assert np.bincount(model.labels_).sum() == n, what
    tree = model.merge_tree_
    for part in (tree.heights, tree.saddles, tree.passes, tree.std_error):
        assert np.isfinite(part).all(), what
    assert (tree.prominence >= 0).all(), what
    np.testing.assert_array_equal(model.predict(X), model.labels_, err_msg=what)
    few = X[:5]
    share, score = model.membership(few), model.outlier_score(few)
    np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=1e-9, err_msg=what)
    np.testing.assert_array_equal(
        share.argmax(axis=1), model.predict(few), err_msg=what
    )
    assert ((score >= 0) & (score <= 1)).all(), what


def fit_and_check(model, X, what):
    try:
        check(fit(model, X), X, what)
    except (ValueError, Warning, np.linalg.LinAlgError) as error:
        error.add_note(what)
        raise


def soaking(batch):
    return pytest.param(batch, marks=pytest.mark.soak)


@pytest.mark.parametrize("batch", [*range(10), *map(soaking, range(10, 20))])
def test_every_row_of_an_awkward_data_set_gets_a_label(batch):
    for seed in range(10 * batch, 10 * batch + 10):
        X, model, what = draw(seed)
        fit_and_check(model, X, f"data set {seed}: {what}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_of_an_awkward_data_set_gets_a_label_by_mean_shift(kind):
    rng = np.random.default_rng(0)
    X = kind(rng, 60, 4)
    for ascent in ("fixed_point", "quasi_newton"):
        model = ModeClustering(KernelDensityGradient(), ascent=ascent)
        fit_and_check(model, X, f"{kind.__name__}, {ascent}")


def test_the_data_sets_are_as_varied_as_they_should_be():
    shapes = np.array([draw(seed)[0].shape for seed in range(100)])
    assert shapes[:, 0].min() <= 8
    assert shapes[:, 0].max() >= 250
    assert shapes[:, 1].min() == 1
    assert shapes[:, 1].max() >= 50


# --- what is worse ------------------------------------------------------------------


def powers(rng, n, d):
    return rng.standard_normal((n, 1)) ** np.arange(1, d + 1)


def exponentials(rng, n, d):
    return np.exp(rng.standard_normal((n, 1)) * rng.uniform(0.0, 40.0, d))


def wild_scales(rng, n, d):
    return blobs(rng, n, d) * 10.0 ** rng.uniform(-300.0, 300.0, d)


def heavier_tails(rng, n, d):
    return rng.standard_cauchy((n, d)) ** 3


def one_far(rng, n, d):
    X = blobs(rng, n, d)
    X[0] = 10.0 ** rng.uniform(8.0, 150.0)
    return X


def tiny_spread(rng, n, d):
    return 1.0 + blobs(rng, n, d) * 10.0 ** rng.uniform(-15.0, -8.0)


def nearly_copies(rng, n, d):
    X = blobs(rng, n, d)
    X[:, -1] = X[:, 0] * (1.0 + 1e-13 * rng.standard_normal(n))
    return X


def log_normal(rng, n, d):
    return np.exp(rng.standard_normal((n, d)) * rng.uniform(1.0, 6.0))


WORSE = (
    *(powers, exponentials, wild_scales, heavier_tails, one_far, tiny_spread),
    *(nearly_copies, log_normal, mixed_scales, heavy_tails, outliers, duplicates),
)

#: Estimators of all kinds; other losses have few centres, for time's sake.
WORSE_ESTIMATORS = (
    None,
    LogDensityGradient(),
    LogDensityGradient(bandwidth="learned"),
    LogDensityGradient(bandwidth="auto"),
    LogDensityGradient(10, coefficients="separate"),
    LogDensityGradient(10, coefficients="separate", basis="common"),
    LogDensityGradient(10, penalty="l1"),
    LogDensityGradient(10, positive=True),
    LogDensityGradient(10, coefficients="multitask"),
    *(
        LogDensityGradient(8, coefficients="separate", loss=loss)
        for loss in LOSSES
        if loss != "squared"
    ),
    KernelDensityGradient(),
)

#: Every tenth data set has one of these, which take longer.
SLOWER_ESTIMATORS = (
    LogDensityGradient(8, coefficients="separate", penalty="features"),
    LogDensityGradient(8, coefficients="separate", penalty="centers"),
    LogDensityGradient(8, coefficients="separate", penalty="l1"),
    LogDensityGradient(8, penalty="l1", positive=True),
    LogDensityGradient(8, coefficients="multitask", similarity="learned"),
    LogDensityGradient(8, penalty_scale="authors"),
)

#: What modeseek may refuse, and in which words.
REFUSED = (
    r"lies .* away from the others",
    r"values up to .*, whose differences overflow",
    r"derivatives of their density overflow",
    r"Blurring fits anew with fixed widths",
    r"some held-out gradient leaves the domain of the shifted loss",
    r"widths so far apart that their squares overflow",
)

#: Fits of a batch; batches in make test, and in make soak, which is 10,000 fits.
BATCH, FEW, MANY = 20, 2, 500


def draw_worse(seed):
    rng = np.random.default_rng(seed)
    kind = WORSE[seed % len(WORSE)]
    n = int(np.exp(rng.uniform(np.log(5), np.log(81))))
    d = int(np.exp(rng.uniform(0.0, np.log(13))))
    X = kind(rng, n, d)
    X[0, 0] += 1.0  # at least two rows differ
    estimators = WORSE_ESTIMATORS if seed % 10 else SLOWER_ESTIMATORS
    estimator = estimators[int(rng.integers(len(estimators)))]
    ascents = (*ASCENTS, "blurring")
    if getattr(estimator, "basis", "") == "common":
        ascents = ("auto", "rows", "gradient", "quasi_newton")
    ascent = ascents[int(rng.integers(len(ascents)))]
    model = ModeClustering(estimator, ascent=ascent, max_iter=100)
    return X, model, f"data set {seed}: {kind.__name__}, n={n}, d={d}, {model}"


def fit_unless_refused(model, X, what):
    """Whether the model could be fitted; a refusal must be one of those in words."""
    try:
        fit(model, X)
    except (ValueError, ArithmeticError, Warning) as error:
        if any(re.search(words, str(error)) for words in REFUSED):
            return False
        error.add_note(what)
        raise
    return True


def fit_and_ask(X, model, what):
    if not fit_unless_refused(model, X, what):
        return
    share, score = model.membership(X), model.outlier_score(X)
    assert model.labels_.shape == model.predict(X).shape == (len(X),), what
    np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=1e-9, err_msg=what)
    assert ((score >= 0) & (score <= 1)).all(), what
    assert np.isfinite(model.merge_tree_.std_error).all(), what


@pytest.mark.parametrize("batch", [*range(FEW), *map(soaking, range(FEW, MANY))])
def test_worse_data_sets_get_labels_or_a_clear_error(batch):
    for seed in range(BATCH * batch, BATCH * (batch + 1)):
        fit_and_ask(*draw_worse(seed))


#: Data sets among the worse ones that once broke, each in its own way: digits of
#: near rows lost beside far ones, squares that overflow, widths that are too far apart,
#: blurred rows of which the near ones have met.
MENDED = (433, 795, 1277, 1345, 1408, 1429, 1468, 1478, 1493, 5713)


@pytest.mark.parametrize("seed", MENDED)
def test_worse_data_sets_that_once_broke_do_no_longer(seed):
    fit_and_ask(*draw_worse(seed))


def test_one_far_row_takes_no_digits_from_the_others():
    X = blobs(np.random.default_rng(0), 60, 2)
    far = np.concatenate([X, [[1e16, 1e16]]])
    settings = {"bandwidth": 1.0, "alpha": 0.1, "centers": X[:20]}
    alone = LogDensityGradient(**settings).fit(X)
    settings["centers"] = np.concatenate([X[:20], far[-1:]])
    beside = LogDensityGradient(**settings).fit(far, sample_weight=[1.0] * 60 + [1e-9])
    np.testing.assert_allclose(beside.gradient(X), alone.gradient(X), rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_scales_that_are_far_apart_do_not_matter_by_default(seed):
    rng = np.random.default_rng(seed)
    X = blobs(rng, 80, 4)
    X /= X.std(axis=0)
    wild = X * np.ldexp(1.0, rng.permutation([-450, -200, 300, 980]))
    labels = fit(ModeClustering(), X).labels_
    np.testing.assert_array_equal(fit(ModeClustering(), wild).labels_, labels)


def test_values_too_small_for_derivatives_are_refused_in_words():
    X = blobs(np.random.default_rng(0), 80, 2) * [1e-300, 1e298]
    with pytest.raises(ValueError, match="Multiply the features by a constant"):
        fit(ModeClustering(), X)
