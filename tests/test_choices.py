"""Every choice of coefficients, basis, penalty and loss keeps one contract.

A new entry of PENALTIES or LOSSES is tested here without a line more.
"""

import numpy as np
import pytest
from sklearn.base import clone

from modeseek import LogDensityGradient, ModeClustering
from modeseek.cluster.blurring import blur
from modeseek.datasets import three_gaussians
from modeseek.field.fields import CommonField, PotentialField, SeparateField, gradient
from modeseek.gradient import GradientSettings
from modeseek.gradient.base import field_of, frame_of
from modeseek.gradient.extensions.losses import LOSSES, Rule, loss_sums
from modeseek.gradient.extensions.penalties import (
    ITERATIVE,
    NEED_TASKS,
    PENALTIES,
    POSITIVE_PENALTIES,
    quadratic_loss,
)
from modeseek.gradient.moments import Problem, compute_moments, task_scales
from modeseek.gradient.selection import search
from modeseek.gradient.state import loss_curvature_of
from modeseek.rows.blocks import one_blas_thread

D = 2
X = three_gaussians(D).sample(300, random_state=0)[0]
SEPARATE = {"coefficients": "separate"}
COMMON = {"coefficients": "separate", "basis": "common"}

CHOICES: dict[str, dict] = {
    "multitask": {"coefficients": "multitask"},
    "multitask, learned": {"coefficients": "multitask", "similarity": "learned"},
    "multitask, given": {"coefficients": "multitask", "similarity": np.eye(D)},
    "multitask, common": {"coefficients": "multitask", "basis": "common"},
}
for _penalty in PENALTIES:
    CHOICES[f"separate {_penalty}"] = {**SEPARATE, "penalty": _penalty}
    CHOICES[f"common {_penalty}"] = {**COMMON, "penalty": _penalty}
    if _penalty not in NEED_TASKS:
        CHOICES[f"shared {_penalty}"] = {"penalty": _penalty}
for _penalty in POSITIVE_PENALTIES:
    _positive = {"penalty": _penalty, "positive": True}
    CHOICES[f"shared positive {_penalty}"] = _positive
    CHOICES[f"separate positive {_penalty}"] = {**_positive, **SEPARATE}
for _loss in LOSSES:
    if _loss != "squared":
        CHOICES[f"shared {_loss}"] = {"loss": _loss}
        CHOICES[f"separate {_loss}"] = {**SEPARATE, "loss": _loss}
        CHOICES[f"common {_loss}"] = {**COMMON, "loss": _loss}

QUADRATIC = [name for name, words in CHOICES.items() if "loss" not in words]


def make(name, **more):
    return LogDensityGradient(30, **CHOICES[name], **more)


@pytest.fixture(scope="module")
def fitted():
    """Every choice fitted once, with everything left to cross-validation."""
    return {name: make(name, cv=3).fit(X) for name in CHOICES}


@pytest.mark.parametrize("name", CHOICES)
def test_shapes_are_those_of_the_centres_kept(fitted, name):
    model = fitted[name]
    b = len(model.centers_)
    assert 0 < b <= 30
    assert model.centers_.shape == (b, D)
    assert model.kept_.shape == (b,)
    shared = model.coefficients == "shared"
    assert model.coef_.shape == ((b,) if shared else (D, b))
    assert model.gradient(X).shape == X.shape
    assert model.hessian(X).shape == (*X.shape, D)
    assert hasattr(model, "log_density") == shared


@pytest.mark.parametrize("name", CHOICES)
def test_everything_is_finite(fitted, name):
    model = fitted[name]
    for array in (model.coef_, model.gradient(X), model.hessian(X), model.score(X)):
        assert np.isfinite(array).all()
    for column in model.cv_results_.values():
        assert not np.isnan(column).any()


def frame_problem(model, **more):
    """The problem that a model was fitted to, in its frame, with all centres drawn."""
    drawn = LogDensityGradient(30).fit(X).centers_
    frame = frame_of(model)
    Z = frame.enter(X)
    problem = Problem(
        read=lambda part: Z[part],
        n_rows=len(Z),
        centers=frame.enter(drawn),
        base=np.zeros(D),
        shared=model.coefficients == "shared",
        common=model.basis == "common",
        **more,
    )
    theta = np.zeros((len(np.atleast_2d(model.coef_)), 30))
    theta[:, model.kept_] = field_of(model).theta
    return problem, theta


