"""Odd inputs: each gives the right answer, or an error that says what to do.

Warnings are errors in this test suite, so none of these warns from NumPy either.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from modeseek import KernelDensityGradient, LogDensityGradient
from modeseek.datasets import three_gaussians

ESTIMATORS = {
    "shared": LogDensityGradient(),
    "separate": LogDensityGradient(coefficients="separate"),
    "kernel": KernelDensityGradient(),
}
DIRECT = {name: ESTIMATORS[name] for name in ("shared", "separate")}

X = three_gaussians(2).sample(90, random_state=0)[0]
FRESH = three_gaussians(2).sample(20, random_state=1)[0]


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return clone(ESTIMATORS[request.param])


@pytest.fixture(params=DIRECT)
def direct(request):
    return clone(DIRECT[request.param])


def replaced(value, row=7, column=1):
    rows = X.copy()
    rows[row, column] = value
    return rows


def assert_finite(model, rows):
    """No NaN anywhere, and no infinity where a number is due."""
    assert np.isfinite(model.gradient(rows)).all()
    assert np.isfinite(model.hessian(rows)).all()
    assert np.isfinite(model.score(rows))
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.centers_).all()
    assert not np.isnan(model.bandwidth_).any()
    if hasattr(model, "log_density"):
        assert np.isfinite(model.log_density(rows)).all()
    for column in model.cv_results_.values():
        assert not np.isnan(column).any()


# --- rows that are refused ---------------------------------------------------------

REFUSED_ROWS = {
    "NaN": (replaced(np.nan), ValueError, "contains NaN"),
    "infinity": (replaced(np.inf), ValueError, "contains infinity"),
    "beyond 1e300": (replaced(1e301), ValueError, "Divide the features by a constant"),
    "one row at 1e200": (
        replaced(1e200),
        ValueError,
        "Row 7 of X lies 1e\\+200 away from the others",
    ),
    "one row at -1e300": (replaced(-1e300), ValueError, "Row 7 of X lies 1e\\+300"),
    "a scale of 1e-200": (X * 1e-200, ValueError, "Multiply the features"),
    "a subnormal scale": (X * 1e-310, ValueError, "Multiply the features"),
    "a scale of 1e-200 and one row at 1e200": (
        replaced(1e200) * np.where(np.arange(90) == 7, 1.0, 1e-200)[:, None],
        ValueError,
        "Multiply the features",
    ),
    "one row": (X[:1], ValueError, "minimum of 2 is required"),
    "no rows": (X[:0], ValueError, "minimum of 2 is required"),
    "no features": (X[:, :0], ValueError, "0 feature"),
    "equal rows": (np.ones((9, 2)), ValueError, "two distinct rows are needed"),
    "zeros": (np.zeros((9, 2)), ValueError, "two distinct rows are needed"),
    "one dimension": (X[:, 0], ValueError, "Expected 2D array"),
    "three dimensions": (X[None], ValueError, "dim 3"),
    "a number": (1.0, ValueError, "Expected 2D array"),
    "sparse": (sparse.csr_matrix(X), TypeError, "dense data is required.*TruncatedSVD"),
    "complex": (X + 1j, ValueError, "Complex data not supported"),
    "strings": (np.full((9, 2), "a"), ValueError, "could not convert string"),
    "objects": (np.full((9, 2), {}, dtype=object), TypeError, "float"),
    "None": (None, ValueError, "Expected 2D array"),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, "inhomogeneous"),
}


@pytest.mark.parametrize(
    ("rows", "error", "message"), REFUSED_ROWS.values(), ids=REFUSED_ROWS
)
def test_rows_that_cannot_be_fitted_are_refused_in_words(
    estimator, rows, error, message
):
    with pytest.raises(error, match=message):
        estimator.fit(rows)


REFUSED_AT_PREDICTION = {
    "too few features": (FRESH[:, :1], ValueError, "expecting 2 features"),
    "too many features": (np.c_[FRESH, FRESH], ValueError, "expecting 2 features"),
    "one dimension": (FRESH[0], ValueError, "Expected 2D array"),
    "no rows": (FRESH[:0], ValueError, "minimum of 1 is required"),
    "NaN": (np.array([[0.0, np.nan]]), ValueError, "contains NaN"),
    "infinity": (np.array([[0.0, np.inf]]), ValueError, "contains infinity"),
    "far away": (
        np.array([[0, 0], [0, 1e200]]),
        ValueError,
        "Row 1 of X lies 1e\\+200",
    ),
    "sparse": (sparse.csr_matrix(FRESH), TypeError, "dense data is required"),
}


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    REFUSED_AT_PREDICTION.values(),
    ids=REFUSED_AT_PREDICTION,
)
def test_rows_that_cannot_be_asked_about_are_refused_in_words(
    estimator, rows, error, message
):
    model = estimator.fit(X)
    asks = [model.gradient, model.hessian, model.score]
    if hasattr(model, "log_density"):
        asks.append(model.log_density)
    for ask in asks:
        with pytest.raises(error, match=message):
            ask(rows)


# --- weights -----------------------------------------------------------------------

REFUSED_WEIGHTS = {
    "negative": (np.r_[-1.0, np.ones(89)], "negative entries"),
    "NaN": (np.r_[np.nan, np.ones(89)], "NaN or infinite"),
    "infinite": (np.r_[np.inf, np.ones(89)], "NaN or infinite"),
    "too few": (np.ones(89), "one entry a row"),
    "a column": (np.ones((90, 1)), "one entry a row"),
    "zero for every row": (np.zeros(90), "zero for every row"),
    "zero for all rows but one": (np.eye(90)[0], "two distinct rows are needed"),
    "strings": (np.full(90, "1"), "must be numbers"),
    "objects": (np.full(90, 1.0, dtype=object), "must be numbers"),
    "complex": (np.ones(90) + 0j, "must be numbers"),
    "huge": (np.full(90, 1e200), "between 1e-100 and 1e\\+100"),
    "tiny": (np.full(90, 1e-200), "between 1e-100 and 1e\\+100"),
}


@pytest.mark.parametrize(
    ("weight", "message"), REFUSED_WEIGHTS.values(), ids=REFUSED_WEIGHTS
)
def test_weights_that_mean_nothing_are_refused_in_words(estimator, weight, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, sample_weight=weight)


@pytest.mark.parametrize(
    "weight", [np.full(90, 3), np.full(90, 3.0, dtype=np.float32), [3] * 90, 3]
)
def test_weights_of_any_real_type_are_taken(estimator, weight):
    expected = clone(estimator).fit(X, sample_weight=np.full(90, 3.0)).gradient(FRESH)
    actual = estimator.fit(X, sample_weight=weight).gradient(FRESH)
    np.testing.assert_array_equal(actual, expected)


def test_a_far_row_is_named_by_its_number_in_the_data(estimator):
    weight = np.ones(90)
    weight[:5] = 0
    with pytest.raises(ValueError, match="Row 7 of X"):
        estimator.fit(replaced(1e200), sample_weight=weight)


# --- parameters --------------------------------------------------------------------

REFUSED_PARAMETERS = [
    ("n_centers", 0, ValueError, "n_centers must be at least 1"),
    ("n_centers", -3, ValueError, "n_centers must be at least 1"),
    ("n_centers", "many", TypeError, "n_centers must be a whole number"),
    ("n_centers", 2.5, TypeError, "n_centers must be a whole number"),
    ("n_centers", True, TypeError, "n_centers must be a whole number"),
    ("n_centers", None, TypeError, "n_centers must be a whole number"),
    ("bandwidth", -1, ValueError, "bandwidth must be positive and finite"),
    ("bandwidth", 0.0, ValueError, "bandwidth must be positive and finite"),
    ("bandwidth", np.nan, ValueError, "bandwidth must be positive and finite"),
    ("bandwidth", np.inf, ValueError, "bandwidth must be positive and finite"),
    ("bandwidth", [1.0, -1.0], ValueError, "bandwidth must be positive and finite"),
    ("bandwidth", "wide", TypeError, "bandwidth must be 'cv', a number or numbers"),
    ("bandwidth", None, TypeError, "bandwidth must be 'cv', a number or numbers"),
    ("bandwidth", True, TypeError, "bandwidth must be 'cv', a number or numbers"),
    ("bandwidth", [], ValueError, "bandwidth has shape"),
    ("bandwidth", np.ones((1, 2, 1)), ValueError, "bandwidth has shape"),
    ("bandwidth", np.ones((2, 3)), ValueError, "3 widths a candidate, but X has 2"),
    ("bandwidth", 1e-9, ValueError, "times the typical distance"),
    ("bandwidth", 1e-300, ValueError, "times the typical distance"),
    ("bandwidth", 1e300, ValueError, "times the typical distance"),
    ("bandwidth", [[1.0, 1e250]], ValueError, "times the typical distance"),
    ("alpha", 0, ValueError, "alpha must be positive and finite"),
    ("alpha", -1, ValueError, "alpha must be positive and finite"),
    ("alpha", np.nan, ValueError, "alpha must be positive and finite"),
    ("alpha", "auto", TypeError, "alpha must be 'cv', a number or numbers"),
    ("alpha", [], ValueError, "alpha has shape"),
    ("alpha", [[0.1]], ValueError, "alpha has shape"),
    ("alpha", 1e-300, ValueError, "alpha must lie between"),
    ("alpha", [0.1, 1e300], ValueError, "alpha must lie between"),
    ("coefficients", "both", ValueError, "one of 'shared', 'separate'"),
    ("coefficients", None, ValueError, "one of 'shared', 'separate'"),
    ("cv", 1, ValueError, "cv must be at least 2"),
    ("cv", 2.5, TypeError, "cv must be a whole number"),
    ("cv", None, TypeError, "cv must be a whole number"),
    ("n_jobs", 0, ValueError, "n_jobs must not be 0"),
    ("n_jobs", 1.5, TypeError, "n_jobs must be a whole number"),
    ("random_state", "seed", ValueError, "seed"),
]


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    REFUSED_PARAMETERS,
    ids=[f"{name}={value!r}" for name, value, *_ in REFUSED_PARAMETERS],
)
def test_parameters_out_of_range_are_refused_in_words(
    estimator, name, value, error, message
):
    if name not in estimator.get_params():
        with pytest.raises(ValueError, match="Invalid parameter"):
            estimator.set_params(**{name: value})
        return
    with pytest.raises(error, match=message):
        estimator.set_params(**{name: value}).fit(X)


def test_numbers_of_numpy_are_numbers(direct):
    model = direct.set_params(
        n_centers=np.int64(9), bandwidth=np.float32(1.5), alpha=np.array(0.25)
    ).fit(X)
    assert len(model.centers_) == 9
    np.testing.assert_allclose(model.bandwidth_, 1.5, rtol=1e-12)
    assert model.alpha_ == 0.25


# --- rows that are unusual and right -----------------------------------------------


@pytest.mark.parametrize("value", [0.0, 3.7, -1e6])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_constant_feature_leaves_the_model_of_the_others(estimator, value, column):
    model = clone(estimator).fit(np.insert(X, column, value, axis=1))
    without = clone(estimator).fit(X)
    others = np.arange(3) != column
    assert model.bandwidth_[column] == np.inf
    np.testing.assert_allclose(model.bandwidth_[others], without.bandwidth_, rtol=1e-9)
    scale = np.abs(without.coef_).max()
    coef = model.coef_ if model.coef_.ndim == 1 else model.coef_[others]
    np.testing.assert_allclose(coef, without.coef_, rtol=1e-7, atol=1e-7 * scale)
    if model.coef_.ndim == 2:
        assert (model.coef_[column] == 0).all()
    # Even where the feature is no longer constant, it counts nothing.
    g = model.gradient(np.insert(FRESH, column, value + 1.0, axis=1))
    assert (g[:, column] == 0).all()
    np.testing.assert_allclose(g[:, others], without.gradient(FRESH), rtol=1e-6)
    if hasattr(model, "log_density"):
        np.testing.assert_allclose(
            model.log_density(np.insert(FRESH, column, value, axis=1)),
            without.log_density(FRESH),
            rtol=1e-6,
        )
    assert_finite(model, np.insert(FRESH, column, value, axis=1))


def test_a_width_given_for_a_constant_feature_is_ignored(estimator):
    rows = np.insert(X, 1, 5.0, axis=1)
    model = estimator.set_params(bandwidth=[[1.0, 1e-9, 2.0]]).fit(rows)
    np.testing.assert_allclose(model.bandwidth_, [1.0, np.inf, 2.0])


@pytest.mark.parametrize("exponent", [996, 500, -300, -440])
def test_values_of_any_size_give_the_model_at_unit_scale(estimator, exponent):
    unit = 2.0**exponent
    shrunk = X / 8.0
    model, base = clone(estimator).fit(unit * shrunk), clone(estimator).fit(shrunk)
    np.testing.assert_array_equal(model.bandwidth_ / unit, base.bandwidth_)
    np.testing.assert_array_equal(model.coef_, base.coef_)
    np.testing.assert_array_equal(
        model.gradient(unit * FRESH / 8.0) * unit, base.gradient(FRESH / 8.0)
    )
    assert_finite(model, unit * FRESH / 8.0)


def test_values_of_1e300_are_fitted(estimator):
    unit = 1e300 / np.abs(X).max()
    model, base = clone(estimator).fit(unit * X), clone(estimator).fit(X)
    np.testing.assert_allclose(
        unit * model.gradient(unit * X), base.gradient(X), rtol=1e-4, atol=1e-5
    )
    assert_finite(model, unit * X)


@pytest.mark.parametrize("far", [1e3, 1e10, 1e90])
def test_an_outlier_within_reach_leaves_the_rest_finite(estimator, far):
    rows = replaced(far)
    model = estimator.fit(rows)
    assert_finite(model, rows)
    assert_finite(model, FRESH)


@pytest.mark.parametrize("n_rows", [2, 3, 4, 5, 10])
@pytest.mark.filterwarnings("ignore:The chosen bandwidth")
def test_few_rows_give_finite_models(estimator, n_rows):
    model = estimator.fit(X[:n_rows])
    assert_finite(model, FRESH)
    if isinstance(model, LogDensityGradient):
        assert len(model.centers_) == max(1, n_rows // 2)


def test_fewer_rows_than_centres_use_half_of_them(direct):
    with pytest.warns(UserWarning, match="45 are used"):
        model = direct.set_params(n_centers=1000).fit(X)
    np.testing.assert_array_equal(
        model.gradient(FRESH),
        clone(direct).set_params(n_centers=45).fit(X).gradient(FRESH),
    )


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_one_centre_has_the_scale_of_the_rows(direct, unit):
    one = clone(direct).set_params(n_centers=1)
    model, base = clone(one).fit(unit * X), clone(one).fit(X)
    np.testing.assert_allclose(model.bandwidth_, unit * base.bandwidth_, rtol=1e-9)
    np.testing.assert_allclose(
        unit * model.gradient(unit * FRESH), base.gradient(FRESH), rtol=1e-6
    )


def test_duplicated_rows_are_rows_of_twice_the_weight(estimator):
    twice = clone(estimator).fit(np.vstack([X, X]))
    weighted = clone(estimator).fit(X, sample_weight=np.full(90, 2.0))
    np.testing.assert_allclose(
        twice.gradient(FRESH), weighted.gradient(FRESH), rtol=1e-6, atol=1e-8
    )


def test_rows_of_few_values_give_finite_models(estimator):
    rng = np.random.default_rng(0)
    for rows in (
        rng.integers(0, 3, (200, 2)),
        rng.integers(0, 2, (200, 3)).astype(bool),
        np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0),
        np.eye(12),
    ):
        assert_finite(clone(estimator).fit(rows), rows.astype(float))


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.float16, object])
def test_numbers_of_any_real_type_equal_their_floats(estimator, dtype):
    rows = np.clip(np.round(20 * X + 100), 0, 127).astype(dtype)
    expected = clone(estimator).fit(rows.astype(np.float64)).gradient(10 * FRESH)
    np.testing.assert_array_equal(estimator.fit(rows).gradient(10 * FRESH), expected)


def test_single_precision_and_lists_are_taken(estimator):
    single = X.astype(np.float32)
    expected = clone(estimator).fit(single.astype(np.float64)).gradient(FRESH)
    for rows in (single, single.tolist()):
        actual = clone(estimator).fit(rows).gradient(FRESH)
        np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_large_single_precision_values_do_not_overflow(estimator):
    unit = np.float32(2.0**120)
    model = clone(estimator).fit(X.astype(np.float32) * unit)
    base = clone(estimator).fit(X.astype(np.float32))
    np.testing.assert_array_equal(
        model.gradient(FRESH * 2.0**120) * 2.0**120, base.gradient(FRESH)
    )


# --- containers --------------------------------------------------------------------


def test_a_data_frame_gives_its_names_and_the_model_of_its_values(estimator):
    frame = pd.DataFrame(X, columns=["height", "weight"])
    model = clone(estimator).fit(frame)
    assert model.feature_names_in_.tolist() == ["height", "weight"]
    assert model.n_features_in_ == 2
    fresh = pd.DataFrame(FRESH, columns=["height", "weight"])
    expected = clone(estimator).fit(X).gradient(FRESH)
    np.testing.assert_array_equal(model.gradient(fresh), expected)


def test_wrong_names_are_refused(estimator):
    model = estimator.fit(pd.DataFrame(X, columns=["height", "weight"]))
    with pytest.raises(ValueError, match="feature names should match"):
        model.gradient(pd.DataFrame(FRESH, columns=["weight", "height"]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.gradient(FRESH)


def test_a_data_frame_with_words_or_gaps_is_refused(estimator):
    frame = pd.DataFrame(X, columns=["height", "weight"])
    with pytest.raises(ValueError, match="could not convert string"):
        estimator.fit(frame.assign(height="tall"))
    with pytest.raises(ValueError, match="contains NaN"):
        estimator.fit(frame.reindex(range(95)))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fitting_and_asking_never_change_their_input(estimator, order, dtype):
    rows = np.array(X, dtype=dtype, order=order)
    weight, fresh = np.linspace(0, 2, 90), np.array(FRESH, dtype=dtype, order=order)
    before = rows.copy(), weight.copy(), fresh.copy()
    for array in (rows, weight, fresh):
        array.flags.writeable = False
    model = estimator.fit(rows, sample_weight=weight)
    assert_finite(model, fresh)
    for array, expected in zip((rows, weight, fresh), before, strict=True):
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    "view", [np.asfortranarray, lambda A: np.repeat(A, 2, 1)[:, ::2]]
)
def test_models_do_not_depend_on_memory_layout(estimator, view):
    expected = clone(estimator).fit(X).gradient(FRESH)
    actual = estimator.fit(view(X)).gradient(view(FRESH))
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-9)
