"""Learned widths: the derivative is right, and what is learned is not chance."""

import numpy as np
import pytest

from modeseek import LogDensityGradient
from modeseek.datasets import gaussian, three_gaussians
from modeseek.gradient.extensions.penalties import quadratic_loss, solve
from modeseek.gradient.moments import Problem, compute_moments, task_scales
from modeseek.gradient.selection import search
from modeseek.gradient.widths import (
    NARROWEST_LEARNED,
    WIDE,
    WIDEST_LEARNED,
    FoldedRows,
    Learned,
    learn_widths,
    loss_and_gradient,
    marginal_start,
    sort_by_fold,
)

N_FOLDS = 4
BASE = np.array([1.0, 0.5, 0.0])
LAMS = 10.0 ** np.arange(-5.0, 1.0)


def standardized(mixture, n, seed):
    X, y = mixture.sample(n, random_state=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def folded_rows(X, n_centers, base, weight=None):
    """Rows in folds of equal size; the first rows are centres and only train."""
    fold = np.arange(len(X)) % N_FOLDS
    fold[:n_centers] = N_FOLDS
    problem = Problem(
        read=lambda rows: X[rows],
        n_rows=len(X),
        centers=X[:n_centers],
        base=base,
        shared=True,
        fold=fold,
        n_folds=N_FOLDS,
        weight=weight,
    )
    return problem, sort_by_fold(problem, np.arange(len(X)), np.ones(X.shape[1], bool))


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((200, 3)), rng.uniform(0.5, 2.0, 200)
    return folded_rows(X, 15, BASE, weight)


def test_the_loss_is_the_cross_validated_loss_of_the_moments(small):
    problem, folded = small
    widths, lam = np.array([0.8, 1.5, 2.0]), 1e-2
    scores = search(problem, widths[None], np.array([lam]))
    loss, _, _ = loss_and_gradient(folded, np.log(widths), np.log(lam))
    assert loss == pytest.approx(scores.loss[0, 0], rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_derivatives_by_widths_and_penalty_agree_with_finite_differences(small, seed):
    _, folded = small
    rng = np.random.default_rng(seed)
    point = np.append(rng.uniform(-0.5, 1.0, 3), rng.uniform(-7.0, 0.0))

    def loss(v):
        return loss_and_gradient(folded, v[:3], v[3])[0]

    _, by_widths, by_lam = loss_and_gradient(folded, point[:3], point[3])
    step = 1e-5 * np.eye(4)
    expected = [(loss(point + e) - loss(point - e)) / 2e-5 for e in step]
    np.testing.assert_allclose([*by_widths, by_lam], expected, rtol=1e-5, atol=1e-8)


def learn(X, n_centers=80):
    base = np.ones(X.shape[1])
    _, folded = folded_rows(X, n_centers, base)
    typical = float(np.sqrt(2.0 * X.shape[1]))
    wide = np.full(X.shape[1], typical)
    starts = [(wide, 1e-3), marginal_start(folded, typical, LAMS)]
    return typical, learn_widths(folded, typical, starts)


@pytest.mark.parametrize("n_features", [5, 20])
def test_features_that_carry_clusters_get_narrow_widths_and_noise_wide_ones(n_features):
    X, _ = standardized(three_gaussians(n_features), 1000, 0)
    typical, learned = learn(X)
    assert (learned.widths[:2] < WIDE).all()
    assert (learned.widths[2:] > WIDE).mean() > 0.8
    assert (learned.widths >= NARROWEST_LEARNED).all()
    assert (learned.widths <= WIDEST_LEARNED * typical * (1 + 1e-9)).all()


def test_learned_widths_hold_on_rows_that_learning_never_saw():
    mixture = three_gaussians(20)
    X, _ = standardized(mixture, 1000, 0)
    fresh, _ = standardized(mixture, 4000, 1)
    _, learned = learn(X)
    base = np.ones(20)

    def loss_on_fresh_rows(widths, lam):
        train, test = (
            Problem(
                read=lambda rows, A=A: A[rows],
                n_rows=len(A),
                centers=X[:80],
                base=base,
                shared=True,
            )
            for A in (X, fresh)
        )
        moments = compute_moments(train, widths, np.ones(1)).total()[0]
        theta = solve(moments, task_scales(widths, shared=True), lam)
        G, h = compute_moments(test, widths, np.ones(1)).total()[0].mean()
        return quadratic_loss(G, h, theta[:, :, None])[0]

    one_width = min(loss_on_fresh_rows(np.full(20, w), 1e-3) for w in (2.0, 4.0, 8.0))
    assert loss_on_fresh_rows(learned.widths, learned.lam) < min(one_width, 0.0) - 0.5


def test_widths_that_leave_centres_alone_are_refused():
    # Fifty features, and kernels so narrow that no row sees a centre but itself.
    X, _ = standardized(gaussian(50), 150, 0)
    _, folded = folded_rows(X, 60, np.ones(50))
    narrow, wide = (np.full(50, 0.5), 1e-3), (np.full(50, 10.0), 1e-3)
    assert learn_widths(folded, 10.0, [narrow]).loss == np.inf
    assert np.isfinite(learn_widths(folded, 10.0, [narrow, wide]).loss)


def test_a_marginal_start_is_narrow_where_a_feature_is_not_gaussian():
    rng = np.random.default_rng(0)
    two_bumps = rng.choice([-2.0, 2.0], 800) + 0.5 * rng.standard_normal(800)
    X = np.column_stack([two_bumps, rng.standard_normal(800)])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    _, folded = folded_rows(X, 60, np.ones(2))
    widths, lam = marginal_start(folded, 2.0, LAMS)
    assert widths[0] <= 2.0
    assert widths[1] == WIDEST_LEARNED * 2.0
    assert lam in LAMS


@pytest.mark.parametrize("loss", [-1.0, 1.0])
@pytest.mark.parametrize(("improves", "kept"), [(0.03, True), (0.01, False)])
def test_a_feature_is_narrowed_for_two_percent_of_the_loss_whatever_its_sign(
    monkeypatch, loss, improves, kept
):
    wide, narrow = np.array([5.0]), np.array([0.7])
    losses = {5.0: loss, 0.7: loss - improves}
    monkeypatch.setattr(
        "modeseek.gradient.widths._descend",
        lambda _rows, _typical, w, lam: Learned(w, lam, losses[w[0]]),
    )
    monkeypatch.setattr(
        "modeseek.gradient.widths._narrow_one_feature",
        lambda _rows, best: narrow if best.widths > 1.0 else None,
    )
    learned = learn_widths(None, 1.0, [(wide, 1e-3)])
    assert learned.widths == (narrow if kept else wide)
    assert learned.loss == losses[learned.widths[0]]


@pytest.mark.parametrize("far", [1e7, 1e9])
def test_moments_that_rounding_made_indefinite_have_a_loss(far):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((60, 2))
    Z += np.repeat([-far, 0.0, far], 20)[:, None]
    bounds = np.array([0, 20, 40, 60, 60])
    rows = rng.permutation(60)
    none = np.zeros(2)
    folded = FoldedRows(Z[rows], np.ones(60), bounds, Z[::3], none, none)
    loss, by_widths, by_lam = loss_and_gradient(folded, none, np.log(1e-6))
    assert np.isfinite([loss, *by_widths, by_lam]).all()


def test_widths_are_learned_where_most_rows_are_far_nearer_than_a_deviation():
    X = np.exp(5.0 * np.random.default_rng(43).standard_normal((45, 1)))
    model = LogDensityGradient(bandwidth="learned").fit(X)
    assert np.isfinite(model.gradient(X)).all()
