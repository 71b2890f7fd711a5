"""The paper's letters: scales of the ridge, given centres, printed candidates."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from modeseek import LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.gradient.settings import PRINTED_CANDIDATES

X, y = three_gaussians(3).sample(300, random_state=0)
X = 3.0 * X + 10.0
SIGMA, LAM = 4.0, 0.02


def printed_solution(C, sigma, lam, *, shared, psi_factor):
    """The paper's section 2.2, row by row, with psi times a factor."""
    n, d = X.shape
    G, h = np.zeros((d, len(C), len(C))), np.zeros((d, len(C)))
    for x in X:
        phi = np.exp(-((x - C) ** 2).sum(axis=1) / (2.0 * sigma**2))
        for j in range(d):
            psi = psi_factor * (C[:, j] - x[j]) / sigma**2 * phi
            slope = psi_factor * ((C[:, j] - x[j]) ** 2 / sigma**2 - 1.0) / sigma**2
            G[j] += np.outer(psi, psi) / n
            h[j] += slope * phi / n
    if shared:
        G, h = G.sum(axis=0, keepdims=True), h.sum(axis=0, keepdims=True)
    ridge = lam * np.eye(len(C))
    theta = [-np.linalg.solve(A + ridge, b) for A, b in zip(G, h, strict=True)]
    return psi_factor * np.array(theta)  # coefficients of psi as printed


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    ("scale", "factor"), [("printed", 1.0), ("authors", SIGMA**2), ("relative", SIGMA)]
)
def test_the_ridge_is_that_of_the_convention(scale, factor, shared):
    C = X[:20]
    model = LogDensityGradient(
        centers=C,
        bandwidth=SIGMA,
        alpha=LAM,
        penalty_scale=scale,
        coefficients="shared" if shared else "separate",
    ).fit(X)
    expected = printed_solution(C, SIGMA, LAM, shared=shared, psi_factor=factor)
    np.testing.assert_allclose(np.atleast_2d(model.coef_), expected, rtol=1e-6)
    np.testing.assert_allclose(model.centers_, C)


@pytest.mark.parametrize("scale", ["printed", "authors", "relative"])
def test_rows_that_are_added_meet_the_same_ridge(scale):
    options = {"centers": X[:20], "bandwidth": SIGMA, "alpha": LAM}
    whole = LogDensityGradient(penalty_scale=scale, **options).fit(X)
    parts = LogDensityGradient(penalty_scale=scale, **options).fit(X[:100])
    parts.partial_fit(X[100:])
    np.testing.assert_allclose(parts.gradient(X), whole.gradient(X), rtol=1e-5)


@pytest.mark.parametrize("scale", ["printed", "authors"])
def test_a_change_of_unit_changes_a_penalty_that_has_one(scale):
    """In units k times as small, widths are k times as large; lambda has a unit."""
    k, power = 100.0, {"printed": -2, "authors": 2}[scale]
    options = {"centers": X[:20], "bandwidth": SIGMA, "alpha": LAM}
    one = LogDensityGradient(penalty_scale=scale, **options).fit(X)
    options = {"centers": k * X[:20], "bandwidth": k * SIGMA, "alpha": LAM * k**power}
    two = LogDensityGradient(penalty_scale=scale, **options).fit(k * X)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)


def test_centres_that_are_rows_only_train():
    model = LogDensityGradient(centers=X[:40], selection="min").fit(X)
    drawn = LogDensityGradient(centers=X[:40] + 1e-9, selection="min").fit(X)
    losses = [m.cv_results_["mean_test_loss"][-1].min() for m in (model, drawn)]
    # Rows that see themselves as centres seem to fit far better when they judge.
    assert losses[1] < losses[0]


def test_penalties_of_the_paper_are_its_candidates():
    grid = {"bandwidth": PRINTED_CANDIDATES, "selection": "min"}
    model = LogDensityGradient(penalty_scale="authors", **grid).fit(X / 3.0)
    np.testing.assert_array_equal(model.cv_results_["alpha"], PRINTED_CANDIDATES)
    assert len(PRINTED_CANDIDATES) == 7
    assert PRINTED_CANDIDATES[[0, -1]].tolist() == [0.01, 10.0]


def test_the_authors_scale_finds_the_toys_clusters_where_the_printed_one_does_not():
    rows, y = three_gaussians(6).sample(1000, random_state=0)
    found = {}
    for scale in ("authors", "printed"):
        estimator = LogDensityGradient(
            bandwidth=PRINTED_CANDIDATES[2:],
            alpha=PRINTED_CANDIDATES[:3],
            penalty_scale=scale,
            selection="min",
        )
        with pytest.warns(UserWarning, match="alpha is the first or last"):
            model = ModeClustering(estimator, prominence=0).fit(rows)
        found[scale] = adjusted_rand_score(y, model.labels_)
    assert found["authors"] > 0.85 > 0.5 > found["printed"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"centers": [[0.0, 1.0]]}, r"shape \(n_centers, 3\)"),
        ({"centers": ["a", "b", "c"]}, "must be numbers"),
        ({"centers": np.empty((0, 3))}, "at least one row"),
        ({"centers": [[0.0, np.nan, 1.0]]}, "finite"),
        ({"centers": X}, "Every row is one of the centers"),
        ({"centers": 100.0 * X[:9]}, "in the unit of X"),
        ({"centers": X[:5], "n_centers": 5}, "either centers or n_centers"),
        ({"penalty_scale": "none"}, "penalty_scale must be one of"),
        ({"penalty_scale": "printed", "penalty": "l1"}, 'penalty="ridge"'),
        ({"penalty_scale": "authors", "bandwidth": "auto"}, 'bandwidth="cv"'),
        ({"penalty_scale": "authors", "loss": "log_cosh"}, 'loss="squared"'),
        ({"penalty_scale": "authors", "coefficients": "multitask"}, "separate"),
    ],
)
def test_what_does_not_go_together_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LogDensityGradient(**options).fit(X)
