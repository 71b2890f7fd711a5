"""Scouts: some rows decide whether any of many will follow the gradient."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from modeseek import LogDensityGradient, ModeClustering
from modeseek.cluster import fitting
from modeseek.cluster.fitting import SCOUTS
from modeseek.datasets import three_gaussians
from modeseek.rows.source import ArrayRows
from modeseek.rows.subsample import make_overview, smaller_overview

BLOBS = make_blobs(6000, 3, centers=5, cluster_std=0.5, random_state=0)[0]
GAUSSIAN = np.random.default_rng(0).standard_normal((3000, 2))


def rows_behind(model):
    return float(model.estimator_.moments_.weight)


@pytest.mark.parametrize("ascent", ["auto", "rows"])
def test_scouts_are_enough_where_rows_climb_from_row_to_row(ascent, monkeypatch):
    model = ModeClustering(ascent=ascent).fit(BLOBS)
    assert model.ascent_ == "rows"
    assert rows_behind(model) == SCOUTS
    monkeypatch.setattr(fitting, "SCOUTS", len(BLOBS))
    with_all = ModeClustering(ascent=ascent).fit(BLOBS)
    assert rows_behind(with_all) == len(BLOBS)
    np.testing.assert_array_equal(model.labels_, with_all.labels_)
    share, of_all = (m.estimator_.gaussian_share_ for m in (model, with_all))
    assert 0 < of_all <= share < 2 * of_all + 0.02


@pytest.mark.parametrize(
    ("X", "ascent"),
    [(GAUSSIAN, "fixed_point"), (three_gaussians(2).sample(3000, 0)[0], "auto")],
)
def test_all_rows_make_the_gradient_that_is_followed(X, ascent):
    model = ModeClustering(ascent=ascent).fit(X)
    assert model.ascent_ == "fixed_point"
    assert rows_behind(model) == len(X)


@pytest.mark.parametrize("bandwidth", ["auto", "cv"])
def test_an_estimator_that_is_given_sees_all_rows(bandwidth):
    estimator = LogDensityGradient(bandwidth=bandwidth)
    model = ModeClustering(estimator, ascent="rows").fit(BLOBS)
    assert rows_behind(model) == len(BLOBS)
    assert len(model.estimator_.centers_) == (150 if bandwidth == "auto" else 100)


def test_scouts_are_the_same_whatever_the_order_and_the_copies():
    rng = np.random.default_rng(1)
    count = rng.integers(1, 4, len(BLOBS))
    copies = rng.permutation(np.repeat(BLOBS, count, axis=0))
    one = ModeClustering().fit(BLOBS, sample_weight=count).estimator_
    two = ModeClustering().fit(copies).estimator_
    np.testing.assert_array_equal(one.centers_, two.centers_)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6)


def test_few_rows_have_the_range_and_rounding_of_all_and_weigh_their_copies():
    weight = np.ones(len(BLOBS))
    weight[::2] = 3.0
    overview = make_overview(ArrayRows(BLOBS, weight), whole=False, n_jobs=1)
    few = smaller_overview(overview, 500)
    assert len(few.sample.X) == few.summary.n_rows == len(few.source.X) == 500
    assert few.summary.weight == few.sample.weight.sum()
    assert set(few.sample.weight) == {1.0, 3.0}
    rows = {row.tobytes(): w for row, w in zip(BLOBS, weight, strict=True)}
    found = [rows[row.tobytes()] for row in few.sample.X]
    np.testing.assert_array_equal(found, few.sample.weight)
    frame, of_all = few.summary.frame(), overview.summary.frame()
    np.testing.assert_allclose(frame.origin, of_all.origin, rtol=1e-10)
    np.testing.assert_allclose(frame.unit, of_all.unit, rtol=1e-10)
    position = np.linalg.norm(few.sample.X - np.average(BLOBS, 0, weight), axis=1)
    assert (np.diff(position) > -1e-5).all()  # in the order of the ranking


def test_what_is_measured_beside_the_graph_is_the_same_on_one_thread():
    seeds = (np.random.RandomState(3) for _ in range(2))
    one, two = (
        ModeClustering(random_state=seed, n_jobs=n_jobs).fit(BLOBS)
        for seed, n_jobs in zip(seeds, (1, 2), strict=True)
    )
    np.testing.assert_array_equal(one.estimator_.coef_, two.estimator_.coef_)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.decision_ == two.decision_
