"""The default rule for cutting the merge tree, where no prominence is given."""

import numpy as np
import pytest

from modeseek import ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.graph.row_graph import build_graph
from modeseek.tree import MergeTree
from modeseek.tree.default_cut import (
    FLAT_FACTOR,
    LEAST_PROMINENCE,
    ChanceModes,
    chance_of,
    chance_on_rows,
    chance_prominence,
    merges_on_field,
    merges_on_many_rows,
    merges_on_rows,
    widest_gap,
)


def tree_of(prominence, error=0.0):
    p = np.asarray(prominence, dtype=float)
    k = len(p) + 1
    return MergeTree(
        heights=np.full(k, 10.0),
        child=np.arange(1, k),
        parent=np.zeros(k - 1, dtype=np.intp),
        saddles=np.zeros((k - 1, 1)),
        passes=10.0 - p,
        prominence=p,
        std_error=np.full(k - 1, float(error)),
    )


def test_on_the_field_small_and_doubtful_merges_are_made():
    made = merges_on_field(tree_of([2.0, 0.5, 0.9 * LEAST_PROMINENCE]), learned=False)
    np.testing.assert_array_equal(made, [False, False, True])
    doubtful = tree_of([1.5], error=1.0)
    assert not merges_on_field(doubtful, learned=False)[0]
    assert merges_on_field(doubtful, learned=True)[0]


def chance_modes(*draws):
    """Modes of chance: for each draw, those of the tree they lie below, and merge."""
    rows = [one for draw in draws for one in draw]
    child, parent, prominence = np.array(rows, dtype=float).reshape(-1, 3).T
    places = (part.astype(np.intp) for part in (child, parent))
    return ChanceModes(len(draws), *places, prominence)


BOUND = float(chance_prominence(1000, 2.0))


def merges(prominence, chance=None, *, strict=False):
    """Merges that are made among 1,000 rows in the plane."""
    tree = tree_of(prominence)
    p_value = chance_on_rows(tree, BOUND, chance or chance_modes([]))
    return merges_on_rows(tree, p_value, BOUND, strict=strict)


def test_what_chance_explains_is_one_cluster():
    assert merges([0.99 * BOUND, 0.3]).all()
    np.testing.assert_array_equal(merges([1.01 * BOUND, 0.3]), [False, True])
    assert merges([]).shape == (0,)


def test_chance_counts_inside_the_clusters_that_a_level_makes():
    # By the factor, chance makes 1.8 and 2.2 inside mode 0, and 4 between 0 and 4.
    drawn = [[(0, 0, 1.8), (4, 0, 4.0)], [(0, 0, 2.2), (0, 4, 4.0)]]
    chance = chance_modes(
        *([(*modes, p / FLAT_FACTOR) for *modes, p in one] for one in drawn)
    )
    tree = tree_of([9.0, 2.0, 1.7, 3.0])  # modes 1, 2, 3, 4 merge with mode 0
    expected = -np.log1p(-chance_on_rows(tree, 0.1, chance))  # the formula: no chance
    np.testing.assert_allclose(expected, [0.0, 0.5, 1.0, 0.0], atol=1e-12)
    tree = tree_of([9.0, 2.0, 1.7, 1.5])  # 0 and 4 are together until the last
    expected = -np.log1p(-chance_on_rows(tree, 0.1, chance))
    np.testing.assert_allclose(expected, [0.0, 1.5, 2.0, 1.0], atol=1e-12)


def test_the_likelier_chance_counts():
    chance = chance_modes([(0, 0, 1.75 * BOUND / FLAT_FACTOR)], *([[]] * 9))
    tree = tree_of(np.array([1.7, 1.2, 0.9, 0.3]) * BOUND)
    by_formula = chance_of(tree.prominence, BOUND)
    wanted = [-np.expm1(-0.1)] * 2 + [by_formula[2], 1.0]
    np.testing.assert_allclose(chance_on_rows(tree, BOUND, chance), wanted)


def test_one_merge_in_ten_may_be_expected_by_chance():
    # Chance makes one of 0.9 times the bound in 12 % of draws: 0.128 in each.
    np.testing.assert_array_equal(merges([9.0, 0.9 * BOUND]), [False, False])
    np.testing.assert_array_equal(merges([9.0, 0.75 * BOUND]), [False, True])
    # Those above are let in by those below, as if they were as low.
    many = np.append(np.full(4, 0.75), [9.0, 0.74]) * BOUND
    assert not merges(many).any()
    assert merges(np.append(np.full(1000, 0.3), 9.0) * BOUND).sum() == 1000


def test_few_merges_must_be_plain_where_chance_is_drawn():
    drawn = [(0, 0, 2.0 * BOUND / FLAT_FACTOR)]
    for n, n_made in ((5, 5), (6, 6), (7, 0)):  # two thirds of one
        made = merges(np.full(n, 1.9 * BOUND), chance_modes(drawn, drawn, []))
        assert made.sum() == n_made
    assert not merges([2.1 * BOUND], chance_modes(drawn, drawn, [])).any()
    # Half a merge on average is none as likely as not, however few clusters there are.
    assert not merges([1.9 * BOUND], chance_modes(drawn, [])).any()


