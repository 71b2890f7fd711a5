"""Standard errors in closed form, against the bootstrap they stand for."""

import numpy as np
import pytest

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians, two_gaussians
from modeseek.gradient.uncertainty import standard_errors

DRAWS = 200


def bootstrap_weights(n):
    """Rows drawn with replacement, as counts; (draws, n)."""
    rng = np.random.default_rng(0)
    return rng.multinomial(n, np.full(n, 1.0 / n), size=DRAWS).astype(float)


class Basis:
    """psi_ij = (c_ij - x_j) / s^2 phi_i and its derivative, written out."""

    def __init__(self, centers, width):
        self.centers, self.width = centers, width

    def phi(self, X):
        D = ((X[:, None] - self.centers) ** 2).sum(axis=2)
        return np.exp(-0.5 * D / self.width**2)

    def psi(self, X):
        steps = (self.centers - X[:, None]) / self.width**2
        return steps * self.phi(X)[:, :, None]  # (n, b, d)

    def psi_derivative(self, X):
        steps = (self.centers - X[:, None]) / self.width**2
        return (steps**2 - self.width**-2) * self.phi(X)[:, :, None]


def solve_ridge(psi, derivative, weights, ridge):
    """Coefficients for every draw of weights: -(G + ridge I)^-1 h."""
    n, b = psi.shape[:2]
    outer = np.einsum("nid,nkd->nik", psi, psi).reshape(n, b * b)
    G = (weights @ outer).reshape(-1, b, b) / weights.sum(axis=1)[:, None, None]
    h = weights @ derivative.sum(axis=2) / weights.sum(axis=1, keepdims=True)
    return -np.linalg.solve(G + ridge * np.eye(b), h[:, :, None])[:, :, 0]


@pytest.fixture(scope="module")
def plane():
    return three_gaussians().sample(600, random_state=3)[0]


def test_the_error_of_a_potential_matches_a_bootstrap(plane):
    width, alpha = 1.5, 1e-2
    estimator = LogDensityGradient(25, bandwidth=width, alpha=alpha)
    model = ModeClustering(estimator, prominence=0).fit(plane)
    tree = model.merge_tree_
    assert len(tree.child) >= 2
    basis = Basis(model.estimator_.centers_, width)
    # The penalty is relative to the scale of G, 1 / width^2.
    theta = solve_ridge(
        basis.psi(plane),
        basis.psi_derivative(plane),
        np.vstack([np.ones(len(plane)), bootstrap_weights(len(plane))]),
        alpha / width**2,
    )
    difference = basis.phi(model.modes_[tree.child]) - basis.phi(tree.saddles)
    prominence = theta @ difference.T
    np.testing.assert_allclose(prominence[0], tree.prominence, rtol=1e-6, atol=1e-8)
    expected = prominence[1:].std(axis=0)
    assert (expected > 0.02).all()
    np.testing.assert_allclose(tree.std_error, expected, rtol=0.25)


def line_integral(basis, theta, tops, bottoms, n_points=400):
    """Integral of g from bottom to top for every draw, by the midpoint rule."""
    total = 0.0
    for t in (np.arange(n_points) + 0.5) / n_points:
        psi = basis.psi(bottoms + t * (tops - bottoms))  # (r, b, d)
        g = np.einsum("tjb,rbj->trj", theta, psi)
        total = total + (g * (tops - bottoms)).sum(axis=2) / n_points
    return total


def test_the_error_of_a_line_integral_matches_a_bootstrap(plane):
    width, alpha = 1.5, 1e-2
    estimator = LogDensityGradient(
        25, bandwidth=width, alpha=alpha, coefficients="separate"
    )
    model = ModeClustering(estimator, prominence=0).fit(plane)
    tree = model.merge_tree_
    assert len(tree.child) >= 2
    basis = Basis(model.estimator_.centers_, width)
    psi, derivative = basis.psi(plane), basis.psi_derivative(plane)
    weights = np.vstack([np.ones(len(plane)), bootstrap_weights(len(plane))])
    theta = np.stack(
        [
            solve_ridge(
                psi[:, :, [j]], derivative[:, :, [j]], weights, alpha / width**2
            )
            for j in range(2)
        ],
        axis=1,
    )
    np.testing.assert_allclose(theta[0], model.estimator_.coef_, rtol=1e-6, atol=1e-9)
    rise = line_integral(basis, theta, model.modes_[tree.child], tree.saddles)
    expected = rise[1:].std(axis=0)
    assert (expected > 0.02).all()
    np.testing.assert_allclose(tree.std_error, expected, rtol=0.25)


