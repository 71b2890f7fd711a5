"""Gradient estimators as users meet them; most claims hold for all three models."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

from modeseek import KernelDensityGradient, LogDensityGradient
from modeseek.datasets import gaussian, three_gaussians

ESTIMATORS = {
    "shared": LogDensityGradient(n_centers=20),
    "separate": LogDensityGradient(n_centers=20, coefficients="separate"),
    "kernel": KernelDensityGradient(),
}
DIRECT = ["shared", "separate"]
CHOSEN = ["bandwidth_", "alpha_", "centers_", "coef_"]


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return clone(ESTIMATORS[request.param])


@pytest.fixture(params=DIRECT)
def direct(request):
    return clone(ESTIMATORS[request.param])


@pytest.fixture(scope="module")
def X():
    return three_gaussians(3).sample(200, random_state=0)[0] * [1.0, 0.5, 2.0]


@pytest.fixture(scope="module")
def fresh():
    return three_gaussians(3).sample(15, random_state=1)[0]


def same_model(one, two, rtol=1e-9):
    """Whether two fits chose the same and have the same coefficients."""
    np.testing.assert_allclose(one.bandwidth_, two.bandwidth_, rtol=1e-12)
    assert getattr(one, "alpha_", None) == getattr(two, "alpha_", None)
    np.testing.assert_allclose(one.centers_, two.centers_, rtol=1e-12, atol=1e-12)
    scale = np.abs(two.coef_).max()
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=rtol, atol=rtol * scale)
    assert one.cv_results_.keys() == two.cv_results_.keys()
    for name, column in one.cv_results_.items():
        np.testing.assert_allclose(column, two.cv_results_[name], rtol=1e-6, atol=1e-9)


def squared_error(model, truth, rows):
    return ((model.gradient(rows) - truth.gradient(rows)) ** 2).sum(axis=1).mean()


# --- truth -------------------------------------------------------------------------


@pytest.mark.parametrize("coefficients", ["shared", "separate"])
@pytest.mark.parametrize("d", [3, 5])
def test_gradient_of_the_normal_distribution_is_minus_x(coefficients, d):
    truth = gaussian(d)
    X, _ = truth.sample(600, random_state=0)
    fresh, _ = truth.sample(500, random_state=1)
    error = squared_error(
        LogDensityGradient(coefficients=coefficients).fit(X), truth, fresh
    )
    assert error < 0.02 * d  # of a mean square of d
    assert error < 0.15 * squared_error(KernelDensityGradient().fit(X), truth, fresh)


@pytest.mark.parametrize("seed", range(3))
def test_log_density_of_the_normal_distribution_is_a_parabola(seed):
    X = gaussian(1).sample(2000, random_state=seed)[0]
    line = np.linspace(-2, 2, 21)[:, None]
    difference = LogDensityGradient().fit(X).log_density(line) + line[:, 0] ** 2 / 2
    assert np.ptp(difference) < 0.5  # of a range of 2


def test_gradient_points_to_the_modes_of_a_mixture():
    truth = three_gaussians(2)
    model = LogDensityGradient().fit(truth.sample(1000, random_state=0)[0])
    rows = truth.means[:, None] + np.array([[0.7, 0], [-0.7, 0], [0, 0.7], [0, -0.7]])
    toward = truth.means[:, None] - rows
    cosine = model.gradient(rows.reshape(-1, 2)) * toward.reshape(-1, 2)
    assert (cosine.sum(axis=1) > 0).all()


# --- derivatives -------------------------------------------------------------------


def differences(function, points, step):
    columns = []
    for j in range(points.shape[1]):
        shift = np.zeros(points.shape[1])
        shift[j] = step
        above, below = function(points + shift), function(points - shift)
        columns.append((above - below) / (2 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize(("unit", "origin"), [(1.0, 0.0), (50.0, 3000.0)])
@pytest.mark.parametrize("name", ["shared", "kernel"])
def test_gradient_is_the_finite_difference_of_the_log_density(
    name, unit, origin, X, fresh
):
    model = clone(ESTIMATORS[name]).fit(unit * X + origin)
    rows = unit * fresh + origin
    numeric = differences(model.log_density, rows, 1e-4 * unit)
    np.testing.assert_allclose(model.gradient(rows), numeric, atol=1e-6 / unit)


@pytest.mark.parametrize(("unit", "origin"), [(1.0, 0.0), (50.0, 3000.0)])
def test_hessian_is_the_finite_difference_of_the_gradient(
    estimator, unit, origin, X, fresh
):
    model = estimator.fit(unit * X + origin)
    rows = unit * fresh + origin
    numeric = differences(model.gradient, rows, 1e-4 * unit)
    np.testing.assert_allclose(model.hessian(rows), numeric, atol=1e-6 / unit**2)


def test_separate_coefficients_have_no_log_density(X):
    model = clone(ESTIMATORS["separate"])
    assert not hasattr(model, "log_density")
    assert not hasattr(model.fit(X), "log_density")
    assert hasattr(ESTIMATORS["shared"], "log_density")


# --- score -------------------------------------------------------------------------


def test_score_is_the_negative_loss_row_by_row(estimator, X, fresh):
    model = estimator.fit(X)
    weight = np.arange(1.0, len(fresh) + 1)
    losses = []
    for row in fresh:
        g, H = model.gradient([row])[0], model.hessian([row])[0]
        losses.append(sum(g**2) + 2 * sum(H[j, j] for j in range(len(g))))
    assert model.score(fresh) == pytest.approx(-np.mean(losses), rel=1e-9)
    expected = -np.average(losses, weights=weight)
    assert model.score(fresh, sample_weight=weight) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", DIRECT)
@pytest.mark.parametrize("factor", [0.5, 0.8, 1.25, 2.0])
def test_score_prefers_the_gradient_at_its_true_scale(name, factor):
    truth = gaussian(2)
    model = clone(ESTIMATORS[name]).fit(truth.sample(2000, random_state=0)[0])
    rows = truth.sample(3000, random_state=1)[0]
    at_scale = model.score(rows)
    model.coef_ = model.coef_ * factor
    assert model.score(rows) < at_scale


def test_score_estimates_the_squared_error_up_to_a_constant():
    truth = gaussian(2)
    X, _ = truth.sample(300, random_state=0)
    rows, _ = truth.sample(20_000, random_state=1)
    models = [
        LogDensityGradient(bandwidth=b, alpha=1e-3).fit(X) for b in (0.4, 1.0, 4.0)
    ]
    errors = np.array([squared_error(m, truth, rows) for m in models])
    scores = np.array([m.score(rows) for m in models])
    constant = (truth.gradient(rows) ** 2).sum(axis=1).mean()
    assert (np.diff(errors) < -0.3).all()
    np.testing.assert_allclose(errors, constant - scores, rtol=0.1, atol=0.05)


# --- weights, order, precision, unit -----------------------------------------------


def test_a_weight_of_k_equals_k_copies(estimator, X):
    copies = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = clone(estimator).fit(X, sample_weight=copies)
    same_model(weighted, clone(estimator).fit(np.repeat(X, copies, axis=0)))


def test_a_weight_of_zero_equals_absence(estimator, X):
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    far = np.where(weight[:, None] == 0, 1e250, X)  # what is absent may be anything
    same_model(
        clone(estimator).fit(far, sample_weight=weight),
        clone(estimator).fit(X[weight > 0], sample_weight=weight[weight > 0]),
    )


def test_one_number_weighs_every_row_alike(estimator, X):
    one = clone(estimator).fit(X, sample_weight=2.0)
    same_model(one, clone(estimator).fit(X, sample_weight=np.full(len(X), 2.0)))


def test_one_overwhelming_weight_gives_finite_models(estimator, X):
    weight = np.ones(len(X))
    weight[17] = 1e30
    model = estimator.fit(X, sample_weight=weight)
    assert np.isfinite(model.coef_).all()
    assert all(np.isfinite(column).all() for column in model.cv_results_.values())


def test_models_do_not_depend_on_row_order(estimator, X):
    order = np.random.default_rng(0).permutation(len(X))
    same_model(clone(estimator).fit(X), clone(estimator).fit(X[order]))


def test_models_agree_between_single_and_double_precision(estimator, X):
    single = X.astype(np.float32)
    same_model(clone(estimator).fit(single), clone(estimator).fit(single.astype(float)))
    one, two = clone(estimator).fit(single), clone(estimator).fit(X)
    np.testing.assert_allclose(one.centers_, two.centers_, rtol=1e-6)
    assert getattr(one, "alpha_", None) == getattr(two, "alpha_", None)
    assert one.gradient(single).dtype == np.float64


@pytest.mark.parametrize(
    ("unit", "origin"), [(2.0**40, 0.0), (1e-3, 0.0), (1.0, 20.0), (-7.0, 5.0)]
)
def test_models_follow_the_unit_and_the_origin_of_the_data(
    estimator, unit, origin, X, fresh
):
    base, moved = clone(estimator).fit(X), clone(estimator).fit(unit * X + origin)
    # A different unit may round another way, and penalties of 1e-6 show it.
    close = {"rtol": 1e-4, "atol": 1e-6}
    size = abs(unit)
    np.testing.assert_allclose(moved.bandwidth_, size * base.bandwidth_, rtol=1e-9)
    np.testing.assert_allclose(moved.centers_, unit * base.centers_ + origin, rtol=1e-9)
    rows = unit * fresh + origin
    np.testing.assert_allclose(
        unit * moved.gradient(rows), base.gradient(fresh), **close
    )
    np.testing.assert_allclose(
        unit**2 * moved.hessian(rows), base.hessian(fresh), **close
    )
    assert unit**2 * moved.score(rows) == pytest.approx(base.score(fresh), rel=1e-4)


def test_results_are_bit_identical_for_any_number_of_threads(estimator):
    X = three_gaussians(2).sample(2100, random_state=0)[0]
    if isinstance(estimator, LogDensityGradient):
        X = np.vstack([X] * 5) + np.linspace(0, 0.1, 5 * len(X))[:, None]
    models = [clone(estimator).set_params(n_jobs=n).fit(X) for n in (1, 2, None)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        np.testing.assert_array_equal(model.bandwidth_, models[0].bandwidth_)
        for name, column in model.cv_results_.items():
            np.testing.assert_array_equal(column, models[0].cv_results_[name])
        for ask in ("gradient", "hessian", "score"):
            rows = X[:2000] if ask == "hessian" else X
            np.testing.assert_array_equal(
                getattr(model, ask)(rows), getattr(models[0], ask)(rows)
            )


def test_rows_do_not_depend_on_their_neighbours(estimator, X, fresh):
    model = estimator.fit(X)
    many = np.vstack([fresh] * 700)  # more than one block
    expected = np.vstack([model.gradient(row[None]) for row in fresh])
    np.testing.assert_allclose(
        model.gradient(many), np.vstack([expected] * 700), rtol=1e-9, atol=1e-12
    )


# --- choosing ----------------------------------------------------------------------


def test_centres_are_rows(direct, X):
    model = direct.fit(X)
    assert model.centers_.shape == (20, 3)
    nearest = np.abs(model.centers_[:, None] - X).max(axis=2).argmin(axis=1)
    np.testing.assert_allclose(model.centers_, X[nearest], atol=1e-14)
    assert len(set(nearest)) == 20


def test_auto_draws_a_hundred_centres_or_half_of_the_distinct_rows():
    X = gaussian(2).sample(250, random_state=0)[0]
    assert len(LogDensityGradient().fit(X).centers_) == 100
    assert len(LogDensityGradient().fit(X[:61]).centers_) == 30
    assert len(LogDensityGradient().fit(np.vstack([X[:61]] * 5)).centers_) == 30


def test_the_winner_is_allowed_and_no_narrower_than_the_smallest_loss(direct, X):
    model = direct.fit(X)
    results = model.cv_results_
    loss = np.where(results["allowed"][:, None], results["mean_test_loss"], np.inf)
    best, _ = np.unravel_index(loss.argmin(), loss.shape)
    (i,) = np.flatnonzero((results["bandwidth"] == model.bandwidth_).all(axis=1))
    assert i <= best  # widest first
    assert results["allowed"][i]
    assert model.alpha_ == results["alpha"][loss[i].argmin()]
    assert results["bandwidth"].shape == (len(loss), 3)
    assert results["std_test_loss"].shape == loss.shape
    assert results["n_neighbors"].shape == (len(loss),)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bandwidth": [0.5, 1.0, 2.0, 4.0, 8.0, 30.0]},
        {"coefficients": "separate"},
        {"bandwidth": "auto"},  # far apart, so that no widths are learned
    ],
)
def test_min_selects_the_smallest_loss_that_is_allowed(options):
    moved = False
    for seed in (0, 4):
        rows, component = three_gaussians().sample(150, random_state=seed)
        rows = rows + 5.0 * component[:, None]
        model = LogDensityGradient(n_centers=30, selection="min", **options).fit(rows)
        results, best = model.cv_results_, (np.inf, None, None)
        for i in np.flatnonzero(results["allowed"]):
            for j, alpha in enumerate(results["alpha"]):
                tried = results["mean_test_loss"][i, j], i, alpha
                best = min(best, tried, key=lambda one: one[0])
        np.testing.assert_array_equal(model.bandwidth_, results["bandwidth"][best[1]])
        assert model.alpha_ == best[2]
        cautious = clone(model).set_params(selection="one_se").fit(rows)
        assert (cautious.bandwidth_ >= model.bandwidth_).all()
        moved |= bool((cautious.bandwidth_ > model.bandwidth_).any())
    assert moved


def test_learned_widths_take_the_selection_for_their_grid(X):
    for selection in ("one_se", "min"):
        model = LogDensityGradient(
            n_centers=20, bandwidth="learned", selection=selection
        )
        assert model.fit(X).settings_.selection == selection


def printed_model(C, rows, bandwidth, alpha, shared):
    """Coefficients by the paper's formulas, in the unit of the data."""
    psi, slope = printed_basis(C, rows, bandwidth)
    G = np.einsum("zij,zkj->jik", psi, psi) / len(rows)
    h = slope.mean(axis=0).T
    if shared:
        G, h = G.sum(axis=0, keepdims=True), h.sum(axis=0, keepdims=True)
    ridge = alpha / bandwidth**2 * np.eye(len(C))
    return -np.linalg.solve(G + ridge, h[:, :, None])[:, :, 0]


