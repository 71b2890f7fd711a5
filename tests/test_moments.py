"""The Gaussian basis and its moments, against the printed double sums."""

import numpy as np
import pytest

from modeseek.field.basis import gaussians, inverse_square, squared_distances
from modeseek.gradient.moments import (
    Moments,
    Problem,
    compute_moments,
    task_scales,
    total_moments,
)
from modeseek.rows import blocks

rng = np.random.default_rng(0)
Z = rng.standard_normal((60, 3))
C = Z[:7] + 0.1
WEIGHT = rng.uniform(0.2, 3.0, len(Z))
judged_by = rng.integers(0, 4, len(Z))  # three folds, and rows that only train

NO_BASE = np.zeros(3)

WIDTHS = {
    "one width": np.array([0.8, 0.8, 0.8]),
    "a width a feature": np.array([0.5, 1.0, 2.0]),
    "one infinite": np.array([0.7, np.inf, 1.3]),
}


@pytest.fixture(params=WIDTHS.values(), ids=WIDTHS)
def widths(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["shared", "separate"])
def shared(request):
    return request.param


def make_problem(
    shared, rows=slice(None), weight=None, fold=None, n_jobs=None, base=NO_BASE
):
    data = Z[rows]
    return Problem(
        read=lambda part: data[part],
        n_rows=len(data),
        centers=C,
        base=base,
        shared=shared,
        weight=None if weight is None else weight[rows],
        fold=None if fold is None else fold[rows],
        n_folds=0 if fold is None else 3,
        n_jobs=n_jobs,
    )


def printed_moments(rows, widths, shared, weight):
    """G and h as printed: a sum over rows and features of psi and its derivative."""
    b, d = C.shape
    G, h = np.zeros((d, b, b)), np.zeros((d, b))
    for row in rows:
        for j in range(d):
            psi, slope = np.zeros(b), np.zeros(b)
            for i in range(b):
                phi = np.exp(-0.5 * sum(((Z[row] - C[i]) / widths) ** 2))
                step = (C[i, j] - Z[row, j]) / widths[j] ** 2
                psi[i] = step * phi
                slope[i] = (step**2 - 1 / widths[j] ** 2) * phi
            G[j] += weight[row] * np.outer(psi, psi)
            h[j] += weight[row] * slope
    return (G.sum(axis=0)[None], h.sum(axis=0)[None]) if shared else (G, h)


def assert_close(actual, expected, rtol=1e-8):
    """Relative to the largest entry: entries that vanish have no digits."""
    scale = np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * scale)


def test_squared_distances_are_those_of_scaled_features(widths):
    expected = [[sum(((z - c) / widths) ** 2) for c in C] for z in Z]
    np.testing.assert_allclose(
        squared_distances(Z, C, 1 / widths), expected, rtol=1e-12
    )


def test_squared_distances_are_never_negative():
    X = np.random.default_rng(0).standard_normal((200, 5)) + 100.0
    D = squared_distances(X, X, np.ones(5))
    assert D.min() >= 0.0


def test_an_infinite_width_weighs_nothing_and_so_does_a_huge_one():
    inverse = inverse_square(np.array([np.inf, 1e300, 0.5]))
    np.testing.assert_array_equal(inverse, [0.0, 0.0, 4.0])


def test_squaring_halved_widths_equals_their_exponential():
    D = np.random.default_rng(0).uniform(0, 30, (20, 5))
    halving = np.sqrt(2.0) ** np.arange(6, -13, -1)
    others = np.array([3.0, 2.0, np.sqrt(2.0), 1.0, 0.7, 0.1])
    for scales in (halving, others):
        for scale, P in zip(scales, gaussians(D, scales), strict=True):
            # Each squaring doubles a relative error of rounding.
            np.testing.assert_allclose(P, np.exp(-0.5 * D / scale**2), rtol=1e-9)


