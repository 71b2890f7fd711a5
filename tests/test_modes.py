"""Modes: the ends of climbs made exact, and every end given a mode."""

import numpy as np
import pytest
from scipy.optimize import minimize, root

from modeseek.field.ascent import climb, fixed_point
from modeseek.field.fields import KernelField, PotentialField, SeparateField
from modeseek.field.modes import assign_modes, find_modes, polish


def make_field(centers, theta, widths=None, base=None):
    C = np.asarray(centers, dtype=float)
    d = C.shape[1]
    return PotentialField(
        C,
        np.ones(d) if widths is None else np.asarray(widths, dtype=float),
        np.asarray(theta, dtype=float),
        np.zeros(d) if base is None else np.asarray(base, dtype=float),
    )


def random_field(seed, d=None, base=False):
    rng = np.random.default_rng(seed)
    d, b = 1 + seed % 4 if d is None else d, 25
    theta = rng.standard_normal(b)
    return make_field(
        2.0 * rng.standard_normal((b, d)),
        theta * np.copysign(1.0, theta.sum()),
        widths=np.exp(0.4 * rng.standard_normal(d)),
        base=rng.uniform(0.01, 0.5, d) if base else None,
    )


def arrive(field, Z, max_iter=1000):
    return climb(field, Z, fixed_point(), tol=1e-5, max_iter=max_iter).points


def assign(field, ends, modes):
    return assign_modes(field, ends, modes, lambda Z: arrive(field, Z, max_iter=300))


def potential(field, Z):
    """The sum as it is written."""
    Z = np.atleast_2d(Z)
    D = (((Z[:, None] - field.centers) / field.widths) ** 2).sum(axis=2)
    return np.exp(-0.5 * D) @ field.theta - 0.5 * Z**2 @ field.base


def slope(field, Z):
    """Gradient of the sum in widths, term by term, and the size of its terms."""
    steps = (field.centers - Z[:, None]) / field.widths
    T = np.exp(-0.5 * (steps**2).sum(axis=2)) * field.theta
    g = np.einsum("mb,mbd->md", T, steps) - field.base * field.widths * Z
    return np.linalg.norm(g, axis=1), np.abs(T).sum(axis=1) + 0.5 * Z**2 @ field.base


def seeds(few, many):
    """Of random fields: few in make test, the others in make soak."""
    soaking = (pytest.param(k, marks=pytest.mark.soak) for k in range(few, many))
    return [*range(few), *soaking]


TWO = make_field([[-1.5, 0.0], [1.5, 0.0]], [1.0, 1.0])


@pytest.mark.parametrize("d", [1, 2, 7])
def test_the_mode_of_a_single_gaussian_is_its_centre(d):
    rng = np.random.default_rng(d)
    center, widths = rng.standard_normal((1, d)), rng.uniform(0.3, 3.0, d)
    field = make_field(center, [0.7], widths=widths)
    starts = center + widths * rng.standard_normal((50, d))
    modes = find_modes(field, arrive(field, starts))
    assert modes.shape == (1, d)
    np.testing.assert_allclose(modes, center, rtol=0, atol=1e-8)


def test_the_mode_of_a_gaussian_times_a_base_lies_between_them():
    # 0 = theta phi (c - z) - base z, solved by bisection in the test.
    field = make_field([[2.0]], [1.5], base=[0.5])
    grid = np.linspace(0.0, 2.0, 2_000_001)
    top = grid[np.argmax(potential(field, grid[:, None]))]
    modes = find_modes(field, arrive(field, grid[::100_000, None]))
    best = modes[np.argmax(potential(field, modes))]
    np.testing.assert_allclose(best, [top], atol=2e-6)


@pytest.mark.parametrize("distance", [2.1, 3.0, 8.0])
def test_both_modes_of_two_gaussians_are_found_where_scipy_finds_them(distance):
    field = make_field([[0.0, 0.0], [distance, 0.0]], [1.0, 0.9])
    rng = np.random.default_rng(0)
    starts = rng.uniform([-2.0, -2.0], [distance + 2.0, 2.0], (200, 2))
    modes = find_modes(field, arrive(field, starts))
    expected = {
        tuple(np.round(best.x, 5) + 0.0)
        for best in (
            minimize(
                lambda z: -potential(field, z)[0],
                start,
                method="BFGS",
                options={"gtol": 1e-9},
            )
            for start in field.centers
        )
    }
    assert len(expected) == 2 if distance > 2.5 else 1
    found = modes[np.argsort(modes[:, 0])]
    np.testing.assert_allclose(found, sorted(expected), atol=2e-5)


