"""Coordinates in which clusters differ: of any covariance, certified or sharpened."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.cluster import discriminants
from modeseek.cluster.certified import Rows, _ripples
from modeseek.cluster.certified_frame import CertifiedFrame, certify_frame
from modeseek.cluster.gaussian_share import are_winding, share_of_gaussian
from modeseek.cluster.held_out import certify_clusters, merge_unconfirmed
from modeseek.rows.coordinates import Frame
from modeseek.rows.pursuit import find_directions
from modeseek.rows.rounding import find_rounding
from modeseek.rows.splits import find_discriminants, split_parts


def thin_pair(n=600, seed=0):
    """Two Gaussians apart along their thinnest direction, and which a row is from."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, 5))
    X[:, 0] += 6.0 * y
    X *= np.geomspace(0.1, 3.0, 5)
    return X @ np.linalg.qr(rng.standard_normal((5, 5)))[0], y


def mixture(k, d, n, seed, *, correlated=True):
    """Gaussians of one covariance, none nearer than five deviations to another."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    means = rng.standard_normal((k, d))
    apart = np.linalg.norm(means[:, None] - means, axis=2)
    means *= 5.0 / apart[apart > 0].min()
    X = means[y] + rng.standard_normal((n, d))
    if correlated:
        X = X @ (rng.standard_normal((d, d)) / np.sqrt(d) + 0.3 * np.eye(d))
    return X, y


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.fixture(scope="module")
def six():
    return mixture(6, 10, 1500, seed=1)


@pytest.fixture(scope="module")
def sharp(six):
    return ModeClustering(ascent="rows").fit(six[0])


def test_clusters_apart_along_their_thinnest_direction_are_found():
    X, y = thin_pair()
    assert max(adjusted_rand_score(y, X[:, j] > X[:, j].mean()) for j in range(5)) < 0.1
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(y, model.labels_) > 0.95


@pytest.mark.parametrize("seed", [0, 1])
def test_a_linear_map_of_the_features_changes_little(seed):
    X, y = mixture(3, 6, 900, seed)
    mixed = X @ np.random.default_rng(seed).standard_normal((6, 6))
    one, two = (ModeClustering().fit(rows) for rows in (X, mixed))
    assert one.n_clusters_ == two.n_clusters_ == 3
    assert adjusted_rand_score(one.labels_, two.labels_) > 0.93
    assert adjusted_rand_score(y, two.labels_) > 0.93


def test_the_share_of_a_gaussian_is_that_of_its_covariance():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((1000, 4))
    mixed = Z @ rng.standard_normal((4, 4))
    for rows in (Z, mixed):
        assert share_of_gaussian(standardised(rows)) > 0.9
    t = rng.uniform(0.0, 2.0 * np.pi, 1000)
    ring = np.column_stack([np.cos(t), np.sin(t)]) + 0.05 * Z[:, :2]
    tilted = ring @ np.array([[1.0, 0.9], [0.0, 0.2]])
    for rows in (ring, tilted):
        assert share_of_gaussian(standardised(rows)) < 0.2


def test_features_that_differ_only_beside_others_have_part_in_discriminants():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    common = 10.0 * rng.standard_normal((2000, 1))
    Z = common + rng.standard_normal((2000, 4))
    Z[:, 0] += 4.0 * y
    Z = standardised(np.column_stack([Z, rng.standard_normal((2000, 6))]))
    (direction,) = find_discriminants(Z, y)
    np.testing.assert_array_equal(np.flatnonzero(direction), [0, 1, 2, 3])
    u = Z @ direction
    assert abs(u[y == 0].mean() - u[y == 1].mean()) > 3.0


@pytest.mark.parametrize("d", [1, 2, 5])
def test_directions_are_sought_in_three_ways(d):
    Z = standardised(np.random.default_rng(0).standard_normal((200, d)))
    assert len(find_directions(Z, np.random.default_rng(0))) == 3


def test_the_graph_is_built_anew_where_its_clusters_differ(six, sharp):
    X, y = six
    assert sharp.n_clusters_ == 6
    assert sharp.n_components_ == 5
    assert "5 discriminant coordinates" in sharp.decision_
    np.testing.assert_array_equal(sharp.predict(X), sharp.labels_)
    assert sharp.components_.shape == (5, 10)
    assert adjusted_rand_score(y, sharp.labels_) > 0.97


def test_sharper_coordinates_tell_clusters_better(six, sharp, monkeypatch):
    X, y = six
    monkeypatch.setattr(discriminants, "MOST_NODES", 100)
    blurred = ModeClustering(ascent="rows").fit(X)
    assert "discriminant" not in blurred.decision_
    assert adjusted_rand_score(y, blurred.labels_) < adjusted_rand_score(
        y, sharp.labels_
    )


def test_clusters_that_do_not_come_back_keep_their_coordinates(six, monkeypatch):
    monkeypatch.setattr(discriminants, "SAME_CLUSTERS", 1.01)
    model = ModeClustering(ascent="rows").fit(six[0])
    assert "discriminant" not in model.decision_
    assert model.n_clusters_ > 1


def test_sharper_coordinates_do_not_depend_on_order_or_unit(six, sharp):
    X, rng = six[0], np.random.default_rng(0)
    order = rng.permutation(len(X))
    again = ModeClustering(ascent="rows").fit(
        X[order] * 10.0 ** rng.integers(-3, 4, 10)
    )
    assert again.n_components_ == sharp.n_components_
    assert adjusted_rand_score(again.labels_, sharp.labels_[order]) > 0.999


def test_a_small_group_among_many_rows_stays_apart_in_sharper_coordinates():
    rng = np.random.default_rng(0)
    centers = 8.0 * rng.standard_normal((4, 8))
    X = centers[rng.integers(3, size=20_000)] + rng.standard_normal((20_000, 8))
    X[:60] = centers[3] + rng.standard_normal((60, 8))
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 4
    assert set(model.labels_[:60]) == {3}
    assert (model.labels_ == 3).sum() == 60


def test_many_parts_are_climbed_from_row_to_row():
    X, y = mixture(8, 30, 2400, seed=2)
    model = ModeClustering().fit(X)
    assert model.ascent_ == "rows"
    assert "rows that were held out confirm" in model.decision_
    assert model.n_clusters_ == 8
    assert adjusted_rand_score(y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_field_that_ripples_is_made_smoother():
    rng = np.random.default_rng(1)
    y = rng.random(500) < 0.27
    X = rng.standard_normal((500, 5))
    X[:, :2] += 3.5 * y[:, None]
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_a_field_must_show_the_parts_that_held_out_rows_confirm():
    X, _ = mixture(2, 5, 800, seed=1)
    model = ModeClustering().fit(X)
    frame = Frame(X.mean(axis=0), X.std(axis=0))
    rows = Rows(X, frame.enter(X))
    certified = certify_frame(frame, rows.Z)
    assert model.ascent_ == "fixed_point"
    assert not _ripples(model._landscape, certified, rows)
    other = np.random.default_rng(0).permutation(certified.part)
    assert _ripples(model._landscape, certified._replace(part=other), rows)


def graph_and_frame(X):
    frame = Frame(X.mean(axis=0), X.std(axis=0))
    return ModeClustering(ascent="rows").fit(X)._landscape, frame, find_rounding(X)


@pytest.fixture(scope="module")
def moons():
    """Two moons in a plane of five features, and which a row is from."""
    X, y = make_moons(900, noise=0.07, random_state=4)
    rng = np.random.default_rng(4)
    X = np.column_stack([X, 0.15 * rng.standard_normal((900, 3))])
    return X @ np.linalg.qr(rng.standard_normal((5, 5)))[0], y


@pytest.fixture(scope="module")
def three_far_apart():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 5))
    X[300:600, 0] += 12.0
    X[600:, 1] += 12.0
    return X


def test_every_valley_between_clusters_has_a_certainty(three_far_apart):
    sure = certify_clusters(*graph_and_frame(three_far_apart))
    assert len(sure) == 2
    assert ((sure > 5.0) & (sure < 20.0)).all()
    assert not len(certify_clusters(*graph_and_frame(three_far_apart[:300])))


def test_a_few_rows_do_not_tell_whether_they_are_apart(three_far_apart):
    sure = certify_clusters(*graph_and_frame(three_far_apart[290:590]))
    assert np.isnan(sure).all()


def test_moons_wind_and_blobs_do_not(moons, three_far_apart):
    for X, wind in ((moons[0], True), (three_far_apart, False)):
        graph, *_ = graph_and_frame(X)
        Z = graph.frame.enter(graph.rows)
        assert are_winding(Z, discriminants.cluster_of_nodes(graph)) is wind
        everyone_alone = np.arange(len(Z))  # tells nothing
        assert not are_winding(Z, everyone_alone)


def test_moons_keep_the_graph_whatever_straight_cuts_say(moons):
    X, y = moons
    model = ModeClustering().fit(X)
    assert model.ascent_ == "rows"
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_what_shows_inside_a_known_cluster_must_be_confirmed(moons, three_far_apart):
    graph, *given = graph_and_frame(moons[0])
    every = np.zeros(len(graph.rows), dtype=np.intp)
    assert not graph.default_merges().all()
    assert merge_unconfirmed(graph, every, *given).default_merges().all()
    known = discriminants.cluster_of_nodes(graph)
    kept = merge_unconfirmed(graph, known, *given).default_merges()
    np.testing.assert_array_equal(kept, graph.default_merges())
    graph, *given = graph_and_frame(three_far_apart)
    every = np.zeros(len(graph.rows), dtype=np.intp)
    confirmed = merge_unconfirmed(graph, every, *given).default_merges()
    assert (~confirmed).sum() == 2


@pytest.mark.parametrize(
    ("certainty", "certain", "shown", "compares"),
    [
        ([2.0, 2.0], 2, 2, True),  # more parts than the graph shows
        ([2.0, 2.0], 4, 4, False),  # fewer than it is certain of
        ([4.0, 2.0], 3, 3, False),  # as many, but one is in doubt
        ([4.0, 3.5], 3, 3, True),
        ([4.0, 3.5], 2, 5, True),
    ],
)
def test_splits_in_doubt_do_not_replace_as_many_clusters_of_the_graph(
    certainty, certain, shown, compares
):
    frame, part = Frame(np.zeros(3), np.ones(3)), np.arange(len(certainty) + 1)
    certified = CertifiedFrame(frame, np.array(certainty), part, np.eye(len(part)))
    assert certified.compares_with(certain, shown) is compares


def pair_and_another(far, n, seed):
    """Two Gaussians 3.3 deviations apart and a third one, and which a row is from."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    middle = np.array([[0.0, 0.0], [3.3, 0.0], [1.5, far]])
    return middle[y] + rng.standard_normal((n, 2)), y


