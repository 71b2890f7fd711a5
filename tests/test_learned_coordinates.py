"""The coordinates that a clustering learns, and what it says in them."""

import re
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine, make_moons
from sklearn.metrics import adjusted_rand_score

from modeseek import LogDensityGradient, ModeClustering
from modeseek.cluster.climbing import choose_landscape
from modeseek.cluster.features import gradient_in_features
from modeseek.cluster.fitting import explain_graph
from modeseek.datasets import three_gaussians
from modeseek.persist import load_model, save_model
from modeseek.rows.rounding import find_rounding, spread_ties


@pytest.fixture(scope="module")
def toy():
    return three_gaussians(8).sample(700, random_state=0)


@pytest.fixture(scope="module")
def model(toy):
    return ModeClustering().fit(toy[0])


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def test_clusters_are_found_in_the_plane_they_live_in(toy, model):
    assert model.ascent_ == "fixed_point"
    assert model.n_clusters_ == 3
    assert model.n_components_ == 2
    assert adjusted_rand_score(toy[1], model.labels_) > 0.88
    assert "rows that were held out confirm" in model.decision_
    size = np.abs(model.components_)
    assert size[:, 2:].max() < 0.25 * size[:, :2].max()


def test_all_answers_go_through_the_coordinates(toy, model):
    X = toy[0]
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.modes_.shape[1] == model.merge_tree_.saddles.shape[1] == 8
    share = model.membership(X[:50])
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    np.testing.assert_array_equal(share.argmax(axis=1), model.labels_[:50])
    paths = model.paths(X[:5])
    np.testing.assert_array_equal(paths[0], X[:5])
    modes = model.modes_[model.row_modes_[:5]]
    np.testing.assert_allclose(paths[-1], modes, atol=0.05)
    at_modes = model.predict(model.cluster_centers_)
    np.testing.assert_array_equal(at_modes, np.arange(3))


def test_the_estimator_takes_the_coordinates(toy, model):
    Y = model.transform(toy[0][:10])
    assert Y.shape == (10, 2)
    assert model.estimator_.gradient(Y).shape == (10, 2)
    scaled = (toy[0] - toy[0].mean(axis=0)) / toy[0].std(axis=0)
    np.testing.assert_allclose(
        model.transform(toy[0]), scaled @ model.components_.T, atol=1e-6
    )


def test_the_gradient_by_features_is_that_of_the_log_density(toy, model):
    X = toy[0][:20]
    fitted = gradient_in_features(model)
    step = 1e-4
    for j in range(8):
        off = step * np.eye(8)[j]
        rise = fitted.log_density(X + off) - fitted.log_density(X - off)
        slope = fitted.gradient(X)[:, j]
        np.testing.assert_allclose(slope, rise / (2 * step), atol=1e-5)


def test_units_and_order_of_the_rows_do_not_matter(toy, model):
    X, rng = toy[0], np.random.default_rng(0)
    order = rng.permutation(len(X))
    again = ModeClustering().fit(X[order] * 10.0 ** rng.integers(-3, 4, 8))
    np.testing.assert_array_equal(again.labels_, model.labels_[order])


def test_order_and_copies_of_rounded_rows_do_not_matter(toy):
    X, rng = np.round(toy[0][:400], 1), np.random.default_rng(0)
    model = ModeClustering().fit(X)
    assert model.n_components_ == 2
    order = rng.permutation(len(X))
    again = ModeClustering().fit(X[order])
    np.testing.assert_array_equal(again.labels_, model.labels_[order])
    weight = rng.integers(1, 4, len(X))
    copies = ModeClustering().fit(np.repeat(X, weight, axis=0))
    weighted = ModeClustering().fit(X, sample_weight=weight)
    np.testing.assert_array_equal(copies.labels_, np.repeat(weighted.labels_, weight))


def test_chunks_give_the_same_clusters(toy, model):
    X = toy[0]
    again = ModeClustering().fit([X[:300], X[300:301], X[301:]])
    assert adjusted_rand_score(again.labels_, model.labels_) > 0.999


def test_a_saved_model_keeps_its_coordinates(toy, model, tmp_path):
    save_model(tmp_path / "toy.skops", model)
    loaded = load_model(tmp_path / "toy.skops").model
    np.testing.assert_array_equal(loaded.predict(toy[0]), model.labels_)
    np.testing.assert_array_equal(loaded.components_, model.components_)
    assert loaded.decision_ == model.decision_


def test_wine_has_three_clusters(wine):
    model = ModeClustering().fit(wine[0])
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(wine[1], model.labels_) > 0.85


class Shown(NamedTuple):
    """What a graph shows, in place of a graph."""

    excess: float  # evidence
    n_certain: int  # clusters

    def evidence(self):
        return self.excess

    def count_certain(self):
        return self.n_certain