@pytest.mark.parametrize("name", CHOICES)
def test_the_training_loss_is_below_that_of_zero_coefficients(fitted, name):
    model = fitted[name]
    problem, theta = frame_problem(model)
    if loss_curvature_of(model) is None:
        value = quadratic_loss(*model.moments_.mean(), theta[:, :, None])[0]
        assert value < 0.0
        assert value == pytest.approx(
            -model.score(X) * frame_of(model).unit ** 2, rel=1e-8
        )
    else:
        rule = loss_curvature_of(model).rule
        value = loss_sums(problem, rule, theta, second=False).value.sum()
        zero = loss_sums(problem, rule, 0 * theta, second=False).value.sum()
        assert value < zero


@pytest.mark.parametrize("name", CHOICES)
def test_hessians_are_finite_differences_of_gradients(fitted, name):
    model, step = fitted[name], 1e-5
    H = model.hessian(X[:20])
    for j in range(D):
        move = step * np.eye(D)[j]
        up, down = model.gradient(X[:20] + move), model.gradient(X[:20] - move)
        numeric = (up - down) / (2 * step)
        np.testing.assert_allclose(H[:, :, j], numeric, rtol=1e-4, atol=1e-4)


FOLD = np.arange(len(X)) % 3
LAMS = np.array([1e-3, 0.03])


def make_field(problem, widths, theta):
    if problem.shared:
        return PotentialField(problem.centers, widths, theta[0], problem.base)
    kind = CommonField if problem.common else SeparateField
    return kind(problem.centers, widths, theta)


@pytest.mark.parametrize("name", QUADRATIC)
def test_hold_out_losses_by_moments_are_those_by_rows(fitted, name):
    model = fitted[name]
    choice = GradientSettings("cv", **CHOICES[name]).choice()
    lams = np.column_stack([LAMS, [0.1, 1.0]]) if choice.multitask else LAMS
    problem, _ = frame_problem(model, fold=FOLD, n_folds=3)
    widths = field_of(model).widths
    scales = task_scales(widths, problem.shared, problem.common)
    scores = search(problem, widths[None], lams, choice.penalty)
    moments = compute_moments(problem, widths, np.ones(1))
    Z = problem.read(slice(None))
    for k in range(3):
        train, judges = moments.without(0, k).mean(), Z[k == FOLD]
        with one_blas_thread():  # as in the search: some penalties iterate
            theta = choice.penalty(*train, scales, lams)
        for a in range(len(lams)):
            field = make_field(problem, widths, theta[:, :, a])
            g = gradient(field, field.evaluate(judges))
            by_rows = (g**2).sum(axis=1) + 2 * field.divergence(judges, np.ones(D))
            loss = scores.fold_loss[0, a, k]
            assert loss == pytest.approx(by_rows.mean(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", CHOICES)
def test_clusters_are_found_with_every_choice(name):
    common = CHOICES[name].get("basis") == "common"
    model = ModeClustering(
        make(name, bandwidth=1.8, alpha=1e-3, **gamma_of(name)),
        ascent="quasi_newton" if common else "fixed_point",
    ).fit(X)
    assert model.n_unconverged_ <= 3
    assert (model.merge_tree_.std_error >= 0).all()
    assert np.isfinite(model.merge_tree_.std_error).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if "centers" not in name and "features" not in name:
        assert model.n_clusters_ == 3


def gamma_of(name):
    return {"gamma": 1e-4} if "multitask" in name else {}


@pytest.mark.parametrize("name", CHOICES)
def test_models_follow_the_unit_of_the_data(name):
    settings = {"alpha": 1e-3, **gamma_of(name)}
    model = make(name, bandwidth=1.8, **settings).fit(X)
    scaled = make(name, bandwidth=1.8 * 16, **settings).fit(16 * X)
    np.testing.assert_allclose(
        16 * scaled.gradient(16 * X), model.gradient(X), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("name", CHOICES)
def test_a_constant_feature_changes_nothing(name):
    settings = {"bandwidth": 1.8, "alpha": 1e-3, **gamma_of(name)}
    model = make(name, **settings).fit(X)
    padded = np.column_stack([X, np.full(len(X), 3.0)])
    wider = make(name, **settings)
    if "given" in name:
        wider.set_params(similarity=np.eye(3))
    g = wider.fit(padded).gradient(padded)
    np.testing.assert_array_equal(g[:, 2], 0.0)
    # Penalties that iterate end a little apart.
    tolerance = 1e-3 if wider.penalty in ITERATIVE else 1e-7
    np.testing.assert_allclose(
        g[:, :2], model.gradient(X), rtol=tolerance, atol=tolerance
    )


def test_a_function_is_taken_as_a_penalty():
    settings = {"bandwidth": 1.8, "alpha": 1e-3}
    named = LogDensityGradient(30, penalty="l1", **settings).fit(X)
    given = LogDensityGradient(30, penalty=PENALTIES["l1"], **settings)
    np.testing.assert_array_equal(clone(given).fit(X).coef_, named.coef_)


BOTH = {"coefficients": "shared", "basis": "common"}
REFUSED = {
    "shared common": (BOTH, "every feature the same gradient"),
    "positive common": ({**COMMON, "positive": True}, "nowhere negative"),
    "multitask l1": (
        {"coefficients": "multitask", "penalty": "l1"},
        'multitask" goes with penalty="ridge"',
    ),
    "multitask positive": (
        {"coefficients": "multitask", "positive": True},
        'positive=True goes with penalty="ridge" or "l1"',
    ),
    "shared features": ({"penalty": "features"}, 'needs coefficients="separate"'),
    "positive centers": (
        {**SEPARATE, "penalty": "centers", "positive": True},
        "positive=True goes with",
    ),
    "loss and l1": ({"loss": "log_cosh", "penalty": "l1"}, "which only loss="),
    "loss and positive": ({"loss": "log_cosh", "positive": True}, "positive=False"),
    "loss and multitask": (
        {"loss": "log_cosh", "coefficients": "multitask"},
        "goes with coefficients",
    ),
    "learned widths": (
        {"penalty": "l1", "bandwidth": "learned"},
        'bandwidth="learned" needs',
    ),
    "unknown penalty": ({"penalty": "lasso"}, "penalty must be one of 'ridge', 'l1'"),
    "unknown loss": ({"loss": "huber"}, "loss must be one of 'squared'"),
    "unknown selection": ({"selection": "best"}, "selection must be one of 'one_se'"),
    "unknown basis": ({"basis": "plain"}, "basis must be one of"),
    "negative gamma": (
        {"coefficients": "multitask", "gamma": -1.0},
        "gamma must lie between 0",
    ),
    "no gamma": ({"coefficients": "multitask", "gamma": []}, "gamma has shape"),
    "similarity of another size": (
        {"coefficients": "multitask", "similarity": np.eye(3)},
        r"shape \(2, 2\)",
    ),
    "asymmetric similarity": (
        {"coefficients": "multitask", "similarity": [[1, 0.5], [0.2, 1]]},
        "symmetric",
    ),
    "unknown similarity": (
        {"coefficients": "multitask", "similarity": "same"},
        "similarity must be one of 'ones', 'learned'",
    ),
}


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED)
def test_words_that_do_not_go_together_are_refused(words, message):
    with pytest.raises(ValueError, match=message):
        LogDensityGradient(**words).fit(X)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"positive": "yes"}, "positive must be True or False"),
        ({"coefficients": "multitask", "gamma": "much"}, "gamma must be 'cv'"),
        ({"coefficients": "multitask", "similarity": [["a"]]}, "an array of numbers"),
    ],
)
def test_parameters_of_another_type_are_refused(words, message):
    with pytest.raises(TypeError, match=message):
        LogDensityGradient(**words).fit(X)


