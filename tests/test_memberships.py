"""Memberships and depths, against closed forms of one and two Gaussians."""

import numpy as np
import pytest

from modeseek.field.fields import KernelField, PotentialField, SeparateField
from modeseek.field.memberships import distance_beyond, drops, soft_memberships

#: Far apart, so that each bump is its own and the valley is flat.
TOPS = np.array([[0.0, 0.0], [12.0, 0.0]])
TWO = PotentialField(TOPS, np.ones(2), np.array([2.0, 1.0]), np.zeros(2))
#: From each mode to the valley of height zero.
BARRIERS = np.array([[0.0, 2.0], [1.0, 0.0]])


def test_the_share_of_a_mode_in_another_is_the_exponential_of_its_barrier():
    share = soft_memberships(TWO, TOPS, np.array([0, 1]), TOPS, BARRIERS)
    for row, barrier in enumerate((2.0, 1.0)):
        other = np.exp(-barrier) / (1.0 + np.exp(-barrier))
        assert share[row, 1 - row] == pytest.approx(other, rel=1e-4)


def test_the_way_through_the_own_mode_may_be_the_lower_barrier():
    # The straight way descends by 2 from the first mode; a tree that knows of a
    # higher pass says 0.5.
    low = np.array([[0.0, 0.5], [0.5, 0.0]])
    share = soft_memberships(TWO, TOPS, np.array([0, 1]), TOPS, low)
    expected = np.exp(-0.5) / (1.0 + np.exp(-0.5))
    np.testing.assert_allclose(np.diag(share[:, ::-1]), expected, rtol=1e-4)


def test_the_straight_way_may_be_the_lower_barrier():
    # A row in the valley reaches both modes without any descent.
    row = np.array([[6.0, 0.0]])
    share = soft_memberships(TWO, row, np.array([0]), TOPS, BARRIERS[:1])
    np.testing.assert_allclose(share, [[0.5, 0.5]], atol=1e-5)


def test_shares_fall_from_one_mode_to_the_other():
    x = np.linspace(0.0, 6.0, 30)
    rows = np.column_stack([x, np.zeros(30)])
    labels = np.zeros(30, dtype=int)
    share = soft_memberships(TWO, rows, labels, TOPS, BARRIERS[labels])
    assert (np.diff(share[:, 0]) <= 1e-12).all()
    assert share[0, 0] > 0.85
    assert share[-1, 0] == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize(
    "field",
    [
        TWO,
        SeparateField(TOPS, np.ones(2), np.tile(TWO.theta, (2, 1))),
        KernelField(TOPS, np.ones(2), np.log([0.6, 0.4])),
    ],
    ids=["shared", "separate", "kernel"],
)
def test_shares_sum_to_one_and_the_own_is_the_largest(field):
    rng = np.random.default_rng(0)
    rows = rng.uniform([-3.0, -3.0], [15.0, 3.0], (200, 2))
    rows[:3] = [[6.0, 0.0], [1e4, 0.0], [-50.0, 80.0]]
    labels = rng.integers(0, 2, 200)
    share = soft_memberships(field, rows, labels, TOPS, BARRIERS[labels])
    assert (share > 0).all()
    np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(share.argmax(axis=1), labels)


def test_one_cluster_has_every_share():
    rows = np.random.default_rng(0).standard_normal((10, 2))
    labels = np.zeros(10, dtype=int)
    share = soft_memberships(TWO, rows, labels, TOPS[:1], np.zeros((10, 1)))
    np.testing.assert_array_equal(share, np.ones((10, 1)))


def test_the_drop_is_the_height_of_the_mode_above_the_row():
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])
    expected = 2.0 * (1.0 - np.exp([0.0, -0.5, -2.0, -12.5]))
    modes = np.zeros_like(rows)
    np.testing.assert_allclose(drops(TWO, rows, modes), expected, atol=1e-12)


def test_the_drop_of_a_field_without_potential_is_the_line_integral():
    separate = SeparateField(TOPS, np.ones(2), np.tile(TWO.theta, (2, 1)))
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    expected = 2.0 * (1.0 - np.exp([0.0, -0.5, -2.0]))
    modes = np.zeros_like(rows)
    np.testing.assert_allclose(drops(separate, rows, modes), expected, atol=5e-3)


def test_the_drop_of_a_kernel_density_is_a_log_density_ratio():
    field = KernelField(TOPS[:1], np.full(2, 2.0), np.zeros(1))
    rows = np.array([[0.0, 0.0], [2.0, 0.0], [600.0, 800.0]])
    modes = np.zeros_like(rows)
    np.testing.assert_allclose(drops(field, rows, modes), [0.0, 0.5, 125_000.0])


def test_no_drop_is_negative():
    rows = np.array([[0.0, 0.0], [0.1, 0.0]])
    modes = np.array([[3.0, 0.0], [5.0, 0.0]])  # below the rows
    np.testing.assert_array_equal(drops(TWO, rows, modes), 0.0)


def test_past_the_reach_the_fall_is_half_the_squared_distance_beyond_it():
    rows = np.array([[0.0, 0.0], [-2.0, 0.0], [-3.0, -4.0], [-300.0, -400.0]])
    np.testing.assert_allclose(
        distance_beyond(TWO, rows, 2.0), [0.0, 0.0, 10.5, 124_998.0], atol=1e-9
    )
