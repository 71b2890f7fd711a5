"""Each step of the ascents and of polishing, one row at a time, as it is described."""

import numpy as np
import pytest
from numpy.linalg import norm
from scipy.spatial import KDTree

from modeseek.field import modes
from modeseek.field.ascent import (
    Step,
    _bfgs_update,
    _limited,
    accelerated,
    climb,
    fixed_point,
    gradient_ascent,
    largest_step_size,
    length,
    quasi_newton,
)
from modeseek.field.basins import certain_basins
from modeseek.field.fields import KernelField, PotentialField, SeparateField
from modeseek.field.modes import (
    AT_MODE,
    Polish,
    Polished,
    _improves,
    _local_shape,
    _match,
    _newton_move,
    _push,
    assign_modes,
    find_modes,
    polish,
)

RNG = np.random.default_rng(0)
CENTERS = 1.5 * RNG.standard_normal((12, 3))
WIDTHS = np.array([0.7, 1.3, 2.1])
SIGNED = RNG.standard_normal(12)
POTENTIAL = PotentialField(CENTERS, WIDTHS, SIGNED, np.zeros(3))
FIELDS = {
    "potential": POTENTIAL,
    "positive": POTENTIAL._replace(theta=np.abs(SIGNED)),
    "base": POTENTIAL._replace(base=np.array([0.1, 0.0, 0.3])),
    "separate": SeparateField(CENTERS, WIDTHS, RNG.standard_normal((3, 12))),
    "kernel": KernelField(CENTERS, WIDTHS, np.log(np.abs(SIGNED))),
    "outside": POTENTIAL._replace(widths=np.array([0.7, np.inf, 2.1])),
}
NEAR = np.concatenate([CENTERS[:6], CENTERS[6:] + 0.4, 2.0 * CENTERS[:6]])
FAR = np.array([[9.0, 0.0, 0.0], [0.0, -40.0, 3.0], [300.0, 300.0, 300.0]])
POINTS = np.concatenate([NEAR, FAR])


def row(here, i):
    """An evaluation of one point, as numbers and vectors."""
    return {
        name: None if part is None else part[i] for name, part in here._asdict().items()
    }


def limited(field, here, move):
    """A quarter of a width at most; from afar, to a width from the nearest centre."""
    reach = 0.25 + max(here["nearest"] - 1.0, 0.0)
    size = norm(move / field.widths)
    return move if size <= reach else move * (reach / size)


def safe_step(here):
    return here["factor"] * here["pull"] / here["bound"]


def fixed_point_of_row(field, z, here, memory):
    stretch, expected, last = memory
    safe, usual = safe_step(here), bool((here["mass"] > 0).all())
    if here["value"] is None:
        turned = ((safe / field.widths) * (last / field.widths)).sum() < 0
        stretch = stretch / 4 if turned else 2 * stretch
    else:
        arrived = norm((z - expected) / field.widths) <= 1e-9
        stretch = 2 * stretch if arrived and not usual else 1.0
    if usual:
        stretch, move = min(max(stretch, 0.01), 1.0), here["pull"] / here["mass"]
    else:
        room = 0.25 / norm(safe / field.widths)
        stretch, move = min(max(stretch, 1.0), max(room, 1.0)), safe
    move = stretch * move
    step = limited(field, here, move)
    return move, (stretch, z + step, step)


def quasi_newton_of_row(field, z, here, memory):
    inverse, last, last_gradient = memory
    u, g = z / field.widths, here["factor"] * here["pull"] / field.widths
    inverse = bfgs_of_row(inverse, u - last, last_gradient - g)
    move = inverse @ g
    steep = move @ g >= 0.9 * norm(move) * norm(g)
    short = norm(move) <= 0.05 and move @ g > 0
    if here["nearest"] > 6.0 or not (steep or short):
        positive = here["mass"] > 0
        quotient = here["pull"] / np.where(positive, here["mass"], 1.0)
        move = np.where(positive, quotient, safe_step(here))
    else:
        move = move * np.where(np.isfinite(field.widths), field.widths, 0.0)
    return move, (inverse, u, g)


