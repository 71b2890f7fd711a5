"""Features that are no measurements count for nothing, and are named."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from modeseek import KernelDensityGradient, ModeClustering
from modeseek.persist import load_model, save_model
from modeseek.rows import FeatureWarning
from modeseek.rows.measurements import find_code, find_unmeasured, numbers_rows

pd = pytest.importorskip("pandas")


def birds(seed=0, n=330):
    """A table like that of the penguins: three kinds, four measures, years, numbers."""
    rng = np.random.default_rng(seed)
    kind = np.sort(rng.choice(3, n, p=[0.44, 0.2, 0.36]))
    mean = np.array([[39, 18, 190, 3700], [49, 18, 196, 3730], [47, 15, 217, 5080]])
    X = mean[kind] + rng.normal(size=(n, 4)) * [2.2, 0.9, 5.0, 300]
    table = pd.DataFrame(X, columns=["bill", "depth", "flipper", "mass"])
    table = table.round({"bill": 1, "depth": 1, "flipper": 0, "mass": -1})
    table["year"] = 2007 + rng.integers(3, size=n)
    table["number"] = np.arange(n)
    return table, kind


def measures(table):
    return table[["bill", "depth", "flipper", "mass"]]


@pytest.mark.parametrize("extra", [["year"], ["number"], ["year", "number"]])
def test_years_and_numbers_do_not_split_birds(extra):
    table, kind = birds()
    plain = ModeClustering().fit(measures(table))
    with pytest.warns(FeatureWarning) as said:
        model = ModeClustering().fit(table.drop(columns={"year", "number"} - {*extra}))
    assert adjusted_rand_score(kind, plain.labels_) > 0.85
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert all(repr(name) in str(said[-1].message) for name in extra)
    assert 'features="all"' in str(said[-1].message)


def test_a_feature_left_out_counts_for_nothing_in_any_answer(tmp_path):
    table, _ = birds()
    with pytest.warns(FeatureWarning):
        model = ModeClustering().fit(table)
    other = table.assign(year=1800, number=-(10**9))
    save_model(tmp_path / "birds.skops", model)
    loaded = load_model(tmp_path / "birds.skops").model
    assert model.features_left_out_ == {4: "3 values", 5: "numbers the rows"}
    assert loaded.features_left_out_ == model.features_left_out_
    for asked in (model, loaded):
        np.testing.assert_array_equal(asked.predict(other), model.labels_)
    for ask in (model.transform, model.membership, model.outlier_score):
        np.testing.assert_array_equal(ask(other), ask(table))
    np.testing.assert_array_equal(model.transform(table)[:, 4:], 0.0)
    assert np.isfinite(model.modes_).all()
    assert np.isfinite(model.merge_tree_.saddles).all()
    np.testing.assert_allclose(model.modes_[:, 4], table["year"].mean())


def test_copies_of_rows_are_found_though_numbers_tell_them_apart():
    table, _ = birds()
    finer = measures(table) + np.random.default_rng(1).normal(0, 0.1, (len(table), 4))
    twice = pd.concat([finer] * 2, ignore_index=True)
    plain = ModeClustering().fit(twice)
    with pytest.warns(FeatureWarning):
        numbered = ModeClustering().fit(twice.assign(number=np.arange(len(twice))))
    np.testing.assert_array_equal(numbered.labels_, plain.labels_)
    np.testing.assert_array_equal(
        numbered.merge_tree_.prominence, plain.merge_tree_.prominence
    )


def test_chunks_leave_out_the_same_features():
    table, _ = birds()
    with pytest.warns(FeatureWarning):
        whole = ModeClustering().fit(table)
    with pytest.warns(FeatureWarning):
        chunked = ModeClustering().fit([table[:100], table[100:]])
    np.testing.assert_array_equal(chunked.labels_, whole.labels_)


def test_many_rows_leave_out_the_same_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 3)) + 8.0 * rng.integers(2, size=(40_000, 1))
    X[:, 2] = rng.permutation(len(X))
    with pytest.warns(FeatureWarning, match=r"feature 2 \(numbers the rows\)"):
        model = ModeClustering().fit(X)
    assert model.n_clusters_ == 2
    np.testing.assert_array_equal(model.predict(X * [1, 1, 0]), model.labels_)


def test_rows_on_dask_leave_out_the_same_features():
    da = pytest.importorskip("dask.array")
    table, _ = birds()
    with pytest.warns(FeatureWarning):
        whole = ModeClustering().fit(table.to_numpy())
    with pytest.warns(FeatureWarning):
        lazy = ModeClustering().fit(da.from_array(table.to_numpy(), chunks=(100, -1)))
    np.testing.assert_array_equal(lazy.labels_.compute(), whole.labels_)


def test_all_features_count_where_that_is_said():
    table, kind = birds()
    with warnings.catch_warnings():
        warnings.simplefilter("error", FeatureWarning)
        model = ModeClustering(features="all").fit(table)
    assert model.features_left_out_ == {}
    assert adjusted_rand_score(kind, model.labels_) < 0.85
    with pytest.raises(ValueError, match="features"):
        ModeClustering(features="some").fit(table)


def test_with_an_estimator_features_count_and_are_warned_of():
    table, _ = birds()
    with pytest.warns(FeatureWarning, match="by what looks like no measurement.*year"):
        model = ModeClustering(KernelDensityGradient()).fit(table)
    assert model.features_left_out_ == {}


def test_along_certified_coordinates_a_number_does_not_count_either():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 12))
    X[:, 0] += np.where(np.arange(800) < 400, -2.2, 2.2)
    numbered = np.column_stack([X, rng.permutation(800)])
    plain = ModeClustering().fit(X)
    with pytest.warns(FeatureWarning):
        model = ModeClustering().fit(numbered)
    assert model.ascent_ == plain.ascent_ == "fixed_point"
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    numbered[:, -1] = 1e6
    np.testing.assert_array_equal(model.predict(numbered), model.labels_)


def found(n_values, share=0.5, numbered=()):
    n = np.array(n_values)
    return find_unmeasured(n, np.full(len(n), share), np.isin(range(len(n)), numbered))


def test_few_values_are_left_out_unless_most_features_have_few():
    assert found([90, 3, 2, 1, 90]) == {1: "3 values", 2: "2 values", 3: "one value"}
    assert found([90, 3, 2]) == {}
    assert found([90, 4, 9, 2]) == {}  # codes, most of them
    assert found([90, 2], share=0.95) == {}  # nearly all rows have one of the two
    assert found([2, 2, 2, 1]) == {3: "one value"}
    assert found([50, 50], numbered=[1]) == {1: "numbers the rows"}
    assert found([50, 1], numbered=[0]) == {1: "one value"}  # or nothing is left
    assert found([50, 50, 40], numbered=[0, 1]) == {}  # ranks, some of them tied
    assert found([1, 1]) == {}


def test_numbers_that_chance_does_not_make_number_rows():
    rng = np.random.default_rng(0)
    assert numbers_rows(rng.permutation(100) + 1)
    assert numbers_rows(np.sort(rng.choice(1000, 150, replace=False)))  # rows dropped
    assert not numbers_rows(rng.choice(10**6, 100, replace=False))  # may be measured
    assert numbers_rows(rng.choice(10**6, 100, replace=False), "customer_id")
    assert not numbers_rows(rng.choice(10**6, 100, replace=False), "humid")
    assert not numbers_rows(rng.integers(1000, size=150))
    assert not numbers_rows(np.arange(100) / 2)


def test_a_code_for_missing_values_is_named():
    rng = np.random.default_rng(0)
    x = rng.normal(20, 5, 200)
    x[:4] = -999
    assert find_code(x) == -999
    assert find_code(-x) == 999
    assert find_code(x[3:]) is None  # one row is an outlier
    assert find_code(np.append(rng.normal(0, 1, 200), [9.0, 9.0])) is None
    mass = rng.normal(4200, 800, 200)
    assert find_code(np.append(mass, [-999, -999])) == -999  # near, but a usual code
    assert find_code(np.append(mass, [-990, -990])) is None
    with pytest.warns(FeatureWarning, match=r"feature 1 \(-999\).*missing value"):
        ModeClustering().fit(np.column_stack([rng.normal(size=200), x]))
