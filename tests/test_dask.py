"""Rows on Dask: the model of the same rows in memory; only sums and few rows move."""

import copy
import functools
import operator
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.core import get_dependencies
from distributed import get_client
from sklearn.base import clone
from sklearn.datasets import make_blobs

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.dask import connect
from modeseek.datasets import three_gaussians
from modeseek.rows import subsample
from modeseek.rows.dask import FAN_IN, DaskRows
from modeseek.rows.source import ArrayRows
from modeseek.rows.subsample import SAMPLE_ROWS, draw_subsample
from modeseek.rows.summary import summarize
from modeseek.rows.validation import check_block

TOY = three_gaussians(3)
X = TOY.sample(4000, random_state=0)[0]
WEIGHT = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


@pytest.fixture(autouse=True)
def _threads():
    """The scheduler of these tests, unless they start another."""
    with dask.config.set(scheduler="threads"):
        yield


def unknown_lengths():
    frame = dd.from_pandas(FRAME, npartitions=5)
    return frame[frame.a > -1e9]


CONTAINERS = {
    "rows": lambda: da.from_array(X, chunks=(700, 3)),
    "rows and columns": lambda: da.from_array(X, chunks=(900, 2)),
    "one chunk": lambda: da.from_array(X, chunks=X.shape),
    "many chunks": lambda: da.from_array(X, chunks=(60, 3)),
    "frame": lambda: dd.from_pandas(FRAME, npartitions=3),
    "unknown lengths": unknown_lengths,
    "an empty chunk": lambda: da.concatenate(
        [da.from_array(X[:0]), da.from_array(X, chunks=(1500, 3))]
    ),
}


@pytest.fixture(params=CONTAINERS.values(), ids=CONTAINERS)
def rows(request):
    return request.param()


@functools.cache
def in_memory():
    return LogDensityGradient().fit(X)


def test_the_model_is_that_of_the_rows_in_memory(rows):
    one, two = in_memory(), LogDensityGradient().fit(rows)
    np.testing.assert_array_equal(two.centers_, one.centers_)
    np.testing.assert_allclose(two.bandwidth_, one.bandwidth_, rtol=1e-12)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)


def test_answers_are_lazy_and_those_of_the_rows_in_memory(rows):
    model = copy.copy(in_memory())
    if not isinstance(rows, da.Array):
        model.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    for name in ("gradient", "log_density", "hessian"):
        answers = getattr(model, name)(rows)
        assert isinstance(answers, da.Array)
        expected = getattr(in_memory(), name)(X)
        assert answers.shape[1:] == expected.shape[1:]
        np.testing.assert_allclose(answers.compute(), expected, rtol=1e-9, atol=1e-12)


def test_scores_and_added_rows_are_those_in_memory(rows):
    names = None if isinstance(rows, da.Array) else FRAME
    first = X[:1000] if names is None else FRAME[:1000]
    whole = X if names is None else FRAME
    one = LogDensityGradient().fit(first).partial_fit(whole)
    two = LogDensityGradient().fit(first).partial_fit(rows)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-7)
    assert two.score(rows) == pytest.approx(one.score(whole), rel=1e-9)


def test_weights_come_in_any_chunks():
    one = LogDensityGradient().fit(X, sample_weight=WEIGHT)
    rows = da.from_array(X, chunks=(700, 3))
    for weight in (WEIGHT, list(WEIGHT), da.from_array(WEIGHT, chunks=1300)):
        two = LogDensityGradient().fit(rows, sample_weight=weight)
        np.testing.assert_array_equal(two.centers_, one.centers_)
        np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)


def test_weights_may_be_a_column_of_unknown_length():
    frame = dd.from_pandas(FRAME.assign(w=WEIGHT), npartitions=4)
    frame = frame[frame.a > -1e9]
    one = LogDensityGradient().fit(FRAME, sample_weight=WEIGHT)
    two = LogDensityGradient().fit(frame[["a", "b", "c"]], sample_weight=frame["w"])
    np.testing.assert_array_equal(two.centers_, one.centers_)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)


