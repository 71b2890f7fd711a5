"""Graphs that are built anew, of more nodes, or in the features as they are."""

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.graph.heights import MANY_NODES
from modeseek.graph.landscape import GraphLandscape
from modeseek.graph.row_graph import ENOUGH_NODES, most_nodes, most_nodes_in_doubt


def overlapping(n, d, k, spread, seed):
    """Blobs around places in the unit cube."""
    rng = np.random.default_rng(seed)
    return make_blobs(n, centers=rng.random((k, d)), cluster_std=spread, random_state=0)


def test_where_valleys_leave_doubt_more_rows_are_nodes(monkeypatch):
    X, y = overlapping(10_000, 8, 30, 0.19, seed=0)
    more = ModeClustering(ascent="rows").fit(X)
    assert len(more._landscape.graph.nodes) == len(X)
    monkeypatch.setattr(GraphLandscape, "leaves_doubt", lambda self: False)
    few = ModeClustering(ascent="rows").fit(X)
    n_drawn = len(few._landscape.graph.nodes) - few._landscape.graph.n_single
    assert n_drawn <= MANY_NODES
    scores = [adjusted_rand_score(y, model.labels_) for model in (few, more)]
    assert scores[1] > scores[0] + 0.2


def test_clusters_that_are_plain_take_few_nodes():
    X, _ = make_blobs(12_000, 10, centers=12, random_state=0)
    model = ModeClustering(ascent="rows").fit(X)
    graph = model._landscape.graph
    assert model.n_clusters_ == 12
    assert len(graph.nodes) - graph.n_single <= MANY_NODES


def test_components_that_hide_clusters_are_left_for_the_features():
    """A trial takes two components, in which all nodes show few clusters."""
    X, y = overlapping(30_000, 5, 200, 0.066, seed=2)
    model = ModeClustering(ascent="rows").fit(X)
    assert model._landscape.frame.components is None
    assert adjusted_rand_score(y, model.labels_) > 0.4


def test_all_pairs_of_nodes_take_a_bounded_number_of_products():
    for d in (6, 20, 200, 2000):
        m = most_nodes_in_doubt(d, 10**7)
        assert most_nodes(d, 10**7) <= m <= ENOUGH_NODES
        assert m == MANY_NODES or m * m * d <= 8e9
    assert most_nodes_in_doubt(6, 10**7) == ENOUGH_NODES
    assert most_nodes_in_doubt(2000, 10**7) == MANY_NODES
    for d in (2, 4):
        assert most_nodes_in_doubt(d, 10**7) == most_nodes(d, 10**7)
    assert np.all(np.diff([most_nodes_in_doubt(d, 10**6) for d in range(6, 99)]) <= 0)
