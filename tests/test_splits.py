"""Splits that held-out rows confirm: valleys, directions, parts, discriminants."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import norm, ortho_group
from sklearn.covariance import ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score

from modeseek.rows import pursuit
from modeseek.rows.components import shrink_covariance
from modeseek.rows.pursuit import find_directions, find_valley
from modeseek.rows.splits import certify_sides, find_discriminants, find_splits


def pair(delta, d, n=2000, seed=0, share=0.5):
    """Two Gaussians along a random direction, and which of them a row is from."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(d)
    y = rng.random(n) < share
    X = rng.standard_normal((n, d))
    X += delta * np.outer(y, direction / np.linalg.norm(direction))
    return (X - X.mean(axis=0)) / X.std(axis=0), y, direction


def test_the_valley_of_two_gaussians_is_between_them():
    rng = np.random.default_rng(0)
    u = np.concatenate([rng.normal(-3, 1, 2000), rng.normal(3, 1, 2000)])
    valley = find_valley(u)
    np.testing.assert_allclose(valley[:3], [-3, 0, 3], atol=0.5)
    assert valley.depth > 5


def test_one_mode_has_no_valley():
    assert find_valley(norm.ppf(np.linspace(0.001, 0.999, 999))) is None
    assert find_valley(np.zeros(100)) is None


def test_a_gaussian_has_no_index_and_a_pair_has_one():
    u = norm.ppf((np.arange(20000) + 0.5) / 20000)
    J, _ = pursuit._index(np.stack([u, np.sign(u)]))
    assert abs(J[0]) < 1e-3
    assert J[1] > 0.15


def test_the_thresholds_means_are_those_of_a_gaussian():
    u = norm.ppf((np.arange(200000) + 0.5) / 200000)
    means = [np.abs(u - t).mean() for t in pursuit.THRESHOLDS]
    np.testing.assert_allclose(pursuit.GAUSSIAN_MEANS, means, atol=1e-4)


def test_the_slope_of_the_index_is_a_difference_of_means():
    X = np.random.default_rng(0).standard_normal((4000, 3))
    w, t = np.array([0.6, 0.8, 0.0]), 0.3
    slope = X.T @ np.sign(X @ w - t) / len(X)
    numeric = approx_fprime(w, lambda v: np.abs(X @ v - t).mean(), 1e-5)
    np.testing.assert_allclose(slope, numeric, atol=1e-2)


@pytest.mark.parametrize("d", [2, 20, 100])
def test_the_pursuit_finds_the_direction_of_a_pair(d):
    Z, _, direction = pair(6, d)
    found = find_directions(Z, np.random.default_rng(0))
    cosines = [
        abs(w @ direction) / np.linalg.norm(w) / np.linalg.norm(direction)
        for w in found
    ]
    assert max(cosines) > 0.9
    for w in found:
        assert (Z @ w).std() == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(("delta", "d"), [(4, 2), (4, 50), (6, 128)])
def test_a_pair_is_split_in_two(delta, d):
    Z, y, _ = pair(delta, d)
    splits = find_splits(Z, np.random.default_rng(0))
    assert splits.n_parts == 2
    assert splits.certainty[0] > 3
    assert adjusted_rand_score(y, splits.part) > 0.7


@pytest.mark.parametrize("d", [2, 10, 60])
def test_noise_is_hardly_ever_split(d):
    n_split = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        for Z in (rng.standard_normal((500, d)), rng.uniform(size=(500, d))):
            Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
            n_split += find_splits(Z, np.random.default_rng(0)).n_parts > 1
    assert n_split <= 1


def test_a_rotation_changes_little():
    Z, _, _ = pair(5, 10)
    turned = Z @ ortho_group.rvs(10, random_state=0)
    one = find_splits(Z, np.random.default_rng(0))
    two = find_splits(turned, np.random.default_rng(0))
    assert one.n_parts == two.n_parts == 2
    assert adjusted_rand_score(one.part, two.part) > 0.9


def test_too_few_rows_are_not_split():
    Z, _, _ = pair(20, 2, n=30)
    assert find_splits(Z, np.random.default_rng(0)).n_parts == 1


def test_constant_features_do_no_harm():
    Z, _, _ = pair(6, 5)
    Z = np.column_stack([Z, np.zeros(len(Z))])
    splits = find_splits(Z, np.random.default_rng(0))
    assert splits.n_parts == 2
    directions = find_discriminants(Z, splits.part)
    assert directions.shape == (1, 6)
    assert abs(directions[0, 5]) < 1e-12


def test_discriminants_are_fishers_where_rows_are_many():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=30000)
    means = np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 2.0]])
    Z = rng.standard_normal((30000, 4))
    Z[:, :2] += means[y]
    found = find_discriminants(Z, y)
    fisher = LinearDiscriminantAnalysis().fit(Z, y).transform(Z)
    ours = Z @ found.T
    assert found.shape == (2, 4)
    within = ours - np.array([ours[y == i].mean(axis=0) for i in range(3)])[y]
    np.testing.assert_allclose(np.cov(within.T), np.eye(2), atol=0.02)
    for j in range(2):
        assert abs(np.corrcoef(ours[:, j], fisher[:, j])[0, 1]) > 0.999


def test_features_of_noise_have_no_part_in_directions():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=1000)
    Z = rng.standard_normal((1000, 40))
    Z[:, :3] += 1.5 * y[:, None]
    (direction,) = find_discriminants(Z, y)
    np.testing.assert_array_equal(np.flatnonzero(direction), [0, 1, 2])


def test_where_most_features_differ_all_have_part():
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=1000)
    Z = rng.standard_normal((1000, 10))
    Z[:, :9] += 0.8 * y[:, None]
    (direction,) = find_discriminants(Z, y)
    assert direction.all()


def test_far_more_features_than_rows_are_no_trouble():
    Z, y, _ = pair(30, 500, n=80)
    splits = find_splits(Z, np.random.default_rng(0))
    directions = find_discriminants(Z, y.astype(np.intp))
    assert splits.n_parts >= 1
    assert np.isfinite(directions).all()


@pytest.mark.parametrize("d", [5, 20, 60])
def test_sides_of_a_pair_are_apart_and_halves_of_noise_are_not(d):
    rng = np.random.default_rng(d)
    upper = np.arange(600) % 2 == 1
    noise = rng.normal(size=(600, d))
    pair = noise + 5.0 / np.sqrt(d) * upper[:, None]
    assert certify_sides(pair - pair.mean(axis=0), upper, rng) > 5.0
    assert certify_sides(noise, noise[:, 0] > 0, rng) < 0.0


def test_a_side_of_a_few_rows_is_not_judged():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(100, 5))
    upper = np.arange(100) < 19
    Z[upper] += 100.0
    assert certify_sides(Z, upper, rng) == 0.0


@pytest.mark.parametrize("shape", [(50, 1), (100, 3), (30, 60)])
def test_covariances_are_shrunk_as_scikit_learn_does(shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) @ rng.standard_normal((shape[1], shape[1]))
    expected, _ = ledoit_wolf(X, assume_centered=True)
    np.testing.assert_allclose(shrink_covariance(X), expected, atol=1e-10)


def test_the_covariance_of_equal_rows_is_zero():
    assert not shrink_covariance(np.zeros((5, 3))).any()