@pytest.mark.parametrize(
    ("plain", "shrunken", "is_plain"),
    [
        (Shown(2.0, 3), None, True),
        (Shown(2.0, 3), Shown(1.5, 2), False),
        (Shown(2.0, 3), Shown(0.5, 2), True),
        (Shown(0.5, 2), Shown(0.0, 1), False),
        (Shown(0.0, 1), Shown(0.1, 2), False),
        (Shown(0.0, 1), Shown(0.0, 1), True),
    ],
)
def test_components_count_unless_the_features_clearly_show_more(
    plain, shrunken, is_plain
):
    assert choose_landscape(plain, shrunken) is (plain if is_plain else shrunken)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_few_digits_less_are_as_many_clusters(seed):
    # Judged by all that lies beyond a valley, and not by the clusters that meet there,
    # draws had 9 to 12.
    X, _ = load_digits(return_X_y=True)
    some = np.random.default_rng(seed).choice(len(X), 1700, replace=False)
    assert 11 <= ModeClustering().fit(X[some]).n_clusters_ <= 13


def test_held_out_rows_refuse_merges_of_digits_that_chance_could_explain(monkeypatch):
    X, y = load_digits(return_X_y=True)
    # In discriminant coordinates the clusters stand by themselves.
    monkeypatch.setattr("modeseek.cluster.discriminants.MOST_NODES", 0)
    model = ModeClustering().fit(X)
    assert model.ascent_ == "rows"
    assert adjusted_rand_score(y, model.labels_) > 0.6
    # Some of the merges that are not made are less prominent than some that are.
    by_prominence = model.label_modes(n_clusters=model.n_clusters_)
    assert adjusted_rand_score(by_prominence, model.mode_labels_) < 1.0


def test_coordinates_of_many_rows_are_chosen_among_some(monkeypatch):
    rng = np.random.default_rng(0)
    side = rng.integers(3, size=1500)
    X = 6.0 * rng.normal(size=(3, 6))[side] + rng.normal(size=(1500, 6))
    whole = ModeClustering().fit(X)
    monkeypatch.setattr("modeseek.cluster.climbing.TRIAL_NODES", 300)
    some = ModeClustering().fit(X)
    assert some.n_components_ == whole.n_components_
    np.testing.assert_array_equal(some.labels_, whole.labels_)


def test_features_as_they_are_have_components_of_their_own():
    X, _ = three_gaussians(2).sample(300, random_state=0)
    model = ModeClustering(LogDensityGradient()).fit(X)
    np.testing.assert_array_equal(model.components_, np.eye(2))
    assert model.n_components_ == 2


def test_equal_answers_of_rounded_features_make_no_cluster():
    rng = np.random.default_rng(0)
    X = np.clip(np.rint(rng.exponential(1.0, (700, 9)) + 1), 1, 10)
    X[:150] = 1.0  # the most frequent answer
    assert ModeClustering().fit(X).n_clusters_ == 1


def test_ties_are_spread_to_half_way():
    X = np.column_stack([np.repeat([1.0, 2.0, 4.0], 100), np.arange(300.0)])
    spread = spread_ties(X, find_rounding(X), np.random.default_rng(0))
    np.testing.assert_array_equal(spread[:, 1], X[:, 1])
    for value, low, high in ((1.0, 0.5, 1.5), (2.0, 1.5, 3.0), (4.0, 3.0, 5.0)):
        at = spread[X[:, 0] == value, 0]
        assert low <= at.min() < low + 0.1
        assert high - 0.1 < at.max() <= high


def test_a_feature_of_few_values_is_no_valley():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 4))
    X[:, 0] = rng.choice([0.0, 1.0, 5.0], 600)
    model = ModeClustering().fit(X)
    assert model.n_components_ == 4
    assert model.ascent_ == "rows"


def test_the_way_from_row_to_row_is_explained():
    moons, _ = make_moons(400, noise=0.06, random_state=0)
    model = ModeClustering().fit(moons)
    said = model.decision_
    assert said.startswith("Rows climb from row to row, each to a denser neighbour in")
    told = re.search(r"30 % of it or more; here it explains (\d+) %\.", said)
    assert told
    assert 0 < int(told[1]) < 30
    said = explain_graph(model._landscape, 0.5, sharper=False)
    assert "if rows that were held out showed more clusters" in said
    given = ModeClustering(ascent="rows").fit(moons).decision_
    assert given.endswith("That was asked for.")
    given = ModeClustering(ascent="gradient").fit(moons).decision_
    assert given == 'Rows climb as was asked for, ascent="gradient".'


@pytest.mark.parametrize("n", [1000, 3000])
def test_a_ring_is_one_cluster_although_every_direction_shows_two_ends(n):
    t = np.random.default_rng(1).uniform(0.0, 2.0 * np.pi, n)
    model = ModeClustering().fit(np.column_stack([np.cos(t), np.sin(t)]))
    assert model.n_clusters_ == 1
