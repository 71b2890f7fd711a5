"""The merge tree: heights of the passes between modes, and cuts of the hierarchy."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from modeseek.field.ascent import climb, fixed_point
from modeseek.field.fields import (
    KernelField,
    PotentialField,
    SeparateField,
    gradient,
)
from modeseek.field.modes import assign_modes, find_modes
from modeseek.field.saddles import build_tree
from modeseek.field.segments import potential_along, profiles, slopes
from modeseek.tree import MergeTree
from modeseek.tree.merge_tree import (
    Saddles,
    best_of_pairs,
    merge_down,
    spanning_saddles,
)


def make_field(centers, theta, widths=1.0, base=0.0):
    C = np.asarray(centers, dtype=float).reshape(len(theta), -1)
    d = C.shape[1]
    return PotentialField(
        C,
        np.broadcast_to(widths, d).astype(float),
        np.asarray(theta, dtype=float),
        np.broadcast_to(base, d).astype(float),
    )


def potential(field, Z):
    """The sum as it is written."""
    D = (((Z[:, None] - field.centers) / field.widths) ** 2).sum(axis=2)
    if isinstance(field, KernelField):
        return np.log(np.exp(-0.5 * D) @ np.exp(field.log_weights))
    return np.exp(-0.5 * D) @ field.theta - 0.5 * Z**2 @ field.base


def grow(field, Z):
    """Modes that points climb to, and the tree over them."""

    def arrive(points):
        return climb(field, points, fixed_point(), tol=1e-5, max_iter=1000).points

    ends = arrive(Z)
    modes = find_modes(field, ends)
    modes = modes[np.lexsort(modes.T)]
    mode_of_row = assign_modes(field, ends, modes, arrive)
    return modes, build_tree(field, modes, Z, mode_of_row)


def height_on_line(field, x):
    return float(potential(field, np.array([[x]]))[0])


def stationary_points(field, low, high):
    """Maxima, and the lowest point between each and the next, on a line."""
    x = np.linspace(low, high, 20_001)
    f = potential(field, x[:, None])

    def refine(i, sign):
        best = minimize_scalar(
            lambda t: -sign * height_on_line(field, t),
            bounds=(x[i - 1], x[i + 1]),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return best.x

    inner = np.arange(1, len(x) - 1)
    tops = inner[(f[inner] > f[inner - 1]) & (f[inner] > f[inner + 1])]
    maxima = np.array([refine(i, 1.0) for i in tops])
    lowest = [i + np.argmin(f[i:j]) for i, j in pairwise(tops)]
    return maxima, np.array([refine(i, -1.0) for i in lowest])


def persistence_on_line(heights, passes):
    """Prominence of every maximum but the highest: how far down to a higher one."""
    found = np.full(len(heights), np.inf)
    for i, height in enumerate(heights):
        left = np.flatnonzero(heights[:i] > height)
        right = i + 1 + np.flatnonzero(heights[i + 1 :] > height)
        ways = []
        if left.size:
            ways.append(passes[left[-1] : i].min())
        if right.size:
            ways.append(passes[i : right[0]].min())
        if ways:
            found[i] = height - max(ways)
    return found


def random_line(seed):
    """Six to ten bumps, some of them negative, on a line."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 11))
    centers = np.cumsum(rng.uniform(1.5, 4.0, n))
    theta = rng.uniform(0.3, 2.0, n) * rng.choice([1.0, 1.0, 1.0, -0.5], n)
    return make_field(centers, theta), centers[0] - 3.0, centers[-1] + 3.0


def kernel_line(seed):
    field, low, high = random_line(seed)
    weights = np.abs(field.theta)
    return KernelField(field.centers, field.widths, np.log(weights)), low, high


