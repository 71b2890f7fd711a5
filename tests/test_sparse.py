"""The l1 path and coefficients that are not negative."""

import numpy as np
import pytest
from scipy.optimize import minimize

from modeseek import LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.field.fields import PotentialField
from modeseek.gradient.base import field_of, frame_of
from modeseek.gradient.extensions.penalties import (
    LEAST_RIDGE,
    PENALTIES,
    l1_gram,
    l1_knots,
    l1_path,
    positive_l1_path,
    positive_ridge_path,
    response,
    ridge_path,
    solve,
)
from modeseek.gradient.moments import task_scales

X = three_gaussians(2).sample(400, random_state=0)[0]
SHARED = {"n_centers": 60}
SEPARATE = {"n_centers": 60, "coefficients": "separate"}
COMMON = {"n_centers": 60, "coefficients": "separate", "basis": "common"}


def fitted_moments(options, bandwidth):
    """Mean moments and scales of a model on real rows, in its frame."""
    model = LogDensityGradient(bandwidth=bandwidth, alpha=1e-3, **options).fit(X)
    common = options.get("basis") == "common"
    scales = task_scales(field_of(model).widths, "coefficients" not in options, common)
    return model.moments_, scales


# --- the path ----------------------------------------------------------------------


def assert_optimal(A, h, lam, theta, tolerance):
    """Slope of theta' A theta + 2 theta' h is -lam sign(theta), or within lam at 0."""
    slope = 2 * (A @ theta + h)
    active = theta != 0
    np.testing.assert_allclose(
        slope[active], -lam * np.sign(theta[active]), rtol=0, atol=tolerance
    )
    assert (np.abs(slope[~active]) <= lam + tolerance).all()


@pytest.mark.parametrize("bandwidth", [4.0, 1.5, 0.5])
@pytest.mark.parametrize(
    "options", [SHARED, SEPARATE, COMMON], ids=["shared", "separate", "common"]
)
def test_every_knot_of_the_path_is_optimal(options, bandwidth):
    moments, scales = fitted_moments(options, bandwidth)
    G, h = moments.mean()
    for t, scale in enumerate(scales):
        A = l1_gram(G[t % len(G)], scale)
        lams, theta = l1_knots(A, h[t], 1e-6 * scale)
        assert len(lams) > 20
        assert lams[0] == pytest.approx(2 * np.abs(h[t]).max())
        assert (np.diff(lams) < 0).all()
        for lam, at_knot in zip(lams, theta, strict=True):
            assert_optimal(A, h[t], lam, at_knot, 1e-8 * np.abs(h[t]).max())


def test_between_knots_the_path_is_optimal_too():
    moments, scales = fitted_moments(SEPARATE, 1.5)
    G, h = moments.mean()
    lams = np.geomspace(1e-5, 1.0, 23)
    theta = l1_path(G, h, scales, lams)
    for t, scale in enumerate(scales):
        for a, lam in enumerate(lams):
            at_lam = theta[t, :, a]
            A = l1_gram(G[t], scale)
            assert_optimal(A, h[t], lam * scale, at_lam, 1e-8 * np.abs(h[t]).max())


def small_tasks():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 20, 6))
    return (
        A.transpose(0, 2, 1) @ A / 20,
        rng.standard_normal((3, 6)),
        np.array([1.0, 2.0, 3.0]),
    )


def split_minimum(G, h, ridge, lam, *, positive):
    """Minimum with an l1 penalty as a smooth one over theta = p - q, p, q >= 0."""
    b, signs = len(h), np.array([1.0] if positive else [1.0, -1.0])

    def objective(v):
        theta = signs @ v.reshape(-1, b)
        slope = 2 * (G @ theta + h) + 2 * ridge * theta
        value = theta @ G @ theta + 2 * theta @ h + ridge * theta @ theta
        return value + lam * v.sum(), np.concatenate([s * slope + lam for s in signs])

    found = minimize(
        objective,
        np.full(b * len(signs), 0.1),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (b * len(signs)),
        options={"ftol": 1e-16, "gtol": 1e-11, "maxiter": 10000},
    )
    return signs @ found.x.reshape(-1, b)


LAMS = np.array([0.01, 0.3, 1.0])

