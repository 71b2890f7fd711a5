"""The kernel density estimate, against scikit-learn's."""

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.neighbors import KernelDensity

from modeseek import KernelDensityGradient
from modeseek.datasets import gaussian, three_gaussians
from modeseek.gradient.kernel import REFERENCE_ROWS
from modeseek.rows.ranking import deal_folds, draw_centers, generator, rank_rows


@pytest.fixture(scope="module")
def X():
    return three_gaussians(2).sample(120, random_state=0)[0]


@pytest.fixture(scope="module")
def fresh():
    return three_gaussians(2).sample(30, random_state=1)[0]


@pytest.mark.parametrize("bandwidth", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_log_density_is_that_of_scikit_learn(bandwidth, offset, X, fresh):
    X, fresh = X + offset, fresh + offset
    model = KernelDensityGradient(bandwidth=bandwidth).fit(X)
    peer = KernelDensity(bandwidth=bandwidth).fit(X)
    np.testing.assert_allclose(
        model.log_density(fresh), peer.score_samples(fresh), rtol=1e-8
    )


def test_weighted_log_density_is_that_of_scikit_learn(X, fresh):
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    model = KernelDensityGradient(bandwidth=0.5).fit(X, sample_weight=weight)
    peer = KernelDensity(bandwidth=0.5).fit(X, sample_weight=weight)
    np.testing.assert_allclose(
        model.log_density(fresh), peer.score_samples(fresh), rtol=1e-8
    )
    assert model.coef_.sum() == pytest.approx(1.0, rel=1e-12)


def test_widths_for_each_feature_are_one_width_of_scaled_features(X, fresh):
    widths = np.array([0.3, 1.2])
    model = KernelDensityGradient(bandwidth=[widths]).fit(X)
    peer = KernelDensity(bandwidth=1.0).fit(X / widths)
    np.testing.assert_allclose(
        model.log_density(fresh),
        peer.score_samples(fresh / widths) - np.log(widths).sum(),
        rtol=1e-8,
    )


def test_far_from_every_row_the_nearest_kernel_is_left(X):
    model = KernelDensityGradient(bandwidth=0.5).fit(X)
    far = np.array([[1e6, 0.0]])
    nearest = X[X[:, 0].argmax()]
    np.testing.assert_allclose(
        model.gradient(far)[0], (nearest - far[0]) / 0.25, rtol=1e-9, atol=1e-3
    )
    np.testing.assert_allclose(model.hessian(far)[0], -4 * np.eye(2), atol=1e-9)
    assert np.isfinite(model.log_density(far)).all()


def brute_force_likelihood(X, fold, bandwidth):
    """Mean log-density of every row under scikit-learn's estimate without its fold."""
    total = 0.0
    for k in np.unique(fold):
        peer = KernelDensity(bandwidth=bandwidth).fit(X[fold != k])
        total += peer.score_samples(X[fold == k]).sum()
    return total / len(X)


def fold_of(splits, n):
    fold = np.empty(n, dtype=int)
    for k, (_, test) in enumerate(splits):
        fold[test] = k
    return fold


def dealt_folds(X, cv, random_state=0):
    """Folds that the estimator deals: the second draw from its generator."""
    ranking, rng = rank_rows(X), generator(random_state)
    draw_centers(ranking, min(REFERENCE_ROWS, len(ranking.first)), rng)
    return deal_folds(ranking, np.empty(0, dtype=int), cv, rng)[0]


@pytest.mark.parametrize("unit", [1.0, 40.0])
def test_likelihood_of_dealt_folds_is_that_of_brute_force(unit, X):
    X, candidates = unit * X, unit * np.array([0.2, 1.0, 0.5])
    model = KernelDensityGradient(bandwidth=candidates, cv=4).fit(X)
    fold = dealt_folds(X, 4)
    np.testing.assert_allclose(
        model.cv_results_["bandwidth"][:, 0], np.sort(candidates)[::-1]
    )
    expected = [brute_force_likelihood(X, fold, h) for h in np.sort(candidates)[::-1]]
    likelihood = model.cv_results_["mean_test_log_likelihood"]
    np.testing.assert_allclose(likelihood, expected, rtol=1e-8)
    best = model.cv_results_["bandwidth"][np.argmax(expected)]
    np.testing.assert_array_equal(model.bandwidth_, best)


@pytest.mark.parametrize("copies", [1, 3])
def test_likelihood_of_given_splits_is_that_of_brute_force(copies, X):
    # Copies sit in several folds here: each fold judges by the copies in the others.
    X = np.repeat(X, copies, axis=0)
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))
    candidates = [1.0, 0.5, 0.2]
    model = KernelDensityGradient(bandwidth=candidates, cv=splits).fit(X)
    fold = fold_of(splits, len(X))
    expected = [brute_force_likelihood(X, fold, h) for h in candidates]
    likelihood = model.cv_results_["mean_test_log_likelihood"]
    np.testing.assert_allclose(likelihood, expected, rtol=1e-8)
    assert len(model.centers_) == len(X) // copies


def test_rows_that_no_split_judges_only_train(X):
    judges = np.arange(40)
    split = [(np.arange(40, 120), judges)]
    model = KernelDensityGradient(bandwidth=[1.0, 0.4], cv=split).fit(X)
    expected = [
        KernelDensity(bandwidth=h).fit(X[40:]).score_samples(X[:40]).mean()
        for h in (1.0, 0.4)
    ]
    likelihood = model.cv_results_["mean_test_log_likelihood"]
    np.testing.assert_allclose(likelihood, expected, rtol=1e-8)


def test_candidates_with_a_width_for_each_feature_are_judged_alike(X):
    candidates = np.array([[1.0, 0.3], [0.4, 0.8], [0.2, 0.1]])
    model = KernelDensityGradient(bandwidth=candidates, cv=4).fit(X)
    fold = dealt_folds(X, 4)
    expected = [
        brute_force_likelihood(X / widths, fold, 1.0) - np.log(widths).sum()
        for widths in candidates
    ]
    likelihood = model.cv_results_["mean_test_log_likelihood"]
    np.testing.assert_allclose(likelihood, expected, rtol=1e-8)


def test_default_widths_bracket_the_best(X):
    model = KernelDensityGradient().fit(X)
    widths = model.cv_results_["bandwidth"][:, 0]
    likelihood = model.cv_results_["mean_test_log_likelihood"]
    assert (np.diff(widths) < 0).all()
    assert 0 < likelihood.argmax() < len(widths) - 1
    assert model.bandwidth_[0] == widths[likelihood.argmax()]


def test_log_density_of_the_normal_distribution_is_near_the_truth():
    X = gaussian(1).sample(3000, random_state=0)[0]
    line = np.linspace(-1.5, 1.5, 13)[:, None]
    model = KernelDensityGradient().fit(X)
    truth = gaussian(1).log_density(line)
    np.testing.assert_allclose(model.log_density(line), truth, atol=0.15)


def test_copies_of_a_row_are_one_kernel_of_their_weight():
    X = np.array([[0.0], [1.0], [1.0], [1.0]])
    model = KernelDensityGradient(bandwidth=1.0).fit(X)
    order = np.argsort(model.centers_[:, 0])
    np.testing.assert_allclose(model.centers_[order, 0], [0.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(model.coef_[order], [0.25, 0.75])


def test_a_fixed_width_is_taken_and_nothing_chosen(X):
    model = KernelDensityGradient(bandwidth=0.7).fit(X)
    np.testing.assert_allclose(model.bandwidth_, [0.7, 0.7], rtol=1e-15)
    assert model.cv_results_ == {}
