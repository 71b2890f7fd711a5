"""Fields: derivatives against finite differences, steps against what they promise."""

import numpy as np
import pytest

from modeseek.field.fields import (
    LARGEST_CURVATURE,
    KernelField,
    PotentialField,
    SeparateField,
    gradient,
)

rng = np.random.default_rng(0)
C = rng.standard_normal((9, 3))
Z = rng.standard_normal((25, 3))
LOG_WEIGHTS = np.log(rng.dirichlet(np.ones(9)))
SIGNED = rng.standard_normal(9)  # both signs, as fitted coefficients have
SIGNED_BY_FEATURE = rng.standard_normal((3, 9))
WIDTHS = {
    "one width": np.full(3, 0.9),
    "a width a feature": np.array([0.6, 1.1, 1.9]),
    "one infinite": np.array([0.8, np.inf, 1.4]),
}
NO_BASE = np.zeros(3)

FIELDS = {
    "potential": lambda widths: PotentialField(C, widths, SIGNED, NO_BASE),
    "separate": lambda widths: SeparateField(C, widths, SIGNED_BY_FEATURE),
    "kernel": lambda widths: KernelField(C, widths, LOG_WEIGHTS),
}
WITH_POTENTIAL = ["potential", "kernel"]


@pytest.fixture(params=WIDTHS.values(), ids=WIDTHS)
def widths(request):
    return request.param


@pytest.fixture(params=FIELDS)
def field(request, widths):
    return FIELDS[request.param](widths)


@pytest.fixture(params=WITH_POTENTIAL)
def potential(request, widths):
    return FIELDS[request.param](widths)


def gradient_at(field, points):
    return gradient(field, field.evaluate(points))


def differences(function, points, step=1e-5):
    """Central differences along every feature, stacked on the last axis."""
    columns = []
    for j in range(points.shape[1]):
        shift = np.zeros(points.shape[1])
        shift[j] = step
        above, below = function(points + shift), function(points - shift)
        columns.append((above - below) / (2 * step))
    return np.stack(columns, axis=-1)


def test_gradient_is_the_finite_difference_of_the_value(potential):
    numeric = differences(lambda A: potential.evaluate(A).value, Z)
    np.testing.assert_allclose(gradient_at(potential, Z), numeric, atol=1e-8)


def test_jacobian_is_the_finite_difference_of_the_gradient(field):
    numeric = differences(lambda A: gradient_at(field, A), Z)
    np.testing.assert_allclose(field.jacobian(Z), numeric, atol=1e-8)


def test_divergence_is_the_trace_of_the_jacobian(field):
    trace = np.trace(field.jacobian(Z), axis1=1, axis2=2)
    np.testing.assert_allclose(
        field.divergence(Z, np.ones(Z.shape[1])), trace, rtol=1e-10, atol=1e-12
    )


def test_weighted_divergence_weighs_the_diagonal_of_the_jacobian(field):
    weights = np.array([0.2, 1.0, 3.0])
    expected = np.einsum("mjj,j->m", field.jacobian(Z), weights)
    actual = field.divergence(Z, weights)
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


def test_jacobian_of_a_potential_is_symmetric(potential):
    H = potential.jacobian(Z)
    np.testing.assert_allclose(H, H.transpose(0, 2, 1), atol=1e-13)


def test_separate_coefficients_are_the_printed_sum():
    widths = WIDTHS["a width a feature"]
    expected = np.zeros_like(Z)
    for m, z in enumerate(Z):
        for j in range(3):
            for i in range(len(C)):
                phi = np.exp(-0.5 * sum(((z - C[i]) / widths) ** 2))
                step = (C[i, j] - z[j]) / widths[j] ** 2
                expected[m, j] += SIGNED_BY_FEATURE[j, i] * step * phi
    field = SeparateField(C, widths, SIGNED_BY_FEATURE)
    np.testing.assert_allclose(gradient_at(field, Z), expected, rtol=1e-10)


def test_equal_separate_coefficients_are_shared_ones(widths):
    shared = PotentialField(C, widths, SIGNED, NO_BASE)
    separate = SeparateField(C, widths, np.tile(SIGNED, (3, 1)))
    for ask in (lambda f: gradient_at(f, Z), lambda f: f.jacobian(Z)):
        np.testing.assert_allclose(ask(separate), ask(shared), rtol=1e-10, atol=1e-13)


def test_an_infinite_width_takes_its_feature_out():
    for make in FIELDS.values():
        field = make(WIDTHS["one infinite"])
        assert (gradient_at(field, Z)[:, 1] == 0).all()
        moved = Z + np.array([0.0, 5.0, 0.0])
        np.testing.assert_allclose(gradient_at(field, moved), gradient_at(field, Z))
        H = field.jacobian(Z)
        assert (H[:, 1] == 0).all()
        assert (H[:, :, 1] == 0).all()