def printed_basis(C, rows, bandwidth):
    step = (C - rows[:, None]) / bandwidth**2  # (z, i, j)
    phi = np.exp(-0.5 * (step**2).sum(axis=2, keepdims=True) * bandwidth**2)
    return step * phi, (step**2 - 1 / bandwidth**2) * phi


def printed_loss(theta, C, rows, bandwidth):
    """Mean of |g|^2 + 2 div g, row by row."""
    psi, slope = printed_basis(C, rows, bandwidth)
    theta = np.broadcast_to(theta, (rows.shape[1], len(C)))
    g = np.einsum("zij,ji->zj", psi, theta)
    divergence = np.einsum("zij,ji->z", slope, theta)
    return np.mean((g**2).sum(axis=1) + 2 * divergence)


@pytest.mark.parametrize("unit", [1.0, 30.0])
def test_fixed_parameters_give_the_printed_solution(direct, unit, X):
    rows, bandwidth, alpha = unit * X, 1.3 * unit, 0.02
    model = direct.set_params(bandwidth=bandwidth, alpha=alpha).fit(rows)
    shared = direct.coefficients == "shared"
    theta = printed_model(model.centers_, rows, bandwidth, alpha, shared)
    expected = theta[0] if shared else theta
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-8, atol=1e-8 * scale)
    assert model.score(rows) == pytest.approx(
        -printed_loss(theta, model.centers_, rows, bandwidth), rel=1e-8
    )