@pytest.mark.parametrize(("far", "seed"), [(15.0, 0), (15.0, 1), (15.0, 3), (40.0, 4)])
def test_a_cluster_far_away_does_not_hide_that_two_others_are_apart(far, seed):
    X, y = pair_and_another(far, 5000, seed)
    assert ModeClustering(ascent="rows").fit(X).n_clusters_ == 2
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert "confirm that 3 clusters, not 2, are apart there" in model.decision_
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_many_clusters_are_looked_at_one_by_one():
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=2400)
    means = 40.0 * np.eye(20)[:6]
    means[5] = means[4] + 5.0 * np.eye(20)[10]
    X = (means[y] + rng.standard_normal((2400, 20))) @ rng.standard_normal((20, 20))
    assert ModeClustering(ascent="rows").fit(X).n_clusters_ == 5
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 6
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_rings_and_moons_beside_each_other_are_not_cut():
    rng = np.random.default_rng(0)
    X, y = make_moons(1000, noise=0.06, random_state=0)
    t = rng.uniform(0.0, 2.0 * np.pi, 500)
    ring = np.column_stack([0.5 + np.cos(t), 4.0 + np.sin(t)])
    X = np.vstack([X, ring + 0.06 * rng.standard_normal((500, 2))])
    y = np.concatenate([y, np.full(500, 2)])
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.99


