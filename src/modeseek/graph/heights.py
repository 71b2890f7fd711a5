r"""Heights of nodes: log-densities by the distances to their neighbours.

.. math:: h_i = -D\, \overline{\log r_{ij}}, \qquad j = 8, \dots, 15,

with D the dimension that the rows fill. With more than some thousand nodes, more
neighbours tell the same place: their number grows with the square root of that of the
nodes, so that both the chance in a height and the ball that it is the mean of become
small. Where the fifteen nearest are far denser than that ball, the node is in a small
group, and they decide.

Nodes that were drawn stand for several rows each. A *single* node stands for itself:
the drawn ones do not explain its row (:mod:`modeseek.graph.unexplained`). Among both,
balls are as dense as what their nodes stand for makes them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma

from modeseek.graph.edges import Neighbors, safe_log
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import chunk_slices, in_chunks

#: Neighbours whose distances make a height; the nearer half of them is too noisy.
HEIGHT_NEIGHBORS = 15

#: Nodes from which on a height takes more neighbours.
MANY_NODES = 5000

#: Neighbours that measure the dimension.
DIMENSION_NEIGHBORS = 20

#: Standard errors by which the nearest neighbours are denser where they alone decide:
#: chance does not make so many at any of a million nodes.
CERTAINLY_DENSER = 5.0


class Heights(NamedTuple):
    """Heights of nodes, and how many neighbours each is made of."""

    height: Floats  # (m,)
    neighbors: Integers  # (m,)


def count_height_neighbors(n_nodes: int) -> int:
    """Neighbours whose distances make a height in a small group of so many nodes."""
    return min(HEIGHT_NEIGHBORS, max(1, n_nodes // 4))


def count_wide_neighbors(n_nodes: int) -> int:
    """Neighbours whose distances make a height among so many nodes."""
    if n_nodes <= MANY_NODES:
        return count_height_neighbors(n_nodes)
    return round(HEIGHT_NEIGHBORS * float(np.sqrt(n_nodes / MANY_NODES)))


def count_neighbors(n_nodes: int, n_single: int) -> int:
    """Neighbours of every node to be known, for heights and dimension."""
    wide = count_wide_neighbors(n_nodes - n_single)
    return min(max(DIMENSION_NEIGHBORS, wide), n_nodes - 1)


def measure_dimension(near: Neighbors, d: int) -> float:
    """Maximum likelihood of the dimension, from 1 to that of the rows.

    It is that of the balls that heights are means of: a thin band is a curve to them.
    """
    m, k = near.distance.shape
    rise = 0.0
    for rows in chunk_slices(m, k):
        log = safe_log(near.distance[rows])
        rise += float(log[:, -1].sum() * (k - 1) - log[:, :-1].sum())
    mean = rise / (m * max(1, k - 1))
    return float(np.clip(1.0 / mean, 1.0, d)) if mean > 0 else float(d)


def node_heights(
    near: Neighbors, counts: Floats, dimension: float, n_single: int = 0
) -> Heights:
    """Heights of nodes that count so many times; the last ``n_single`` are single."""
    n_drawn = len(counts) - n_single
    counts = counts / counts[:n_drawn].mean()
    k, wide = count_height_neighbors(n_drawn), count_wide_neighbors(n_drawn)

    def measure(k: int) -> Floats:
        nearest = near.first(max(k, DIMENSION_NEIGHBORS))
        if n_single:
            return _mean_log_density(nearest, counts, dimension, k)
        own = np.maximum(counts - 1.0, 0.0)
        return _level(k) - dimension * log_radius(nearest, counts, own, k)

    height, neighbors = measure(k), np.full(len(counts), k)
    if wide > k:
        broad = measure(wide)
        decides = height - broad <= CERTAINLY_DENSER * height_error(k)
        height = np.where(decides, broad, height)
        neighbors[decides] = wide
    return Heights(height - _level(k), neighbors)


def _level(k: int) -> float:
    """Mean of the expected log-count of rows in balls up to neighbours k // 2 to k."""
    return float(digamma(np.arange(k // 2 + 1, k + 1)).mean())


def _mean_log_density(
    near: Neighbors, counts: Floats, dimension: float, k: int
) -> Floats:
    """Mean log-density (m,) of the balls up to neighbours k // 2 to k.

    Each holds what its nodes count, in place of their number.
    """
    rank = np.arange(k // 2 + 1, k + 1)
    held = np.cumsum(counts[near.node[:, :k]], axis=1)[:, k // 2 :]
    log_held = np.log(held) + digamma(rank) - np.log(rank)
    log_r = safe_log(near.distance[:, k // 2 : k])
    return np.asarray((log_held - dimension * log_r).mean(axis=1))


def log_counts(counts: Floats, n_single: int) -> Floats:
    """Logarithm of what nodes count: 0 for drawn ones, which count nearly alike."""
    n_drawn = len(counts) - n_single
    log_count = np.zeros(len(counts))
    log_count[n_drawn:] = np.log(counts[n_drawn:] / counts[:n_drawn].mean())
    return log_count


def height_error(k: int | Integers) -> Floats:
    """Standard error of a height that is made of k neighbours."""
    return np.asarray(np.sqrt(1.0 / (k - k // 2 / 2.0)))


def log_radius(near: Neighbors, counts: Floats, own: Floats, k: int) -> Floats:
    """Mean log-distance (n,) of rows to neighbours k // 2 to k, counted with copies.

    Nodes (m,) count so many times, and rows (n,) have so many copies of their own.
    """
    if not own.any() and (counts == 1.0).all():
        last = min(k, near.distance.shape[1])
        window = near.distance[:, last * (k // 2) // k : last]
        return in_chunks(lambda r: safe_log(r).mean(axis=1), window, k)
    r = np.maximum(near.distance, np.finfo(float).tiny)
    r = np.column_stack([0.5 * r[:, 0], r])
    copies = np.column_stack([own, counts[near.node]])
    reached = np.cumsum(copies, axis=1)
    last_reached = np.minimum(k, reached[:, -1:])
    first = last_reached * (k // 2) / k
    window = np.minimum(reached, last_reached) - np.maximum(reached - copies, first)
    window = np.maximum(window, 0.0)
    return np.asarray((window * np.log(r)).sum(axis=1) / window.sum(axis=1))
