"""Memory maps and chunks: the model of the same rows in memory, without a copy."""

import functools
import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.rows import source

X = three_gaussians(3).sample(450, random_state=0)[0]
WEIGHT = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
CUTS = [0, 1, 80, 80, 260, 450]
PARTS = [slice(i, j) for i, j in itertools.pairwise(CUTS)]


class Chunks:
    """Gives its chunks each time it is iterated over."""

    def __init__(self, rows):
        self.rows = rows
        self.n_passes = 0

    def __iter__(self):
        self.n_passes += 1
        return (self.rows[part] for part in PARTS)


def mapped(folder, rows, dtype=np.float64):
    file = np.memmap(folder / "rows", dtype=dtype, mode="w+", shape=rows.shape)
    file[:] = rows
    file.flush()
    return np.memmap(folder / "rows", dtype=dtype, mode="r", shape=rows.shape)


CONTAINERS = {
    "list": lambda folder: [X[part] for part in PARTS],
    "tuple": lambda folder: tuple(X[part] for part in PARTS),
    "frames": lambda folder: [pd.DataFrame(X[part]) for part in PARTS],
    "object": lambda folder: Chunks(X),
    "function": lambda folder: lambda: (X[part] for part in PARTS),
    "memory map": lambda folder: mapped(folder, X),
}


@pytest.fixture(params=CONTAINERS.values(), ids=CONTAINERS)
def rows(request, tmp_path):
    return request.param(tmp_path)


@functools.cache
def in_memory(bandwidth):
    return LogDensityGradient(40, bandwidth=bandwidth).fit(X)


@pytest.mark.parametrize("bandwidth", ["cv", "auto"])
def test_the_model_is_that_of_the_rows_in_memory(rows, bandwidth):
    one = in_memory(bandwidth)
    two = LogDensityGradient(40, bandwidth=bandwidth).fit(rows)
    np.testing.assert_array_equal(two.centers_, one.centers_)
    np.testing.assert_allclose(two.bandwidth_, one.bandwidth_, rtol=1e-12)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)
    np.testing.assert_allclose(
        two.feature_relevance_, one.feature_relevance_, rtol=1e-6
    )


def test_rows_are_answered_like_those_in_memory(rows):
    model = in_memory("cv")
    for ask in (model.gradient, model.log_density, model.hessian):
        np.testing.assert_allclose(ask(rows), ask(X), rtol=1e-9, atol=1e-12)
    assert model.score(rows) == pytest.approx(model.score(X), rel=1e-12)


def test_rows_can_be_added_from_any_container(rows):
    one = LogDensityGradient().fit(X[:300]).partial_fit(X)
    two = LogDensityGradient().fit(X[:300]).partial_fit(rows)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-7)


def test_weights_come_in_chunks():
    one = LogDensityGradient().fit(X, sample_weight=WEIGHT)
    for weight in ([WEIGHT[part] for part in PARTS], Chunks(WEIGHT)):
        two = LogDensityGradient().fit(Chunks(X), sample_weight=weight)
        np.testing.assert_array_equal(two.centers_, one.centers_)
        np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)
        score = one.score(Chunks(X), sample_weight=weight)
        assert score == pytest.approx(one.score(X, sample_weight=WEIGHT), rel=1e-12)


def test_a_chunk_may_have_no_weight():
    weight = [np.ones(part.stop - part.start) for part in PARTS]
    weight[1] = 0.0 * weight[1]
    one = LogDensityGradient().fit(X, sample_weight=np.concatenate(weight))
    two = LogDensityGradient().fit(Chunks(X), sample_weight=weight)
    np.testing.assert_array_equal(two.centers_, one.centers_)


def test_whole_numbers_in_a_file_are_rows(tmp_path):
    counts = np.round(100 * X).astype(np.int32)
    one = LogDensityGradient().fit(counts, sample_weight=WEIGHT)
    rows = mapped(tmp_path, counts, np.int32)
    two = LogDensityGradient().fit(rows, sample_weight=WEIGHT)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)
    np.testing.assert_allclose(two.gradient(rows), one.gradient(counts), rtol=1e-6)


def test_names_of_features_are_those_of_the_chunks():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LogDensityGradient().fit(Chunks(frame))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.gradient([frame.rename(columns={"a": "z"})])


def test_a_memory_map_is_not_copied(tmp_path):
    """Fitting and asking take less memory than the rows would."""
    n, d = 400_000, 20
    path = tmp_path / "many"
    file = np.memmap(path, dtype=np.float32, mode="w+", shape=(n, d))
    rng = np.random.default_rng(0)
    for i in range(0, n, 50_000):
        file[i : i + 50_000] = rng.standard_normal((50_000, d))
    file.flush()
    rows = np.memmap(path, dtype=np.float32, mode="r", shape=(n, d))
    model = LogDensityGradient(30, bandwidth=[3.0, 6.0], alpha=1e-3, n_jobs=1)
    with pytest.warns(UserWarning, match="first or last"):
        model.fit(rows[:2000])  # what is loaded once does not count
    tracemalloc.start()
    try:
        with pytest.warns(UserWarning, match="first or last"):
            model.fit(rows)
        fitting = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        heights = model.log_density(rows)
        asking = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.moments_.weight == n
    assert heights.shape == (n,)
    assert fitting < 0.75 * n * d * 8
    assert asking < 0.75 * n * d * 8


