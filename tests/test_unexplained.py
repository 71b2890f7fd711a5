"""Rows that the nodes of a graph do not explain, and heights of nodes that differ."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.graph.edges import find_neighbors
from modeseek.graph.heights import (
    CERTAINLY_DENSER,
    HEIGHT_NEIGHBORS,
    MANY_NODES,
    count_wide_neighbors,
    height_error,
    log_radius,
    node_heights,
)
from modeseek.graph.neighbors import Search, arrange
from modeseek.graph.row_graph import ENOUGH_NODES, build_graph, most_nodes
from modeseek.graph.unexplained import find_guides, find_unexplained, most_single
from modeseek.rows.coordinates import Frame
from modeseek.rows.source import ArrayRows, Block, ChunkRows


def blobs_and_group(n, size, d=2, seed=0):
    """A blob of n rows, then a far group of so many rows."""
    rng = np.random.default_rng(seed)
    group = 12.0 + 0.3 * rng.standard_normal((size, d))
    return np.concatenate([rng.standard_normal((n, d)), group])


def frame_of_two():
    return Frame(np.zeros(2), 1.0)


def test_rows_far_from_all_guides_are_the_ones_found():
    X = blobs_and_group(3000, 20)
    guides = find_guides(X[:3000:10])
    found = find_unexplained(ArrayRows(X), frame_of_two(), guides, 60)
    # Brute force: distance to the nearest guide by its radius, the 60 largest.
    distance = cdist(X, guides.search.nodes)
    unlike = distance.min(axis=1) / guides.radius[distance.argmin(axis=1)]
    wanted = X[np.argsort(unlike)[-60:]]
    np.testing.assert_array_equal(
        np.unique(found.single.X, axis=0), np.unique(wanted, axis=0)
    )
    assert {*map(tuple, X[3000:])} <= {*map(tuple, found.single.X)}
    assert found.weight.sum() + found.single.weight.sum() == len(X)


def test_what_is_found_does_not_depend_on_order_chunks_or_copies(monkeypatch):
    X = blobs_and_group(3000, 20)
    guides = find_guides(X[:3000:10])
    monkeypatch.setattr("modeseek.graph.unexplained.BLOCK_ROWS", 700)
    one = find_unexplained(ArrayRows(X), frame_of_two(), guides, 60)
    order = np.random.default_rng(0).permutation(len(X))

    def read():
        for rows in np.array_split(X[order], 7):
            yield Block(rows, np.ones(len(rows)))

    other = find_unexplained(ChunkRows(read), frame_of_two(), guides, 60)
    np.testing.assert_array_equal(one.single.X, other.single.X)
    np.testing.assert_array_equal(one.weight, other.weight)
    assert one.least == other.least
    twice = find_unexplained(
        ArrayRows(X, np.full(len(X), 2.0)), frame_of_two(), guides, 60
    )
    np.testing.assert_array_equal(twice.single.X, one.single.X)
    np.testing.assert_array_equal(twice.single.weight, 2.0 * one.single.weight)


def test_equally_explained_rows_are_found_all_or_none():
    X = blobs_and_group(2000, 0)
    far = np.tile([[20.0, 20.0]], (50, 1))
    guides = find_guides(X[::10])
    found = find_unexplained(
        ArrayRows(np.concatenate([X, far])), frame_of_two(), guides, 30
    )
    assert not len(found.single.X)
    found = find_unexplained(
        ArrayRows(np.concatenate([X, far])), frame_of_two(), guides, 60
    )
    at = (far[0] == found.single.X).all(axis=1)
    assert found.single.weight[at].tolist() == [50.0]


def test_nodes_of_a_group_smaller_than_a_height_needs_are_no_guides():
    X = blobs_and_group(2000, 6)
    guides = find_guides(X)
    explaining = {*map(tuple, guides.search.nodes)}
    assert not explaining & {*map(tuple, X[2000:])}
    assert len(explaining) > 1900
    X = blobs_and_group(2000, 60)
    explaining = {*map(tuple, find_guides(X).search.nodes)}
    assert {*map(tuple, X[2000:])} <= explaining


def test_on_curves_and_among_few_nodes_there_are_no_guides():
    t = np.linspace(0.0, 6.0, 3000)
    assert find_guides(np.column_stack([np.cos(t), np.sin(t)])) is None
    assert find_guides(np.random.default_rng(0).normal(size=(15, 2))) is None


def test_heights_of_one_density_do_not_depend_on_how_many_rows_nodes_stand_for():
    rng = np.random.default_rng(0)
    nodes = rng.random((4000, 2))
    near = find_neighbors(Search(nodes), 20)
    plain, _ = node_heights(near, np.ones(4000), 2.0)
    # Half of the nodes stand for one row each and the others for four: as many as
    # 2.5 a node, where all of them are equally near each other.
    counts = np.where(np.arange(4000) < 2000, 4.0, 1.0)
    mixed, _ = node_heights(near, counts, 2.0, n_single=2000)
    difference = mixed + np.log(4.0) - plain - np.log(2.5)
    assert abs(difference.mean()) < 0.02
    assert difference.std() < 0.25


def test_more_nodes_have_heights_of_more_neighbours_but_not_in_small_groups():
    assert count_wide_neighbors(MANY_NODES) == HEIGHT_NEIGHBORS
    assert count_wide_neighbors(4 * MANY_NODES) == 2 * HEIGHT_NEIGHBORS
    X = blobs_and_group(20_000, 25)
    near = find_neighbors(Search(X), 31)
    height, used = node_heights(near, np.ones(len(X)), 2.0)
    k = count_wide_neighbors(len(X))
    assert (used[:20_000] == k).mean() > 0.999
    assert (used[20_000:] == HEIGHT_NEIGHBORS).mean() > 0.8
    none = np.zeros(len(X))
    few = -2.0 * log_radius(near, none + 1.0, none, HEIGHT_NEIGHBORS)
    np.testing.assert_allclose(height[used < k], few[used < k])
    # Heights of both kinds are on one level.
    bulk = used == k
    assert abs((height - few)[bulk].mean()) < 0.05
    assert (np.abs(height - few)[bulk] < 2 * CERTAINLY_DENSER * height_error(15)).all()


def test_height_errors_are_those_of_draws():
    rng = np.random.default_rng(0)
    for k in (15, 45):
        height = []
        for _ in range(200):
            ball = np.sort(rng.random(4000))[:k]  # volumes up to the k nearest
            height.append(-np.log(ball[k // 2 :]).mean())
        assert np.std(height) == pytest.approx(height_error(k), rel=0.2)


def test_a_group_of_fifty_among_fifty_thousand_drawn_from_is_a_cluster():
    """In five features some rows are drawn, and the others are seen once."""
    X, y = make_blobs(50_000, n_features=5, centers=8, random_state=0)
    group = X.mean(axis=0) + 30.0
    rare = group + 0.3 * np.random.default_rng(0).standard_normal((50, 5))
    rows, truth = np.concatenate([X, rare]), np.append(y, np.full(50, 8))
    model = ModeClustering().fit(rows)
    assert model._landscape.graph.n_single > 0
    assert adjusted_rand_score(truth, model.labels_) > 0.999
    assert (model.labels_[-50:] == 8).all()
    assert (model.labels_ == 8).sum() == 50
    np.testing.assert_array_equal(model.mode_weights_, np.bincount(model.row_modes_))
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_labels_are_by_size_among_all_rows():
    """Also where a sample would tell otherwise: sizes differ by less than a percent."""
    centers = np.array([[0.0] * 6, [20.0] * 6])
    X, y = make_blobs([40_200, 40_000], centers=centers, random_state=1)
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 2
    assert (model.labels_[y == 0] == 0).mean() > 0.999
    assert model.mode_weights_.sum() == len(X)


def test_one_density_of_many_rows_is_one_cluster():
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(40_000, 2)), rng.random((40_000, 5))):
        assert ModeClustering().fit(X).n_clusters_ == 1


def test_arranging_rows_changes_no_neighbour():
    X = np.random.default_rng(0).normal(size=(12_000, 3))
    order = arrange(X)
    assert sorted(order) == list(range(len(X)))
    search = Search(X[:5000])
    distance, index = search.query(X, 3)
    for rows in (slice(0, 50), slice(9000, 9050)):
        away = cdist(X[rows], X[:5000])
        np.testing.assert_array_equal(index[rows], np.argsort(away, axis=1)[:, :3])
        np.testing.assert_allclose(distance[rows], np.sort(away, axis=1)[:, :3])


def test_a_graph_has_fewer_nodes_in_more_features():
    most = [most_nodes(d, 10**7) for d in range(1, 12)]
    assert most == sorted(most, reverse=True)
    assert most[0] >= 200_000
    assert most[-1] == MANY_NODES
    assert most_nodes(5, 20_000) == most_nodes(5, 100_000) == ENOUGH_NODES
    assert most_nodes(5, 150_000) == 30_000
    assert most_single(5, 20_000) == 1024
    assert most_single(5, 10**7) > most_single(6, 10**7) > 1024


def test_single_nodes_are_the_last_and_may_be_modes():
    X = blobs_and_group(2000, 40)
    counts = np.append(np.full(2000, 30.0), np.ones(40))
    graph, tree = build_graph(X, counts, n_single=40)
    assert graph.n_single == 40
    modes = np.unique(graph.mode[2000:])
    assert not np.isin(graph.mode[:2000], modes).any()
    chance = graph.chance_of_merges(tree)
    assert (tree.prominence[np.isin(tree.child, modes)] > chance.min()).any()
