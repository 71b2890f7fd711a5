"""Blurring as the paper's section 4.5 has it, against loops that are written out."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.cluster.blurring import RISING_ROUNDS, STILL
from modeseek.datasets import three_gaussians

X, y = three_gaussians().sample(150, random_state=0)
X = 4.0 + 3.0 * X
CENTERS = np.arange(0, 150, 5)
SIGMA, ALPHA = 6.0, 0.1


def no_farther_than_a_quarter(move, rows, centers, sigma):
    """Moves as every climb cuts them: near centres, to a quarter of a width."""
    nearest = cdist(rows, centers).min(axis=1) / sigma
    reach = 0.25 + np.maximum(nearest - 1.0, 0.0)
    length = np.linalg.norm(move, axis=1) / sigma
    return move * (reach / np.maximum(length, reach))[:, None]


def mean_shift_round(rows, sigma):
    phi = np.exp(-cdist(rows, rows, "sqeuclidean") / (2.0 * sigma**2))
    move = phi @ rows / phi.sum(axis=1, keepdims=True) - rows
    return rows + no_farther_than_a_quarter(move, rows, rows, sigma)


def lsldg_round(rows, shared):
    """Section 2.2 from the rows where they are, then section 3.2's fixed point."""
    C = rows[CENTERS]
    phi = np.exp(-cdist(rows, C, "sqeuclidean") / (2.0 * SIGMA**2))
    G, h = [], []
    for j in range(rows.shape[1]):
        step = (C[:, j] - rows[:, j, None]) / SIGMA**2
        G.append((step * phi).T @ (step * phi) / len(rows))
        h.append(((step**2 - SIGMA**-2.0) * phi).mean(axis=0))
    if shared:
        G, h = [sum(G)] * len(G), [sum(h)] * len(h)
    ridge = ALPHA / SIGMA**2 * np.eye(len(C))
    theta = np.array(
        [-np.linalg.solve(A + ridge, b) for A, b in zip(G, h, strict=True)]
    )
    mass = phi @ theta.T
    assert (mass > 0.0).all()  # nothing is guarded here
    move = phi @ (theta.T * C) / mass - rows
    return rows + no_farther_than_a_quarter(move, rows, C, SIGMA)


def loop(one_round, n_rounds):
    places = [X]
    for _ in range(n_rounds):
        places.append(one_round(places[-1]))
    return places


def speeds_of(places, sigma):
    moves = np.diff(places, axis=0)
    return np.linalg.norm(moves / sigma, axis=2).mean(axis=1)


def test_a_kernel_estimate_gives_the_blurring_mean_shift():
    sigma = 2.5
    model = ModeClustering(
        KernelDensityGradient(sigma), ascent="blurring", prominence=0
    )
    *paths, last = model.fit(X).paths(X)
    np.testing.assert_array_equal(last, model.modes_[model.row_modes_])
    places = loop(lambda rows: mean_shift_round(rows, sigma), len(paths) - 1)
    np.testing.assert_allclose(paths, places, rtol=1e-9, atol=1e-9)
    speeds = speeds_of(places, sigma)
    assert speeds[-1] < STILL <= speeds[:-1].min()  # it ends when rows stand still
    together = cdist(places[-1], places[-1]) < 0.1 * sigma
    np.testing.assert_array_equal(
        model.labels_[:, None] == model.labels_, together
    )  # labels by where rows end
    assert adjusted_rand_score(y, model.labels_) > 0.8


@pytest.mark.parametrize("shared", [True, False])
def test_the_gradient_is_estimated_anew_in_every_round(shared):
    estimator = LogDensityGradient(
        centers=X[CENTERS],
        bandwidth=SIGMA,
        alpha=ALPHA,
        coefficients="shared" if shared else "separate",
    )
    model = ModeClustering(estimator, ascent="blurring", prominence=0).fit(X)
    *paths, _ = model.paths(X)
    assert len(paths) - 1 == model.n_iter_ > 3
    more = model.n_iter_ + RISING_ROUNDS
    places = loop(lambda rows: lsldg_round(rows, shared), more)
    np.testing.assert_allclose(paths, places[: len(paths)], rtol=1e-6, atol=1e-6)
    speeds = speeds_of(places, SIGMA)
    if speeds[model.n_iter_ - 1] >= STILL:  # rows moved least in the last round
        assert (np.diff(speeds[model.n_iter_ - 1 :]) > 0.0).all()
    ends = paths[-1]
    nearest = cdist(ends, model.modes_).argmin(axis=1)
    np.testing.assert_array_equal(model.row_modes_, nearest)


def test_new_rows_take_the_same_steps_and_change_nothing():
    sigma = 2.5
    model = ModeClustering(
        KernelDensityGradient(sigma), ascent="blurring", prominence=0
    )
    model.fit(X)
    fresh = 4.0 + 3.0 * three_gaussians().sample(60, random_state=1)[0]
    here, moving = fresh, X
    for _ in range(model.n_iter_):
        phi = np.exp(-cdist(here, moving, "sqeuclidean") / (2.0 * sigma**2))
        move = phi @ moving / phi.sum(axis=1, keepdims=True) - here
        here = here + no_farther_than_a_quarter(move, here, moving, sigma)
        moving = mean_shift_round(moving, sigma)
    expected = cdist(here, model.modes_).argmin(axis=1)
    np.testing.assert_array_equal(model.predict_modes(fresh), expected)
    alone = [model.predict(row[None])[0] for row in fresh[:10]]
    np.testing.assert_array_equal(model.predict(fresh)[:10], alone)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_rounds_end_with_max_iter_and_a_warning():
    model = ModeClustering(KernelDensityGradient(2.5), ascent="blurring", max_iter=4)
    with pytest.warns(ConvergenceWarning, match="still moving after max_iter=4"):
        model.fit(X)
    assert model.n_iter_ == 4


def test_weights_count_copies_of_rows_that_move():
    count = np.arange(len(X)) % 2 + 1
    model = ModeClustering(KernelDensityGradient(2.5), ascent="blurring", prominence=0)
    weighted = model.fit(X, sample_weight=count).labels_
    copies = model.fit(np.repeat(X, count, axis=0)).labels_
    np.testing.assert_array_equal(np.repeat(weighted, count), copies)
