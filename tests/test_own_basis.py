"""A basis of the user's own, against the paper's section 2.2 written out row by row."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from modeseek import LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.persist import ModelError, save_model

X, y = three_gaussians().sample(200, random_state=0)
X = 5.0 + 3.0 * X * [1.0, 2.0]
C = X[::20]
SIGMA, ALPHA = 5.0, 0.1
OPTIONS = {"centers": C, "bandwidth": SIGMA, "alpha": ALPHA}


def gaussian(rows, centers, bandwidth):
    """The paper's own basis."""
    step = (centers - rows[:, None]) / bandwidth**2
    distance = (((centers - rows[:, None]) / bandwidth) ** 2).sum(axis=2)
    phi = np.exp(-0.5 * distance)[:, :, None]
    return step * phi, (step**2 - bandwidth**-2.0) * phi


def student(rows, centers, bandwidth):
    """Derivatives of Student's t, whose tails are heavy."""
    step = (centers - rows[:, None]) / bandwidth**2
    distance = (((centers - rows[:, None]) / bandwidth) ** 2).sum(axis=2)
    phi = 1.0 / (1.0 + 0.5 * distance)[:, :, None]
    return step * phi**2, 2.0 * step**2 * phi**3 - bandwidth**-2.0 * phi**2


def swirling(rows, centers, bandwidth):
    """A basis that is the derivative of nothing, and not the same for all features."""
    u = (rows[:, None] - centers) / bandwidth
    other = u[:, :, ::-1]
    bell = np.exp(-np.abs(other) - 0.5 * u**2)
    slope = 1.0 - u**2 + 0.5 * u
    return (u - 0.5) * bell / bandwidth, slope * bell / bandwidth**2


BASES = {"gaussian": gaussian, "student": student, "swirling": swirling}


def brute_force(basis, shared):
    """G and h over rows, one after the other; the ridge of the default scale."""
    G, h = np.zeros((2, len(C), len(C))), np.zeros((2, len(C)))
    width = np.full(2, SIGMA)
    for x in X:
        psi, derivative = (part[0] for part in basis(x[None], C, width))
        for j in range(2):
            G[j] += np.outer(psi[:, j], psi[:, j]) / len(X)
            h[j] += derivative[:, j] / len(X)
    if shared:
        G, h = G.sum(axis=0, keepdims=True), h.sum(axis=0, keepdims=True)
    ridge = ALPHA / SIGMA**2 * np.eye(len(C))
    return np.array([-np.linalg.solve(A + ridge, b) for A, b in zip(G, h, strict=True)])


@pytest.mark.parametrize("basis", BASES.values(), ids=list(BASES))
def test_the_derivative_is_that_of_the_basis(basis):
    """The tests' own functions are right: central differences say so."""
    width, move = np.array([2.0, 3.0]), 1e-6
    _, derivative = basis(X, C, width)
    for j in range(2):
        there, back = (basis(X + s * move * np.eye(2)[j], C, width)[0] for s in (1, -1))
        slope = (there - back)[:, :, j] / (2.0 * move)
        np.testing.assert_allclose(derivative[:, :, j], slope, atol=1e-7)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("basis", BASES.values(), ids=list(BASES))
def test_coefficients_are_those_of_brute_force(basis, shared):
    kind = "shared" if shared else "separate"
    model = LogDensityGradient(basis=basis, coefficients=kind, **OPTIONS).fit(X)
    theta = brute_force(basis, shared)
    np.testing.assert_allclose(np.atleast_2d(model.coef_), theta, rtol=1e-7)
    psi, derivative = basis(X, C, np.full(2, SIGMA))
    g = (psi * theta.T).sum(axis=1)
    np.testing.assert_allclose(model.gradient(X), g, rtol=1e-7, atol=1e-12)
    slopes = (derivative * theta.T).sum(axis=1)
    loss = (g**2 + 2.0 * slopes).sum(axis=1).mean()
    assert model.score(X) == pytest.approx(-loss, rel=1e-9)


@pytest.mark.parametrize("basis", BASES.values(), ids=list(BASES))
def test_the_hessian_is_the_derivative_of_the_gradient(basis):
    model = LogDensityGradient(basis=basis, coefficients="separate", **OPTIONS).fit(X)
    places, move = X[1:40:3], 1e-5
    H = model.hessian(places)
    for k in range(2):
        step = move * np.eye(2)[k]
        slope = (model.gradient(places + step) - model.gradient(places - step)) / (
            2.0 * move
        )
        np.testing.assert_allclose(H[:, :, k], slope, atol=1e-6)