@pytest.mark.filterwarnings("ignore:The chosen")
@pytest.mark.parametrize("unit", [1.0, 30.0])
def test_reported_losses_are_those_of_printed_solutions_without_a_fold(direct, unit, X):
    rows, widths, alphas = unit * X, np.array([4.0, 2.0, 1.0]) * unit, [0.01, 0.1, 1]
    splits = list(KFold(4, shuffle=True, random_state=0).split(rows))
    direct.set_params(bandwidth=widths, alpha=alphas, cv=splits)
    model = direct.fit(rows)
    C = model.centers_
    is_center = (np.abs(C[:, None] - rows).max(axis=2) < 1e-9 * unit).any(axis=0)
    for i, width in enumerate(widths):
        for j, alpha in enumerate(alphas):
            losses, sizes = [], []
            for _, test in splits:
                judges = test[~is_center[test]]
                train = np.delete(rows, judges, axis=0)
                theta = printed_model(
                    C, train, width, alpha, direct.coefficients == "shared"
                )
                losses.append(printed_loss(theta, C, rows[judges], width))
                sizes.append(len(judges))
            expected = np.average(losses, weights=sizes)
            loss = model.cv_results_["mean_test_loss"][i, j]
            assert loss == pytest.approx(expected, rel=1e-8)