@pytest.mark.parametrize("base", [False, True], ids=["sum", "sum_and_base"])
@pytest.mark.parametrize("seed", seeds(10, 20))
def test_modes_of_random_models_are_flat_and_curved_downwards(seed, base):
    field = random_field(seed, base=base)
    rng = np.random.default_rng(seed)
    starts = rng.choice(field.centers, 60)
    starts = starts + 0.5 * field.widths * rng.standard_normal(starts.shape)
    modes = find_modes(field, arrive(field, starts))
    assert len(modes) >= 1
    flat, size = slope(field, modes)
    assert (flat <= 1e-8 * size).all()
    # No point on a small sphere around a mode is higher.
    away = rng.standard_normal((200, len(field.widths)))
    away *= 1e-2 * field.widths / np.linalg.norm(away, axis=1, keepdims=True)
    for mode in modes:
        assert (potential(field, mode + away) < potential(field, mode)).all()
    # Each is there once.
    gaps = np.linalg.norm((modes[:, None] - modes) / field.widths, axis=2)
    assert (gaps[np.triu_indices(len(modes), 1)] > 0.01).all()


@pytest.mark.parametrize("seed", seeds(10, 20))
def test_every_maximum_on_a_line_is_found(seed):
    field = random_field(seed, d=1)
    step = field.widths[0] / 500
    grid = np.arange(field.centers.min(), field.centers.max(), step)[:, None]
    f = potential(field, grid)
    inner = (f[1:-1] > f[:-2]) & (f[1:-1] > f[2:])
    expected = grid[1:-1][inner]
    starts = grid[::25]
    modes = np.sort(find_modes(field, arrive(field, starts)), axis=0)
    inside = (modes > grid[0]) & (modes < grid[-1])
    np.testing.assert_allclose(modes[inside], expected[:, 0], atol=step)


def test_ends_on_all_sides_of_a_mode_are_one_mode():
    field = make_field([[0.0, 0.0], [2.3, 0.5]], [1.0, 0.6])
    (mode,) = find_modes(field, arrive(field, field.centers[:1]))
    around = 0.04 * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    modes = find_modes(field, mode + around)
    np.testing.assert_allclose(modes, [mode], atol=1e-8)


def test_an_end_that_stopped_short_gets_the_mode_it_was_climbing_to():
    # The valley lies close to the lower bump: many points are nearer to the wrong one.
    field = make_field([[0.0], [3.0]], [1.0, 0.3])
    modes = np.sort(find_modes(field, arrive(field, field.centers)), axis=0)
    assert len(modes) == 2
    x = np.linspace(-1.0, 4.0, 400)
    f = potential(field, x[:, None])
    between = (x > modes[0]) & (x < modes[1])
    valley = x[between][f[between].argmin()]
    clear = np.abs(x - valley) > 0.02
    own = (x > valley).astype(int)[clear]
    nearest = np.abs(x[clear, None] - modes[:, 0]).argmin(axis=1)
    assert (nearest != own).sum() > 10
    np.testing.assert_array_equal(assign(field, x[clear, None], modes), own)


@pytest.mark.parametrize("shift", [30.0, 300.0])
@pytest.mark.parametrize("seed", seeds(5, 10))
def test_modes_do_not_depend_on_where_the_origin_is(seed, shift):
    field = random_field(seed)
    moved = field._replace(centers=field.centers + shift * field.widths)
    modes = find_modes(field, arrive(field, field.centers))
    other = find_modes(moved, arrive(moved, moved.centers)) - shift * field.widths
    assert len(other) == len(modes)
    gaps = np.linalg.norm((other[:, None] - modes) / field.widths, axis=2)
    assert (gaps.min(axis=1) < 1e-6).all()


def test_find_modes_finds_none_where_there_is_no_maximum():
    field = make_field([[0.0], [1.0]], [-1.0, -2.0])
    ends = arrive(field, np.linspace(-4.0, 5.0, 20)[:, None], max_iter=300)
    assert find_modes(field, ends).shape == (0, 1)