def test_fitting_refuses_what_can_be_read_only_once():
    for once in ((X[part] for part in PARTS), iter([X])):
        with pytest.raises(TypeError, match="without calling it"):
            LogDensityGradient().fit(once)
    with pytest.raises(TypeError, match="sample_weight is an iterator"):
        LogDensityGradient().fit([X], sample_weight=iter([WEIGHT]))


def test_asking_takes_what_can_be_read_only_once():
    model = LogDensityGradient().fit(X)
    once = (X[part] for part in PARTS)
    np.testing.assert_allclose(model.gradient(once), model.gradient(X), rtol=1e-9)


def test_a_function_must_start_again():
    left = iter([X[:300], X[300:]])
    with pytest.raises(ValueError, match="read only once"):
        LogDensityGradient().fit(lambda: left)
    with pytest.raises(ValueError, match="no chunk with rows"):
        LogDensityGradient().fit(lambda: iter([X[:0]]))


def test_rows_that_change_between_passes_are_refused():
    lengths = itertools.chain([450, 450, 450], itertools.repeat(300))

    def shrinking():
        yield X[: next(lengths)]

    with pytest.raises(ValueError, match="changed from one pass"):
        LogDensityGradient().fit(shrinking)


def test_a_function_must_return_an_iterator():
    with pytest.raises(TypeError, match="this one returned None"):
        LogDensityGradient().fit(lambda: None)


WRONG = {
    "sparse": ([csr_array(X)], "[Ss]parse"),
    "another width": ([X, X[:, :2]], "2 features"),
    "NaN": ([X, np.full((4, 3), np.nan)], "NaN"),
    "huge": ([X, np.full((4, 3), 1e301)], "Divide the features"),
    "far away": ([X, np.full((4, 3), 1e200)], "away from the others"),
    "one row": ([X[:1]], "All rows of X are equal"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_chunks_are_refused(name):
    chunks, message = WRONG[name]
    with pytest.raises((ValueError, TypeError), match=message):
        LogDensityGradient().fit(chunks)


def test_weights_must_match_the_chunks():
    with pytest.raises(TypeError, match="must come in chunks"):
        LogDensityGradient().fit([X], sample_weight=WEIGHT)
    with pytest.raises(ValueError, match="as many chunks"):
        LogDensityGradient().fit([X, X], sample_weight=[WEIGHT])
    with pytest.raises(ValueError, match="one entry a row"):
        LogDensityGradient().fit([X], sample_weight=[WEIGHT[1:]])


def test_what_needs_the_rows_in_memory_says_so():
    with pytest.raises(ValueError, match="give a number of folds"):
        LogDensityGradient(cv=[(np.arange(1), np.arange(1, 3))]).fit([X])
    with pytest.raises(ValueError, match="needs them in memory"):
        LogDensityGradient(loss="log_cosh").fit([X])
    with pytest.raises(TypeError, match="in chunks, and KernelDensityGradient keeps"):
        KernelDensityGradient().fit([X])


def test_a_density_estimate_answers_about_chunks():
    model = KernelDensityGradient(0.5).fit(X[:300])
    np.testing.assert_allclose(model.log_density([X]), model.log_density(X), rtol=1e-9)


@functools.cache
def clusters_in_memory(estimator):
    model = ModeClustering(estimator).fit(X)
    return model, model.membership(X)


ESTIMATOR = LogDensityGradient(40)


@pytest.mark.parametrize("estimator", [None, ESTIMATOR], ids=["default", "gradient"])
def test_clusters_are_those_of_the_rows_in_memory(rows, estimator):
    one, membership = clusters_in_memory(estimator)
    two = ModeClustering(estimator).fit(rows)
    assert one.ascent_ == two.ascent_
    assert (one.labels_ != two.labels_).mean() <= 1e-3
    assert (one.predict(rows) != one.labels_).mean() <= 1e-3
    np.testing.assert_allclose(one.membership(rows), membership, rtol=1e-6, atol=1e-9)


def test_rows_of_weight_zero_are_labelled_in_chunks_as_in_memory():
    weight = [WEIGHT[part] for part in PARTS]
    model = ModeClustering(LogDensityGradient())
    one = clone(model).fit(X, sample_weight=WEIGHT)
    two = clone(model).fit(Chunks(X), sample_weight=weight)
    assert len(two.labels_) == len(X)
    assert (one.labels_ != two.labels_).mean() <= 1e-3
    np.testing.assert_array_equal(one.predict(X), one.labels_)


def test_slices_of_many_rows_name_the_row_out_of_reach(monkeypatch):
    monkeypatch.setattr(source, "APPLIED_ROWS", 100)
    model = ModeClustering(LogDensityGradient()).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    far = X.copy()
    far[234] = 1e200
    with pytest.raises(ValueError, match="Row 234 of X"):
        model.predict(far)
