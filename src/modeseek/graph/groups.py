"""Groups of nodes that are apart, by which most rows find their nearest node at once.

A ball about each group has a middle and the distances of its nearest and its farthest
node from there. By the triangle inequality a row's nearest node is no farther than the
middle of any group plus that group's nearest distance, and a group that does not come
so near by its farthest distance does not hold it. Where one group is left, it holds the
nearest node: if its nodes have one label, nothing else need be known. Bounds are in
single precision, with a slack that is far more than its rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.graph.products import SLACK, nearest_of
from modeseek.rows.arrays import Bools, Floats, Integers, Singles
from modeseek.rows.blocks import map_blocks

#: Rows of a block: distances to some groups stay in a core's cache.
BLOCK = 1 << 13


class Groups(NamedTuple):
    """Nodes in the order of their groups, and the groups; all about the origin."""

    origin: Floats  # (d,)
    nodes: Floats  # (m, d)
    label: Integers  # (m,)
    first: Integers  # (g + 1,) the first node of each, and the number of nodes
    middle: Singles  # (g, d)
    nearest: Singles  # (g,) distance of the nearest node from the middle
    farthest: Singles  # (g,)

    def members(self, group: int) -> slice:
        """Positions of the nodes of a group."""
        return slice(self.first[group], self.first[group + 1])


def make_groups(nodes: Floats, group: Integers, label: Integers) -> Groups:
    """Put nodes (m, d) with their labels (m,) in the order of their groups (m,)."""
    order, origin = np.argsort(group, kind="stable"), nodes.mean(axis=0)
    V = nodes[order] - origin
    first = np.flatnonzero(np.diff(group[order], prepend=group.min() - 1))
    size = np.diff(first, append=len(order))
    middle = np.add.reduceat(V, first) / size[:, None]
    away = np.linalg.norm(V - np.repeat(middle, size, axis=0), axis=1)
    return Groups(
        origin,
        V,
        label[order],
        np.append(first, len(order)),
        middle.astype(np.float32),
        nearest=np.minimum.reduceat(away, first).astype(np.float32),
        farthest=np.maximum.reduceat(away, first).astype(np.float32),
    )


def nearest_in_groups(groups: Groups, Z: Floats, n_jobs: int | None = None) -> Integers:
    """Label of the nearest node of every row (n, d); -1 where several groups are left.

    Labels are not negative.
    """

    def kernel(rows: slice) -> Integers:
        return _in_block(groups, Z[rows] - groups.origin)

    parts = map_blocks(kernel, len(Z), n_jobs=n_jobs, size=BLOCK)
    return np.concatenate(list(parts))


def _in_block(groups: Groups, Z: Floats) -> Integers:
    found = np.full(len(Z), -1)
    for group, alone in enumerate(_left_alone(groups, Z)):
        rows, members = np.flatnonzero(alone), groups.members(group)
        label = groups.label[members]
        if (label == label[0]).all():
            found[rows] = label[0]
        elif len(rows):
            middle = groups.middle[group].astype(np.float64)
            nodes = groups.nodes[members] - middle
            found[rows] = label[nearest_of(nodes, Z[rows] - middle)]
    return found


@np.errstate(over="ignore", invalid="ignore")
def _left_alone(groups: Groups, Z: Floats) -> Bools:
    """Whether each group, and no other, may hold the nearest node of rows; (g, n).

    None does for rows so far out that squares overflow in single precision.
    """
    U, middle = Z.astype(np.float32), groups.middle
    far = np.einsum("ij,ij->i", U, U)
    D = (-2.0 * middle) @ U.T
    D += far
    D += np.einsum("ij,ij->i", middle, middle)[:, None]
    np.sqrt(np.maximum(D, 0.0, out=D), out=D)
    reach = (D + groups.nearest[:, None]).min(axis=0)
    reach += SLACK * (reach + np.sqrt(far))
    D -= groups.farthest[:, None]
    left = reach >= D
    alone = np.add.reduce(left, axis=0, dtype=np.uint8) == 1
    return np.asarray(left & (alone & np.isfinite(far)))
