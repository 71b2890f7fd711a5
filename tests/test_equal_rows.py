"""Rows that are one point: one cluster and a warning, by every way to fit."""

import dask.array as da
import numpy as np
import pyarrow.csv
import pytest

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.cli.commands import run
from modeseek.persist import load_model, save_model
from modeseek.plot import GradientFieldDisplay, ValidationDisplay
from modeseek.report import write_report

WAYS = {
    "default": {},
    "gradient": {"estimator": LogDensityGradient()},
    "kernel": {"estimator": KernelDensityGradient()},
    **{a: {"ascent": a} for a in ("rows", "fixed_point", "quasi_newton", "blurring")},
}

ROWS = {
    "equal": np.full((9, 3), 7.0),
    "one": np.array([[1.0, -2.0, 3e200]]),
    "zeros": np.zeros((4, 1)),
    "many": np.ones((33_000, 2)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rows", ROWS)
def test_equal_rows_are_one_cluster(way, rows):
    X = ROWS[rows]
    said = "X has one row" if len(X) == 1 else "All rows of X are equal"
    with pytest.warns(UserWarning, match=f"{said}: that is one cluster"):
        model = ModeClustering(**WAYS[way]).fit(X)
    np.testing.assert_array_equal(model.labels_, np.zeros(len(X)))
    np.testing.assert_array_equal(model.cluster_centers_, X[:1])
    assert model.mode_weights_.tolist() == [len(X)]
    assert said in model.decision_
    here, elsewhere = X[:1], X[:1] + 5.0
    both = np.concatenate([here, elsewhere])
    np.testing.assert_array_equal(model.predict(both), [0, 0])
    np.testing.assert_array_equal(model.membership(both), [[1], [1]])
    np.testing.assert_array_equal(model.transform(here), np.zeros_like(here))
    np.testing.assert_array_equal(model.cut(n_clusters=1), model.labels_)
    np.testing.assert_array_equal(model.recut().labels_, model.labels_)
    np.testing.assert_array_equal(model.paths(here)[-1], here)


@pytest.mark.parametrize(
    "rows",
    [
        [np.ones((1, 2))],
        [np.ones((1, 2)), np.ones((3, 2))],
        da.ones((90, 2), chunks=40),
    ],
    ids=["one row in chunks", "chunks", "Dask"],
)
def test_equal_rows_anywhere_are_one_cluster(rows):
    with pytest.warns(UserWarning, match="one cluster"):
        model = ModeClustering().fit(rows)
    assert not np.asarray(model.labels_).any()


def test_rows_without_weight_do_not_make_equal_rows_differ():
    X = np.arange(8.0).reshape(4, 2)
    with pytest.warns(UserWarning, match="one cluster"):
        model = ModeClustering().fit(X, sample_weight=[0, 0, 1, 0])
    np.testing.assert_array_equal(model.labels_, np.zeros(4))
    np.testing.assert_array_equal(model.cluster_centers_, X[2:3])


@pytest.mark.parametrize("estimator", [LogDensityGradient(), KernelDensityGradient()])
def test_a_gradient_of_equal_rows_is_refused(estimator):
    with pytest.raises(ValueError, match="two distinct rows are needed"):
        estimator.fit(np.ones((9, 2)))


def test_a_model_of_equal_rows_is_saved_shown_and_not_drawn(tmp_path):
    X = np.full((9, 2), 3.0)
    with pytest.warns(UserWarning, match="one cluster"):
        model = ModeClustering().fit(X)
    save_model(tmp_path / "model.skops", model)
    loaded = load_model(tmp_path / "model.skops").model
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    assert write_report(tmp_path / "page.html", model, X).exists()
    with pytest.raises(ValueError, match="all equal: they have no gradient"):
        GradientFieldDisplay.from_estimator(model, X)
    with pytest.raises(ValueError, match="all equal: they have no gradient"):
        ValidationDisplay.from_estimator(model)


@pytest.mark.parametrize("text", ["u,v\n1,2\n", "u,v\n" + "1.5,2\n" * 30])
def test_the_program_takes_equal_rows(tmp_path, capsys, text):
    (tmp_path / "rows.csv").write_text(text)
    given = ["--columns", "u,v"]
    assert run(["cluster", str(tmp_path / "rows.csv"), *given]) == 0
    assert "warning:" in capsys.readouterr().err
    table = pyarrow.csv.read_csv(tmp_path / "rows.clusters.csv")
    assert set(table["cluster"].to_pylist()) == {0}
    assert run(["report", str(tmp_path / "rows.csv"), *given]) == 0
    assert run(["tree", str(tmp_path / "rows.csv"), *given]) == 0
    assert "cluster 0" in capsys.readouterr().out
