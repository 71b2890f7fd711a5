"""The merge tree laid out for drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from modeseek.rows.arrays import Floats, Integers
from modeseek.tree.pairs import DisjointSets

if TYPE_CHECKING:
    from modeseek.tree.merge_tree import MergeTree


class Dendrogram(NamedTuple):
    """A merge tree laid out for drawing: merges are brackets over the modes.

    Height is prominence, so a horizontal line is a cut. Brackets are sorted from the
    lowest up; bracket i stands for merge ``merge[i]`` of the tree.
    """

    x: Floats  # (k,) place of each mode, from 0
    merge: Integers  # (k - 1,)
    left: Floats  # (k - 1,) place of the two legs ...
    right: Floats
    left_foot: Floats  # (k - 1,) ... and where each of them starts
    right_foot: Floats
    height: Floats  # (k - 1,)

    def middle(self) -> Floats:
        """Place of each bracket's own leg upwards."""
        return 0.5 * (self.left + self.right)


class Brackets(NamedTuple):
    """Merges from the lowest prominence up, each of two groups of modes."""

    merge: Integers  # (k - 1,) of the tree
    halves: Integers  # (k - 1, 2) groups: below k a mode, k + i what bracket i made


def pair_up(tree: MergeTree) -> Brackets:
    """Join modes two groups at a time, by rising prominence.

    A group's own merges are all of smaller prominence than the merge of the group, so
    brackets never go down.
    """
    k = len(tree.heights)
    merge = np.argsort(tree.prominence, kind="stable")
    bracket = np.arange(k)  # top bracket of each group's summit
    groups = DisjointSets(k)
    halves = np.empty((len(merge), 2), dtype=np.intp)
    for i, m in enumerate(merge):
        parent, child = (groups.find(int(of[m])) for of in (tree.parent, tree.child))
        halves[i] = bracket[parent], bracket[child]
        groups.join(child, into=parent)
        bracket[parent] = k + i
    return Brackets(merge, halves)


def lay_out(tree: MergeTree) -> Dendrogram:
    """Place the modes so that no two branches of the dendrogram cross."""
    k = len(tree.heights)
    merge, halves = pair_up(tree)
    place, foot = np.empty(k + len(merge)), np.zeros(k + len(merge))
    place[_leaves(halves, k)] = np.arange(k)
    foot[k:] = tree.prominence[merge]
    for i, (a, b) in enumerate(halves):
        place[k + i] = 0.5 * (place[a] + place[b])
    left, right = halves.T
    return Dendrogram(
        place[:k], merge, place[left], place[right], foot[left], foot[right], foot[k:]
    )


def _leaves(halves: Integers, k: int) -> Integers:
    """Modes from left to right: those of a bracket's first half before its second."""
    order: list[int] = []
    waiting = [k + len(halves) - 1]
    while waiting:
        node = waiting.pop()
        if node < k:
            order.append(node)
        else:
            waiting.extend(int(half) for half in halves[node - k][::-1])
    return np.array(order, dtype=np.intp)