def test_polish_tells_a_maximum_from_a_saddle():
    maximum = find_modes(TWO, arrive(TWO, TWO.centers[:1]))
    polished = polish(TWO, np.concatenate([maximum, [[0.0, 0.0]]]))
    np.testing.assert_array_equal(polished.is_mode, [True, False])
    np.testing.assert_array_equal(polished.points[1], [0.0, 0.0])
    assert not polished.is_flat[1]
    # The saddle falls across the line and rises along it.
    assert abs(polished.direction[1, 0]) == pytest.approx(1.0)


def test_polish_stays_in_the_basin_it_starts_from():
    modes = find_modes(TWO, arrive(TWO, TWO.centers))
    x = np.concatenate([np.linspace(-3.0, -0.01, 30), np.linspace(0.01, 3.0, 30)])
    starts = np.column_stack([x, np.tile([0.4, -0.7], 30)])
    polished = polish(TWO, starts)
    reached = polished.points[polished.is_mode]
    assert len(reached) >= 40
    left, right = modes[np.argsort(modes[:, 0])]
    own = np.where(x[polished.is_mode, None] < 0, left, right)
    np.testing.assert_allclose(reached, own, atol=1e-6)


def saddle_of_four():
    """Four equal bumps in a square: a minimum or maximum in the middle by symmetry."""
    return make_field([[-2, -2], [-2, 2], [2, -2], [2, 2]], np.ones(4))


SADDLES = {
    "between_two": (TWO, [[0.0, 0.0]]),
    "minimum_of_four": (saddle_of_four(), [[0.0, 0.0]]),
    "sides_of_four": (saddle_of_four(), [[0.0, -2.0], [2.0, 0.0]]),
    "on_a_negative_centre": (
        make_field([[0.0, 0.0], [-2.0, 0.0], [2.0, 0.0]], [-1.0, 1.0, 1.0]),
        [[0.0, 0.0]],
    ),
    "kernel_density": (
        KernelField(TWO.centers, np.ones(2), np.log([0.5, 0.5])),
        [[0.0, 0.0]],
    ),
}


@pytest.mark.parametrize("name", SADDLES)
def test_a_row_at_a_saddle_is_pushed_off_to_a_maximum(name):
    field, starts = SADDLES[name]
    starts = np.array(starts)
    ends = arrive(field, starts)
    modes = find_modes(field, arrive(field, field.centers + 0.1))
    assert len(modes) >= 2
    # The climb alone is stuck between them.
    assert np.linalg.norm(ends[:, None] - modes, axis=2).min() > 1.0
    mode = assign(field, ends, modes)
    assert ((mode >= 0) & (mode < len(modes))).all()
    # It is one that is nearest to the saddle, not just any.
    gaps = np.linalg.norm(starts[:, None] - modes, axis=2)
    np.testing.assert_allclose(
        gaps[np.arange(len(starts)), mode], gaps.min(axis=1), atol=0.01
    )


def test_a_row_at_a_saddle_gets_a_mode_up_one_of_its_sides_not_the_nearest():
    field = random_field(2, d=2)

    def gradient(point):
        here = field.evaluate(point[None])
        return (here.factor * here.pull)[0]

    saddle = root(gradient, [-0.908519, -2.349480], tol=1e-13).x
    values, vectors = np.linalg.eigh(field.jacobian(saddle[None])[0])
    assert values[0] < 0 < values[1]
    modes = find_modes(field, arrive(field, field.centers))
    side = 0.05 * vectors[:, 1]
    sides = assign(
        field, arrive(field, np.stack([saddle + side, saddle - side])), modes
    )
    nearest = np.linalg.norm((saddle - modes) / field.widths, axis=1).argmin()
    assert nearest not in sides
    assert assign(field, saddle[None], modes)[0] in sides


def test_a_saddle_is_never_taken_for_a_mode():
    ends = np.concatenate([arrive(TWO, TWO.centers), np.zeros((5, 2))])
    modes = find_modes(TWO, ends)
    assert len(modes) == 2
    assert (np.abs(modes[:, 0]) > 1.0).all()


