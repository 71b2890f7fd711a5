"""Soft answers about rows: memberships and depths, in units of log-density."""

from __future__ import annotations

import numpy as np

from modeseek.field.fields import Field
from modeseek.field.saddles import profiles
from modeseek.rows.arrays import Floats, Integers
from modeseek.tree.shares import shares_of_descents

#: Points of a profile from a row to a mode.
PROFILE_POINTS = 21


def soft_memberships(
    field: Field, Z: Floats, labels: Integers, tops: Floats, barrier: Floats
) -> Floats:
    """Shares of rows (m, d) in clusters, (m, k): exp of minus the barrier, normalised.

    Barriers (m, k) are those from each row's own mode to the saddle on the way to each
    cluster. The straight way to the top of a cluster, its highest mode, may fall less.
    """
    descent = barrier.copy()
    for k, top in enumerate(tops):
        straight = _deepest_descent(field, Z, np.broadcast_to(top, Z.shape))
        descent[:, k] = np.minimum(descent[:, k], straight)
    return shares_of_descents(descent, labels)


def _deepest_descent(field: Field, A: Floats, B: Floats) -> Floats:
    """Deepest fall of the height on the straight way from A to B, shape (m,)."""
    height = profiles(field, A, B, PROFILE_POINTS)
    highest_so_far = np.maximum.accumulate(height, axis=1)
    return np.asarray((highest_so_far - height).max(axis=1))


def drops(field: Field, Z: Floats, modes: Floats) -> Floats:
    """Height of each row's mode above the row, not below zero, shape (m,)."""
    height = profiles(field, Z, modes, PROFILE_POINTS)
    return np.maximum(height[:, -1] - height[:, 0], 0.0)


def distance_beyond(field: Field, Z: Floats, reach: float) -> Floats:
    """Fall of a Gaussian past the reach: half the squared distance beyond it.

    A model that is a sum of Gaussians levels off far from its centres; the log of a
    density falls on.
    """
    nearest = field.evaluate(Z).nearest
    return np.asarray(0.5 * np.maximum(nearest**2 - reach**2, 0.0))
