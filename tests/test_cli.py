"""The command line, as people meet it: in one process, and as a program of its own."""

import base64
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from modeseek import LogDensityGradient, ModeClustering
from modeseek.cli.commands import (
    BAD_DATA,
    BROKEN_PIPE,
    INTERNAL,
    INTERRUPTED,
    USAGE,
    app,
    run,
)
from modeseek.cli.cytometry import write_fcs
from modeseek.datasets import three_gaussians
from modeseek.persist import load_model, save_model

X, _ = three_gaussians().sample(200, random_state=0)
PROGRAM = [sys.executable, "-m", "modeseek"]


def write_csv(path, rows=X, header="u,v"):
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.17g")
    return path


@pytest.fixture
def rows(tmp_path):
    return write_csv(tmp_path / "rows.csv")


@pytest.fixture(scope="module")
def reference():
    """What the library itself says of the rows."""
    return ModeClustering().fit(X)


def read_csv(path):
    return pa.csv.read_csv(path)


def labels_of(table):
    return np.array(table["cluster"].to_pylist())


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_cluster_writes_the_rows_with_their_clusters(rows, reference, capsys):
    assert run(["cluster", str(rows)]) == 0
    written = rows.with_name("rows.clusters.csv")
    table = read_csv(written)
    assert table.column_names == ["u", "v", "cluster"]
    np.testing.assert_array_equal(table["u"], X[:, 0])
    np.testing.assert_array_equal(labels_of(table), reference.labels_)
    out, err = capsys.readouterr()
    title, *lines = out.splitlines()
    assert " ".join(title.split()) == "cluster rows share prominence set apart by"
    for line, words in zip(lines, reference.summary()["features"], strict=True):
        assert re.sub(r"feature (\d)", lambda m: "uv"[int(m[1])], words) in line
    sizes = np.bincount(reference.labels_)
    printed = [line.split()[:2] for line in lines]
    assert printed == [[str(k), str(size)] for k, size in enumerate(sizes)]
    assert err == f"modeseek: {reference.decision_}\nmodeseek: wrote {written}\n"


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "npy"])
def test_every_format_gives_the_same_clusters(tmp_path, reference, kind):
    path = tmp_path / f"rows.{kind}"
    table = pa.table({"u": X[:, 0], "v": X[:, 1]})
    if kind == "csv":
        write_csv(path)
    elif kind == "npy":
        np.save(path, X)
    elif kind == "parquet":
        pa.parquet.write_table(table, path)
    else:
        pa.feather.write_feather(table, path)
    assert run(["cluster", str(path), "--quiet"]) == 0
    place = tmp_path / f"rows.clusters.{kind}"
    if kind == "npy":
        labels = np.load(place)[:, 2]
    elif kind == "csv":
        labels = labels_of(read_csv(place))
    elif kind == "parquet":
        labels = labels_of(pa.parquet.read_table(place))
    else:
        labels = labels_of(pa.feather.read_table(place))
    np.testing.assert_array_equal(labels, reference.labels_)


def test_cytometry_is_transformed_and_written_back_as_it_was(tmp_path, capsys):
    rng = np.random.default_rng(0)
    linear = np.sinh(X - X.min(axis=0)) * 150
    scatter = rng.uniform(0, 1e5, size=(len(X), 1))
    clock = np.arange(len(X))[:, None]
    events = np.hstack([scatter, linear, clock]).astype(np.float32)
    detectors = ["FSC-A", "B530-A", "R660-A", "Time"]
    path = tmp_path / "cells.fcs"
    write_fcs(path, events, detectors, ["FSC-A", "CD3", "CD8", "Time"], {"op": "me"})
    assert run(["cluster", str(path), "--model", str(tmp_path / "cells.skops")]) == 0
    err = capsys.readouterr().err
    assert "not clustered by: Time (a clock)" in err
    assert "cofactor 150" in err
    import flowio

    written = flowio.FlowData(tmp_path / "cells.clusters.fcs")
    assert written.pnn_labels == [*detectors, "cluster"]
    assert written.pns_labels == ["", "CD3", "CD8", "", ""]
    assert written.text["op"] == "me"
    back = written.as_array()
    np.testing.assert_array_equal(back[:, :4], events)
    features = np.column_stack(
        [events[:, 0], np.arcsinh(events[:, 1:3].astype(float) / 150)]
    )
    expected = ModeClustering().fit(features).labels_
    np.testing.assert_array_equal(back[:, 4], expected)
    assert load_model(tmp_path / "cells.skops").cofactors == (0.0, 150.0, 150.0)
    assert run(["predict", str(tmp_path / "cells.skops"), str(path), "--force"]) == 0
    again = flowio.FlowData(tmp_path / "cells.clusters.fcs").as_array()
    np.testing.assert_array_equal(again, back)


