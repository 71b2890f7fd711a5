"""Clusters of a graph of some of the rows, which all rows are asked to confirm."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from modeseek import ModeClustering
from modeseek.cluster import fitting
from modeseek.graph import confirmed
from modeseek.graph.confirmed import LEAST_CERTAINTY_SMALL, confirm_by_rows


def long_tails(n=20_000, d=6, seed=0):
    """Rows of one mode, far from which some are near each other by chance."""
    return np.random.default_rng(seed).standard_t(1.5, (n, d))


@pytest.fixture
def judged(monkeypatch):
    """Landscapes before and after rows were asked, fit by fit."""
    seen = []

    def spy(landscape, source, row_weight=1.0):
        seen.append((landscape, confirm_by_rows(landscape, source, row_weight)))
        return seen[-1][1]

    monkeypatch.setattr(fitting, "confirm_by_rows", spy)
    return seen


def n_clusters(landscape):
    return 1 + (~landscape.default_merges()).sum()


def test_tails_are_no_clusters(judged):
    assert ModeClustering(ascent="rows").fit(long_tails()).n_clusters_ == 1
    before, after = judged[0]
    assert n_clusters(before) > 1  # as nodes alone have it
    assert n_clusters(after) == 1
    merged = ~before.default_merges()
    assert (after.tree.p_value[merged] == 1.0).all()
    np.testing.assert_array_equal(
        after.tree.p_value[~merged], before.tree.p_value[~merged]
    )


def test_clusters_and_small_groups_are_confirmed(judged):
    X, _ = make_blobs(30_000, 6, centers=5, random_state=0)
    rng = np.random.default_rng(0)
    group = X.mean(axis=0) + 25.0 + 0.3 * rng.standard_normal((50, 6))
    model = ModeClustering(ascent="rows").fit(np.concatenate([X, group]))
    before, after = judged[0]
    assert before.graph.n_single > 0
    assert n_clusters(after) == n_clusters(before) == model.n_clusters_ == 6
    np.testing.assert_array_equal(after.tree.p_value, before.tree.p_value)


def test_rows_are_not_read_where_all_are_nodes_of_a_small_graph(monkeypatch):
    def read(*arguments):
        raise AssertionError("rows were read")

    monkeypatch.setattr(confirmed, "_count_inside", read)
    X, _ = make_blobs(1000, centers=3, random_state=1)
    assert ModeClustering().fit(X).n_clusters_ == 3


def test_chunks_and_copies_confirm_the_same():
    X = long_tails(seed=2)
    X[:40] = 300.0 + 0.1 * X[:40] / np.abs(X[:40]).max(axis=1, keepdims=True)
    once = ModeClustering(ascent="rows").fit(X)
    assert once.n_clusters_ == 2
    chunks = [X[:9000], X[9000:9001], X[9001:]]
    np.testing.assert_array_equal(
        ModeClustering(ascent="rows").fit(chunks).labels_, once.labels_
    )
    weighted = ModeClustering(ascent="rows").fit(X, sample_weight=np.full(len(X), 3.0))
    assert weighted.n_clusters_ == 2


def test_balls_count_rows_by_their_weight():
    rng = np.random.default_rng(0)
    Z, middle = rng.standard_normal((500, 3)), rng.standard_normal((4, 3))
    radius, weight = np.array([0.5, 1.0, 1.5, 9.0]), rng.random(500)
    inside = np.linalg.norm(Z[:, None] - middle, axis=2) <= radius
    block = confirmed.Block(Z, None)
    np.testing.assert_array_equal(
        confirmed._count_inside(middle, radius, block), inside.sum(axis=0)
    )
    weighted = confirmed._count_inside(middle, radius, confirmed.Block(Z, weight))
    np.testing.assert_allclose(weighted, weight @ inside)


def test_the_emptiest_ball_of_the_fuller_way_tells():
    empty = [16, 9, 0, 0, 0, 9, 40]
    falling, rising = [100, 90, 80, 70, 64, 64, 64], [16, 18, 20, 25, 30, 60, 90]
    count = np.array([[empty, empty], [falling, empty], [empty, rising]], dtype=float)
    count[1, 1, 0] = 100.0
    missing = confirmed._missing_rows(count)
    assert missing[0] == 4.0 > LEAST_CERTAINTY_SMALL
    assert missing[1] == pytest.approx(36.0 / np.sqrt(164.0))
    assert missing[2] == 0.0
    assert confirmed._missing_rows(np.zeros((1, 2, 7))).tolist() == [0.0]