def accelerated_of_row(field, z, here, memory):
    n_steps, trust, expected, before, foretold, *plain = memory
    move, after = fixed_point_of_row(field, z, here, plain)
    if here["value"] is None:
        return move, (n_steps, trust, expected, before, foretold, *after)
    g = here["factor"] * here["pull"] / field.widths
    change = 1.0
    if norm((z - expected) / field.widths) > 1e-9:
        change = 0.25  # it was refused
    elif foretold is not None:
        error = max(norm(g - foretold) / max(norm(before), 1e-300), 1e-9)
        change = min(max(np.sqrt(0.1 / error), 0.25), 2.0)
    trust = min(max(trust * change, 0.01), 0.25)
    n_steps, foretold = n_steps + 1, None
    patient = n_steps > 4 * (1 + len(z))
    heavy = (here["mass"] > 0).all() and here["nearest"] <= 6.0
    if norm(move / field.widths) <= 0.05 and heavy and patient:
        move, foretold = parabola_of_row(field, z, here, g, trust)
    end = z + limited(field, here, move)
    return move, (n_steps, trust, end, g, foretold, *after)


def parabola_of_row(field, z, here, g, trust):
    """The path (exp(tH) - 1) H^-1 g where the mass is one, up to the trusted length."""
    widths = np.where(np.isfinite(field.widths), field.widths, 0.0)
    root = np.sqrt(np.broadcast_to(here["factor"] * here["mass"], z.shape))
    H = field.jacobian(z[None])[0] * np.outer(widths, widths) / np.outer(root, root)
    values, V = np.linalg.eigh(H)
    values[np.abs(values) < 1e-12] = 1e-12

    def follow(log_t):
        grown = np.expm1(np.minimum(values * np.exp(log_t), 50.0)) / values
        return V @ (grown * (V.T @ (g / root)))

    low, high = np.log(0.1), np.log(1e7)
    for _ in range(10):
        middle = 0.5 * (low + high)
        if norm(follow(middle) / root) > trust:
            high = middle
        else:
            low = middle
    path = follow(low)
    return path / root * widths, g + root * (H @ path)


def bfgs_of_row(H, s, y):
    """The textbook's: H+ y = s, and what is known across y stays."""
    if s @ y <= 1e-10 * norm(s) * norm(y) or norm(s) * norm(y) <= 1e-30:
        return H
    rho, one = 1.0 / (s @ y), np.eye(len(s))
    updated = (one - rho * np.outer(s, y)) @ H @ (one - rho * np.outer(y, s))
    updated = updated + rho * np.outer(s, s)
    return updated if np.abs(updated).max() < 1e12 else H


def start_of_row(name, field, z, here):
    if name == "fixed_point":
        return 1.0, z, np.zeros_like(z)
    if name == "accelerated":
        return 0, 0.05, z, None, None, 1.0, z, np.zeros_like(z)
    first = np.where(here["mass"] > 0, here["factor"] * here["mass"], here["bound"])
    first = np.maximum(np.broadcast_to(first, z.shape), 1e-9)
    g = here["factor"] * here["pull"] / field.widths
    return np.diag(1.0 / first), z / field.widths, g


STEPS = {
    "fixed_point": (fixed_point, fixed_point_of_row),
    "accelerated": (accelerated, accelerated_of_row),
    "quasi_newton": (quasi_newton, quasi_newton_of_row),
}


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
@pytest.mark.parametrize("name", STEPS)
def test_moves_are_those_of_each_row_alone(name, field):
    make, of_row = STEPS[name]
    step, Z = make(), POINTS.copy()
    here = field.evaluate(Z)
    memory = step.start(field, Z, here)
    alone = [start_of_row(name, field, z, row(here, i)) for i, z in enumerate(Z)]
    for turn in range(30):
        move, memory = step.propose(field, Z, here, memory)
        for i, z in enumerate(Z):
            expected, alone[i] = of_row(field, z, row(here, i), alone[i])
            np.testing.assert_allclose(move[i], expected, rtol=1e-4, atol=1e-9)
        # Some rows are refused their move, and stay; others overshoot.
        going = np.arange(len(Z)) % 4 != turn % 4
        beyond = np.arange(len(Z)) % 5 == turn % 5
        taken = np.array([limited(field, row(here, i), m) for i, m in enumerate(move)])
        Z = Z + np.where(beyond, 3.0, 1.0)[:, None] * taken * going[:, None]
        here = field.evaluate(Z)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("error", "change"), [(0.4, 0.5), (0.05, np.sqrt(2.0))])
