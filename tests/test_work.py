"""How much is computed: a fit does no more than a budget, whatever the rows.

Counted are the multiplications of Gaussians, of Hessians, of eigenvectors and of the
search for neighbours, which are what can explode. Ten runs of k-means with ten clusters
take about 1,500 for each number of the rows; the budget is twenty times that, and what
a second takes besides.
"""

from itertools import product

import numpy as np
import pytest
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.field import approach, fields, modes, saddles, segments
from modeseek.gradient import kernel, moments, uncertainty

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


def cost_of(A):
    """Multiplications for the eigenvectors or singular vectors of matrices."""
    *many, n, d = np.shape(A)
    return 3.0 * np.prod(many) * max(n, d) * min(n, d) ** 2


@pytest.fixture
def work(monkeypatch):
    """Counts of multiplications, by what they are for."""
    count = dict.fromkeys(("Gaussians", "Hessians", "eigenvectors", "neighbours"), 0.0)

    def counted(place, name, what, cost):
        function = getattr(place, name)

        def call(*args, **options):
            count[what] += float(cost(*args))
            return function(*args, **options)

        monkeypatch.setattr(place, name, call)

    def pairs(Z, C, *_):
        return float(len(Z)) * C.size

    def hessians(field, Z):
        return float(len(Z)) * field.centers.size * field.centers.shape[1]

    for room in (fields, segments):
        counted(room, "exponents", "Gaussians", pairs)
    for room in (kernel, moments, uncertainty):
        counted(room, "squared_distances", "Gaussians", pairs)
    counted(
        approach,
        "_shift_some",
        "Gaussians",
        lambda kernels, U: 2.0 * len(U) * kernels.sums.size,
    )
    # An exponential, and passes over the array that holds it, are about ten of them.
    counted(fields.KernelField, "shares", "Gaussians", lambda _, E: 10.0 * E.size)
    counted(segments, "_matter", "Gaussians", lambda first, _: 10.0 * first.size)
    for room in (modes, saddles):
        counted(room, "curvature", "Hessians", hessians)
    for name in ("eigh", "svd"):
        counted(np.linalg, name, "eigenvectors", lambda A, *_: cost_of(A))
    # In many features a tree of points compares nearly all, one number at a time.
    counted(KDTree, "query", "neighbours", lambda tree, Z: 10 * pairs(Z, tree.data))
    counted(saddles, "_nearest_by_products", "neighbours", lambda U, k: pairs(U, U))
    counted(
        NearestNeighbors,
        "kneighbors",
        "neighbours",
        lambda of, Z, k: pairs(Z, of._fit_X),
    )
    return count


ESTIMATORS = {
    "default": None,
    "log-density": LogDensityGradient(),
    "kernel": KernelDensityGradient(),
}

SHAPES = [(185, 100), (116, 300), (62, 600), (400, 40), (600, 200), (1000, 500)]

#: Fits of so many rows are for make soak, but for that with a mode for every row.
MANY, KEPT = 400, ("kernel", noise)


def cases():
    for shape, name, draw in product(SHAPES, ESTIMATORS, (cauchy, noise, blobs, twins)):
        long = shape[0] >= MANY and (name, draw) != KEPT
        marks = [pytest.mark.soak] if long else []
        yield pytest.param(name, shape, draw, marks=marks)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("name", "shape", "draw"), list(cases()))
def test_a_fit_with_its_tree_stays_within_its_budget(work, name, shape, draw):
    X = draw(np.random.default_rng(0), *shape)
    model = ModeClustering(ESTIMATORS[name]).fit(X)
    assert len(model.merge_tree_.child) == len(model.modes_) - 1
    assert work["Gaussians"] > 0
    assert sum(work.values()) <= SECOND + TIMES * K_MEANS * X.size, work
