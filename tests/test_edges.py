"""Edges of the graph of rows, against loops written out."""

import threading

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_info, threadpool_limits

from modeseek import ModeClustering
from modeseek.graph.edges import (
    EDGE_NEIGHBORS,
    find_neighbors,
    neighbor_edges,
    tie_pieces,
)
from modeseek.graph.midway import MIDWAY_NEIGHBOR, PLANE, edge_heights
from modeseek.graph.neighbors import Search
from modeseek.graph.row_graph import build_graph
from modeseek.graph.ties import LARGE, TIES


def find_all(nodes, q=20, grain=0.0):
    search = Search(nodes, grain)
    near = find_neighbors(search, min(q, len(nodes) - 1))
    edges = neighbor_edges(near, EDGE_NEIGHBORS)
    return search, near, tie_pieces(nodes, near, edges)


def pieces_of(edges, m):
    """Number of the piece of each node, by spreading the lowest number."""
    piece = np.arange(m)
    while True:
        lowest = piece.copy()
        for i, j in edges:
            lowest[i] = lowest[j] = min(lowest[i], lowest[j])
        if np.array_equal(lowest, piece):
            return piece
        piece = lowest


def slow_edges(nodes):
    """Nearest ten of each, then the shortest ways out of every piece, until one."""
    distance = cdist(nodes, nodes)
    edges = {
        tuple(sorted((i, int(j))))
        for i, row in enumerate(distance)
        for j in np.argsort(row)[1 : EDGE_NEIGHBORS + 1]
    }
    while True:
        piece = pieces_of(edges, len(nodes))
        if not piece.any():
            return edges
        for number in np.unique(piece):
            inside = np.flatnonzero(piece == number)
            outside = np.flatnonzero(piece != number)
            away = distance[np.ix_(inside, outside)]
            for i in np.argsort(away.min(axis=1))[:TIES]:
                ends = int(inside[i]), int(outside[away[i].argmin()])
                edges.add(tuple(sorted(ends)))


@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("centers", [1, 2, 7])
def test_edges_are_those_of_neighbours_and_the_shortest_ties(d, centers):
    nodes = make_blobs(200, d, centers=centers, random_state=1)[0]
    _, _, edges = find_all(nodes)
    assert {tuple(map(int, edge)) for edge in edges} == slow_edges(nodes)
    assert not pieces_of(edges, 200).any()
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    np.testing.assert_array_equal(order, np.arange(len(edges)))


def test_many_pieces_are_tied_too():
    """A hundred and fifty pieces of twelve."""
    rng = np.random.default_rng(0)
    places = np.repeat(rng.uniform(-100.0, 100.0, (150, 3)), 12, axis=0)
    nodes = places + 1e-3 * rng.standard_normal(places.shape)
    _, _, edges = find_all(nodes)
    assert {tuple(map(int, edge)) for edge in edges} == slow_edges(nodes)


@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("shape", ["apart", "around"])
def test_large_pieces_are_tied_where_they_are_nearest(d, shape):
    """Three large ones and some small, side by side or about one another."""
    rng = np.random.default_rng(5)
    sizes = (LARGE + 100, LARGE + 50, LARGE + 10, 30, 12)
    places = rng.uniform(-30.0, 30.0, (len(sizes), d))
    parts = [rng.normal(size=(n, d)) + at for n, at in zip(sizes, places, strict=True)]
    if shape == "around":
        ring = rng.normal(size=(LARGE + 200, d))
        parts.append(120.0 * ring / np.linalg.norm(ring, axis=1, keepdims=True))
    nodes = np.concatenate(parts)
    _, _, edges = find_all(nodes)
    assert {tuple(map(int, edge)) for edge in edges} == slow_edges(nodes)


def test_nodes_that_count_differently_are_counted_half_way():
    """As in a loop over the nodes around the middle of every edge."""
    nodes = make_blobs(400, 3, centers=3, random_state=6)[0]
    search, near, edges = find_all(nodes)
    rng = np.random.default_rng(6)
    log_count = np.where(rng.random(400) < 0.1, -1.5, 0.0)
    height, q = rng.normal(size=400), MIDWAY_NEIGHBOR
    found = edge_heights(search, near, edges, height, 2.5, log_count)

    def density(place, first):
        order = np.argsort(np.linalg.norm(nodes - place, axis=1))[first : first + q]
        radius = np.linalg.norm(nodes[order[-1]] - place)
        return np.log(np.exp(log_count[order]).mean()) - 2.5 * np.log(radius)

    differs = log_count != 0.0
    differs |= differs[near.node[:, :q]].any(axis=1)
    for (i, j), lowest in zip(edges, found, strict=True):
        if not (differs[i] or differs[j]):  # half-way, nodes count as at the ends
            continue
        there = density((nodes[i] + nodes[j]) / 2, 0)
        falls = [max(density(nodes[end], 1) - there, 0.0) for end in (i, j)]
        expected = min(height[i] - falls[0], height[j] - falls[1])
        assert lowest == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("grain", [0.0, 0.3])