def test_a_foretold_gradient_is_judged_by_the_size_of_the_one_before(
    size, error, change
):
    field = FIELDS["positive"]._replace(theta=size * np.abs(SIGNED))
    step, Z = accelerated(), NEAR
    here = field.evaluate(Z)
    n_steps, _, _, _, _, *plain = step.start(field, Z, here)
    g = here.factor * here.pull / field.widths
    before = 3.0 * size * np.ones_like(Z)
    foretold = g + error * norm(before, axis=1)[:, None] * [1.0, 0.0, 0.0]
    trusted = np.full(len(Z), 0.04)
    memory = (n_steps, trusted, Z, before, foretold, *plain)
    _, (_, trust, *_) = step.propose(field, Z, here, memory)
    np.testing.assert_allclose(trust, change * trusted)


def test_inverse_hessians_learn_only_what_is_sound():
    rng = np.random.default_rng(1)
    H = np.stack([np.diag(rng.uniform(0.5, 2.0, 3)) for _ in range(60)])
    s, y = rng.standard_normal((2, 60, 3))
    y[40:] *= 1e-7  # curvatures so small that the update would be huge
    s[50:] *= 1e4
    s[:3], y[3:6] = 0.0, 0.0
    updated = _bfgs_update(H.copy(), s, y)
    for i in range(60):
        np.testing.assert_allclose(updated[i], bfgs_of_row(H[i], s[i], y[i]), rtol=1e-6)
    changed = (updated != H).any(axis=(1, 2))
    assert 10 < changed[6:40].sum() < 30
    assert not changed[:6].any()
    np.testing.assert_allclose(
        np.einsum("mij,mj->mi", updated[changed], y[changed]), s[changed], rtol=1e-6
    )


def test_without_sound_curvature_nothing_is_learned():
    H = np.eye(2)[None]
    assert _bfgs_update(H, np.ones((1, 2)), -np.ones((1, 2))) is H


