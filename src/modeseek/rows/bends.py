"""Where rows that some coordinates tell of bend: the direction that shows it best.

Given some coordinates, Gaussians vary alike in all other directions, or each of its
own. Rows along an arc or a ring do not: where they turn away from a coordinate they
spread along another. So the rows are cut into slices of one coordinate after the other,
and that direction is taken in which the covariance within slices differs most from
unity on average (sliced average variance estimation, Cook and Weisberg 1991).
"""

from __future__ import annotations

import numpy as np

from modeseek.rows.arrays import Floats
from modeseek.rows.blocks import one_blas_thread
from modeseek.rows.components import ROWS_PER_COMPONENT, whitening_axes

#: Slices of a coordinate, at most and at least, and rows in each.
MOST_SLICES, FEWEST_SLICES, ROWS_PER_SLICE = 10, 2, 100

#: Directions in which rows vary less, once their coordinates are known, by this share
#: of their deviations, have nothing of their own to show.
LEAST_OWN = 1e-4


@one_blas_thread()
def add_bend(Z: Floats, U: Floats) -> Floats:
    """Coordinates U (n, c) of rows Z (n, d), and one in which the rows bend, if any.

    It is the direction in which the rows, but for what their coordinates foretell, vary
    most unevenly from slice to slice.
    """
    axes = whitening_axes(Z)
    X, centered = Z @ axes.T, U - U.mean(axis=0)
    X = X - X.mean(axis=0)
    own = X - centered @ np.linalg.lstsq(centered, X, rcond=None)[0]
    own = own @ _axes_of_own(own).T
    if not own.shape[1]:
        return U
    n, p = own.shape
    uneven = np.zeros((p, p))
    per_slice = max(ROWS_PER_SLICE, ROWS_PER_COMPONENT * p)
    n_slices = int(np.clip(n // per_slice, FEWEST_SLICES, MOST_SLICES))
    for u in U.T:
        for rows in np.array_split(np.argsort(u, kind="stable"), n_slices):
            inside = own[rows] - own[rows].mean(axis=0)
            excess = inside.T @ inside / len(rows) - np.eye(p)
            uneven += len(rows) / n * (excess @ excess)
    bend = np.linalg.eigh(uneven)[1][:, -1]
    return np.column_stack([U, own @ bend])


def _axes_of_own(own: Floats) -> Floats:
    """Axes of whitened rows less what coordinates foretell, if variance is left."""
    deviation = np.linalg.svd(own / np.sqrt(len(own)), full_matrices=False)
    kept = deviation.S > LEAST_OWN
    return np.asarray(deviation.Vh[kept] / deviation.S[kept, None])
