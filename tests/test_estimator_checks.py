"""What scikit-learn asks of every estimator, with no expected failure.

``make test`` gives the variants a width and a penalty, where they can be given;
``make soak`` lets them choose, as by default.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering

DEFAULT = [
    LogDensityGradient(),
    LogDensityGradient(bandwidth="learned"),
    KernelDensityGradient(),
    ModeClustering(),
]
VARIANTS = [
    {"coefficients": "separate"},
    {"coefficients": "multitask"},
    {"penalty": "l1"},
    {"positive": True},
    {"coefficients": "separate", "penalty": "centers", "alpha": 1e-2},
    {"coefficients": "separate", "basis": "common"},
    {"loss": "even_power"},
]
QUICK = {"bandwidth": 0.35, "alpha": 0.01}

# A check asks for two clusters of rows whose density has one mode.
one_mode = pytest.mark.filterwarnings("ignore:There is 1 mode, fewer than n_clusters=2")


@one_mode
@parametrize_with_checks(
    [
        *DEFAULT,
        *(LogDensityGradient(**QUICK | variant) for variant in VARIANTS),
        ModeClustering(LogDensityGradient(coefficients="multitask", **QUICK)),
    ]
)
def test_estimator_keeps_the_rules_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.soak
@one_mode
@parametrize_with_checks(
    [
        *(LogDensityGradient(**variant) for variant in VARIANTS),
        ModeClustering(LogDensityGradient(coefficients="multitask")),
    ]
)
def test_variants_keep_the_rules_of_scikit_learn_by_default(estimator, check):
    check(estimator)