@pytest.mark.parametrize("far", [30.0, 1e4])
def test_a_row_on_a_plateau_gets_the_mode_of_its_nearest_centre(far):
    # The nearest centre is negative: no step from out there goes anywhere.
    field = make_field(
        [[0.0, 0.0], [3.0, 0.0], [-3.0, 0.0], [4.5, 0.0]], [1.0, 1.0, 1.0, -0.3]
    )
    modes = find_modes(field, arrive(field, field.centers[:3]))
    assert len(modes) == 3
    ends = arrive(field, np.array([[far, 0.0], [far, 1.0]]))
    np.testing.assert_array_equal(ends, [[far, 0.0], [far, 1.0]])
    mode = assign(field, ends, modes)
    assert np.abs(modes[mode] - [3.0, 0.0]).max() < 0.5


def test_a_row_on_a_plateau_does_not_just_get_the_nearest_mode():
    # A ridge leads from the nearest centre, a negative one, to the first mode; the
    # second mode is nearer, off that ridge.
    field = make_field(
        [[0, 0], [1, 0], [2, 0], [3, 0], [4.5, 0], [2, 6]], [3, 2, 1, 0.7, -0.3, 1]
    )
    modes = find_modes(field, arrive(field, field.centers[[0, 5]]))
    start = np.array([[30.0, 0.0]])
    assert np.linalg.norm(start - modes, axis=1).argmin() == modes[:, 1].argmax()
    mode = assign(field, arrive(field, start), modes)
    assert np.abs(modes[mode] - [0.4, 0.0]).max() < 0.4


@pytest.mark.parametrize("seed", [1, 2, 3, 5])
def test_modes_are_assigned_row_by_row(seed):
    field = random_field(seed, d=2)
    rng = np.random.default_rng(seed)
    starts = np.concatenate(
        [
            rng.choice(field.centers, 9) + 0.7 * rng.standard_normal((9, 2)),
            200.0 * rng.standard_normal((3, 2)),
        ]
    )
    modes = find_modes(field, arrive(field, starts))
    assert len(modes) >= 2
    # Halfway up, and all the way up.
    ends = np.concatenate([arrive(field, starts, max_iter=3), arrive(field, starts)])
    together = assign(field, ends, modes)
    assert len(np.unique(together)) >= 2
    order = rng.permutation(len(ends))
    np.testing.assert_array_equal(assign(field, ends[order], modes), together[order])
    alone = [assign(field, end[None], modes)[0] for end in ends]
    np.testing.assert_array_equal(alone, together)


@pytest.mark.parametrize("seed", range(5))
def test_an_end_near_a_mode_gets_that_mode(seed):
    field = random_field(seed, d=3)
    rng = np.random.default_rng(seed)
    modes = find_modes(field, arrive(field, field.centers))
    own = np.repeat(np.arange(len(modes)), 10)
    near = modes[own] + 0.01 * field.widths * rng.standard_normal((len(own), 3))
    gaps = np.linalg.norm((near[:, None] - modes) / field.widths, axis=2)
    np.testing.assert_array_equal(assign(field, near, modes), gaps.argmin(axis=1))


def test_a_feature_of_infinite_width_does_not_count():
    centers = np.insert(TWO.centers, 1, [5.0, -5.0], axis=1)
    field = make_field(centers, TWO.theta, widths=[1.0, np.inf, 1.0])
    starts = np.add(centers, [0.2, 30.0, 0.1])
    modes = find_modes(field, arrive(field, starts))
    plain = find_modes(TWO, arrive(TWO, np.add(TWO.centers, [0.2, 0.1])))
    assert modes.shape == (2, 3)
    np.testing.assert_allclose(
        np.sort(modes[:, 0]), np.sort(plain[:, 0]), rtol=0, atol=1e-8
    )
    np.testing.assert_array_equal(
        assign(field, np.add(starts, [0.0, 1e3, 0.0]), modes),
        assign(field, starts, modes),
    )
    saddle = assign(field, np.array([[0.0, 7.0, 0.0]]), modes)
    assert saddle[0] in (0, 1)


def test_equal_coefficients_of_all_features_have_the_modes_of_the_shared_model():
    field = random_field(5, d=2)
    theta = np.tile(field.theta, (2, 1))
    separate = SeparateField(field.centers, field.widths, theta)
    starts = field.centers
    shared_modes = find_modes(field, arrive(field, starts))
    modes = find_modes(separate, arrive(separate, starts))
    gaps = np.linalg.norm(modes[:, None] - shared_modes, axis=2)
    assert len(modes) >= 2
    assert (gaps.min(axis=1) < 1e-6).all()