def test_splits_that_are_folds_are_taken_from_a_generator_or_a_list(estimator, X):
    folds = KFold(3, shuffle=True, random_state=0)
    one = clone(estimator).set_params(cv=folds).fit(X)
    same_model(one, clone(estimator).set_params(cv=list(folds.split(X))).fit(X))


@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(3, random_state=0),
        [(np.arange(50), np.arange(150, 200))],
        [(np.arange(100, 200), np.arange(100)), (np.arange(100), np.arange(99, 200))],
    ],
    ids=["overlapping", "not the rest", "one row twice"],
)
def test_splits_that_are_no_folds_are_refused(estimator, cv, X):
    with pytest.raises(ValueError, match="train on all the rest"):
        estimator.set_params(cv=cv).fit(X)


def test_numbers_are_taken_as_they_are(direct, X):
    model = direct.set_params(bandwidth=2.0, alpha=0.1).fit(X)
    np.testing.assert_allclose(model.bandwidth_, [2.0, 2.0, 2.0], rtol=1e-15)
    assert model.alpha_ == 0.1
    assert model.cv_results_ == {}


@pytest.mark.filterwarnings("ignore:The chosen")
def test_candidates_are_chosen_among(direct, X):
    direct.set_params(bandwidth=[3.0, 50.0, 1.5, 0.1], alpha=[1e3, 0.1, 1e-9])
    model = direct.fit(X)
    results = model.cv_results_
    np.testing.assert_allclose(results["bandwidth"][:, 0], [50.0, 3.0, 1.5, 0.1])
    np.testing.assert_array_equal(results["alpha"], [1e-9, 0.1, 1e3])
    np.testing.assert_array_equal(results["allowed"], [True, True, True, False])
    loss = results["mean_test_loss"][:3]
    i, j = np.unravel_index(loss.argmin(), loss.shape)
    assert model.bandwidth_[0] == results["bandwidth"][i, 0]
    assert model.alpha_ == results["alpha"][j]


