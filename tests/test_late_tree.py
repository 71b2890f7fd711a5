"""A merge tree that the fit does not need is built when it is asked for."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.cluster import climbing
from modeseek.datasets import three_gaussians
from modeseek.persist import load_model, save_model

X = three_gaussians().sample(300, random_state=0)[0]
ROUGH = KernelDensityGradient(0.35)


def same_tree(one, two):
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.fixture
def no_tree(monkeypatch):
    """Whoever builds a tree fails."""

    def refuse(*given):
        raise AssertionError("a tree was built")

    monkeypatch.setattr(climbing, "build_tree", refuse)


@pytest.mark.parametrize("ascent", ["auto", "blurring"])
def test_labels_of_all_modes_need_no_tree(no_tree, ascent):
    model = ModeClustering(ROUGH, ascent=ascent, prominence=0).fit(X)
    assert model.n_clusters_ == len(model.modes_) > 3
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.cut(prominence=0.0), model.labels_)
    np.testing.assert_array_equal(model.recut().labels_, model.labels_)
    assert model.outlier_score(X).shape == (len(X),)
    assert model.paths(X[:3]).shape[1:] == (3, 2)
    with pytest.raises(AssertionError, match="a tree was built"):
        model.cut(n_clusters=3)


@pytest.mark.parametrize("estimator", [ROUGH, LogDensityGradient(bandwidth=0.7)])
def test_a_tree_asked_for_late_is_that_of_the_fit(estimator):
    late = ModeClustering(estimator, prominence=0).fit(X)
    at_once = ModeClustering(estimator).fit(X).recut(prominence=0.0)
    if isinstance(estimator, LogDensityGradient):
        late.estimator_.partial_fit(X + 1.0)
    assert same_tree(late.merge_tree_, at_once.merge_tree_)
    assert late.merge_tree_ is late.merge_tree_
    np.testing.assert_array_equal(late.cut(0.5), at_once.cut(0.5))
    np.testing.assert_array_equal(late.membership(X), at_once.membership(X))


def test_what_is_saved_has_its_tree(tmp_path, monkeypatch):
    model = ModeClustering(ROUGH, prominence=0).fit(X)
    expected = ModeClustering(ROUGH, prominence=0).fit(X).merge_tree_
    again = pickle.loads(pickle.dumps(model))
    save_model(tmp_path / "rough.skops", ModeClustering(ROUGH, prominence=0).fit(X))
    loaded = load_model(tmp_path / "rough.skops").model
    copied = copy.deepcopy(ModeClustering(ROUGH, prominence=0).fit(X))
    landscape = ModeClustering(ROUGH, prominence=0).fit(X)._landscape
    sent = pickle.loads(pickle.dumps(landscape))
    monkeypatch.setattr(climbing, "build_tree", None)
    for other in (again, loaded, copied):
        assert same_tree(other.merge_tree_, expected)
        np.testing.assert_array_equal(other.predict(X), model.labels_)
        np.testing.assert_array_equal(other.cut(0.3), model.cut(0.3))
    assert same_tree(sent.tree[:7], expected[:7])


def test_threads_that_ask_at_once_get_the_same_tree():
    model = ModeClustering(ROUGH, prominence=0).fit(X)
    expected = ModeClustering(ROUGH, prominence=0).fit(X).merge_tree_
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(lambda _: model.merge_tree_, range(16)))
    assert all(same_tree(tree, expected) for tree in trees)


def test_a_tree_follows_the_fit_and_the_cut():
    model = ModeClustering(ROUGH, prominence=0)
    assert not hasattr(model, "merge_tree_")
    former = model.fit(X).merge_tree_
    model.fit(X[:150])
    assert len(model.merge_tree_.heights) == len(model.modes_) != len(former.heights)
    assert model.merge_tree_.sizes.sum() == 150
    model.recut(prominence=0.5)
    np.testing.assert_array_equal(model.merge_tree_.labels, model.mode_labels_)
    assert str(model.n_clusters_) in repr(model.merge_tree_)
