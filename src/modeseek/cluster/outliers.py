r"""Outlier scores: how far a row is from its neighbours, ranked within its cluster.

The *radius* of a row is the geometric mean of its distances to neighbours 8 to 15 among
reference rows, in all features, that of a reference row without itself. A row like
those of the fit is one of them, so that its rank among their radii is as likely here as
there: in a cluster scores are uniform from 0 to 1, in any number of dimensions and
whatever the cluster's shape,

.. math:: s(x) = \frac{|\{i \in k : r_i < r(x)\}|}{|\{i \in k\}|},

where equal radii count half. Past the largest radius R of N rows the score goes on
towards 1, as :math:`1 - R / (2 N r)`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.cluster.landscape import Landscape
from modeseek.cluster.reference import Reference, scaling
from modeseek.graph.edges import Neighbors, find_neighbors
from modeseek.graph.heights import (
    DIMENSION_NEIGHBORS,
    count_height_neighbors,
    log_radius,
)
from modeseek.graph.neighbors import Search
from modeseek.rows.arrays import Floats, Integers, Reals
from modeseek.rows.coordinates import Frame


class Radii(NamedTuple):
    """Reference rows with their radii, to measure those of others."""

    frame: Frame  # all features
    nodes: Floats  # (m, d) in the frame
    log_radius: Floats  # (m,)
    counts: Floats  # (m,) copies, of a mean of 1; all 1 where rounding may make copies
    mode: Integers  # (m,)
    weight: Floats  # (m,)
    grain: float

    def measure(self, X: Reals, n_jobs: int | None) -> Floats:
        """Logarithm of the radius of rows; of a reference row, its own."""
        Z, m = self.frame.enter(X), len(self.nodes)
        near = Search(self.nodes, self.grain, n_jobs).query(
            Z, min(DIMENSION_NEIGHBORS, m)
        )
        measured = log_radius(
            Neighbors(*near), self.counts, np.zeros(len(Z)), count_height_neighbors(m)
        )
        nearest = near[1][:, 0]
        at_node = (self.nodes[nearest] == Z).all(axis=1)
        return np.where(at_node, self.log_radius[nearest], measured)

    def calibrate(self, mode_labels: Integers) -> list[tuple[Floats, Floats]]:
        """Radii of each cluster, ascending, and the shares of rows up to each.

        The shares start with 0, so that there is one more.
        """
        labels, table = mode_labels[self.mode], []
        for k in range(int(mode_labels.max()) + 1):
            own = np.flatnonzero(labels == k)
            own = own[np.argsort(self.log_radius[own])]
            total = np.append(0.0, np.cumsum(self.weight[own]))
            table.append((self.log_radius[own], total / max(total[-1], 1e-300)))
        return table


def measure_radii(
    landscape: Landscape, reference: Reference, n_jobs: int | None
) -> Radii:
    """Radii of reference rows, each among the others."""
    rows, weight, grain = reference
    mode = landscape.locate(rows, n_jobs)
    frame = scaling(landscape.frame)
    nodes, m = frame.enter(rows), len(rows)
    count = weight / weight.mean() if grain == 0 else np.ones(m)
    radius = np.full(m, -np.inf)
    if m > 1:
        search = Search(nodes, grain, n_jobs)
        near = find_neighbors(search, min(DIMENSION_NEIGHBORS, m - 1))
        copies = np.maximum(count - 1.0, 0.0)
        radius = log_radius(near, count, copies, count_height_neighbors(m))
    return Radii(frame, nodes, radius, count, mode, weight, grain)


def score_radii(
    table: list[tuple[Floats, Floats]], labels: Integers, log_radii: Floats
) -> Floats:
    """Outlier scores of rows (n,) with their clusters and radii.

    ``table`` is that of :meth:`Radii.calibrate`.
    """
    score = np.ones(len(labels))
    for k, (radii, share) in enumerate(table):
        rows = np.flatnonzero(labels == k)
        if not len(radii) or not len(rows):
            continue
        mine = log_radii[rows]
        below = share[np.searchsorted(radii, mine)]
        up_to = share[np.searchsorted(radii, mine, side="right")]
        score[rows] = 0.5 * (below + up_to)
        beyond = mine > radii[-1]
        last = 0.5 * (share[-1] - share[-2])
        score[rows[beyond]] = 1.0 - last * np.exp(radii[-1] - mine[beyond])
    return score