def test_a_cofactor_can_be_given_for_any_table(tmp_path):
    path = write_csv(tmp_path / "counts.csv", 5 * np.sinh(X))
    assert run(["cluster", str(path), "--cofactor", "5", "-q"]) == 0
    expected = ModeClustering().fit(np.arcsinh(5 * np.sinh(X) / 5)).labels_
    labels = labels_of(read_csv(tmp_path / "counts.clusters.csv"))
    np.testing.assert_array_equal(labels, expected)


def test_a_model_predicts_what_it_was_fitted_to(rows, reference, tmp_path):
    model, out = tmp_path / "toy.skops", tmp_path / "again.csv"
    assert run(["cluster", str(rows), "--model", str(model), "-q"]) == 0
    assert load_model(model).columns == ("u", "v")
    # Columns go by name, wherever they stand.
    swapped = write_csv(tmp_path / "swapped.csv", X[:, ::-1], "v,u")
    assert run(["predict", str(model), str(swapped), "-o", str(out), "-q"]) == 0
    np.testing.assert_array_equal(labels_of(read_csv(out)), reference.labels_)


def test_a_model_of_the_library_predicts_too(tmp_path, capsys):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["u", "v"])
    quick = ModeClustering(LogDensityGradient(bandwidth=1.0, alpha=0.1)).fit(frame)
    save_model(tmp_path / "toy.skops", quick)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model, table = str(tmp_path / "toy.skops"), str(tmp_path / "rows.csv")
    assert run(["predict", model, table]) == 0
    assert "warning" not in capsys.readouterr().err
    labels = labels_of(read_csv(tmp_path / "rows.clusters.csv"))
    np.testing.assert_array_equal(labels, quick.labels_)


@pytest.mark.parametrize("dropped", [False, True])
def test_rows_with_missing_values_are_counted_and_said(
    tmp_path, reference, capsys, dropped
):
    lines = write_csv(tmp_path / "rows.csv").read_text().splitlines()
    gaps = [",1", "NA,2", "3,"]
    (tmp_path / "rows.csv").write_text("\n".join([lines[0], *gaps, *lines[1:]]))
    options = ["--drop-missing"] if dropped else []
    assert run(["cluster", str(tmp_path / "rows.csv"), *options]) == 0
    how = "left out" if dropped else "kept, with no cluster"
    err = capsys.readouterr().err
    assert f"3 of 203 rows have missing values and were {how}" in err
    labels = labels_of(read_csv(tmp_path / "rows.clusters.csv"))
    if dropped:
        np.testing.assert_array_equal(labels, reference.labels_)
    else:
        assert labels[:3].tolist() == [None] * 3
        np.testing.assert_array_equal(labels[3:].astype(int), reference.labels_)
        text = (tmp_path / "rows.clusters.csv").read_text().splitlines()
        assert text[1:4] == [",1,", "NA,2,", "3,,"]


def test_columns_are_chosen(tmp_path, reference, capsys):
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((len(X), 1))
    table = np.hstack([noise, X])
    path = write_csv(tmp_path / "rows.csv", table, 'noise,"u,1",v')
    expected = reference.labels_
    for options in (
        ["--drop-columns", "noise"],
        ["-c", "u,1", "-c", "v,noise", "--drop-columns", "noise"],
    ):
        assert run(["cluster", str(path), *options, "--force"]) == 0
        labels = labels_of(read_csv(tmp_path / "rows.clusters.csv"))
        np.testing.assert_array_equal(labels, expected)
    capsys.readouterr()
    assert run(["cluster", str(path), "-c", "w", "--force"]) == BAD_DATA
    assert "no column 'w'; there are 'noise', 'u,1', 'v'" in capsys.readouterr().err


