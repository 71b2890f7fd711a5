"""Edges across valleys: counted right, and thin bands stay whole by them."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.graph.crossings import SELDOM_FEWER, count_narrowness, crossing_shares
from modeseek.graph.row_graph import build_graph


def ring(n, noise, seed):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, 2.0 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t)]) + noise * rng.normal(size=(n, 2))


def share_by_brute_force(edges, upper, lower):
    """Of the edges at nodes with an edge between two sets, the share between them."""
    sides = [set(np.flatnonzero(side)) for side in (upper, lower)]
    across = [
        (i, j)
        for i, j in edges.tolist()
        if (i in sides[0] and j in sides[1]) or (i in sides[1] and j in sides[0])
    ]
    border = {i for edge in across for i in edge}
    n_ends = sum((i in border) + (j in border) for i, j in edges.tolist())
    return 2 * len(across) / n_ends


@pytest.mark.parametrize("d", [1, 2, 5])
def test_shares_are_those_of_counting_edge_by_edge(d):
    X = np.random.default_rng(d).uniform(size=(250, d))
    graph, tree = build_graph(X, np.ones(250))
    edges = graph.links.edges
    shares = crossing_shares(tree, graph.mode, edges)
    assert len(shares) == len(tree.child) > 0
    for share, (one, two) in zip(shares, tree.sides(), strict=True):
        upper, lower = np.isin(graph.mode, one), np.isin(graph.mode, two)
        assert share == pytest.approx(share_by_brute_force(edges, upper, lower))


def test_a_tree_of_one_mode_has_no_shares():
    graph, tree = build_graph(np.array([[0.0], [1.0], [2.5]]), np.ones(3))
    assert len(tree.child) == 0
    assert crossing_shares(tree, graph.mode, graph.links.edges).shape == (0,)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.uniform(size=(1000, 2)),
        lambda rng: rng.uniform(size=(1000, 3)),
        lambda rng: rng.normal(size=(1000, 2)),
        lambda rng: ring(1000, 0.05, rng),
    ],
    ids=["square", "cube", "Gaussian", "ring"],
)
def test_chance_is_crossed_by_a_like_share_whatever_the_shape(draw):
    deepest = []
    for seed in range(8):
        X = draw(np.random.default_rng(seed))
        graph, tree = build_graph(X, np.ones(len(X)))
        shares = crossing_shares(tree, graph.mode, graph.links.edges)
        deepest.append(shares[np.argmax(tree.prominence)])
    assert np.median(deepest) == pytest.approx(0.22, abs=0.04)


def test_a_gap_is_crossed_by_fewer_edges_and_counts_more():
    X, _ = make_moons(600, noise=0.06, random_state=0)
    graph, tree = build_graph(X, np.ones(600))
    edges = graph.links.edges
    deepest = np.argmax(tree.prominence)
    assert crossing_shares(tree, graph.mode, edges)[deepest] < 0.7 * SELDOM_FEWER
    counted = count_narrowness(tree, graph.mode, edges)
    assert counted.prominence[deepest] > 1.15 * tree.prominence[deepest]


def test_a_ring_is_one_cluster_however_thin():
    single = [
        ModeClustering().fit(ring(1000, noise, seed)).n_clusters_ == 1
        for noise in (0.02, 0.05, 0.08)
        for seed in range(8)
    ]
    assert sum(single) >= 20


def test_two_moons_stay_two():
    X, y = make_moons(1000, noise=0.05, random_state=0)
    model = ModeClustering().fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.99