def test_gaussians_leave_the_distances_alone():
    D = np.random.default_rng(0).uniform(0, 3, (4, 5))
    before = D.copy()
    list(gaussians(D, np.array([2.0, 1.0])))
    np.testing.assert_array_equal(D, before)


def test_fast_moments_equal_the_printed_double_sum(widths, shared):
    moments = compute_moments(make_problem(shared, weight=WEIGHT), widths, np.ones(1))
    G, h = printed_moments(range(len(Z)), widths, shared, WEIGHT)
    assert_close(moments.G[0, 0], G)
    assert_close(moments.h[0, 0], h)
    assert moments.weight[0, 0] == pytest.approx(WEIGHT.sum(), rel=1e-12)
    phi = np.exp(-0.5 * squared_distances(Z, C, 1 / widths))
    np.testing.assert_allclose(moments.count[0, 0], WEIGHT @ phi, rtol=1e-12)


def test_a_gaussian_base_adds_its_product_with_the_basis_to_h(widths):
    base = np.array([0.5, 0.0, 2.0])
    problem = make_problem(True, weight=WEIGHT, base=base)
    moments = compute_moments(problem, widths, np.ones(1))
    G, h = printed_moments(range(len(Z)), widths, True, WEIGHT)
    for i in range(len(C)):
        for row in range(len(Z)):
            step = (C[i] - Z[row]) / widths**2
            phi = np.exp(-0.5 * sum(((Z[row] - C[i]) / widths) ** 2))
            h[0, i] += WEIGHT[row] * phi * sum(step * -base * Z[row])
    assert_close(moments.G[0, 0], G)
    assert_close(moments.h[0, 0], h)


def test_moments_of_each_fold_and_scale_equal_the_printed_double_sum(shared):
    widths, scales = WIDTHS["a width a feature"], np.array([2.0, np.sqrt(2.0), 0.9])
    problem = make_problem(shared, weight=WEIGHT, fold=judged_by)
    moments = compute_moments(problem, widths, scales)
    assert moments.weight.shape == (3, 4)
    for s, scale in enumerate(scales):
        for k in range(4):
            rows = np.flatnonzero(judged_by == k)
            G, h = printed_moments(rows, widths * scale, shared, WEIGHT)
            assert_close(moments[s, k].G, G)
            assert_close(moments[s, k].h, h)
            assert moments[s, k].weight == pytest.approx(WEIGHT[rows].sum())