def test_weights_that_do_not_fit_are_refused():
    rows = da.from_array(X, chunks=(700, 3))
    for weight in (WEIGHT[1:], da.from_array(WEIGHT[1:], chunks=700)):
        with pytest.raises(ValueError, match="one entry a row"):
            LogDensityGradient().fit(rows, sample_weight=weight)
    with pytest.raises(ValueError, match="lengths of the chunks of X are not known"):
        LogDensityGradient().fit(unknown_lengths(), sample_weight=WEIGHT)


def test_names_and_number_of_features_are_checked_without_computing():
    model = LogDensityGradient().fit(dd.from_pandas(FRAME, npartitions=2))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.gradient(dd.from_pandas(FRAME.rename(columns={"a": "z"}), npartitions=2))
    fitted = LogDensityGradient().fit(X)
    with pytest.raises(ValueError, match="2 features"):
        fitted.gradient(da.from_array(X[:, :2]))
    with pytest.raises(ValueError, match="1D array"):
        LogDensityGradient().fit(da.from_array(X[:, 0]))


WRONG = {
    "NaN": (np.nan, "contains NaN"),
    "infinite": (np.inf, "contains infinity"),
    "huge": (1e301, "Divide the features"),
    "far away": (1e200, "away from the others"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_rows_are_refused(name):
    value, message = WRONG[name]
    bad = X.copy()
    bad[3000, 1] = value
    with pytest.raises(ValueError, match=message):
        LogDensityGradient().fit(da.from_array(bad, chunks=(700, 3)))


def test_other_collections_are_refused():
    with pytest.raises(TypeError, match="an array or a data frame; got Delayed"):
        LogDensityGradient().fit(dask.delayed(X))


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="X has no rows"):
        LogDensityGradient().fit(da.from_array(X[:0], chunks=(1, 3)))


def make_chunk(n, block_info=None):
    number = block_info[None]["chunk-location"][0]
    return TOY.sample(n, random_state=number)[0]


def made_rows(n_chunks, n=10_000):
    chunks = ((n,) * n_chunks, (3,))
    return da.map_blocks(make_chunk, n, chunks=chunks, dtype=float)


def test_many_rows_are_thinned_where_they_are():
    """The same as in memory, and no result of a task holds many of them."""
    lazy = made_rows(12)
    largest = []

    def watch(key, result, dsk, state, worker):
        stored = getattr(result, "flat", [result])
        for part in stored:
            sizes = [np.size(a) for a in _arrays(part)]
            largest.append(max(sizes, default=0))

    source = DaskRows(lazy, None, check_block)
    with dask.callbacks.Callback(posttask=watch):
        summary = summarize(source)
        taken = draw_subsample(source, summary, most=2048)
    assert summary.n_rows == 120_000
    assert max(largest) < 0.3 * lazy.size
    rows = ArrayRows(lazy.compute())
    same = draw_subsample(rows, summarize(rows), most=2048)
    np.testing.assert_array_equal(taken.X, same.X)


def _arrays(part):
    if isinstance(part, np.ndarray) and part.dtype != object:
        yield part
    elif isinstance(part, tuple):
        for inner in part:
            yield from _arrays(inner)


def test_a_model_of_many_rows_is_that_in_memory():
    lazy = made_rows(5)
    assert lazy.shape[0] > SAMPLE_ROWS
    rows = lazy.compute()
    one, two = LogDensityGradient().fit(rows), LogDensityGradient().fit(lazy)
    np.testing.assert_array_equal(two.centers_, one.centers_)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-5)
    assert two.moments_.weight == len(rows)


def test_results_of_chunks_are_joined_as_a_tree():
    """No task takes more than a few results, and no way through them is long."""
    source = DaskRows(da.from_array(X, chunks=(40, 3)), None, check_block)
    tree = source.tree(lambda block: len(block.X), operator.add)
    assert tree.compute()[0, 0] == len(X)
    tasks = dict(tree.dask)
    joins = {k for k in tasks if str(k).startswith("_join_all")}
    needed = {k: get_dependencies(tasks, k) for k in joins}
    assert max(map(len, needed.values())) == FAN_IN
    assert sum(len(keys - joins) for keys in needed.values()) == 100
    assert len(joins) == 13 + 2 + 1


