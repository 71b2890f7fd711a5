"""What scikit-learn asks of every estimator, with no expected failure."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering

ESTIMATORS = [
    LogDensityGradient(),
    LogDensityGradient(coefficients="separate"),
    LogDensityGradient(bandwidth="learned"),
    LogDensityGradient(coefficients="multitask"),
    LogDensityGradient(penalty="l1"),
    LogDensityGradient(positive=True),
    LogDensityGradient(coefficients="separate", penalty="centers", alpha=1e-2),
    LogDensityGradient(coefficients="separate", basis="common"),
    LogDensityGradient(loss="even_power"),
    KernelDensityGradient(),
    ModeClustering(),
    ModeClustering(LogDensityGradient(coefficients="multitask")),
]


# A check asks for two clusters of rows whose density has one mode.
@pytest.mark.filterwarnings("ignore:There are 1 modes, fewer than n_clusters=2")
@parametrize_with_checks(ESTIMATORS)
def test_estimator_keeps_the_rules_of_scikit_learn(estimator, check):
    check(estimator)
