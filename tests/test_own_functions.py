"""Losses of the user's own, against the paper's formula written out row by row."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from modeseek import LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.persist import ModelError, save_model

X = 5.0 + 3.0 * three_gaussians().sample(150, random_state=0)[0]
C = X[::15]
SIGMA, ALPHA = 4.0, 0.1


def quartic(t):
    """A strictly convex function that none of the named losses is."""
    return t**2 + t**4, 2 * t + 4 * t**3, 2 + 12 * t**2, 24 * t, 24.0 + 0 * t


def lopsided(t):
    e = np.exp(t)
    return e + t**2, e + 2 * t, e + 2, e, e


def square(t):
    zero = np.zeros_like(t)
    return t**2, 2 * t, zero + 2, zero, zero


def gaussian_basis(x, j):
    """The paper's psi_j and its derivative along j at one row."""
    step = (C[:, j] - x[j]) / SIGMA**2
    phi = np.exp(-((x - C) ** 2).sum(axis=1) / (2 * SIGMA**2))
    return step * phi, (step**2 - SIGMA**-2) * phi


def printed_loss(f, theta, shared):
    """Section 4.4: the mean of -f(g) + f'(g) g + d/dx_j f'(g_j), and the ridge."""
    total = 0.0
    for x in X:
        for j in range(2):
            psi, derivative = gaussian_basis(x, j)
            own = theta[0] if shared else theta[j]
            g, slope = psi @ own, derivative @ own
            f0, f1, f2, _, _ = f(np.array([g]))
            total += (-f0 + f1 * g + f2 * slope)[0]
    return total / len(X) + ALPHA / SIGMA**2 * (theta**2).sum()


@pytest.mark.parametrize("f", [quartic, lopsided, square])
@pytest.mark.parametrize("shared", [True, False])
def test_a_loss_of_ones_own_is_minimised_as_printed(f, shared):
    options = {"centers": C, "bandwidth": SIGMA, "alpha": ALPHA, "loss": f}
    options["coefficients"] = "shared" if shared else "separate"
    theta = np.atleast_2d(LogDensityGradient(**options).fit(X).coef_)
    best = printed_loss(f, theta, shared)
    if f is square:
        plain = LogDensityGradient(**{**options, "loss": "squared"}).fit(X)
        np.testing.assert_allclose(theta, np.atleast_2d(plain.coef_), rtol=1e-6)
        return
    found = minimize(
        lambda v: printed_loss(f, v.reshape(theta.shape), shared),
        theta.ravel() + 0.05,
        method="L-BFGS-B",
        options={"maxiter": 60},
    )
    assert best <= found.fun + 1e-9
    np.testing.assert_allclose(found.x.reshape(theta.shape), theta, atol=0.02)


def test_the_unit_of_the_data_belongs_to_the_users_function():
    """f of gradients k times as small, k times as wide, is the same loss."""
    k = 64.0

    def scaled(t):
        return tuple(part * k ** (n - 2.0) for n, part in enumerate(quartic(k * t)))

    options = {"bandwidth": SIGMA, "alpha": ALPHA}
    one = LogDensityGradient(centers=C, loss=quartic, **options).fit(X)
    options["bandwidth"] = k * SIGMA
    two = LogDensityGradient(centers=k * C, loss=scaled, **options).fit(k * X)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)


def test_a_loss_of_ones_own_clusters_and_is_chosen_for():
    model = ModeClustering(LogDensityGradient(30, loss=quartic), prominence=0).fit(X)
    assert model.n_clusters_ >= 2
    assert "along_alpha" in model.estimator_.cv_results_
    assert np.isfinite(model.merge_tree_.std_error).all()
    assert clone(model).estimator.loss is quartic


def test_a_model_with_a_loss_of_ones_own_is_not_saved(tmp_path):
    estimator = LogDensityGradient(30, bandwidth=SIGMA, alpha=ALPHA, loss=quartic)
    model = ModeClustering(estimator).fit(X)
    with pytest.raises(ModelError, match="penalty, loss and basis by name"):
        save_model(tmp_path / "own.skops", model)


def test_the_power_goes_from_pseudo_huber_to_squared():
    options = {"centers": C, "bandwidth": SIGMA, "alpha": ALPHA}

    def coef(**more):
        return LogDensityGradient(**options, **more).fit(X).coef_

    powers = [coef(loss="even_power", loss_power=a) for a in (0.0, 0.5, 1.0)]
    np.testing.assert_allclose(powers[0], coef(loss="pseudo_huber"), rtol=1e-6)
    np.testing.assert_allclose(powers[1], coef(loss="even_power"), rtol=1e-12)
    np.testing.assert_allclose(powers[2], coef(), rtol=1e-6)
    assert not np.allclose(powers[0], powers[1], rtol=1e-3)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda t: t**2, "gives five arrays"),
        (lambda t: (1.0, 1.0, 1.0, 1.0, 1.0), "gave arrays of shapes"),
        (lambda t: (-(t**2), -2 * t, 0 * t - 2, 0 * t, 0 * t), "strictly convex"),
    ],
)
def test_what_is_no_convex_function_is_refused(loss, message):
    with pytest.raises(ValueError, match=message):
        LogDensityGradient(centers=C, bandwidth=SIGMA, alpha=ALPHA, loss=loss).fit(X)


def test_a_power_beyond_the_square_is_refused():
    with pytest.raises(ValueError, match="loss_power must be from 0 to 1"):
        LogDensityGradient(loss="even_power", loss_power=2.0).fit(X)
