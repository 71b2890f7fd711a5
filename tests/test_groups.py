"""Groups of nodes and other shortcuts: the nearest node, as brute force finds it."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from modeseek import ModeClustering
from modeseek.graph.groups import make_groups, nearest_in_groups
from modeseek.graph.neighbors import Search
from modeseek.graph.shortcuts import MOST_GROUPS, Shortcuts


def blobs(n_rows, n_features, std=1.0, centers=6, seed=0):
    return make_blobs(
        n_rows, n_features, centers=centers, cluster_std=std, random_state=seed
    )


def brute(nodes, Z):
    return cdist(Z, nodes).argmin(axis=1)


@pytest.mark.parametrize("n_features", [1, 2, 10, 30])
@pytest.mark.parametrize("std", [0.5, 5.0])
def test_one_label_for_each_group_is_that_of_the_nearest_node(n_features, std):
    X, y = blobs(3000, n_features, std)
    nodes, group = X[:1000], y[:1000]
    Z = np.concatenate([X, 5.0 * X[:300], 0.499 * X[:500] + 0.501 * X[500:1000]])
    found = nearest_in_groups(make_groups(nodes, group, group), Z, n_jobs=1)
    sure = found >= 0
    np.testing.assert_array_equal(found[sure], group[brute(nodes, Z)][sure])
    if std < 1 and n_features >= 10:
        assert sure[:3000].all()


@pytest.mark.parametrize("std", [0.5, 2.0])
def test_labels_within_groups_are_those_of_the_nearest_nodes(std):
    X, y = blobs(2500, 12, std)
    nodes, rng = X[:500], np.random.default_rng(0)
    group = 7 * y[:500] - 3  # names of groups do not matter
    label = rng.integers(3, size=500)
    found = nearest_in_groups(make_groups(nodes, group, label), X, n_jobs=1)
    sure = found >= 0
    np.testing.assert_array_equal(found[sure], label[brute(nodes, X)][sure])
    assert sure.any()


def test_blocks_and_threads_do_not_matter():
    X, y = blobs(30_000, 10, 2.0)
    groups = make_groups(X[:500], y[:500], np.arange(500))
    together = nearest_in_groups(groups, X, n_jobs=1)
    np.testing.assert_array_equal(nearest_in_groups(groups, X, n_jobs=3), together)
    some = nearest_in_groups(groups, X[::7], n_jobs=1)
    np.testing.assert_array_equal(some, together[::7])


def test_rows_where_single_precision_overflows_are_left_to_others():
    X, y = blobs(600, 4)
    Z = np.array([[1e25] * 4, [-1e200] * 4, X[0]])
    with np.errstate(all="raise"):
        found = nearest_in_groups(make_groups(X, y, y), Z, n_jobs=1)
    np.testing.assert_array_equal(found, [-1, -1, y[0]])


@pytest.mark.parametrize("n_features", [3, 12])
@pytest.mark.parametrize("std", [0.5, 4.0])
def test_groups_change_nothing_of_a_search(n_features, std):
    X, y = blobs(4000, n_features, std)
    nodes = X[:600]
    _, index = Search(nodes, group=y[:600]).query(X, 1)
    np.testing.assert_array_equal(index[:, 0], brute(nodes, X))


def test_shortcuts_do_without_groups_that_are_too_many():
    X, _ = blobs(3000, 12, 0.5)
    nodes = X[:300]
    many = np.arange(300) % (MOST_GROUPS + 1)
    found = Shortcuts(nodes, many, many).find(X, 1, by_cells=False)
    assert (found == -1).all()
    found = Shortcuts(nodes, many, many).find(X, 1)
    sure = found >= 0
    np.testing.assert_array_equal(found[sure], many[brute(nodes, X)][sure])


@pytest.mark.parametrize("n_features", [2, 5, 12])
@pytest.mark.parametrize("std", [1.0, 3.0])
def test_predicted_labels_are_those_of_the_modes(n_features, std):
    X, _ = blobs(9000, n_features, std)
    model = ModeClustering(n_jobs=1).fit(X[:3000])
    for level in (None, 2, len(model.modes_)):
        model.recut(n_clusters=level)
        labels = model.mode_labels_[model.predict_modes(X)]
        np.testing.assert_array_equal(model.predict(X), labels)
