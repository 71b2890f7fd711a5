"""Settings are read at the fit: parameters set later are those of the next one."""

import numpy as np
import pytest
from sklearn.base import clone

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians

X = three_gaussians().sample(150, random_state=0)[0]
QUERIES = X[:8] + 0.05

ESTIMATORS = {
    "shared": LogDensityGradient(n_centers=30),
    "auto": LogDensityGradient(n_centers=30, bandwidth="auto"),
    "common": LogDensityGradient(
        n_centers=20, coefficients="separate", basis="common", bandwidth=1.0, alpha=0.1
    ),
    "l1": LogDensityGradient(n_centers=12, penalty="l1"),
    "multitask": LogDensityGradient(
        n_centers=15, coefficients="multitask", bandwidth=1.0, similarity=np.eye(2)
    ),
    "loss": LogDensityGradient(
        n_centers=20, loss="pseudo_huber", bandwidth=1.0, alpha=0.1
    ),
    "kernel": KernelDensityGradient(),
}

#: Another value of every parameter, some of them wrong ones.
OTHERS = {
    "n_centers": 3,
    "centers": np.zeros((3, 2)),
    "bandwidth": "learned",
    "alpha": 0.5,
    "penalty_scale": "none",
    "coefficients": "none",
    "basis": "none",
    "penalty": "centers",
    "positive": True,
    "gamma": 2.0,
    "similarity": np.zeros((7, 7)),
    "loss": "shifted_kl",
    "loss_power": 7.0,
    "cv": 0,
    "selection": "none",
    "random_state": "none",
    "n_jobs": 1,
    "verbose": 0,
}


def answers_of(model):
    estimator = model.estimator_
    answers = [
        *(estimator.gradient(QUERIES), estimator.hessian(QUERIES)),
        *(estimator.score(QUERIES), model.predict(QUERIES), model.membership(QUERIES)),
        *(model.outlier_score(QUERIES), model.paths(QUERIES)),
    ]
    if hasattr(estimator, "log_density"):
        answers.append(estimator.log_density(QUERIES))
    if hasattr(estimator, "path"):
        answers += [part for task in estimator.path() for part in task]
    return [np.asarray(answer).tobytes() for answer in answers]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters_set_after_the_fit_change_nothing_that_was_fitted(name):
    model = ModeClustering(clone(ESTIMATORS[name])).fit(X)
    before = answers_of(model)
    for parameter in model.estimator_.get_params():
        model.estimator_.set_params(**{parameter: OTHERS[parameter]})
        assert answers_of(model) == before, parameter
    model.set_params(ascent="gradient", tol=10.0, max_iter=1, step_size=1e-3)
    model.set_params(prominence=100.0, random_state=7, estimator=None)
    assert answers_of(model) == before


def test_rows_are_added_as_the_first_fit_was_set():
    first = LogDensityGradient(n_centers=20).fit(X[:100])
    other = clone(first).fit(X[:100])
    other.set_params(coefficients="separate", loss="log_cosh", penalty="l1")
    first.partial_fit(X[100:])
    other.partial_fit(X[100:])
    np.testing.assert_array_equal(first.gradient(X), other.gradient(X))


def test_an_array_of_the_user_can_change_after_the_fit():
    similarity = np.eye(2)
    model = LogDensityGradient(
        n_centers=15, coefficients="multitask", bandwidth=1.0, similarity=similarity
    ).fit(X)
    similarity[:] = 0.5
    np.testing.assert_array_equal(model.settings_.similarity, np.eye(2))


def test_an_estimator_saved_before_a_parameter_was_there_has_its_default():
    model = LogDensityGradient(n_centers=20).fit(X)
    state = dict(model.__getstate__())
    for name in ("selection", "penalty_scale", "centers", "loss_power"):
        del state[name]
    state["settings_"] = type(model.settings_)(*model.settings_[:-3])
    former = LogDensityGradient.__new__(LogDensityGradient)
    former.__setstate__(state)
    assert former.selection == former.settings_.selection == "one_se"
    assert former.settings_.penalty_scale == "relative"
    assert former.get_params() == model.get_params()


def test_an_estimator_saved_without_settings_gets_those_of_its_parameters():
    model = LogDensityGradient(n_centers=20, coefficients="separate").fit(X)
    state = model.__getstate__()
    former = LogDensityGradient.__new__(LogDensityGradient)
    former.__setstate__({k: v for k, v in state.items() if k != "settings_"})
    assert former.settings_ == model.settings_
    np.testing.assert_array_equal(former.gradient(X), model.gradient(X))
