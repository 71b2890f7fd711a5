r"""Memberships: a Gaussian hill for every mode, and a row's share in each.

Labels cut clusters off at the valleys, and say nothing about how far each goes on
beyond. A hill :math:`m` is the Gaussian with the weight, mean and covariance of the
rows that climb to a mode, so that a cluster of any shape is the sum of its modes'
hills,

.. math::

    \text{membership}_k(x) = \frac{\sum_{m \in k} \pi_m N(x; \mu_m, \Sigma_m)}
    {\sum_{m} \pi_m N(x; \mu_m, \Sigma_m)},

and a cut elsewhere only adds up other shares. The rows of a mode lack what it has
beyond its valleys; therefore the hills are raised twice, the second time on rows that
are shared by the first (a step of the EM algorithm). Few rows do not tell a covariance:
the mean covariance of all hills, at the size of this one, counts as one row more than
there are coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from modeseek.cluster.landscape import Landscape
from modeseek.cluster.reference import Reference
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import map_rows, one_blas_thread
from modeseek.rows.components import principal_components
from modeseek.rows.coordinates import Frame
from modeseek.tree.merge_tree import MergeTree
from modeseek.tree.pairs import DisjointSets

#: Coordinates in which hills stand at most: the principal ones of more.
MOST_COORDINATES = 32

#: Times that hills are raised again, on rows that are shared by the last.
SOFT_STEPS = 1

#: Least variance of a hill, as a share of that of all rows.
LEAST_VARIANCE = 1e-6

#: Rows of which a hill has a smaller share do not count for its covariance.
LEAST_SHARE = 1e-4

#: A row's own cluster is ahead of the others by this much at least, in log-density.
OWN_ADVANTAGE = 1e-6


class Hills(NamedTuple):
    """Gaussians in a frame."""

    frame: Frame
    labels: Integers  # (m,) cluster of each
    mean: Floats  # (m, q)
    whitening: Floats  # (m, q, q) makes unit variances of deviations from the mean
    log_weight: Floats  # (m,) with the normalisation of the Gaussian

    def log_heights(self, Z: Floats) -> Floats:
        """Log-density of every hill at rows (n, q) of the frame, (n, m)."""
        height = np.empty((len(Z), len(self.mean)))
        for m, (mean, whitening) in enumerate(
            zip(self.mean, self.whitening, strict=True)
        ):
            off = (Z - mean) @ whitening.T
            height[:, m] = self.log_weight[m] - 0.5 * np.einsum("ij,ij->i", off, off)
        return height


def raise_hills(
    landscape: Landscape,
    reference: Reference,
    mode_labels: Integers,
    n_jobs: int | None,
) -> Hills:
    """Hills of the clusters that modes of a landscape are of, from reference rows."""
    mode = landscape.locate(reference.rows, n_jobs)
    frame, weight = landscape.frame, reference.weight
    Z = frame.enter(reference.rows)
    with one_blas_thread():
        if Z.shape[1] > MOST_COORDINATES:
            _, axes = principal_components(Z, MOST_COORDINATES)
            inner = frame.components
            axes = axes if inner is None else axes @ inner
            frame = frame._replace(components=axes, loadings=None)
            Z = frame.enter(reference.rows)
        first, hill = np.unique(
            _join_modes(landscape.tree, mode_labels, Z, mode, weight),
            return_inverse=True,
        )
        share = np.zeros((len(Z), len(first)))
        share[np.arange(len(Z)), hill[mode]] = 1.0
        for _ in range(SOFT_STEPS + 1):
            hills = _fit(frame, mode_labels[first], Z, share, weight)
            height = hills.log_heights(Z)
            share = np.exp(height - height.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
    return hills


def _join_modes(
    tree: MergeTree, labels: Integers, Z: Floats, mode: Integers, weight: Floats
) -> Integers:
    """The mode that stands for each one's hill, (n_modes,).

    From the highest saddle down, modes of a cluster that meet there are one hill if
    their rows (n, q), in all, are described better so, by the BIC.
    """
    q, total = Z.shape[1], weight.sum()
    member = csr_array((weight, (mode, np.arange(len(Z)))), (len(labels), len(Z)))
    size, first = member.sum(axis=1), member @ Z
    second = member @ (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), -1)
    moments = list(zip(size, first, second.reshape(-1, q, q), strict=True))
    within = sum(_scatter(*one) for one in moments) / total
    usual = within + _floor(Z)
    cost = 0.5 * (1.0 + q + 0.5 * q * (q + 1.0)) * np.log(total)

    def worth(size: float, first: Floats, second: Floats) -> float:
        prior = q + 1.0
        spread = (_scatter(size, first, second) + prior * usual) / (size + prior)
        volume = 0.5 * float(np.linalg.slogdet(spread)[1])
        return float(size * (np.log(max(size, 1e-300) / total) - volume) - cost)

    groups, value = DisjointSets(len(labels)), [worth(*one) for one in moments]
    for child, parent in zip(tree.child, tree.parent, strict=True):
        a, b = groups.find(int(child)), groups.find(int(parent))
        if labels[a] != labels[b]:
            continue
        joint = tuple(x + y for x, y in zip(moments[a], moments[b], strict=True))
        together = worth(*joint)
        if together >= value[a] + value[b]:
            groups.join(a, into=b)
            moments[b], value[b] = joint, together
    return np.array([groups.find(m) for m in range(len(labels))])


def _scatter(size: float, first: Floats, second: Floats) -> Floats:
    """Sum of squared deviations from the mean, by the sums of a group's rows."""
    return np.asarray(second - np.outer(first, first) / max(size, 1e-300))


