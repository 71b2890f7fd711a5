"""The default rule for cutting the merge tree, where no prominence is given."""

import numpy as np
import pytest

from modeseek import ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.graph.row_graph import build_graph
from modeseek.tree import MergeTree
from modeseek.tree.default_cut import (
    FEWEST_TELLING,
    FLAT_FACTOR,
    LEAST_PROMINENCE,
    MARGIN,
    ChanceModes,
    chance_of,
    chance_on_rows,
    chance_prominence,
    mean_number,
    merges_on_field,
    merges_on_rows,
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


def drawn_at_random(n_draws, n_modes, scale=0.2):
    """Modes of chance whose number falls by e with each step of a scale."""
    rng = np.random.default_rng(0)
    prominence = rng.exponential(scale, size=n_draws * n_modes)
    nowhere = np.zeros(len(prominence), dtype=np.intp)
    return ChanceModes(n_draws, nowhere, nowhere, prominence)


@pytest.mark.parametrize("times", [0.7, 0.9, 1.2])
def test_how_deep_chance_is_on_a_graph_is_measured_by_its_shallow_valleys(times):
    chance = drawn_at_random(40, 400)
    valleys = times * np.random.default_rng(1).exponential(0.2, size=400)
    # Ten clusters among them, deeper than any chance makes, are not in the way.
    found = chance.measure_factor(np.append(valleys, np.full(10, 9.0)))
    assert found == pytest.approx(max(1.0, MARGIN * times), rel=0.15)


def test_few_valleys_or_deep_ones_do_not_say_how_deep_chance_is():
    chance = drawn_at_random(40, 400)
    valleys = np.random.default_rng(1).exponential(0.2, size=400)
    assert chance.measure_factor(valleys) is not None
    assert chance.measure_factor(valleys[: FEWEST_TELLING - 1]) is None
    assert chance.measure_factor(1.6 * valleys) is None  # no less than usual
    assert chance.measure_factor(np.append(valleys, np.full(30, 1.5))) is None
    assert chance_modes([]).measure_factor(valleys) is None


def test_where_it_is_measured_the_formula_says_no_more_than_whether_there_are_any():
    p = np.array([1.1, 0.7, 0.55, 0.4]) * BOUND
    chance = chance_modes([(0, 0, 0.5 * BOUND)], [(0, 0, 0.5 * BOUND)])
    tree = tree_of(p)
    p_value = chance_on_rows(
        tree, BOUND, chance, 1.2, measured=True
    )  # one of 0.6 in each draw
    np.testing.assert_allclose(p_value, [0.0, 0.0, -np.expm1(-1.0), -np.expm1(-1.0)])
    for strict in (False, True):
        made = merges_on_rows(tree, p_value, BOUND, strict=strict, measured=True)
        np.testing.assert_array_equal(made, [False, False, True, True])
    low = tree_of(0.9 * p)
    assert merges_on_rows(low, p_value, BOUND, strict=False, measured=True).all()


def test_one_merge_in_fifty_may_be_expected_where_it_is_measured():
    once = [(0, 0, 2.0 * BOUND)]
    for n, n_made in ((49, 49), (50, 0)):  # one on average
        tree = tree_of(np.full(n, 1.5 * BOUND))
        p_value = chance_on_rows(
            tree, BOUND, chance_modes(once, once), 1.0, measured=True
        )
        made = merges_on_rows(tree, p_value, BOUND, strict=False, measured=True)
        assert made.sum() == n_made


def test_many_features_ask_for_a_valley_that_chance_makes_seldom():
    # Chance makes one as deep in one of four draws: 0.29 on average, less than half.
    drawn = [(0, 0, 2.0 * BOUND / FLAT_FACTOR)]
    for n_draws, strict, n_clusters in ((4, False, 2), (4, True, 1), (6, True, 2)):
        chance = chance_modes(drawn, *([[]] * (n_draws - 1)))
        made = merges([1.9 * BOUND], chance, strict=strict)
        assert (~made).sum() == n_clusters - 1


def test_each_merge_may_have_a_bound_of_its_own():
    tree = tree_of([2.0 * BOUND, 1.05 * BOUND])
    for second, wanted in ((1.0, [False, False]), (2.0, [False, True])):
        bound = BOUND * np.array([1.0, second])
        p_value = chance_on_rows(tree, bound, chance_modes([]))
        made = merges_on_rows(tree, p_value, bound, strict=False)
        np.testing.assert_array_equal(made, wanted)


def test_the_mean_number_falls_on_where_nothing_was_drawn():
    rng = np.random.default_rng(0)
    drawn = rng.exponential(0.2, size=2000)  # in 10 draws: 200 exp(-5 p) in each
    for least, wanted in ((0.1, 121.3), (0.5, 16.4), (1.0, 1.35)):
        assert mean_number(drawn, 10, least) == pytest.approx(wanted, rel=0.35)
    assert drawn.max() < 2.0
    assert 0.0091 / 3.0 < mean_number(drawn, 10, 2.0) < 0.0091 * 3.0
    levels = np.linspace(0.0, 3.0, 50)
    number = [mean_number(drawn, 10, level) for level in levels]
    assert (np.diff(number) <= 0.0).all()
    assert min(number) > 0.0


@pytest.mark.parametrize("drawn", [[], [0.3], [0.3] * 40])
def test_few_or_equal_modes_of_chance_are_counted(drawn):
    drawn = np.array(drawn)
    assert mean_number(drawn, 4, 0.2) == len(drawn) / 4
    assert mean_number(drawn, 4, 0.3) == len(drawn) / 4
    assert mean_number(drawn, 4, 0.4) == 0.0


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
