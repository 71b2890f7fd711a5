"""Modes that chance makes, drawn on the graph of rows."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.graph.chance import (
    FEWEST_DRAWS,
    MOST_DRAWS,
    WEIGHING_NEIGHBORS,
    draw_chance_modes,
)
from modeseek.graph.landscape import GraphLandscape
from modeseek.graph.row_graph import build_graph
from modeseek.rows.coordinates import Frame
from modeseek.tree.default_cut import FALSE_SHARE, FLAT_FACTOR, mean_number


def graph_of(X):
    return build_graph(X, np.ones(len(X)))[0]


def draw(graph):
    near, edges, _ = graph.links
    return draw_chance_modes(near, edges, graph.height, graph.mode, graph.n_neighbors)


def written_out(height, edges):
    """Prominences by joining nodes one by one, from the highest down."""
    group, found = np.arange(len(height)), []
    along = height[edges].min(axis=1)
    for i in np.argsort(-along):
        one, two = group[edges[i]]
        if one == two:
            continue
        low, high = sorted((one, two), key=lambda node: height[node])
        found.append(height[low] - along[i])
        group[group == low] = high
    return np.sort([p for p in found if p > 0])


def test_prominences_are_those_of_joining_nodes_one_by_one():
    X = np.random.default_rng(1).normal(size=(120, 2))
    graph = graph_of(X)
    chance = draw(graph)
    rng = np.random.default_rng(0)
    wanted = []
    for _ in range(chance.n_draws):
        weight = np.empty(len(X))
        weight[np.argsort(graph.height)] = rng.exponential(size=len(X))
        near = graph.links.near[:, :WEIGHING_NEIGHBORS]
        height = np.log(weight[near].sum(axis=1))
        wanted.append(written_out(height, graph.links.edges))
    p = np.sort(chance.prominence[chance.prominence > 1e-12])
    np.testing.assert_allclose(p, np.sort(np.concatenate(wanted)), atol=1e-12)


def test_along_a_curve_chance_makes_deeper_valleys_than_in_a_square():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2.0 * np.pi, 500)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    ring += 0.01 * rng.normal(size=ring.shape)
    square = rng.uniform(size=(500, 2))
    deep, shallow = (draw(graph_of(X)).prominence.max() for X in (ring, square))
    assert deep > 1.5 * shallow


@pytest.mark.parametrize("d", [1, 2, 5])
def test_even_rows_show_no_more_than_is_drawn_for_them(d):
    # The factor stands for what the draws leave out; one in ten may be above.
    above = 0
    for seed in range(8):
        X = np.random.default_rng(seed).uniform(size=(600, d))
        graph, tree = build_graph(X, np.ones(600))
        chance = draw(graph)
        deepest = tree.prominence.max() / FLAT_FACTOR
        expected = mean_number(chance.prominence, chance.n_draws, deepest)
        above += expected <= FALSE_SHARE
    assert above <= 2


def test_many_nodes_need_fewer_draws():
    rng = np.random.default_rng(0)
    assert draw(graph_of(rng.normal(size=(100, 2)))).n_draws == MOST_DRAWS
    node = np.arange(20_000)[:, None]
    near = np.clip(node + np.arange(1, 12), 0, 19_999)
    edges = np.column_stack([node[:-1, 0], node[1:, 0]])
    nowhere = np.zeros(20_000)
    chance = draw_chance_modes(near, edges, nowhere, nowhere.astype(np.intp), 15)
    assert chance.n_draws == FEWEST_DRAWS


def test_heights_of_more_neighbours_vary_less():
    graph = graph_of(np.random.default_rng(0).uniform(size=(500, 2)))
    near, edges, _ = graph.links
    deepest = [
        draw_chance_modes(near, edges, graph.height, graph.mode, k).prominence.max()
        for k in (8, 15, 27)
    ]
    assert deepest[0] > 1.2 * deepest[1] > 1.4 * deepest[2]


def test_a_thin_band_of_many_rows_is_one_cluster():
    # Its neighbours fill two dimensions where rows are many; ways lead along it only.
    for seed in range(3):
        rng = np.random.default_rng(seed)
        angle = rng.uniform(0.0, 2.0 * np.pi, 20_000)
        X = np.column_stack([np.cos(angle), np.sin(angle)])
        X += 0.02 * rng.normal(size=X.shape)
        model = ModeClustering().fit(X)
        assert model.n_clusters_ == 1
        assert model.merge_tree_.p_value.min() > 0.05


def test_the_order_of_nodes_and_units_do_not_matter():
    X = np.random.default_rng(2).normal(size=(150, 2))
    wanted = np.sort(draw(graph_of(X)).prominence)
    for rows in (X[::-1], 2.0 * X):
        np.testing.assert_allclose(np.sort(draw(graph_of(rows)).prominence), wanted)


def test_curves_are_not_broken_where_few_of_their_rows_lie():
    whole = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        angle = rng.uniform(0.0, 2.0 * np.pi, 1500)
        radius = np.where(np.arange(1500) % 2, 1.0, 0.5)
        X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        X += 0.02 * rng.normal(size=X.shape)
        whole += ModeClustering().fit(X).n_clusters_ == 2
    assert whole >= 4


def test_a_model_does_not_keep_what_was_only_needed_to_choose():
    X = np.random.default_rng(0).normal(size=(200, 2)) + [[0.0, 0.0], [9.0, 0.0]] * 100
    model = ModeClustering(ascent="rows").fit(X)
    assert model.n_clusters_ == 2
    landscape = model._landscape
    assert landscape.graph.links is None
    assert landscape.graph.valleys is None
    np.testing.assert_array_equal(
        landscape.default_merges(), landscape.with_merges().default_merges()
    )


def overlapping(n, k, seed):
    """Gaussians in the plane, most of which overlap, and which a row is from."""
    rng = np.random.default_rng(seed)
    side = 4.4 * np.sqrt(k)
    centers, y = rng.uniform(0.0, side, (k, 2)), rng.integers(k, size=n)
    return centers[y] + rng.normal(size=(n, 2)), y


def test_many_rows_tell_shallow_valleys_from_chance_by_the_chance_around_them():
    X, y = overlapping(20_000, 20, 1)
    model = ModeClustering().fit(X)
    usual = model.cut(prominence=float(model._landscape.chance()[0]))
    assert model.n_clusters_ > usual.max() + 1
    index = adjusted_rand_score(y, model.labels_)
    assert index > adjusted_rand_score(y, usual) + 0.1


def test_valleys_tell_how_deep_chance_is_but_not_on_a_curve():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2.0 * np.pi, 3000)
    gaussian = rng.normal(size=(4000, 2))
    for X, known in (
        (gaussian, True),
        (np.column_stack([np.cos(angle), np.sin(angle)]), False),
        (gaussian[:500], False),
    ):
        graph, tree = build_graph(X, np.ones(len(X)))
        zero, one = np.zeros(X.shape[1]), np.ones(X.shape[1])
        landscape = GraphLandscape(Frame(zero, one), X, graph, np.ones(len(X)), tree)
        factor = landscape.measure_factor(draw(graph), narrow=True)
        assert (factor is not None) is known
        if factor is not None:
            assert 1.0 <= factor < FLAT_FACTOR


def test_all_valleys_of_a_graph_are_kept_until_it_is_cut():
    X, _ = overlapping(900, 5, 1)
    graph, tree = build_graph(X, np.ones(len(X)))
    valleys = graph.valleys
    assert len(valleys.tree.child) > len(tree.child)
    assert valleys.mode.max() == len(valleys.tree.child)
    kept = np.sort(tree.prominence)[::-1]
    np.testing.assert_allclose(np.sort(valleys.prominences())[::-1][: len(kept)], kept)
