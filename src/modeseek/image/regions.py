r"""Regions of an image: who borders on whom, and which borders fall.

Pieces of a label image are the nodes of a graph; an edge holds the length of the border
between two of them and the total of the *jumps* across it. Regions join along the
border of least *contrast*,

.. math:: \frac{1}{|\partial|} \sum_{(p, q) \in \partial} jump(p, q) \cdot
    \left(\frac{\min(|A|, |B|)}{n}\right)^{1/4},

so that small regions need stronger borders; joining adds lengths and totals.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from math import dist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from modeseek.rows.arrays import Floats, Integers
from modeseek.tree.pairs import follow_to_end

Labels = NDArray[np.integer]

#: How the contrast of a border falls with the share of its smaller region: 1/4 was best
#: of 0, 1/4, 1/2 and 1 on the Berkeley validation images.
SIZE_POWER = 0.25


class Borders(NamedTuple):
    """Borders between pieces."""

    low: Integers  # (m,) the pair, low < high
    high: Integers
    length: Floats  # (m,) pixel pairs across the border
    total: Floats  # (m,) sum of their jumps


def find_borders(
    pieces: Labels, jump: Callable[[Integers, Integers], Floats] | None = None
) -> Borders:
    """Borders between the pieces of a label image, which are numbered from 0.

    ``jump`` takes the flat numbers of neighbouring pixels of different pieces and gives
    the jump between each two; without it all jumps are 0.
    """
    flat = pieces.ravel()
    n = int(flat.max()) + 1
    code: list[Integers] = []
    value: list[Floats] = []
    for axis in range(pieces.ndim):
        step = int(np.prod(pieces.shape[axis + 1 :]))
        one = np.moveaxis(pieces, axis, 0)[:-1]
        two = np.moveaxis(pieces, axis, 0)[1:]
        where = list(np.nonzero(one != two))
        where.insert(axis, where.pop(0))
        p = np.ravel_multi_index(tuple(where), pieces.shape)
        q = p + step
        a, b = flat[p].astype(np.intp), flat[q].astype(np.intp)
        code.append(np.minimum(a, b) * n + np.maximum(a, b))
        value.append(np.zeros(len(p)) if jump is None else jump(p, q))
    pair, index = np.unique(np.concatenate(code), return_inverse=True)
    length = np.bincount(index, minlength=len(pair))
    total = np.bincount(index, np.concatenate(value), minlength=len(pair))
    return Borders(
        pair // n, pair % n, length.astype(np.float64), total.astype(np.float64)
    )


class _RegionGraph:
    """Regions that absorb one another, each with its borders: length and total."""

    def __init__(self, size: Floats, borders: Borders) -> None:
        self.size: list[float] = size.tolist()
        self.absorber = list(range(len(size)))
        self.borders: list[dict[int, tuple[float, float]]] = [{} for _ in size]
        for a, b, length, total in zip(
            *(part.tolist() for part in borders), strict=True
        ):
            self.borders[a][b] = self.borders[b][a] = (length, total)

    def absorb(self, keep: int, gone: int) -> None:
        """Let one region take another's pixels and borders."""
        self.absorber[gone] = keep
        self.size[keep] += self.size[gone]
        del self.borders[keep][gone]
        for other, (length, total) in self.borders[gone].items():
            if other == keep:
                continue
            del self.borders[other][gone]
            before = self.borders[keep].get(other, (0.0, 0.0))
            joined = before[0] + length, before[1] + total
            self.borders[keep][other] = self.borders[other][keep] = joined
        self.borders[gone] = {}


def join_small(size: Floats, color: Floats, borders: Borders, least: float) -> Integers:
    """Join regions that are too small to the neighbour they differ from least.

    Regions have ``size`` (n,) pixels and mean colours (n, channels). The smallest of
    those below ``least`` pixels goes first; what it joins takes the mean colour of
    both. The result (n,) is the region that each one ends in.
    """
    graph = _RegionGraph(size, borders)
    # Plain numbers: arrays of so few take longer to make than to add up.
    means = [tuple(one) for one in color.tolist()]
    queue = [(graph.size[i], int(i)) for i in np.flatnonzero(size < least)]
    heapq.heapify(queue)
    while queue:
        pixels, i = heapq.heappop(queue)
        stale = graph.absorber[i] != i or pixels != graph.size[i]
        if stale or not graph.borders[i]:
            continue
        mine = means[i]
        _, j = min([(dist(means[j], mine), j) for j in graph.borders[i]])
        others = graph.size[j]
        graph.absorb(j, i)
        both = graph.size[j]
        means[j] = tuple(
            [
                (pixels * a + others * b) / both
                for a, b in zip(mine, means[j], strict=True)
            ]
        )
        if both < least:
            heapq.heappush(queue, (both, j))
    return follow_to_end(np.array(graph.absorber))


class RegionTree(NamedTuple):
    """How regions join along borders of rising contrast."""

    n_regions: int  # before any is joined
    child: Integers  # (n_regions - 1,) join i lets parent[i] absorb child[i]
    parent: Integers
    contrast: Floats  # (n_regions - 1,) of the borders that fall, in rising order

    def cut(self, contrast: float = 0.0, n_segments: int | None = None) -> Integers:
        """Region (n_regions,) that each one belongs to at a level.

        Borders of a smaller contrast than ``contrast`` are dropped or, if
        ``n_segments`` is given, those of least contrast until so many regions are left.
        """
        if n_segments is None:
            n_joins = int(np.searchsorted(self.contrast, contrast))
        else:
            n_joins = max(0, self.n_regions - n_segments)
        into = np.arange(self.n_regions)
        into[self.child[:n_joins]] = self.parent[:n_joins]
        return follow_to_end(into)


def build_region_tree(size: Floats, borders: Borders) -> RegionTree:
    """Join regions of ``size`` (n,) pixels along borders of rising contrast to one."""
    n_pixels = float(size.sum())
    graph = _RegionGraph(size, borders)
    version = [0] * len(size)

    def entry(a: int, b: int) -> tuple[float, int, int, int, int]:
        a, b = min(a, b), max(a, b)
        length, total = graph.borders[a][b]
        smaller = min(graph.size[a], graph.size[b]) / n_pixels
        contrast = total / length * smaller**SIZE_POWER
        return contrast, a, b, version[a], version[b]

    queue = [entry(a, b) for a in range(len(size)) for b in graph.borders[a] if a < b]
    heapq.heapify(queue)
    joins: list[tuple[int, int]] = []
    contrasts: list[float] = []
    while queue:
        contrast, a, b, at_a, at_b = heapq.heappop(queue)
        gone = graph.absorber[a] != a or graph.absorber[b] != b
        if gone or version[a] != at_a or version[b] != at_b:
            continue
        keep, child = (a, b) if graph.size[a] >= graph.size[b] else (b, a)
        graph.absorb(keep, child)
        version[keep] += 1
        joins.append((child, keep))
        contrasts.append(contrast)
        for other in graph.borders[keep]:
            heapq.heappush(queue, entry(keep, other))
    table = np.array(joins, dtype=np.intp).reshape(-1, 2)
    # Joining may lower the contrast of another border: a level counts what fell before.
    rising = np.maximum.accumulate(np.array(contrasts, dtype=np.float64))
    return RegionTree(len(size), table[:, 0], table[:, 1], rising)
