"""What holds for any data: properties, on data sets that hypothesis draws.

``make test`` tries each on a few data sets, the same every time; ``make soak`` on many.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.cluster import contingency_matrix

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.persist import load_model, save_model
from modeseek.rows import blocks
from modeseek.rows.rounding import RoundingWarning

#: Data sets for every property: in make test, and in make soak.
FEW, MANY = 5, 150

#: Share of rows that may get another label where the last digits differ.
ROUNDING = 0.001

MODELS = {
    "default": ModeClustering(),
    "one width": ModeClustering(LogDensityGradient()),
    "separate": ModeClustering(LogDensityGradient(5, coefficients="separate")),
    "mean shift": ModeClustering(KernelDensityGradient()),
    "quasi-Newton": ModeClustering(LogDensityGradient(), ascent="quasi_newton"),
    "every mode": ModeClustering(prominence=0.0),
}

#: Models of one width for all features: they know no axes.
ISOTROPIC = ("one width", "mean shift")


def holds(strategy, few=FEW, many=MANY):
    """Try a property on a few data sets of a strategy, on many in make soak."""

    def decorate(test):
        def run(n_examples):
            fixed = settings(
                max_examples=n_examples, derandomize=True, deadline=None, database=None
            )
            fixed(given(strategy)(test))()

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        numbers = (
            pytest.param(few, id="few"),
            pytest.param(many, marks=pytest.mark.soak, id="many"),
        )
        return pytest.mark.parametrize("n_examples", numbers)(run)

    return decorate


@st.composite
def tables(draw, max_features=4):
    """Blobs, more or less apart, now and then with a heavy tail or a copied row."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(20, 150)), draw(st.integers(1, max_features))
    means = draw(st.sampled_from([0.0, 2.0, 5.0])) * rng.standard_normal((3, d))
    X = means[rng.integers(0, 3, n)] + rng.standard_normal((n, d))
    kind = draw(st.sampled_from(["plain", "tail", "copies", "scales"]))
    if kind == "tail":
        X[: n // 10] *= 20.0
    elif kind == "copies":
        X[: n // 4] = X[-(n // 4) :]
    elif kind == "scales":
        X *= 10.0 ** rng.integers(-3, 4, d)
    return X


@st.composite
def cases(draw, names=tuple(MODELS), **options):
    """A table, an unfitted model, and a generator for what else is drawn."""
    X = draw(tables(**options))
    model = clone(MODELS[draw(st.sampled_from(names))])
    return X, model, np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


def fit(model, X, weight=None):
    """Fit a copy; what the model has to say of the data is no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RoundingWarning)
        warnings.filterwarnings("ignore", message="The chosen bandwidth")
        warnings.filterwarnings("ignore", message=".*: that is one cluster")
        return clone(model).fit(X, sample_weight=weight)


def assert_same_labels(actual, expected, tolerated=0.0):
    """Equal, but for a share of the rows and the numbers of clusters of one size.

    Returns the clusters that belong together.
    """
    table = contingency_matrix(expected, actual)
    pairs = linear_sum_assignment(table, maximize=True)
    matched = table[pairs].sum()
    assert len(expected) - matched <= tolerated * len(expected), (actual, expected)
    sizes = np.bincount(actual), np.bincount(expected)
    if not tolerated:
        np.testing.assert_array_equal(*sizes)
    return pairs


def result(model):
    """Everything that a fit says about its rows, as bytes."""
    parts = (model.labels_, model.row_modes_, model.modes_, *model.merge_tree_)
    return [np.ascontiguousarray(part).tobytes() for part in parts]


# --- what a label does not depend on -----------------------------------------------


@holds(cases())
def test_labels_follow_the_rows(case):
    X, model, rng = case
    order = rng.permutation(len(X))
    assert_same_labels(fit(model, X[order]).labels_, fit(model, X).labels_[order])


@holds(cases())
def test_labels_stay_when_rows_are_shifted(case):
    X, model, rng = case
    shift = 10.0 * X.std(axis=0) * rng.standard_normal(X.shape[1])
    moved, base = fit(model, X + shift), fit(model, X)
    one, other = assert_same_labels(moved.labels_, base.labels_, ROUNDING)
    np.testing.assert_allclose(
        moved.cluster_centers_[other] - shift,
        base.cluster_centers_[one],
        rtol=1e-4,
        atol=1e-4 * X.std(),
    )


@holds(cases())
def test_labels_stay_in_any_unit(case):
    X, model, rng = case
    unit = 10.0 ** rng.uniform(-6.0, 6.0)
    assert_same_labels(fit(model, unit * X).labels_, fit(model, X).labels_, ROUNDING)


@holds(cases())
def test_a_power_of_two_as_unit_changes_no_bit(case):
    X, model, rng = case
    unit = 2.0 ** int(rng.integers(-30, 30))
    scaled, base = fit(model, unit * X), fit(model, X)
    np.testing.assert_array_equal(scaled.labels_, base.labels_)
    np.testing.assert_array_equal(scaled.modes_ / unit, base.modes_)


@holds(cases(names=ISOTROPIC))
def test_labels_stay_when_rows_are_rotated(case):
    X, model, rng = case
    R, _ = np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))
    assert_same_labels(fit(model, X @ R).labels_, fit(model, X).labels_, ROUNDING)


@holds(cases())
def test_a_weight_is_a_number_of_copies(case):
    X, model, rng = case
    weight = rng.integers(1, 4, len(X))
    copied = fit(model, np.repeat(X, weight, axis=0))
    weighted = fit(model, X, weight.astype(float))
    assert_same_labels(copied.labels_, np.repeat(weighted.labels_, weight), ROUNDING)


@holds(cases())
def test_a_row_of_weight_zero_counts_for_nothing(case):
    X, model, rng = case
    weight = np.ones(len(X))
    weight[rng.integers(0, len(X), len(X) // 5)] = 0.0
    kept = weight > 0
    weighted, without = fit(model, X, weight), fit(model, X[kept])
    assert_same_labels(weighted.labels_[kept], without.labels_, ROUNDING)
    assert len(weighted.modes_) == len(without.modes_)
    # It is labelled all the same, as a new row would be.
    np.testing.assert_array_equal(weighted.labels_, weighted.predict(X))


@holds(cases())
def test_threads_change_no_bit(case):
    X, model, _ = case
    base = result(fit(model.set_params(n_jobs=1), X))
    assert result(fit(model.set_params(n_jobs=3), X)) == base


@holds(cases())
def test_rows_may_be_asked_about_in_any_portions(case):
    X, model, rng = case
    fitted = fit(model, X)
    cuts = np.sort(rng.integers(1, len(X), 3))
    parts = [part for part in np.split(X, cuts) if len(part)]
    whole = fitted.predict(X)
    assert_same_labels(np.concatenate([fitted.predict(p) for p in parts]), whole)
    assert_same_labels(np.concatenate([fitted.predict(x[None]) for x in X]), whole)


@holds(cases())
def test_the_size_of_work_arrays_does_not_matter(case):
    X, model, _ = case
    base = fit(model, X).labels_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "CHUNK_ELEMENTS", 640)
        assert_same_labels(fit(model, X).labels_, base, ROUNDING)


@holds(cases())
def test_single_precision_gives_the_same_labels(case):
    X, model, _ = case
    single = X.astype(np.float32)
    exact = fit(model, single.astype(np.float64)).labels_
    assert_same_labels(fit(model, single).labels_, exact, ROUNDING)


@holds(cases())
def test_the_container_does_not_matter(case):
    X, model, _ = case
    base = fit(model, X).labels_
    read_only = X.copy()
    read_only.flags.writeable = False
    views = (
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        np.repeat(X, 2, axis=1)[:, ::2],
        X[::-1].copy()[::-1],
        read_only,
        X.astype(X.dtype.newbyteorder()),
        X.astype(object),
        X.tolist(),
        pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
    )
    for view in views:
        assert_same_labels(fit(model, view).labels_, base)


# --- what a fit says of itself -----------------------------------------------------


@holds(cases())
def test_prediction_of_the_training_rows_is_their_label(case):
    X, model, _ = case
    fitted = fit(model, X)
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    np.testing.assert_array_equal(fitted.predict_modes(X), fitted.row_modes_)
    np.testing.assert_array_equal(fitted.membership(X).argmax(axis=1), fitted.labels_)
    np.testing.assert_array_equal(fit(model, X).fit_predict(X), fitted.labels_)


@holds(cases())
def test_labels_number_the_clusters_by_size(case):
    X, model, _ = case
    fitted = fit(model, X)
    sizes = np.bincount(fitted.labels_, minlength=fitted.n_clusters_)
    assert len(sizes) == fitted.n_clusters_ == len(fitted.cluster_centers_)
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()


def is_coarser(coarse, fine):
    """Whether each cluster of one labelling lies in one of another."""
    return len(np.unique(np.c_[fine, coarse], axis=0)) == len(np.unique(fine))


@holds(cases())
def test_a_cut_of_the_tree_is_nested_in_the_next(case):
    X, model, rng = case
    fitted = fit(model, X)
    levels = np.sort(rng.exponential(0.5, 6))
    by_level = [fitted.cut(prominence=level) for level in (0.0, *levels, 1e9)]
    counts = range(len(fitted.modes_), 0, -1)
    by_count = [fitted.cut(n_clusters=count) for count in counts]
    for labelling in (by_level, by_count):
        assert all(map(is_coarser, labelling[1:], labelling[:-1]))
        assert not labelling[-1].any()
    assert [len(np.unique(labels)) for labels in by_count] == list(counts)


@holds(cases())
def test_the_same_seed_gives_the_same_bytes(case):
    X, model, rng = case
    model.set_params(random_state=int(rng.integers(0, 100)))
    assert result(fit(model, X)) == result(fit(model, X))


@holds(cases())
def test_a_fit_never_changes_its_input(case):
    X, model, rng = case
    for table in (X, np.asfortranarray(X), X.astype(np.float32)):
        weight = rng.uniform(0.0, 2.0, len(X))
        before = table.tobytes(), weight.tobytes()
        fitted = fit(model, table, weight)
        for ask in ("predict", "membership", "outlier_score", "paths"):
            getattr(fitted, ask)(table)
        # A gradient in certified coordinates takes these, not the features.
        takes_features = fitted.estimator_.n_features_in_ == table.shape[1]
        rows = table if takes_features else fitted.transform(table)
        fitted.estimator_.score(rows, sample_weight=weight)
        assert (table.tobytes(), weight.tobytes()) == before


@holds(cases())
def test_a_model_survives_the_disk(case):
    X, model, _ = case
    fitted = fit(model, X)
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder, "model.skops"), fitted)
        loaded = load_model(Path(folder, "model.skops")).model
    assert result(loaded) == result(fitted)
    np.testing.assert_array_equal(loaded.predict(X), fitted.labels_)


# --- many rows: some of them choose, some are climbed, all get labels ----------------


@st.composite
def crowds(draw):
    """Blobs of more rows than are climbed, or even looked at for widths."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([5_500, 9_000, 40_000]))
    d = draw(st.sampled_from([2, 5, 9]))
    means = 8.0 * rng.standard_normal((6, d))
    X = means[rng.integers(0, 6, n)] + rng.standard_normal((n, d))
    return X, rng


@holds(crowds(), few=2, many=20)
def test_of_many_rows_order_threads_and_chunks_do_not_matter(case):
    X, rng = case
    base = fit(ModeClustering(), X)
    np.testing.assert_array_equal(base.predict(X), base.labels_)
    assert result(fit(ModeClustering(n_jobs=1), X)) == result(base)
    order = rng.permutation(len(X))
    moved = fit(ModeClustering(), X[order])
    assert_same_labels(moved.labels_, base.labels_[order], ROUNDING)
    chunks = np.array_split(X, np.sort(rng.integers(1, len(X), 3)))
    in_chunks = fit(ModeClustering(), [part for part in chunks if len(part)])
    assert_same_labels(in_chunks.labels_, base.labels_, ROUNDING)


@holds(crowds(), few=2, many=20)
def test_of_many_rows_copies_precision_and_unit_do_not_matter(case):
    X, rng = case
    single = X.astype(np.float32)
    base = fit(ModeClustering(), single.astype(np.float64))
    assert_same_labels(fit(ModeClustering(), single).labels_, base.labels_, ROUNDING)
    unit = 2.0 ** rng.integers(-20, 20)
    scaled = fit(ModeClustering(), unit * single.astype(np.float64))
    np.testing.assert_array_equal(scaled.labels_, base.labels_)
    weight = rng.integers(1, 4, len(X))
    copied = fit(ModeClustering(), np.repeat(X, weight, axis=0))
    weighted = fit(ModeClustering(), X, weight.astype(float))
    assert_same_labels(copied.labels_, np.repeat(weighted.labels_, weight), ROUNDING)


# --- numbers of any kind -----------------------------------------------------------


@holds(
    arrays.arrays(
        st.sampled_from([np.float64, np.float32]),
        st.tuples(st.integers(0, 12), st.integers(0, 3)),
        elements=st.floats(width=32, allow_subnormal=True),
    )
)
def test_any_numbers_give_labels_or_an_error_in_words(X):
    words = ""
    try:
        labels = fit(ModeClustering(), X).labels_
    except ValueError as error:
        words = str(error)
    if words:
        assert len(words.split()) > 5
    else:
        assert labels.shape == (len(X),)
        assert labels.min() == 0
