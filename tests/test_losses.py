"""Bregman losses: derivatives by finite differences, minima by a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from modeseek import LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.gradient.base import field_of, frame_of
from modeseek.gradient.extensions import losses as losses_module
from modeseek.gradient.extensions.losses import (
    BEND,
    LOSSES,
    SHIFT,
    Rule,
    gradient_scales,
    held_out,
    loss_sums,
    minimize_loss,
)
from modeseek.gradient.extensions.penalties import ridge_path, solve
from modeseek.gradient.moments import Problem, compute_moments, task_scales
from modeseek.gradient.state import loss_curvature_of

rng = np.random.default_rng(2)
Z = np.concatenate([rng.normal(-1.2, 0.7, (60, 2)), rng.normal(1.2, 0.7, (60, 2))])
CENTERS = Z[::15]
WEIGHT = rng.uniform(0.5, 2.0, len(Z))
FOLD = np.where(np.arange(len(Z)) % 15 == 0, 3, np.arange(len(Z)) % 3)
WIDTHS = np.array([1.5, 2.0])

KINDS = {
    "shared": {"shared": True},
    "separate": {"shared": False},
    "common": {"shared": False, "common": True},
}


def make_problem(kind, rows=None, **more):
    rows = np.arange(len(Z)) if rows is None else rows
    return Problem(
        read=lambda part: Z[rows][part],
        n_rows=len(rows),
        centers=CENTERS,
        base=np.zeros(2),
        weight=WEIGHT[rows],
        **KINDS[kind],
        **more,
    )


def squared_solution(problem, lam):
    moments = compute_moments(problem, WIDTHS, np.ones(1)).total()[0]
    return solve(moments, task_scales(WIDTHS, problem.shared, problem.common), lam)


def make_rule(name, problem, lam=1e-2):
    theta = squared_solution(problem, lam)
    return Rule(
        LOSSES[name], gradient_scales(problem, WIDTHS, theta, LOSSES[name]), WIDTHS
    )


def basis(kind, z, j):
    """psi_j and its derivative along j at one row, written out."""
    step = (CENTERS[:, j] - z[j]) / WIDTHS[j] ** 2
    phi = np.exp(-0.5 * (((z - CENTERS) / WIDTHS) ** 2).sum(axis=1))
    if kind == "common":
        return phi, step * phi
    return step * phi, (step**2 - WIDTHS[j] ** -2) * phi


def printed_loss(kind, rule, theta, rows):
    """The paper's -f(g) + f'(g) g + d/dx_j f'(g_j), summed over features."""
    total = 0.0
    for row in rows:
        for j in range(2):
            psi, derivative = basis(kind, Z[row], j)
            t = 0 if kind == "shared" else j
            g, slope, c = psi @ theta[t], derivative @ theta[t], rule.c[j]
            F, F1, F2, _, _ = rule.loss.derivatives(np.array([g / c]))
            value = -(c**2) * F + c * F1 * g + F2 * slope
            total += WEIGHT[row] * value[0]
    return total / WEIGHT[rows].sum()


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_are_finite_differences(name):
    loss, step = LOSSES[name].derivatives, 1e-5
    u = np.linspace(-0.8, 3.0, 50) if LOSSES[name].shifted else np.linspace(-4, 4, 50)
    exact = loss(u)
    for k in range(4):
        numeric = (loss(u + step)[k] - loss(u - step)[k]) / (2 * step)
        np.testing.assert_allclose(exact[k + 1], numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_is_convex_and_squared_at_zero(name):
    u = np.linspace(-0.9, 5.0, 200)
    assert (LOSSES[name].derivatives(u)[2] > 0).all()
    assert LOSSES[name].derivatives(np.zeros(1))[2] == pytest.approx(2.0)


def test_even_losses_are_even_and_shifted_ones_are_not():
    u = np.linspace(0.1, 0.9, 9)
    for loss in LOSSES.values():
        same = np.allclose(loss.derivatives(u)[2], loss.derivatives(-u)[2])
        assert same == (not loss.shifted)


def test_shifted_losses_are_the_printed_ones_at_one_plus_u():
    u = np.linspace(-0.7, 2.0, 30)
    t, step = 1 + u, 1e-4
    printed = {
        "shifted_kl": lambda t: -2 * np.log(t),
        "shifted_logistic": lambda t: 4 * (t * np.log(t) - (1 + t) * np.log(1 + t)),
    }
    for name, f in printed.items():  # up to a linear term, which no loss sees
        second = (f(t + step) - 2 * f(t) + f(t - step)) / step**2
        np.testing.assert_allclose(LOSSES[name].derivatives(u)[2], second, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LOSSES)
def test_sums_are_the_printed_loss_row_by_row(kind, name):
    problem = make_problem(kind)
    rule, theta = make_rule(name, problem), 0.8 * squared_solution(problem, 1e-2)
    rows = np.arange(len(Z))
    value = loss_sums(problem, rule, theta, second=False).value
    assert value.sum() == pytest.approx(
        printed_loss(kind, rule, theta, rows), rel=1e-10
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LOSSES)
def test_slopes_and_curvatures_are_finite_differences(kind, name):
    problem = make_problem(kind)
    rule, theta = make_rule(name, problem), 0.8 * squared_solution(problem, 1e-2)
    sums = loss_sums(problem, rule, theta, second=True)
    step = 1e-6
    for i in range(theta.shape[1]):
        moved = np.zeros_like(theta)
        moved[:, i] = step
        up, down = (
            loss_sums(problem, rule, theta + m, second=True) for m in (moved, -moved)
        )
        numeric = (up.value - down.value) / (2 * step)
        np.testing.assert_allclose(2 * sums.slope[:, i], numeric, rtol=1e-6, atol=1e-7)
        numeric = (up.slope - down.slope) / (2 * step)
        np.testing.assert_allclose(
            sums.curvature[:, :, i], numeric, rtol=1e-6, atol=1e-7
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lam", [1e-3, 0.1])
def test_the_square_reproduces_the_analytic_solution(kind, lam):
    problem = make_problem(kind)
    fit = minimize_loss(
        problem,
        make_rule("squared", problem),
        lam,
        np.zeros_like(squared_solution(problem, lam)),
    )
    np.testing.assert_allclose(
        fit.theta, squared_solution(problem, lam), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LOSSES)
def test_minima_are_those_of_a_general_optimiser(kind, name):
    problem, lam = make_problem(kind), 0.05
    rule, start = make_rule(name, problem, lam), squared_solution(problem, lam)
    fit = minimize_loss(problem, rule, lam, start)
    ridge = lam * task_scales(WIDTHS, problem.shared, problem.common)

    def objective(v):
        theta = v.reshape(start.shape)
        sums = loss_sums(problem, rule, theta, second=True)
        slope = 2 * (sums.slope + ridge[:, None] * theta)
        return (sums.value + ridge * (theta**2).sum(axis=1)).sum(), slope.ravel()

    found = minimize(
        objective, start.ravel(), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    np.testing.assert_allclose(fit.theta.ravel(), found.x, atol=1e-6)
    zero = loss_sums(problem, rule, np.zeros_like(start), second=False).value
    assert (fit.value < zero).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_basis_that_is_kept_gives_what_one_that_is_not_gives(kind, monkeypatch):
    problem, lam = make_problem(kind), 0.05
    rule, start = make_rule("log_cosh", problem, lam), squared_solution(problem, lam)
    kept = minimize_loss(problem, rule, lam, start)
    monkeypatch.setattr(losses_module, "KEPT_ELEMENTS", 0)
    for one, other in zip(kept, minimize_loss(problem, rule, lam, start), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", LOSSES)
def test_a_feature_that_has_settled_is_left_alone_and_is_at_its_minimum(
    name, monkeypatch
):
    problem, lam = make_problem("separate"), 0.05
    rule, start = make_rule(name, problem, lam), squared_solution(problem, lam)
    fit = minimize_loss(problem, rule, lam, start)
    start[0] = fit.theta[0]  # the other has its way to go
    asked = []

    def watched(*args, asked_for=loss_sums, **options):
        asked.append(options["asked"].copy())
        return asked_for(*args, **options)

    monkeypatch.setattr(losses_module, "loss_sums", watched)
    again = minimize_loss(problem, rule, lam, start)
    np.testing.assert_allclose(again.theta, fit.theta, atol=1e-8)
    np.testing.assert_allclose(again.A, fit.A, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(again.value, fit.value, rtol=1e-12)
    assert name == "squared" or not asked[-1][0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["even_power", "shifted_kl"])
def test_hold_out_losses_are_those_of_refits_row_by_row(kind, name):
    lams = np.array([0.02, 0.2])
    problem = make_problem(kind, fold=FOLD, n_folds=3)
    rule = make_rule(name, make_problem(kind))
    losses = held_out(problem, rule, lams)
    for k in range(3):
        train = make_problem(kind, np.flatnonzero(k != FOLD))
        judges = np.flatnonzero(k == FOLD)
        for a, lam in enumerate(lams):
            fit = minimize_loss(train, rule, lam, squared_solution(train, lam))
            expected = printed_loss(kind, rule, fit.theta, judges)
            assert losses[a, k] == pytest.approx(expected, rel=1e-8)


def test_a_gradient_outside_the_domain_costs_infinitely_much():
    problem = make_problem("shared")
    rule = make_rule("shifted_kl", problem)
    far = -100.0 * squared_solution(problem, 1e-2)
    assert loss_sums(problem, rule, far, second=False).value == np.inf
    fit = minimize_loss(problem, rule, 1e-2, far)  # starts from zero then
    assert np.isfinite(fit.value).all()


def test_scales_are_those_of_the_gradient():
    problem = make_problem("separate")
    theta = squared_solution(problem, 1e-2)
    g = np.array([[basis("separate", z, j)[0] @ theta[j] for j in range(2)] for z in Z])
    even = gradient_scales(problem, WIDTHS, theta, LOSSES["log_cosh"])
    expected = BEND * np.sqrt(np.average(g**2, axis=0, weights=WEIGHT))
    np.testing.assert_allclose(even, expected, rtol=1e-10)
    shifted = gradient_scales(problem, WIDTHS, theta, LOSSES["shifted_kl"])
    np.testing.assert_allclose(shifted, SHIFT * np.abs(g).max(axis=0), rtol=1e-10)


X = three_gaussians(2).sample(400, random_state=0)[0]


def test_the_unit_of_the_data_does_not_matter():
    for loss in ("even_power", "shifted_kl"):
        model = LogDensityGradient(30, loss=loss).fit(X)
        scaled = LogDensityGradient(30, loss=loss).fit(X * 8.0)
        np.testing.assert_allclose(
            scaled.gradient(X * 8.0) * 8.0, model.gradient(X), rtol=1e-6, atol=1e-8
        )


@pytest.mark.parametrize("loss", ["kl", "logistic", "power"])
def test_losses_as_printed_are_refused_with_the_reason(loss):
    with pytest.raises(ValueError, match=r"takes both signs\. Use loss="):
        LogDensityGradient(loss=loss).fit(X)


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_of_a_bregman_model_matches_a_bootstrap(kind):
    options = {"n_centers": 30, "bandwidth": 1.3, "alpha": 0.01, "loss": "even_power"}
    if kind != "shared":
        options["coefficients"] = "separate"
    if kind == "common":
        options["basis"] = "common"
    model = ModeClustering(
        LogDensityGradient(**options), prominence=0, ascent="quasi_newton"
    ).fit(X)
    tree, fitted = model.merge_tree_, model.estimator_
    assert len(tree.child) >= 1
    frame, curved = frame_of(fitted), loss_curvature_of(fitted)
    ends = frame.enter(model.modes_[tree.child]), frame.enter(tree.saddles)
    C, ours = frame.enter(fitted.centers_), frame.enter(X)

    def refit(weight):
        problem = Problem(
            read=lambda part: ours[part],
            n_rows=len(X),
            centers=C,
            base=np.zeros(2),
            weight=weight,
            **KINDS[kind],
        )
        start = np.atleast_2d(field_of(fitted).theta)
        theta = minimize_loss(problem, curved.rule, 0.01, start).theta
        field = field_of(fitted)._replace(theta=theta[0] if kind == "shared" else theta)
        t = (np.arange(100) + 0.5) / 100
        total = 0.0
        for along in t:
            here = field.evaluate(ends[1] + along * (ends[0] - ends[1]))
            g = here.factor * here.pull / field.widths**2
            total = total + (g * (ends[0] - ends[1])).sum(axis=1) / 100
        return total

    draws = np.random.default_rng(0).multinomial(400, np.full(400, 1 / 400), size=60)
    heights = np.array([refit(w.astype(float)) for w in draws])
    np.testing.assert_allclose(tree.std_error, heights.std(axis=0), rtol=0.35)


def test_the_ridge_path_starts_the_search_in_every_fold():
    problem = make_problem("separate", fold=FOLD, n_folds=3)
    moments = compute_moments(problem, WIDTHS, np.ones(1))
    scales = task_scales(WIDTHS, shared=False)
    theta = ridge_path(*moments.without(0, 1).mean(), scales, np.array([0.05]))
    rows = np.flatnonzero(FOLD != 1)
    alone = squared_solution(make_problem("separate", rows), 0.05)
    np.testing.assert_allclose(theta[:, :, 0], alone, rtol=1e-8)
