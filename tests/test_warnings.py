"""Warnings point at the line of the user's code that called the library."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from modeseek import LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians

X = three_gaussians().sample(120, random_state=0)[0]
ROUNDED = np.round(three_gaussians().sample(400, random_state=0)[0])

CALLS = {
    "n_centers": lambda: LogDensityGradient(n_centers=100).fit(X),
    "n_centers inside": lambda: ModeClustering(LogDensityGradient(100)).fit(X),
    "edge": lambda: LogDensityGradient(bandwidth=[1e-3, 1e-2]).fit(X),
    "edge inside": lambda: ModeClustering(
        LogDensityGradient(bandwidth=[20.0, 40.0])
    ).fit(X),
    "rounding": lambda: LogDensityGradient().fit(ROUNDED),
    "rounding inside": lambda: ModeClustering().fit_predict(ROUNDED),
    "moving": lambda: ModeClustering(ascent="gradient", max_iter=1).fit(X),
    "pipeline": lambda: make_pipeline(
        StandardScaler(), LogDensityGradient(n_centers=100)
    ).fit(X),
}


@pytest.mark.parametrize("name", CALLS)
def test_warnings_point_at_the_call(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    assert caught
    assert {warning.filename for warning in caught} == {__file__}


def test_the_gradient_fitted_inside_knows_the_names_of_the_features():
    frame = pd.DataFrame(X, columns=["u", "v"])
    model = ModeClustering().fit(frame)
    assert list(model.estimator_.feature_names_in_) == ["u", "v"]
    model.estimator_.gradient(frame)
    model.predict(frame)