def test_columns_that_are_no_measurements_are_left_out_and_named(tmp_path, capsys):
    rng = np.random.default_rng(0)
    year, number = rng.integers(2007, 2010, len(X)), rng.permutation(len(X))
    table = np.column_stack([number, X, year, np.full(len(X), 3)])
    path = write_csv(tmp_path / "rows.csv", table, "number,u,v,year,site")
    expected = ModeClustering().fit_predict(X)
    assert run(["cluster", str(path)]) == 0
    assert (
        "not clustered by: number (numbers the rows), year (3 values), site (one "
        "value); --columns chooses"
    ) in capsys.readouterr().err
    labels = labels_of(read_csv(tmp_path / "rows.clusters.csv"))
    np.testing.assert_array_equal(labels, expected)
    written = tmp_path / "rows.parquet"
    assert run(["cluster", str(path), "-q", "-o", str(written)]) == 0
    kept = pa.parquet.read_table(written)
    np.testing.assert_array_equal(kept["year"], year)  # still numbers
    assert run(["cluster", str(path), "--force", "-c", "u,v,year"]) == 0
    assert "not clustered by" not in capsys.readouterr().err
    labels = labels_of(read_csv(tmp_path / "rows.clusters.csv"))
    assert len(set(labels)) > len(set(expected))


def test_a_guess_at_the_dialect_is_told(tmp_path, capsys, reference):
    path = tmp_path / "rows.csv"
    lines = [f"{u};{v}".replace(".", ",") for u, v in X]
    path.write_text("\n".join(["größe;v", *lines, ""]), encoding="latin-1")
    assert run(["cluster", str(path)]) == 0
    told = capsys.readouterr().err
    assert "is read as cp1252 (--encoding sets another) and with decimal commas" in told
    written = (tmp_path / "rows.clusters.csv").read_text(encoding="latin-1")
    first, second, *_ = written.splitlines()
    assert first == "größe;v;cluster"
    assert second == f"{lines[0]};{reference.labels_[0]}"
    given = ["--encoding", "latin-1", "--decimal", ",", "--delimiter", ";"]
    assert run(["cluster", str(path), "--force", "-q", *given]) == 0
    assert (tmp_path / "rows.clusters.csv").read_text(encoding="latin-1") == written


def test_a_table_of_excel_comes_back_with_its_clusters(tmp_path, reference):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [("u", "v", "note"), *((u, v, "=1+1") for u, v in X.tolist())]:
        book.active.append(row)
    book["Sheet"]["C2"].data_type = "s"
    book.save(tmp_path / "rows.xlsx")
    assert run(["cluster", str(tmp_path / "rows.xlsx"), "-q"]) == 0
    sheet = openpyxl.load_workbook(tmp_path / "rows.clusters.xlsx").active
    first, *rest = sheet.iter_rows(values_only=True)
    assert first == ("u", "v", "note", "cluster")
    assert [row[3] for row in rest] == reference.labels_.tolist()
    assert sheet["C2"].data_type == "s"  # text, though it looks like a formula


def test_raw_takes_columns_in_their_unit(tmp_path):
    stretched = X * [1.0, 50.0]
    path = write_csv(tmp_path / "rows.csv", stretched)
    assert run(["cluster", str(path), "--raw", "-q", "--seed", "3"]) == 0
    estimator = LogDensityGradient(bandwidth="cv", random_state=3)
    expected = ModeClustering(estimator, random_state=3).fit(stretched).labels_
    labels = labels_of(read_csv(tmp_path / "rows.clusters.csv"))
    np.testing.assert_array_equal(labels, expected)


def test_levels_of_the_tree(rows, reference, tmp_path, capsys):
    model, out = tmp_path / "toy.skops", tmp_path / "out.csv"
    base = ["cluster", str(rows), "-o", str(out), "--force", "-q", "-m", str(model)]
    assert run([*base, "--n-clusters", "2"]) == 0
    expected = reference.cut(n_clusters=2)
    np.testing.assert_array_equal(labels_of(read_csv(out)), expected)
    # The level is the model's: predict keeps to it.
    named = pa.table({"u": X[:, 0], "v": X[:, 1]})
    np.testing.assert_array_equal(load_model(model).model.predict(named), expected)
    assert run([*base, "--prominence", "0"]) == 0
    expected = reference.cut(prominence=0.0)
    np.testing.assert_array_equal(labels_of(read_csv(out)), expected)
    assert run([*base, "--prominence", "100"]) == 0
    assert set(labels_of(read_csv(out))) == {0}
    assert run([*base, "--n-clusters", "1"]) == 0
    assert set(labels_of(read_csv(out))) == {0}
    capsys.readouterr()
    assert run([*base, "--n-clusters", "999"]) == 0
    assert "modes, fewer than n_clusters=999: each is a" in capsys.readouterr().err


