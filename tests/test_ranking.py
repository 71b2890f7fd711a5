"""Centres and folds: the same rows whatever their order, unit, precision and copies."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from modeseek.rows.ranking import (
    Ranking,
    deal_folds,
    draw_centers,
    generator,
    keep_folds,
    make_folds,
    rank_rows,
    take_sample,
)

rng = np.random.default_rng(0)
angle = 2 * np.pi * np.arange(64) / 64
grid = np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0)), axis=-1).reshape(-1, 2)

#: Sets of rows; all but the first have many rows at the same distance of the mean.
ROWS = {
    "normal": rng.standard_normal((300, 3)),
    "lattice": grid,
    "lattice of tenths": 0.1 * grid,
    "circle": np.column_stack([np.cos(angle), np.sin(angle)]),
    "iris": load_iris().data,
    "copies": np.repeat(rng.standard_normal((40, 2)), 3, axis=0),
    "rotated features": np.vstack(
        [np.roll(row, k) for row in rng.standard_normal((20, 8)) for k in range(8)]
    ),
    "hypercube": np.stack(np.meshgrid(*[[0.0, 1.0]] * 5), axis=-1).reshape(-1, 5),
}


@pytest.fixture(params=ROWS.values(), ids=ROWS)
def X(request):
    return request.param


@pytest.fixture
def normal():
    return ROWS["normal"]


def same_fates(X, Y, order, weight=None):
    """Whether ``Y = X[order]`` has the centres and folds of X."""
    w = None if weight is None else weight[order]
    one, two = rank_rows(X, weight), rank_rows(Y, w)
    np.testing.assert_array_equal(two.rank, one.rank[order])
    centers = [draw_centers(r, 10, np.random.default_rng(1)) for r in (one, two)]
    np.testing.assert_array_equal(Y[centers[1]], X[centers[0]])
    folds = [
        deal_folds(r, c, 4, np.random.default_rng(2))[0]
        for r, c in zip((one, two), centers, strict=True)
    ]
    np.testing.assert_array_equal(folds[1], folds[0][order])


@pytest.mark.parametrize("seed", range(5))
def test_centres_and_folds_do_not_depend_on_row_order(X, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    same_fates(X, X[order], order)


@pytest.mark.parametrize("seed", range(5))
def test_centres_and_folds_do_not_depend_on_row_order_with_weights(X, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    # Symmetric weights that are no binary fractions keep the ties of the lattices.
    same_fates(X, X[order], order, np.full(len(X), 0.1))


def test_ranks_do_not_depend_on_memory_layout(X):
    np.testing.assert_array_equal(rank_rows(X).rank, rank_rows(np.asfortranarray(X))[0])


def test_ranks_do_not_depend_on_the_number_of_threads():
    X = np.random.default_rng(0).standard_normal((20_000, 2))
    for n_jobs in (2, 3):
        one, two = rank_rows(X, n_jobs=1), rank_rows(X, n_jobs=n_jobs)
        np.testing.assert_array_equal(one.rank, two.rank)
        np.testing.assert_array_equal(one.first, two.first)


def test_ranks_do_not_depend_on_precision(X):
    single = X.astype(np.float32)
    np.testing.assert_array_equal(
        rank_rows(single).rank, rank_rows(single.astype(np.float64)).rank
    )


@pytest.mark.parametrize("unit", [2.0**-900, 1e-3, 1000.0, 2.0**900])
def test_ranks_do_not_depend_on_the_unit(normal, unit):
    np.testing.assert_array_equal(rank_rows(normal).rank, rank_rows(normal * unit).rank)


def test_ranks_do_not_depend_on_the_origin(normal):
    shifted = normal + np.array([1e4, -2e5, 0.25])
    np.testing.assert_array_equal(rank_rows(normal).rank, rank_rows(shifted).rank)


@pytest.mark.parametrize("name", ["lattice", "lattice of tenths", "hypercube"])
def test_rows_at_equal_distances_keep_their_order_when_shifted(name):
    X = ROWS[name]
    rank = rank_rows(X).rank
    for shift in np.random.default_rng(0).uniform(-100.0, 100.0, (20, X.shape[1])):
        np.testing.assert_array_equal(rank_rows(X + shift).rank, rank)


def test_ranks_do_not_depend_on_rotation(normal):
    Q, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))
    np.testing.assert_array_equal(rank_rows(normal).rank, rank_rows(normal @ Q).rank)


def test_rank_is_the_order_of_the_distances_from_the_mean(normal):
    distance = np.linalg.norm(normal - normal.mean(axis=0), axis=1)
    np.testing.assert_array_equal(rank_rows(normal).first, np.argsort(distance))


def test_equal_rows_share_a_rank_and_different_rows_do_not(X):
    ranking = rank_rows(X)
    _, content = np.unique(X, axis=0, return_inverse=True)
    pairs = set(zip(content.ravel(), ranking.rank, strict=True))
    assert len(pairs) == len(set(content.ravel())) == len(ranking.first)
    np.testing.assert_array_equal(
        ranking.rank[ranking.first], range(len(ranking.first))
    )


def test_a_weight_of_k_ranks_like_k_copies(X):
    copies = np.random.default_rng(0).integers(1, 5, len(X))
    weighted = rank_rows(X, copies.astype(float))
    repeated = rank_rows(np.repeat(X, copies, axis=0))
    np.testing.assert_array_equal(repeated.rank, np.repeat(weighted.rank, copies))


def test_rows_of_weight_zero_are_absent(X):
    weight = np.ones(len(X))
    weight[::3] = 0
    present = weight > 0
    sample = take_sample(X, weight, None)
    np.testing.assert_array_equal(sample.X, X[present])
    np.testing.assert_array_equal(sample.row, np.flatnonzero(present))
    np.testing.assert_array_equal(sample.ranking.rank, rank_rows(X[present]).rank)


def test_a_feature_is_constant_when_rows_of_positive_weight_agree():
    X = np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 9.0]])
    np.testing.assert_array_equal(take_sample(X, None, None).constant, [False, False])
    sample = take_sample(X, np.array([1.0, 1.0, 0.0]), None)
    np.testing.assert_array_equal(sample.constant, [False, True])


def test_a_single_distinct_row_is_refused():
    with pytest.raises(ValueError, match="At least two distinct rows"):
        take_sample(np.ones((5, 2)), None, None)
    with pytest.raises(ValueError, match="At least two distinct rows"):
        take_sample(np.eye(3), np.array([0.0, 2.0, 0.0]), None)


def ranking_of(n):
    return Ranking(np.arange(n), np.arange(n))


@pytest.mark.parametrize(("n", "b"), [(10, 10), (10, 1), (100, 7), (11, 10)])
def test_each_centre_comes_from_its_own_stratum(n, b):
    for seed in range(20):
        drawn = draw_centers(ranking_of(n), b, np.random.default_rng(seed))
        # A stratum of the ranks ends where the next begins, floor(i n / b).
        stratum = np.searchsorted(np.arange(1, b + 1) * n // b, drawn, side="right")
        np.testing.assert_array_equal(stratum, range(b))


def test_every_rank_may_become_a_centre():
    drawn = [
        draw_centers(ranking_of(9), 4, np.random.default_rng(s)) for s in range(99)
    ]
    assert set(np.concatenate(drawn)) == set(range(9))


@pytest.mark.parametrize("n_folds", [2, 5])
def test_folds_have_equal_sizes_and_centres_only_train(normal, n_folds):
    ranking = rank_rows(normal)
    centers = draw_centers(ranking, 50, np.random.default_rng(0))
    fold, n = deal_folds(ranking, centers, n_folds, np.random.default_rng(0))
    assert n == n_folds
    np.testing.assert_array_equal(np.flatnonzero(fold == n), np.sort(centers))
    sizes = np.bincount(fold)[:n]
    assert sizes.max() - sizes.min() <= 1
    assert sizes.sum() == len(normal) - 50


def test_copies_sit_in_one_fold_and_copies_of_centres_only_train():
    X = ROWS["copies"]
    ranking = rank_rows(X)
    centers = draw_centers(ranking, 10, np.random.default_rng(0))
    fold, n = deal_folds(ranking, centers, 5, np.random.default_rng(0))
    assert (fold.reshape(-1, 3) == fold[::3, None]).all()
    assert (fold == n).sum() == 3 * 10


def test_folds_are_independent_of_the_ranks():
    # Dealt in turn, neighbouring ranks would never share a fold; in one dimension they
    # are neighbours, and judging by neighbours rewards overfitting.
    none = np.empty(0, dtype=int)
    fold, _ = deal_folds(ranking_of(5000), none, 5, np.random.default_rng(0))
    for lag in range(1, 6):
        assert (fold[lag:] == fold[:-lag]).mean() == pytest.approx(0.2, abs=0.03)


def test_there_are_no_more_folds_than_rows_to_judge():
    fold, n = deal_folds(ranking_of(5), np.array([0, 1]), 10, np.random.default_rng(0))
    assert n == 3
    assert sorted(fold) == [0, 1, 2, 3, 3]


def test_given_folds_are_kept_but_for_centres_and_their_copies():
    X = np.array([[0.0], [1.0], [1.0], [5.0], [7.0]])
    fold, n = keep_folds(rank_rows(X), np.array([1]), np.array([4, 4, 7, 7, -1]))
    assert n == 2
    np.testing.assert_array_equal(fold, [0, 2, 2, 1, 2])


@pytest.mark.parametrize("given", [[-1, -1, -1, -1], [0, -1, -1, -1]])
def test_given_folds_without_judges_are_refused(given):
    with pytest.raises(ValueError, match="no row to train on or none to judge by"):
        keep_folds(ranking_of(4), np.array([0]), np.array(given))


def test_given_folds_without_training_rows_are_refused():
    with pytest.raises(ValueError, match="no row to train on or none to judge by"):
        keep_folds(ranking_of(4), np.empty(0, dtype=int), np.zeros(4, dtype=int))


def test_given_folds_follow_the_rows_of_positive_weight():
    X = np.arange(6.0)[:, None]
    sample = take_sample(X, np.array([1.0, 0, 1, 1, 0, 1]), None)
    given = np.array([0, 0, 1, 1, 1, -1])
    none = np.empty(0, dtype=int)
    fold, n = make_folds(sample, none, given, np.random.default_rng(0))
    assert n == 2
    np.testing.assert_array_equal(fold, [0, 1, 1, 2])


def test_generators_follow_what_scikit_learn_calls_random_state():
    def draw(random_state):
        return generator(random_state).random()

    assert draw(0) == draw(0) == draw(np.random.RandomState(0))
    assert draw(0) != draw(1)
    shared = np.random.RandomState(0)
    assert draw(shared) != draw(shared)