def test_the_error_of_a_kernel_density_matches_a_bootstrap(plane):
    width = 0.6
    model = ModeClustering(KernelDensityGradient(width), prominence=0).fit(plane)
    tree = model.merge_tree_
    clear = tree.prominence > 0.3
    assert clear.sum() >= 2
    tops, bottoms = model.modes_[tree.child][clear], tree.saddles[clear]

    def log_density(points, weights):
        D = ((points[:, None] - plane) ** 2).sum(axis=2)
        return np.log(weights @ np.exp(-0.5 * D / width**2).T)

    weights = np.vstack([np.ones(len(plane)), bootstrap_weights(len(plane))])
    prominence = log_density(tops, weights) - log_density(bottoms, weights)
    np.testing.assert_allclose(prominence[0], tree.prominence[clear], atol=1e-6)
    expected = prominence[1:].std(axis=0)
    np.testing.assert_allclose(tree.std_error[clear], expected, rtol=0.25)


def test_the_error_of_a_potential_on_a_line_matches_fresh_samples():
    # No resampling: new rows from the true density, for the same centres and width.
    width, alpha, n = 1.2, 1e-2, 500
    mixture = two_gaussians()
    X = mixture.sample(n, random_state=0)[0]
    estimator = LogDensityGradient(15, bandwidth=width, alpha=alpha)
    model = ModeClustering(estimator, prominence=0).fit(X)
    tree = model.merge_tree_
    basis = Basis(model.estimator_.centers_, width)
    main = int(tree.prominence.argmax())
    difference = basis.phi(model.modes_[tree.child[[main]]])
    difference = difference - basis.phi(tree.saddles[[main]])
    found = []
    for seed in range(1, DRAWS + 1):
        fresh = mixture.sample(n, random_state=seed)[0]
        theta = solve_ridge(
            basis.psi(fresh),
            basis.psi_derivative(fresh),
            np.ones((1, n)),
            alpha / width**2,
        )
        found.append(float(theta[0] @ difference[0]))
    assert tree.std_error[main] == pytest.approx(np.std(found), rel=0.25)


@pytest.mark.parametrize(
    "estimator",
    [
        LogDensityGradient(20, bandwidth=1.2, alpha=1e-2),
        LogDensityGradient(20, bandwidth=1.2, alpha=1e-2, coefficients="separate"),
        KernelDensityGradient(0.7),
    ],
    ids=["shared", "separate", "kernel"],
)
def test_a_weight_of_k_gives_the_error_of_k_copies(estimator, plane):
    X = plane[:200]
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = ModeClustering(estimator, prominence=0).fit(X, sample_weight=weight)
    copied = ModeClustering(estimator, prominence=0).fit(np.repeat(X, weight, axis=0))
    one, two = weighted.merge_tree_, copied.merge_tree_
    assert len(one.child) >= 1
    np.testing.assert_allclose(one.prominence, two.prominence, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(one.std_error, two.std_error, rtol=1e-6)
    plain = ModeClustering(estimator, prominence=0).fit(X).merge_tree_
    assert not np.allclose(plain.std_error.max(), one.std_error.max(), rtol=1e-3)


def test_twice_the_rows_halve_the_variance(plane):
    estimator = LogDensityGradient(20, bandwidth=1.2, alpha=1e-2)
    once = ModeClustering(estimator).fit(plane).merge_tree_
    twice = ModeClustering(estimator).fit(np.repeat(plane, 2, axis=0)).merge_tree_
    np.testing.assert_allclose(
        twice.std_error, once.std_error / np.sqrt(2.0), rtol=1e-6
    )


def test_standard_errors_of_a_mean_are_the_textbook_ones():
    X = np.random.default_rng(0).standard_normal((1000, 2))
    weight = np.random.default_rng(1).integers(0, 4, 1000).astype(float)
    copies = np.repeat(X, weight.astype(int), axis=0)
    for rows, w, sample in ((X, None, X), (X, weight, copies)):
        found = standard_errors(lambda Z: Z, rows, w, 2, 2, n_jobs=1)
        expected = sample.std(axis=0) / np.sqrt(len(sample))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_errors_do_not_depend_on_the_unit_of_the_data(plane):
    def fit(scale):
        estimator = LogDensityGradient(20, bandwidth=1.2 * scale, alpha=1e-2)
        return ModeClustering(estimator).fit(plane * scale).merge_tree_

    np.testing.assert_allclose(fit(1.0).std_error, fit(1e-3).std_error, rtol=1e-6)