def test_the_widest_gap_counts_how_many_stand_out_together():
    # One at 9 stands out by log(10 / 1.5) = 1.9, two at 9 and 0.5 by 0.6.
    assert widest_gap(np.array([9.0, 0.5])) == 9.0
    # One at 9 stands out by log(10 / 3.1) = 1.2, three above 2 by 1.7 log(3) = 1.9.
    assert widest_gap(np.array([9.0, 2.1, 2.0, 0.0])) == 2.0
    assert widest_gap(np.array([0.4, 0.3])) == np.inf
    assert widest_gap(np.empty(0)) == np.inf


def test_the_gap_is_the_largest_of_all_written_out():
    p = np.random.default_rng(0).exponential(size=30)
    falling = np.sort(p)[::-1]
    best, where = -1.0, None
    for i, high in enumerate(falling):
        low = falling[i + 1] if i + 1 < len(falling) else 0.0
        worth = np.sqrt(i + 1) * np.log((1 + high) / (1 + low))
        if high >= 0.5 and worth > best:
            best, where = worth, high
    assert widest_gap(p) == where


def test_many_clusters_above_a_gap_are_evidence_together():
    bound = float(chance_prominence(20_000, 2.0, 30))
    for n, strict, wanted in ((30, False, 0.7), (29, False, 1.4), (30, True, 1.4)):
        p = np.append(np.full(n - 1, 0.7), [1.4, 0.1]) * bound
        assert widest_gap(p) == 0.7 * bound
        made = merges_on_many_rows(tree_of(p), np.full(len(p), bound), strict=strict)
        assert p[~made].min() == wanted * bound


def test_many_features_ask_for_valleys_that_stand_by_themselves():
    p = np.array([9.0, 1.2, 1.1, 0.82, 0.70]) * BOUND
    for strict, wanted in ((True, [0, 0, 1, 1, 1]), (False, [0, 0, 0, 0, 1])):
        made = merges(p, strict=strict)
        np.testing.assert_array_equal(made, np.array(wanted, dtype=bool))
    # The deepest valley counts from the bound on.
    made = merges(p[2:], strict=True)
    np.testing.assert_array_equal(made, [False, True, True])


@pytest.mark.parametrize(("n", "d"), [(60, 2), (150, 1), (150, 8), (600, 2), (600, 5)])
def test_chance_stays_below_its_bound_in_cubes(n, d):
    # 19 of 20 are meant to; three of ten would be far off.
    above = 0
    for seed in range(10):
        X = np.random.default_rng(seed).uniform(size=(n, d))
        graph, tree = build_graph(X, np.ones(n))
        bound = chance_prominence(n, graph.dimension)
        above += tree.prominence.max(initial=0.0) >= bound
    assert above <= 2


@pytest.mark.parametrize("d", [2, 5])
def test_the_bound_is_not_far_above_chance(d):
    largest = []
    for seed in range(5):
        X = np.random.default_rng(seed).uniform(size=(600, d))
        graph, tree = build_graph(X, np.ones(600))
        bound = chance_prominence(600, graph.dimension)
        largest.append(tree.prominence.max() / bound)
    assert max(largest) > 0.4


def test_chance_is_one_in_twenty_at_the_bound_and_falls():
    bound = chance_prominence(1000, 3.0)
    prominence = np.linspace(0.0, 3.0, 61) * bound
    chance = chance_of(prominence, bound)
    assert chance[0] == 1.0
    assert chance_of(bound, bound) == pytest.approx(0.05)
    assert np.all(np.diff(chance) <= 0)
    assert chance_of(1.3 * bound, bound) == pytest.approx(0.05 * np.exp(-3.0))


@pytest.mark.parametrize("d", [2, 6])
def test_few_cubes_have_a_valley_that_chance_makes_unlikely(d):
    least = []
    for seed in range(20):
        rows = np.random.default_rng(seed).uniform(size=(400, d))
        _, tree = build_graph(rows, np.ones(400))
        least.append(tree.p_value.min(initial=1.0))
    assert np.mean(np.array(least) < 0.05) <= 0.15
    assert np.mean(np.array(least) < 0.5) >= 0.2


def test_the_tree_says_how_likely_chance_is():
    X, _ = three_gaussians().sample(1000, random_state=0)
    for model in (ModeClustering(), ModeClustering(ascent="rows")):
        tree = model.fit(X).merge_tree_
        kept = model.mode_labels_[tree.child] != model.mode_labels_[tree.parent]
        assert tree.p_value[kept].max() < 0.05
        table = tree.to_pandas()
        np.testing.assert_array_equal(
            table["p_value"].to_numpy()[tree.child], tree.p_value
        )
