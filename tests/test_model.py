"""The three ways to the widths, and the rule that chooses among them."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from modeseek import LogDensityGradient, ModeClustering
from modeseek.datasets import gaussian, three_gaussians
from modeseek.rows.source import ArrayRows
from modeseek.rows.summary import summarize


@pytest.fixture(scope="module")
def noisy():
    """Three clusters in two features, and six features of noise."""
    return three_gaussians(8).sample(600, random_state=0)


@pytest.fixture(scope="module")
def fitted(noisy):
    return {
        bandwidth: LogDensityGradient(60, bandwidth=bandwidth).fit(noisy[0])
        for bandwidth in ("auto", "learned")
    }


def test_a_standardised_frame_has_zero_means_and_unit_variances():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) * [1e-3, 1.0, 1e6] + [5.0, 0.0, -1e7]
    weight = rng.uniform(0.1, 3.0, 300)
    Z = summarize(ArrayRows(X, weight)).frame().enter(X)
    np.testing.assert_allclose(np.average(Z, axis=0, weights=weight), 0, atol=1e-9)
    np.testing.assert_allclose(np.average(Z**2, axis=0, weights=weight), 1, rtol=1e-9)


def test_a_standardised_frame_keeps_constant_features_at_zero():
    X = np.column_stack([np.arange(5.0), np.full(5, 7.0)])
    frame = summarize(ArrayRows(X)).frame()
    np.testing.assert_array_equal(frame.enter(X)[:, 1], 0.0)
    np.testing.assert_allclose(frame.leave(frame.enter(X)), X)


def test_mostly_gaussian_features_get_a_base_and_learned_widths(noisy, fitted):
    model = fitted["auto"]
    variance = noisy[0].var(axis=0)
    np.testing.assert_allclose(model.gaussian_base_, 1.0 / variance, rtol=1e-9)
    relative = model.bandwidth_ / np.sqrt(variance)
    assert relative[:2].max() < relative[2:].min()


def test_well_separated_clusters_get_one_width_in_standard_deviations():
    X, _ = make_blobs(1000, centers=8, cluster_std=0.3, random_state=0)
    model = LogDensityGradient(bandwidth="auto").fit(X * [1.0, 100.0])
    np.testing.assert_array_equal(model.gaussian_base_, 0.0)
    relative = model.bandwidth_ / (X * [1.0, 100.0]).std(axis=0)
    np.testing.assert_allclose(relative, relative[0], rtol=1e-9)


def test_learned_widths_without_a_base_beat_one_width_on_held_out_rows():
    rng = np.random.default_rng(0)
    X, _ = make_blobs(1500, centers=6, cluster_std=0.4, random_state=1)
    X = np.column_stack([X, rng.uniform(-3.0, 3.0, (1500, 2))])
    train, test = X[:1000], X[1000:]
    learned = LogDensityGradient(bandwidth="learned").fit(train)
    one = LogDensityGradient(150).fit(train)
    assert learned.score(test) > one.score(test)


@pytest.mark.parametrize("bandwidth", ["auto", "learned"])
def test_gradient_hessian_and_log_density_include_the_base(noisy, fitted, bandwidth):
    model = fitted[bandwidth]
    points = noisy[0][:5]
    g, H = model.gradient(points), model.hessian(points)
    for j, step in enumerate(1e-5 * np.eye(8)):
        up, down = points + step, points - step
        slope = (model.log_density(up) - model.log_density(down)) / 2e-5
        np.testing.assert_allclose(g[:, j], slope, rtol=1e-5, atol=1e-6)
        change = (model.gradient(up) - model.gradient(down)) / 2e-5
        np.testing.assert_allclose(H[:, :, j], change, rtol=1e-4, atol=1e-6)


def test_the_score_with_a_base_is_the_loss_row_by_row(noisy, fitted):
    model = fitted["auto"]
    rows = noisy[0][:50] * 1.1
    divergence = np.einsum("mii->m", model.hessian(rows))
    loss = (model.gradient(rows) ** 2).sum(axis=1) + 2.0 * divergence
    assert model.score(rows) == pytest.approx(-loss.mean(), rel=1e-9)


def test_the_gradient_of_a_gaussian_is_found_in_many_dimensions():
    X, _ = gaussian(30).sample(500, random_state=0)
    model = LogDensityGradient(60, bandwidth="auto").fit(X)
    fresh, _ = gaussian(30).sample(500, random_state=1)
    error = ((model.gradient(fresh) + fresh) ** 2).sum(axis=1).mean()
    assert error < 0.1 * 30  # the gradient's own mean square is 30


def test_labels_do_not_depend_on_the_unit_of_any_feature(noisy):
    X, _ = noisy
    units = np.array([1e-3, 1e3, 7.0, 1e6, 0.2, 1.0, 1e-6, 33.0])
    labels = ModeClustering().fit(X).labels_
    assert (
        ModeClustering().fit(X * units + 5.0 * units).labels_ == labels
    ).mean() > 0.999


def test_fifty_features_of_which_two_matter_give_three_clusters():
    X, y = three_gaussians(50).sample(1000, random_state=0)
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 3
    majority = [np.bincount(y[model.labels_ == k]).max() for k in range(3)]
    assert sum(majority) > 950


def test_learned_widths_refuse_separate_coefficients_and_a_penalty_of_ones_own(noisy):
    X = noisy[0][:100]
    with pytest.raises(ValueError, match='needs coefficients="shared"'):
        LogDensityGradient(bandwidth="learned", coefficients="separate").fit(X)
    for bandwidth in ("auto", "learned"):
        with pytest.raises(ValueError, match='leave alpha="cv"'):
            LogDensityGradient(bandwidth=bandwidth, alpha=0.1).fit(X)


def test_separate_coefficients_take_one_width_in_standard_deviations():
    X, _ = three_gaussians(3).sample(300, random_state=0)
    model = LogDensityGradient(bandwidth="auto", coefficients="separate").fit(X)
    relative = model.bandwidth_ / X.std(axis=0)
    np.testing.assert_allclose(relative, relative[0], rtol=1e-9)


def test_blurring_refuses_a_gaussian_base(noisy):
    estimator = LogDensityGradient(bandwidth="learned")
    with pytest.raises(ValueError, match='bandwidth="cv"'):
        ModeClustering(estimator, ascent="blurring").fit(noisy[0][:200])