def test_a_gaussian_base_adds_its_log_density(widths):
    base = np.array([0.5, 0.0, 2.0])
    field = PotentialField(C, widths, SIGNED, base)
    without = PotentialField(C, widths, SIGNED, NO_BASE)
    here = field.evaluate(Z)
    expected = without.evaluate(Z).value - 0.5 * (base * Z**2).sum(axis=1)
    np.testing.assert_allclose(here.value, expected, rtol=1e-12)
    finite = np.isfinite(widths)  # a feature out of the model has no base either
    numeric = differences(lambda A: field.evaluate(A).value, Z)[:, finite]
    np.testing.assert_allclose(gradient_at(field, Z)[:, finite], numeric, atol=1e-8)
    difference = field.jacobian(Z) - without.jacobian(Z)
    np.testing.assert_allclose(difference, [-np.diag(base)] * len(Z), atol=1e-13)
    trace = np.trace(field.jacobian(Z), axis1=1, axis2=2)
    np.testing.assert_allclose(
        field.divergence(Z, np.ones(Z.shape[1])), trace, rtol=1e-10, atol=1e-12
    )


def test_nearest_is_the_distance_to_the_nearest_centre_in_widths(field):
    scaled = ((Z[:, None] - C) / field.widths) ** 2
    expected = np.sqrt(scaled.sum(axis=2).min(axis=1))
    np.testing.assert_allclose(field.evaluate(Z).nearest, expected, rtol=1e-8)


def test_kernel_step_is_the_mean_shift():
    field = KernelField(C, WIDTHS["one width"], LOG_WEIGHTS)
    weight = np.exp(LOG_WEIGHTS - ((Z[:, None] - C) ** 2).sum(axis=2) / (2 * 0.9**2))
    mean = weight @ C / weight.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Z + field.evaluate(Z).fixed_point_step(), mean)


def test_fixed_point_step_is_the_printed_quotient_where_it_is_defined():
    theta = SIGNED - SIGNED.mean()
    field = PotentialField(C, WIDTHS["one width"], theta, NO_BASE)
    weight = theta * np.exp(-((Z[:, None] - C) ** 2).sum(axis=2) / (2 * 0.9**2))
    mass = weight.sum(axis=1, keepdims=True)
    here = field.evaluate(Z)
    positive = mass[:, 0] > 0
    assert 0 < positive.sum() < len(Z)
    expected = (weight @ C / mass - Z)[positive]
    np.testing.assert_allclose(here.fixed_point_step()[positive], expected, rtol=1e-8)
    np.testing.assert_array_equal(
        here.fixed_point_step()[~positive], here.safe_step()[~positive]
    )


@pytest.mark.parametrize("seed", range(5))
def test_safe_step_never_descends_a_potential_of_any_signs(seed):
    draw = np.random.default_rng(seed)
    points = 2 * draw.standard_normal((500, 3))
    widths = draw.uniform(0.3, 3.0, 3)
    for base in (NO_BASE, draw.uniform(0, 1, 3)):
        field = PotentialField(C, widths, draw.standard_normal(9), base)
        here = field.evaluate(points)
        there = field.evaluate(points + here.safe_step())
        rounding = 1e-13 * (1 + np.abs(here.value))
        assert (there.value >= here.value - rounding).all()
        assert (there.value > here.value + rounding).mean() > 0.9


def test_largest_curvature_is_that_of_the_gaussian():
    r = np.linspace(0, 6, 100_001)
    # Along the radius (r^2 - 1) exp(-r^2 / 2); across it -exp(-r^2 / 2).
    largest = ((r**2 - 1) * np.exp(-0.5 * r**2)).max()
    assert pytest.approx(largest, rel=1e-8) == LARGEST_CURVATURE


@pytest.mark.parametrize("distance", [1e2, 1e5, 1e15, 1e99])
def test_steps_and_derivatives_stay_finite_far_away(field, distance):
    far = distance * Z[:5]
    here = field.evaluate(far)
    for part in (*here, here.fixed_point_step(), here.safe_step()):
        assert part is None or np.isfinite(part).all()
    assert np.isfinite(field.jacobian(far)).all()
    assert np.isfinite(field.divergence(far, np.ones(far.shape[1]))).all()


@pytest.mark.parametrize("distance", [1e3, 1e8, 1e12])
def test_far_away_one_step_of_positive_coefficients_reaches_the_centres(distance):
    field = PotentialField(C, np.full(3, 0.9), np.abs(SIGNED), NO_BASE)
    reached = distance * Z[:5] + field.evaluate(distance * Z[:5]).fixed_point_step()
    assert np.abs(reached).max() <= np.abs(C).max() + 1e-12 * distance


@pytest.mark.parametrize("distance", [1e3, 1e8, 1e12])
def test_far_away_a_kernel_estimate_curves_like_its_nearest_kernel(distance):
    widths = WIDTHS["a width a feature"]
    field = KernelField(C, widths, LOG_WEIGHTS)
    far = np.full((1, 3), distance)
    H = field.jacobian(far)[0]
    np.testing.assert_allclose(H, -np.diag(1 / widths**2), atol=1e-12)
    assert field.divergence(far, np.ones(far.shape[1]))[0] == pytest.approx(
        -sum(1 / widths**2)
    )


def test_points_taken_and_put_keep_everything_else(field):
    here, other = field.evaluate(Z), field.evaluate(Z + 1.0)
    rows = np.array([3, 7])
    here.put(rows, other.take(rows))
    mixed = Z.copy()
    mixed[rows] += 1.0
    for mine, expected in zip(here, field.evaluate(mixed), strict=True):
        if mine is not None:
            np.testing.assert_allclose(mine, expected, rtol=1e-12)
