"""How much of the gradient one Gaussian explains: of all rows, and of each cluster.

It is much where clusters overlap or hide among features of noise, and little where they
are far apart. Within a cluster it is nearly all if that is a hill, and little if it is
a curve or a ring.
"""

from __future__ import annotations

import numpy as np

from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.gradient.state import fit_coarsely, prepare_coarsely
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.components import whitening_axes
from modeseek.rows.source import ArrayRows
from modeseek.rows.splits import FEWEST_ROWS
from modeseek.rows.subsample import make_overview, smaller_overview

#: Rows that are enough to see how much of the gradient a Gaussian explains.
SCOUTS = 2048

#: Clusters are hills if a Gaussian explains so much of the gradient within them.
HILL_SHARE = 0.5


def share_of_gaussian(Z: Floats) -> float:
    """Share of the gradient of the log-density that one Gaussian explains.

    It is that of the rows' own covariance: rows Z (n, d) are whitened first. There is
    none where all of them are equal.
    """
    axes = whitening_axes(Z)
    if not len(axes):
        return 0.0
    rows = ArrayRows(Z @ axes.T, None, None)
    overview = make_overview(rows, whole=True, n_jobs=None)
    if len(overview.sample.ranking.first) > SCOUTS:
        overview = smaller_overview(overview, SCOUTS, None)
    estimator = LogDensityGradient(bandwidth="auto", random_state=0)
    fit_coarsely(estimator, overview, prepare_coarsely(estimator, overview))
    return float(estimator.gaussian_share_)


def are_winding(Z: Floats, cluster: Integers) -> bool:
    """Whether clusters of a graph are no hills, but curves, rings or the like.

    Clusters (m,) of the nodes are numbered from 0. Each is looked at in the coordinates
    of the graph, and counts by its rows; small ones do not tell.
    """
    size = np.bincount(cluster)
    told = np.flatnonzero(size >= FEWEST_ROWS)
    if not len(told):
        return False
    share = [share_of_gaussian(Z[cluster == one]) for one in told]
    return bool(np.average(share, weights=size[told]) < HILL_SHARE)
