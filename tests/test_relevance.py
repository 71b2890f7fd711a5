"""feature_relevance_: which features are more than a Gaussian."""

import numpy as np
import pytest

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians


@pytest.fixture(scope="module")
def toy():
    X, _ = three_gaussians(8).sample(600, random_state=0)
    return X


def make():
    return LogDensityGradient(60, bandwidth="auto")


@pytest.fixture(scope="module")
def fitted(toy):
    return make().fit(toy)


def relevance(X):
    return make().fit(X).feature_relevance_


def test_noise_features_have_next_to_none(fitted):
    shares = fitted.feature_relevance_
    assert shares.shape == (8,)
    assert (shares[:2] > 0.2).all()
    assert (shares[2:] < 0.02).all()
    assert shares.sum() == pytest.approx(1.0)


def test_units_do_not_matter(toy, fitted):
    shares = fitted.feature_relevance_
    np.testing.assert_allclose(relevance(toy * 1e6), shares, atol=0.01)
    # Units of their own decide which rows become centres, but not what matters.
    shares = relevance(toy * np.logspace(-3, 3, 8))
    assert (shares[:2] > 0.2).all()
    assert (shares[2:] < 0.05).all()


def test_shares_are_those_of_the_gradients_distance_from_a_gaussian(toy, fitted):
    model = fitted
    u = (toy - toy.mean(axis=0)) / toy.std(axis=0)
    excess = np.square(model.gradient(toy) * toy.std(axis=0) + u).mean(axis=0)
    # All rows here, a thousand drawn from their strata there.
    np.testing.assert_allclose(
        model.feature_relevance_, excess / excess.sum(), atol=0.03
    )


def test_constant_features_have_none():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(200), np.full(200, 3.0)])
    assert relevance(X).tolist() == [1.0, 0.0]


def test_clustering_shows_those_of_its_estimator(toy):
    model = ModeClustering(make()).fit(toy[:300])
    assert (model.feature_relevance_ == model.estimator_.feature_relevance_).all()
    # Fitted again with one that does not measure it, it has none left over.
    model.set_params(estimator=KernelDensityGradient()).fit(toy[:50, :2])
    assert not hasattr(model, "feature_relevance_")


def test_relevance_in_fewer_coordinates_is_that_of_the_features(toy):
    model = ModeClustering().fit(toy)
    assert model.n_components_ == len(model.estimator_.feature_relevance_) == 2
    relevance = model.feature_relevance_
    assert relevance.sum() == pytest.approx(1.0)
    assert relevance[2:].max() < 0.02 < relevance[:2].min()
