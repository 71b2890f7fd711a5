"""Rows that stand for all: the same whatever order, chunks, precision and copies."""

from functools import reduce

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from modeseek import LogDensityGradient
from modeseek.datasets import three_gaussians
from modeseek.gradient.base import frame_of
from modeseek.gradient.moments import Problem
from modeseek.gradient.selection import search_default
from modeseek.gradient.settings import ALPHAS
from modeseek.rows import subsample as thinning
from modeseek.rows.ranking import rank_rows
from modeseek.rows.source import ArrayRows, Block, ChunkRows
from modeseek.rows.subsample import STARTS, draw_subsample, make_overview
from modeseek.rows.summary import summarize

rng = np.random.default_rng(0)
MOST = 2048

#: Sets of rows, all of them far more than are taken.
ROWS = {
    "normal": rng.standard_normal((90_000, 3)),
    "an outlier": np.vstack([rng.standard_normal((60_000, 2)), [[1e7, 1e7]]]),
    "two tight clusters": np.where(rng.random((60_000, 1)) < 0.5, -100.0, 100.0)
    + rng.standard_normal((60_000, 2)),
    "lattice": rng.integers(0, 6, (50_000, 3)).astype(float),
    "copies": np.repeat(rng.standard_normal((30_000, 2)), 3, axis=0),
    "huge": 1e200 * rng.standard_normal((40_000, 2)),
}


@pytest.fixture(params=ROWS.values(), ids=ROWS)
def X(request):
    return request.param


def take(X, weight=None, most=MOST):
    source = ArrayRows(X, weight)
    return draw_subsample(source, summarize(source), most=most)


def take_chunks(X, size, weight=None, most=MOST):
    def read():
        for i in range(0, len(X), size):
            part = slice(i, i + size)
            yield Block(X[part], None if weight is None else weight[part])

    source = ChunkRows(read)
    return draw_subsample(source, summarize(source), most=most)


def assert_same(one, two):
    np.testing.assert_array_equal(one.X, two.X)
    assert (one.weight is None) == (two.weight is None)
    if one.weight is not None:
        np.testing.assert_allclose(one.weight, two.weight, rtol=1e-9)


def test_rows_are_those_whose_turn_it_is_in_the_ranking(X):
    """By sorting all of them."""
    taken = take(X)
    ranking = rank_rows(X)
    weight = np.bincount(ranking.rank).astype(float)
    ordered = X[ranking.first]
    before = np.cumsum(weight) - weight
    chance = np.random.default_rng(0).random(STARTS)
    targets = (np.arange(STARTS) + chance) * (len(X) / STARTS)
    chosen, free = set(), 0
    for start in np.unique(np.searchsorted(before, targets, side="right") - 1):
        first = max(start, free)
        free = first + MOST // STARTS
        chosen.update(range(first, min(free, len(ordered))))
    np.testing.assert_array_equal(taken.X, ordered[sorted(chosen)])


def test_rows_do_not_depend_on_order_or_chunks(X):
    taken = take(X)
    shuffled = X[np.random.default_rng(1).permutation(len(X))]
    assert_same(take(shuffled), taken)
    assert_same(take_chunks(shuffled, 7_001), taken)


def test_rows_do_not_depend_on_precision():
    single = ROWS["normal"].astype(np.float32)
    np.testing.assert_array_equal(take(single).X, take(single.astype(np.float64)).X)


def test_rows_hardly_depend_on_unit_shift_and_rotation():
    """Distances are rounded, and a few rows change places with their neighbours."""
    X = ROWS["normal"]
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    one = take(X).X
    np.testing.assert_array_equal(take(X * 2.0**20).X, one * 2.0**20)
    for two in (
        take(X * 0.3048).X / 0.3048,
        take(X + 5.0).X - 5.0,
        take(X @ Q).X @ Q.T,
    ):
        same = np.isin(np.round(two[:, 0], 9), np.round(one[:, 0], 9))
        assert same.mean() > 0.999


def test_copies_are_a_weight():
    X = ROWS["normal"][:30_000]
    copies = np.random.default_rng(2).integers(0, 5, len(X))
    copies[17] = 5_000  # heavier than the places are apart
    weighted = take(X, copies.astype(float))
    repeated = take(np.repeat(X, copies, axis=0))
    assert_same(weighted, repeated)
    heavy = (X[17] == weighted.X).all(axis=1)
    assert heavy.sum() == 1
    share = weighted.weight[heavy][0] / weighted.weight.sum()
    assert share == pytest.approx(5_000 / copies.sum(), rel=1e-9)


class Watched:
    """Rows in chunks, and how many of each chunk were handed on."""

    def __init__(self, X, size=10_000):
        self.parts, self.n_found = [X[i : i + size] for i in range(0, len(X), size)], []

    def reduce(self, kernel, join, size):
        found = [kernel(Block(part, None)) for part in self.parts]
        self.n_found += [len(f.position) for f in found if hasattr(f, "position")]
        return reduce(join, found)


