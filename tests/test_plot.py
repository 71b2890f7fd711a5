import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.backend_bases import MouseEvent
from matplotlib.colors import to_hex
from sklearn.exceptions import NotFittedError

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.cluster.features import gradient_in_features
from modeseek.datasets import three_gaussians
from modeseek.plot import (
    AscentDisplay,
    ClusterMapDisplay,
    ClusterPairsDisplay,
    ClusterProfileDisplay,
    FeatureRelevanceDisplay,
    GradientFieldDisplay,
    MergeTreeDisplay,
    ValidationDisplay,
)
from modeseek.plot.drawing import palette


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    return three_gaussians(3).sample(400, random_state=0)[0]


@pytest.fixture(scope="module")
def model(rows):
    return ModeClustering().fit(rows)


@pytest.fixture(scope="module")
def rough(rows):
    return ModeClustering(KernelDensityGradient(0.4)).fit(rows)


def draw(display, model, X, **options):
    if display in (MergeTreeDisplay, ValidationDisplay):
        return display.from_estimator(model, **options)
    return display.from_estimator(model, X, **options)


DISPLAYS = [
    AscentDisplay,
    ClusterMapDisplay,
    ClusterPairsDisplay,
    ClusterProfileDisplay,
    GradientFieldDisplay,
    MergeTreeDisplay,
    ValidationDisplay,
]


@pytest.mark.parametrize("display", DISPLAYS)
def test_display_draws_on_a_new_figure_or_the_axes_given(display, model, rows):
    own = draw(display, model, rows)
    assert own.figure_ is own.ax_.figure
    figure, (_, ax) = plt.subplots(1, 2)
    given = draw(display, model, rows, ax=ax)
    assert given.ax_ is ax
    assert given.figure_ is figure
    again = given.plot()
    assert again is given
    assert again.figure_ is not figure
    again.figure_.canvas.draw()


@pytest.fixture(scope="module")
def framed(rows):
    """A data frame, and the model of it."""
    frame = pd.DataFrame(rows, columns=["alpha", "beta", "gamma"])
    return frame, ModeClustering().fit(frame)


@pytest.mark.parametrize("display", DISPLAYS)
def test_display_takes_data_frames_and_their_names(display, framed):
    frame, model = framed
    drawn = draw(display, model, frame)
    if display is GradientFieldDisplay:
        assert drawn.ax_.get_xlabel() == "alpha"
        assert "gamma = " in drawn.ax_.get_title()
    if display is ClusterPairsDisplay:
        assert drawn.axes_[2, 0].get_xlabel() == "alpha"


@pytest.mark.parametrize("display", DISPLAYS)
def test_display_refuses_what_is_not_fitted(display, rows):
    with pytest.raises(NotFittedError):
        draw(display, ModeClustering(), rows)


def test_field_is_the_gradient_on_the_plane(model, rows):
    at = np.array([0.3, -0.4, 0.5])
    display = GradientFieldDisplay.from_estimator(
        model, rows, features=(2, 0), at=at, grid_resolution=5
    )
    point = at.copy()
    point[2], point[0] = display.x[3], display.y[1]
    fitted = gradient_in_features(model)
    g = fitted.gradient(np.array([point]))[0]
    np.testing.assert_allclose(display.gradient[1, 3], g[[2, 0]])
    height = fitted.log_density(np.array([point]))[0]
    np.testing.assert_allclose(display.log_density[1, 3], height)
    np.testing.assert_array_equal(display.modes, model.modes_[:, [2, 0]])
    np.testing.assert_array_equal(
        display.x[[0, -1]], [f(rows[:, 2]) for f in (min, max)]
    )


def test_arrows_point_along_the_gradient(model, rows):
    display = GradientFieldDisplay.from_estimator(model, rows)
    (arrows,) = [c for c in display.ax_.collections if hasattr(c, "U")]
    drawn = np.stack([arrows.U, arrows.V], axis=-1)
    g = display.gradient.reshape(drawn.shape)
    # One picture may stretch its axes; each part of an arrow keeps its sign.
    assert (np.sign(drawn) == np.sign(g)).all()


@pytest.mark.parametrize("coefficients", ["shared", "separate"])
def test_field_of_an_estimator_alone_has_no_modes(rows, coefficients):
    estimator = LogDensityGradient(coefficients=coefficients).fit(rows[:, :2])
    display = GradientFieldDisplay.from_estimator(estimator, rows[:, :2])
    assert len(display.modes) == 0
    assert (display.log_density is None) == (coefficients == "separate")


