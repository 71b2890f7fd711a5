"""Rounded features: found, told once, and handled in any unit."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from modeseek import LogDensityGradient, ModeClustering
from modeseek.rows.rounding import (
    RoundingWarning,
    find_rounding,
    grain_of,
    narrowest_widths,
    split_coarse,
)


def test_steps_are_found_and_smooth_features_have_none():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=500), rng.normal(size=500).round(1), rng.integers(0, 2, 500)]
    )
    found = find_rounding(X)
    np.testing.assert_allclose(found.step, [0.0, 0.1, X[:, 2].std()])
    assert found.n_values[0] == 500
    assert found.n_values[2] == 2


def test_differences_of_arithmetic_are_no_steps():
    values = np.arange(10) * 0.1
    X = np.concatenate([values, values + 1e-17, (values * 3) / 3] * 5)[:, None]
    X = np.column_stack([X, np.arange(len(X)) * np.pi])
    assert find_rounding(X).step[0] == pytest.approx(0.1)


def test_a_code_for_a_missing_value_hides_no_step():
    x = np.repeat([0.0, 1.0, 2.0, 1e12], [100, 100, 99, 1])
    found = find_rounding(np.column_stack([x, np.arange(300.0)]))
    assert found.n_values.tolist() == [4, 300]
    assert found.step.tolist() == [1.0, 0.0]


def test_the_grain_is_how_far_rows_were_apart_that_rounding_made_equal():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(2, 400_000, 2))
    steps = np.array([0.5, 0.2])
    near = (np.round(A / steps) == np.round(B / steps)).all(axis=1)
    apart = ((A[near] - B[near]) ** 2).sum(axis=1)
    found = find_rounding(np.unique(np.round(A[:2000] / steps) * steps, axis=0))
    np.testing.assert_allclose(found.step, steps, atol=1e-9)
    assert apart.mean() == pytest.approx(grain_of(found.step) ** 2, rel=0.05)


def test_the_words_name_features_and_what_is_done():
    X = load_iris().data
    text = find_rounding(X).describe(load_iris().feature_names)
    assert "2 features" in text
    assert "'petal width (cm)' (22 values, steps of 0.1)" in text
    assert "1 feature has" in find_rounding(X[:, 3:]).describe()
    years = np.repeat([[2007.0], [2008.0], [2009.0]], 20, axis=0)
    assert "feature 0 (3 values)." in find_rounding(years).describe()
    assert find_rounding(np.random.default_rng(0).normal(size=(50, 2))).describe() == ""


@pytest.mark.parametrize(
    ("model", "done"),
    [
        (ModeClustering(), "rows that rounding made equal count once"),
        (ModeClustering(ascent="blurring"), "No width is chosen that is narrower"),
        (LogDensityGradient(), "No width is chosen that is narrower"),
    ],
)
def test_one_warning_says_so_and_what_was_done(model, done):
    X = load_iris().data
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X)
    rounding = [entry for entry in told if entry.category is RoundingWarning]
    assert len(rounding) == 1
    assert "feature 3 (22 values, steps of 0.1)" in str(rounding[0].message)
    assert done in str(rounding[0].message)
    assert rounding[0].filename == __file__


@pytest.mark.filterwarnings("ignore::modeseek.rows.rounding.RoundingWarning")
def test_no_width_is_narrower_than_the_grain():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(600, 3)).astype(float)
    X = np.unique(X, axis=0).repeat(10, axis=0) + 0.0
    X = np.column_stack([X, rng.integers(0, 6, len(X))])
    model = LogDensityGradient(bandwidth="cv").fit(X)
    assert model.bandwidth_.min() >= grain_of(find_rounding(np.unique(X, axis=0)).step)


@pytest.mark.filterwarnings("ignore::modeseek.rows.rounding.RoundingWarning")
@pytest.mark.parametrize("unit", [1e-3, 2.54, 1e6])
def test_units_do_not_matter_to_rounded_rows(unit):
    X, _ = make_blobs(400, centers=3, n_features=3, random_state=0)
    units = np.array([1.0, unit, 1.0])
    # On a coarse lattice neighbours tie, and which of them is nearer is rounding.
    for digits, most in ((1, 0), (0, 4)):
        rows = X.round(digits)
        one, two = (ModeClustering().fit_predict(Y) for Y in (rows, rows * units))
        assert np.count_nonzero(one != two) <= most


def test_the_narrowest_widths_are_the_grain_together_and_a_step_alone():
    steps = np.array([0.0, 3.0, 0.3])
    together = narrowest_widths(steps, 3, together=True)
    np.testing.assert_array_equal(together, np.full(3, grain_of(steps)))
    np.testing.assert_array_equal(narrowest_widths(steps, 3, together=False), steps)
    assert not narrowest_widths(None, 3, together=True).any()


@pytest.mark.parametrize("n_features", [1, 2, 3])
@pytest.mark.parametrize("kind", ["four values", "ratings", "counts"])
def test_ratings_and_counts_beside_measurements_are_no_clusters(kind, n_features):
    rng = np.random.default_rng(3)
    column = {
        "four values": rng.integers(0, 4, 1500),
        "ratings": rng.integers(1, 11, 1500),
        "counts": rng.poisson(1.0, 1500),
    }[kind]
    X = np.column_stack([rng.normal(size=(1500, n_features)), column])
    assert ModeClustering().fit(X).n_clusters_ == 1


def test_groups_that_counts_tell_apart_are_clusters():
    rng = np.random.default_rng(1)
    group = np.arange(1200) % 2
    count = rng.binomial(3, 0.5, 1200) + 8 * group
    X = np.column_stack([rng.normal(size=(1200, 2)), count])
    model = ModeClustering().fit(X)
    assert adjusted_rand_score(group, model.labels_) > 0.99
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    k = len(model.modes_)
    np.testing.assert_array_equal(model.predict_modes(model.modes_), np.arange(k))


def test_only_few_values_beside_smooth_features_are_coarse():
    rng = np.random.default_rng(5)
    X = np.column_stack(
        [
            rng.normal(size=500),
            rng.integers(0, 2, 500),
            rng.integers(0, 6, 500),
            rng.integers(0, 40, 500),
        ]
    )
    rounding = find_rounding(X)
    coarse, fine = split_coarse(rounding, np.ones(4, dtype=bool))
    np.testing.assert_array_equal(coarse.step > 0, [False, False, True, False])
    np.testing.assert_array_equal(fine.step > 0, [False, True, False, True])
    alone, _ = split_coarse(rounding, np.array([False, True, True, True]))
    assert not alone.step.any()
