"""Weights: whole numbers count copies, others say proportions only."""

import numpy as np
import pytest

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.rows.source import ArrayRows
from modeseek.rows.summary import summarize

X = three_gaussians().sample(400, random_state=0)[0]
WEIGHT = np.random.default_rng(0).uniform(0.2, 3.0, len(X))

MODELS = {
    "auto": ModeClustering(),
    "rows": ModeClustering(ascent="rows"),
    "gradient": ModeClustering(LogDensityGradient(n_centers=50)),
    "kernel": ModeClustering(KernelDensityGradient(1.0)),
}


def assert_same_clustering(one, other):
    assert one.ascent_ == other.ascent_
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.modes_, other.modes_, rtol=1e-6, atol=1e-6)
    for ours, theirs in zip(one.merge_tree_, other.merge_tree_, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_equal_weights_that_sum_to_one_are_no_weights(name):
    model = MODELS[name]
    plain = model.fit(X).__getstate__()
    even = np.full(len(X), 1.0 / len(X))
    model.fit(X, sample_weight=even)
    for part in ("labels_", "modes_"):
        np.testing.assert_array_equal(getattr(model, part), plain[part])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("factor", [1e-4, 0.37, 1e5])
def test_only_proportions_of_weights_that_are_no_counts_matter(name, factor):
    params = MODELS[name].get_params(deep=False)
    one = ModeClustering(**params).fit(X, sample_weight=WEIGHT)
    other = ModeClustering(**params).fit(X, sample_weight=factor * WEIGHT)
    assert_same_clustering(one, other)


def test_chunks_count_as_the_array_does():
    halves, weights = [X[:150], X[150:]], [WEIGHT[:150] / 50, WEIGHT[150:] / 50]
    one = LogDensityGradient(n_centers=50).fit(X, sample_weight=WEIGHT)
    other = LogDensityGradient(n_centers=50).fit(halves, sample_weight=weights)
    np.testing.assert_allclose(one.gradient(X), other.gradient(X), rtol=1e-6, atol=1e-8)
    assert one.moments_.weight == pytest.approx(WEIGHT.sum())
    assert other.moments_.weight == pytest.approx(WEIGHT.sum() / 50)


def test_proportions_hold_between_rows_and_those_added_later():
    model = LogDensityGradient(n_centers=50)
    model.fit(X[:300], sample_weight=WEIGHT[:300] / 50)
    model.partial_fit(X[300:], sample_weight=WEIGHT[300:] / 50)
    assert model.moments_.weight == pytest.approx(WEIGHT.sum() / 50)


def test_whole_numbers_are_counts():
    counts = summarize(ArrayRows(X, np.full(len(X), 3.0)))
    assert (counts.has_counts, counts.row_weight, counts.n_counted) == (True, 1, 1200)
    shares = summarize(ArrayRows(X, np.full(len(X), 0.5)))
    assert (shares.has_counts, shares.row_weight, shares.n_counted) == (False, 0.5, 400)
