"""Penalties that tie tasks together, against a general optimiser and their limits."""

import numpy as np
import pytest
from scipy.optimize import minimize

from modeseek import LogDensityGradient
from modeseek.datasets import three_gaussians
from modeseek.gradient.base import enter_frame, field_of
from modeseek.gradient.extensions.multitask import (
    SMOOTHING,
    center_path,
    feature_path,
    feature_response,
    learned_similarity,
    multitask_path,
)
from modeseek.gradient.extensions.penalties import ridge_path

D, B = 3, 5
PAIRS = np.array([(0.1, 0.05), (0.01, 2.0), (1.0, 0.0)])


@pytest.fixture
def tasks():
    """G, h and scales of three tasks, well conditioned."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((D, 20, B))
    return (
        A.transpose(0, 2, 1) @ A / 20,
        rng.standard_normal((D, B)),
        np.array([1, 2, 3.0]),
    )


def quadratic(G, h, theta):
    """Sum over tasks of theta' G theta + 2 theta' h, and its derivative."""
    slope = np.stack([G[t % len(G)] @ theta[t] for t in range(len(theta))])
    return (theta * (slope + 2 * h)).sum(), 2 * (slope + h)


def optimum(objective, start):
    """Minimum of a function that gives value and derivative, by scipy.optimize."""
    found = minimize(
        lambda v: [np.ravel(p) for p in objective(v.reshape(start.shape))],
        start.ravel(),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-11, "maxiter": 5000},
    )
    return found.x.reshape(start.shape)


def printed_multitask(G, h, scales, lam, gamma, similarity):
    """The paper's objective, written out."""

    def objective(theta):
        value, slope = quadratic(G, h, theta)
        value += (lam * scales[:, None] * theta**2).sum()
        slope = slope + 2 * lam * scales[:, None] * theta
        for j in range(len(theta)):
            for k in range(len(theta)):
                apart = theta[j] - theta[k]
                weight = gamma * scales.mean() * similarity[j, k]
                value += weight * apart @ apart
                slope[j] += 2 * weight * apart
                slope[k] -= 2 * weight * apart
        return value, slope

    return objective


SIMILARITY = np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.8], [0.0, 0.8, 1.0]])


@pytest.mark.parametrize("one_gram", [False, True])
@pytest.mark.parametrize("similarity", [None, SIMILARITY], ids=["ones", "given"])
def test_multitask_minimises_the_printed_objective(tasks, similarity, one_gram):
    G, h, scales = tasks
    G = G[:1] if one_gram else G
    theta = multitask_path(G, h, scales, PAIRS, similarity)
    printed = np.ones((D, D)) if similarity is None else similarity
    for a, (lam, gamma) in enumerate(PAIRS):
        objective = printed_multitask(G, h, scales, lam, gamma, printed)
        best = optimum(objective, np.zeros((D, B)))
        np.testing.assert_allclose(theta[:, :, a], best, atol=1e-6)


def test_similarities_of_one_solve_the_coupled_system_too(tasks):
    one = multitask_path(*tasks, PAIRS)
    np.testing.assert_allclose(
        one, multitask_path(*tasks, PAIRS, np.ones((D, D))), rtol=1e-9
    )


def test_learned_similarities_are_those_of_the_first_solution(tasks):
    G, h, scales = tasks
    first = multitask_path(G, h, scales, PAIRS)
    learned = multitask_path(G, h, scales, PAIRS, learn=True)
    for a, pair in enumerate(PAIRS):
        similarity = np.empty((D, D))
        for j in range(D):
            for k in range(D):
                apart = first[j, :, a] - first[k, :, a]
                similarity[j, k] = np.exp(-(apart @ apart))
        np.testing.assert_allclose(
            learned_similarity(first[:, :, a]), similarity, rtol=1e-12
        )
        again = multitask_path(G, h, scales, pair[None], similarity)[:, :, 0]
        np.testing.assert_allclose(learned[:, :, a], again, rtol=1e-9)


def test_gamma_of_zero_is_separate_ridges(tasks):
    lams = np.array([0.01, 0.1, 1.0])
    pairs = np.column_stack([lams, np.zeros(3)])
    for options in ({}, {"similarity": SIMILARITY}, {"learn": True}):
        theta = multitask_path(*tasks, pairs, **options)
        np.testing.assert_allclose(theta, ridge_path(*tasks, lams), rtol=1e-9)


def test_a_large_gamma_tends_to_one_ridge_on_the_sums(tasks):
    G, h, scales = tasks
    lam = 0.1
    ridge = lam * scales.sum() * np.eye(B)
    shared = -np.linalg.solve(G.sum(axis=0) + ridge, h.sum(axis=0))
    gammas = 10.0 ** np.arange(2, 13, 2)
    theta = multitask_path(G, h, scales, np.array([(lam, g) for g in gammas]))
    error = np.abs(theta - shared[:, None]).max(axis=(0, 1))
    assert (error < 20.0 / gammas).all()


def test_a_task_without_data_pulls_no_other(tasks):
    G, h, scales = tasks
    G, h = G.copy(), h.copy()
    G[1], h[1] = 0.0, 0.0
    some = [0, 2]
    for options in ({}, {"learn": True}):
        theta = multitask_path(G, h, scales, PAIRS, **options)
        alone = multitask_path(G[some], h[some], scales[some], PAIRS, **options)
        np.testing.assert_allclose(theta[some], alone, rtol=1e-10)
        np.testing.assert_array_equal(theta[1], 0.0)


