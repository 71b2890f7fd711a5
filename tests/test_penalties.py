"""Coefficients from moments, and the choice of width and penalty on moments alone."""

import numpy as np
import pytest
from scipy.optimize import minimize

from modeseek.field.fields import PotentialField, SeparateField, gradient
from modeseek.gradient.extensions.penalties import (
    LEAST_RIDGE,
    PENALTIES,
    l1_gram,
    l1_knots,
    l1_path,
    l1_paths,
    positive_l1_path,
    positive_ridge_path,
    quadratic_loss,
    response,
    ridge_by_factors,
    ridge_path,
    solve,
)
from modeseek.gradient.moments import Moments, Problem, compute_moments, task_scales
from modeseek.gradient.selection import (
    NARROWEST_POWER,
    WIDEST_POWER,
    Scores,
    join,
    search,
    search_default,
)

LAMS = np.array([1e-3, 1e-2, 0.1, 1.0, 10.0])


@pytest.fixture
def tasks():
    """G, h and scales of three tasks."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 20, 6))
    return A.transpose(0, 2, 1) @ A / 20, rng.standard_normal((3, 6)), np.arange(1, 4.0)


@pytest.mark.parametrize("ridge", [ridge_path, ridge_by_factors])
def test_ridge_path_solves_the_normal_equations(tasks, ridge):
    G, h, scales = tasks
    theta = ridge(G, h, scales, LAMS)
    for t in range(3):
        for a, lam in enumerate(LAMS):
            solution = np.linalg.solve(G[t] + lam * scales[t] * np.eye(6), -h[t])
            np.testing.assert_allclose(theta[t, :, a], solution, rtol=1e-10)


def test_ridge_path_minimises_the_penalised_loss(tasks):
    G, h, scales = tasks
    theta = ridge_path(G, h, scales, LAMS)
    for t in range(3):
        for a, lam in enumerate(LAMS):

            def loss(x, t=t, lam=lam):
                return x @ G[t] @ x + 2 * x @ h[t] + lam * scales[t] * x @ x

            best = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-8})
            np.testing.assert_allclose(theta[t, :, a], best.x, atol=1e-5)


def test_ridge_stays_finite_where_moments_vanish_or_are_negative_by_rounding():
    G = np.stack([np.zeros((4, 4)), -1e-5 * np.eye(4)])
    theta = ridge_path(G, np.ones((2, 4)), np.ones(2), np.array([1e-6]))
    np.testing.assert_allclose(theta, -1e6, rtol=1e-10)


def test_quadratic_loss_sums_the_printed_loss_over_tasks(tasks):
    G, h, _ = tasks
    theta = np.random.default_rng(1).standard_normal((3, 6, 2))
    for a in range(2):
        expected = 0.0
        for t in range(3):
            for i in range(6):
                expected += 2 * theta[t, i, a] * h[t, i]
                for k in range(6):
                    expected += theta[t, i, a] * G[t, i, k] * theta[t, k, a]
        assert quadratic_loss(G, h, theta)[a] == pytest.approx(expected, rel=1e-12)


def test_ridge_takes_the_means_of_the_moments(tasks):
    G, h, scales = tasks
    moments = Moments(7 * G, 7 * h, np.ones(6), np.asarray(7.0))
    expected = ridge_path(G, h, scales, np.array([0.3]))[:, :, 0]
    np.testing.assert_allclose(solve(moments, scales, 0.3), expected, rtol=1e-10)


rng = np.random.default_rng(5)
Z = rng.standard_normal((80, 2)) * [1.0, 0.6]
CENTERS = Z[:8]
WEIGHT = rng.uniform(0.2, 3.0, len(Z))
judged_by = np.where(np.arange(80) < 8, 3, rng.integers(0, 3, len(Z)))

CANDIDATES = {
    "one width": np.array([[0.5, 0.5], [2.0, 2.0], [1.0, 1.0]]),
    "a width a feature": np.array([[0.5, 1.0], [2.0, 0.7], [1.0, np.inf]]),
}


def make_problem(shared, rows=slice(None), *, folds=True):
    return Problem(
        read=lambda part: Z[rows][part],
        n_rows=len(Z[rows]),
        centers=CENTERS,
        base=np.zeros(2),
        shared=shared,
        weight=WEIGHT[rows],
        fold=judged_by[rows] if folds else None,
        n_folds=3 if folds else 0,
    )


def make_field(shared, widths, theta):
    if shared:
        return PotentialField(CENTERS, widths, theta[0], np.zeros(2))
    return SeparateField(CENTERS, widths, theta)


def loss_row_by_row(field, rows):
    """|g|^2 + 2 div g, averaged by weight."""
    total = 0.0
    for row in rows:
        z = Z[[row]]
        g = gradient(field, field.evaluate(z))
        total += WEIGHT[row] * (
            (g**2).sum() + 2 * field.divergence(z, np.ones(z.shape[1]))[0]
        )
    return total / WEIGHT[rows].sum()


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "separate"])
@pytest.mark.parametrize("candidates", CANDIDATES.values(), ids=CANDIDATES)
def test_hold_out_losses_equal_refitting_without_each_fold(shared, candidates):
    scores = search(make_problem(shared), candidates, LAMS)
    assert sorted(map(tuple, scores.widths)) == sorted(map(tuple, candidates))
    for i, widths in enumerate(scores.widths):
        for j, lam in enumerate(LAMS):
            losses, weights = [], []
            for k in range(3):
                train = np.flatnonzero(judged_by != k)
                judges = np.flatnonzero(judged_by == k)
                moments = compute_moments(
                    make_problem(shared, train, folds=False), widths, np.ones(1)
                )[0, 0]
                theta = solve(moments, task_scales(widths, shared), lam)
                field = make_field(shared, widths, theta)
                losses.append(loss_row_by_row(field, judges))
                weights.append(WEIGHT[judges].sum())
            mean = np.average(losses, weights=weights)
            assert scores.loss[i, j] == pytest.approx(mean, rel=1e-8)
            np.testing.assert_allclose(scores.fold_loss[i, j], losses, rtol=1e-8)


def test_one_feature_makes_shared_and_separate_coefficients_one_model():
    one_feature = [
        make_problem(shared)._replace(
            read=lambda part: Z[part, :1], centers=CENTERS[:, :1], base=np.zeros(1)
        )
        for shared in (True, False)
    ]
    candidates = np.array([[2.0], [1.0], [0.5]])
    shared, separate = (search(p, candidates, LAMS) for p in one_feature)
    np.testing.assert_allclose(shared.loss, separate.loss, rtol=1e-8)
    np.testing.assert_allclose(shared.neighbors, separate.neighbors, rtol=1e-10)


def test_one_width_for_all_features_is_scored_widest_first():
    for shared in (True, False):
        scores = search(make_problem(shared), CANDIDATES["one width"], LAMS)
        np.testing.assert_array_equal(scores.widths[:, 0], [2.0, 1.0, 0.5])


def test_neighbors_are_the_rows_the_median_centre_reaches():
    scores = search(make_problem(True), CANDIDATES["one width"], LAMS)
    D = ((Z[:, None] - CENTERS) ** 2).sum(axis=2)
    for widths, neighbors in zip(scores.widths, scores.neighbors, strict=True):
        reached = WEIGHT @ np.exp(-0.5 * D / widths[0] ** 2)
        assert neighbors == pytest.approx(np.median(reached), rel=1e-10)


def test_a_width_without_neighbours_is_not_allowed():
    candidates = np.array([[1.0, 1.0], [1e-3, 1e-3]])
    scores = search(make_problem(True), candidates, LAMS)
    np.testing.assert_array_equal(scores.allowed, [True, False])


def make_scores(loss, neighbors, allowed):
    n = len(loss)
    return Scores(
        widths=np.arange(n, 0.0, -1)[:, None],
        loss=np.array(loss, dtype=float),
        fold_loss=np.repeat(np.array(loss, dtype=float)[:, :, None], 3, axis=2),
        neighbors=np.array(neighbors, dtype=float),
        allowed=np.array(allowed),
    )


def test_the_winner_has_the_smallest_loss_among_allowed_widths():
    scores = make_scores([[3, 1], [2, 0], [9, -5]], [30, 20, 1], [True, True, False])
    assert scores.winner() == (1, 1)


def test_a_wider_width_wins_unless_clearly_worse():
    scores = make_scores([[3.0, 1.1], [2.0, 1.0]], [30, 20], [True, True])
    assert scores.best() == scores.winner() == (1, 1)  # worse in every fold alike
    noisy = scores.fold_loss.copy()
    noisy[0, 1] += [-0.5, 0.0, 0.5]  # now worse in some folds, better in others
    assert scores._replace(fold_loss=noisy).winner() == (0, 1)
    per_feature = np.array([[2.0, 1.0], [1.0, 2.0]])  # neither is the wider one
    assert scores._replace(fold_loss=noisy, widths=per_feature).winner() == (1, 1)


def test_without_an_allowed_width_the_most_neighbours_win():
    scores = make_scores([[3, 1], [2, 0]], [5, 1], [False, False])
    assert scores.winner() == (0, 1)


def test_joined_grids_are_the_grid_of_all_their_widths():
    widths = np.array([[20.0, 20.0], [1.0, 1.0]])
    joined = join(*(search(make_problem(True), w[None], LAMS) for w in widths))
    together = search(make_problem(True), widths, LAMS)
    for one, both in zip(joined, together, strict=True):
        np.testing.assert_allclose(one, both, rtol=1e-8)


def tight_clusters(spread):
    """Rows of a lattice of tight clusters: fine structure beside wide distances."""
    rng = np.random.default_rng(0)
    corners = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), -1).reshape(-1, 2)
    X = np.repeat(corners, 40, axis=0)
    return X + spread * rng.standard_normal(X.shape)


def search_clusters(spread):
    X = tight_clusters(spread)
    problem = Problem(
        read=lambda part: X[part],
        n_rows=len(X),
        centers=X[::8],
        base=np.zeros(2),
        shared=True,
        fold=np.where(np.arange(len(X)) % 8 == 0, 3, np.arange(len(X)) % 3),
        n_folds=3,
    )
    return search_default(problem, np.full(2, 2.0), LAMS)


def test_default_widths_are_powers_of_the_root_of_two_of_the_typical_distance():
    scores = search_clusters(0.6)
    assert scores.best()[0] < len(scores.widths) - 1
    expected = 2.0 * np.sqrt(2.0) ** np.arange(WIDEST_POWER, NARROWEST_POWER - 1, -1)
    np.testing.assert_allclose(scores.widths[:, 0], expected, rtol=1e-12)


def test_default_widths_grow_narrower_while_the_narrowest_wins():
    scores = search_clusters(0.05)
    assert len(scores.widths) > WIDEST_POWER - NARROWEST_POWER + 1
    ratios = scores.widths[1:, 0] / scores.widths[:-1, 0]
    np.testing.assert_allclose(ratios, np.sqrt(0.5), rtol=1e-12)


def test_without_folds_nothing_is_chosen_and_the_losses_are_zero():
    problem = make_problem(True, folds=False)
    scores = search(problem, np.full((1, 2), 1.0), np.array([0.1]))
    np.testing.assert_array_equal(scores.loss, [[0.0]])
    assert scores.winner() == (0, 0)


# --- penalties on a few small tasks, against their conditions of optimality ----------


@pytest.fixture(params=["a G for each task", "one G"])
def small(request, tasks):
    G, h, scales = tasks
    return (G[:1] if request.param == "one G" else G), h, scales


def each_task(small, theta):
    """Yield G, h, scale, the number and the coefficients of every penalty and task."""
    G, h, scales = small
    for t, scale in enumerate(scales):
        for a, lam in enumerate(LAMS):
            yield G[t % len(G)], h[t], scale, lam, theta[t, :, a]


def test_the_l1_path_meets_its_conditions(small):
    theta = l1_path(*small, LAMS)
    for G, h, scale, lam, x in each_task(small, theta):
        slope = 2.0 * (G @ x + LEAST_RIDGE * scale * x + h)
        zero = x == 0
        size = lam * scale
        np.testing.assert_allclose(slope[~zero], -size * np.sign(x[~zero]), atol=1e-7)
        assert (np.abs(slope[zero]) <= size * (1.0 + 1e-7)).all()
    assert (theta == 0).any()
    assert (theta != 0).any()


@pytest.mark.parametrize("l1", [False, True])
def test_positive_paths_meet_their_conditions(small, l1):
    path = positive_l1_path if l1 else positive_ridge_path
    for G, h, scale, lam, x in each_task(small, path(*small, LAMS)):
        assert (x >= 0).all()
        ridge = LEAST_RIDGE if l1 else lam
        slope = 2.0 * (G @ x + ridge * scale * x + h) + (lam * scale if l1 else 0.0)
        np.testing.assert_allclose(slope[x > 0], 0.0, atol=1e-9)
        assert (slope[x == 0] >= -1e-9).all()


def test_without_a_slope_the_l1_path_is_one_knot_of_zeros():
    lams, theta = l1_knots(np.eye(3), np.zeros(3))
    np.testing.assert_array_equal(lams, [0.0])
    np.testing.assert_array_equal(theta, np.zeros((1, 3)))


def test_the_l1_path_of_a_unit_matrix_is_soft_thresholding():
    h = np.array([3.0, -1.0, 0.25])
    lams, theta = l1_knots(np.eye(3), h, 0.4)
    # theta = -sign(h) max(|h| - lam / 2, 0): knots where an entry leaves zero.
    np.testing.assert_allclose(lams, [6.0, 2.0, 0.5, 0.4], rtol=1e-8)
    soft = -np.sign(h) * np.maximum(np.abs(h) - 0.5 * lams[:, None], 0.0)
    np.testing.assert_allclose(theta, soft, atol=1e-8)
    # Beyond the first knot all is zero; below the last one, as it is there.
    path = l1_path(np.eye(3)[None], h[None], np.ones(1), np.array([1.0, 7.0]))
    np.testing.assert_allclose(
        path[0].T, [[-2.5, 0.5, 0.0], [0.0, 0.0, 0.0]], atol=1e-5
    )


@pytest.mark.parametrize("size", [1e-13, 1e9])
@pytest.mark.parametrize("unit", [1e-11, 1e7])
def test_an_l1_path_does_not_depend_on_units(size, unit):
    rng = np.random.default_rng(0)
    root, h = rng.normal(size=(20, 8)), rng.normal(size=8)
    G = root.T @ root / 20
    lams, theta = l1_knots(G, h, 0.01)
    scaled_lams, scaled_theta = l1_knots(size * G, unit * h, 0.01 * unit)
    np.testing.assert_allclose(scaled_lams, unit * lams, rtol=1e-9)
    np.testing.assert_allclose(scaled_theta, unit / size * theta, rtol=1e-6)


def test_coefficients_that_are_not_negative_bear_rounding_of_their_gram_matrix():
    root = np.array([[1.0, 1.0, 0.5]])
    G = root.T @ root - 1e-15 * np.eye(3)  # indefinite by that alone
    theta = positive_ridge_path(G[None], -root, np.ones(1), np.zeros(1))[0, :, 0]
    assert (theta >= 0).all()
    np.testing.assert_allclose(root @ theta, 1.0, rtol=1e-6)


def as_moments(G, h, weight=4.0):
    return Moments(weight * G, weight * h, np.ones(h.shape[1]), np.asarray(weight))


def test_knots_of_all_tasks_are_relative_to_their_scales(small):
    G, h, scales = small
    for t, (lams, theta) in enumerate(l1_paths(as_moments(G, h), scales, 0.01)):
        A = l1_gram(G[t % len(G)], scales[t])
        expected = l1_knots(A, h[t], 0.01 * scales[t])
        np.testing.assert_allclose(lams * scales[t], expected[0])
        np.testing.assert_allclose(theta, expected[1])
        assert lams[-1] == pytest.approx(0.01)


def test_the_small_ridge_of_the_l1_path_is_relative():
    np.testing.assert_allclose(l1_gram(np.ones((2, 2)), 3.0), 1 + 3e-6 * np.eye(2))


@pytest.mark.parametrize("penalty", [l1_path, positive_ridge_path, positive_l1_path])
def test_the_response_solves_among_the_coefficients_that_are_not_zero(small, penalty):
    G, h, scales = small
    directions = np.random.default_rng(2).standard_normal((3, 6, 4))
    directions[:, :, 1] = 0.0
    lam = 0.3
    theta = solve(as_moments(G, h), scales, lam, penalty)
    U = response(as_moments(G, h), scales, lam, penalty, directions)
    assert (U[:, :, 1] == 0).all()
    ridge = lam if penalty is positive_ridge_path else LEAST_RIDGE
    for t, scale in enumerate(scales):
        active = np.flatnonzero(theta[t])
        assert 0 < len(active) < 6
        A = G[t % len(G)] + ridge * scale * np.eye(6)
        expected = np.zeros((6, 4))
        block = A[np.ix_(active, active)]
        expected[active] = np.linalg.solve(block, directions[t, active])
        np.testing.assert_allclose(U[t], expected, atol=1e-5)


def test_the_response_of_the_ridge_solves_with_the_ridge(small):
    G, h, scales = small
    directions = np.random.default_rng(2).standard_normal((3, 6, 4))
    U = response(as_moments(G, h), scales, 0.3, ridge_path, directions)
    for t, scale in enumerate(scales):
        A = G[t % len(G)] + 0.3 * scale * np.eye(6)
        np.testing.assert_allclose(A @ U[t], directions[t], atol=1e-9)


@pytest.mark.parametrize("name", ["features", "centers"])
def test_the_response_of_feature_learning_solves_at_its_solution(small, name):
    G, h, scales = small
    moments, directions = as_moments(G, h), h[:, :, None]
    # h grows in proportion: with the penalty's matrix held, so do the coefficients.
    U = response(moments, scales, 0.05, PENALTIES[name], directions)
    theta = solve(moments, scales, 0.05, PENALTIES[name])
    np.testing.assert_allclose(U[:, :, 0], -theta, atol=2e-3 * np.abs(theta).max())
