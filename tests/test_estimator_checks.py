"""What scikit-learn asks of every estimator, with no expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering

ESTIMATORS = [
    LogDensityGradient(),
    LogDensityGradient(coefficients="separate"),
    LogDensityGradient(bandwidth="learned"),
    KernelDensityGradient(),
    ModeClustering(),
]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_keeps_the_rules_of_scikit_learn(estimator, check):
    check(estimator)
