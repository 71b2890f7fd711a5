"""Memberships against the posterior of mixtures, outlier scores against uniform."""

import copy
import pickle

import dask.array as da
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import softmax
from scipy.stats import kstest, multivariate_normal
from sklearn.datasets import make_blobs, make_circles, make_moons

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.cluster.hills import raise_hills
from modeseek.cluster.outliers import score_radii


@pytest.fixture(scope="module")
def blobs():
    """Rows in 50 dimensions, half of them fitted."""
    X, _ = make_blobs(3000, 50, centers=5, cluster_std=4, random_state=0)
    return ModeClustering().fit(X[:1500]), X[:1500], X[1500:]


@pytest.fixture(scope="module")
def pair():
    """Two Gaussians that overlap, with the posterior of fresh rows."""
    rng, means = np.random.default_rng(0), np.array([[0.0, 0.0], [4.0, 0.0]])
    covariances = [np.diag([1.0, 3.0]), np.diag([1.0, 1.0])]

    def draw(n):
        return np.concatenate(
            [
                rng.multivariate_normal(*part, n)
                for part in zip(means, covariances, strict=True)
            ]
        )

    def posterior(X):
        parts = zip(means, covariances, strict=True)
        return softmax(
            np.stack([multivariate_normal(*part).logpdf(X) for part in parts], 1), 1
        )

    X, fresh = draw(800), draw(500)
    model = ModeClustering(n_jobs=1).fit(X)
    assert model.n_clusters_ == 2
    order = np.argsort(model.cluster_centers_[:, 0])
    return model, X, fresh, posterior(fresh)[:, np.argsort(order)]


def test_outlier_scores_of_fresh_rows_in_50_dimensions_are_uniform(blobs):
    model, _, fresh = blobs
    assert kstest(model.outlier_score(fresh), "uniform").statistic < 0.05


def test_memberships_in_50_dimensions_are_as_clear_as_the_clusters(blobs):
    model, _, fresh = blobs
    assert np.median(model.membership(fresh).max(axis=1)) > 0.95


@pytest.mark.parametrize(
    "estimator",
    [None, KernelDensityGradient(), LogDensityGradient(), "rows"],
    ids=["default", "kernel", "gradient", "rows"],
)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_rows_of_the_fit_are_no_more_and_no_less_outliers_than_fresh_ones(d, estimator):
    rng = np.random.default_rng(d + 5)
    X = rng.standard_t(3, size=(3000, d)) + 9.0 * rng.integers(0, 2, (3000, 1))
    ascent = "rows" if estimator == "rows" else "auto"
    model = ModeClustering(None if ascent == "rows" else estimator, ascent=ascent)
    model.fit(X[:1500])
    assert kstest(model.outlier_scores_, "uniform").statistic < 0.02
    assert kstest(model.outlier_score(X[1500:]), "uniform").statistic < 0.06


def test_the_score_is_the_share_of_the_cluster_that_is_nearer_to_its_neighbours():
    X, _ = make_blobs(120, centers=2, cluster_std=0.5, random_state=0)
    model = ModeClustering(LogDensityGradient(bandwidth="cv")).fit(X)
    assert model.n_clusters_ == 2
    row = X[:1] + 0.3
    others = np.sort(cdist(X, X), axis=1)[:, 1:]
    radius = np.log(others[:, 7:15]).mean(axis=1)
    mine = np.log(np.sort(cdist(row, X), axis=1)[:, 7:15]).mean()
    own = radius[model.labels_ == model.predict(row)[0]]
    assert model.outlier_score(row)[0] == pytest.approx((own < mine).mean())


def test_past_the_last_row_scores_go_on_towards_one():
    table = [(np.log([1.0, 2.0]), np.array([0.0, 0.5, 1.0]))]
    rows = np.log([0.5, 1.0, 1.5, 2.0, 4.0, 400.0])
    score = score_radii(table, np.zeros(6, dtype=int), rows)
    np.testing.assert_allclose(score, [0.0, 0.25, 0.5, 0.75, 0.875, 0.99875])