def test_a_number_of_clusters_among_ties_is_taken(tmp_path, capsys):
    model = ModeClustering(LogDensityGradient(bandwidth=0.5, alpha=0.1)).fit(X)
    tree = model.merge_tree_
    assert len(tree.child) > 2
    tied = np.full(len(tree.child), 0.7)
    model.merge_tree_ = tree._replace(prominence=tied)
    save_model(tmp_path / "toy.skops", model, columns=["u", "v"])
    assert run(["tree", str(tmp_path / "toy.skops"), "--n-clusters", "2"]) == 0
    assert capsys.readouterr().out.count("cluster ") == 2


def use_batches(monkeypatch, n_rows):
    """Read tables in batches of so many rows."""
    monkeypatch.setattr("modeseek.cli.tables.BATCH_ROWS", n_rows)
    monkeypatch.setattr("modeseek.cli.features.BATCH_ROWS", n_rows)


def test_a_table_of_many_batches_is_read_by_the_fit(
    rows, reference, tmp_path, monkeypatch
):
    use_batches(monkeypatch, 64)
    given, stages = [], []
    fit = ModeClustering.fit

    def spy(self, X):
        given.append(X)
        return fit(self, X)

    @contextmanager
    def record():
        yield lambda stage, share: stages.append((stage, share))

    monkeypatch.setattr("modeseek.cluster.ModeClustering.fit", spy)
    monkeypatch.setattr("modeseek.cli.tasks.stages", record)
    model = tmp_path / "toy.skops"
    assert run(["cluster", str(rows), "-q", "-m", str(model)]) == 0
    labels = labels_of(read_csv(rows.with_name("rows.clusters.csv")))
    np.testing.assert_array_equal(labels, reference.labels_)
    assert callable(given[0])
    assert [len(chunk) for chunk in given[0]()] == [64, 64, 64, 8]
    assert load_model(model).model.feature_names_in_.tolist() == ["u", "v"]
    assert {share for _, share in stages} == {0.32, 0.64, 0.96, 1.0}
    assert stages[0][0] == f"fitting {rows}, reading 1"


def test_larger_files_are_fitted_on_some_rows_and_labelled_whole(
    tmp_path, capsys, monkeypatch
):
    many, _ = three_gaussians().sample(3000, random_state=0)
    path = write_csv(tmp_path / "rows.csv", many)
    base = ["cluster", str(path), "--max-rows", "400", "--raw"]
    assert run(base) == 0
    assert "fitted on 400 of 3,000 rows, drawn at random" in capsys.readouterr().err
    place = tmp_path / "rows.clusters.csv"
    labels = labels_of(read_csv(place))
    assert len(labels) == 3000
    first = place.read_bytes()
    # The draw is of the seed, not of the batches.
    use_batches(monkeypatch, 100)
    assert run([*base, "--force", "-q"]) == 0
    assert place.read_bytes() == first
    assert run([*base, "--force", "-q", "--seed", "1"]) == 0
    assert place.read_bytes() != first


def test_what_does_not_fit_in_memory_is_drawn_from(monkeypatch, rows, capsys):
    monkeypatch.setattr("modeseek.cli.features.free_memory", lambda: 0)
    use_batches(monkeypatch, 50)
    assert run(["cluster", str(rows), "--raw"]) == 0
    assert "fitted on 50 of 200 rows, drawn at random" in capsys.readouterr().err


def test_threads_do_not_matter(rows):
    place = rows.with_name("rows.clusters.csv")
    assert run(["cluster", str(rows), "-q", "-j", "1"]) == 0
    one = place.read_bytes()
    assert run(["cluster", str(rows), "-q", "-j", "2", "--force"]) == 0
    assert place.read_bytes() == one