LINES = {
    "two": (make_field([0.0, 3.0], [1.0, 0.8]), -3.0, 6.0),
    "three": (make_field([0.0, 3.0, 5.5], [1.0, 0.8, 0.9]), -3.0, 9.0),
    "two_and_base": (make_field([-2.0, 3.0], [1.5, 1.2], base=0.1), -6.0, 6.0),
    **{f"random_{seed}": random_line(seed) for seed in range(8)},
    **{f"kernels_{seed}": kernel_line(seed) for seed in range(4)},
}


@pytest.mark.parametrize("name", LINES)
def test_prominences_on_a_line_are_those_of_its_maxima_and_minima(name):
    field, low, high = LINES[name]
    maxima, minima = stationary_points(field, low, high)
    heights, passes = (potential(field, x[:, None]) for x in (maxima, minima))
    expected = persistence_on_line(heights, passes)
    Z = np.random.default_rng(0).uniform(low, high, (150, 1))
    modes, tree = grow(field, Z)
    assert len(modes) == len(maxima) >= 2
    np.testing.assert_allclose(modes[:, 0], maxima, atol=1e-6)
    np.testing.assert_allclose(tree.heights, heights, rtol=1e-10)
    found = np.full(len(maxima), np.inf)
    found[tree.child] = tree.prominence
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    # The saddles are among the minima.
    gaps = np.abs(tree.saddles - minima).min(axis=1)
    assert gaps.max() < 1e-3


@pytest.mark.parametrize("name", LINES)
def test_on_a_line_modes_merge_into_the_one_beside_the_saddle(name):
    """Ways to farther modes lead over the same saddle, and are as high."""
    field, low, high = LINES[name]
    modes, tree = grow(field, np.random.default_rng(0).uniform(low, high, (150, 1)))
    for child, parent, saddle in zip(
        tree.child, tree.parent, tree.saddles, strict=True
    ):
        beyond = np.sign(modes[:, 0] - saddle) == np.sign(modes[parent, 0] - saddle)
        assert not beyond[child]
        beside = np.flatnonzero(beyond)[np.abs(modes[beyond, 0] - saddle).argmin()]
        assert parent == beside


@pytest.mark.parametrize("name", LINES)
def test_barriers_on_a_line_are_the_descents_to_the_lowest_point_between(name):
    field, low, high = LINES[name]
    maxima, minima = stationary_points(field, low, high)
    heights, passes = (potential(field, x[:, None]) for x in (maxima, minima))
    n = len(maxima)
    expected = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                expected[i, j] = heights[i] - passes[min(i, j) : max(i, j)].min()
    Z = np.random.default_rng(0).uniform(low, high, (150, 1))
    _, tree = grow(field, Z)
    barriers = tree.barriers()
    np.testing.assert_allclose(barriers, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(np.diag(barriers), 0.0)
    shared_pass = tree.heights[:, None] - barriers
    np.testing.assert_allclose(shared_pass, shared_pass.T, rtol=1e-12)


def persistence_on_grid(f):
    """Prominences of a grid's maxima by flooding it from the top, largest first."""
    flat = f.ravel()
    order = np.argsort(-flat)
    root = np.full(flat.size, -1)

    def find(i):
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    found = []
    rows, columns = f.shape
    steps = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    for i in order:
        root[i] = i
        r, c = divmod(int(i), columns)
        for a, b in steps:
            if 0 <= r + a < rows and 0 <= c + b < columns:
                j = (r + a) * columns + c + b
                if root[j] < 0:
                    continue
                one, two = find(i), find(j)
                if one == two:
                    continue
                lower, higher = (one, two) if flat[one] < flat[two] else (two, one)
                if flat[lower] > flat[i]:
                    found.append(flat[lower] - flat[i])
                root[lower] = higher
    return np.sort(found)[::-1]


def random_plane(seed):
    rng = np.random.default_rng(seed)
    theta = rng.uniform(0.5, 2.0, 14) * rng.choice([1.0, 1.0, 1.0, -0.2], 14)
    return make_field(rng.uniform(-4.0, 4.0, (14, 2)), theta, widths=[1.0, 1.3])


RING = make_field(
    3.0 * np.column_stack([np.cos(np.arange(9) * 0.6), np.sin(np.arange(9) * 0.6)]),
    np.array([1.0, 0.9, 1.1, 0.8, 1.2, 0.9, 1.0, 0.8, 1.1]),
    widths=0.6,
)


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6, "ring"])
def test_prominences_in_the_plane_are_those_of_a_flooded_grid(seed):
    field = RING if seed == "ring" else random_plane(seed)
    axis = np.linspace(-9.0, 9.0, 181)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    expected = persistence_on_grid(potential(field, grid).reshape(181, 181))
    rng = np.random.default_rng(0)
    Z = rng.choice(field.centers, 500) + 0.7 * rng.standard_normal((500, 2))
    modes, tree = grow(field, Z)
    found = np.sort(tree.prominence)[::-1]
    # What a grid of this step can tell.
    clear = expected > 0.02
    assert clear.sum() >= 2
    assert (found > 0.02).sum() == clear.sum()
    np.testing.assert_allclose(
        found[: clear.sum()], expected[clear], rtol=1e-2, atol=5e-3
    )
    assert len(modes) == len(tree.heights) == len(tree.child) + 1


