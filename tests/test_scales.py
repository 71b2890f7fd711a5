"""A few features are scaled by their spread within clusters."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.cluster.climbing import ALIKE, graph_landscape, nodes_of, scale_within
from modeseek.rows.coordinates import spread_within
from modeseek.rows.source import ArrayRows
from modeseek.rows.subsample import make_overview


def squares(n, far, seed, d=2):
    """Two squares (or cubes) of one size, so far apart along the first feature."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = rng.uniform(-2.0, 2.0, size=(n, d))
    X[:, 0] += far * y
    return X, y


def first_and_scaled(X):
    overview = make_overview(ArrayRows(X, None, None), whole=False, n_jobs=None)
    nodes = nodes_of(overview.sample, overview.sample.ranking.first)
    built = []

    def build(frame):
        built.append(graph_landscape(frame, nodes, overview.rounding, n_jobs=None))
        return built[-1]

    first = build(overview.summary.frame())
    return first, scale_within(first, build), built


def test_spread_within_is_that_around_the_means_of_groups():
    rng = np.random.default_rng(0)
    Z, group = rng.normal(size=(60, 3)) + 5.0, np.repeat([0, 1, 2], [10, 20, 30])
    Z[:, 2] = 0.0
    around = np.concatenate(
        [Z[group == g] - Z[group == g].mean(axis=0) for g in (0, 1, 2)]
    )
    np.testing.assert_allclose(
        spread_within(Z, group), np.sqrt((around**2).mean(axis=0)), atol=1e-14
    )
    assert spread_within(Z, group)[2] == 0.0


def test_clusters_far_apart_in_a_feature_do_not_make_it_small():
    X, _ = squares(600, far=40.0, seed=0)
    first, scaled, _ = first_and_scaled(X)
    assert first.frame.unit[0] > 10.0 * first.frame.unit[1]
    assert 1.0 / ALIKE < scaled.frame.unit[0] / scaled.frame.unit[1] < ALIKE


def test_what_shows_less_evidence_is_not_taken():
    X, _ = squares(600, far=40.0, seed=0)
    _, scaled, built = first_and_scaled(X)
    evidence = [one.evidence() for one in built]
    assert scaled.evidence() == max(evidence)


def test_one_cluster_and_features_alike_are_left_as_they_are():
    X = np.random.default_rng(0).normal(size=(500, 2))
    for rows in (X, np.concatenate([X, X + 20.0])):
        first, scaled, built = first_and_scaled(rows)
        assert len(built) == 1
        assert scaled.frame is first.frame


def test_how_far_apart_squares_are_makes_no_clusters_inside_them():
    found = [
        ModeClustering().fit_predict(squares(400, 20.0, seed)[0]).max() + 1
        for seed in range(12)
    ]
    assert found.count(2) >= 10


def test_many_round_clusters_along_a_line():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 50)
    X = np.column_stack([20.0 * y, 5.0 * np.sin(y)]) + rng.normal(size=(2000, 2))
    labels = ModeClustering().fit_predict(X)
    assert adjusted_rand_score(y, labels) >= 0.99


@pytest.mark.parametrize("unit", [1e-99, 1e200])
def test_units_do_not_matter(unit):
    X, _ = squares(400, 20.0, seed=1)
    labels = ModeClustering().fit_predict(X)
    np.testing.assert_array_equal(ModeClustering().fit_predict(X * [1.0, unit]), labels)