def test_tree_prints_every_mode_below_its_parent(rows, reference, tmp_path, capsys):
    assert run(["tree", str(rows)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("cluster")
    heads = [line for line in out.splitlines() if "cluster" in line or "merged" in line]
    assert len(heads) == len(reference.modes_)
    assert sum("cluster" in line for line in heads) == reference.n_clusters_
    assert "highest" in heads[0]
    model = tmp_path / "toy.skops"
    save_model(model, reference, columns=["u", "v"])
    assert run(["tree", str(model)]) == 0
    assert capsys.readouterr().out == out
    assert run(["tree", str(model), "--n-clusters", "1"]) == 0
    assert capsys.readouterr().out.count("cluster ") == 1


def test_report_writes_a_page(rows, tmp_path, capsys):
    assert run(["report", str(rows)]) == 0
    assert "wrote" in capsys.readouterr().err
    page = (tmp_path / "rows.html").read_text("utf-8")
    assert "rows.csv" in page
    assert run(["report", str(rows)]) == USAGE
    model = str(tmp_path / "toy.skops")
    assert run(["cluster", str(rows), "-m", model, "-q"]) == 0
    assert run(["report", str(rows), "-m", model, "--force", "-q"]) == 0


def data_of_page(path):
    packed = re.search(r'<script id="data" type="text/plain">(.*?)<', path.read_text())
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


@pytest.fixture
def birds(tmp_path):
    """A table with names, text and a missing value, and a map of its rows."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2)) + np.repeat([[0.0], [9.0]], 20, axis=0)
    lines = [f"bird {i},{x:.3f},{y:.3f},kind {i % 3}" for i, (x, y) in enumerate(rows)]
    lines[3] = "bird 3,,1,kind 0"
    table = tmp_path / "birds.csv"
    table.write_text("\n".join(["name,x,y,kind", *lines]) + "\n")
    np.save(tmp_path / "map.npy", np.column_stack([np.arange(40.0) / 7, rows[:, 1]]))
    return table


@pytest.mark.parametrize("drawn", [[], ["--max-rows", "25"]])
def test_report_tells_names_columns_and_places(birds, tmp_path, drawn):
    told = ["--names", "name", "--hover", "kind,x", "--title", "My birds"]
    told += ["--embedding", str(tmp_path / "map.npy"), *drawn]
    assert run(["report", str(birds), *told, "-q"]) == 0
    assert "<h1>My birds</h1>" in (tmp_path / "birds.html").read_text()
    data = data_of_page(tmp_path / "birds.html")
    assert len(data["rowNames"]) == (25 if drawn else 39)
    numbers = [int(name.split()[1]) for name in data["rowNames"]]
    assert 3 not in numbers
    kind, x = data["hover"]
    assert [kind["name"], x["name"]] == ["kind", "x"]
    assert kind["values"] == [f"kind {i % 3}" for i in numbers]
    packed = base64.b64decode(data["embedding"]["values"]["bytes"])
    places = np.frombuffer(packed, "<f4").reshape(-1, 2)
    np.testing.assert_allclose(places[:, 0], np.array(numbers) / 7, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--names", "nobody"], BAD_DATA, "birds.csv: no column 'nobody' to show."),
        (["--hover", "x,nobody"], BAD_DATA, "no column 'nobody' to show."),
        (["--embedding", "none.csv"], BAD_DATA, "none.csv: No such file"),
        (["--embedding", "short.csv"], BAD_DATA, "2 places, but the table has 40 rows"),
        (["--embedding", "wide.csv"], BAD_DATA, "two columns of numbers; this has 3"),
        (["--title", " "], USAGE, "--title must not be empty"),
    ],
)
def test_report_refuses_what_it_cannot_tell(
    birds, tmp_path, monkeypatch, capsys, arguments, code, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.csv").write_text("u,v\n1.5,2\n3,4\n")
    (tmp_path / "wide.csv").write_text("u,v,w\n1.5,2,3\n3,4,3\n")
    assert run(["report", "birds.csv", *arguments]) == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "birds.html").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["clusterr"], USAGE, "No such command 'clusterr'"),
        (["cluster"], USAGE, "Missing argument"),
        (["cluster", "{rows}", "--what"], USAGE, "No such option"),
        (["cluster", "{rows}", "--seed", "-1"], USAGE, "--seed"),
        (["cluster", "{rows}", "--seed", "x"], USAGE, "--seed"),
        (["cluster", "{rows}", "--prominence", "nan"], USAGE, "--prominence"),
        (["cluster", "{rows}", "--cofactor", "inf"], USAGE, "a finite number"),
        (["cluster", "{rows}", "--jobs", "0"], USAGE, "--jobs must not be 0"),
        (["cluster", "{rows}", "--delimiter", ",,"], USAGE, "--delimiter"),
        (["cluster", "{rows}", "--decimal", "x"], USAGE, "--decimal"),
        (["cluster", "{rows}", "--encoding", "klingon"], USAGE, "--encoding"),
        (["cluster", "{rows}", "-o", "{folder}/x.xls"], USAGE, "--format says which"),
        (["cluster", "{rows}", "--cluster-column", " "], USAGE, "--cluster-column"),
        (["cluster", "{rows}", "--cluster-column", "u"], USAGE, "a column 'u' already"),
        (
            ["cluster", "{rows}", "--prominence", "1", "--n-clusters", "2"],
            USAGE,
            "either --prominence or --n-clusters",
        ),
        (["cluster", "{rows}", "-o", "{rows}"], USAGE, "exists already: --force"),
        (["cluster", "{rows}", "-m", "{rows}"], USAGE, "exists already: --force"),
        (["cluster", "{folder}/no.csv"], BAD_DATA, "no.csv: No such file"),
        (["cluster", "{folder}"], BAD_DATA, "Is a directory"),
        (["cluster", "{rows}", "-o", "{folder}/no/x.csv"], BAD_DATA, "no such folder"),
        (["predict", "{rows}", "{rows}"], BAD_DATA, "not a model saved by modeseek"),
        (["tree", "{folder}/no.csv"], BAD_DATA, "no.csv: No such file"),
    ],
)
def test_errors_are_one_line(rows, tmp_path, capsys, arguments, code, message):
    before = files(tmp_path)
    given = [a.format(rows=rows, folder=tmp_path) for a in arguments]
    assert run(given) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert err.startswith("modeseek: ")
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u,v\n1,\n2,\n,3\n", "none of its 3 rows is without a missing value"),
        ("u,v\n1,2\n3,x4\n5,6\n", "row 2, column 'v': 'x4' is not a number"),
        ("u,v\n" + "1,2\n" * 90 + "3,x4\n", "row 91, column 'v': 'x4'"),
        ("u,v\n1,2\n3,1e305\n", "rows.csv: X has values up to 1e+305"),
        ("u\n\x1b[2J\n", "no column of numbers"),
        ("u\x1b[2J,u\x1b[2J\n1,2\n", r"called 'u\x1b[2J'"),
    ],
)
def test_bad_data_is_one_line_and_writes_nothing(tmp_path, capsys, text, message):
    (tmp_path / "rows.csv").write_text(text)
    model = str(tmp_path / "model.skops")
    assert run(["cluster", str(tmp_path / "rows.csv"), "-q", "-m", model]) == BAD_DATA
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert "\x1b" not in err
    assert files(tmp_path) == ["rows.csv"]


def test_a_failure_while_writing_leaves_what_was_there(rows, tmp_path, monkeypatch):
    place = tmp_path / "rows.clusters.csv"
    place.write_text("precious")
    before = files(tmp_path)

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("modeseek.cli.writers.csv_lines", fail)
    model = str(tmp_path / "model.skops")
    assert run(["cluster", str(rows), "--force", "-m", model]) == BAD_DATA
    assert place.read_text() == "precious"
    assert files(tmp_path) == before


def test_a_model_without_the_columns_of_a_table_is_refused(rows, tmp_path, capsys):
    model = str(tmp_path / "toy.skops")
    assert run(["cluster", str(rows), "-m", model, "-q", "--raw"]) == 0
    other = write_csv(tmp_path / "other.csv", X, "u,w")
    assert run(["predict", model, str(other)]) == BAD_DATA
    assert "no column 'v', which the model needs" in capsys.readouterr().err
    assert not (tmp_path / "other.clusters.csv").exists()


def test_warnings_are_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "modeseek.cluster.fitting._warn_of_moving_rows",
        lambda climbed, n: warnings.warn("still\nmoving", stacklevel=2),
    )
    path = write_csv(tmp_path / "rows.csv")
    assert run(["cluster", str(path), "-q", "--raw"]) == 0
    assert capsys.readouterr().err == "modeseek: warning: still moving\n"


@pytest.mark.parametrize("n_rows", [100, 40])
def test_rounded_columns_are_told_by_name(tmp_path, capsys, monkeypatch, n_rows):
    use_batches(monkeypatch, n_rows)
    path = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    table = {"height": rng.normal(size=90), "class": rng.integers(0, 7, 90) / 2}
    path.write_text(
        "height,class\n"
        + "".join(f"{h},{c}\n" for h, c in zip(*table.values(), strict=True))
    )
    assert run(["cluster", str(path), "-q"]) == 0
    err = capsys.readouterr().err
    assert "warning: 1 feature has few distinct values" in err
    assert "'class' (7 values, steps of 0.5)" in err
    assert err.count("\n") == 1


def test_a_fault_of_the_program_is_one_line_too(rows, capsys, monkeypatch):
    def fail(*args, **kwargs):
        raise KeyError("lost")

    monkeypatch.setattr("modeseek.cluster.ModeClustering.fit", fail)
    assert run(["cluster", str(rows)]) == INTERNAL
    err = capsys.readouterr().err
    assert "please report it (KeyError: 'lost')" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("package", "command", "said"),
    [
        ("pyarrow", "cluster", "this needs pyarrow: pip install 'modeseek[cli]'"),
        ("rich", "tree", "this needs rich.console: pip install 'modeseek[cli]'"),
        ("typer", "cluster", "needs typer: pip install 'modeseek[cli]'"),
        ("openpyxl", "cluster", "this needs openpyxl: pip install 'modeseek[excel]'"),
    ],
)
def test_a_missing_extra_is_named(rows, package, command, said):
    output = ["-o", "x.xlsx"] if package == "openpyxl" else []
    code = (
        f"import sys; sys.modules[{package!r}] = None; "
        f"sys.argv = ['modeseek', {command!r}, {str(rows)!r}] + {output!r}; "
        "from modeseek.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == BAD_DATA
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command", [[], ["cluster"], ["predict"], ["tree"], ["report"]]
)
def test_help_has_examples(command):
    result = CliRunner().invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    assert "Examples" in result.output
    assert f"modeseek {' '.join(command)}".strip() in result.output


def help_of(command):
    """The help of a command, on one line."""
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    return " ".join(result.output.replace("│", " ").split())


def test_help_gives_the_contrast_that_segment_takes():
    pytest.importorskip("skimage")
    from modeseek.image.model import CONTRAST

    assert f"0 joins none. By default {CONTRAST}." in help_of("segment")


@pytest.mark.parametrize(
    ("command", "n_files"),
    [
        *(("cluster", 1), ("predict", 2), ("tree", 1), ("report", 1), ("compare", 3)),
        *(("segment", 1), ("smooth", 1)),
    ],
)
def test_a_missing_file_is_told_before_anything_is_imported(command, n_files, tmp_path):
    given = [command, *["no.csv"] * n_files]
    code = (
        "import sys; from modeseek.cli.commands import run; "
        f"code = run({given!r}); print(code, 'numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stderr == "modeseek: no.csv: No such file or directory\n"
    assert done.stdout == f"{BAD_DATA} False\n"


def test_help_does_not_promise_a_prominence_that_is_not_the_rule():
    said = help_of("cluster")
    assert "By default modes are merged that chance may have made." in said
    assert "By default 0.3" not in said


def test_no_command_is_help_and_version_is_the_version(capsys):
    assert run([]) == 0
    assert "Usage" in capsys.readouterr().out
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("modeseek 0.")


def test_standard_input_and_output(monkeypatch, capsys, reference, rows):
    content = rows.read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert run(["cluster", "-"]) == 0
    out, err = capsys.readouterr()
    np.testing.assert_array_equal(
        labels_of(read_csv(io.BytesIO(out.encode()))), reference.labels_
    )
    assert "prominence" in err  # the table of clusters makes room for the rows


def test_programs_can_be_piped_together(tmp_path, reference):
    pa.parquet.write_table(
        pa.table({"u": X[:, 0], "v": X[:, 1]}), tmp_path / "rows.parquet"
    )
    model = str(tmp_path / "toy.skops")
    first = subprocess.run(
        [*PROGRAM, "cluster", "-", "-m", model, "--cluster-column", "was", "-q"],
        input=(tmp_path / "rows.parquet").read_bytes(),
        capture_output=True,
        check=True,
    )
    assert first.stderr == b""
    second = subprocess.run(
        [*PROGRAM, "predict", model, "-", "--format", "csv"],
        input=first.stdout,
        capture_output=True,
        check=True,
    )
    table = read_csv(io.BytesIO(second.stdout))
    assert table.column_names == ["u", "v", "was", "cluster"]
    np.testing.assert_array_equal(labels_of(table), reference.labels_)
    np.testing.assert_array_equal(table["was"], reference.labels_)


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
def test_a_named_pipe_is_a_file(tmp_path, reference):
    pipe = tmp_path / "rows"
    os.mkfifo(pipe)
    program = subprocess.Popen(
        [*PROGRAM, "cluster", str(pipe), "-o", "-", "-q"], stdout=subprocess.PIPE
    )
    write_csv(tmp_path / "rows.csv")
    pipe.write_bytes((tmp_path / "rows.csv").read_bytes())
    out, _ = program.communicate()
    assert program.returncode == 0
    np.testing.assert_array_equal(
        labels_of(read_csv(io.BytesIO(out))), reference.labels_
    )


@pytest.mark.skipif(os.name != "posix", reason="needs pipes that break")
def test_a_reader_that_leaves_is_no_error_to_speak_of(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.tile(X, (200, 1)))
    program = subprocess.Popen(
        [*PROGRAM, "cluster", str(path), "--raw", "-o", "-", "-q", "--max-rows", "99"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    program.stdout.close()
    err = program.stderr.read()
    program.stderr.close()
    assert program.wait() == BROKEN_PIPE
    assert err == b""


#: Seconds after which a program is taken to stand still, also on a busy machine.
PATIENCE = 600


@contextmanager
def started(arguments, folder):
    """Start a program on rows that keep it busy; it has ended afterwards."""
    rng = np.random.default_rng(0)
    np.save(folder / "big.npy", rng.standard_normal((400_000, 8)))
    with subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def wait_until(program, is_met):
    """Wait for a condition while the program runs."""
    deadline = time.monotonic() + PATIENCE
    while not is_met():
        assert program.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)


def listens(program):
    """Whether the program takes signals, before which Python itself starts.

    On a busy machine that takes seconds. The program takes SIGTERM, which Python leaves
    alone, right after Ctrl-C. Where the system does not tell, it gets a second.
    """
    status = Path(f"/proc/{program.pid}/status")
    if not status.exists():
        time.sleep(1.0)
        return True
    taken = re.search(r"^SigCgt:\s*(\w+)$", status.read_text(), re.MULTILINE)
    return bool(int(taken[1], 16) >> (signal.SIGTERM - 1) & 1)


def has_worked(program, seconds):
    """Whether the program has had so much of a processor, however busy that is."""
    stat = Path(f"/proc/{program.pid}/stat")
    if not stat.exists():
        time.sleep(seconds)
        return True
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") >= seconds


def interrupt(program, folder):
    """Send Ctrl-C to a program: it says one line and leaves nothing in its folder."""
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=PATIENCE)
    assert program.returncode == INTERRUPTED
    assert err == "modeseek: interrupted\n"
    assert files(folder) == ["big.npy"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("work", [0.0, 0.5, 3.0])
def test_ctrl_c_is_one_line_and_leaves_nothing(tmp_path, work):
    """As it starts, while it imports and while it fits."""
    with started(["cluster", "big.npy", "-q", "-m", "big.skops"], tmp_path) as program:
        wait_until(program, lambda: listens(program))
        wait_until(program, lambda: has_worked(program, work))
        interrupt(program, tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_while_writing_leaves_nothing(tmp_path):
    arguments = ["cluster", "big.npy", "-q", "--raw", "--max-rows", "300"]
    with started(arguments, tmp_path) as program:
        wait_until(
            program, lambda: any(name.startswith(".") for name in files(tmp_path))
        )
        interrupt(program, tmp_path)


def test_shell_completion_knows_the_commands():
    shell = {"_MODESEEK_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    done = subprocess.run(
        PROGRAM,
        env={**os.environ, **shell, "COMP_WORDS": "modeseek cl"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["cluster"]
