"""Names for the types of arrays, and the means of groups of rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Reals: TypeAlias = NDArray[np.floating]  # as users pass them, in either precision
Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.intp]
Bools: TypeAlias = NDArray[np.bool_]


def group_means(rows: NDArray[np.generic], group: NDArray[np.integer]) -> Floats:
    """Mean of the rows (n, d) of every group, numbered from 0 and none empty."""
    sums = [np.bincount(group, weights=feature) for feature in rows.T]
    return np.stack(sums, axis=1) / np.bincount(group)[:, None]
