"""The table of clusters: sizes, evidence, and the features that set them apart."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr

from modeseek import KernelDensityGradient, ModeClustering
from modeseek.cluster.profile import profile_rows, say_what_sets_apart
from modeseek.cluster.summary import MOST_SHOWN
from modeseek.datasets import three_gaussians
from modeseek.rows.coordinates import Frame
from modeseek.tree.gaps import GAP_IN_WORDS


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def model(wine):
    return ModeClustering().fit(wine)


def test_summary_counts_the_rows_of_clusters(model):
    table = model.summary()
    assert isinstance(table, pd.DataFrame)
    assert table.index.tolist() == list(range(model.n_clusters_))
    np.testing.assert_array_equal(table["size"], np.bincount(model.labels_))
    np.testing.assert_allclose(table["share"], np.bincount(model.labels_) / 178)
    np.testing.assert_array_equal(table["modes"], np.bincount(model.mode_labels_))


def test_summary_has_the_evidence_of_the_tree(model):
    table, tree = model.summary(), model.merge_tree_
    highest = table.index[table["into"] < 0]
    assert highest.tolist() == [model.mode_labels_[np.argmax(tree.heights)]]
    assert table.loc[highest, ["prominence", "std_error"]].isna().all(axis=None)
    between = model.mode_labels_[tree.child] != model.mode_labels_[tree.parent]
    assert between.sum() == len(table) - 1
    for i in np.flatnonzero(between):
        line = table.loc[model.mode_labels_[tree.child[i]]]
        assert line["into"] == model.mode_labels_[tree.parent[i]]
        assert line["prominence"] == tree.prominence[i]
        assert line["std_error"] == tree.std_error[i]


def test_summary_names_the_means_farthest_from_those_of_all_rows(model, wine):
    standard = (wine - wine.mean()) / wine.std(ddof=0)
    for cluster, said in model.summary()["features"].items():
        means = standard[model.labels_ == cluster].mean()
        farthest = means.abs().sort_values(ascending=False).index[:3]
        words = [f"{name} {means[name]:+.1f} sd" for name in farthest]
        assert said == ", ".join(words)


def test_summary_follows_the_cut():
    X, _ = three_gaussians().sample(400, random_state=0)
    model = ModeClustering(KernelDensityGradient(0.35)).fit(X)
    for n in (1, 2, 5):
        table = model.recut(n_clusters=n).summary()
        np.testing.assert_array_equal(table["size"], np.bincount(model.labels_))
        assert table["modes"].sum() == len(model.modes_)
    assert model.recut(n_clusters=1).summary()["features"].tolist() == [""]


@pytest.mark.parametrize(("ascent", "n"), [("rows", 3000), ("fixed_point", 1000)])
def test_rows_in_chunks_have_the_summary_of_an_array(ascent, n):
    X, _ = three_gaussians().sample(n, random_state=0)
    whole = ModeClustering(ascent=ascent).fit(X).summary()
    chunked = ModeClustering(ascent=ascent).fit(np.array_split(X, 4)).summary()
    pd.testing.assert_frame_equal(chunked, whole)


@pytest.mark.parametrize("ascent", ["rows", "fixed_point"])
def test_rows_on_dask_are_estimated_from_the_subsample(ascent, monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr("modeseek.rows.subsample.SAMPLE_ROWS", 2048)
    X, _ = three_gaussians().sample(8000, random_state=0)
    model = ModeClustering(ascent=ascent).fit(da.from_array(X, chunks=(2000, 2)))
    table = model.summary()
    sizes = np.bincount(model.labels_.compute())
    error = 8000 * np.sqrt(0.25 / 2048)  # of a draw of so many
    np.testing.assert_allclose(table["size"], sizes, atol=4 * error)
    assert table["features"].str.contains("feature 1").all()


def test_noise_is_in_no_cluster():
    X, _ = three_gaussians().sample(400, random_state=0)
    model = ModeClustering().fit(X)
    model.labels_[::7] = -1
    table = model.summary()
    counted = np.bincount(model.labels_[model.labels_ >= 0])
    np.testing.assert_array_equal(table["size"], counted)
    np.testing.assert_allclose(table["share"].sum(), np.mean(model.labels_ >= 0))


def test_many_values_are_profiled_by_some_of_the_rows(monkeypatch):
    monkeypatch.setattr("modeseek.cluster.summary.MOST_VALUES", 200)
    X, _ = three_gaussians().sample(400, random_state=0)
    model = ModeClustering(ascent="rows").fit(X)
    np.testing.assert_array_equal(model.summary()["size"], np.bincount(model.labels_))
    assert all(model.summary()["features"])


def test_without_pandas_the_summary_is_a_dictionary(model, monkeypatch):
    frame = model.summary()
    monkeypatch.setattr("modeseek.cluster.summary.find_spec", lambda name: None)
    table = model.summary()
    assert type(table) is dict
    assert list(table) == ["cluster", *frame.columns]
    for name in frame.columns:
        np.testing.assert_array_equal(table[name], frame[name])


def test_unfitted_models_have_no_summary():
    with pytest.raises(NotFittedError):
        ModeClustering().summary()


def test_a_constant_feature_sets_nothing_apart():
    X = np.random.default_rng(0).standard_normal((200, 3))
    X[:100, 0] += 20.0
    X[:, 2] = 1e9
    table = ModeClustering().fit(X).summary()
    assert table["features"].tolist() == ["feature 0 -1.0 sd", "feature 0 +1.0 sd"]


def test_words_name_three_features_and_none_that_are_ordinary():
    means = np.array([[0.1, -2.04, 0.5, 1.0, 0.6], [0.2, -0.29, 0.0, 0.0, 0.0]])
    said = say_what_sets_apart(means, list("abcde"))
    assert said == ["b -2.0 sd, d +1.0 sd, e +0.6 sd", ""]


def test_profile_of_weights_is_that_of_copies():
    rng = np.random.default_rng(0)
    X, modes = rng.standard_normal((50, 3)), rng.integers(4, size=50)
    weight = rng.integers(1, 4, size=50)
    copies = np.repeat(np.arange(50), weight)
    frame = Frame(np.ones(3), 2.0)
    one = profile_rows(frame, X, modes, 5, weight.astype(float))
    two = profile_rows(frame, X[copies], modes[copies], 5)
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert np.isnan(one.means(np.arange(5))[4]).all()


def test_notebooks_show_the_clusters_and_why(model):
    html = model._repr_mimebundle_()["text/html"]
    assert html.startswith(estimator_html_repr(model)[:20])
    assert model.decision_ in html
    assert "Prominence: how far" in html
    assert "a gap" not in html
    for said in model.summary()["features"]:
        assert said in html
    unfitted = ModeClustering()._repr_mimebundle_()
    assert "set apart" not in unfitted["text/html"]


def test_notebooks_say_what_a_gap_is():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:100] += 1e4
    html = ModeClustering(ascent="rows").fit(X)._repr_mimebundle_()["text/html"]
    assert ", a gap</td>" in html
    assert f"Prominence, {GAP_IN_WORDS}" in html


def test_notebooks_show_the_largest_of_many_clusters():
    X = np.random.default_rng(0).standard_normal((300, 2))
    model = ModeClustering(KernelDensityGradient(0.1), prominence=0).fit(X)
    html = model._repr_mimebundle_()["text/html"]
    assert f"and {model.n_clusters_ - MOST_SHOWN} smaller clusters" in html


def test_markup_in_names_stays_text():
    X, _ = three_gaussians().sample(300, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "<b>b</b>"])
    html = ModeClustering().fit(frame)._repr_mimebundle_()["text/html"]
    assert "&lt;b&gt;b&lt;/b&gt; " in html
    assert "<td><b>b" not in html


def test_one_mode_has_a_summary_without_merges():
    X, _ = three_gaussians().sample(200, random_state=0)
    wide = ModeClustering(KernelDensityGradient(100.0)).fit(X)
    table = wide.summary()
    assert len(table) == 1
    assert table[["prominence", "std_error", "p_value"]].isna().all(axis=None)
