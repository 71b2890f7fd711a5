"""The first part of a way up a kernel density rises, and leads to the same modes."""

import numpy as np
import pytest

from modeseek.field.approach import ARRIVED, REACH, approach
from modeseek.field.ascent import LONGEST_MOVE, length
from modeseek.field.climbing import Ascent
from modeseek.field.fields import KernelField, potential

rng = np.random.default_rng(3)
WIDTHS = np.array([0.8, 1.5, 0.5])
CENTERS = rng.normal(size=(400, 3)) * WIDTHS * 2.0
CENTERS[200:] += 6.0 * WIDTHS
FIELD = KernelField(CENTERS, WIDTHS, np.log(rng.dirichlet(np.full(400, 5.0))))


def ascent(kind, max_iter=1000):
    return Ascent(kind, None, 1e-4, max_iter)


def test_the_first_step_is_some_of_the_mean_shift():
    moved, n_steps = approach(FIELD, CENTERS, max_steps=1)
    apart = (CENTERS[:, None] - CENTERS) / WIDTHS
    kernels = np.exp(FIELD.log_weights - 0.5 * (apart**2).sum(axis=2))
    shift = kernels @ CENTERS / kernels.sum(axis=1, keepdims=True) - CENTERS
    far = length(shift, FIELD)
    shift *= np.minimum(1.0, LONGEST_MOVE / far)[:, None]
    shift[far <= ARRIVED] = 0.0
    np.testing.assert_allclose(moved, CENTERS + shift, atol=1e-5)
    np.testing.assert_array_equal(n_steps, far > ARRIVED)


def test_rows_end_higher_and_where_the_mean_shift_is_short():
    ends, n_steps = approach(FIELD, CENTERS, max_steps=200)
    assert (potential(FIELD, ends) >= potential(FIELD, CENTERS) - 1e-4).all()
    shift = FIELD.evaluate(ends).fixed_point_step()
    assert (length(shift, FIELD) <= 1.1 * ARRIVED).all()
    assert n_steps.max() < 200


def test_no_row_takes_more_steps_than_it_may():
    assert approach(FIELD, CENTERS, max_steps=5)[1].max() == 5


def test_rows_out_of_reach_stay_where_they_are():
    Z = np.array([[0.1, 0.2, 0.3], [2.0 * REACH, 0.0, 0.0]])
    ends, n_steps = approach(FIELD, Z, max_steps=50)
    assert n_steps[0] > 0
    assert n_steps[1] == 0
    np.testing.assert_array_equal(ends[1], Z[1])
    ends, n_steps = approach(FIELD, Z[1:], max_steps=50)
    np.testing.assert_array_equal(ends, Z[1:])


def test_no_row_approaches_where_a_centre_is_too_far_for_single_precision():
    far = np.vstack([CENTERS, [1e30, 0.0, 0.0]])
    field = FIELD._replace(centers=far, log_weights=np.append(FIELD.log_weights, -9.0))
    with np.errstate(all="raise"):
        ends, n_steps = approach(field, CENTERS, max_steps=50)
    np.testing.assert_array_equal(ends, CENTERS)
    assert not n_steps.any()


def test_features_outside_the_model_do_not_move():
    wide = FIELD._replace(
        centers=np.insert(CENTERS, 1, 7.0, axis=1), widths=np.insert(WIDTHS, 1, np.inf)
    )
    Z = np.insert(CENTERS, 1, rng.normal(size=len(CENTERS)), axis=1)
    ends, n_steps = approach(wide, Z, max_steps=200)
    np.testing.assert_array_equal(ends[:, 1], Z[:, 1])
    alone, of_others = approach(FIELD, CENTERS, max_steps=200)
    np.testing.assert_array_equal(n_steps, of_others)
    np.testing.assert_allclose(np.delete(ends, 1, axis=1), alone, atol=1e-4)


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_change_no_bit(n_jobs):
    Z = rng.normal(size=(5000, 3))
    for one, many in zip(
        approach(FIELD, Z, 30, n_jobs=1), approach(FIELD, Z, 30, n_jobs), strict=True
    ):
        np.testing.assert_array_equal(one, many)


def test_all_modes_are_found_and_rows_reach_those_of_the_plain_loop():
    fast, plain = ascent("fixed_point"), ascent("plain_fixed_point")
    arrived, modes = fast.seek(FIELD, CENTERS)
    expected, known = plain.seek(FIELD, CENTERS)
    assert arrived.converged.all()
    assert len(modes) == len(known) > 3
    reached = fast.assign(FIELD, arrived.points, modes)
    np.testing.assert_allclose(
        modes[reached], known[plain.assign(FIELD, expected.points, known)], atol=1e-6
    )
    assert (potential(FIELD, arrived.points) >= potential(FIELD, CENTERS) - 1e-9).all()


def test_an_approach_counts_among_the_steps_that_rows_may_take():
    arrived, _ = ascent("fixed_point", max_iter=6).seek(FIELD, CENTERS)
    assert arrived.n_iter.max() <= 6
    assert not arrived.converged.all()
