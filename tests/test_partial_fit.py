"""Adding rows: the moments of all, for what the first rows chose."""

import numpy as np
import pytest

from modeseek import LogDensityGradient
from modeseek.datasets import three_gaussians
from modeseek.gradient.base import frame_of
from modeseek.gradient.extensions.penalties import solve
from modeseek.gradient.moments import Problem, compute_moments, task_scales
from modeseek.gradient.settings import read_settings
from modeseek.gradient.state import penalty_of

X = three_gaussians(3).sample(900, random_state=0)[0]
WEIGHT = np.random.default_rng(0).uniform(0.5, 3.0, len(X))
FIRST, MORE = slice(0, 400), [slice(400, 401), slice(401, 750), slice(750, 900)]

KINDS = {
    "default": {},
    "auto": {"bandwidth": "auto"},
    "separate": {"coefficients": "separate"},
    "common": {"coefficients": "separate", "basis": "common"},
    "multitask": {"coefficients": "multitask", "gamma": 0.1},
    "l1": {"penalty": "l1"},
}


def make(**parameters):
    return LogDensityGradient(40, **parameters)


def in_parts(weight=None, **parameters):
    model = make(**parameters)
    for part in [FIRST, *MORE]:
        w = None if weight is None else weight[part]
        assert model.partial_fit(X[part], sample_weight=w) is model
    return model


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_moments_are_those_of_one_pass_over_all_rows(kind, weight):
    model = in_parts(weight, **KINDS[kind])
    w = None if weight is None else weight[FIRST]
    first = make(**KINDS[kind]).fit(X[FIRST], sample_weight=w)
    frame = frame_of(first)
    problem = Problem(
        read=lambda rows: frame.enter(X[rows]),
        n_rows=len(X),
        centers=first._drawn,
        base=first._base,
        shared=first.coefficients == "shared",
        common=first.basis == "common",
        weight=weight,
    )
    widths = first.bandwidth_ / frame.unit
    whole = compute_moments(problem, widths, np.ones(1))[0, 0]
    for added, summed in zip(model.moments_.arrays(), whole.arrays(), strict=True):
        scale = np.abs(summed).max()
        np.testing.assert_allclose(added, summed, rtol=1e-10, atol=1e-10 * scale)
    choice = read_settings(first, X.shape[1]).choice()
    scales = task_scales(widths, problem.shared, problem.common)
    lam = penalty_of(first)
    theta = solve(whole, scales, lam, choice.penalty)[:, model.kept_]
    unit = frame.unit if problem.common else 1.0
    np.testing.assert_allclose(np.atleast_2d(model.coef_) * unit, theta, rtol=1e-6)


def test_a_first_call_is_a_fit():
    one, two = LogDensityGradient().partial_fit(X), LogDensityGradient().fit(X)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.feature_relevance_, two.feature_relevance_)


def test_rows_are_added_after_a_fit():
    model = LogDensityGradient().fit(X[FIRST])
    before = model.coef_.copy()
    model.partial_fit(X[400:])
    assert model.moments_.weight == len(X)
    assert (model.coef_ != before).all()


def test_parts_that_are_alike_leave_a_gradient_like_that_of_all_rows():
    toy = three_gaussians(2)
    rows = toy.sample(6000, random_state=1)[0]
    added = LogDensityGradient().fit(rows[:3000]).partial_fit(rows[3000:])
    test = toy.sample(2000, random_state=2)[0]
    first = LogDensityGradient().fit(rows[:3000])
    assert added.score(test) > first.score(test)


def test_what_the_first_call_chose_stays():
    model = in_parts(bandwidth="auto")
    first = make(bandwidth="auto").fit(X[FIRST])
    np.testing.assert_array_equal(model.bandwidth_, first.bandwidth_)
    np.testing.assert_array_equal(model.centers_, first.centers_)
    np.testing.assert_array_equal(model.gaussian_base_, first.gaussian_base_)
    np.testing.assert_array_equal(model._origin, first._origin)
    assert model.alpha_ == first.alpha_


def test_a_weight_is_copies():
    k = np.arange(500) % 3 + 1
    one = LogDensityGradient().fit(X[FIRST]).partial_fit(X[400:], sample_weight=k)
    copies = np.repeat(X[400:], k, axis=0)
    two = LogDensityGradient().fit(X[FIRST]).partial_fit(copies)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-7)


def test_other_losses_refuse_more_rows():
    model = LogDensityGradient(loss="log_cosh", bandwidth=1.0, alpha=0.1).fit(X[:100])
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as error:
        model.partial_fit(X[100:])
    assert "no sum of moments" in str(error.value.__cause__)


def test_rows_of_another_width_or_out_of_reach_are_refused():
    model = LogDensityGradient().fit(X[FIRST])
    before = model.moments_.weight
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(X[:, :2])
    with pytest.raises(ValueError, match="away from the others"):
        model.partial_fit(np.full((3, 3), 1e200))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((3, 3), np.nan))
    assert model.moments_.weight == before