def test_weights_are_copies_to_outlier_scores_and_memberships():
    X, _ = make_blobs(200, 3, centers=2, random_state=0)
    count = np.arange(200) % 3 + 1
    one = ModeClustering(ascent="rows").fit(X, sample_weight=count)
    two = ModeClustering(ascent="rows").fit(np.repeat(X, count, axis=0))
    np.testing.assert_allclose(one.outlier_score(X), two.outlier_score(X))
    np.testing.assert_allclose(one.membership(X), two.membership(X))


def test_memberships_are_the_posterior_of_a_mixture(pair):
    model, _, fresh, posterior = pair
    share = model.membership(fresh)
    np.testing.assert_array_equal(share.argmax(axis=1), model.predict(fresh))
    brier = ((share - posterior) ** 2).sum(axis=1).mean()
    hard = ((np.eye(2)[model.predict(fresh)] - posterior) ** 2).sum(axis=1).mean()
    assert brier < 0.004
    assert brier < 0.25 * hard


@pytest.mark.parametrize("shape", ["moons", "circles"])
def test_memberships_of_clusters_of_any_shape_are_clear(shape):
    X, _ = (
        make_moons(1000, noise=0.07, random_state=0)
        if shape == "moons"
        else make_circles(1000, noise=0.05, factor=0.4, random_state=0)
    )
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 2
    assert np.quantile(model.probabilities_, 0.02) > 0.9


def test_a_gaussian_is_fewer_hills_than_modes_and_a_ring_several():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    model = ModeClustering(ascent="rows").fit(X)
    assert len(model.modes_) > 5
    one = np.zeros(len(model.modes_), dtype=int)
    parts = model._landscape, model._reference
    assert len(raise_hills(*parts, one, None).labels) <= 2
    ring, _ = make_circles(1000, noise=0.05, factor=0.4, random_state=0)
    model = ModeClustering().fit(ring)
    labels = raise_hills(model._landscape, model._reference, model.mode_labels_, None)
    assert np.bincount(labels.labels).min() > 2


def test_attributes_are_the_answers_about_the_rows_of_the_fit(pair):
    model, X, _, _ = pair
    np.testing.assert_array_equal(model.outlier_scores_, model.outlier_score(X))
    share = model.membership(X)
    np.testing.assert_array_equal(model.probabilities_, share.max(axis=1))


def test_another_cut_has_its_own_answers(pair):
    fitted, X, _, _ = pair
    model = copy.copy(fitted).recut(n_clusters=1)
    np.testing.assert_array_equal(model.membership(X), np.ones((len(X), 1)))
    assert kstest(model.outlier_scores_, "uniform").statistic < 0.01
    model.recut(n_clusters=len(model.modes_))
    assert model.membership(X).shape == (len(X), len(model.modes_))
    np.testing.assert_array_equal(model.membership(X).argmax(axis=1), model.labels_)


def test_a_model_that_was_saved_has_not_the_rows_of_its_fit(pair):
    model, X, _, _ = pair
    again = pickle.loads(pickle.dumps(ModeClustering().fit(X)))
    np.testing.assert_array_equal(again.outlier_score(X), model.outlier_score(X))
    with pytest.raises(AttributeError, match="give them to membership or outlier_sc"):
        _ = again.probabilities_
    assert not hasattr(again, "outlier_scores_")


def test_a_second_fit_forgets_the_first(pair):
    model, X, _, _ = pair
    again = copy.copy(model)
    assert len(again.outlier_scores_) == len(X)
    again.fit(X[:700])
    np.testing.assert_array_equal(
        again.outlier_scores_, ModeClustering().fit(X[:700]).outlier_scores_
    )


def test_answers_on_dask_are_lazy_and_the_same(pair):
    _, X, _, _ = pair
    model = ModeClustering().fit(X)
    lazy = ModeClustering().fit(da.from_array(X, chunks=(500, 2)))
    for name in ("outlier_scores_", "probabilities_"):
        answer = getattr(lazy, name)
        assert hasattr(answer, "dask")
        np.testing.assert_allclose(answer.compute(), getattr(model, name))


def test_hills_of_many_features_stand_in_their_principal_components():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60)) + 6.0 * np.repeat([0, 1], 150)[:, None]
    model = ModeClustering(ascent="rows").fit(X)
    assert model.n_clusters_ == 2
    assert model._hills.mean.shape[1] <= 32
    assert model.probabilities_.min() > 0.99
