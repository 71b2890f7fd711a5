"""Basins: inside, the Hessian is negative and every way up ends at the mode."""

import functools

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.field.ascent import accelerated, climb, fixed_point
from modeseek.field.basins import _fourth_derivatives, _third_derivative, certain_basins
from modeseek.field.fields import KernelField, PotentialField, SeparateField, curvature
from modeseek.field.modes import assign_modes, find_modes
from modeseek.gradient.base import field_of, frame_of


def random_field(seed, base=False):
    rng = np.random.default_rng(seed)
    d, b = 1 + seed % 4, 25
    theta = rng.standard_normal(b)
    return PotentialField(
        2.0 * rng.standard_normal((b, d)),
        np.exp(0.4 * rng.standard_normal(d)),
        theta * np.copysign(1.0, theta.sum()),
        rng.uniform(0.1, 2.0, d) if base else np.zeros(d),
    )


def random_kernel_field(seed):
    field = random_field(seed)
    weights = np.random.default_rng(seed).uniform(0.1, 1.0, len(field.centers))
    return KernelField(field.centers, field.widths, np.log(weights))


FIELDS = {
    "sum": random_field,
    "sum_and_base": lambda seed: random_field(seed, base=True),
    "kernels": random_kernel_field,
}


def modes_of(field):
    ends = climb(field, field.centers, accelerated(), tol=1e-4, max_iter=300).points
    return find_modes(field, ends)


@functools.cache
def basins_of(name, seed):
    field = FIELDS[name](seed)
    return field, certain_basins(field, modes_of(field))


def points_inside(basins, rng, n_points):
    """Points of every ellipsoid, most of them near its surface, and their modes."""
    k, d = basins.modes.shape
    away = rng.standard_normal((k, n_points, d))
    away *= rng.uniform(0.0, 1.0, (k, n_points, 1)) ** (1.0 / (2 * d))
    away /= np.maximum(np.linalg.norm(away, axis=2, keepdims=True), 1.0)
    axes = basins.radii[:, None] / basins.scales
    points = basins.modes[:, None] + 0.999 * away * axes[:, None]
    return points.reshape(-1, d), np.repeat(np.arange(k), n_points)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("seed", range(12))
def test_the_hessian_is_negative_definite_inside(name, seed):
    field, basins = basins_of(name, seed)
    points, _ = points_inside(basins, np.random.default_rng(seed), 300)
    assert (np.linalg.eigvalsh(curvature(field, points))[:, -1] < 0).all()


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("seed", range(12))
def test_rows_inside_climb_to_the_mode(name, seed):
    field, basins = basins_of(name, seed)
    points, own = points_inside(basins, np.random.default_rng(seed), 20)
    ends = climb(field, points, fixed_point(), tol=1e-5, max_iter=5000).points
    gap = np.linalg.norm((ends - basins.modes[own]) / field.widths, axis=1)
    assert gap.max() < 0.01
    mode, inside = basins.find(field, points)
    np.testing.assert_array_equal(inside, basins.radii[own] > 0)
    np.testing.assert_array_equal(mode, own)


@pytest.mark.parametrize("name", FIELDS)
def test_most_basins_are_wider_than_the_ends_of_climbs(name):
    radii = np.concatenate([basins_of(name, seed)[1].radii for seed in range(12)])
    assert (radii >= 0.05).mean() > 0.8
    assert np.median(radii) >= 0.1


def test_the_basin_of_one_gaussian_stays_where_it_is_concave():
    field = PotentialField(np.zeros((1, 2)), np.ones(2), np.ones(1), np.zeros(2))
    basins = certain_basins(field, np.zeros((1, 2)))
    assert 0.5 < basins.radii[0] < 1.0  # the second derivative changes its sign at 1


