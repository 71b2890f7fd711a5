"""What a new user types first, with tables as they come: each example whole."""

import io
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.cli.commands import BAD_DATA, USAGE, run
from modeseek.cluster import progress
from modeseek.rows import FeatureWarning
from modeseek.rows.rounding import RoundingWarning

MEASURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def make_penguins(n=330):
    """A table like that of the penguins: three species, four measures, three years."""
    rng = np.random.default_rng(0)
    species = np.sort(rng.choice(3, n, p=[0.44, 0.2, 0.36]))
    mean = np.array([[39, 18, 190, 3700], [49, 18, 196, 3730], [47, 15, 217, 5080]])
    X = mean[species] + rng.normal(size=(n, 4)) * [2.2, 0.9, 5.0, 300]
    table = pd.DataFrame(X.round(2), columns=MEASURES)
    table.insert(0, "species", np.array(["Adelie", "Chinstrap", "Gentoo"])[species])
    return table.assign(year=2007 + rng.integers(3, size=n))


PENGUINS = make_penguins()


@pytest.fixture(scope="module")
def expected():
    """Clusters by the measures alone."""
    return ModeClustering().fit_predict(PENGUINS[MEASURES])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PENGUINS.to_csv("penguins.csv", index=False)
    return tmp_path


def type_in(line):
    """Type a command."""
    return run(line.split()[1:])


def test_penguins_are_their_species_whatever_the_year(folder, expected, capsys):
    assert type_in("modeseek cluster penguins.csv") == 0
    said = capsys.readouterr().err
    assert (
        "not clustered by: species (text), year (3 values); --columns chooses" in said
    )
    found = pd.read_csv("penguins.clusters.csv")["cluster"]
    np.testing.assert_array_equal(found, expected)
    assert adjusted_rand_score(PENGUINS["species"], found) > 0.9
    chosen = ",".join([*MEASURES, "year"])
    command = f"modeseek cluster penguins.csv --columns {chosen} --force"
    assert type_in(command) == 0
    split = pd.read_csv("penguins.clusters.csv")["cluster"]
    assert split.nunique() > found.nunique()
    with pytest.warns(FeatureWarning, match=r"'year' \(3 values\)"):  # the same words
        model = ModeClustering().fit(PENGUINS[[*MEASURES, "year"]])
    np.testing.assert_array_equal(model.labels_, expected)


def test_an_id_does_not_split_penguins(folder, expected, capsys):
    numbered = PENGUINS[MEASURES].assign(id=np.arange(len(PENGUINS)) + 1, site=7)
    numbered.to_csv("penguins.csv", index=False)
    assert type_in("modeseek cluster penguins.csv") == 0
    said = capsys.readouterr().err
    assert "not clustered by: id (numbers the rows), site (one value)" in said
    found = pd.read_csv("penguins.clusters.csv")["cluster"]
    np.testing.assert_array_equal(found, expected)
    with pytest.warns(FeatureWarning, match=r"'id' \(numbers the rows\)"):
        model = ModeClustering().fit(numbered)
    np.testing.assert_array_equal(model.labels_, expected)


def test_a_code_for_missing_values_is_named(folder, capsys):
    coded = PENGUINS[MEASURES].copy()
    coded.loc[::20, "flipper_length_mm"] = -999
    coded.to_csv("penguins.csv", index=False)
    assert type_in("modeseek cluster penguins.csv") == 0
    out, err = capsys.readouterr()
    said = "far from all other values, in more than one row: 'flipper_length_mm' (-999)"
    assert said in err
    depths = [float(depth) for depth in re.findall(r"(\S+) ±", out)]
    assert 0 < max(depths) <= round(np.log(len(coded)), 2)
    with pytest.warns(FeatureWarning, match=re.escape(said)):
        ModeClustering().fit(coded)


def test_a_prominence_beyond_what_a_density_can_mean_is_a_gap(folder, capsys):
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:100] -= 9999
    pd.DataFrame(X, columns=["u", "v"]).to_csv("far.csv", index=False)
    assert type_in("modeseek cluster far.csv") == 0
    out, err = capsys.readouterr()
    assert len(re.findall(r"\d, a gap", out)) == 1
    assert "modeseek: a gap: no row lies between" in err
    assert "such as -999 for missing ones, make gaps" in err
    assert str(ModeClustering().fit(X).merge_tree_).count(", a gap") == 1


def test_rounding_is_told_as_it_is():
    with pytest.warns(RoundingWarning, match="that rounding made equal count once"):
        ModeClustering().fit(load_iris().data)


def test_fifty_dimensions_have_scores_and_memberships_that_mean_something():
    X, y = make_blobs(1500, n_features=50, centers=5, cluster_std=4, random_state=0)
    model = ModeClustering().fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert np.median(model.probabilities_) > 0.95
    np.testing.assert_allclose(np.mean(model.outlier_scores_ > 0.95), 0.05, atol=0.01)


