r"""Moments: the sums over rows from which every model of a width follows.

For coefficients shared by all features (one task) and for separate ones (a task j
per feature), with rows weighted by w,

.. math::
    G = \sum_z w \sum_j \psi_j(z) \psi_j(z)^T, \quad
    h = \sum_z w \sum_j \partial_j \psi_j(z); \\
    G_j = \sum_z w\, \psi_j(z) \psi_j(z)^T, \quad
    h_j = \sum_z w\, \partial_j \psi_j(z).

They are sums, so they add over blocks, chunks, files and partitions, and the
training moments of a fold are the sum of all the others.

The shared model needs distances only. With E the distances weighted by 1 / l^4,
(c_i - z).(c_k - z) weighted by 1 / l^4 is (E_i + E_k - CE_ik) / 2, CE being the
distances between the centres, so P = phi and Q = E * P give

    G = (Q'P + P'Q - CE * P'P) / 2,    h = sum Q - (sum_j 1 / l_j^2) sum P:

two matrix products, and no loop over features.

A basis common to all features, psi = phi (section 4.1), has one G for all tasks,

    G = sum_z w phi phi',    h_j = sum_z w (c_j - z_j) / l_j^2 phi.

A Gaussian base adds the gradient g0 = -base * z to the model, which the coefficients
do not change: the loss gains the cross term 2 theta' sum psi.g0, so h gains it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from modeseek.field.basis import (
    OwnBasis,
    basis_of_features,
    gaussians,
    inverse_square,
    squared_distances,
)
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import BLOCK_ROWS, chunk_slices, map_blocks
from modeseek.rows.source import Block, Reducible

#: Work arrays of a chunk, beside those that its size allows for: with a quarter of the
#: rows, moments of 150 centres took 0.55 of the time.
N_ARRAYS = 4

#: Rows of a block where there are not many: every block has sums of its own.
FEW_ROWS = BLOCK_ROWS // 4

#: Factors of the widths where there is only one width.
ONE_SCALE = np.ones(1)


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums of a block of rows; the leading axes are width, fold and task."""

    G: Floats  # (..., tasks, b, b), or (..., 1, b, b) for a common basis
    h: Floats  # (..., tasks, b)
    count: Floats  # (..., b) sum of w phi_i: how many rows centre i reaches
    weight: Floats  # (...) sum of w

    def arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the four sums."""
        return self.G, self.h, self.count, self.weight

    def __add__(self, other: Moments) -> Moments:
        """Add the sums of two sets of rows."""
        return Moments(*map(np.add, self.arrays(), other.arrays()))

    def __getitem__(self, index: int | tuple[int, ...]) -> Moments:
        """Pick along the leading axes."""
        return Moments(*(sums[index] for sums in self.arrays()))

    def scaled(self, factor: float) -> Moments:
        """Sums for weights that are a factor larger."""
        if factor == 1.0:
            return self
        return Moments(*(factor * sums for sums in self.arrays()))

    def total(self) -> Moments:
        """Sum over folds, the second axis."""
        return Moments(*(sums.sum(axis=1) for sums in self.arrays()))

    def without(self, width: int, fold: int) -> Moments:
        """Sum over all folds but one, for one width.

        The total less the fold would cancel where that fold has most of the weight.
        """
        others = np.arange(self.weight.shape[1]) != fold
        return Moments(*(sums[width][others].sum(axis=0) for sums in self.arrays()))

    def of_centers(self, kept: Integers) -> Moments:
        """Keep some of the centres."""
        G = self.G[..., kept[:, None], kept]
        return Moments(G, self.h[..., kept], self.count[..., kept], self.weight)

    def mean(self) -> tuple[Floats, Floats]:
        """Return G and h per unit of weight, as the paper defines them."""
        weight = np.asarray(self.weight)
        return self.G / weight[..., None, None, None], self.h / weight[..., None, None]


#: Logarithm of the most by which scales differ between conventions: beyond, the penalty
#: leaves nothing of the model, or is lost in rounding.
MOST_SCALES = 50.0


def task_scales(
    widths: Floats,
    shared: bool,
    common: bool = False,
    power: int = 1,
    unit: float | Floats = 1.0,
) -> Floats:
    """Scale of G for every task, which penalties are relative to.

    For widths (..., d) an array (..., tasks). For the shared model it is the mean of
    1 / l^2 over the features in the model, 1 / sigma^2 when there is one width; for
    separate coefficients 1 / l_j^2 (1 for a feature that is not in the model, whose
    moments vanish). For a common basis it is 1.

    Other conventions have another ``power`` of it, in the data's unit; the frame's
    ``unit`` is so many of those. See :data:`modeseek.gradient.settings.SCALE_POWERS`.
    """
    if common:
        return np.ones_like(widths)
    inverse = inverse_square(widths)
    if shared:
        active = np.maximum(1, np.isfinite(widths).sum(axis=-1, keepdims=True))
        scales = np.asarray(inverse.sum(axis=-1, keepdims=True) / active)
    else:
        scales = np.where(inverse > 0, inverse, 1.0)
    if power == 1:
        return scales
    # In logarithms: units may be at the ends of the range of numbers.
    others = (power - 1) * (np.log(scales) - 2.0 * np.log(unit))
    return np.asarray(scales * np.exp(np.clip(others, -MOST_SCALES, MOST_SCALES)))


@dataclass(frozen=True)
class Basis:
    """What rows are summed with; small, so that it can be sent to where they are."""

    centers: Floats  # (b, d)
    base: Floats  # (d,)
    widths: Floats  # (d,) at scale 1
    shared: bool
    common: bool
    scales: Floats  # (s,) descending factors of the widths
    own: OwnBasis | None = None  # of the user's

    @property
    def between(self) -> Floats:
        """Distances (b, b) between centres weighted by 1 / l^4; computed once."""
        # Not a cached_property: Python 3.11 locks it for all threads, and a process
        # that is forked meanwhile waits for ever.
        kept: dict[str, Floats] = vars(self)
        if "_between" not in kept:
            weights = inverse_square(self.widths)
            between = squared_distances(self.centers, self.centers, weights)
            np.fill_diagonal(between, 0.0)  # far centres are not so by rounding
            kept["_between"] = between
        return kept["_between"]

    def zeros(self, n_folds: int) -> Moments:
        """Sums of no rows, with leading axes (s, n_folds + 1)."""
        lead, b = (len(self.scales), n_folds + 1), len(self.centers)
        n_tasks = 1 if self.shared else len(self.widths)
        n_grams = 1 if self.common else n_tasks
        return Moments(
            np.zeros((*lead, n_grams, b, b)),
            np.zeros((*lead, n_tasks, b)),
            np.zeros((*lead, b)),
            np.zeros(lead),
        )


class Problem(NamedTuple):
    """Rows in the frame, their folds and weights, and the model's centres.

    The rows are those to choose width and penalty by. Where there are many they are
    a subsample, and the moments to solve with come from ``all_rows``.
    """

    read: Callable[[slice | Integers], Floats]  # which rows -> those, in the frame
    n_rows: int
    centers: Floats  # (b, d)
    base: Floats  # (d,) inverse variances of the Gaussian base; 0 for none
    shared: bool
    fold: Integers | None = None  # (n,) up to and including n_folds
    n_folds: int = 0
    weight: Floats | None = None  # (n,)
    n_jobs: int | None = None
    common: bool = False  # the basis is phi itself, the same for every feature
    all_rows: Reducible | None = None  # in the frame, where the rows are a subsample
    steps: Floats | None = None  # (d,) of rounding, in the frame; 0 where there is none
    selection: str = "one_se"  # how the width is chosen from the hold-out losses
    scale_power: int = 1  # of the scale of G that penalties are relative to ...
    unit: float | Floats = 1.0  # the frame's, for what has the data's unit
    own: OwnBasis | None = None  # a basis of the user's

    def task_scales(self, widths: Floats) -> Floats:
        """Scale of G for every task at some widths; see :func:`task_scales`."""
        kind = self.shared, self.common
        return task_scales(widths, *kind, self.scale_power, self.unit)

    def basis(self, widths: Floats, scales: Floats = ONE_SCALE) -> Basis:
        """What the rows are summed with at some widths, times the scales."""
        kind = self.shared, self.common
        return Basis(self.centers, self.base, widths, *kind, scales, self.own)

    def weights(self, rows: slice) -> Floats:
        """Weights of consecutive rows, ones where there are none."""
        n = rows.stop - rows.start
        return np.ones(n) if self.weight is None else self.weight[rows]

    def subset(self, rows: Integers) -> Problem:
        """The same problem of some of the rows, without folds."""
        return self._replace(
            read=lambda part: self.read(rows[part]),
            n_rows=len(rows),
            weight=None if self.weight is None else self.weight[rows],
            fold=None,
            n_folds=0,
        )


def compute_moments(
    problem: Problem, widths: Floats, scales: Floats = ONE_SCALE
) -> Moments:
    """Moments of the problem's own rows for several widths and every fold, in one pass.

    The widths (d,) are those at scale 1, the scales (s,) descending factors of them;
    the moments have leading axes (s, n_folds + 1).
    """
    basis = problem.basis(widths, scales)

    def kernel(rows: slice) -> Moments:
        w = None if problem.weight is None else problem.weight[rows]
        fold = None if problem.fold is None else problem.fold[rows]
        return block_moments(basis, problem.read(rows), w, fold, problem.n_folds)

    n, n_jobs = problem.n_rows, problem.n_jobs
    size = BLOCK_ROWS if n > BLOCK_ROWS else FEW_ROWS
    return _sum_in_place(map_blocks(kernel, n, n_jobs=n_jobs, size=size))


def total_moments(problem: Problem, widths: Floats) -> Moments:
    """Moments of all rows for one width, without leading axes."""
    if problem.all_rows is None:
        whole = problem._replace(fold=None, n_folds=0)
        return compute_moments(whole, widths)[0, 0]
    return sum_moments(problem.all_rows, problem.basis(widths))


def sum_moments(source: Reducible, basis: Basis) -> Moments:
    """Moments of the rows of a source, which are in the frame; no leading axes."""
    total: Moments = source.reduce(partial(_source_moments, basis), operator.add)
    return total[0, 0]


def _source_moments(basis: Basis, block: Block) -> Moments:
    return block_moments(basis, np.asarray(block.X, np.float64), block.weight)


def block_moments(
    basis: Basis,
    Z: Floats,  # (m, d)
    w: Floats | None,  # (m,)
    fold: Integers | None = None,  # (m,)
    n_folds: int = 0,
) -> Moments:
    """Moments of some rows, a few at a time, with leading axes (s, n_folds + 1)."""
    add_rows = _add_shared if basis.shared else _add_by_feature
    if basis.own is not None:
        add_rows = _add_own
    f = np.zeros(len(Z), dtype=np.intp) if fold is None else fold
    order = np.argsort(f, kind="stable")
    bounds = np.searchsorted(f[order], np.arange(n_folds + 2))
    sums = basis.zeros(n_folds)
    for k in range(n_folds + 1):
        part = order[bounds[k] : bounds[k + 1]]
        for chunk in chunk_slices(len(part), N_ARRAYS * len(basis.centers)):
            r = part[chunk]
            some_w = None if w is None else w[r]
            add_rows(sums, k, Z[r], some_w, basis)
            sums.weight[:, k] += len(r) if some_w is None else some_w.sum()
    return sums


def _sum_in_place(blocks: Iterator[Moments]) -> Moments:
    total = next(blocks)
    for block in blocks:
        for sums, more in zip(total.arrays(), block.arrays(), strict=True):
            sums += more
    return total


def _weigh(A: Floats, w: Floats | None) -> Floats:
    return A if w is None else A * w[:, None]


def _each_scale(
    basis: Basis, D: Floats, w: Floats | None
) -> Iterator[tuple[int, float, Floats, Floats]]:
    """Yield index and scale, the Gaussians P (m, b) at distances D, and P weighted."""
    for s, P in enumerate(gaussians(D, basis.scales)):
        yield s, basis.scales[s], P, _weigh(P, w)


def _add_shared(
    sums: Moments, k: int, Z: Floats, w: Floats | None, basis: Basis
) -> None:
    """Add rows of fold ``k`` for coefficients shared by the features."""
    C, widths = basis.centers, basis.widths
    D = squared_distances(Z, C, 1.0 / widths)
    precision = inverse_square(widths)
    # With one width for all features in the model E is a multiple of D.
    largest = float(precision.max())
    uniform = bool(((precision == largest) | (precision == 0.0)).all())
    E, factor = (D, largest) if uniform else (squared_distances(Z, C, precision), 1.0)
    pull = basis.base * precision
    has_base = bool(pull.any())
    if has_base:
        R = (Z * pull) @ C.T - (Z**2 @ pull)[:, None]
    Q = np.empty_like(E)
    ones = np.ones(len(Z))
    row_weight = ones if w is None else w
    for s, scale, P, WP in _each_scale(basis, D, w):
        np.multiply(E, P, out=Q)
        # Without weights WP is P, and NumPy takes P'P at half the price.
        QtP, PtP = Q.T @ WP, P.T @ WP
        QtP *= factor
        sums.G[s, k, 0] += (QtP + QtP.T - basis.between * PtP) * (0.5 / scale**4)
        sum_P, sum_Q = ones @ WP, factor * (row_weight @ Q)
        linear = precision.sum() * sum_P
        if has_base:
            linear += np.einsum("ij,ij->j", R, WP)
        sums.h[s, k, 0] += sum_Q / scale**4 - linear / scale**2
        sums.count[s, k] += sum_P


def _add_by_feature(
    sums: Moments, k: int, Z: Floats, w: Floats | None, basis: Basis
) -> None:
    """Add rows of fold ``k`` for coefficients of each feature."""
    C = basis.centers
    D = squared_distances(Z, C, 1.0 / basis.widths)
    precision = inverse_square(basis.widths)
    for s, scale, P, WP in _each_scale(basis, D, w):
        sum_P = WP.sum(axis=0)
        sums.count[s, k] += sum_P
        if basis.common:
            sums.G[s, k, 0] += P.T @ WP
            slopes = precision[:, None] / scale**2
            sums.h[s, k] += (C.T * sum_P - Z.T @ WP) * slopes
            continue
        for j, inverse in enumerate(precision / scale**2):
            steps = (C[:, j] - Z[:, j, None]) * inverse
            psi = steps * P
            w_psi = _weigh(psi, w)
            sums.G[s, k, j] += psi.T @ w_psi
            sums.h[s, k, j] += np.einsum("ij,ij->j", steps, w_psi) - sum_P * inverse


def _add_own(sums: Moments, k: int, Z: Floats, w: Floats | None, basis: Basis) -> None:
    """Add rows of fold ``k`` for a basis of the user's."""
    C, widths = basis.centers, basis.widths
    D = squared_distances(Z, C, 1.0 / widths)
    for s, scale, _, WP in _each_scale(basis, D, w):
        sums.count[s, k] += WP.sum(axis=0)  # whom a centre reaches, by its width
        for j, psi, slope in basis_of_features(Z, C, scale * widths, own=basis.own):
            task = 0 if basis.shared else j
            sums.G[s, k, task] += psi.T @ _weigh(psi, w)
            sums.h[s, k, task] += _weigh(slope, w).sum(axis=0)


Moments.__module__ = "modeseek.gradient"  # model files name it so