@pytest.mark.parametrize(("n", "d"), [(300, 2), (300, 10), (4, 3)])
def test_heights_of_edges_are_lowest_at_an_end_or_half_way(n, d, grain):
    nodes = make_blobs(n, d, centers=min(n, 3), random_state=2)[0]
    search, near, edges = find_all(nodes, grain=grain)
    height = np.random.default_rng(0).normal(size=n)
    lowest = edge_heights(search, near, edges, height, 2.5)
    q = min(MIDWAY_NEIGHBOR, n - 1)
    lowered = 0
    for (i, j), found in zip(edges, lowest, strict=True):
        off = np.sort(np.linalg.norm(nodes - (nodes[i] + nodes[j]) / 2, axis=1))
        there = np.hypot(off[q - 1], grain)
        expected = lower_end = min(height[i], height[j])
        far = np.hypot(np.sort(cdist(nodes[[i, j]], nodes), axis=1)[:, q], grain)
        for end, here in zip((i, j), far, strict=True):
            fallen = height[end] - 2.5 * np.log(there / here)
            lowered += fallen < expected
            expected = min(expected, fallen)
        if d == PLANE:
            empty = np.hypot(2.0 * off[0], grain)
            expected = min(expected, lower_end - 2.5 * np.log(empty / far.max()))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert lowered > 0


def test_an_edge_in_the_plane_falls_by_the_width_of_the_empty_place():
    """Between two lines of five rows at a distance of 3; neighbour 4 is 2 away."""
    along = np.arange(5.0)
    nodes = np.concatenate([np.column_stack([along, 0 * along + y]) for y in (0, 3)])
    search, near, edges = find_all(nodes, q=9)
    across = np.flatnonzero((edges == [2, 7]).all(axis=1))[0]
    inside = np.flatnonzero((edges == [1, 2]).all(axis=1))[0]
    flat = np.zeros(10)
    lowest = edge_heights(search, near, edges, flat, 2.0, q=4)
    assert lowest[inside] == 0.0
    assert lowest[across] == pytest.approx(-2.0 * np.log(3.0 / 2.0))
    assert edge_heights(search, near, edges, flat, 2.0, q=5)[across] == 0.0
    less = np.where(np.arange(10) == 3, -0.1, 0.0)  # balls are compared by what counts
    assert edge_heights(search, near, edges, flat, 2.0, less, q=4)[across] > -0.1


def test_an_empty_place_between_rings_is_deeper_than_chance_along_them():
    """By the fifth row half-way alone it was 1.1 times as deep."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0.0, 2.0 * np.pi, 400)
    radius = np.where(np.arange(400) < 160, 1.0, 1.4)
    X = radius[:, None] * np.column_stack([np.cos(t), np.sin(t)])
    X += rng.uniform(-0.03, 0.03, X.shape)
    _, tree = build_graph(X, np.ones(400))
    deepest, second = np.sort(tree.prominence)[::-1][:2]
    assert deepest > 1.4 * second


@pytest.mark.parametrize("d", [3, 10])
def test_a_far_row_does_not_blur_the_others(d):
    nodes = make_blobs(300, d, centers=4, random_state=3)[0]
    nodes[0] = 1e10
    _, near, edges = find_all(nodes)
    np.testing.assert_array_equal(
        near.node[1:], np.argsort(cdist(nodes, nodes), axis=1)[1:, 1:21]
    )
    assert {tuple(map(int, edge)) for edge in edges} == slow_edges(nodes)


@pytest.mark.parametrize("d", [3, 12])
def test_threads_change_no_neighbour(d):
    """Not those of ties either: many of these distances are equal."""
    rng = np.random.default_rng(3)
    nodes = np.unique(rng.integers(0, 3, (800, d)).astype(float), axis=0)
    rows = rng.integers(0, 3, (9_000, d)) + 0.5
    one = Search(nodes, n_jobs=1).query(rows, 7)
    three = Search(nodes, n_jobs=3).query(rows, 7)
    for alone, shared in zip(one, three, strict=True):
        np.testing.assert_array_equal(alone, shared)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_products_use_as_many_threads_as_n_jobs_says(monkeypatch, n_jobs):
    rng, threads = np.random.default_rng(4), set()
    nodes = rng.standard_normal((50, 12))
    find = NearestNeighbors.kneighbors

    def watch(self, *args, **options):
        pools = threadpool_info()
        assert all(p["num_threads"] == 1 for p in pools if p["user_api"] == "openmp")
        threads.add(threading.get_ident())
        return find(self, *args, **options)

    monkeypatch.setattr(NearestNeighbors, "kneighbors", watch)
    with threadpool_limits(4, user_api="openmp"):
        Search(nodes, n_jobs=n_jobs).query(rng.standard_normal((20_000, 12)), 2)
    assert len(threads) == n_jobs


def test_ties_do_not_depend_on_threads():
    nodes, _ = make_blobs(3000, 3, centers=150, cluster_std=0.2, random_state=0)
    near = find_neighbors(Search(nodes), 20)
    edges = neighbor_edges(near, EDGE_NEIGHBORS)
    one, three = (tie_pieces(nodes, near, edges, n_jobs) for n_jobs in (1, 3))
    assert len(one) > len(edges)
    np.testing.assert_array_equal(three, one)


def test_graphs_side_by_side_are_those_one_after_the_other():
    X, _ = make_blobs(1500, 6, centers=4, random_state=0)
    one, two = (ModeClustering(n_jobs=n_jobs).fit(X) for n_jobs in (1, 2))
    np.testing.assert_array_equal(two.row_modes_, one.row_modes_)
    for name in ("prominence", "saddles", "p_value"):
        np.testing.assert_array_equal(
            getattr(two.merge_tree_, name), getattr(one.merge_tree_, name)
        )