#: Function, and ridge and l1 penalty that lambda stands for.
SOLVERS = {
    "l1": (l1_path, lambda lam: (LEAST_RIDGE, lam), False),
    "positive ridge": (positive_ridge_path, lambda lam: (lam, 0.0), True),
    "positive l1": (positive_l1_path, lambda lam: (LEAST_RIDGE, lam), True),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_match_a_general_optimiser(name):
    path, weights, positive = SOLVERS[name]
    G, h, scales = small_tasks()
    theta = path(G, h, scales, LAMS)
    for t, scale in enumerate(scales):
        for a, lam in enumerate(LAMS):
            ridge, l1 = (scale * w for w in weights(lam))
            best = split_minimum(G[t], h[t], ridge, l1, positive=positive)
            np.testing.assert_allclose(theta[t, :, a], best, atol=1e-6)
            assert not positive or (theta[t, :, a] >= 0).all()


def test_one_gram_serves_all_tasks():
    G, h, scales = small_tasks()
    for path in (ridge_path, *PENALTIES.values()):
        one = path(G[:1], h, scales, LAMS)
        three = path(np.repeat(G[:1], 3, axis=0), h, scales, LAMS)
        np.testing.assert_allclose(one, three, rtol=1e-6, atol=1e-9)


def test_the_penalty_is_chosen_among_the_knots_by_hold_out_loss():
    model = LogDensityGradient(penalty="l1").fit(X)
    (alphas, coefs), results = model.path()[0], model.cv_results_
    assert (
        model.alpha_ == results["along_alpha"][results["along_mean_test_loss"].argmin()]
    )
    knots = alphas[alphas > 1e-6]
    inside = np.isin(
        np.round(np.log(knots), 6), np.round(np.log(results["along_alpha"]), 6)
    )
    assert inside.all()
    order = np.argsort(alphas)
    at_chosen = [np.interp(model.alpha_, alphas[order], c) for c in coefs[order].T]
    np.testing.assert_allclose(
        np.asarray(at_chosen)[model.kept_], model.coef_, rtol=1e-6, atol=1e-9
    )


def test_centres_without_a_coefficient_are_dropped_from_the_model():
    dense = LogDensityGradient(60, bandwidth=1.5, alpha=1e-2).fit(X)
    sparse = LogDensityGradient(60, bandwidth=1.5, alpha=1e-2, penalty="l1").fit(X)
    assert len(dense.centers_) == 60
    assert 0 < len(sparse.centers_) < 40
    assert sparse.coef_.all()
    np.testing.assert_array_equal(sparse.centers_, dense.centers_[sparse.kept_])
    full = np.zeros(60)
    full[sparse.kept_] = sparse.coef_
    unit = frame_of(sparse).unit
    field = PotentialField(
        frame_of(sparse).enter(dense.centers_),
        sparse.bandwidth_ / unit,
        full,
        np.zeros(2),
    )
    value = field.evaluate(frame_of(sparse).enter(X)).value
    np.testing.assert_allclose(sparse.log_density(X), value, rtol=1e-10)


def test_a_penalty_that_drops_every_centre_leaves_a_flat_model():
    model = LogDensityGradient(bandwidth=1.5, alpha=100.0, penalty="l1").fit(X)
    assert len(model.centers_) == 1
    np.testing.assert_array_equal(model.gradient(X), 0.0)
    assert model.score(X) == 0.0


def test_only_the_l1_penalty_has_a_path():
    assert not hasattr(LogDensityGradient(), "path")
    assert not hasattr(LogDensityGradient(penalty="l1", positive=True), "path")


# --- the response of coefficients ---------------------------------------------------


@pytest.mark.parametrize("penalty", [ridge_path, l1_path, positive_ridge_path])
def test_the_response_is_the_derivative_of_the_coefficients(penalty):
    moments, scales = fitted_moments(SEPARATE, 1.5)
    lam, rng = 0.05, np.random.default_rng(0)
    theta = solve(moments, scales, lam, penalty)
    ridge = LEAST_RIDGE if penalty is l1_path else lam
    directions = (
        rng.standard_normal((2, 60, 2)) * np.abs(moments.mean()[1]).max() * 1e-4
    )
    U = response(moments, scales, lam, penalty, directions)
    G = moments.mean()[0]
    for t in range(2):
        on = np.flatnonzero(theta[t])
        A = G[t][np.ix_(on, on)] + ridge * scales[t] * np.eye(len(on))
        expected = np.linalg.solve(A, directions[t, on])
        np.testing.assert_allclose(
            U[t, on], expected, rtol=1e-5, atol=1e-5 * abs(expected).max()
        )


# --- not negative -------------------------------------------------------------------

POSITIVE = [
    LogDensityGradient(positive=True),
    LogDensityGradient(positive=True, penalty="l1"),
]


@pytest.mark.parametrize("estimator", POSITIVE, ids=["ridge", "l1"])
def test_with_positive_coefficients_the_fixed_point_is_a_weighted_mean_shift(estimator):
    model = estimator.fit(X)
    assert (model.coef_ > 0).all()
    rng = np.random.default_rng(0)
    points = rng.uniform(-6, 6, (500, 2))
    D = ((points[:, None] - model.centers_) ** 2).sum(axis=2)
    weight = model.coef_ * np.exp(-0.5 * D / model.bandwidth_[0] ** 2)
    mean = weight @ model.centers_ / weight.sum(axis=1, keepdims=True)
    frame, field = frame_of(model), field_of(model)
    Z = frame.enter(points)
    step = field.evaluate(Z).fixed_point_step()
    np.testing.assert_allclose(frame.leave(Z + step), mean, rtol=1e-8, atol=1e-8)
    # Unlike a step of mixed signs it ascends at full length, from anywhere.
    before, after = model.log_density(points), model.log_density(mean)
    assert (after >= before * (1 - 1e-12)).all()
    assert (after > before + 1e-9).any()


def test_with_mixed_signs_full_steps_may_descend():
    model = LogDensityGradient(bandwidth=3.0, alpha=1e-6).fit(X)
    frame, field = frame_of(model), field_of(model)
    points = np.random.default_rng(0).uniform(-6, 6, (500, 2))
    Z = frame.enter(points)
    here = field.evaluate(Z)
    there = field.evaluate(Z + here.fixed_point_step())
    assert (there.value < here.value - 1e-6).any() or (here.mass <= 0).any()


@pytest.mark.parametrize("estimator", POSITIVE, ids=["ridge", "l1"])
def test_positive_coefficients_never_need_the_safe_step(estimator):
    model = ModeClustering(estimator).fit(X)
    assert model.n_guarded_ == 0
    assert model.n_unconverged_ == 0
    assert model.n_clusters_ == 3


def test_rows_do_not_swing_about_a_mode_of_a_field_without_a_potential():
    rows = three_gaussians(2).sample(1000, random_state=0)[0]
    estimator = LogDensityGradient(
        coefficients="separate", penalty="l1", bandwidth=3.7, alpha=1e-6
    )
    model = ModeClustering(estimator).fit(rows)
    assert model.n_guarded_ > 500  # denominators are negative: steps are stretched
    assert model.n_unconverged_ == 0
    assert model.n_clusters_ == 3
