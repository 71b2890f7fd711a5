import numpy as np
import pytest
from sklearn.decomposition import PCA

from modeseek import KernelDensityGradient, ModeClustering
from modeseek.cluster.profile import name_features, telling_features
from modeseek.datasets import three_gaussians
from modeseek.plot.drawing import (
    COLORS,
    MARKERS,
    SYMBOLS,
    at_even_pace,
    palette,
    plane_of_clusters,
    principal_axes,
    sample_each_group,
    without_names,
)
from modeseek.tree import MergeTree
from modeseek.tree.dendrogram import lay_out


@pytest.fixture(scope="module")
def tree():
    X, _ = three_gaussians(3).sample(400, random_state=1)
    return ModeClustering(KernelDensityGradient(0.4), prominence=0).fit(X).merge_tree_


def chain(n_modes):
    """Each mode merges into the one before it, later ones at lower prominence."""
    child = np.arange(1, n_modes)
    prominence = np.linspace(2.0, 1.0, n_modes - 1)
    heights = np.zeros(n_modes)
    nowhere = np.zeros((n_modes - 1, 1))
    return MergeTree(
        heights,
        child,
        child - 1,
        nowhere,
        heights[child] - prominence,
        prominence,
        np.zeros(n_modes - 1),
    )


def feet_below(layout):
    """First and last foot under every bracket, by walking down its legs."""
    reach = {(x, 0.0): (x, x) for x in layout.x}
    spans = []
    for i, height in enumerate(layout.height):
        left = reach.pop((layout.left[i], layout.left_foot[i]))
        right = reach.pop((layout.right[i], layout.right_foot[i]))
        spans.append((left, right))
        reach[(layout.middle()[i], height)] = (left[0], right[1])
    assert len(reach) == 1
    return spans


def test_branches_do_not_cross(tree):
    layout = lay_out(tree)
    assert len(layout.x) > 20
    np.testing.assert_array_equal(np.sort(layout.x), np.arange(len(layout.x)))
    for left, right in feet_below(layout):
        assert left[1] + 1 == right[0]


def test_brackets_stand_at_their_prominence_and_never_go_down(tree):
    layout = lay_out(tree)
    np.testing.assert_array_equal(layout.height, tree.prominence[layout.merge])
    assert (np.diff(layout.height) >= 0).all()
    assert (layout.left_foot <= layout.height).all()
    assert (layout.right_foot <= layout.height).all()


def test_a_horizontal_line_is_a_cut(tree):
    layout = lay_out(tree)
    spans = feet_below(layout)
    for level in np.quantile(tree.prominence, [0.0, 0.3, 0.5, 0.9, 1.0]):
        group = tree.cut(prominence=level)
        joined = np.arange(len(layout.x))  # leftmost foot of each foot's group
        for (left, right), height in zip(spans, layout.height, strict=True):
            if height < level:
                inside = (joined >= left[0]) & (joined <= right[1])
                joined[inside] = int(left[0])
        at_foot = joined[layout.x.astype(int)]
        same = group[:, None] == group
        np.testing.assert_array_equal(at_foot[:, None] == at_foot, same)


def test_one_mode_is_a_foot_without_brackets():
    none = np.empty(0)
    tree = MergeTree(
        np.zeros(1),
        none.astype(int),
        none.astype(int),
        np.empty((0, 1)),
        none,
        none,
        none,
    )
    layout = lay_out(tree)
    assert layout.x.tolist() == [0.0]
    assert len(layout.height) == 0


def test_long_chains_are_laid_out():
    layout = lay_out(chain(3000))
    np.testing.assert_array_equal(np.sort(layout.x), np.arange(3000))


def test_few_rows_are_not_thinned():
    kept = sample_each_group(np.array([1, 0, 1]), 3, np.random.default_rng(0), least=1)
    np.testing.assert_array_equal(kept, [0, 1, 2])


def test_thinning_keeps_some_of_every_group():
    rng = np.random.default_rng(0)
    group = np.r_[np.zeros(5000), np.ones(40), np.full(3, 4)].astype(int)
    kept = sample_each_group(group[rng.permutation(len(group))], 200, rng, least=10)
    assert len(kept) == 200
    assert (np.diff(kept) > 0).all()
    group = group[rng.permutation(len(group))]
    kept = sample_each_group(group, 200, rng, least=10)
    size = np.bincount(group[kept], minlength=5)
    assert size[4] == 3
    assert 10 <= size[1] <= 20
    assert size[2] == size[3] == 0


def test_thinning_is_fair_beyond_what_groups_keep():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], [60_000, 20_000])
    size = np.bincount(group[sample_each_group(group, 8000, rng, least=10)])
    np.testing.assert_allclose(size / 8000, [0.75, 0.25], atol=0.02)