@pytest.mark.parametrize("display", [GradientFieldDisplay, AscentDisplay])
@pytest.mark.parametrize("features", [(0,), (0, 3), (-1, 0), (0, 1, 2)])
def test_planes_have_two_features(display, features, model, rows):
    with pytest.raises(ValueError, match="two numbers from 0 to 2"):
        display.from_estimator(model, rows, features=features)


def test_one_feature_has_no_plane(rows):
    model = ModeClustering().fit(rows[:, :1])
    with pytest.raises(ValueError, match="at least two"):
        AscentDisplay.from_estimator(model, rows[:, :1])


def test_point_of_the_slice_needs_every_feature(model, rows):
    with pytest.raises(ValueError, match="at must have 3 numbers"):
        GradientFieldDisplay.from_estimator(model, rows, at=[0.0])


def test_paths_start_at_the_rows_and_end_at_the_modes(model, rows):
    display = AscentDisplay.from_estimator(
        model, rows, features=(0, 1), max_rows=len(rows)
    )
    np.testing.assert_array_equal(display.paths[0], rows[:, :2])
    np.testing.assert_array_equal(display.labels, model.labels_)
    ends = model.modes_[model.row_modes_][:, :2]
    np.testing.assert_allclose(display.paths[-1], ends, atol=0.05)


def test_many_rows_are_thinned(model, rows):
    display = AscentDisplay.from_estimator(model, rows, max_rows=50)
    assert display.paths.shape[1:] == (50, 2)
    assert set(display.labels) == set(model.labels_)
    assert "principal component 1" in display.ax_.get_xlabel()


def test_validation_marks_the_winner(rows):
    estimator = LogDensityGradient().fit(rows)
    display = ValidationDisplay.from_estimator(estimator)
    i, j = display.winner
    np.testing.assert_allclose(display.bandwidth[i], estimator.bandwidth_[0])
    assert display.alpha[j] == estimator.alpha_
    lines = {line.get_label(): line for line in display.ax_.lines}
    (chosen,) = [lines[name] for name in lines if name.startswith("chosen")]
    np.testing.assert_allclose(
        chosen.get_xydata()[0], [estimator.alpha_, estimator.bandwidth_[0]]
    )
    lowest = np.unravel_index(display.loss.argmin(), display.loss.shape)
    np.testing.assert_allclose(
        lines["lowest"].get_xydata()[0],
        [display.alpha[lowest[1]], display.bandwidth[lowest[0]]],
    )


@pytest.mark.filterwarnings("ignore:The chosen bandwidth is the first or last")
def test_validation_says_when_the_winner_is_on_an_edge(rows):
    narrow = LogDensityGradient(bandwidth=[0.3, 0.2, 0.1], alpha=[0.01, 0.1, 1.0])
    display = ValidationDisplay.from_estimator(narrow.fit(rows))
    names = [line.get_label() for line in display.ax_.lines]
    assert "chosen (on the edge)" in names
    inner = LogDensityGradient(bandwidth=[50.0, 2.0, 0.1], alpha=[0.1])
    display = ValidationDisplay.from_estimator(inner.fit(rows))
    names = [line.get_label() for line in display.ax_.lines]
    assert "chosen" in names


def test_the_widest_default_width_is_no_edge():
    X = np.random.default_rng(0).normal(size=(300, 2))  # all but Gaussian
    display = ValidationDisplay.from_estimator(LogDensityGradient().fit(X))
    assert display.winner[0] == display.bandwidth.argmax()
    assert 0 < display.winner[1] < len(display.alpha) - 1
    names = [line.get_label() for line in display.ax_.lines]
    assert "chosen" in names


@pytest.mark.filterwarnings("ignore:The chosen")
def test_validation_of_multitask_marks_the_chosen_pair(rows):
    estimator = LogDensityGradient(
        bandwidth=[2.0, 1.5, 1.0],
        coefficients="multitask",
        alpha=[1e-4, 1e-2, 1.0],
        gamma=[0.01, 1.0, 100.0],
    ).fit(rows)
    results = estimator.cv_results_
    display = ValidationDisplay.from_estimator(estimator)
    i, j = display.winner
    np.testing.assert_array_equal(display.alpha, [1e-4, 1e-2, 1.0])
    assert display.alpha[j] == estimator.alpha_
    pair = (results["alpha"] == estimator.alpha_) & (
        results["gamma"] == estimator.gamma_
    )
    assert display.loss[i, j] == results["mean_test_loss"][i, pair]
    assert display.ax_.get_title() == f"gamma = {estimator.gamma_:.3g}"


