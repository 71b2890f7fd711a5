"""Ascents: rows climb, never fall, never vanish, and stop when they have arrived."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp

from modeseek.field.ascent import (
    _follow_parabola,
    accelerated,
    climb,
    fixed_point,
    gradient_ascent,
    largest_step_size,
    length,
    quasi_newton,
)
from modeseek.field.fields import KernelField, PotentialField, SeparateField

ASCENTS = {
    "fixed_point": lambda field: fixed_point(),
    "accelerated": lambda field: accelerated(),
    "gradient": lambda field: gradient_ascent(largest_step_size(field)),
    "quasi_newton": lambda field: quasi_newton(),
}

#: What rounding may take from a sum of terms, relative to their size.
ROUNDING = 1e-12

#: Where Gaussians are small, where they underflow, and well beyond; in widths.
FAR = (7.0, 37.0, 38.0, 1e3)


def random_field(seed, base=False, signed=True):
    rng = np.random.default_rng(seed)
    d, b = 1 + seed % 5, int(rng.integers(3, 40))
    theta = rng.standard_normal(b)
    theta *= np.copysign(1.0, theta.sum())  # both signs, and more of it above zero
    return PotentialField(
        centers=3.0 * rng.standard_normal((b, d)),
        widths=np.exp(0.7 * rng.standard_normal(d)),
        theta=theta if signed else np.abs(theta),
        base=rng.uniform(0.01, 1.0, d) if base else np.zeros(d),
    )


def random_starts(field, seed):
    """Points among the centres, at the centres, and far outside all of them."""
    rng = np.random.default_rng(seed)
    d = len(field.widths)
    among = rng.choice(field.centers, 30) + field.widths * rng.standard_normal((30, d))
    away = rng.standard_normal((12, d))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    away *= np.repeat(FAR, 3)[:, None] * field.widths
    return np.concatenate([among, field.centers, away])


def gaussians(field, Z):
    steps = (Z[:, None, :] - field.centers) / field.widths
    return np.exp(-0.5 * (steps**2).sum(axis=2))


def potential(field, Z):
    """The sum as it is written, and the size of its terms."""
    P, depth = gaussians(field, Z), 0.5 * Z**2 @ field.base
    return P @ field.theta - depth, P @ np.abs(field.theta) + depth


def record_climb(field, Z, step, **settings):
    path = []
    end = climb(field, Z, step, record=lambda A: path.append(A.copy()), **settings)
    return end, np.array(path)


#: Random fields: some in make test, the others in make soak.
SEEDS = [*range(10), *(pytest.param(k, marks=pytest.mark.soak) for k in range(10, 20))]


@pytest.mark.parametrize("base", [False, True], ids=["sum", "sum_and_base"])
@pytest.mark.parametrize("name", ASCENTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_potential_never_falls_along_a_path(seed, name, base):
    field = random_field(seed, base)
    Z = random_starts(field, seed)
    end, path = record_climb(field, Z, ASCENTS[name](field), tol=1e-6, max_iter=150)
    assert np.isfinite(path).all()
    np.testing.assert_array_equal(path[0], Z)
    np.testing.assert_array_equal(path[-1], end.points)
    value, size = (
        part.reshape(path.shape[:2])
        for part in potential(field, path.reshape(-1, Z.shape[1]))
    )
    assert (np.diff(value, axis=0) >= -ROUNDING * size[:-1]).all()
    assert (value[-1] >= value.max(axis=0) - 10 * ROUNDING * size.max(axis=0)).all()
    # Those among the centres do climb.
    assert (value[-1, :30] > value[0, :30] + 1e-3 * size[0, :30]).mean() > 0.8


@pytest.mark.parametrize("base", [False, True], ids=["sum", "sum_and_base"])
@pytest.mark.parametrize("seed", range(20))
def test_the_safe_step_gains_what_its_parabola_promises(seed, base):
    field = random_field(seed, base)
    rng = np.random.default_rng(seed)
    Z = rng.choice(field.centers, 200)
    Z = Z + field.widths * rng.standard_normal(Z.shape)
    here = field.evaluate(Z)
    step = here.safe_step()
    before, size = potential(field, Z)
    after, _ = potential(field, Z + step)
    promise = 0.5 * (here.bound * (step / field.widths) ** 2).sum(axis=1)
    assert (after - before >= promise - ROUNDING * size).all()
    assert (promise > 1e-6 * size).mean() > 0.9  # it does move


@pytest.mark.parametrize("base", [False, True], ids=["sum", "sum_and_base"])
@pytest.mark.parametrize("seed", range(20))
def test_the_safe_step_never_descends_far_away_and_on_centres(seed, base):
    field = random_field(seed, base)
    Z = random_starts(field, seed)[30:]
    before, size = potential(field, Z)
    after, _ = potential(field, Z + field.evaluate(Z).safe_step())
    assert (after >= before - ROUNDING * size).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_fixed_point_is_the_weighted_mean_of_the_centres(seed):
    field = random_field(seed)
    Z = random_starts(field, seed)[:-12]
    W = gaussians(field, Z) * field.theta
    total = W.sum(axis=1)
    sure = total > 1e-3 * np.abs(W).sum(axis=1)  # else the quotient is rounding
    assert sure.any()
    end = Z + field.evaluate(Z).fixed_point_step()
    mean = (W @ field.centers)[sure] / total[sure, None]
    np.testing.assert_allclose(end[sure], mean, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_the_fixed_point_with_a_base_has_a_centre_more_at_the_origin(seed):
    field = random_field(seed, base=True)
    Z = random_starts(field, seed)[:-12]
    W = gaussians(field, Z) * field.theta
    total = W.sum(axis=1, keepdims=True) + field.base * field.widths**2
    sure = (total > 1e-3 * np.abs(W).sum(axis=1, keepdims=True)).all(axis=1)
    assert sure.any()
    end = Z + field.evaluate(Z).fixed_point_step()
    mean = (W @ field.centers)[sure] / total[sure]
    np.testing.assert_allclose(end[sure], mean, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("distance", [30.0, 1e3, 1e6])
def test_the_fixed_point_survives_where_every_gaussian_underflows(distance):
    field = random_field(3, signed=False)
    d = len(field.widths)
    Z = distance * field.widths * np.random.default_rng(0).standard_normal((20, d))
    D = (((Z[:, None] - field.centers) / field.widths) ** 2).sum(axis=2)
    log_share = np.log(field.theta) - 0.5 * D
    log_share -= logsumexp(log_share, axis=1, keepdims=True)
    end = Z + field.evaluate(Z).fixed_point_step()
    # Distances lose digits to cancellation, in the squares of what they subtract.
    near = D.min(axis=1) < 1e9
    atol = 1e-12 * distance + 1e-15 * distance**2
    mean = np.exp(log_share) @ field.centers
    np.testing.assert_allclose(end[near], mean[near], atol=10 * atol)
    low, high = field.centers.min(axis=0), field.centers.max(axis=0)
    slack = 1e-9 * distance
    assert ((end >= low - slack) & (end <= high + slack)).all()


@pytest.mark.parametrize("seed", range(20))
def test_no_row_is_guarded_where_no_coefficient_is_negative(seed):
    field = random_field(seed, signed=False)
    Z = random_starts(field, seed)
    end = climb(field, Z, fixed_point(), tol=1e-5, max_iter=150)
    assert not end.guarded.any()


def test_rows_whose_denominator_is_negative_are_guarded_and_move():
    field = PotentialField(
        np.array([[0.0], [3.0]]), np.ones(1), np.array([-1.0, 1.0]), np.zeros(1)
    )
    end = climb(field, np.array([[0.5]]), fixed_point(), tol=1e-8, max_iter=1000)
    assert end.guarded.all()
    assert end.converged.all()
    assert end.points[0, 0] > 2.9


def test_the_fixed_point_of_a_kernel_density_is_the_mean_shift():
    rng = np.random.default_rng(0)
    C, Z = rng.standard_normal((50, 3)), 2.0 * rng.standard_normal((20, 3))
    widths, weights = np.array([0.5, 1.0, 2.0]), rng.uniform(0.1, 2.0, 50)
    field = KernelField(C, widths, np.log(weights))

    def mean_shift(points):
        D = (((points[:, None] - C) / widths) ** 2).sum(axis=2)
        W = weights * np.exp(-0.5 * D)
        return W @ C / W.sum(axis=1, keepdims=True) - points

    step = field.evaluate(Z).fixed_point_step()
    np.testing.assert_allclose(step, mean_shift(Z), rtol=1e-10, atol=1e-12)
    # A climb goes that way, all of it or, where it is long, a part of it.
    end, path = record_climb(field, Z, fixed_point(), tol=0.0, max_iter=30)
    assert not end.guarded.any()
    shares = []
    for here, there in pairwise(path):
        shift, move = mean_shift(here), there - here
        share = (move * shift).sum(axis=1) / (shift**2).sum(axis=1)
        np.testing.assert_allclose(move, share[:, None] * shift, atol=1e-12)
        short = length(shift, field) < 0.2
        np.testing.assert_allclose(share[short], 1.0, rtol=1e-6)
        shares.append(share)
    assert (np.array(shares) > 0).all()
    assert (np.array(shares) <= 1.0 + 1e-6).all()


@pytest.mark.parametrize("name", ASCENTS)
def test_the_log_density_of_kernels_never_falls_along_a_path(name):
    rng = np.random.default_rng(1)
    C = rng.standard_normal((60, 2)) * [1.0, 5.0]
    field = KernelField(C, np.array([0.4, 1.5]), np.log(rng.uniform(0.1, 1.0, 60)))
    Z = np.concatenate([C, 3.0 * rng.standard_normal((20, 2)), [[50.0, -40.0]]])
    end, path = record_climb(field, Z, ASCENTS[name](field), tol=1e-5, max_iter=2000)
    D = (((path[:, :, None] - C) / field.widths) ** 2).sum(axis=3)
    value = logsumexp(field.log_weights - 0.5 * D, axis=2)
    assert (np.diff(value, axis=0) >= -ROUNDING * (1.0 + np.abs(value[:-1]))).all()
    assert end.converged.all()


@pytest.mark.parametrize("name", ASCENTS)
def test_rows_stop_when_they_have_arrived(name):
    field = random_field(4, signed=False)
    Z = random_starts(field, 0)
    end, path = record_climb(field, Z, ASCENTS[name](field), tol=1e-3, max_iter=5000)
    assert end.converged.all()
    assert len(path) == end.n_iter.max() + 1 < 5001
    assert end.n_iter.min() < end.n_iter.max()
    moves = np.array([length(move, field) for move in np.diff(path, axis=0)])
    for row, n in enumerate(end.n_iter):
        assert moves[n - 1, row] <= 1e-3
        assert (moves[: n - 1, row] > 1e-3).all()
        assert (moves[n:, row] == 0.0).all()


@pytest.mark.parametrize("name", ASCENTS)
@pytest.mark.parametrize("max_iter", [1, 7])
def test_no_row_takes_more_than_max_iter_steps(name, max_iter):
    field = random_field(4)
    Z = random_starts(field, 0)
    end, path = record_climb(
        field, Z, ASCENTS[name](field), tol=1e-12, max_iter=max_iter
    )
    assert len(path) == max_iter + 1
    assert end.n_iter.max() == max_iter
    assert (end.n_iter[~end.converged] == max_iter).all()
    assert not end.converged.all()


@pytest.mark.parametrize("name", ASCENTS)
def test_a_tolerance_of_zero_climbs_until_nothing_moves(name):
    field = random_field(1, signed=False)
    Z = random_starts(field, 0)
    end, path = record_climb(field, Z, ASCENTS[name](field), tol=0.0, max_iter=2000)
    last = path[-1] - path[-2]
    assert (last[end.converged] == 0.0).all()
    pull = field.evaluate(end.points)
    slope = np.linalg.norm(pull.factor * pull.pull / field.widths, axis=1)
    assert (slope <= 1e-9 * pull.size).all()


@pytest.mark.parametrize("name", ASCENTS)
def test_a_huge_tolerance_stops_after_one_step(name):
    field = random_field(1)
    end = climb(
        field, random_starts(field, 0), ASCENTS[name](field), tol=1e9, max_iter=50
    )
    assert (end.n_iter == 1).all()
    assert end.converged.all()


@pytest.mark.parametrize("name", ASCENTS)
def test_a_row_climbs_alone_as_it_climbs_with_others(name):
    field = random_field(7, signed=False)
    Z = random_starts(field, 0)[:40]
    step = ASCENTS[name](field)
    together = climb(field, Z, step, tol=1e-8, max_iter=100).points
    alone = np.concatenate(
        [climb(field, row[None], step, tol=1e-8, max_iter=100).points for row in Z]
    )
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ASCENTS)
def test_the_starting_points_are_left_as_they_were(name):
    field = random_field(2)
    Z = random_starts(field, 0)
    before = Z.copy()
    climb(field, Z, ASCENTS[name](field), tol=1e-4, max_iter=20)
    np.testing.assert_array_equal(Z, before)


@pytest.mark.parametrize("name", ASCENTS)
@pytest.mark.parametrize("seed", range(10))
def test_separate_coefficients_never_run_away(seed, name):
    shared = random_field(seed)
    rng = np.random.default_rng(seed)
    field = SeparateField(
        shared.centers,
        shared.widths,
        rng.standard_normal((len(shared.widths), len(shared.centers))),
    )
    Z = random_starts(shared, seed)
    end = climb(field, Z, ASCENTS[name](field), tol=1e-6, max_iter=300)
    assert np.isfinite(end.points).all()
    reach = field.evaluate(end.points).nearest
    assert (reach <= np.maximum(field.evaluate(Z).nearest, 30.0)).all()


@pytest.mark.parametrize("name", ASCENTS)
def test_a_feature_of_infinite_width_is_as_if_absent(name):
    field = random_field(6)  # two features
    Z = random_starts(field, 0)
    rng = np.random.default_rng(0)

    def widen(A):
        return np.insert(A, 1, rng.standard_normal(len(A)), axis=1)

    wide = PotentialField(
        widen(field.centers),
        np.insert(field.widths, 1, np.inf),
        field.theta,
        np.zeros(3),
    )
    settings = {"tol": 1e-6, "max_iter": 60}
    plain = climb(field, Z, ASCENTS[name](field), **settings)
    more = climb(wide, widen(Z), ASCENTS[name](wide), **settings)
    assert np.isfinite(more.points).all()
    np.testing.assert_allclose(more.points[:, [0, 2]], plain.points, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(more.converged, plain.converged)


def test_rows_on_a_flat_ridge_arrive_in_few_steps_at_the_top_of_their_side():
    # A ridge along a circle, with a slow rise to two tops.
    angle = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    centers = 6.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    theta = 1.0 + 0.02 * np.cos(2.0 * angle)
    field = PotentialField(centers, np.ones(2), theta, np.zeros(2))
    angle = np.linspace(0.0, 2.0 * np.pi, 101)[:-1] + 0.01
    Z = 5.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    settings = {"tol": 1e-4, "max_iter": 1000}
    slow = climb(field, Z, fixed_point(), **settings)
    assert (slow.n_iter == 1000).mean() > 0.5
    fast = climb(field, Z, accelerated(), **settings)
    assert fast.converged.all()
    assert fast.n_iter.max() < 200
    assert not fast.guarded.any()
    tops = np.column_stack([np.sign(np.cos(angle)), np.zeros(100)])
    direction = fast.points / np.linalg.norm(fast.points, axis=1, keepdims=True)
    np.testing.assert_allclose(direction, tops, atol=0.02)


def test_the_path_on_a_parabola_is_that_of_the_gradient():
    # Far inside one wide Gaussian the field is a parabola: foretold and true agree.
    field = PotentialField(np.zeros((1, 3)), np.ones(3), np.ones(1), np.zeros(3))
    rng = np.random.default_rng(0)
    Z = 1e-3 * rng.standard_normal((20, 3))
    here = field.evaluate(Z)
    g = here.factor * here.pull / field.widths
    trust = np.full(20, 5e-4)
    move, foretold = _follow_parabola(field, Z, here, g, trust)
    after = field.evaluate(Z + move)
    np.testing.assert_allclose(after.factor * after.pull, foretold, atol=1e-8)
    assert (length(move, field) <= trust).all()
    assert (length(move, field) > 0.8 * np.minimum(trust, length(Z, field))).all()
    # As far as is trusted, with no bound: Newton's step to the top.
    move, _ = _follow_parabola(field, Z, here, g, np.ones(20))
    np.testing.assert_allclose(Z + move, 0.0, atol=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_the_path_beside_a_saddle_is_the_gradients_own(seed):
    field = random_field(seed)
    rng = np.random.default_rng(seed)
    Z = rng.choice(field.centers, 500)
    Z = Z + 0.3 * field.widths * rng.standard_normal(Z.shape)
    here = field.evaluate(Z)
    slow = (here.mass[:, 0] > 0) & (length(here.fixed_point_step(), field) < 0.2)
    assert slow.any()
    Z, here = Z[slow], here.take(slow)
    g = here.factor * here.pull / field.widths
    move, _ = _follow_parabola(field, Z, here, g, np.full(len(Z), 0.02))
    # Gradient ascent by tiny steps, until as far as the move went.
    point, ahead = Z / field.widths, length(move, field)
    done = np.zeros(len(Z), dtype=bool)
    nearest = np.full(len(Z), np.inf)
    end = (Z + move) / field.widths
    for _ in range(4000):
        there = field.evaluate(point * field.widths)
        slope = there.factor * there.pull / field.widths
        speed = np.linalg.norm(slope, axis=1, keepdims=True)
        point = point + 2e-5 * slope / np.maximum(speed, 1e-12)
        nearest = np.minimum(nearest, np.linalg.norm(point - end, axis=1))
        done |= np.linalg.norm(point - Z / field.widths, axis=1) > 1.2 * ahead
        if done.all():
            break
    assert (nearest < 1e-3).all()
    assert np.median(nearest) < 2e-5
