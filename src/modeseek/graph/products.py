"""The nearest of some nodes by matrix products, where no tree helps."""

from __future__ import annotations

import numpy as np

from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import chunk_slices

#: What rounding may change of a distance in single precision, at most, in the distances
#: of both points from the origin.
SLACK = 1e-3

#: Points farther out are none for single precision: their squares would overflow.
LARGEST_SINGLE = 1e15


def nearest_of(nodes: Floats, Z: Floats) -> Integers:
    """Number of the node (m, d) nearest to each row (n, d).

    The nearest v to u has the greatest u.v - |v|^2 / 2, a product with a column more.
    Products cancel digits: nodes and rows should be about the origin.
    """
    half = -0.5 * np.einsum("ij,ij->i", nodes, nodes)
    outer = np.column_stack([nodes, half]).T
    inner = np.column_stack([Z, np.ones(len(Z))])
    found = np.empty(len(Z), dtype=np.intp)
    for rows in chunk_slices(len(Z), len(nodes)):
        np.argmax(inner[rows] @ outer, axis=1, out=found[rows])
    return found
