"""Heights along segments between points of a field."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from modeseek.field.basis import exponents
from modeseek.field.fields import (
    Field,
    KernelField,
    gradient,
    has_potential,
    potential,
)
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.blocks import CHUNK_ELEMENTS, in_chunks, row_slices

#: Logs of kernels at the ends of segments that are kept at once.
TABLE_ELEMENTS = 1 << 23

#: Kernels whose sum is this share of the highest are lost in its rounding.
LOST = np.finfo(np.float64).eps


def profiles(
    field: Field,
    nodes: Floats,
    pairs: Integers,
    n_points: int,
    heights: Floats | None = None,
) -> Floats:
    """Heights along segments between pairs (e, 2) of nodes; shape (e, n_points).

    The heights of the nodes matter where the field has no potential: the line integral
    is tilted to meet those of both ends. Without them it starts from zero.
    """
    t = np.linspace(0.0, 1.0, n_points)
    if has_potential(field):
        return potential_along(
            field, nodes, pairs, np.broadcast_to(t, (len(pairs), n_points))
        )
    rise = integrals(field, nodes, pairs, n_points)
    if heights is None:
        return rise
    start, end = heights[pairs[:, 0]], heights[pairs[:, 1]]
    return np.asarray(start[:, None] + rise + (end - start - rise[:, -1])[:, None] * t)


def integrals(field: Field, nodes: Floats, pairs: Integers, n_points: int) -> Floats:
    """Integrals of the gradient along segments from their start, (e, n_points)."""
    t = np.broadcast_to(np.linspace(0.0, 1.0, n_points), (len(pairs), n_points))
    along = _points_along(nodes, pairs, t)
    flat = along.reshape(-1, nodes.shape[1])
    g = in_chunks(
        lambda Z: gradient(field, field.evaluate(Z)), flat, len(field.centers)
    ).reshape(along.shape)
    way = nodes[pairs[:, 1]] - nodes[pairs[:, 0]]
    slope = np.einsum("end,ed->en", g, way) / (n_points - 1)
    steps = 0.5 * (slope[:, 1:] + slope[:, :-1])
    return np.concatenate([np.zeros((len(way), 1)), np.cumsum(steps, axis=1)], axis=1)


def _points_along(nodes: Floats, pairs: Integers, t: Floats) -> Floats:
    """Points at shares t (e, p) of the way along segments, shape (e, p, d)."""
    A, B, s = nodes[pairs[:, 0]], nodes[pairs[:, 1]], t[:, :, None]
    return np.asarray(A[:, None, :] * (1.0 - s) + B[:, None, :] * s)


def potential_along(field: Field, nodes: Floats, pairs: Integers, t: Floats) -> Floats:
    """Potential at shares t (e, p) of the way between pairs (e, 2) of nodes, (e, p)."""
    if isinstance(field, KernelField):
        most = TABLE_ELEMENTS // len(field.centers)  # nodes
        size = len(pairs) if len(nodes) <= most else most // 2
        groups = row_slices(len(pairs), max(64, size))
        parts = [_kernels_along(field, nodes, pairs[g], t[g]) for g in groups]
        return np.concatenate([np.empty((0, t.shape[1])), *parts])
    points = _points_along(nodes, pairs, t)
    return potential(field, points.reshape(-1, nodes.shape[1])).reshape(t.shape)


def _kernels_along(
    field: KernelField, nodes: Floats, pairs: Integers, t: Floats
) -> Floats:
    """Log-density along segments, shape (e, p), from distances of their ends alone.

    Squared distances from a centre are parabolas along a segment, all of one bend: the
    logs of kernels are linear there, but for a term that they share.
    """
    used, pairs = np.unique(pairs, return_inverse=True)
    nodes, pairs = nodes[used], pairs.reshape(-1, 2)
    logs = exponents(nodes, field.centers, 1.0 / field.widths)
    shares = np.stack([1.0 - t, t], axis=2)  # of the ends at the points, (e, p, 2)
    top = np.logaddexp.reduce(field.log_weights)  # rounding of huge squares goes beyond

    def heights(segments: slice) -> Floats:
        ends = logs[pairs[segments]]  # (m, 2, b)
        kept = _matter(*np.moveaxis(ends + field.log_weights, 1, 0))
        few = field._replace(
            centers=field.centers[kept], log_weights=field.log_weights[kept]
        )
        E = shares[segments] @ ends[:, :, kept]
        height = few.shares(E.reshape(-1, E.shape[2]))[1].reshape(E.shape[:2])
        start, end = (nodes[end] for end in pairs[segments].T)
        way = (end - start) / field.widths
        bend = 0.5 * np.square(way).sum(axis=1, keepdims=True)
        height += t[segments] * (1.0 - t[segments]) * bend
        return np.minimum(height, top)

    size = max(1, CHUNK_ELEMENTS // (t.shape[1] * len(field.centers)))
    return np.concatenate([heights(chunk) for chunk in row_slices(len(pairs), size)])


def slopes(field: Field, middle: Floats, reach: Floats) -> Callable[[Floats], Floats]:
    """Slope at points ``middle + t reach`` of segments (e, d), as a function of t (e,).

    It is that per unit of t, between -1 and 1.
    """
    if not isinstance(field, KernelField):

        def slope(t: Floats) -> Floats:
            here = field.evaluate(middle + t[:, None] * reach)
            return np.asarray(np.einsum("md,md->m", gradient(field, here), reach))

        return slope
    start, end = (
        exponents(Z, field.centers, 1.0 / field.widths)
        for Z in (middle - reach, middle + reach)
    )
    apart = 0.5 * (end - start)
    bend = np.square(reach / field.widths).sum(axis=1)

    def slope_of_kernels(t: Floats) -> Floats:
        s = 0.5 + 0.5 * t[:, None]
        P, _, _ = field.shares((1.0 - s) * start + s * end)
        return np.asarray(np.einsum("mb,mb->m", P, apart) - t * bend)

    return slope_of_kernels


def _matter(first: Floats, last: Floats) -> Bools:
    """Which kernels (b,) matter to their sum on any of m segments.

    Given are their logs at both ends, (m, b) each, which are linear on the way. One is
    below the higher of two others all the way by no less than it is at the ends or
    where these two cross; the two are those that are highest at the ends.
    """
    rows = np.arange(len(first))
    one, other = first.argmax(axis=1), last.argmax(axis=1)
    start, end = first[rows, one], last[rows, other]
    falls, rises = start - first[rows, other], end - last[rows, one]
    t = falls / np.maximum(falls + rises, np.finfo(np.float64).tiny)
    cross = (1.0 - t) * start + t * last[rows, one]
    t = t[:, None]
    below = np.minimum(start[:, None] - first, end[:, None] - last)
    middle = cross[:, None] - ((1.0 - t) * first + t * last)
    faint = np.log(first.shape[1] / LOST)
    return np.asarray((np.minimum(below, middle) <= faint).any(axis=0))