def _floor(Z: Floats) -> Floats:
    """Least covariance of a hill."""
    variance = float(Z.var(axis=0).mean()) or 1.0
    return LEAST_VARIANCE * variance * np.eye(Z.shape[1])


def _fit(
    frame: Frame, labels: Integers, Z: Floats, share: Floats, weight: Floats
) -> Hills:
    """Hills of rows (n, q), of weights (n,), that have shares (n, m) in them."""
    q = Z.shape[1]
    part = share * weight[:, None]
    size = part.sum(axis=0)
    size = np.maximum(size, LEAST_SHARE)
    mean = part.T @ Z / size[:, None]
    covariance = np.zeros((len(size), q, q))
    for m in range(len(size)):
        of_hill = np.flatnonzero(share[:, m] > LEAST_SHARE)
        off = Z[of_hill] - mean[m]
        covariance[m] = (part[of_hill, m] * off.T) @ off / size[m]
    floor = _floor(Z)
    usual = np.tensordot(size, covariance, 1) / size.sum() + floor
    relative = np.einsum("ij,mji->m", np.linalg.inv(usual), covariance) / q
    relative = (np.maximum(size - 1.0, 0.0) * relative + 1.0) / np.maximum(size, 1.0)
    own, prior = size[:, None, None], q + 1.0
    covariance = own * covariance + prior * relative[:, None, None] * usual
    covariance = covariance / (own + prior) + floor
    whitening = np.linalg.inv(np.linalg.cholesky(covariance))
    normal = np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(axis=1)
    return Hills(frame, labels, mean, whitening, np.log(size / size.sum()) + normal)


def share_rows(
    hills: Hills, Z: Floats, labels: Integers, n_clusters: int, n_jobs: int | None
) -> Floats:
    """Shares of rows (n, q) in clusters, (n, n_clusters).

    The largest share is that in the row's own cluster, its label: where another's hills
    are higher, the two are equal.
    """
    of_cluster = np.eye(n_clusters)[hills.labels]

    def heights(rows: Floats) -> Floats:
        height = hills.log_heights(rows)
        highest = height.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):  # a cluster may be nowhere near
            return np.asarray(np.log(np.exp(height - highest) @ of_cluster))

    n_columns = max(hills.mean.shape)
    height = map_rows(heights, Z, n_columns, n_jobs)
    own, best = (np.arange(len(labels)), labels), height.max(axis=1)
    ahead = np.maximum(height[own], best)
    height -= OWN_ADVANTAGE
    height[own] = ahead
    share = np.exp(height - ahead[:, None])
    return np.asarray(share / share.sum(axis=1, keepdims=True))
