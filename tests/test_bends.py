"""Rows that bend: an arc has a valley along its chord, and its density has none."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from modeseek import ModeClustering
from modeseek.cluster.gaussian_share import are_winding
from modeseek.rows.bends import add_bend
from modeseek.rows.pursuit import find_valley
from modeseek.rows.splits import certify_sides, find_splits
from modeseek.rows.valley_counts import (
    Spreads,
    certainty_of,
    count_around,
    spreads_around,
)

EVERYONE = np.zeros(1500, dtype=np.intp)


def arc(part, n=1500, d=5, noise=0.15, seed=0):
    """Rows along a part of a circle among features of noise, standardised."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, 2.0 * np.pi * part, n)
    plane = np.column_stack([np.cos(angle), np.sin(angle)])
    plane += noise * rng.standard_normal((n, 2))
    X = np.column_stack([plane, 0.3 * rng.standard_normal((n, d - 2))])
    return (X - X.mean(axis=0)) / X.std(axis=0)


def pair(delta, n=1500, d=5, seed=0):
    """Two Gaussians apart along the first feature, standardised."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[: n // 2, 0] += delta
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_the_direction_in_which_an_arc_bends_is_found():
    Z = arc(0.5)
    chord = Z[:, :1]
    inside = add_bend(Z, chord)
    assert inside.shape == (1500, 2)
    np.testing.assert_array_equal(inside[:, :1], chord)
    # What the chord foretells is taken away, so that most of the second feature stays.
    assert abs(np.corrcoef(inside[:, 1], Z[:, 1])[0, 1]) > 0.95
    turned = Z @ ortho_group.rvs(5, random_state=1)
    bend = add_bend(turned, chord)[:, 1]
    assert abs(np.corrcoef(bend, inside[:, 1])[0, 1]) > 0.999


def test_an_arc_winds_in_the_plane_in_which_it_bends_and_a_pair_does_not():
    Z = arc(0.75)
    assert are_winding(add_bend(Z, Z[:, :1]), EVERYONE)
    Z = pair(4.0)
    part = (Z[:, 0] > 0).astype(np.intp)
    assert not are_winding(add_bend(Z, Z[:, :1]), part)


def test_rows_that_their_coordinates_tell_wholly_have_no_bend():
    Z = arc(0.5)[:, :2]
    np.testing.assert_array_equal(add_bend(Z, Z), Z)


def valley_and_spreads(Z):
    """Certainty of the valley along the first feature, by number and by density."""
    valley = find_valley(Z[::2, 0])
    along = np.eye(Z.shape[1])[0]
    number = certainty_of(np.array(count_around(valley, Z[1::2, 0])))
    return float(number), spreads_around(valley, along, Z[::2], Z[1::2]).certainty()


def test_beside_the_valley_of_an_arc_rows_are_spread_but_no_denser():
    by_number, by_density = valley_and_spreads(arc(0.5, n=3000))
    assert by_number > 3.0
    assert by_density < 1.0


def test_beside_the_valley_of_a_pair_rows_are_denser_too():
    by_number, by_density = valley_and_spreads(pair(4.0))
    assert by_number > 5.0
    assert by_density > 5.0


def test_counts_of_spreads_alike_are_those_of_rows():
    spreads = Spreads(np.array([90.0, 40.0, 70.0]), np.array([180.0, 80.0, 140.0]))
    assert spreads.certainty() == certainty_of(np.array([40, 70]))
    twice = spreads + spreads
    assert twice.certainty() == certainty_of(np.array([80, 140]))


def test_rows_that_are_twice_as_spread_count_half():
    spreads = Spreads(np.array([90.0, 40.0, 70.0]), np.array([360.0, 80.0, 280.0]))
    assert spreads.certainty() == certainty_of(np.array([40, 35]))


@pytest.mark.parametrize("deviation", [[0.0, 80.0, 140.0], [0.0, 0.0, 0.0]])
def test_rows_without_spread_count_as_they_are(deviation):
    spreads = Spreads(np.array([90.0, 40.0, 70.0]), np.array(deviation))
    assert spreads.certainty() == certainty_of(np.array([40, 70]))


def test_equal_rows_of_each_window_are_told_apart_by_their_number():
    Z = np.repeat([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]], [100, 10, 100], axis=0)
    noise = np.random.default_rng(0).normal(scale=0.2, size=len(Z))
    valley = find_valley(Z[:, 0] + noise)
    for rows in (Z, np.column_stack([Z[:, 0], Z[:, 0] == 0.0])):
        spreads = spreads_around(valley, np.array([1.0, 0.0]), rows, rows)
        assert np.isfinite(spreads.certainty())
        np.testing.assert_array_equal(spreads.n_rows, [100, 10, 100])


def test_a_window_of_one_row_tells_no_spread():
    Z = pair(8.0)
    valley = find_valley(Z[:, 0])
    reach = 0.5 * min(valley.bottom - valley.left, valley.right - valley.bottom)
    away = Z[np.abs(Z[:, 0] - valley.bottom) > reach]
    spreads = spreads_around(valley, np.eye(5)[0], away, Z)
    np.testing.assert_array_equal(spreads.deviation, spreads.n_rows)


def test_an_arc_is_hardly_ever_split_and_a_pair_always():
    parts = [find_splits(arc(0.5, seed=s), np.random.default_rng(0)) for s in range(8)]
    assert sum(found.n_parts > 1 for found in parts) <= 1
    parts = [find_splits(pair(4.0, seed=s), np.random.default_rng(0)) for s in range(8)]
    assert [found.n_parts for found in parts] == [2] * 8


def test_halves_of_an_arc_are_not_certified_and_sides_of_a_pair_are():
    rng = np.random.default_rng(0)
    Z = arc(0.5)
    assert certify_sides(Z, Z[:, 0] > 0, rng) < 2.0
    Z = pair(4.0)
    assert certify_sides(Z, Z[:, 0] > 0, rng) > 5.0


def test_an_arc_among_features_of_noise_is_one_cluster():
    found = [
        ModeClustering().fit(arc(0.5, n=900, noise=0.2, seed=s)).n_clusters_
        for s in range(5)
    ]
    assert found.count(1) >= 4