@pytest.mark.parametrize(
    "estimator",
    [
        KernelDensityGradient(),
        LogDensityGradient(alpha=0.1),
        LogDensityGradient(bandwidth=1.5),
    ],
)
def test_one_row_of_candidates_is_a_curve(estimator, rows):
    display = ValidationDisplay.from_estimator(estimator.fit(rows))
    curve = display.ax_.lines[0].get_xydata()
    np.testing.assert_array_equal(curve[:, 1], display.loss.ravel())
    assert display.ax_.get_xscale() == "log"


def test_learned_widths_are_not_on_the_grid(rows):
    estimator = LogDensityGradient(bandwidth="learned").fit(rows)
    display = ValidationDisplay.from_estimator(estimator)
    chosen = [line.get_label().startswith("chosen") for line in display.ax_.lines]
    assert display.winner is None
    assert not any(chosen)


def test_nothing_chosen_is_nothing_to_draw(rows):
    estimator = LogDensityGradient(bandwidth=1.0, alpha=0.1).fit(rows)
    with pytest.raises(ValueError, match="Nothing was chosen"):
        ValidationDisplay.from_estimator(estimator)


@pytest.mark.parametrize("cut", [0.0, 0.1, 0.7, 100.0])
def test_cut_of_the_tree_is_that_of_the_model(rough, cut):
    display = MergeTreeDisplay.from_estimator(rough, cut=cut)
    labels = display.mode_labels_[rough.row_modes_]
    np.testing.assert_array_equal(labels, rough.cut(prominence=cut))
    n_clusters = labels.max() + 1
    assert display.ax_.get_title().startswith(f"{n_clusters} cluster")


def test_tree_opens_with_the_fitted_clusters(rough):
    display = MergeTreeDisplay.from_estimator(rough)
    assert display.cut_ is None
    np.testing.assert_array_equal(display.mode_labels_, rough.mode_labels_)
    assert "as fitted" in display.ax_.get_title()


def test_branches_below_the_cut_take_the_color_of_their_cluster(rough):
    display = MergeTreeDisplay.from_estimator(rough, cut=0.7)
    tree = rough.merge_tree_
    brackets = [line for line in display.ax_.lines if len(line.get_xdata()) == 4]
    assert len(brackets) == len(tree.child) > 20
    for bracket, merge in zip(brackets, np.argsort(tree.prominence), strict=True):
        label = display.mode_labels_[tree.child[merge]]
        made = tree.prominence[merge] < 0.7
        color = palette(label + 1)[-1]
        assert (to_hex(bracket.get_color()).upper() == color) == made


@pytest.mark.parametrize("cut", [0.05, 0.7, 100.0])
def test_feet_are_named_by_clusters_and_their_samples(rough, cut):
    display = MergeTreeDisplay.from_estimator(rough, cut=cut)
    sizes = np.bincount(rough.cut(prominence=cut))
    names = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    known = [f"{k}\n{size}" for k, size in enumerate(sizes)]
    if len(sizes) > 12:
        known = [str(k) for k in range(len(sizes))]
    assert known[0] in names
    assert set(names) <= set(known)
    places = np.sort(display.ax_.get_xticks())
    assert (np.diff(places) >= 0.03 * len(rough.modes_)).all()


def send(display, name, prominence, aside=0.4):
    """A mouse event at a height of the dendrogram."""
    axes = display.ax_
    x, _ = axes.transAxes.transform((aside, 0.0))
    _, y = axes.transData.transform((0.0, prominence))
    event = MouseEvent(name, display.figure_.canvas, x, y, button=1)
    display.figure_.canvas.callbacks.process(name, event)


def test_line_can_be_dragged(rough):
    display = MergeTreeDisplay.from_estimator(rough, cut=1.0)
    display.figure_.canvas.draw()
    send(display, "motion_notify_event", 0.5)
    assert display.cut_ == 1.0
    send(display, "button_press_event", 1.0)
    send(display, "motion_notify_event", 0.5)
    assert display.cut_ == pytest.approx(0.5)
    np.testing.assert_array_equal(
        display.mode_labels_[rough.row_modes_], rough.cut(prominence=display.cut_)
    )
    send(display, "button_release_event", 0.5)
    send(display, "motion_notify_event", 0.2)
    assert display.cut_ == pytest.approx(0.5)
    send(display, "button_press_event", 1.5)
    send(display, "motion_notify_event", 0.2)
    assert display.cut_ == pytest.approx(0.5)