@pytest.mark.filterwarnings("ignore:The chosen .* is the first or last")
@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        *product(("shared", "separate"), ("relative", "printed", "authors")),
        ("multitask", "relative"),
    ],
)
def test_the_papers_basis_as_ones_own_is_the_library_s(kind, scale):
    options = {"coefficients": kind, "penalty_scale": scale, "centers": C}
    options["bandwidth"] = [4.0, 5.0, 6.0]
    models = [LogDensityGradient(basis=b, **options) for b in ("derivative", gaussian)]
    ours, own = (model.fit(X) for model in models)
    assert own.alpha_ == ours.alpha_
    np.testing.assert_allclose(own.bandwidth_, ours.bandwidth_)
    np.testing.assert_allclose(own.gradient(X), ours.gradient(X), rtol=1e-4, atol=1e-6)
    losses = [m.cv_results_["mean_test_loss"] for m in (ours, own)]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-6)


def test_rows_are_added_to_a_basis_of_ones_own():
    whole = LogDensityGradient(basis=student, **OPTIONS).fit(X)
    parts = LogDensityGradient(basis=student, **OPTIONS).fit(X[:90])
    parts.partial_fit(X[90:])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-6)


def test_weights_count_copies():
    count = np.arange(len(X)) % 3 + 1.0
    weighted = LogDensityGradient(basis=student, **OPTIONS).fit(X, sample_weight=count)
    copies = LogDensityGradient(basis=student, **OPTIONS)
    copies.fit(np.repeat(X, count.astype(int), axis=0))
    np.testing.assert_allclose(weighted.coef_, copies.coef_, rtol=1e-6)


@pytest.mark.parametrize("kind", ["shared", "separate"])
@pytest.mark.parametrize("ascent", ["auto", "gradient", "quasi_newton"])
def test_rows_climb_a_basis_of_ones_own_to_the_three_gaussians(kind, ascent):
    rows, labels = three_gaussians().sample(150, random_state=1)
    options = {"bandwidth": 2.0, "alpha": 0.01, "coefficients": kind}
    estimator = LogDensityGradient(20, basis=student, **options)
    model = ModeClustering(estimator, ascent=ascent).fit(rows)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(labels, model.labels_) > 0.85
    assert np.abs(model.estimator_.gradient(model.modes_)).max() < 1e-6
    assert np.isfinite(model.merge_tree_.std_error).all()
    assert clone(model).estimator.basis is student


def test_a_basis_of_ones_own_goes_with_every_loss_and_l1():
    base = LogDensityGradient(basis=student, **OPTIONS).fit(X).gradient(X)
    for more in ({"loss": "log_cosh"}, {"penalty": "l1"}, {"positive": True}):
        g = LogDensityGradient(basis=student, **{**OPTIONS, **more}).fit(X).gradient(X)
        assert np.isfinite(g).all()
        assert not np.allclose(g, base, rtol=1e-3)


def test_a_constant_feature_is_not_in_the_model():
    rows = np.column_stack([X, np.full(len(X), 7.0)])
    centers = np.column_stack([C, np.full(len(C), 7.0)])
    model = LogDensityGradient(basis=student, **{**OPTIONS, "centers": centers})
    g = model.fit(rows).gradient(rows)
    plain = LogDensityGradient(basis=student, **OPTIONS).fit(X)
    np.testing.assert_allclose(g[:, :2], plain.gradient(X), rtol=1e-6)
    assert not g[:, 2].any()


def test_what_a_basis_of_ones_own_has_not_is_refused(tmp_path):
    estimator = LogDensityGradient(basis=student, **OPTIONS)
    assert not hasattr(estimator, "log_density")
    for ascent in ("fixed_point", "blurring"):
        with pytest.raises(ValueError, match="a basis of your own does not have"):
            ModeClustering(estimator, ascent=ascent).fit(X)
    with pytest.raises(ValueError, match='bandwidth="learned" needs'):
        LogDensityGradient(basis=student, bandwidth="learned").fit(X)
    with pytest.raises(ModelError, match="basis by name"):
        save_model(tmp_path / "own.skops", ModeClustering(estimator).fit(X))


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (lambda x, c, w: student(x, c, w)[0], "gives two arrays"),
        (lambda x, c, w: [a[:, :, 0] for a in student(x, c, w)], "make"),
        (lambda x, c, w: [np.nan * a for a in student(x, c, w)], "not finite"),
    ],
)
def test_what_is_no_basis_is_refused(basis, message):
    with pytest.raises(ValueError, match=message):
        LogDensityGradient(basis=basis, **OPTIONS).fit(X)