def test_even_pace_on_a_straight_line():
    way = np.array([0.0, 0.7, 0.9, 1.0])[:, None, None] * [3.0, 4.0]
    frames = at_even_pace(way, 6)
    np.testing.assert_allclose(
        frames[:, 0], np.linspace(0, 1, 6)[:, None] * [3.0, 4.0], atol=1e-12
    )


def test_even_pace_keeps_ends_and_rows_that_stay():
    rng = np.random.default_rng(0)
    paths = np.cumsum(rng.standard_normal((9, 4, 3)), axis=0)
    paths[:, 2] = paths[0, 2]
    frames = at_even_pace(paths, 30)
    np.testing.assert_array_equal(frames[[0, -1]], paths[[0, -1]])
    np.testing.assert_array_equal(frames[:, 2], np.tile(paths[0, 2], (30, 1)))


def test_components_are_those_of_standardized_rows():
    X = np.random.default_rng(0).standard_normal((100, 4)) @ np.diag([1, 1e3, 1e-3, 0])
    X[:, 0] += X[:, 1]
    axes = principal_axes(X, 2)
    standard = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    np.testing.assert_allclose(
        axes.transform(X), PCA(2).fit_transform(standard), atol=1e-10
    )
    assert axes.names()[0].startswith("principal component 1 (")


def test_equal_rows_have_no_components():
    assert principal_axes(np.full((5, 3), 0.1), 2) is None


def test_telling_features_differ_between_clusters():
    means = np.array([[0.0, 0.5, 0.0, -2.0], [0.0, -0.5, 0.1, 0.2]])
    size = np.array([10.0, 100.0])
    np.testing.assert_array_equal(telling_features(means, size, 2), [1, 3])
    np.testing.assert_array_equal(telling_features(means, size, 9), [0, 1, 2, 3])


def test_names_come_from_the_call_the_fit_or_numbers():
    X, _ = three_gaussians().sample(50, random_state=0)
    model = ModeClustering(KernelDensityGradient(1.0)).fit(X)
    assert name_features(model, 2, None) == ["feature 0", "feature 1"]
    assert name_features(model, 2, ["a", "b"]) == ["a", "b"]
    model.feature_names_in_ = np.array(["c", "d"], dtype=object)
    assert name_features(model, 2, None) == ["c", "d"]
    assert not hasattr(without_names(model), "feature_names_in_")
    assert hasattr(model, "feature_names_in_")
    with pytest.raises(ValueError, match="1 names"):
        name_features(model, 2, ["a"])


def test_56_clusters_have_marks_of_their_own():
    marks = {(color, MARKERS[k % len(MARKERS)]) for k, color in enumerate(palette(56))}
    assert len(marks) == 56
    assert len(SYMBOLS) == len(MARKERS)


#: Machado, Oliveira, Fernandes (2009): full severity, for linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(linear):
    """CIELAB of linear sRGB under D65."""
    to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
    t = linear @ np.transpose(to_xyz) / [0.95047, 1.0, 1.08883]
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = f.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


@pytest.mark.parametrize("kind", BLINDNESS)
def test_colors_stay_apart_for_colour_blind_eyes(kind):
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in COLORS]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = lab(np.clip(linear @ np.transpose(BLINDNESS[kind]), 0.0, 1.0))
    apart = np.linalg.norm(seen[:, None] - seen, axis=-1)
    apart[np.diag_indices(len(COLORS))] = np.inf
    # About two is the least difference that is seen at all.
    assert apart.min() > 10


def test_colors_go_on_and_differ():
    colors = palette(100)
    assert colors[: len(COLORS)] == list(COLORS)
    assert palette(3) == list(COLORS[:3])
    assert palette(50) == colors[:50]
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colors])
    apart = np.linalg.norm(rgb[:, None] - rgb, axis=2)
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > 4
    assert apart[:60, :60].min() > 12
    assert apart[:24, :24].min() > 40


def test_plane_has_the_directions_in_which_clusters_lie_apart():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(900, 5)) * [20.0, 1.0, 1.0, 1.0, 1.0]
    labels = np.repeat([0, 1, 2], 300)
    Z[labels == 1, 2] += 8.0
    Z[labels == 2, 4] += 8.0
    axes = plane_of_clusters(Z, labels)
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-12)
    share = (axes**2).sum(axis=0)
    assert share[2] > 0.95
    assert share[4] > 0.95
    # Noise is no cluster; two clusters are apart along one direction.
    noisy = np.where(labels == 2, -1, labels)
    across, up = plane_of_clusters(Z, noisy)
    assert abs(across[2]) > 0.99
    assert abs(up[0]) > 0.99


def test_some_rows_have_no_plane():
    Z = np.random.default_rng(0).normal(size=(20, 3))
    assert plane_of_clusters(Z, np.zeros(20, int)) is None
    assert plane_of_clusters(Z[:, :1], np.arange(20) % 2) is None
    assert plane_of_clusters(np.repeat(Z[:2], 10, axis=0), np.arange(20) // 10) is None