def test_cut_is_not_negative(rough):
    with pytest.raises(ValueError, match="cut must be"):
        MergeTreeDisplay.from_estimator(rough, cut=-1.0)


def test_tree_of_one_mode_is_drawn(rows):
    model = ModeClustering(KernelDensityGradient(5.0)).fit(rows)
    assert len(model.modes_) == 1
    display = MergeTreeDisplay.from_estimator(model)
    display.figure_.canvas.draw()
    assert display.ax_.get_title() == "1 cluster as fitted"


def test_pairs_are_below_the_diagonal(model, rows):
    display = ClusterPairsDisplay.from_estimator(model, rows, features=[2, 0])
    assert display.axes_[0, 1] is None
    points = display.axes_[1, 0].collections[0].get_offsets()
    np.testing.assert_array_equal(points, rows[model.labels_ == 0][:, [2, 0]])
    with pytest.raises(ValueError, match="from 0 to 2"):
        ClusterPairsDisplay.from_estimator(model, rows, features=[3])


def test_pairs_show_the_features_that_tell_clusters_apart():
    X, _ = three_gaussians(8).sample(400, random_state=0)
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 3
    display = ClusterPairsDisplay.from_estimator(model, X)
    assert len(display.names) == 5
    assert display.names[:2] == ["feature 0", "feature 1"]


def test_relevance_is_drawn_from_the_largest_down(model):
    relevance = np.array([0.2, 0.5, 0.3])
    display = FeatureRelevanceDisplay(relevance=relevance, names=list("abc")).plot()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["b", "c", "a"]
    assert [bar.get_width() for bar in display.ax_.patches] == [0.5, 0.3, 0.2]
    display = FeatureRelevanceDisplay(
        relevance=relevance, names=list("abc"), max_features=1
    ).plot()
    # The rest is told, not drawn: its sum would be the longest bar of all.
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["b"]
    assert [bar.get_width() for bar in display.ax_.patches] == [0.5]
    told = display.ax_.get_xlabel()
    assert told == "2 more, each at most 30.0%, 50% together"


def test_relevance_needs_an_estimator_that_measures_it(rough):
    with pytest.raises(ValueError, match="no feature_relevance_"):
        FeatureRelevanceDisplay.from_estimator(rough)


