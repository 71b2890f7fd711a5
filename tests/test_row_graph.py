"""The graph of rows: against loops written out, and what it promises."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score, homogeneity_score

from modeseek import LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.graph.edges import EDGE_NEIGHBORS
from modeseek.graph.midway import MIDWAY_NEIGHBOR, PLANE
from modeseek.graph.row_graph import (
    BUMP,
    HEIGHT_NEIGHBORS,
    build_graph,
    nearest_nodes,
    nodes_on_the_way,
    row_heights,
    steps_up,
)


def rows_of_three(n=300, d=2, seed=0):
    return make_blobs(n, n_features=d, centers=3, random_state=seed)[0]


@pytest.fixture(scope="module")
def three():
    nodes = rows_of_three()
    graph, tree = build_graph(nodes, np.ones(len(nodes)))
    return graph, tree


def slow_edges(nodes):
    """Edges to the nearest ten, as a set of pairs; the graph must be in one piece."""
    distance = cdist(nodes, nodes)
    return {
        tuple(sorted((i, int(j))))
        for i, row in enumerate(distance)
        for j in np.argsort(row)[1 : EDGE_NEIGHBORS + 1]
    }


def slow_edge_height(graph, edge):
    i, j = edge
    nodes, D = graph.nodes, graph.dimension
    q = MIDWAY_NEIGHBOR
    middle = (nodes[i] + nodes[j]) / 2
    off = np.sort(np.linalg.norm(nodes - middle, axis=1))
    lowest = lower_end = min(graph.height[i], graph.height[j])
    far = [np.sort(np.linalg.norm(nodes - nodes[end], axis=1))[q] for end in edge]
    for end, here in zip(edge, far, strict=True):
        lowest = min(lowest, graph.height[end] - D * np.log(off[q - 1] / here))
    if nodes.shape[1] == PLANE:
        lowest = min(lowest, lower_end - D * np.log(2.0 * off[0] / max(far)))
    return lowest


def test_heights_are_mean_log_distances_times_the_dimension(three):
    graph, _ = three
    distance = np.sort(cdist(graph.nodes, graph.nodes), axis=1)[:, 1:]
    rise = np.log(distance[:, 19:20] / distance[:, :19])
    assert graph.dimension == pytest.approx(min(1.0 / rise.mean(), 2.0))
    window = np.log(distance[:, HEIGHT_NEIGHBORS // 2 : HEIGHT_NEIGHBORS])
    np.testing.assert_allclose(graph.height, -graph.dimension * window.mean(axis=1))


def test_rows_go_along_their_highest_edge_to_a_higher_row():
    X = make_blobs(150, n_features=3, centers=1, random_state=1)[0]
    graph, _ = build_graph(X, np.ones(len(X)))
    edges = slow_edges(X)
    n_bumps = 0
    for i in range(len(X)):
        ways = []
        for edge in edges:
            if i in edge:
                j = edge[1 - edge.index(i)]
                along = slow_edge_height(graph, edge)
                if along >= graph.height[i] and graph.height[j] > graph.height[i]:
                    ways.append((along, graph.height[j], j))
        if ways:
            assert graph.uphill[i] == max(ways)[2]
        elif i not in graph.peaks:
            n_bumps += 1
            assert graph.uphill[i] in graph.peaks
            assert graph.height[graph.uphill[i]] > graph.height[i]
    assert n_bumps > 0


def test_no_mode_is_a_bump(three):
    _, tree = three
    assert len(tree.prominence) >= 2
    assert (tree.prominence >= BUMP).all()


def test_passes_are_the_highest_edges_between_basins():
    X = np.random.default_rng(3).uniform(size=(400, 1)) * [1.0, 0.0]
    X = X + np.random.default_rng(4).normal(size=X.shape) * 0.02
    graph, tree = build_graph(X, np.ones(len(X)))
    assert len(tree.child) >= 2
    highest = {}
    for edge in slow_edges(X):
        pair = tuple(sorted(graph.mode[list(edge)]))
        if pair[0] != pair[1]:
            height = slow_edge_height(graph, edge)
            highest[pair] = max(highest.get(pair, -np.inf), height)
    # From the highest pass down, joining groups: the bottleneck tree.
    group = list(range(len(graph.peaks)))
    expected = []
    for (a, b), height in sorted(highest.items(), key=lambda item: -item[1]):
        if group[a] != group[b]:
            expected.append(height)
            group = [group[a] if g == group[b] else g for g in group]
    np.testing.assert_allclose(tree.passes, expected)
    np.testing.assert_allclose(
        tree.prominence, graph.height[graph.peaks][tree.child] - tree.passes
    )
    np.testing.assert_array_equal(tree.heights, graph.height[graph.peaks])


def test_modes_come_highest_first_and_every_row_ends_at_its_mode(three):
    graph, tree = three
    assert (np.diff(graph.height[graph.peaks]) <= 0).all()
    np.testing.assert_array_equal(graph.uphill[graph.peaks], graph.peaks)
    here = np.arange(len(graph.nodes))
    for _ in range(steps_up(graph)):
        here = graph.uphill[here]
    np.testing.assert_array_equal(here, graph.peaks[graph.mode])
    assert (tree.std_error > 0).all()


def test_counts_are_copies_and_only_their_proportions_matter():
    X = rows_of_three(200)
    counts = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    one, _ = build_graph(X, counts)
    two, _ = build_graph(X, 10.0 * counts)
    np.testing.assert_array_equal(one.mode, two.mode)
    np.testing.assert_allclose(one.height, two.height)
    # By hand: the mass of the neighbours counts, own copies lie half-way to the first.
    i, mean = 7, counts.mean()
    distance = np.linalg.norm(X - X[i], axis=1)
    order = np.argsort(distance)[1:]
    r = np.r_[distance[order[0]] / 2, distance[order]]
    mass = np.r_[max(counts[i] / mean - 1, 0), counts[order] / mean]
    fine = 100_000
    at = np.searchsorted(np.cumsum(mass), (np.arange(fine) + 0.5) / fine * 8 + 7)
    expected = -one.dimension * np.log(r[at]).mean()
    assert one.height[i] == pytest.approx(expected, abs=1e-3)


def test_heavy_counts_and_near_copies_stay_finite():
    X = rows_of_three(60)
    counts = np.ones(60)
    counts[3] = 1e6
    X[5] = X[6] + 1e-300
    graph, tree = build_graph(X, counts)
    assert np.isfinite(graph.height).all()
    assert np.isfinite(tree.passes).all()


@pytest.mark.filterwarnings("ignore:The chosen bandwidth")
@pytest.mark.parametrize(
    "X",
    [
        [[1e-15], [0.0], *[[13.0]] * 3],
        [[1e-15, 13.0], [0.0, 13.0], [13.0, 0.0], *[[13.0, 13.0]] * 8],
        np.append(np.random.default_rng(0).normal(13.0, 1.0, 40), [1e-15, 0.0])[
            :, None
        ],
    ],
)
def test_rows_that_differ_may_coincide_in_the_frame(X):
    """Less than rounding lies between the first two, once the mean is taken away."""
    model = ModeClustering(ascent="rows").fit(X)
    assert np.isfinite(model.merge_tree_.prominence).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.membership(X).sum(axis=1), 1.0)
    assert np.isfinite(model.outlier_score(X)).all()


def test_two_and_three_rows_are_a_graph():
    for n in (2, 3):
        graph, tree = build_graph(np.arange(n)[:, None] * 1.0, np.ones(n))
        assert len(tree.heights) == len(graph.peaks)
        assert np.isfinite(graph.height).all()


def test_pieces_far_apart_are_tied_together():
    X = np.concatenate([rows_of_three(60) + shift for shift in (0.0, 1e3, 5e3, 1e5)])
    graph, tree = build_graph(X, np.ones(len(X)))
    assert len(tree.child) == len(graph.peaks) - 1
    labels = tree.cut(n_clusters=4)[graph.mode].reshape(4, 60)
    assert all(len(np.unique(part)) == 1 for part in labels)


def test_new_rows_take_the_nearest_node_and_its_height(three):
    graph, _ = three
    Z = np.random.default_rng(0).normal(size=(50, 2)) * 5
    index, distance = nearest_nodes(graph, Z)
    table = cdist(Z, graph.nodes)
    np.testing.assert_array_equal(index, table.argmin(axis=1))
    np.testing.assert_allclose(distance, table.min(axis=1))
    window = np.log(np.sort(table, axis=1)[:, 7:15])
    expected = -graph.dimension * window.mean(axis=1)
    np.testing.assert_allclose(row_heights(graph, Z), expected)
    np.testing.assert_array_equal(row_heights(graph, graph.nodes), graph.height)


def test_paths_lead_up_to_the_mode(three):
    graph, _ = three
    Z = graph.nodes[:20] + 0.01
    way = nodes_on_the_way(graph, Z)
    index, _ = nearest_nodes(graph, Z)
    np.testing.assert_array_equal(way[0], index)
    np.testing.assert_array_equal(way[-1], graph.peaks[graph.mode[index]])
    for before, after in pairwise(way):
        moved = before != after
        assert (graph.height[after] > graph.height[before])[moved].all()


def test_rings_are_clusters_with_nothing_set():
    X, y = make_circles(1000, factor=0.5, noise=0.04, random_state=0)
    model = ModeClustering().fit(X)
    assert model.ascent_ == "rows"
    assert adjusted_rand_score(y, model.labels_) > 0.99


@pytest.mark.parametrize("d", [2, 5])
def test_a_uniform_cube_is_one_cluster(d):
    X = np.random.default_rng(d).uniform(size=(500, d))
    model = ModeClustering().fit(X)
    assert model.ascent_ == "rows"
    assert model.n_clusters_ == 1


def test_a_field_that_ripples_is_followed_on_trial_only():
    # In a cube of five features a Gaussian explains about half of the gradient.
    estimator = LogDensityGradient(bandwidth="auto")
    X = np.random.default_rng(0).uniform(size=(500, 5))
    model = ModeClustering(estimator).fit(X)
    assert 0.3 < model.estimator_.gaussian_share_ < 0.65
    assert model.ascent_ == "rows"
    X, _ = three_gaussians(4).sample(1000, random_state=0)
    model = ModeClustering(estimator).fit(X)
    assert 0.3 < model.estimator_.gaussian_share_ < 0.65
    assert model.ascent_ == "fixed_point"
    assert model.n_clusters_ == 3


def test_where_there_are_more_rows_than_nodes_all_are_labelled_alike(monkeypatch):
    X, y = make_blobs(2000, centers=4, random_state=3)
    monkeypatch.setattr("modeseek.cluster.climbing.MANY_NODES", 500)
    monkeypatch.setattr("modeseek.cluster.climbing.most_nodes", lambda d, n: 500)
    monkeypatch.setattr("modeseek.cluster.climbing.most_single", lambda d, n: 50)
    model = ModeClustering().fit(X)
    graph = model._landscape.graph
    assert graph.n_single == 50
    assert 450 < len(graph.nodes) <= 550
    assert adjusted_rand_score(y, model.labels_) > 0.99
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    order = np.random.default_rng(0).permutation(len(X))
    again = ModeClustering().fit(X[order])
    np.testing.assert_array_equal(again.labels_, model.labels_[order])


def test_answers_about_rows_agree_with_the_labels():
    X, _ = make_blobs(400, centers=3, random_state=0)
    model = ModeClustering(ascent="rows").fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.membership(X).argmax(axis=1), model.labels_)
    score = model.outlier_score(X)
    assert ((score >= 0) & (score < 1)).all()
    assert model.outlier_score(model.modes_[:1])[0] < 0.05
    assert model.outlier_score(X.mean(axis=0, keepdims=True) + 1e3)[0] > 0.99
    paths = model.paths(X[:5])
    np.testing.assert_array_equal(paths[0], X[:5])
    np.testing.assert_allclose(paths[-1], model.modes_[model.row_modes_[:5]])


def rings(radii, n=250, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, 2.0 * np.pi, (len(radii), n))
    r = np.array(radii)[:, None]
    return np.column_stack([(r * np.cos(t)).ravel(), (r * np.sin(t)).ravel()])


def test_rings_are_pieces_and_a_gaussian_is_one():
    X = rings([1.0, 2.0, 3.0])
    graph, _ = build_graph(X, np.ones(len(X)))
    np.testing.assert_array_equal(graph.links.piece, np.repeat(np.arange(3), 250))
    noise = np.random.default_rng(1).normal(size=(1000, 2))
    graph, tree = build_graph(noise, np.ones(1000))
    assert not graph.links.piece.any()
    assert not graph.are_apart(tree).any()


def test_pieces_merge_after_all_that_is_inside_them():
    X = rings([1.0, 2.0, 3.0])
    graph, tree = build_graph(X, np.ones(len(X)))
    piece = graph.links.piece[graph.peaks]
    np.testing.assert_array_equal(
        graph.links.piece, piece[graph.mode], "nobody climbs to another piece"
    )
    apart = graph.are_apart(tree)
    assert apart.sum() == 2
    assert (np.diff(tree.passes) <= 0).all()
    assert (tree.p_value[apart] <= 0.03).all()
    groups = tree.merge(~apart)
    np.testing.assert_array_equal(groups[:, None] == groups, piece[:, None] == piece)


def test_rings_are_clusters_by_default():
    X = rings([1.0, 2.0, 3.0, 4.0], n=500)
    model = ModeClustering().fit(X)
    truth = np.repeat(np.arange(4), 500)
    # Chance may cut one of them; two are never one.
    assert homogeneity_score(truth, model.labels_) == 1.0
    assert adjusted_rand_score(truth, model.labels_) > 0.9