def look(chunk, folder):
    """Say which scheduler a chunk is computed on."""
    Path(folder, "seen").write_text(get_client().scheduler.address, "ascii")
    return chunk


def test_nothing_chosen_opens_a_cluster_for_the_fit(tmp_path):
    rows = da.from_array(X, chunks=(1000, 3)).map_blocks(
        look, str(tmp_path), dtype=float, meta=X[:0]
    )
    with dask.config.set(scheduler=None):
        model = LogDensityGradient(20).fit(rows)
    assert Path(tmp_path, "seen").read_text("ascii").startswith("inproc://")
    with pytest.raises(ValueError, match="No global client"):
        get_client()
    expected = LogDensityGradient(20).fit(X)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6)


def test_a_scheduler_is_reached_by_its_address():
    rows = da.from_array(X, chunks=(1000, 3))
    with dask.config.set(scheduler=None):
        options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
        with connect(processes=False, **options) as local:
            address = local.scheduler.address
            with connect(address) as client:
                assert client.scheduler.address == address
                model = LogDensityGradient(20).fit(rows)
    expected = LogDensityGradient(20).fit(X)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6)


def wait_to_be_killed(chunk, folder, block_info=None):
    """Say who computes the third chunk, and wait there, the third time it is read."""
    if block_info[0]["chunk-location"][0] == 2:
        marks = list(Path(folder).glob("read-*"))
        Path(folder, f"read-{len(marks)}").touch()
        if len(marks) == 2:
            Path(folder, "pid").write_text(str(os.getpid()), "ascii")
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                time.sleep(0.01)
    return chunk