@pytest.mark.parametrize("ascent", ["fixed_point", "blurring"])
def test_a_common_basis_has_no_fixed_point(ascent):
    with pytest.raises(ValueError, match="weighted mean of centres"):
        ModeClustering(LogDensityGradient(**COMMON), ascent=ascent).fit(X)


def test_blurring_holds_the_strength_between_tasks_fixed():
    estimator = LogDensityGradient(30, coefficients="multitask")
    model = ModeClustering(estimator, ascent="blurring").fit(X)
    used = blur(model.estimator_, X, None).used
    gammas = {e.gamma_ for e in used}
    assert len(used) == len(model._landscape.rounds) > 1
    assert gammas == {model.estimator_.gamma_}


def test_automatic_widths_standardise_every_choice():
    scaled = X * [1.0, 50.0]
    for words in ({"penalty": "l1"}, {"coefficients": "multitask"}, COMMON):
        model = LogDensityGradient(30, bandwidth="auto", **words).fit(scaled)
        relative = model.bandwidth_ / scaled.std(axis=0)
        np.testing.assert_allclose(relative, relative[0], rtol=1e-10)


def test_a_loss_of_its_own_is_chosen_by_its_own_hold_out_loss(fitted):
    model = fitted["shared even_power"]
    results = model.cv_results_
    best = results["along_mean_test_loss"].argmin()
    assert model.alpha_ == results["along_alpha"][best]
    assert isinstance(loss_curvature_of(model).rule, Rule)
