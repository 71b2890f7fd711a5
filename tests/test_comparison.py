"""How two clusterings of the same samples differ, as a table and as a picture."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from modeseek import KernelDensityGradient, ModeClustering, compare_clusterings
from modeseek.cli.commands import BAD_DATA, USAGE, run
from modeseek.datasets import three_gaussians
from modeseek.persist import save_model
from modeseek.plot import ComparisonDisplay
from modeseek.plot.drawing import COLORS

X, _ = three_gaussians().sample(300, random_state=0)


@pytest.fixture(scope="module")
def model():
    return ModeClustering(KernelDensityGradient(0.5)).fit(X).recut(n_clusters=3)


def spread(counts):
    """Labels of two clusterings whose clusters share so many samples."""
    counts = np.array(counts)
    one, other = np.nonzero(counts)
    times = counts[one, other]
    return np.repeat(one, times), np.repeat(other, times)


def test_overlap_and_index_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    one, other = rng.integers(5, size=(2, 200))
    found = compare_clusterings(one, other)
    np.testing.assert_array_equal(found.overlap, contingency_matrix(one, other))
    assert found.adjusted_rand == adjusted_rand_score(one, other)


def test_jaccard_is_shared_samples_by_all():
    one, other = np.random.default_rng(0).integers(4, size=(2, 100))
    found = compare_clusterings(one, other)
    for i, j in np.ndindex(found.jaccard.shape):
        mine, theirs = set(np.flatnonzero(one == i)), set(np.flatnonzero(other == j))
        assert found.jaccard[i, j] == len(mine & theirs) / len(mine | theirs)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([[0, 50], [70, 0]], ["same as 1", "same as 0"]),
        ([[50, 2], [3, 70]], ["kept as 0", "kept as 1"]),
        ([[30, 30, 0], [0, 0, 9]], ["split into 0, 1", "same as 2"]),
        ([[90, 4, 4]], ["kept as 0"]),
        ([[60, 40]], ["split into 0, 1"]),
        ([[50], [8]], ["kept as 0, with 1", "merged into 0"]),
        ([[20], [20], [20]], ["merged into 0"] * 3),
        ([[4, 4, 4], [20, 20, 20]], ["scattered over 0, 1, 2", "split into 0, 1, 2"]),
        ([[30, 10], [30, 0]], ["split into 0, 1", "merged into 0"]),
    ],
)
def test_words_say_what_became_of_each_cluster(counts, words):
    assert compare_clusterings(*spread(counts)).changes() == words


def test_table_matches_each_cluster_with_the_one_most_like_it():
    table = compare_clusterings(*spread([[50, 2, 0], [3, 70, 20]])).to_pandas()
    assert table.index.tolist() == [0, 1]
    assert table["size"].tolist() == [52, 93]
    assert table["match"].tolist() == [0, 1]
    assert table["match_size"].tolist() == [53, 72]
    assert table["overlap"].tolist() == [50, 70]
    np.testing.assert_allclose(table["jaccard"], [50 / 55, 70 / 95])


def test_models_are_compared_by_their_labels_or_on_other_samples(model):
    other = KMeans(4, random_state=0, n_init=1).fit(X)
    fitted = compare_clusterings(model, other)
    by_labels = compare_clusterings(model.labels_, other.labels_)
    np.testing.assert_array_equal(fitted.overlap, by_labels.overlap)
    fresh, _ = three_gaussians().sample(80, random_state=1)
    asked = compare_clusterings(model, other, fresh)
    predicted = compare_clusterings(model.predict(fresh), other.predict(fresh))
    np.testing.assert_array_equal(asked.overlap, predicted.overlap)
    assert asked.overlap.sum() == 80


def test_noise_is_called_so():
    one, other = spread([[40, 10], [0, 30]])
    found = compare_clusterings(one - 1, other)
    assert found.lines()[1][0] == "noise"
    assert found.clusters.tolist() == [-1, 0]
    assert compare_clusterings(other, one - 1).changes()[0] == "kept as noise"


def test_print_and_notebooks_show_the_table(model):
    found = compare_clusterings(model, model.cut(n_clusters=2))
    title, *lines = str(found).splitlines()
    assert title == repr(found)
    assert title.startswith("Comparison(3 with 2 clusters, adjusted Rand index 0.")
    titles = "cluster size match match size overlap jaccard change"
    assert " ".join(lines[0].split()) == titles
    html = found._repr_html_()
    for line, words in zip(lines[1:], found.changes(), strict=True):
        assert line.endswith(words)
        assert words in html


def test_lazy_labels_are_computed(model):
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(model.labels_, chunks=100)
    assert compare_clusterings(lazy, model).adjusted_rand == 1.0


@pytest.mark.parametrize(
    ("one", "other", "match"),
    [
        ([0, 1], [0, 1, 1], "same samples; got 2 and 3"),
        ([0.5, 1.0], [0, 1], "one must be a fitted clusterer or its labels"),
        ([0, 1], [[0, 1]], "other must be a fitted clusterer or its labels"),
        ([], [], "one must be"),
    ],
)
def test_what_are_no_labels_is_refused(one, other, match):
    with pytest.raises(ValueError, match=match):
        compare_clusterings(one, other)


def test_unfitted_models_are_refused():
    with pytest.raises(NotFittedError):
        compare_clusterings(ModeClustering(), [0, 1])


def test_bands_are_as_high_as_the_samples_two_clusters_share():
    counts = np.array([[5, 0, 7], [0, 20, 1]])
    display = ComparisonDisplay.from_clusterings(
        *spread(counts), names=("before", "after")
    )
    display.figure_.canvas.draw()
    heights = []
    for band in display.ax_.collections:
        (path,) = band.get_paths()
        x, y = path.vertices.T
        heights.append(np.ptp(y[x == x.min()]))
    # From the top down, the right ones by where their samples come from: 0, 2, 1.
    np.testing.assert_allclose(heights, [5, 7, 1, 20])
    ticks = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert ticks == ["before", "after"]
    bars = display.ax_.patches
    assert [abs(bar.get_height()) for bar in bars] == [12, 21, 5, 20, 8]
    assert to_hex(bars[0].get_facecolor()).upper() == COLORS[0]
    names = {text.get_text() for text in display.ax_.texts}
    assert names == {"0 (12)", "1 (21)", "0 (5)", "1 (20)", "2 (8)"}


@pytest.fixture
def files(model, tmp_path):
    save_model(tmp_path / "three.skops", model, columns=["u", "v"])
    two = ModeClustering(KernelDensityGradient(0.5)).fit(X).recut(n_clusters=2)
    save_model(tmp_path / "two.skops", two, columns=["u", "v"])
    rows = pd.DataFrame(X, columns=["u", "v"])
    rows.loc[4, "v"] = np.nan
    rows.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path


def command(folder, *further):
    names = ("three.skops", "two.skops", "rows.csv")
    return ["compare", *(str(folder / name) for name in names), *map(str, further)]


def test_command_prints_the_comparison_of_complete_rows(files, model, capsys):
    assert run(command(files)) == 0
    out, err = capsys.readouterr()
    kept = np.delete(np.arange(300), 4)
    expected = compare_clusterings(model.labels_[kept], model.cut(n_clusters=2)[kept])
    lines = [line.split() for line in out.splitlines()]
    assert [line[:3] for line in lines[1:-1]] == [
        line[:3] for line in expected.lines()[1:]
    ]
    assert out.endswith(f"adjusted Rand index {expected.adjusted_rand:.3f}\n")
    assert "1 of 300 rows have missing values and were left out" in err


def test_command_draws_a_picture(files, capsys):
    picture = files / "changes.png"
    assert run(command(files, "--picture", picture)) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert run(command(files, "--picture", picture)) == USAGE
    assert "--force" in capsys.readouterr().err
    assert run(command(files, "--picture", files / "changes.doc")) == USAGE
    assert "changes.doc: no picture; end it in one of" in capsys.readouterr().err
    assert not (files / "changes.doc").exists()


def test_command_needs_rows_without_missing_values(files, capsys):
    (files / "rows.csv").write_text("u,v\n1,\n,2\n")
    assert run(command(files)) == BAD_DATA
    assert "no row without a missing value" in capsys.readouterr().err
