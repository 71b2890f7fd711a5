"""Cells of labelled nodes, by which the label of the nearest node is found sooner.

Nodes of one label are cut into cells, each with its middle and the distances of its
nearest and of its farthest node from there. By the triangle inequality a row's nearest
node is no farther than the middle of any cell plus that cell's nearest distance, and a
cell that does not come so near by its farthest distance does not hold it. Where all the
cells that are left have one label, that is the answer; else only their nodes are tried.
Without labels the nearest node itself is found, among the nodes of the cells left.
Bounds are in single precision, with a slack that is far more than its rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.graph.products import LARGEST_SINGLE, SLACK, nearest_of
from modeseek.rows.arrays import Bools, Floats, Integers, Singles
from modeseek.rows.blocks import chunk_slices, count_workers, map_blocks

#: Rows of a block: many, so that those which share cells are many too, but for every
#: thread some.
LEAST_BLOCK, BLOCK = 1 << 11, 1 << 15

#: Most nodes of a cell where there are many: a million rows in 10 features, ten blobs
#: with some modes each, found theirs among 9,000 nodes in 0.6 of the time that cells of
#: 50 take. Fewer nodes are cut into so many cells, of so many nodes at least.
CELL_NODES, ENOUGH_CELLS, LEAST_CELL = 128, 48, 16

#: Where more than this share of the cells is left, a row is given up.
MOST_LEFT = 0.4


class Cells(NamedTuple):
    """Nodes in the order of their cells, and the cells; all about the origin."""

    origin: Floats  # (d,)
    nodes: Floats  # (m, d)
    label: Integers  # (m,) or, without labels, the number of each node
    cell: Integers  # (m,) ascending
    middle: Singles  # (c, d)
    nearest: Singles  # (c,) distance of the nearest node from the middle
    farthest: Singles  # (c,)
    cell_label: Integers | None  # (c,)


def cut_cells(nodes: Floats, label: Integers | None = None) -> Cells:
    """Cut nodes (m, d) into cells of one label, in halves of the widest feature."""
    most = min(CELL_NODES, max(LEAST_CELL, len(nodes) // ENOUGH_CELLS))
    waiting, parts = [np.arange(len(nodes))], []
    if label is not None:
        order = np.argsort(label, kind="stable")
        waiting = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    while waiting:
        members = waiting.pop()
        if len(members) <= most:
            parts.append(members)
            continue
        V, half = nodes[members], len(members) // 2
        widest = (V.max(axis=0) - V.min(axis=0)).argmax()
        along = members[V[:, widest].argpartition(half)]
        waiting += [along[:half], along[half:]]
    order, origin = np.concatenate(parts), nodes.mean(axis=0)
    size = np.array([len(members) for members in parts])
    cell, first = np.repeat(np.arange(len(parts)), size), np.cumsum(size) - size
    middle = np.add.reduceat(nodes[order], first) / size[:, None]
    away = np.linalg.norm(nodes[order] - middle[cell], axis=1)
    return Cells(
        origin,
        nodes[order] - origin,
        order if label is None else label[order],
        cell,
        (middle - origin).astype(np.float32),
        nearest=np.minimum.reduceat(away, first).astype(np.float32),
        farthest=np.maximum.reduceat(away, first).astype(np.float32),
        cell_label=None if label is None else label[order[first]],
    )


def nearest_labels(cells: Cells, Z: Floats, n_jobs: int | None = None) -> Integers:
    """Label of the nearest node of every row (n, d); -1 where the cells hardly help.

    Without labels it is the number of that node.
    """

    def kernel(rows: slice) -> Integers:
        return _in_block(cells, Z[rows])

    share = -(-len(Z) // count_workers(n_jobs))
    size = min(BLOCK, max(LEAST_BLOCK, share))
    parts = map_blocks(kernel, len(Z), n_jobs=n_jobs, size=size)
    return np.concatenate(list(parts))


def _in_block(cells: Cells, Z: Floats) -> Integers:
    Z = Z - cells.origin
    beyond = np.abs(Z).max(axis=1) > LARGEST_SINGLE
    U = np.where(beyond[:, None], 0.0, Z).astype(np.float32)
    chunks = chunk_slices(len(U), len(cells.middle))
    parts = [_cells_left(cells, U[chunk]) for chunk in chunks]
    first, left = (np.concatenate(part) for part in zip(*parts, strict=True))
    label, rows = np.full(len(Z), -1), np.arange(len(Z))
    if cells.cell_label is not None:
        label = cells.cell_label[first]
        names, number = np.unique(cells.cell_label, return_inverse=True)
        differs = number != np.arange(len(names))[:, None]  # (labels, c)
        rows = np.flatnonzero((left & differs[number[first]]).any(axis=1))
    few = left[rows].mean(axis=1) <= MOST_LEFT
    label[rows[~few]] = -1
    label[beyond] = -1
    # Of the others, those that begin in one cell have nearly the same cells left.
    rows = rows[few & ~beyond[rows]]
    rows = rows[np.argsort(first[rows], kind="stable")]
    for group in np.split(rows, np.flatnonzero(np.diff(first[rows])) + 1):
        near = left[group].any(axis=0)[cells.cell]
        if near.any():
            label[group] = cells.label[near][_nearest(cells.nodes[near], Z[group])]
    return label


def _cells_left(cells: Cells, U: Singles) -> tuple[Integers, Bools]:
    """Cell whose nearest node bounds the distance, and cells that may be nearer."""
    far = np.einsum("ij,ij->i", U, U)
    D = U @ (-2.0 * cells.middle.T)
    D += far[:, None]
    D += np.einsum("ij,ij->i", cells.middle, cells.middle)
    np.sqrt(np.maximum(D, 0.0, out=D), out=D)
    first = (D + cells.nearest).argmin(axis=1)
    reach = D[np.arange(len(U)), first] + cells.nearest[first]
    reach += SLACK * (reach + np.sqrt(far))
    D -= cells.farthest
    return first, reach[:, None] >= D


def _nearest(nodes: Floats, Z: Floats) -> Integers:
    """Nearest node of every row, about the middle of the nodes."""
    middle = nodes.mean(axis=0)
    return nearest_of(nodes - middle, Z - middle)
