"""Rows that arrive day by day: what docs/large.md tells users to watch and to do."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from modeseek import ModeClustering, compare_clusterings

CENTERS = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])


def rows_of(centers, seed, n=1500):
    X, y = make_blobs(n, centers=centers, cluster_std=1.0, random_state=seed)
    return X, y


def share_far_out(model, X):
    """Of rows like those of the fit, one in a hundred has a score above 0.99."""
    return (model.outlier_score(X) > 0.99).mean()


@pytest.fixture(scope="module")
def model():
    return ModeClustering().fit(rows_of(CENTERS, 0)[0])


@pytest.mark.parametrize("day", range(1, 6))
def test_days_like_the_first_raise_no_alarm(model, day):
    X, y = rows_of(CENTERS, day)
    assert share_far_out(model, X) < 0.03
    labels = model.predict(X)
    # Clusters of the model are those of the day, under other names.
    assert len(np.unique(labels[y == 0])) <= 2
    assert (np.bincount(labels[y == 0]).max()) > 0.98 * (y == 0).sum()


@pytest.mark.parametrize(
    "centers",
    [
        np.vstack([CENTERS, [[8.0, 8.0]]]),  # a cluster appears
        np.add(CENTERS, [[0.0, 0.0], [0.0, 0.0], [-4.0, 2.0]]),  # one has moved
    ],
    ids=["appears", "moves"],
)
def test_a_cluster_that_appears_or_moves_raises_an_alarm(model, centers):
    assert share_far_out(model, rows_of(centers, 7)[0]) > 0.03


def test_a_cluster_that_moves_a_little_is_labelled_well_by_the_old_model(model):
    X, y = rows_of(np.add(CENTERS, [[0.5, 0.0], [0.0, 0.5], [0.0, 0.0]]), 8)
    for label in range(3):
        mine = model.predict(X[y == label])
        assert np.bincount(mine).max() > 0.97 * len(mine)


def test_fitting_anew_tells_what_appeared_and_what_vanished(model):
    centers = np.vstack([CENTERS[:2], [[16.0, 8.0]]])  # the third went, another came
    days = [rows_of(centers, seed)[0] for seed in (9, 10)]
    anew = ModeClustering().fit(days)
    X = np.concatenate(days)
    labels = model.predict(X)
    told = compare_clusterings(labels, anew.predict(X))
    left, beside = model.predict(CENTERS[:2])
    assert anew.n_clusters_ == 3
    # Most rows of the cluster that went are gone, and so is its name.
    gone = model.predict(CENTERS[2:])[0]
    assert (labels == gone).mean() < 0.02
    # The new one was labelled as the cluster it is nearest to, which falls in two.
    changes = dict(zip(told.clusters.tolist(), told.changes(), strict=True))
    assert changes[beside].startswith("split into")
    assert changes[left].startswith(("same as", "kept as"))