@pytest.mark.parametrize("seed", range(6))
def test_saddles_in_the_plane_are_stationary_and_join_two_basins(seed):
    field = random_plane(seed)
    rng = np.random.default_rng(0)
    Z = rng.choice(field.centers, 500) + 0.7 * rng.standard_normal((500, 2))
    _, tree = grow(field, Z)
    np.testing.assert_allclose(
        potential(field, tree.saddles), tree.passes, rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(
        tree.heights[tree.child] - tree.passes, tree.prominence, atol=1e-12
    )
    clear = tree.prominence > 0.02
    here = field.evaluate(tree.saddles)
    slope = np.linalg.norm(here.factor * here.pull / field.widths, axis=1)
    assert (slope[clear] <= 1e-5 * here.size[clear]).all()
    curvature = np.linalg.eigvalsh(field.jacobian(tree.saddles))
    assert (curvature[clear, 0] < 0).all()
    assert (curvature[clear, 1] > 0).all()


@pytest.fixture(scope="module")
def many():
    """A tree of many modes."""
    rng = np.random.default_rng(5)
    field = make_field(
        rng.uniform(-6.0, 6.0, (40, 2)), rng.uniform(0.3, 1.5, 40), widths=0.5
    )
    modes, tree = grow(field, rng.choice(field.centers, 400))
    assert len(modes) > 15
    return tree


def partition(group):
    return {frozenset(np.flatnonzero(group == g)) for g in np.unique(group)}


def test_merges_go_from_the_highest_pass_down_and_the_higher_summit_stays(many):
    assert (np.diff(many.passes) <= 0).all()
    assert (many.prominence >= 0).all()
    below = np.zeros(len(many.child), dtype=bool)
    for i, (child, parent) in enumerate(zip(many.child, many.parent, strict=True)):
        group = many.merge(below)  # by the merges above this one
        assert group[child] == child
        assert many.heights[group[parent]] >= many.heights[child]
        below[i] = True
    children = np.sort(many.child)
    highest = many.heights.argmax()
    others = np.delete(np.arange(len(many.heights)), highest)
    np.testing.assert_array_equal(children, others)


def test_cuts_at_every_level_are_nested_from_every_mode_to_one_group(many):
    n = len(many.heights)
    levels = np.sort(many.prominence)
    levels = np.concatenate([[0.0], levels, [levels[-1] * 2.0]])
    previous = partition(many.cut(prominence=levels[0]))
    assert len(previous) == n
    for level in levels[1:]:
        current = partition(many.cut(prominence=level))
        assert len(current) == n - (many.prominence < level).sum()
        assert all(any(small <= large for large in current) for small in previous)
        previous = current
    assert len(previous) == 1


def test_cuts_by_number_have_that_number_of_groups_and_are_nested(many):
    n = len(many.heights)
    previous = None
    for k in range(n, 0, -1):
        current = partition(many.cut(n_clusters=k))
        assert len(current) == k
        if previous is not None:
            assert all(any(small <= large for large in current) for small in previous)
        previous = current


def test_cuts_by_number_are_those_by_the_prominence_between(many):
    n, levels = len(many.heights), np.sort(many.prominence)
    assert (np.diff(levels) > 0).all()
    for made in range(1, len(levels)):
        between = 0.5 * (levels[made - 1] + levels[made])
        np.testing.assert_array_equal(
            many.cut(prominence=between), many.cut(n_clusters=n - made)
        )


def test_a_group_is_called_after_its_highest_mode(many):
    for k in (2, 5, 10):
        group = many.cut(n_clusters=k)
        for name in np.unique(group):
            members = np.flatnonzero(group == name)
            assert name == members[many.heights[members].argmax()]


def test_groups_of_a_cut_are_separated_by_at_least_its_level(many):
    level = np.median(many.prominence)
    group = many.cut(prominence=level)
    barriers = many.barriers()
    tops = np.unique(group)
    # Of two summits, the lower one is at least the level above the pass.
    between = np.minimum(barriers, barriers.T)[np.ix_(tops, tops)]
    assert (between[np.triu_indices(len(tops), 1)] >= level).all()


def test_a_cut_needs_either_a_prominence_or_a_number(many):
    with pytest.raises(ValueError, match="either prominence or n_clusters"):
        many.cut()
    with pytest.raises(ValueError, match="either prominence or n_clusters"):
        many.cut(prominence=0.5, n_clusters=2)


@pytest.mark.parametrize("n_clusters", [0, -1, 1000])
def test_a_cut_into_an_impossible_number_says_what_is_possible(many, n_clusters):
    with pytest.raises(ValueError, match=f"from 1 to {len(many.heights)}"):
        many.cut(n_clusters=n_clusters)


def test_a_small_mode_goes_to_its_neighbour_not_to_the_highest_of_the_group():
    # Along a line: 0 (height 10), pass 6, 1 (height 9), pass 5, 2 (height 5.2).
    passes = Saddles(
        low=np.array([0, 1]),
        high=np.array([1, 2]),
        height=np.array([6.0, 5.0]),
        point=np.array([[0.5], [1.5]]),
        reach=np.zeros((2, 1)),
    )
    tree = merge_down(np.array([10.0, 9.0, 5.2]), passes)
    np.testing.assert_array_equal(tree.parent, [0, 1])
    np.testing.assert_array_equal(tree.cut(prominence=1.0), [0, 1, 1])
    np.testing.assert_array_equal(tree.cut(n_clusters=1), [0, 0, 0])
    np.testing.assert_allclose(tree.barriers()[2], [0.2, 0.2, 0.0], atol=1e-12)


def test_sides_of_a_merge_are_the_groups_that_it_joins(many):
    joined = [np.array([mode]) for mode in range(len(many.heights))]
    for i, (one, two) in enumerate(many.sides()):
        np.testing.assert_array_equal(np.sort(joined[many.child[i]]), one)
        np.testing.assert_array_equal(np.sort(joined[many.parent[i]]), two)
        both = np.concatenate([one, two])
        for mode in both:
            joined[mode] = both


def test_merge_knows_a_merge_by_hand():
    # 1 joins 0 at 5, then 3 joins 2 at 4, then 2 joins 0 at 1.
    tree = MergeTree(
        heights=np.array([10.0, 6.0, 9.0, 4.5]),
        child=np.array([1, 3, 2]),
        parent=np.array([0, 2, 0]),
        saddles=np.zeros((3, 1)),
        passes=np.array([5.0, 4.0, 1.0]),
        prominence=np.array([1.0, 0.5, 8.0]),
        std_error=np.zeros(3),
    )
    np.testing.assert_array_equal(tree.cut(prominence=0.0), [0, 1, 2, 3])
    np.testing.assert_array_equal(tree.cut(prominence=0.6), [0, 1, 2, 2])
    np.testing.assert_array_equal(tree.cut(n_clusters=2), [0, 0, 2, 2])
    np.testing.assert_array_equal(tree.cut(n_clusters=1), [0, 0, 0, 0])
    made = np.array([False, True, True])
    np.testing.assert_array_equal(tree.merge(made), [0, 1, 0, 0])
    np.testing.assert_array_equal(
        tree.barriers(),
        [
            [0.0, 5.0, 9.0, 9.0],
            [1.0, 0.0, 5.0, 5.0],
            [8.0, 8.0, 0.0, 5.0],
            [3.5, 3.5, 0.5, 0.0],
        ],
    )


def test_a_single_mode_has_a_tree_without_merges():
    field = make_field([[0.0, 0.0]], [1.0])
    Z = np.random.default_rng(0).standard_normal((30, 2))
    modes, tree = grow(field, Z)
    assert len(modes) == len(tree.heights) == 1
    assert len(tree.child) == len(tree.prominence) == 0
    np.testing.assert_array_equal(tree.cut(prominence=1.0), [0])
    np.testing.assert_array_equal(tree.cut(n_clusters=1), [0])
    np.testing.assert_array_equal(tree.barriers(), [[0.0]])


@pytest.mark.parametrize("seed", range(4))
def test_line_integrals_of_equal_coefficients_give_the_heights_of_the_potential(seed):
    field = random_plane(seed)
    separate = SeparateField(field.centers, field.widths, np.tile(field.theta, (2, 1)))
    rng = np.random.default_rng(0)
    Z = rng.choice(field.centers, 500) + 0.7 * rng.standard_normal((500, 2))
    modes, tree = grow(field, Z)

    def arrive(points):
        return climb(field, points, fixed_point(), tol=1e-5, max_iter=1000).points

    mode_of_row = assign_modes(field, arrive(Z), modes, arrive)
    other = build_tree(separate, modes, Z, mode_of_row)
    np.testing.assert_allclose(
        other.heights - other.heights[0], tree.heights - tree.heights[0], atol=5e-3
    )
    np.testing.assert_allclose(
        np.sort(other.prominence), np.sort(tree.prominence), atol=0.05
    )


def test_profiles_along_a_segment_are_the_potential_there():
    field = random_plane(0)
    ends, pair = np.array([[-3.0, 1.0], [2.0, -2.0]]), np.array([[0, 1]])
    along = ends[0] + np.linspace(0.0, 1.0, 11)[:, None] * (ends[1] - ends[0])
    np.testing.assert_allclose(
        profiles(field, ends, pair, 11)[0], potential(field, along), rtol=1e-12
    )
    separate = SeparateField(field.centers, field.widths, np.tile(field.theta, (2, 1)))
    fine = np.linspace(0.0, 1.0, 401)[:, None]
    rise = potential(field, ends[0] + fine * (ends[1] - ends[0]))
    np.testing.assert_allclose(
        profiles(separate, ends, pair, 401)[0], rise - rise[0], atol=3e-4
    )
    tilted = profiles(separate, ends, pair, 401, np.array([7.0, 9.0]))[0]
    assert tilted[0] == pytest.approx(7.0)
    assert tilted[-1] == pytest.approx(9.0)


@pytest.mark.parametrize("width", [0.003, 0.05, 1.0])
@pytest.mark.parametrize("d", [1, 2, 30])
def test_profiles_of_kernels_leave_out_only_what_rounding_would(width, d):
    rng = np.random.default_rng(d)
    centers, weights = rng.normal(size=(200, d)), rng.uniform(0.01, 1.0, 200)
    field = KernelField(centers, np.full(d, width), np.log(weights / weights.sum()))
    nodes = np.concatenate([centers[:30], rng.normal(size=(10, d))])
    pairs = rng.integers(40, size=(300, 2))
    t = rng.uniform(size=(300, 5))
    s = t[:, :, None]
    points = nodes[pairs[:, 0]][:, None] * (1.0 - s) + nodes[pairs[:, 1]][:, None] * s
    np.testing.assert_allclose(
        potential_along(field, nodes, pairs, t),
        field.log_density(points.reshape(-1, d)).reshape(t.shape),
        atol=1e-14 * (1.0 + d / width**2),  # of squared distances
    )


@pytest.mark.parametrize("width", [0.05, 1.0])
def test_slopes_along_segments_are_those_of_the_gradient(width):
    rng = np.random.default_rng(0)
    centers, weights = rng.normal(size=(200, 3)), rng.uniform(0.01, 1.0, 200)
    widths = width * np.array([1.0, 2.0, np.inf])  # the last is not in the model
    field = KernelField(centers, widths, np.log(weights / weights.sum()))
    middle, reach = centers[:50], 0.1 * rng.normal(size=(50, 3))
    t = rng.uniform(-1.0, 1.0, 50)
    here = field.evaluate(middle + t[:, None] * reach)
    expected = (gradient(field, here) * reach).sum(axis=1)
    np.testing.assert_allclose(
        slopes(field, middle, reach)(t), expected, rtol=1e-9, atol=1e-10
    )


def test_no_saddle_is_below_a_straight_line_between_near_modes():
    rng = np.random.default_rng(5)
    field = make_field(
        rng.uniform(-6.0, 6.0, (60, 2)), rng.uniform(0.3, 1.5, 60), widths=0.4
    )
    modes, tree = grow(field, rng.choice(field.centers, 100))
    assert len(modes) > 30
    highest = tree.heights[:, None] - tree.barriers()
    near = np.argsort(np.linalg.norm(modes[:, None] - modes, axis=2), axis=1)[:, 1:5]
    for a, others in enumerate(near):
        pairs = np.column_stack([np.full(len(others), a), others])
        lowest = profiles(field, modes, pairs, 2001).min(axis=1)
        assert (highest[a, others] >= lowest - 1e-9).all()


def test_spanning_saddles_make_the_same_tree():
    rng = np.random.default_rng(11)
    heights = np.sort(rng.normal(size=30))[::-1]
    low, high = np.triu_indices(30, 1)
    some = rng.random(len(low)) < 0.4
    some |= high == low + 1  # they connect all
    low, high = low[some], high[some]
    height = np.minimum(heights[low], heights[high]) - rng.exponential(size=len(low))
    point = rng.normal(size=(len(low), 2))
    saddles = best_of_pairs(Saddles(low, high, height, point, np.zeros_like(point)))
    few = spanning_saddles(saddles, 30)
    assert len(few.low) == 29
    one, other = merge_down(heights, saddles), merge_down(heights, few)
    for name in ("child", "parent", "passes", "saddles", "prominence"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_passes_that_are_not_refined_lie_a_little_below_the_saddles():
    rng = np.random.default_rng(3)
    field = make_field(rng.normal(size=(12, 2)) * 3.0, rng.uniform(0.5, 1.0, 12))
    Z = rng.normal(size=(200, 2)) * 3.0
    modes, exact = grow(field, Z)
    arrived = climb(field, Z, fixed_point(), tol=1e-5, max_iter=1000).points
    mode_of_row = assign_modes(field, arrived, modes, lambda points: points)
    rough = build_tree(field, modes, Z, mode_of_row, refine=False)
    assert len(modes) > 3
    np.testing.assert_array_equal(np.sort(rough.child), np.sort(exact.child))
    below = np.sort(rough.prominence) - np.sort(exact.prominence)
    assert (below >= -1e-9).all()
    assert 1e-6 < below.max() < 0.1