def test_one_candidate_list_leaves_the_other_parameter_alone(direct, X):
    model = clone(direct).set_params(bandwidth=2.0).fit(X)
    np.testing.assert_allclose(model.cv_results_["bandwidth"], [[2.0] * 3])
    assert len(model.cv_results_["alpha"]) == 15
    model = clone(direct).set_params(alpha=0.01).fit(X)
    assert model.cv_results_["mean_test_loss"].shape[1] == 1
    assert model.alpha_ == 0.01


def test_candidates_may_have_a_width_for_each_feature(estimator, X):
    candidates = np.array([[1.0, 0.5, 2.0], [2.0, 1.0, 4.0], [9.0, 0.1, 0.1]])
    model = estimator.set_params(bandwidth=candidates).fit(X)
    assert model.bandwidth_.tolist() in candidates[:2].tolist()
    assert sorted(model.cv_results_["bandwidth"].tolist()) == sorted(
        candidates.tolist()
    )


# --- warnings ----------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", [[0.2, 0.1], [500.0, 100.0], [100.0, 500.0]])
def test_a_width_at_the_edge_of_given_candidates_warns(direct, bandwidth, X):
    with pytest.warns(UserWarning, match="chosen bandwidth is the first or last"):
        direct.set_params(bandwidth=bandwidth, alpha=0.1).fit(X)