@pytest.mark.parametrize("far", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("size", [0.01, 0.2499, 0.2501, 2.0, 9.0])
def test_moves_are_limited(far, size):
    field = PotentialField(
        np.zeros((1, 2)), np.array([0.5, 2.0]), np.ones(1), np.zeros(2)
    )
    Z = np.array([[0.5 * far, 0.0]])
    move = size * np.array([[0.3, 1.6]])  # 0.6 and 0.8 in widths
    np.testing.assert_allclose(length(move, field), size)
    np.testing.assert_allclose(
        _limited(field, field.evaluate(Z), move),
        [limited(field, {"nearest": far}, move[0])],
    )


def test_the_length_of_a_move_is_in_widths():
    field = POTENTIAL._replace(widths=np.array([2.0, np.inf, 0.5]))
    moves = np.array([[2.0, 0.0, 0.0], [6.0, 99.0, 2.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(length(moves, field), [1.0, 5.0, 0.0])


# --- the loop ----------------------------------------------------------------------


def proposing(moves):
    """A step that proposes given moves, row by row, whatever the field."""

    def start(field, Z, here):
        return (np.asarray(moves, dtype=float),)

    return Step(start, lambda field, Z, here, memory: (memory[0], memory))


BELL = PotentialField(np.zeros((1, 2)), np.ones(2), np.ones(1), np.zeros(2))


def test_a_move_downhill_is_replaced_by_the_safe_step_for_that_row_alone():
    Z = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    moves = np.array([[-0.1, 0.0], [0.1, 0.0], [0.0, -0.2]])
    end = climb(BELL, Z, proposing(moves), tol=0.0, max_iter=1)
    safe = BELL.evaluate(Z).safe_step()
    np.testing.assert_allclose(end.points[[0, 2]], (Z + moves)[[0, 2]])
    np.testing.assert_allclose(end.points[1], (Z + safe)[1])
    assert end.guarded.tolist() == [False, True, False]
    assert end.converged.tolist() == [False, False, False]


def test_a_move_that_is_no_number_is_replaced_too():
    Z = np.array([[1.0, 0.0], [0.5, 0.0]])
    end = climb(BELL, Z, proposing([[np.nan, 0.0], [-0.1, 0.0]]), tol=0.0, max_iter=1)
    np.testing.assert_allclose(end.points[0], (Z + BELL.evaluate(Z).safe_step())[0])
    np.testing.assert_allclose(end.points[1], [0.4, 0.0])


def test_rows_of_negative_mass_are_counted_one_by_one():
    C, theta = np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([1.0, -1.0])
    field = PotentialField(C, np.ones(2), theta, np.zeros(2))
    end = climb(
        field, np.array([[0.1, 0.0], [3.9, 0.0]]), fixed_point(), tol=0.0, max_iter=1
    )
    assert end.guarded.tolist() == [False, True]
    separate = SeparateField(C, np.ones(2), np.stack([theta, theta]))
    end = climb(
        separate, np.array([[0.1, 0.0], [3.9, 0.0]]), fixed_point(), tol=0.0, max_iter=1
    )
    assert end.guarded.tolist() == [False, True]
    # One feature of negative mass is enough.
    half = SeparateField(C, np.ones(2), np.stack([np.ones(2), theta]))
    end = climb(half, np.array([[3.9, 0.0]]), fixed_point(), tol=0.0, max_iter=1)
    assert end.guarded.tolist() == [True]


def test_a_bold_step_tries_the_fixed_point_before_the_safe_step():
    Z, downhill = np.array([[0.2, 0.0], [0.2, 0.0]]), [[0.2, 0.0], [-0.1, 0.0]]
    C = np.array([[0.0, 0.0], [9.0, 0.0]])
    field = PotentialField(C, np.ones(2), np.array([1.0, -1.0]), np.zeros(2))
    bold = proposing(downhill)._replace(bold=True)
    end = climb(field, Z, bold, tol=0.0, max_iter=1)
    here = field.evaluate(Z)
    np.testing.assert_allclose(end.points[0], (Z + here.fixed_point_step())[0])
    np.testing.assert_allclose(end.points[1], [0.1, 0.0])
    assert end.guarded.tolist() == [False, False]
    timid = climb(field, Z, proposing(downhill), tol=0.0, max_iter=1)
    np.testing.assert_allclose(timid.points[0], (Z + here.safe_step())[0])


def test_rows_whose_mode_is_certain_stop():
    Z = np.array([[1.0, 0.0], [2.0, 0.0]])
    moves = [[-0.1, 0.0], [-0.1, 0.0]]
    end = climb(
        BELL,
        Z,
        proposing(moves),
        tol=1e-9,
        max_iter=5,
        certain=lambda A: A[:, 0] < 1.75,
    )
    assert end.n_iter.tolist() == [1, 3]
    assert end.converged.all()


def test_rows_stop_one_by_one_and_are_counted():
    moves = np.array([[-0.01, 0.0], [-0.2, 0.0], [-0.1, 0.0]])
    path = []
    end = climb(
        BELL,
        np.array([[1.0, 0.0], [2.0, 0.0], [1.5, 0.0]]),
        proposing(moves),
        tol=0.01 + 1e-12,
        max_iter=3,
        record=lambda Z: path.append(Z.copy()),
    )
    assert end.n_iter.tolist() == [1, 3, 3]
    assert end.converged.tolist() == [True, False, False]
    np.testing.assert_allclose(end.points[:, 0], [0.99, 1.4, 1.2])
    np.testing.assert_allclose(
        np.array(path)[:, :, 0],
        [[1.0, 2.0, 1.5], [0.99, 1.8, 1.4], [0.99, 1.6, 1.3], [0.99, 1.4, 1.2]],
    )


def test_a_move_of_exactly_the_tolerance_has_arrived():
    end = climb(
        BELL, np.array([[1.0, 0.0]]), proposing([[-0.125, 0.0]]), tol=0.125, max_iter=9
    )
    assert end.n_iter.tolist() == [1]
    assert end.converged.all()


def test_gradient_ascent_moves_by_the_gradient():
    step = gradient_ascent(0.3)
    here = POTENTIAL.evaluate(NEAR)
    move, memory = step.propose(
        POTENTIAL, NEAR, here, step.start(POTENTIAL, NEAR, here)
    )
    assert memory == ()
    steps = (CENTERS - NEAR[:, None]) / WIDTHS
    P = np.exp(-0.5 * (steps**2).sum(axis=2)) * SIGNED
    np.testing.assert_allclose(move, 0.3 * np.einsum("mb,mbd->md", P, steps / WIDTHS))


def test_the_largest_step_size_of_nothing_is_a_number():
    nothing = PAIR._replace(theta=np.zeros(len(PAIR.theta)))
    assert np.isfinite(largest_step_size(nothing))


def test_the_largest_step_size_is_that_of_the_fixed_point_at_the_heaviest_centre():
    P = np.exp(-0.5 * (((CENTERS[:, None] - CENTERS) / WIDTHS) ** 2).sum(axis=2))
    for size in (0.01, 1.0, 100.0):
        field = POTENTIAL._replace(theta=size * SIGNED)
        heaviest = (P @ field.theta).max()
        np.testing.assert_allclose(
            largest_step_size(field), WIDTHS.min() ** 2 / heaviest
        )
    # Where no centre has mass, the bound stands in: 2 exp(-3/2) for each coefficient.
    sunk = POTENTIAL._replace(theta=-np.abs(SIGNED))
    bound = 2.0 * np.exp(-1.5) * np.abs(SIGNED).sum()
    np.testing.assert_allclose(largest_step_size(sunk), WIDTHS.min() ** 2 / bound)


# --- polishing ---------------------------------------------------------------------


def value(field, Z):
    return field.evaluate(Z).value


@pytest.mark.parametrize("name", ["potential", "base", "kernel", "separate"])
def test_what_is_looked_at_are_derivatives_in_widths(name):
    field, e = FIELDS[name], 1e-5 * np.diag(WIDTHS)
    local = _local_shape(field, NEAR)

    def slope(Z):
        here = field.evaluate(Z)
        return here.factor * here.pull / WIDTHS

    if name != "separate":
        g = np.stack(
            [value(field, NEAR + h) - value(field, NEAR - h) for h in e], axis=1
        )
        np.testing.assert_allclose(local.gradient, g / 2e-5, atol=1e-8)
    np.testing.assert_allclose(local.gradient, slope(NEAR))
    J = np.stack([slope(NEAR + h) - slope(NEAR - h) for h in e], axis=2) / 2e-5
    H = 0.5 * (J + J.transpose(0, 2, 1))
    rebuilt = np.einsum("mik,mk,mjk->mij", local.vectors, local.values, local.vectors)
    np.testing.assert_allclose(rebuilt, H, atol=1e-7)
    assert (np.diff(local.values, axis=1) >= 0).all()
    np.testing.assert_allclose(local.size, field.evaluate(NEAR).size)


@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_a_feature_outside_the_model_counts_as_falling_without_end(turned):
    Z, field = turned * NEAR, FIELDS["outside"]
    local = _local_shape(field, Z)
    inside = _local_shape(
        PotentialField(CENTERS[:, [0, 2]], WIDTHS[[0, 2]], SIGNED, np.zeros(2)),
        Z[:, [0, 2]],
    )
    assert (local.values[:, 0] == -np.inf).all()
    np.testing.assert_allclose(local.values[:, 1:], inside.values, atol=1e-12)
    np.testing.assert_allclose(np.abs(local.vectors[:, 1, 0]), 1.0)
    np.testing.assert_allclose(local.vectors[:, 1, 1:], 0.0, atol=1e-12)
    np.testing.assert_allclose(local.gradient[:, 1], 0.0)


def test_newtons_step_solves_for_the_maximum_and_is_half_a_width_at_most():
    field = PotentialField(np.zeros((1, 3)), WIDTHS, np.ones(1), np.zeros(3))
    U = np.array([[0.1, 0.0, 0.0], [0.2, -0.1, 0.1], [0.3, 0.4, 0.0], [0.5, 0.5, 0.5]])
    Z = U * WIDTHS
    move = _newton_move(field, _local_shape(field, Z)) / WIDTHS
    for u, m in zip(U, move, strict=True):
        # In widths f = exp(-u.u / 2): gradient -u f, Hessian (u u' - 1) f.
        newton = np.linalg.solve(np.outer(u, u) - np.eye(3), u)
        size = norm(newton)
        np.testing.assert_allclose(m, newton * min(1.0, 0.5 / size), rtol=1e-9)


def test_newtons_step_stays_in_the_model():
    local = _local_shape(FIELDS["outside"], NEAR)
    move = _newton_move(FIELDS["outside"], local)
    assert (move[:, 1] == 0).all()
    assert np.isfinite(move).all()
    assert np.abs(move[:, [0, 2]]).max() > 0


def improves(field, start, end):
    return _improves(field, field.evaluate(start), field.evaluate(end))


def test_an_end_improves_where_it_is_higher():
    start, end = NEAR, NEAR[::-1].copy()
    higher = value(POTENTIAL, end) >= value(POTENTIAL, start)
    assert 0 < higher.sum() < len(higher)
    np.testing.assert_array_equal(improves(POTENTIAL, start, end), higher)
    assert improves(POTENTIAL, start, start).all()  # rounding is no descent


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_only_a_fall_of_rounding_is_no_fall(size):
    bell = BELL._replace(theta=size * BELL.theta)
    start = bell.centers + 1.0
    for away, expected in ((1e-3, False), (1e-16, True), (-1e-3, True)):
        assert improves(bell, start, start + away).tolist() == [expected]


def test_an_end_improves_where_it_is_flatter_if_nothing_is_higher():
    field, start, end = FIELDS["separate"], NEAR, NEAR[::-1].copy()
    steps = (CENTERS - NEAR[:, None]) / WIDTHS
    P = np.exp(-0.5 * (steps**2).sum(axis=2))
    slope = norm(np.einsum("mb,jb,mbj->mj", P, field.theta, steps), axis=1)
    flatter = slope[::-1] < slope
    assert 0 < flatter.sum() < len(flatter)
    np.testing.assert_array_equal(improves(field, start, end), flatter)
    assert not improves(field, start, start).any()


#: Two bells side by side: maxima left and right, a saddle between, a plateau far off.
PAIR = PotentialField(
    np.array([[-1.5, 0.0], [1.5, 0.0]]), np.ones(2), np.ones(2), np.zeros(2)
)
#: A hole: a minimum at the origin.
HOLE = PotentialField(np.zeros((1, 2)), np.ones(2), -np.ones(1), np.zeros(2))


def test_polishing_tells_maxima_saddles_minima_and_plateaus():
    found = polish(PAIR, np.array([[1.4, 0.1], [0.0, 0.0], [0.0, 60.0]]))
    assert found.is_mode.tolist() == [True, False, False]
    assert found.is_flat.tolist() == [True, False, True]
    np.testing.assert_allclose(found.points[1], [0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(np.abs(found.direction[1]), [1.0, 0.0], atol=1e-9)
    slope = PAIR.evaluate(found.points).pull
    np.testing.assert_allclose(slope[0], 0.0, atol=1e-9)
    bottom = polish(HOLE, np.zeros((1, 2)))
    assert not bottom.is_mode[0]
    assert not bottom.is_flat[0]


def test_points_are_polished_as_each_of_them_alone(monkeypatch):
    """Where Newton's step fails for some, only those climb instead."""
    climbed = []

    def count(field, Z, *args, **kwargs):
        climbed.append(len(Z))
        return climb(field, Z, *args, **kwargs)

    monkeypatch.setattr(modes, "climb", count)
    points = np.array([[1.4, 0.1], [0.3, 0.0], [-0.6, 0.5], [-1.3, 0.0]])
    values = _local_shape(PAIR, points).values[:, -1]
    assert 0 < (values >= 0).sum() < len(points)
    together = polish(PAIR, points)
    alone = [polish(PAIR, point[None]).points[0] for point in points]
    np.testing.assert_allclose(together.points, alone, atol=1e-9)
    assert together.is_mode.all()
    # With the last one, which is about to arrive, those that fail are not all.
    climbed.clear()
    polish(PAIR, points[[1, 3]])
    assert climbed[0] == 1
    np.testing.assert_array_equal(np.sign(together.points[:, 0]), [1, 1, -1, -1])


def test_polishing_ends_after_so_many_steps_or_on_so_small_a_slope():
    ends = np.array([[1.2, 0.3]])
    exact = find_modes(PAIR, ends)
    assert len(find_modes(PAIR, ends, Polish(max_steps=2))) == 0
    rough = find_modes(PAIR, ends, Polish(level=0.01))
    assert 1e-9 < norm(rough - exact) < 0.05


def test_directions_are_as_long_as_the_widths():
    wide = PAIR._replace(centers=PAIR.centers * [3.0, 0.5], widths=np.array([3.0, 0.5]))
    saddle = polish(wide, np.zeros((1, 2)))
    np.testing.assert_allclose(np.abs(saddle.direction), [[3.0, 0.0]], atol=1e-9)


def polished(points, direction, flat):
    n = len(points)
    return Polished(
        np.array(points, dtype=float),
        np.zeros(n, dtype=bool),
        np.array(flat),
        np.array(direction, dtype=float),
    )


def test_points_are_pushed_uphill_and_off_plateaus_to_the_nearest_centre():
    points = [[-0.5, 0.0], [0.5, 0.0], [0.0, 60.0], [9.0, 0.0]]
    stuck = polished(points, [[1.0, 0.0]] * 4, [False, False, False, True])
    every = np.ones(4, dtype=bool)
    pushed = _push(PAIR, stuck, every)
    np.testing.assert_allclose(pushed[:2], [[-0.6, 0.0], [0.6, 0.0]])
    np.testing.assert_allclose(pushed[3], [1.5, 0.0])
    np.testing.assert_array_equal(
        _push(PAIR, stuck, np.array([False, True, False, True])), pushed[[1, 3]]
    )


def test_without_a_potential_points_are_pushed_back():
    field = SeparateField(PAIR.centers, PAIR.widths, np.ones((2, 2)))
    stuck = polished([[0.5, 0.0], [-9.0, 0.0]], [[1.0, 0.0]] * 2, [False, True])
    pushed = _push(field, stuck, np.ones(2, dtype=bool))
    np.testing.assert_allclose(pushed, [[0.4, 0.0], [-1.5, 0.0]])


def test_the_nearest_centre_of_a_plateau_is_nearest_in_widths():
    C = np.array([[0.0, 4.0], [3.0, 0.0]])
    field = PotentialField(C, np.array([1.0, 4.0]), np.ones(2), np.zeros(2))
    stuck = polished([[0.0, 0.0]], [[1.0, 0.0]], [True])
    np.testing.assert_array_equal(
        _push(field, stuck, np.ones(1, dtype=bool)), [[0.0, 4.0]]
    )


def test_ends_are_matched_in_widths():
    field = PAIR._replace(widths=np.array([1.0, 10.0]))
    modes = np.array([[0.0, 0.0], [1.0, 0.0]])
    tree = KDTree(modes / field.widths)
    ends = np.array([[0.01, 0.4], [0.9, 0.0], [1.0, 0.4], [1.0, 0.6]])
    mode, lost = _match(tree, field, ends)
    assert mode.tolist() == [0, 1, 1, 1]
    assert lost.tolist() == [False, True, False, True]


def test_modes_of_several_bells_are_found_once_each():
    C = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 9.0]])
    field = PotentialField(
        C, np.array([1.0, 1.5]), np.array([1.0, 0.5, 0.8]), np.zeros(2)
    )
    rng = np.random.default_rng(0)
    ends = np.repeat(C, 40, axis=0) + 0.02 * rng.standard_normal((120, 2))
    modes = find_modes(field, ends)
    assert len(modes) == 3
    nearest = ((modes[:, None] - C) ** 2).sum(axis=2).argmin(axis=1)
    assert sorted(nearest) == [0, 1, 2]
    np.testing.assert_allclose(modes, C[nearest], atol=1e-6)
    np.testing.assert_allclose(find_modes(field, ends[:1]), C[:1], atol=1e-6)


def test_every_end_gets_its_mode_however_it_was_lost():
    modes = find_modes(PAIR, np.array([[-1.45, 0.0], [1.45, 0.0]]))
    left, right = (int(np.argmin(side * modes[:, 0])) for side in (1.0, -1.0))
    pushed = []

    def climb_on(Z):
        pushed.append(Z.copy())
        return climb(PAIR, Z, fixed_point(), tol=1e-6, max_iter=500).points

    ends = np.array([modes[left], [-1.2, 0.1], [1.3, -0.1], [0.0, 0.0], [70.0, 0.0]])
    found = assign_modes(PAIR, ends, modes, climb_on)
    assert found[[0, 1, 2, 4]].tolist() == [left, left, right, right]
    assert found[3] in (left, right)
    # Only the saddle and the plateau had to be pushed.
    np.testing.assert_allclose(np.abs(pushed[0]), [[0.1, 0.0], [1.5, 0.0]], atol=1e-6)
    assert len(pushed) == 1


def test_modes_of_narrow_bells_are_found_from_the_middle_of_their_ends():
    C = np.array([[0.0, 0.0], [1.0, 1.0]])
    field = PotentialField(C, np.full(2, 0.01), np.ones(2), np.zeros(2))
    modes = find_modes(field, np.array([[0.001, 0.0], [1.0, 1.001], [1.0, 0.999]]))
    assert len(modes) == 2
    np.testing.assert_allclose(np.sort(modes[:, 0]), [0.0, 1.0], atol=1e-8)


def test_an_end_in_a_certain_basin_is_not_followed():
    modes = find_modes(PAIR, np.array([[-1.45, 0.0], [1.45, 0.0]]))
    basins = certain_basins(PAIR, modes)
    away = 0.9 * basins.radii / basins.scales[:, 1]
    assert (away > AT_MODE).all()
    ends = modes + away[:, None] * [0.0, 1.0]
    far = np.array([[0.2, 0.0]])  # in no certain basin: polished to its own mode
    found = assign_modes(PAIR, np.concatenate([ends, far]), modes, no_climb, basins)
    right = int(np.argmax(modes[:, 0]))
    assert found.tolist() == [0, 1, right]


def test_an_end_in_no_certain_basin_climbs_on_and_may_pass_a_nearer_mode():
    uneven = PAIR._replace(centers=1.2 * PAIR.centers, theta=np.array([1.0, 0.3]))
    found = find_modes(uneven, np.array([[-1.75, 0.0], [1.75, 0.0]]))
    left, right = np.argsort(found[:, 0])
    end = np.array([[0.3, 0.0]])
    reached = climb(uneven, end, fixed_point(), tol=1e-6, max_iter=500).points
    assert norm(reached - found[left]) < 0.01
    assert norm(end - found[right]) < norm(end - found[left])
    basins = certain_basins(uneven, found)
    assert not basins.find(uneven, end)[1]
    assert assign_modes(uneven, end, found, no_climb, basins).tolist() == [left]


def test_an_end_at_its_mode_is_not_polished(monkeypatch):
    found = find_modes(PAIR, np.array([[-1.45, 0.0], [1.45, 0.0]]))
    nothing = certain_basins(PAIR, found)._replace(radii=np.zeros(2))

    def no_polish(field, Z):
        pytest.fail("nothing had to be polished")

    monkeypatch.setattr(modes, "polish", no_polish)
    assert assign_modes(PAIR, found, found, no_climb, nothing).tolist() == [0, 1]


def no_climb(Z):
    pytest.fail("nothing had to be pushed")


def test_ends_on_both_sides_of_a_cell_are_one_mode():
    ends = np.array([[-0.02, 0.0], [0.02, 0.0]])
    assert len(find_modes(BELL, ends)) == 1


@pytest.mark.parametrize("size", [1e-8, 1e-4, 1e4, 1e8])
def test_polishing_does_not_depend_on_the_size_of_the_coefficients(size):
    points = np.array([[1.4, 0.1], [0.0, 0.0], [0.0, 60.0]])
    found = polish(PAIR._replace(theta=size * PAIR.theta), points)
    expected = polish(PAIR, points)
    np.testing.assert_array_equal(found.is_mode, expected.is_mode)
    np.testing.assert_array_equal(found.is_flat, expected.is_flat)
    np.testing.assert_allclose(found.points[:2], expected.points[:2], atol=1e-9)


def test_only_steps_that_leap_are_bold():
    assert accelerated().bold
    assert not fixed_point().bold
    assert not quasi_newton().bold
