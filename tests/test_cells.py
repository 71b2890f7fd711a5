"""Cells: the label of the nearest node, as brute force finds it."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from modeseek.graph.cells import CELL_NODES, cut_cells, nearest_labels
from modeseek.graph.neighbors import Search


def blobs(seed, n_rows, n_features, centers=8, std=1.0):
    X, _ = make_blobs(
        n_rows, n_features, centers=centers, cluster_std=std, random_state=seed
    )
    return X


def brute(nodes, label, Z):
    return label[cdist(Z, nodes).argmin(axis=1)]


@pytest.mark.parametrize("n_features", [1, 2, 10, 30])
@pytest.mark.parametrize("std", [0.5, 3.0])
@pytest.mark.parametrize("n_labels", [1, 3, 60])
def test_labels_are_those_of_the_nearest_nodes(n_features, std, n_labels):
    X = blobs(0, 3000, n_features, std=std)
    nodes, Z = X[:1000], np.concatenate([X, 5.0 * X[:500], points_between(X)])
    label = brute(X[1000 : 1000 + n_labels], np.arange(n_labels), nodes)
    found = nearest_labels(cut_cells(nodes, label), Z, n_jobs=1)
    sure = found >= 0
    np.testing.assert_array_equal(found[sure], brute(nodes, label, Z)[sure])
    if n_labels == 1 or (std < 1 and n_features >= 10):
        assert sure[:3000].mean() > 0.9


@pytest.mark.parametrize("n_features", [2, 10, 30])
@pytest.mark.parametrize("std", [0.5, 3.0])
def test_without_labels_the_nearest_node_is_found(n_features, std):
    X = blobs(5, 3000, n_features, std=std)
    nodes, Z = X[:1000], np.concatenate([X[1000:], points_between(X)])
    found = nearest_labels(cut_cells(nodes), Z, n_jobs=1)
    sure = found >= 0
    np.testing.assert_array_equal(found[sure], cdist(Z, nodes).argmin(axis=1)[sure])
    if std < 1 and n_features >= 10:
        assert sure.mean() > 0.9
    distance, index = Search(nodes).query(Z, 1)
    np.testing.assert_array_equal(index[:, 0], cdist(Z, nodes).argmin(axis=1))
    np.testing.assert_allclose(distance[:, 0], cdist(Z, nodes).min(axis=1))


def points_between(X):
    """Points nearly half-way between nodes, where labels are in doubt."""
    return 0.499 * X[:500] + 0.501 * X[500:1000]


def test_cells_hold_every_node_once_and_one_label_each():
    nodes = blobs(1, 2000, 4)
    label = np.random.default_rng(0).integers(5, size=2000)
    cells = cut_cells(nodes, label)
    nodes = nodes - cells.origin
    order = np.lexsort(nodes.T)
    again = np.lexsort(cells.nodes.T)
    np.testing.assert_array_equal(cells.nodes[again], nodes[order])
    np.testing.assert_array_equal(cells.label[again], label[order])
    np.testing.assert_array_equal(cells.cell_label[cells.cell], cells.label)
    assert np.bincount(cells.cell).max() <= CELL_NODES
    away = np.linalg.norm(cells.nodes - cells.middle[cells.cell], axis=1)
    for cell in range(len(cells.middle)):
        mine = away[cells.cell == cell]
        assert cells.nearest[cell] == pytest.approx(mine.min(), rel=1e-5)
        assert cells.farthest[cell] == pytest.approx(mine.max(), rel=1e-5)


def test_labels_do_not_depend_on_threads_or_on_other_rows():
    nodes, Z = blobs(2, 1000, 10), blobs(3, 20_000, 10)
    label = brute(Z[:20], np.arange(20), nodes)
    cells = cut_cells(nodes, label)
    together = nearest_labels(cells, Z, n_jobs=1)
    np.testing.assert_array_equal(nearest_labels(cells, Z, n_jobs=3), together)
    some = nearest_labels(cells, Z[::7], n_jobs=1)
    sure = (some >= 0) & (together[::7] >= 0)
    np.testing.assert_array_equal(some[sure], together[::7][sure])


@pytest.mark.parametrize("shift", [1e3, 1e5])
def test_rounding_far_from_the_origin_changes_no_label(shift):
    nodes, Z = blobs(4, 1000, 12) + shift, blobs(4, 3000, 12) + shift
    label = brute(Z[:10], np.arange(10), nodes)
    found = nearest_labels(cut_cells(nodes, label), Z, n_jobs=1)
    sure = found >= 0
    assert sure.any()
    np.testing.assert_array_equal(found[sure], brute(nodes, label, Z)[sure])


@pytest.mark.parametrize("far", [1e14, 1e16, 1e100])
def test_rows_far_away_are_found_or_given_up(far):
    nodes = blobs(5, 500, 10)
    label = np.arange(500) % 3
    Z = far * np.random.default_rng(0).standard_normal((20, 10))
    found = nearest_labels(cut_cells(nodes, label), Z, n_jobs=1)
    sure = found >= 0
    np.testing.assert_array_equal(found[sure], brute(nodes, label, Z)[sure])
    assert far < 1e15 or not sure.any()
