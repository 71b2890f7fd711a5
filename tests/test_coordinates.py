"""The frame: coordinates in which distances neither overflow nor cancel."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from modeseek.rows.coordinates import (
    Frame,
    frame_from_centers,
    power_of_two,
    typical_distance,
)


@pytest.fixture
def C():
    return np.random.default_rng(0).standard_normal((50, 3))


def test_leaving_undoes_entering(C):
    frame = Frame(np.array([1.0, -2.0, 3.0]), 0.25)
    np.testing.assert_allclose(frame.leave(frame.enter(C)), C, atol=1e-15)


def test_origin_is_the_median_and_unit_near_the_median_distance(C):
    frame = frame_from_centers(C)
    np.testing.assert_array_equal(frame.origin, np.median(C, axis=0))
    assert np.sqrt(0.5) <= np.median(pdist(C)) / frame.unit <= np.sqrt(2.0)


@pytest.mark.parametrize("exponent", [-1000, -30, 0, 30, 990])
def test_unit_is_a_power_of_two_and_follows_the_unit_of_the_data(C, exponent):
    base, frame = frame_from_centers(C), frame_from_centers(C * 2.0**exponent)
    assert np.frexp(frame.unit)[0] == 0.5
    assert frame.unit == base.unit * 2.0**exponent
    np.testing.assert_array_equal(frame.enter(C * 2.0**exponent), base.enter(C))


def test_a_shift_of_the_data_moves_the_origin_only(C):
    base, frame = frame_from_centers(C), frame_from_centers(C + 1000.0)
    assert frame.unit == base.unit
    np.testing.assert_allclose(frame.origin, base.origin + 1000.0, rtol=1e-15)


@pytest.mark.parametrize("far", [1e6, 1e200, 1e300, -1e300])
@pytest.mark.parametrize("scale", [1e-250, 1.0])
def test_one_far_centre_moves_neither_origin_nor_unit(C, far, scale):
    frame = frame_from_centers(np.vstack([C * scale, np.full((1, 3), far)]))
    base = frame_from_centers(C * scale)
    assert 0.5 <= frame.unit / base.unit <= 2.0
    assert np.abs(frame.origin - base.origin).max() < base.unit


def test_equal_centres_have_the_unit_one():
    frame = frame_from_centers(np.full((4, 2), 7.0))
    assert frame.unit == 1.0
    np.testing.assert_array_equal(frame.origin, [7.0, 7.0])


def test_typical_distance_is_the_median_over_pairs_that_differ():
    C = np.array([[0.0], [0.0], [1.0], [3.0]])
    assert typical_distance(C) == np.median([1.0, 1.0, 3.0, 3.0, 2.0])
    assert typical_distance(C[:1]) == typical_distance(C[:2]) == 1.0


def test_powers_of_two_are_the_largest_up_to_a_size():
    sizes = np.array([0.0, 1.0, np.nextafter(2.0, 0.0), 2.0, 3.0, 5e-324, 1e300])
    powers = power_of_two(sizes)
    np.testing.assert_array_equal(powers[:5], [1.0, 1.0, 1.0, 2.0, 2.0])
    assert powers[5] == 5e-324
    assert powers[6] <= 1e300 < 2.0 * powers[6]
    assert [float(power_of_two(float(size))) for size in sizes] == powers.tolist()