def test_missing_matplotlib_is_said_with_its_remedy():
    code = """
import sys
sys.modules["matplotlib"] = None
from modeseek import ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.plot import MergeTreeDisplay
X, _ = three_gaussians().sample(100, random_state=0)
try:
    MergeTreeDisplay.from_estimator(ModeClustering().fit(X))
except ImportError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "pip install 'modeseek[plot]'" in run.stdout


def texts(display):
    return [text.get_text() for text in display.ax_.texts]


def test_map_has_the_names_and_sizes_of_clusters(model, rows):
    display = ClusterMapDisplay.from_estimator(
        model, rows, cluster_names={1: "second"}, max_rows=100
    )
    assert len(display.points) == 100
    sizes = np.bincount(model.labels_)
    names = ["cluster 0", "second", "cluster 2"]
    assert texts(display) == [f"{n}\n{k}" for n, k in zip(names, sizes, strict=True)]
    for text, k in zip(display.ax_.texts, range(3), strict=True):
        inside = display.points[display.labels == k]
        assert (text.xy == inside).all(axis=1).any()  # at a sample of the cluster


def test_map_is_where_it_is_asked_for(model, rows):
    plane = ClusterMapDisplay.from_estimator(model, rows)
    apart = [plane.points[plane.labels == k] for k in range(model.n_clusters_)]
    within = max(part.std(axis=0).max() for part in apart)
    means = np.array([part.mean(axis=0) for part in apart])
    assert np.linalg.norm(means[0] - means[1]) > 2 * within
    pca = ClusterMapDisplay.from_estimator(model, rows, coordinates="pca")
    assert pca.ax_.get_xlabel().startswith("principal component 1 (")
    np.testing.assert_allclose(pca.points.mean(axis=0), 0.0, atol=1e-9)
    own = pd.DataFrame(rows[:, ::-1][:, :2], columns=["umap 1", "umap 2"])
    given = ClusterMapDisplay.from_estimator(model, rows, coordinates=own)
    np.testing.assert_array_equal(given.points, own)
    assert given.ax_.get_ylabel() == "umap 2"
    bare = ClusterMapDisplay.from_estimator(model, rows, coordinates=own.to_numpy())
    assert not len(bare.ax_.get_xticks())  # places without names have no unit
    two = ModeClustering().fit(rows[:, :2])
    features = ClusterMapDisplay.from_estimator(two, rows[:, :2])
    np.testing.assert_array_equal(features.points, rows[:, :2])
    assert features.names == ["feature 0", "feature 1"]
    one = ModeClustering().fit(rows[:, :1])
    strip = ClusterMapDisplay.from_estimator(one, rows[:, :1])
    np.testing.assert_array_equal(strip.points[:, 0], rows[:, 0])
    assert len(np.unique(strip.points[:, 1])) == len(rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coordinates": "umap"}, '"plane", "pca" or places'),
        ({"coordinates": np.zeros((3, 2))}, "coordinates must be 400 x 2 numbers"),
        ({"cluster_names": ["a"]}, "3 names, one for each cluster"),
        ({"max_rows": 0}, "max_rows"),
    ],
)
def test_map_refuses_what_it_cannot_draw(model, rows, options, message):
    with pytest.raises(ValueError, match=message):
        ClusterMapDisplay.from_estimator(model, rows, **options)


def test_names_on_a_map_do_not_cover_each_other():
    side = np.arange(10.0)
    centers = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    points = np.concatenate([centers, 0.1 * centers])
    labels = np.tile(np.arange(100), 2)
    sizes = np.full(100, 2)
    for places in (points[:100], points[100:]):
        display = ClusterMapDisplay(
            points=places, labels=labels[:100], sizes=sizes, names=["x", "y"]
        ).plot()
        display.figure_.canvas.draw()
        boxes = [text.get_window_extent() for text in display.ax_.texts]
        assert len(boxes) > 50
        shrunk = [box.padded(-3) for box in boxes]
        pairs = [(a, b) for i, a in enumerate(shrunk) for b in shrunk[:i]]
        assert not any(a.overlaps(b) for a, b in pairs)


def test_noise_has_no_name_on_a_map(rows):
    model = ModeClustering(noise=0.05).fit(rows)
    display = ClusterMapDisplay.from_estimator(model, rows)
    assert (display.labels == -1).any()
    assert len(texts(display)) == model.n_clusters_
    np.testing.assert_array_equal(display.sizes, np.bincount(model.labels_ + 1)[1:])


def test_profile_has_the_means_of_clusters(model, rows):
    display = ClusterProfileDisplay.from_estimator(
        model, rows, feature_names=list("abc"), cluster_names=["p", "q", "r"]
    )
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    means = [standard[model.labels_ == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(display.means, means, atol=1e-9)
    written = np.reshape(texts(display), (3, 3))
    shown = [[float(t.replace("\N{MINUS SIGN}", "-")) for t in row] for row in written]
    np.testing.assert_allclose(shown, means, atol=0.051)
    sizes = np.bincount(model.labels_)
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == [f"{n} ({k})" for n, k in zip("pqr", sizes, strict=True)]


def test_profile_of_many_shows_the_largest_and_the_telling(rows):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(400, 60)), rows])
    model = ModeClustering(KernelDensityGradient(1.0)).fit(X).recut(n_clusters=40)
    display = ClusterProfileDisplay.from_estimator(model, X, max_features=20)
    assert display.means.shape == (40, 20)
    assert len(display.ax_.get_yticklabels()) == 30
    assert "10 smaller clusters" in display.ax_.get_title(loc="left")
    assert texts(display) == []  # colours alone


def test_constant_features_are_in_no_plane(rows):
    X = np.column_stack([np.full(len(rows), 7.0), rows])
    model = ModeClustering().fit(X)
    field = GradientFieldDisplay.from_estimator(model, X)
    assert field.names == ["feature 1", "feature 2"]
    pairs = ClusterPairsDisplay.from_estimator(model, X)
    assert pairs.names == ["feature 1", "feature 2", "feature 3"]
    two = ModeClustering().fit(X[:, :3])
    assert ClusterMapDisplay.from_estimator(two, X[:, :3]).names == field.names


def test_rounded_values_are_spread_over_their_steps(rows):
    X = np.round(rows, 0)
    with pytest.warns(UserWarning, match="rounding"):
        model = ModeClustering().fit(X)
    display = ClusterPairsDisplay.from_estimator(model, X)
    assert len(np.unique(X[:, 0])) < 15
    assert len(np.unique(display.rows[:, 0])) == len(X)
    assert np.abs(display.rows - X).max() < 0.5
    drawn = ClusterMapDisplay.from_estimator(model, X)
    assert len(np.unique(drawn.points, axis=0)) == len(X)
