"""How much is computed: a fit does no more than a budget, whatever the rows.

Counted are the multiplications of Gaussians, and those of Hessians with their
eigenvectors, which are what can explode. Ten runs of k-means with ten clusters take
about 1,500 for each number of the rows; the budget is twenty times that, and what a
second takes besides.
"""

import numpy as np
import pytest

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.field import fields, modes, saddles

K_MEANS, TIMES, SECOND = 1500, 20, 1e10


def cauchy(rng, n, d):
    return rng.standard_cauchy((n, d))


def noise(rng, n, d):
    return rng.normal(size=(n, d))


def blobs(rng, n, d):
    return rng.normal(size=(n, d)) + rng.normal(size=(5, d))[np.arange(n) % 5]


def twins(rng, n, d):
    """Pairs of rows that are nearly equal: narrow kernels, and as many modes."""
    rows = rng.normal(size=(n // 2, d))
    return np.concatenate([rows, rows + 1e-3 * rng.normal(size=rows.shape)])


@pytest.fixture
def work(monkeypatch):
    """Counts of multiplications, by what they are for."""
    count = {"Gaussians": 0.0, "Hessians": 0.0}
    curvature, exponents = fields.curvature, fields.exponents

    def counted_curvature(field, Z):
        b, d = field.centers.shape
        count["Hessians"] += len(Z) * (10.0 * d**3 + b * d**2)
        return curvature(field, Z)

    def counted_exponents(Z, C, weights):
        count["Gaussians"] += float(len(Z)) * C.size
        return exponents(Z, C, weights)

    monkeypatch.setattr(fields, "exponents", counted_exponents)
    for room in (modes, saddles):
        monkeypatch.setattr(room, "curvature", counted_curvature)
    return count


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("draw", [cauchy, noise, blobs, twins])
@pytest.mark.parametrize("shape", [(185, 100), (116, 300), (62, 600), (400, 40)])
@pytest.mark.parametrize(
    "estimator",
    [None, LogDensityGradient(), KernelDensityGradient()],
    ids=lambda one: type(one).__name__,
)
def test_a_fit_with_its_tree_stays_within_its_budget(work, estimator, shape, draw):
    X = draw(np.random.default_rng(0), *shape)
    model = ModeClustering(estimator).fit(X)
    assert len(model.merge_tree_.child) == len(model.modes_) - 1
    assert work["Gaussians"] > 0
    assert sum(work.values()) <= SECOND + TIMES * K_MEANS * X.size, work
