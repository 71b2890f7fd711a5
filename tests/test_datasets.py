"""The toy mixtures: their densities against SciPy, their gradients against them."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from modeseek.datasets import gaussian, three_gaussians, two_gaussians

MIXTURES = {
    "gaussian": gaussian(4),
    "two": two_gaussians(3),
    "three": three_gaussians(2),
    "three with noise": three_gaussians(5),
}


@pytest.fixture(params=MIXTURES.values(), ids=MIXTURES)
def mixture(request):
    return request.param


def test_log_density_is_that_of_the_mixture(mixture):
    X, _ = mixture.sample(20, random_state=0)
    density = sum(
        w * multivariate_normal(mean).pdf(X)
        for w, mean in zip(mixture.weights, mixture.means, strict=True)
    )
    np.testing.assert_allclose(mixture.log_density(X), np.log(density), rtol=1e-12)


def test_gradient_is_that_of_the_log_density(mixture):
    X, _ = mixture.sample(20, random_state=1)
    numeric = [approx_fprime(x, lambda z: mixture.log_density([z])[0]) for x in X]
    np.testing.assert_allclose(mixture.gradient(X), numeric, atol=1e-5)


def test_gradient_of_the_normal_distribution_is_minus_x():
    X, _ = gaussian(3).sample(50, random_state=0)
    np.testing.assert_allclose(gaussian(3).gradient(X), -X, rtol=1e-12)


@pytest.mark.parametrize("make", [gaussian, two_gaussians])
def test_density_integrates_to_one(make):
    area, _ = quad(lambda x: np.exp(make(1).log_density([[x]])[0]), -12, 12)
    assert area == pytest.approx(1.0, abs=1e-8)


def test_sample_has_the_means_weights_and_unit_variance_of_the_mixture(mixture):
    n = 20_000
    X, y = mixture.sample(n, random_state=0)
    assert X.shape == (n, mixture.means.shape[1])
    for k, (weight, mean) in enumerate(
        zip(mixture.weights, mixture.means, strict=True)
    ):
        rows = X[y == k]
        assert len(rows) / n == pytest.approx(weight, abs=0.02)
        np.testing.assert_allclose(rows.mean(axis=0), mean, atol=0.06)
        np.testing.assert_allclose(rows.var(axis=0), 1.0, atol=0.1)


def test_samples_repeat_with_their_seed(mixture):
    one, two = mixture.sample(10, random_state=3), mixture.sample(10, random_state=3)
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])
    assert (mixture.sample(10, random_state=4)[0] != one[0]).all()


def test_three_gaussians_are_those_of_the_paper():
    means, weights = three_gaussians(3)
    np.testing.assert_array_equal(means, [[0, 2, 0], [-2, -2, 0], [2, -2, 0]])
    np.testing.assert_array_equal(weights, [0.4, 0.3, 0.3])


def test_too_few_features_are_refused():
    with pytest.raises(ValueError, match="n_features must be at least 2, got 1"):
        three_gaussians(1)