def test_no_weights_equal_weights_of_one(widths, shared):
    one = compute_moments(make_problem(shared), widths, np.ones(1))
    two = compute_moments(
        make_problem(shared, weight=np.ones(len(Z))), widths, np.ones(1)
    )
    for a, b in zip(one.arrays(), two.arrays(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_shared_moments_are_the_sum_of_the_separate_ones(widths):
    one = compute_moments(make_problem(True, weight=WEIGHT), widths, np.ones(1))
    each = compute_moments(make_problem(False, weight=WEIGHT), widths, np.ones(1))
    assert_close(one.G[0, 0, 0], each.G[0, 0].sum(axis=0), rtol=1e-12)
    assert_close(one.h[0, 0, 0], each.h[0, 0].sum(axis=0), rtol=1e-12)


def test_moments_of_blocks_add_to_the_moments_of_all(widths, shared):
    scales = np.array([1.0, 0.5])

    def part(rows):
        problem = make_problem(shared, rows, weight=WEIGHT, fold=judged_by)
        return compute_moments(problem, widths, scales)

    joined = part(slice(0, 23)) + part(slice(23, 24)) + part(slice(24, None))
    for a, b in zip(joined.arrays(), part(slice(None)).arrays(), strict=True):
        assert_close(a, b, rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_beyond_one_block_are_all_summed(monkeypatch, shared, n_jobs):
    widths = WIDTHS["one width"]
    whole = compute_moments(
        make_problem(shared, weight=WEIGHT, fold=judged_by), widths, np.ones(1)
    )
    monkeypatch.setitem(blocks.map_blocks.__kwdefaults__, "size", 7)
    cut = compute_moments(
        make_problem(shared, weight=WEIGHT, fold=judged_by, n_jobs=n_jobs),
        widths,
        np.ones(1),
    )
    for a, b in zip(cut.arrays(), whole.arrays(), strict=True):
        assert_close(a, b, rtol=1e-12)


def test_totals_sum_the_folds_and_training_moments_all_but_one(shared):
    widths = WIDTHS["one width"]
    by_fold = compute_moments(
        make_problem(shared, weight=WEIGHT, fold=judged_by),
        widths,
        np.array([2.0, 1.0]),
    )
    for s, scale in enumerate((2.0, 1.0)):
        everything = compute_moments(
            make_problem(shared, weight=WEIGHT), widths * scale, np.ones(1)
        )[0, 0]
        for a, b in zip(by_fold.total()[s].arrays(), everything.arrays(), strict=True):
            assert_close(a, b, rtol=1e-12)
        for k in range(3):
            rows = np.flatnonzero(judged_by != k)
            train = compute_moments(
                make_problem(shared, rows, weight=WEIGHT), widths * scale, np.ones(1)
            )[0, 0]
            for a, b in zip(
                by_fold.without(s, k).arrays(), train.arrays(), strict=True
            ):
                assert_close(a, b, rtol=1e-12)


def test_training_moments_survive_a_fold_of_overwhelming_weight():
    weight = WEIGHT.copy()
    weight[judged_by == 0] *= 1e30
    problem = make_problem(True, weight=weight, fold=judged_by)
    moments = compute_moments(problem, WIDTHS["one width"], np.ones(1))
    rows = np.flatnonzero(judged_by != 0)
    G, h = printed_moments(rows, WIDTHS["one width"], True, WEIGHT)
    assert_close(moments.without(0, 0).G, G)
    assert_close(moments.without(0, 0).h, h)


def test_means_are_sums_divided_by_the_weight():
    moments = Moments(
        G=np.full((2, 3, 3), 6.0),
        h=np.full((2, 3), 4.0),
        count=np.ones(3),
        weight=np.asarray(2.0),
    )
    G, h = moments.mean()
    np.testing.assert_array_equal(G, np.full((2, 3, 3), 3.0))
    np.testing.assert_array_equal(h, np.full((2, 3), 2.0))


def test_task_scales_are_inverse_squares_of_the_widths():
    widths = np.array([2.0, np.inf, 0.5])
    np.testing.assert_allclose(task_scales(widths, True), [(0.25 + 4.0) / 2])
    np.testing.assert_allclose(task_scales(widths, False), [0.25, 1.0, 4.0])
    np.testing.assert_allclose(
        task_scales(np.full((2, 3), 2.0), True), [[0.25], [0.25]]
    )


KINDS = {
    "shared": {"shared": True},
    "separate": {"shared": False},
    "common": {"shared": False, "common": True},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_counts_and_weights_are_sums_over_the_rows_of_each_fold(kind, weight, widths):
    problem = make_problem(True, weight=weight, fold=judged_by)._replace(**KINDS[kind])
    scales = np.array([2.0, 0.5])
    moments = compute_moments(problem, widths, scales)
    w = np.ones(len(Z)) if weight is None else weight
    for s, scale in enumerate(scales):
        D = (((Z[:, None] - C) / (scale * widths)) ** 2).sum(axis=2)
        for k in range(4):
            rows = judged_by == k
            count = w[rows] @ np.exp(-0.5 * D[rows])
            np.testing.assert_allclose(moments.count[s, k], count, rtol=1e-9)
            np.testing.assert_allclose(moments.weight[s, k], w[rows].sum())


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_moments_of_a_common_basis_equal_the_printed_sums(weight, widths):
    problem = make_problem(True, weight=weight, fold=judged_by)._replace(
        **KINDS["common"]
    )
    scales = np.array([2.0, 1.0])
    moments = compute_moments(problem, widths, scales)
    assert moments.G.shape == (2, 4, 1, 7, 7)
    assert moments.h.shape == (2, 4, 3, 7)
    w = np.ones(len(Z)) if weight is None else weight
    for s, scale in enumerate(scales):
        steps = C - Z[:, None]  # (n, b, d)
        P = np.exp(-0.5 * ((steps / (scale * widths)) ** 2).sum(axis=2))
        for k in range(4):
            r = judged_by == k
            assert_close(moments.G[s, k, 0], (w[r, None] * P[r]).T @ P[r])
            slope = steps[r] / (scale * widths) ** 2 * P[r][:, :, None]
            assert_close(moments.h[s, k], np.einsum("n,nbd->db", w[r], slope))


def test_moments_of_some_centres_are_those_of_a_model_of_them():
    kept = np.array([5, 0, 3])
    for kind in KINDS.values():
        problem = make_problem(True, weight=WEIGHT, fold=judged_by)._replace(**kind)
        widths, scales = WIDTHS["a width a feature"], np.array([2.0, 1.0])
        some = compute_moments(problem._replace(centers=C[kept]), widths, scales)
        of_all = compute_moments(problem, widths, scales).of_centers(kept)
        for a, b in zip(of_all.arrays(), some.arrays(), strict=True):
            assert_close(a, b, rtol=1e-10)


def test_one_fold_at_one_width_can_be_picked():
    problem = make_problem(False, weight=WEIGHT, fold=judged_by)
    moments = compute_moments(problem, WIDTHS["one width"], np.array([2.0, 1.0]))
    rows = np.flatnonzero(judged_by == 2)
    alone = make_problem(False, rows, weight=WEIGHT)
    alone = compute_moments(alone, WIDTHS["one width"], np.ones(1))[0, 0]
    for a, b in zip(moments[1, 2].arrays(), alone.arrays(), strict=True):
        assert_close(a, b, rtol=1e-12)


def test_rows_beyond_one_chunk_are_all_summed(monkeypatch, shared):
    problem = make_problem(shared, weight=WEIGHT, fold=judged_by)
    whole = compute_moments(problem, WIDTHS["one width"], np.ones(1))
    monkeypatch.setattr(
        "modeseek.gradient.moments.chunk_slices", lambda n, b: blocks.row_slices(n, 4)
    )
    cut = compute_moments(problem, WIDTHS["one width"], np.ones(1))
    for a, b in zip(cut.arrays(), whole.arrays(), strict=True):
        assert_close(a, b, rtol=1e-12)


def test_the_scale_of_a_common_basis_is_one():
    widths = np.array([[2.0, np.inf, 0.5], [1.0, 1.0, 3.0]])
    np.testing.assert_array_equal(
        task_scales(widths, False, common=True), np.ones((2, 3))
    )
    nowhere = np.full(3, np.inf)
    np.testing.assert_array_equal(task_scales(nowhere, True), [0.0])
    np.testing.assert_array_equal(task_scales(nowhere, False), np.ones(3))


def test_means_of_many_moments_divide_each_by_its_weight():
    moments = compute_moments(
        make_problem(False, weight=WEIGHT, fold=judged_by),
        WIDTHS["one width"],
        np.ones(1),
    )
    G, h = moments.mean()
    for k in range(4):
        total = WEIGHT[judged_by == k].sum()
        np.testing.assert_allclose(G[0, k], moments.G[0, k] / total)
        np.testing.assert_allclose(h[0, k], moments.h[0, k] / total)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_totals_take_the_rows_of_every_fold(weight, widths, shared):
    w = np.ones(len(Z)) if weight is None else weight
    total = total_moments(make_problem(shared, weight=weight, fold=judged_by), widths)
    G, h = printed_moments(range(len(Z)), widths, shared, w)
    assert_close(total.G, G)
    assert_close(total.h, h)
    np.testing.assert_allclose(total.weight, w.sum())
