"""ModeClustering: what it finds, what it promises, and what it answers."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import gaussian, three_gaussians
from modeseek.tree.default_cut import LEAST_PROMINENCE, LEAST_SIGNIFICANCE

SEPARATE = LogDensityGradient(30, bandwidth=1.5, alpha=1e-3, coefficients="separate")

DIRECT = LogDensityGradient()
KERNEL = KernelDensityGradient()

CONFIGURATIONS = {
    "default": {},
    "fixed_point": {"estimator": DIRECT},
    "gradient": {"estimator": DIRECT, "ascent": "gradient"},
    "quasi_newton": {"estimator": DIRECT, "ascent": "quasi_newton"},
    "blurring": {"ascent": "blurring"},
    "kernel": {"estimator": KERNEL},
    "kernel_quasi_newton": {"estimator": KERNEL, "ascent": "quasi_newton"},
    "separate": {"estimator": SEPARATE},
    "separate_gradient": {"estimator": SEPARATE, "ascent": "gradient"},
    "every_mode": {"estimator": DIRECT, "prominence": 0},
}


@pytest.fixture(scope="module")
def X():
    return three_gaussians().sample(400, random_state=1)[0]


@pytest.fixture(scope="module")
def fitted(X):
    """Models by the name of their configuration, fitted once."""
    models = {}

    def fit(name):
        if name not in models:
            models[name] = ModeClustering(**CONFIGURATIONS[name]).fit(X)
        return models[name]

    return fit


@pytest.fixture(scope="module")
def bumpy():
    """A model with many modes, so that its tree has many levels."""
    X = np.random.default_rng(0).uniform(-3.0, 3.0, (150, 2))
    model = ModeClustering(KernelDensityGradient(0.4), prominence=0).fit(X)
    assert len(model.modes_) >= 8
    return model


def same_partition(one, two):
    return adjusted_rand_score(one, two) == 1.0


# --- what it finds ---------------------------------------------------------------


@pytest.mark.parametrize(("n_features", "seed"), [(2, 0), (2, 1), (4, 0), (4, 1)])
def test_three_gaussians_are_three_clusters(n_features, seed):
    X, y = three_gaussians(n_features).sample(600, random_state=seed)
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) >= 0.85


@pytest.mark.parametrize("n_features", [1, 3])
def test_one_gaussian_is_one_cluster(n_features):
    X, _ = gaussian(n_features).sample(600, random_state=0)
    model = ModeClustering().fit(X)
    assert model.n_clusters_ == 1
    np.testing.assert_array_equal(model.labels_, 0)
    np.testing.assert_array_equal(model.membership(X), np.ones((600, 1)))


@pytest.mark.parametrize("seed", [0, 1])
def test_ascents_agree_on_three_gaussians(seed):
    X, _ = three_gaussians().sample(600, random_state=seed)
    reference = ModeClustering(DIRECT).fit(X).labels_
    for ascent in ("gradient", "quasi_newton"):
        labels = ModeClustering(DIRECT, ascent=ascent).fit(X).labels_
        assert (labels == reference).mean() >= 0.99


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("estimator", [DIRECT, KERNEL], ids=["direct", "kernel"])
def test_blurring_finds_three_gaussians(estimator, seed):
    X, y = three_gaussians().sample(600, random_state=seed)
    model = ModeClustering(estimator, ascent="blurring").fit(X)
    assert adjusted_rand_score(y, model.labels_) >= 0.88


@pytest.mark.parametrize(
    "shape",
    [
        lambda: make_circles(1000, noise=0.05, factor=0.4, random_state=0),
        lambda: make_moons(1000, noise=0.06, random_state=0),
    ],
    ids=["rings", "crescents"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", [None, DIRECT], ids=["default", "one_width"])
def test_a_cut_into_two_returns_rings_and_crescents(estimator, shape):
    X, y = shape()
    model = ModeClustering(estimator).fit(X)
    assert len(model.modes_) > 2  # long shapes have many modes; the tree joins them
    assert adjusted_rand_score(y, model.cut(n_clusters=2)) > 0.95


def test_kernel_estimates_give_the_textbook_gaussian_mean_shift():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (120, 2))
    h = 0.5
    points = X.copy()
    for _ in range(5000):
        W = np.exp(-0.5 * ((points[:, None] - X) ** 2).sum(axis=2) / h**2)
        moved = W @ X / W.sum(axis=1, keepdims=True)
        change = np.abs(moved - points).max()
        points = moved
        if change < 1e-10:
            break
    assert change < 1e-10
    gaps = np.linalg.norm(points[:, None] - points, axis=2)
    assert not ((gaps > 1e-4) & (gaps < 1e-2)).any()  # ends are one point or another
    expected = np.unique(gaps < 1e-3, axis=0, return_inverse=True)[1]
    estimator = KernelDensityGradient(h)
    model = ModeClustering(estimator, prominence=0, tol=1e-6, max_iter=5000).fit(X)
    assert model.n_clusters_ == expected.max() + 1 > 3
    assert same_partition(model.labels_, expected)
    # A mode is where its rows went.
    np.testing.assert_allclose(model.modes_[model.row_modes_], points, atol=1e-6)


# --- what it promises ------------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_predicting_the_training_rows_gives_their_labels(name, X, fitted):
    model = fitted(name)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict_modes(X), model.row_modes_)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_row_is_predicted_alone_as_with_the_others(name, X, fitted):
    model = fitted(name)
    alone = np.concatenate([model.predict(row[None]) for row in X[:15]])
    np.testing.assert_array_equal(alone, model.labels_[:15])
    parts = np.concatenate([model.predict(part) for part in np.array_split(X, 3)])
    assert (parts != model.labels_).mean() <= 0.001


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_fitted_attributes_fit_together(name, X, fitted):
    model = fitted(name)
    n_modes = len(model.modes_)
    assert model.labels_.shape == model.row_modes_.shape == (len(X),)
    assert model.cluster_centers_.shape == (model.n_clusters_, 2)
    assert np.isfinite(model.modes_).all()
    np.testing.assert_array_equal(model.mode_labels_[model.row_modes_], model.labels_)
    np.testing.assert_array_equal(np.unique(model.labels_), range(model.n_clusters_))
    np.testing.assert_array_equal(np.unique(model.row_modes_), range(n_modes))
    assert len(model.merge_tree_.heights) == n_modes
    assert len(model.merge_tree_.child) == n_modes - 1
    valley = model.merge_tree_.prominence > 0
    assert valley.all() or name == "blurring"  # rows may end where there is no mode
    assert (model.merge_tree_.std_error[valley] > 0).all()
    assert 1 <= model.n_iter_ <= 1000
    assert 0 <= model.n_unconverged_ <= len(X)
    assert 0 <= model.n_guarded_ <= len(X)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_labels_are_numbered_by_size(name, fitted):
    sizes = np.bincount(fitted(name).labels_)
    assert (np.diff(sizes) <= 0).all()


def test_modes_are_sorted_by_height_and_centres_are_the_highest(bumpy):
    labels = bumpy.cut(n_clusters=4)
    height = bumpy.estimator_.log_density(bumpy.modes_)
    assert (np.diff(height) <= 0).all()
    model = clone(bumpy).set_params(prominence="auto").fit(bumpy.estimator_.centers_)
    assert len(np.unique(labels)) == 4
    height = model.estimator_.log_density(model.modes_)
    for label, center in enumerate(model.cluster_centers_):
        own = np.flatnonzero(model.mode_labels_ == label)
        top = model.modes_[own[height[own].argmax()]]
        np.testing.assert_array_equal(center, top)


@pytest.mark.parametrize(
    "name", ["default", "quasi_newton", "kernel", "separate", "every_mode"]
)
def test_labels_follow_the_rows(name, X, fitted):
    order = np.random.default_rng(0).permutation(len(X))
    moved = ModeClustering(**CONFIGURATIONS[name]).fit(X[order])
    wrong = moved.labels_ != fitted(name).labels_[order]
    assert wrong.mean() <= 0.001


@pytest.mark.parametrize("name", ["default", "fixed_point", "kernel", "separate"])
def test_single_precision_gives_the_same_labels(name, X, fitted):
    rounded = X.astype(np.float32)
    single = ModeClustering(**CONFIGURATIONS[name]).fit(rounded)
    double = ModeClustering(**CONFIGURATIONS[name]).fit(rounded.astype(np.float64))
    assert (single.labels_ == double.labels_).mean() >= 0.999
    assert (single.labels_ == fitted(name).labels_).mean() >= 0.99


@pytest.mark.parametrize("name", ["default", "quasi_newton"])
def test_the_number_of_threads_does_not_show(name):
    X, _ = three_gaussians().sample(2700, random_state=0)  # more than two blocks
    settings = CONFIGURATIONS[name]
    one, two = (ModeClustering(**settings, n_jobs=n).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.modes_, two.modes_)
    for mine, theirs in zip(one.merge_tree_, two.merge_tree_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    rows = X[:500]
    np.testing.assert_array_equal(one.membership(rows), two.membership(rows))
    np.testing.assert_array_equal(one.outlier_score(rows), two.outlier_score(rows))


@pytest.mark.parametrize("name", ["default", "fixed_point", "kernel", "separate"])
def test_a_weight_of_k_equals_k_copies(name, X):
    rows = X[:200]
    weight = np.random.default_rng(0).integers(1, 4, len(rows))
    settings = CONFIGURATIONS[name]
    weighted = ModeClustering(**settings).fit(rows, sample_weight=weight)
    copied = ModeClustering(**settings).fit(np.repeat(rows, weight, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weight), copied.labels_)
    np.testing.assert_allclose(weighted.modes_, copied.modes_, atol=1e-6)


def test_labels_are_numbered_by_weight(X):
    estimator = LogDensityGradient(bandwidth=1.2, alpha=1e-3)
    light = ModeClustering(estimator).fit(X)
    assert light.n_clusters_ == 3
    weight = np.where(light.labels_ == 2, 3.0, 1.0)
    heavy = ModeClustering(estimator, prominence=0.2).fit(X, sample_weight=weight)
    totals = np.bincount(heavy.labels_, weights=weight)
    assert (np.diff(totals) <= 0).all()
    assert (np.diff(np.bincount(heavy.labels_)) > 0).any()


@pytest.mark.parametrize("name", ["default", "fixed_point", "kernel", "separate"])
def test_rows_of_weight_zero_are_labelled_and_count_for_nothing_else(name, X):
    rng = np.random.default_rng(0)
    kept, idle = X[:300], 6.0 * rng.standard_normal((40, 2))
    rows = np.concatenate([idle, kept])
    weight = np.concatenate([np.zeros(len(idle)), np.ones(len(kept))])
    settings = CONFIGURATIONS[name]
    model = ModeClustering(**settings).fit(rows, sample_weight=weight)
    plain = ModeClustering(**settings).fit(kept)
    np.testing.assert_allclose(model.modes_, plain.modes_, atol=1e-9)
    np.testing.assert_array_equal(model.labels_[40:], plain.labels_)
    np.testing.assert_array_equal(model.labels_[:40], plain.predict(idle))
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**30])
def test_the_unit_of_the_data_does_not_change_the_labels(scale, X, fitted):
    model = ModeClustering(DIRECT).fit(X * scale)
    np.testing.assert_array_equal(model.labels_, fitted("fixed_point").labels_)
    np.testing.assert_allclose(model.modes_, fitted("fixed_point").modes_ * scale)
    np.testing.assert_allclose(
        model.merge_tree_.prominence, fitted("fixed_point").merge_tree_.prominence
    )


def test_an_offset_of_the_data_does_not_change_the_labels(X, fitted):
    model = ModeClustering(DIRECT).fit(X + 1e4)
    np.testing.assert_array_equal(model.labels_, fitted("fixed_point").labels_)


def test_a_step_size_is_in_squared_units_of_the_data(X):
    estimator = LogDensityGradient(30)
    settings = {"estimator": estimator, "ascent": "gradient", "max_iter": 5000}
    one = ModeClustering(step_size=0.2, **settings).fit(X)
    two = ModeClustering(step_size=0.2 * 64.0**2, **settings).fit(X * 64.0)
    assert one.n_iter_ == two.n_iter_
    np.testing.assert_array_equal(one.labels_, two.labels_)
    short = ModeClustering(step_size=0.02, **settings).fit(X)
    assert short.n_iter_ > 3 * one.n_iter_


def test_fits_with_one_seed_are_equal_and_another_seed_draws_other_centres(X):
    rows, climb = X[:200], {"ascent": "fixed_point"}
    one, two = (ModeClustering(random_state=3, **climb).fit(rows) for _ in range(2))
    np.testing.assert_array_equal(one.modes_, two.modes_)
    other = ModeClustering(random_state=4, **climb).fit(rows)
    assert not np.array_equal(one.modes_, other.modes_)


# --- levels ----------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.0, 0.05, 0.2, 1.0, 1e9])
def test_a_cut_at_a_prominence_is_the_fit_with_that_prominence(level, bumpy):
    X = bumpy.estimator_.centers_
    model = clone(bumpy).fit(X)
    fresh = clone(bumpy).set_params(prominence=level).fit(X)
    np.testing.assert_array_equal(model.cut(prominence=level), fresh.labels_)
    assert fresh.n_clusters_ == 1 + (model.merge_tree_.prominence >= level).sum()


def test_cuts_of_the_rows_are_nested_and_numbered_by_size(bumpy):
    n_modes = len(bumpy.modes_)
    previous = bumpy.cut(n_clusters=n_modes)
    np.testing.assert_array_equal(previous, bumpy.labels_)
    for k in range(n_modes - 1, 0, -1):
        labels = bumpy.cut(n_clusters=k)
        sizes = np.bincount(labels)
        assert len(sizes) == k
        assert sizes.sum() == len(labels)
        assert (np.diff(sizes) <= 0).all()
        for label in np.unique(previous):
            assert len(np.unique(labels[previous == label])) == 1
        previous = labels


def test_a_prominence_of_zero_keeps_every_mode(bumpy, fitted):
    for model in (bumpy, fitted("every_mode")):
        assert model.n_clusters_ == len(model.modes_)
        np.testing.assert_array_equal(
            np.sort(model.mode_labels_), range(len(model.modes_))
        )


def test_auto_merges_what_is_low_or_not_significant(bumpy):
    X = bumpy.estimator_.centers_
    model = clone(bumpy).set_params(prominence="auto").fit(X)
    tree = model.merge_tree_
    high = tree.prominence >= LEAST_PROMINENCE
    kept = high & (tree.prominence >= LEAST_SIGNIFICANCE * tree.std_error)
    assert model.n_clusters_ == 1 + kept.sum()
    assert kept.sum() < high.sum()  # errors matter here


def test_modes_of_new_rows_give_their_clusters_at_any_level(bumpy):
    rows = bumpy.estimator_.centers_
    modes = bumpy.predict_modes(rows)
    group = bumpy.merge_tree_.cut(n_clusters=3)
    assert same_partition(
        group[modes],
        bumpy.cut(n_clusters=3)[
            [np.flatnonzero(bumpy.row_modes_ == mode)[0] for mode in modes]
        ],
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either prominence or n_clusters"),
        ({"prominence": 0.1, "n_clusters": 2}, "either prominence or n_clusters"),
        ({"n_clusters": 0}, "at least 1"),
        ({"n_clusters": 10_000}, "from 1 to"),
    ],
)
def test_an_impossible_cut_is_refused(arguments, message, bumpy):
    with pytest.raises(ValueError, match=message):
        bumpy.cut(**arguments)


# --- answers about rows ----------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_memberships_sum_to_one_and_the_largest_is_the_label(name, X, fitted):
    model = fitted(name)
    rng = np.random.default_rng(0)
    rows = 5.0 * rng.standard_normal((50, 2))
    rows = np.concatenate([X[:100], rows, [[300.0, -200.0]]])
    share = model.membership(rows)
    assert share.shape == (len(rows), model.n_clusters_)
    assert (share >= 0).all()
    np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(share.argmax(axis=1), model.predict(rows))


def test_memberships_are_clear_at_the_centres_and_doubtful_between(fitted):
    model = fitted("fixed_point")
    assert model.n_clusters_ == 3
    sure = model.membership(model.cluster_centers_)
    np.testing.assert_allclose(sure, np.eye(3), atol=0.05)
    doubtful = np.sort(model.membership(model.merge_tree_.saddles[[0]])[0])[::-1]
    assert doubtful[0] < 0.75


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_outlier_scores_lie_between_zero_and_one_and_grow_outwards(name, X, fitted):
    model = fitted(name)
    score = model.outlier_score(X)
    assert score.shape == (len(X),)
    assert ((score >= 0) & (score <= 1)).all()
    centers = model.outlier_score(model.cluster_centers_)
    assert (centers < 0.3).all()
    # From the edge of the data outwards.
    away = np.array([0.0, 1.0]) * np.array([5.0, 8.0, 12.0, 20.0, 60.0, 1e3])[:, None]
    outside = model.outlier_score(away)
    assert (np.diff(outside) >= 0).all()
    assert outside[-1] > score.max()


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_paths_lead_from_the_rows_to_their_modes(name, X, fitted):
    model = fitted(name)
    rows = X[:100]
    paths = model.paths(rows)
    assert paths.shape[1:] == rows.shape
    assert np.isfinite(paths).all()
    np.testing.assert_array_equal(paths[0], rows)
    modes = model.modes_[model.predict_modes(rows)]
    gaps = np.linalg.norm((paths[-1] - modes) / model.estimator_.bandwidth_, axis=1)
    assert gaps.max() < 0.05


@pytest.mark.parametrize("name", ["fixed_point", "gradient", "quasi_newton", "kernel"])
def test_the_log_density_never_falls_along_a_path(name, X, fitted):
    model = fitted(name)
    paths = model.paths(X[:100])
    assert len(paths) > 5
    height = np.array([model.estimator_.log_density(points) for points in paths])
    assert (np.diff(height, axis=0) >= -1e-11).all()


# --- conventions -----------------------------------------------------------------


def test_fit_predict_gives_the_labels(X, fitted):
    np.testing.assert_array_equal(
        ModeClustering(DIRECT).fit_predict(X), fitted("fixed_point").labels_
    )


def test_a_pipeline_labels_what_its_last_step_labels(X):
    pipeline = make_pipeline(StandardScaler(), ModeClustering(DIRECT))
    labels = pipeline.fit_predict(X)
    scaled = StandardScaler().fit_transform(X)
    expected = ModeClustering(DIRECT).fit(scaled).labels_
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(pipeline.predict(X), labels)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_pickled_model_answers_the_same(name, X, fitted):
    model = fitted(name)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    np.testing.assert_array_equal(again.membership(X[:9]), model.membership(X[:9]))
    np.testing.assert_array_equal(
        again.outlier_score(X[:9]), model.outlier_score(X[:9])
    )
    np.testing.assert_array_equal(again.cut(n_clusters=1), model.cut(n_clusters=1))


def test_a_clone_is_unfitted_and_has_the_parameters():
    estimator = LogDensityGradient(30)
    model = ModeClustering(estimator, ascent="gradient", prominence=0.3, tol=1e-3)
    copy = clone(model)
    assert copy.estimator is not estimator
    assert copy.get_params()["estimator__n_centers"] == 30
    assert {k: v for k, v in copy.get_params().items() if k != "estimator"} == {
        k: v for k, v in model.get_params().items() if k != "estimator"
    }
    with pytest.raises(NotFittedError):
        copy.predict([[0.0, 0.0]])


def test_parameters_of_the_estimator_inside_can_be_set(X):
    model = ModeClustering(LogDensityGradient())
    model.set_params(estimator__n_centers=17, prominence=0.0)
    model.fit(X)
    assert len(model.estimator_.centers_) == 17
    assert model.get_params()["prominence"] == 0.0


def test_the_estimator_given_is_not_fitted(X):
    estimator = LogDensityGradient(20)
    model = ModeClustering(estimator).fit(X)
    assert not hasattr(estimator, "centers_")
    assert hasattr(model.estimator_, "centers_")


def test_data_frames_keep_their_names(X, fitted):
    frame = pd.DataFrame(X, columns=["length", "weight"])
    model = ModeClustering(DIRECT).fit(frame)
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.feature_names_in_, ["length", "weight"])
    np.testing.assert_array_equal(model.labels_, fitted("fixed_point").labels_)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    np.testing.assert_array_equal(model.paths(frame[:5])[0], X[:5])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["weight", "length"]])
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X)


def test_verbose_says_what_happens(X, capsys):
    ModeClustering(DIRECT).fit(X)
    assert capsys.readouterr().out == ""
    model = ModeClustering(verbose=1).fit(X)
    said = capsys.readouterr().out
    assert "[ModeClustering] climbing from 400 rows" in said
    assert f"{len(model.modes_)} modes, {model.n_clusters_} clusters" in said
    assert "[LogDensityGradient]" in said


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"ascent": "newton"}, ValueError, "ascent must be one of 'auto', 'rows'"),
        ({"ascent": None}, ValueError, "ascent must be one of"),
        ({"prominence": -1}, ValueError, "prominence must be .* at least 0"),
        ({"prominence": "high"}, TypeError, "prominence must be a number"),
        ({"prominence": np.nan}, ValueError, "prominence must be finite"),
        ({"tol": -1}, ValueError, "tol must be .* at least 0"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"max_iter": 1.5}, TypeError, "max_iter must be a whole number"),
        ({"step_size": 0}, ValueError, "step_size must be"),
        ({"step_size": "long"}, TypeError, "step_size must be a number"),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
        ({"estimator": KMeans()}, TypeError, "estimator must be a LogDensityGradient"),
        (
            {"estimator": LogDensityGradient},
            TypeError,
            "estimator must be a LogDensityGradient",
        ),
    ],
)
def test_a_bad_parameter_is_named(parameters, error, message, X):
    with pytest.raises(error, match=message):
        ModeClustering(**parameters).fit(X)


def test_rows_that_did_not_arrive_are_counted_in_a_warning(X, fitted):
    with pytest.warns(ConvergenceWarning) as caught:
        model = ModeClustering(DIRECT, max_iter=1).fit(X)
    assert len(caught) == 1
    assert 100 < model.n_unconverged_ <= 400
    message = str(caught[0].message)
    assert f"{model.n_unconverged_} of 400 rows" in message
    assert f"{model.n_guarded_} needed the safe step" in message
    assert "max_iter=1" in message
    assert caught[0].filename == __file__
    # Polishing gives them their modes all the same.
    assert model.n_iter_ == 1
    reference = fitted("fixed_point")
    assert (model.labels_ == reference.labels_).mean() > 0.9


def test_a_few_rows_that_did_not_arrive_do_not_warn(X, fitted):
    iterations = fitted("fixed_point").n_iter_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ModeClustering(DIRECT, max_iter=iterations - 1).fit(X)
    assert 1 <= model.n_unconverged_ <= 5


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, X: model.predict(X),
        lambda model, X: model.predict_modes(X),
        lambda model, X: model.membership(X),
        lambda model, X: model.outlier_score(X),
        lambda model, X: model.paths(X),
        lambda model, X: model.cut(n_clusters=1),
    ],
    ids=["predict", "predict_modes", "membership", "outlier_score", "paths", "cut"],
)
def test_an_unfitted_model_says_so(ask, X):
    with pytest.raises(NotFittedError):
        ask(ModeClustering(), X)


@pytest.mark.parametrize("method", ["predict", "membership", "outlier_score", "paths"])
def test_rows_out_of_reach_are_refused(method, fitted):
    with pytest.raises(ValueError, match="away from the others"):
        getattr(fitted("fixed_point"), method)([[1e200, 0.0]])


@pytest.mark.parametrize("method", ["predict", "membership", "outlier_score", "paths"])
def test_rows_of_another_width_are_refused(method, fitted):
    with pytest.raises(ValueError, match="3 features, but ModeClustering"):
        getattr(fitted("fixed_point"), method)([[1.0, 2.0, 3.0]])