@pytest.mark.parametrize("alpha", [[1e3, 1e4], [1e-14, 1e-13]])
def test_a_penalty_at_the_edge_of_given_candidates_warns(direct, alpha, X):
    with pytest.warns(UserWarning, match="chosen alpha is the first or last"):
        direct.set_params(bandwidth=2.0, alpha=alpha).fit(X)


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 0, 1]])
def test_a_width_between_given_candidates_does_not_warn(direct, order, X):
    candidates = np.array([100.0, 2.0, 0.1])
    model = direct.set_params(bandwidth=candidates[order], alpha=0.1).fit(X)
    assert model.bandwidth_[0] == pytest.approx(2.0)


def test_more_centres_than_rows_allow_warn_and_are_cut(direct, X):
    direct.set_params(n_centers=150)
    with pytest.warns(UserWarning, match="100 are used"):
        assert len(direct.fit(X).centers_) == 100


def test_every_row_may_be_a_centre_when_nothing_is_chosen(direct, X):
    model = direct.set_params(n_centers=200, bandwidth=1.0, alpha=0.1).fit(X)
    assert len(model.centers_) == 200
    with pytest.warns(UserWarning, match="200 are used"):
        direct.set_params(n_centers=201).fit(X)


# --- scikit-learn's manners --------------------------------------------------------


def test_the_seed_fixes_the_model_and_another_gives_others(direct, X):
    same_model(clone(direct).fit(X), clone(direct).fit(X), rtol=0)
    generator = clone(direct).set_params(random_state=np.random.RandomState(0)).fit(X)
    same_model(clone(direct).fit(X), generator, rtol=0)
    other = clone(direct).set_params(random_state=1).fit(X)
    assert not np.array_equal(other.centers_, generator.centers_)


def test_fitting_again_forgets_the_first_fit(estimator, X):
    twice = clone(estimator).fit(X[:50, :2]).fit(X)
    same_model(twice, clone(estimator).fit(X), rtol=0)


def test_pickles_and_clones_keep_what_they_should(estimator, X, fresh):
    model = estimator.fit(X)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.gradient(fresh), model.gradient(fresh))
    unfitted = clone(model)
    assert unfitted.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        unfitted.gradient(fresh)


def test_parameters_are_set_by_their_names():
    model = LogDensityGradient().set_params(bandwidth=2.0, n_centers=7, cv=3)
    assert (model.bandwidth, model.n_centers, model.cv) == (2.0, 7, 3)
    assert set(model.get_params()) == {
        "n_centers",
        "centers",
        "bandwidth",
        "alpha",
        "penalty_scale",
        "coefficients",
        "basis",
        "penalty",
        "positive",
        "gamma",
        "similarity",
        "loss",
        "loss_power",
        "cv",
        "selection",
        "random_state",
        "n_jobs",
        "verbose",
    }
    assert set(KernelDensityGradient().get_params()) == {
        "bandwidth",
        "cv",
        "random_state",
        "n_jobs",
        "verbose",
    }


def test_score_makes_a_grid_search_choose(X):
    grid = {"bandwidth": [0.1, 2.0, 300.0]}
    search = GridSearchCV(LogDensityGradient(n_centers=20, alpha=0.01), grid, cv=3)
    assert search.fit(X).best_params_ == {"bandwidth": 2.0}


def test_verbose_prints_what_was_chosen(estimator, X, capsys):
    estimator.fit(X)
    assert capsys.readouterr().out == ""
    estimator.set_params(verbose=1).fit(X)
    printed = capsys.readouterr().out
    assert type(estimator).__name__ in printed
    assert "bandwidth" in printed
