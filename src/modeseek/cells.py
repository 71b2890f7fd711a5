"""Cells of labelled nodes: the label of the nearest node, soon found.

Nodes of one label are cut into cells, each with its middle and the distances of its
nearest and of its farthest node from there. By the triangle inequality a row's nearest
node is no farther than the middle of any cell plus that cell's nearest distance, and a
cell that does not come so near by its farthest distance does not hold it. Where all the
cells that are left have one label, that is the answer; else only their nodes are tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.basis import squared_distances
from modeseek.blocks import map_blocks
from modeseek.frame import Floats
from modeseek.sampling import Integers

#: Most nodes of a cell.
CELL_NODES = 50

#: What rounding may change of a distance, in the distances that it is taken between.
SLACK = 1e-6

#: Where more than this share of the nodes is left, a row is given up.
MOST_LEFT = 0.4


class Cells(NamedTuple):
    """Nodes in the order of their cells, and the cells."""

    nodes: Floats  # (m, d)
    label: Integers  # (m,)
    cell: Integers  # (m,) ascending
    middle: Floats  # (c, d)
    nearest: Floats  # (c,) distance of the nearest node from the middle
    farthest: Floats  # (c,)
    cell_label: Integers  # (c,)


def cut_cells(nodes: Floats, label: Integers) -> Cells:
    """Cut nodes into cells, in halves along their widest feature.

    Parameters
    ----------
    nodes : ndarray of shape (m, d)
    label : ndarray of shape (m,)

    Returns
    -------
    Cells
    """
    order = np.argsort(label, kind="stable")
    bounds = np.flatnonzero(np.diff(label[order])) + 1
    waiting, parts = np.split(order, bounds), []
    while waiting:
        members = waiting.pop()
        if len(members) <= CELL_NODES:
            parts.append(members)
            continue
        widest = int(np.argmax(np.ptp(nodes[members], axis=0)))
        along = np.argsort(nodes[members, widest], kind="stable")
        waiting += np.array_split(members[along], 2)
    order = np.concatenate(parts)
    cell = np.repeat(np.arange(len(parts)), [len(members) for members in parts])
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    middle = np.array([nodes[members].mean(axis=0) for members in parts])
    away = np.linalg.norm(nodes[order] - middle[cell], axis=1)
    return Cells(
        nodes[order],
        label[order],
        cell,
        middle,
        nearest=np.minimum.reduceat(away, first),
        farthest=np.maximum.reduceat(away, first),
        cell_label=label[order[first]],
    )


def nearest_labels(cells: Cells, Z: Floats, n_jobs: int | None = None) -> Integers:
    """Label of the nearest node of every row, or -1 where the cells hardly help.

    Parameters
    ----------
    cells : Cells
    Z : ndarray of shape (n, d)
    n_jobs : int or None

    Returns
    -------
    ndarray of shape (n,)
    """
    parts = map_blocks(lambda rows: _in_block(cells, Z[rows]), len(Z), n_jobs=n_jobs)
    return np.concatenate(list(parts))


def _in_block(cells: Cells, Z: Floats) -> Integers:
    D = np.sqrt(squared_distances(Z, cells.middle, np.ones(Z.shape[1])))
    first = (D + cells.nearest).argmin(axis=1)
    reach = D[np.arange(len(Z)), first] + cells.nearest[first]
    reach += SLACK * (reach + np.linalg.norm(Z, axis=1))
    left = reach[:, None] + cells.farthest >= D
    label: Integers = cells.cell_label[first]
    unsure = (left & (cells.cell_label != label[:, None])).any(axis=1)
    rows = np.flatnonzero(unsure)
    share = left[rows] @ np.bincount(cells.cell) / len(cells.cell)
    label[rows[share > MOST_LEFT]] = -1
    # Of the others, those that begin in one cell have nearly the same cells left.
    rows = rows[share <= MOST_LEFT]
    rows = rows[np.argsort(first[rows], kind="stable")]
    for group in np.split(rows, np.flatnonzero(np.diff(first[rows])) + 1):
        near = left[group].any(axis=0)[cells.cell]
        if near.any():
            squared = squared_distances(
                Z[group], cells.nodes[near], np.ones(Z.shape[1])
            )
            label[group] = cells.label[near][squared.argmin(axis=1)]
    return label