@pytest.mark.parametrize("d", [2, 20])
def test_along_the_graph_scores_mean_the_same_in_any_dimension(d):
    X, _ = make_blobs(3000, n_features=d, centers=3, random_state=1)
    model = ModeClustering(ascent="rows").fit(X[:1500])
    inliers = model.outlier_score(X[1500:])
    np.testing.assert_allclose(np.quantile(inliers, 0.95), 0.95, atol=0.02)


def csv_of(**options):
    return lambda: PENGUINS.to_csv("rows", index=False, **options)


FILES = {
    "index.csv": lambda: PENGUINS.to_csv("rows"),
    "latin.csv": lambda: PENGUINS.rename(columns={"year": "année"}).to_csv(
        "rows", index=False, encoding="latin-1"
    ),
    "utf16.csv": csv_of(encoding="utf-16"),
    "commas.csv": csv_of(sep=";", decimal=","),
    "packed.csv.gz": csv_of(compression="gzip"),
    "lines.jsonl": lambda: PENGUINS.to_json("rows", orient="records", lines=True),
    "book.xlsx": lambda: PENGUINS.to_excel("rows", index=False, engine="openpyxl"),
}


@pytest.mark.parametrize("name", FILES)
def test_tables_are_read_as_they_come(folder, expected, name):
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    FILES[name]()
    (folder / "rows").rename(folder / name)
    assert type_in(f"modeseek cluster {name} -o found.csv") == 0
    encoding = "utf-16" if name == "utf16.csv" else "latin-1"
    found = pd.read_csv("found.csv", sep=None, engine="python", encoding=encoding)
    np.testing.assert_array_equal(found["cluster"], expected)


@pytest.mark.parametrize("name", ["found.xlsx", "found.jsonl", "found.parquet"])
def test_tables_are_written_by_their_ending(folder, expected, name):
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    assert type_in(f"modeseek cluster penguins.csv -o {name} -q") == 0
    read = {
        "found.xlsx": pd.read_excel,
        "found.jsonl": lambda path: pd.read_json(path, lines=True),
        "found.parquet": pd.read_parquet,
    }
    found = read[name](name)
    np.testing.assert_array_equal(found["cluster"], expected)
    np.testing.assert_array_equal(found["year"], PENGUINS["year"])


def test_standard_input_is_a_table(folder, expected, monkeypatch, capsys):
    content = io.BytesIO((folder / "penguins.csv").read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content))
    assert type_in("modeseek cluster - -q") == 0
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    np.testing.assert_array_equal(found["cluster"], expected)


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("modeseek cluster penguins.csv -o x.abc", USAGE, "x.abc: no format has this"),
        ("modeseek cluster penguins.csv -o x.xls", USAGE, "x.xls: no format has this"),
        ("modeseek cluster array.json", BAD_DATA, "array.json: a JSON array; write an"),
        ("modeseek cluster array.jsonl", BAD_DATA, "a JSON array; write an object on"),
        ("modeseek cluster old.xls", BAD_DATA, "old Excel; save it as .xlsx or CSV"),
        ("modeseek cluster nothing.csv", BAD_DATA, "nothing.csv: No such file"),
    ],
)
def test_what_is_not_read_or_written_is_said_in_one_line(
    folder, capsys, command, code, said
):
    for name in ("array.json", "array.jsonl"):
        PENGUINS.to_json(name, orient="records", indent=1)
    (folder / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    assert type_in(command) == code
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not (folder / "x.abc").exists()


def test_a_loop_over_groups_does_not_break(expected):
    table = PENGUINS.assign(cluster=-1)
    table.loc[table["species"] == "Chinstrap", MEASURES] = 1.0
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundingWarning)
        warnings.filterwarnings("ignore", "All rows of X are equal: that is one")
        for species, group in table.groupby("species"):
            found[species] = ModeClustering().fit_predict(group[MEASURES])
    assert set(found) == set(PENGUINS["species"])
    assert not found["Chinstrap"].any()


def test_models_are_compared(folder, capsys):
    assert type_in("modeseek cluster penguins.csv -q -m a.skops") == 0
    command = "modeseek cluster penguins.csv -q -m b.skops --n-clusters 2 --force"
    assert type_in(command) == 0
    capsys.readouterr()
    assert type_in("modeseek compare a.skops b.skops penguins.csv -p c.png") == 0
    out, err = capsys.readouterr()
    assert "adjusted Rand index" in out
    assert "kept as" in out
    assert err.count("Rows climb along the gradient") == 2
    assert (folder / "c.png").exists()


def test_progress_is_shown_after_five_seconds():
    assert progress.PATIENCE == 5.0