def test_the_third_derivative_is_that_of_its_tensor():
    rng = np.random.default_rng(0)
    x, w, unit = rng.standard_normal((9, 4)), rng.standard_normal(9), np.eye(4)
    tensor = np.einsum("b,bi,bj,bk->ijk", w, x, x, x)
    for axes in ("ij,k->ijk", "ik,j->ijk", "jk,i->ijk"):
        tensor -= np.einsum(axes, unit, w @ x)
    assert _third_derivative(x, w) == pytest.approx(np.linalg.norm(tensor), rel=1e-12)


def test_the_fourth_derivative_of_a_gaussian_stays_below_its_bound():
    # Along a direction in a plane: s of the distance lies along it.
    rng = np.random.default_rng(0)
    distance = rng.uniform(0.0, 11.0, 100_000)
    s = distance * np.cos(rng.uniform(0.0, np.pi, 100_000))
    fourth = np.abs(s**4 - 6.0 * s**2 + 3.0) * np.exp(-0.5 * distance**2)
    bound = _fourth_derivatives()[(distance / 0.005).astype(int)]
    assert (fourth <= bound).all()
    assert (fourth > 0.9 * bound).any()


def test_nothing_is_certain_without_a_potential():
    shared = random_field(1)
    field = SeparateField(shared.centers, shared.widths, np.tile(shared.theta, (2, 1)))
    modes = modes_of(shared)
    basins = certain_basins(field, modes)
    away = modes + 1e-6 * field.widths
    assert not basins.find(field, away)[1].any()


def test_a_feature_of_infinite_width_does_not_count():
    field = random_field(1)
    modes = modes_of(field)
    wide = PotentialField(
        np.insert(field.centers, 1, 7.0, axis=1),
        np.insert(field.widths, 1, np.inf),
        field.theta,
        np.zeros(3),
    )
    plain = certain_basins(field, modes)
    more = certain_basins(wide, np.insert(modes, 1, 3.0, axis=1))
    np.testing.assert_allclose(more.radii, plain.radii)
    points, own = points_inside(plain, np.random.default_rng(0), 5)
    mode, inside = more.find(wide, np.insert(points, 1, -40.0, axis=1))
    assert inside.all()
    np.testing.assert_array_equal(mode, own)


DATA = {
    "moons": lambda n: make_moons(n, noise=0.05, random_state=0)[0],
    "blobs": lambda n: make_blobs(n, 2, centers=20, random_state=0)[0],
    "many_features": lambda n: make_blobs(n, 8, centers=10, random_state=0)[0],
    "base": lambda n: three_gaussians(6).sample(n, random_state=0)[0],
}
ESTIMATORS = {
    "auto": lambda: LogDensityGradient(bandwidth="auto"),
    "cv": lambda: LogDensityGradient(bandwidth="cv"),
    "kernels": KernelDensityGradient,
}
few_or_many = pytest.mark.parametrize(
    "n", [400, pytest.param(1200, marks=pytest.mark.soak)]
)


@few_or_many
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("data", DATA)
def test_fast_rows_get_the_modes_of_the_plain_loop(data, estimator, n):
    rows = DATA[data](n)
    model = ESTIMATORS[estimator]().fit(rows)
    field, Z = field_of(model), frame_of(model).enter(rows)

    def plain(Z):
        return climb(field, Z, fixed_point(), tol=1e-4, max_iter=20_000).points

    ends = plain(Z)
    modes = find_modes(field, ends)
    basins = certain_basins(field, modes)
    fast = climb(
        field,
        Z,
        accelerated(),
        tol=1e-4,
        max_iter=1000,
        certain=lambda Z: basins.find(field, Z)[1],
    )
    assert fast.converged.all()
    expected = assign_modes(field, ends, modes, plain)
    found = assign_modes(field, fast.points, modes, plain, basins)
    assert (found != expected).mean() <= 1e-3
    assert basins.find(field, fast.points)[1].any()


@few_or_many
@pytest.mark.parametrize("data", DATA)
def test_predictions_of_the_training_rows_are_their_labels(data, n):
    rows = DATA[data](n)
    model = ModeClustering(LogDensityGradient(bandwidth="auto")).fit(rows)
    np.testing.assert_array_equal(model.predict_modes(rows), model.row_modes_)
