"""Noise of label -1 and a number of clusters that is known, by every way to ask."""

import base64

import dask.array as da
import numpy as np
import pyarrow.csv
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from modeseek import ModeClustering
from modeseek.cli.commands import run
from modeseek.persist import load_model, save_model
from modeseek.plot import AscentDisplay, ClusterPairsDisplay
from modeseek.report.content import collect

X, _ = make_blobs(600, 2, centers=3, cluster_std=0.7, random_state=1)
X[:3] += 30.0
PLAIN = ModeClustering().fit(X)
NOISY = ModeClustering(noise=0.05).fit(X)


def test_noise_is_what_has_a_score_above_the_level():
    expected = np.where(PLAIN.outlier_scores_ > 0.95, -1, PLAIN.labels_)
    np.testing.assert_array_equal(NOISY.labels_, expected)
    assert set(np.unique(NOISY.labels_)) == {-1, *range(PLAIN.n_clusters_)}
    assert NOISY.n_clusters_ == PLAIN.n_clusters_
    np.testing.assert_allclose((NOISY.labels_ == -1).mean(), 0.05, atol=0.005)


def test_every_way_to_label_rows_agrees_about_noise():
    np.testing.assert_array_equal(NOISY.predict(X), NOISY.labels_)
    np.testing.assert_array_equal(clone(NOISY).fit_predict(X), NOISY.labels_)
    lazy = clone(NOISY).fit(da.from_array(X, chunks=(250, 2)))
    np.testing.assert_array_equal(lazy.labels_.compute(), NOISY.labels_)
    np.testing.assert_array_equal(lazy.predict(lazy._rows).compute(), NOISY.labels_)
    chunks = clone(NOISY).fit([X[:100], X[100:]])
    np.testing.assert_array_equal(chunks.labels_, NOISY.labels_)


def test_noise_belongs_to_no_cluster():
    np.testing.assert_array_equal(NOISY.probabilities_ == 0, NOISY.labels_ == -1)


def test_noise_is_ranked_within_the_clusters_of_a_cut():
    one = NOISY.cut(n_clusters=1)
    np.testing.assert_allclose((one == -1).mean(), 0.05, atol=0.002)
    again = clone(NOISY).fit(X).recut(n_clusters=1)
    np.testing.assert_array_equal(again.labels_, one)
    np.testing.assert_array_equal(again.predict(X), one)


def test_set_params_does_not_change_what_was_fitted():
    model = clone(NOISY).fit(X).set_params(noise=None)
    np.testing.assert_array_equal(model.predict(X), NOISY.labels_)


def test_a_saved_model_keeps_its_noise(tmp_path):
    save_model(tmp_path / "model.skops", NOISY)
    model = load_model(tmp_path / "model.skops").model
    np.testing.assert_array_equal(model.predict(X), NOISY.labels_)
    np.testing.assert_array_equal(model.recut().labels_, NOISY.labels_)
    np.testing.assert_array_equal(model.outlier_scores_, NOISY.outlier_scores_)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [(1.0, ValueError), (-0.1, ValueError), (np.nan, ValueError), ("5%", TypeError)],
)
def test_noise_must_be_a_share(wrong, error):
    with pytest.raises(error, match="noise must be"):
        ModeClustering(noise=wrong).fit(X)


def test_a_number_of_clusters_is_that_of_the_cut():
    model = ModeClustering(n_clusters=2).fit(X)
    assert model.n_clusters_ == 2
    np.testing.assert_array_equal(model.labels_, PLAIN.cut(n_clusters=2))
    model.recut(n_clusters=1).recut()
    np.testing.assert_array_equal(model.labels_, PLAIN.cut(n_clusters=2))


def test_fewer_modes_than_clusters_are_a_cluster_each():
    with pytest.warns(ConvergenceWarning, match="fewer than n_clusters=999"):
        model = ModeClustering(n_clusters=999).fit(X)
    assert model.n_clusters_ == len(model.modes_)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"n_clusters": 0}, ValueError),
        ({"n_clusters": 2.5}, TypeError),
        ({"n_clusters": 2, "prominence": 0.5}, ValueError),
    ],
)
def test_a_number_of_clusters_that_makes_no_sense_is_refused(arguments, error):
    with pytest.raises(error, match="n_clusters"):
        ModeClustering(**arguments).fit(X)


@pytest.fixture
def table(tmp_path):
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="u,v", comments="")
    return tmp_path / "rows.csv"


def test_the_program_marks_noise_and_its_model_too(table, tmp_path, capsys):
    model, out = str(tmp_path / "model.skops"), str(tmp_path / "out.csv")
    given = ["--noise", "0.05", "--n-clusters", "2", "-o", out, "-m", model]
    assert run(["cluster", str(table), *given]) == 0
    expected = ModeClustering(noise=0.05, n_clusters=2).fit(X).labels_
    labels = pyarrow.csv.read_csv(out)["cluster"].to_numpy()
    np.testing.assert_array_equal(labels, expected)
    n_noise = int((expected == -1).sum())
    assert f"{n_noise} of 600 rows are noise, cluster -1" in capsys.readouterr().err
    again = str(tmp_path / "again.csv")
    assert run(["predict", model, str(table), "-o", again]) == 0
    labels = pyarrow.csv.read_csv(again)["cluster"].to_numpy()
    np.testing.assert_array_equal(labels, expected)
    assert run(["tree", model, "--noise", "0.1"]) == 2
    assert "a model that is loaded has its own" in capsys.readouterr().err


def test_rows_with_missing_values_are_no_noise(table, tmp_path):
    table.write_text(table.read_text() + "1.0,\n")
    out = str(tmp_path / "out.csv")
    assert run(["cluster", str(table), "--noise", "0.05", "-o", out]) == 0
    labels = pyarrow.csv.read_csv(out)["cluster"].to_pylist()
    np.testing.assert_array_equal(labels[:-1], NOISY.labels_)
    assert labels[-1] is None


def test_the_page_and_displays_know_noise():
    rng = np.random.default_rng(0)
    data = collect(NOISY, X, NOISY.row_modes_, ["u", "v"], 3000, rng)
    noise = np.flatnonzero(NOISY.labels_ == -1)
    packed = np.frombuffer(base64.b64decode(data["noise"]["bytes"]), "<u4")
    np.testing.assert_array_equal(packed, noise)
    for display in (ClusterPairsDisplay, AscentDisplay):
        shown = display.from_estimator(NOISY, X, max_rows=400)
        assert -1 in shown.labels
