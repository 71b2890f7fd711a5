"""Parts joined from many small ones, and the Gaussians that rows climb then."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from modeseek import KernelDensityGradient, ModeClustering
from modeseek.cluster.certified_frame import CertifiedFrame
from modeseek.cluster.gaussians import _derivatives, _standard_errors
from modeseek.persist import load_model, save_model
from modeseek.rows.coordinates import Frame
from modeseek.rows.joins import join_parts
from modeseek.rows.splits import FEWEST_BESIDE, find_splits, look_at_sides


def overlapping(n=2000, d=15, k=10, seed=0):
    """Round Gaussians around places in a cube, and the cluster of each row."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    X = rng.random((k, d))[y] + 0.3 * rng.standard_normal((n, d))
    return X, y


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.fixture(scope="module")
def clustered():
    X, y = overlapping()
    return X, y, ModeClustering().fit(X)


def test_clusters_that_no_direction_of_all_rows_shows_are_kept_apart():
    X, y = overlapping()
    Z = standardised(X)
    joined = join_parts(Z, np.random.default_rng(0))
    assert joined.n_parts == 10
    assert adjusted_rand_score(y, joined.part) > 0.75
    assert len(joined.certainty) == 9
    assert find_splits(Z, np.random.default_rng(0)).n_parts < 4


@pytest.mark.parametrize("kind", ["normal", "uniform", "standard_t", "exponential"])
@pytest.mark.parametrize("d", [4, 15])
def test_one_cluster_is_joined_to_one_part(kind, d):
    rng = np.random.default_rng(d)
    draw = getattr(rng, kind)
    X = draw(3.0, (1500, d)) if kind == "standard_t" else draw(size=(1500, d))
    joined = join_parts(standardised(X), np.random.default_rng(0))
    assert joined.n_parts == 1
    assert not len(joined.certainty)


def test_no_more_parts_than_are_known_are_one():
    X, _ = overlapping()
    joined = join_parts(standardised(X), np.random.default_rng(0), more_than=10)
    assert joined.n_parts == 1


def test_few_rows_are_one_part():
    Z = np.random.default_rng(0).standard_normal((30, 5))
    assert join_parts(Z, np.random.default_rng(0)).n_parts == 1


def test_sides_with_a_valley_between_look_apart():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((600, 3))
    upper = np.arange(600) < 300
    assert look_at_sides(Z, Z[:, 0] > 0) == 0.0  # no valley: a cut through a hill
    Z[upper] += 3.0
    assert look_at_sides(Z, upper) > 3.0
    few = np.arange(600) < FEWEST_BESIDE - 1
    assert look_at_sides(Z, few) == 0.0


def test_rows_climb_a_gaussian_for_each_cluster(clustered):
    X, y, model = clustered
    assert model.n_clusters_ == 10
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert "a Gaussian for each cluster, in 9 coordinates" in model.decision_
    assert model.ascent_ == "fixed_point"
    assert isinstance(model.estimator_, KernelDensityGradient)
    assert model.transform(X).shape == (len(X), 9)
    assert model.feature_relevance_.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert (model.merge_tree_.p_value < 0.1).all()
    # Within clusters the coordinates have unit variances.
    inside = model.transform(X)
    for label in range(10):
        inside[model.labels_ == label] -= inside[model.labels_ == label].mean(axis=0)
    np.testing.assert_allclose(inside.std(axis=0), 1.0, atol=0.1)


def test_units_order_and_chunks_hardly_matter(clustered):
    X, _, model = clustered
    order = np.random.default_rng(1).permutation(len(X))
    scaled = X[order] * np.geomspace(1e-3, 1e3, X.shape[1]) + 5.0
    other = ModeClustering().fit(scaled)
    assert adjusted_rand_score(other.labels_, model.labels_[order]) > 0.9
    chunks = ModeClustering().fit([X[:700], X[700:]])
    np.testing.assert_array_equal(chunks.labels_, model.labels_)


def test_a_model_that_was_saved_says_the_same(clustered, tmp_path):
    X, _, model = clustered
    save_model(tmp_path / "model.skops", model)
    loaded, _, _ = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    np.testing.assert_allclose(loaded.membership(X[:9]), model.membership(X[:9]))
    assert str(loaded.merge_tree_) == str(model.merge_tree_)


@pytest.fixture
def three_parts():
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 3.5]])
    part = rng.choice(3, 900, p=[0.5, 0.3, 0.2])
    return CertifiedFrame(Frame(np.zeros(2), 1.0), np.ones(2), part, means, joined=True)


def height(means, share, z):
    return np.log(share @ np.exp(-0.5 * np.square(z - means).sum(axis=1)))


def test_derivatives_of_heights_are_differences(three_parts):
    means, z, h = three_parts.means, np.array([1.2, 0.7]), 1e-5
    share = np.bincount(three_parts.part) / 900
    by_share, by_mean = _derivatives(means, share, z[None])
    for j in range(3):
        up, down = share.copy(), share.copy()
        up[j] *= np.exp(h)
        down[j] *= np.exp(-h)
        slope = (height(means, up, z) - height(means, down, z)) / (2 * h)
        assert by_share[0, j] == pytest.approx(slope, rel=1e-6)
        for i in range(2):
            move = np.zeros((3, 2))
            move[j, i] = h
            slope = height(means + move, share, z) - height(means - move, share, z)
            assert by_mean[0, j, i] == pytest.approx(slope / (2 * h), rel=1e-6)


def test_standard_errors_are_those_of_draws(three_parts):
    top, saddle = np.array([[3.0, 0.0]]), np.array([[1.6, 0.1]])
    error = _standard_errors(three_parts, top, saddle)[0]
    rng, found = np.random.default_rng(1), []
    true_share = np.bincount(three_parts.part) / 900
    for _ in range(400):
        part = rng.choice(3, 900, p=true_share)
        X = three_parts.means[part] + rng.standard_normal((900, 2))
        share = np.bincount(part) / 900
        means = np.stack([X[part == j].mean(axis=0) for j in range(3)])
        found.append(height(means, share, top[0]) - height(means, share, saddle[0]))
    assert np.std(found) == pytest.approx(error, rel=0.15)