def test_of_many_copies_one_is_handed_on():
    X = ROWS["lattice"]
    source = Watched(X)
    taken = draw_subsample(source, summarize(ArrayRows(X)), most=MOST)
    assert_same(taken, take(X))
    assert max(source.n_found) <= len(np.unique(X, axis=0)) == 6**3


def test_rows_are_at_most_as_many_as_wanted(X):
    taken = take(X)
    assert len(taken.X) <= MOST
    assert len(np.unique(taken.X, axis=0)) == len(taken.X)


def test_rows_stand_for_all():
    X = ROWS["two tight clusters"]
    weight = np.random.default_rng(3).uniform(0.1, 2.0, len(X))
    for w in (None, weight):
        taken = take(X, w, most=8 * STARTS)
        mean = np.average(taken.X, axis=0, weights=taken.weight)
        error = X.std(axis=0) / np.sqrt(len(taken.X))
        assert (np.abs(mean - np.average(X, axis=0, weights=w)) < 4 * error).all()
        centred = taken.X - 100.0 * np.sign(taken.X)
        np.testing.assert_allclose(centred.std(axis=0), 1.0, atol=0.04)


def test_a_small_group_far_away_is_among_them():
    X = np.vstack([rng.standard_normal((90_000, 2)), rng.normal(30, 1, (900, 2))])
    taken = take(X, most=16 * STARTS)
    share = (taken.X[:, 0] > 15).mean()
    assert share == pytest.approx(0.0099, rel=0.3)


def test_many_equal_rows_are_all_taken_with_their_weight():
    X = ROWS["lattice"]
    taken = take(X)
    distinct, counts = np.unique(X, axis=0, return_counts=True)
    order = np.lexsort(taken.X.T[::-1])
    np.testing.assert_array_equal(taken.X[order], distinct)
    np.testing.assert_allclose(taken.weight[order], counts / counts.mean(), rtol=1e-9)


def test_a_sample_of_few_rows_is_all_of_them():
    X = ROWS["normal"][:5000]
    chunks = ChunkRows(lambda: iter([Block(X[:1200], None), Block(X[1200:], None)]))
    for source in (ArrayRows(X), chunks):
        sample = make_overview(source, whole=False, n_jobs=None).sample
        np.testing.assert_array_equal(sample.X, X)
        np.testing.assert_array_equal(sample.ranking.rank, rank_rows(X).rank)


SETS = {
    "toy": lambda n: three_gaussians(4).sample(n, random_state=0)[0],
    "blobs": lambda n: make_blobs(n, n_features=5, centers=10, random_state=1)[0],
    "heavy tails": lambda n: np.random.default_rng(0).standard_t(3, (n, 3)),
}


@pytest.mark.parametrize("name", SETS)
def test_the_width_chosen_by_some_rows_is_that_chosen_by_all(name, monkeypatch):
    """To less than a step of the grid, a factor of the root of 2."""
    monkeypatch.setattr(thinning, "SAMPLE_ROWS", 1 << 13)
    X = SETS[name](60_000)
    model = LogDensityGradient(50).fit(X)
    assert model.moments_.weight == len(X)
    frame = frame_of(model)
    Z = frame.enter(X)
    fold = np.random.default_rng(0).integers(0, 5, len(X))
    fold[np.isin(Z[:, 0], model._drawn[:, 0])] = 5  # centres never judge
    problem = Problem(
        read=lambda rows: Z[rows],
        n_rows=len(Z),
        centers=model._drawn,
        base=np.zeros(X.shape[1]),
        shared=True,
        fold=fold,
        n_folds=5,
    )
    typical = model.cv_results_["bandwidth"][0] / frame.unit / 4.0  # the widest is 4
    scores = search_default(problem, typical, ALPHAS)
    chosen = scores.widths[scores.winner()[0]] * frame.unit
    steps = np.abs(np.log(model.bandwidth_ / chosen)) / np.log(np.sqrt(2.0))
    assert steps.max() < 1.0


@pytest.mark.parametrize("weight", [None, np.random.default_rng(1).random(300)])
def test_bins_counted_in_an_array_are_those_that_are_sorted(weight, monkeypatch):
    bins = np.random.default_rng(0).integers(10**6, 10**6 + 50, size=300)
    empty = thinning._sum_bins(bins[:0], None if weight is None else weight[:0])
    counted = thinning._sum_bins(bins, weight)
    monkeypatch.setattr(thinning, "BINS_AT_ONCE", 0)
    for one, other in zip(counted, thinning._sum_bins(bins, weight), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    assert all(len(part) == 0 for part in empty)