X = three_gaussians(3).sample(300, random_state=0)[0]
FIXED = {"n_centers": 20, "bandwidth": 2.0}


def test_the_estimator_meets_both_ends():
    def coefficients(**options):
        return LogDensityGradient(**FIXED, **options).fit(X).coef_

    separate = coefficients(coefficients="separate", alpha=0.01)
    none = coefficients(coefficients="multitask", alpha=0.01, gamma=0.0)
    np.testing.assert_allclose(none, separate, rtol=1e-8)
    # The shared model has one penalty where three features had one each.
    shared = coefficients(alpha=0.03)
    all_one = coefficients(coefficients="multitask", alpha=0.01, gamma=1e10)
    np.testing.assert_allclose(all_one, np.tile(shared, (3, 1)), rtol=1e-6)


def test_gamma_is_chosen_by_its_hold_out_loss():
    model = LogDensityGradient(**FIXED, coefficients="multitask", alpha=0.01).fit(X)
    results = model.cv_results_
    best = results["mean_test_loss"][0].argmin()
    assert model.gamma_ == results["gamma"][best]
    assert model.alpha_ == results["alpha"][best] == 0.01
    assert len(np.unique(results["gamma"])) == 5


def feature_objective(G, h, gamma, diagonal):
    """Loss plus gamma times the square of the smoothed norm, and its derivative."""

    def objective(theta):
        value, slope = quadratic(G, h, theta)
        if diagonal:
            size = np.sqrt((theta**2).sum(axis=0) + SMOOTHING)
            by_theta, total = theta / size, size.sum()
        else:
            values, V = np.linalg.eigh(theta.T @ theta + SMOOTHING * np.eye(B))
            total = np.sqrt(values).sum()
            by_theta = theta @ (V / np.sqrt(values)) @ V.T
        return value + gamma * total**2, slope + 2 * gamma * total * by_theta

    return objective


FORMS = pytest.mark.parametrize(
    ("path", "diagonal"),
    [(feature_path, False), (center_path, True)],
    ids=["full", "diagonal"],
)


@FORMS
@pytest.mark.parametrize("one_gram", [False, True])
def test_feature_learning_minimises_its_norm(tasks, path, diagonal, one_gram):
    G, h, scales = tasks
    G = G[:1] if one_gram else G
    lams = np.array([1e-3, 0.01])
    theta = path(G, h, scales, lams)
    for a, gamma in enumerate(lams * scales.mean()):
        objective = feature_objective(G, h, gamma, diagonal)
        best = optimum(objective, ridge_path(G, h, scales, lams)[:, :, a])
        np.testing.assert_allclose(theta[:, :, a], best, atol=5e-6)


def test_a_strong_full_penalty_lowers_the_rank(tasks):
    theta = feature_path(*tasks, np.array([1e-4, 0.3]))
    ranks = [np.linalg.matrix_rank(theta[:, :, a], tol=1e-3) for a in range(2)]
    assert ranks[0] == D
    assert ranks[1] < D


def test_a_strong_diagonal_penalty_drops_centres_for_all_tasks(tasks):
    G, h, scales = tasks
    theta = center_path(G, h, scales, np.array([1e-4, 0.3]))
    dropped = theta == 0.0
    assert not dropped[:, :, 0].any()
    gone = dropped[0, :, 1]
    assert 0 < gone.sum() < B
    np.testing.assert_array_equal(dropped[:, :, 1], np.tile(gone, (D, 1)))
    # Optimality: half the slope of a dropped centre is shorter than gamma times the
    # sum of lengths; that of the others is as long.
    slope = np.stack([G[t] @ theta[t, :, 1] for t in range(D)]) + h
    length = np.linalg.norm(slope, axis=0)
    bound = 0.3 * scales.mean() * np.linalg.norm(theta[:, :, 1], axis=0).sum()
    assert (length[gone] < bound * 1.01).all()
    np.testing.assert_allclose(length[~gone], bound, rtol=1e-2)


@FORMS
def test_the_response_solves_with_the_penalty_of_the_solution(tasks, path, diagonal):
    G, h, scales = tasks
    gamma = 0.01 * scales.mean()
    theta = path(G, h, scales, np.array([0.01]))[:, :, 0]
    again = feature_response(G, theta, gamma, h[:, :, None], diagonal=diagonal)
    np.testing.assert_allclose(-again[:, :, 0], theta, atol=1e-5)


def test_dropped_centres_leave_the_model():
    model = LogDensityGradient(
        40, bandwidth=2.0, alpha=1e-2, coefficients="separate", penalty="centers"
    ).fit(X)
    n = len(model.centers_)
    assert 0 < n < 40
    assert model.coef_.shape == (3, n)
    assert model.kept_.shape == (n,)
    assert field_of(model).evaluate(enter_frame(model, X)).pull.shape == X.shape
    drawn = LogDensityGradient(40, bandwidth=2.0, alpha=1e-2).fit(X).centers_
    np.testing.assert_array_equal(model.centers_, drawn[model.kept_])