def kill_when_told(folder, killed):
    """End the process that wrote its number."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        file = Path(folder, "pid")
        if file.exists() and (pid := file.read_text("ascii")):
            os.kill(int(pid), signal.SIGKILL)
            killed.append(int(pid))
            return
        time.sleep(0.01)


def test_a_killed_worker_costs_no_result(tmp_path):
    """Worker processes; one is ended in the middle of the fit, by its number."""
    rows = da.from_array(X, chunks=(800, 3)).map_blocks(
        wait_to_be_killed, str(tmp_path), dtype=float, meta=X[:0]
    )
    killed = []
    thread = threading.Thread(target=kill_when_told, args=(tmp_path, killed))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with dask.config.set(scheduler=None), connect(**options) as client:
        workers = {info["pid"] for info in client.run(_describe).values()}
        thread.start()
        model = LogDensityGradient().fit(rows)
        thread.join()
    assert killed
    assert set(killed) < workers
    expected = LogDensityGradient().fit(X)
    np.testing.assert_array_equal(model.centers_, expected.centers_)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6)
    assert model.moments_.weight == len(X)


def _describe():
    return {"pid": os.getpid()}


CLUSTERINGS = {
    "graph of rows": (lambda: make_blobs(3000, centers=6, random_state=0)[0], {}),
    "gradient": (lambda: X[:2000], {"estimator": LogDensityGradient()}),
    "gaussian base": (lambda: three_gaussians(6).sample(700, random_state=0)[0], {}),
}


@functools.cache
def clustered(name):
    rows, parameters = CLUSTERINGS[name]
    return rows(), ModeClustering(**parameters).fit(rows())


@pytest.mark.parametrize("name", CLUSTERINGS)
def test_labels_are_lazy_and_those_of_the_rows_in_memory(name):
    rows, expected = clustered(name)
    lazy = da.from_array(rows, chunks=(301, 2))
    model = ModeClustering(**CLUSTERINGS[name][1]).fit(lazy)
    assert model.ascent_ == expected.ascent_
    for labels in (model.labels_, model.predict(lazy)):
        assert isinstance(labels, da.Array)
        assert labels.chunks == (lazy.chunks[0],)
        differ = labels.compute() != expected.labels_
        assert differ.mean() <= 1e-3
    np.testing.assert_allclose(model.modes_, expected.modes_, atol=1e-6)
    level = model.cut(n_clusters=2)
    assert isinstance(level, da.Array)
    assert (level.compute() != expected.cut(n_clusters=2)).mean() <= 1e-3


@pytest.mark.parametrize("name", CLUSTERINGS)
def test_what_is_asked_about_rows_is_lazy(name):
    rows, model = clustered(name)
    lazy = da.from_array(rows, chunks=(900, 2))
    for ask in (model.membership, model.outlier_score, model.predict_modes):
        answers = ask(lazy)
        assert isinstance(answers, da.Array)
        np.testing.assert_allclose(answers.compute(), ask(rows), rtol=1e-6, atol=1e-9)


def test_labels_of_a_frame_of_unknown_length_are_lazy():
    model = ModeClustering(LogDensityGradient()).fit(unknown_lengths())
    expected = ModeClustering(LogDensityGradient()).fit(FRAME)
    assert np.isnan(model.labels_.shape[0])
    assert (model.labels_.compute() != expected.labels_).mean() <= 1e-3


def test_weights_on_dask_are_those_in_memory():
    lazy = da.from_array(X, chunks=(700, 3))
    one = ModeClustering(LogDensityGradient()).fit(X, sample_weight=WEIGHT)
    two = ModeClustering(LogDensityGradient()).fit(lazy, sample_weight=WEIGHT)
    assert (two.labels_.compute() != one.labels_).mean() <= 1e-3


@pytest.mark.parametrize("bandwidth", ["auto", "cv"])
def test_labels_of_many_rows_do_not_depend_on_the_chunks(bandwidth, monkeypatch):
    monkeypatch.setattr(subsample, "SAMPLE_ROWS", 4096)
    lazy = made_rows(4, 2_500)
    rows = lazy.compute()
    model = ModeClustering(LogDensityGradient(50, bandwidth=bandwidth))
    expected = clone(model).fit(rows)
    for chunks in (833, 9_000):  # less and more than a block
        labels = clone(model).fit(lazy.rechunk((chunks, 3))).labels_
        assert (labels.compute() != expected.labels_).mean() <= 1e-3
    order = np.random.default_rng(0).permutation(len(rows))
    shuffled = clone(model).fit(rows[order])
    assert (shuffled.labels_ != expected.labels_[order]).mean() <= 1e-3


def test_what_moves_rows_together_refuses_dask():
    lazy = da.from_array(X, chunks=(700, 3))
    for model in (
        ModeClustering(ascent="blurring"),
        ModeClustering(KernelDensityGradient()),
    ):
        with pytest.raises(TypeError, match="in chunks or on Dask"):
            model.fit(lazy)
    with pytest.raises(TypeError, match="on Dask, and paths"):
        ModeClustering(LogDensityGradient()).fit(X).paths(lazy)


def test_a_model_with_lazy_labels_is_saved_once_they_are_computed(tmp_path):
    persist = pytest.importorskip("modeseek.persist")
    rows, expected = clustered("graph of rows")
    model = ModeClustering().fit(da.from_array(rows, chunks=(900, 2)))
    with pytest.raises(persist.ModelError, match="labels of the model are on Dask"):
        persist.save_model(tmp_path / "model.skops", model)
    model.row_modes_ = model.row_modes_.compute()
    model.labels_ = model.labels_.compute()
    persist.save_model(tmp_path / "model.skops", model)
    again = persist.load_model(tmp_path / "model.skops").model
    np.testing.assert_array_equal(again.predict(rows), expected.labels_)


def test_a_model_with_lazy_labels_can_be_pickled():
    rows, expected = clustered("graph of rows")
    model = ModeClustering().fit(da.from_array(rows, chunks=(900, 2)))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels_.compute(), expected.labels_)
