"""Soft memberships from how far the log-density falls on the way to each cluster."""

from __future__ import annotations

import numpy as np

from modeseek.rows.arrays import Floats, Integers

#: A row's own cluster is ahead of the others by this much at least.
OWN_ADVANTAGE = 1e-6


def shares_of_descents(descent: Floats, labels: Integers) -> Floats:
    """Shares of rows in clusters: exp of minus the descent, normalised.

    The descent (m, n_clusters) is how far the log-density falls on the way from each
    row to each cluster. There is none to the row's own cluster, its label, whose share
    is the largest.
    """
    descent = descent + OWN_ADVANTAGE
    descent[np.arange(len(labels)), labels] = 0.0
    share = np.exp(-descent)
    return np.asarray(share / share.sum(axis=1, keepdims=True))