def test_parts_are_split_beyond_doubt_and_only_where_they_may_be():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((1200, 3))
    cluster = np.repeat([0, 1, 2], 400)
    Z[cluster == 1, 0] += np.where(rng.random(400) < 0.5, 20.0, 26.0)
    Z[cluster == 2, 1] += np.where(rng.random(400) < 0.5, 20.0, 26.0)
    asked = []

    def is_second(rows):
        asked.append(set(cluster[rows]))
        return asked[-1] == {1}

    splits = split_parts(Z, cluster, rng, 3.0, is_second)
    assert splits.n_parts == 4
    assert len(splits.certainty) == 1
    assert splits.certainty[0] > 3.0
    assert {0} not in asked
    assert {2} in asked
    np.testing.assert_array_equal(splits.part[cluster != 1], cluster[cluster != 1])
    assert split_parts(Z, cluster, rng, 3.0).n_parts == 5


def test_coordinates_in_which_parts_differ_by_chance_are_left_out():
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=3000)
    Z = rng.standard_normal((3000, 12))
    Z[:, 0] += 6.0 * (y % 3)
    Z[:, 1] += 6.0 * (y // 3)
    Z = standardised(Z @ np.linalg.qr(rng.standard_normal((12, 12)))[0])
    assert len(find_discriminants(Z, y)) == 2
    assert len(find_discriminants(Z, rng.integers(6, size=3000))) == 1


def test_a_rare_cluster_is_not_lost_where_others_are_split():
    X, _ = pair_and_another(30.0, 60_000, seed=0)
    X[:60] = np.random.default_rng(0).standard_normal((60, 2)) + 400.0
    model = ModeClustering().fit(X)
    assert set(model.labels_[:60]) == {model.n_clusters_ - 1}
    assert (model.labels_ == model.n_clusters_ - 1).sum() == 60
