"""Rows wherever they are: in memory, on disk, in chunks, on a cluster.

What looks at every row is a reduction, where a *kernel* makes something small of a
block of rows and *join* makes one of two of these, or a function applied row by row.
A source of rows knows how to run both.

    in memory    blocks of a fixed size on the pool of threads, joined in order;
    in chunks    the same for one chunk after the other, so one of them is in memory;
    on Dask      the same in every task, joined as a tree (:mod:`modeseek.dask`).

Kernels and joins are pure and can be sent to another process: functions of a module,
with :func:`functools.partial` for what they need.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from modeseek.rows.arrays import Floats, Reals
from modeseek.rows.blocks import BLOCK_ROWS, map_blocks, row_slices
from modeseek.rows.coordinates import Frame
from modeseek.rows.validation import check_within_reach

T = TypeVar("T")

#: Rows of an array that a function is applied to at a time.
APPLIED_ROWS = 1 << 17

#: Takes an array of rows; gives an array with as many.
RowFunction: TypeAlias = Callable[[Reals], NDArray[Any]]


class Block(NamedTuple):
    """Some rows, and their weights."""

    X: Reals  # (m, d)
    weight: Floats | None  # (m,)


#: Make something small of a block, and one of two of these.
Kernel: TypeAlias = Callable[[Block], T]
Join: TypeAlias = Callable[[T, T], T]


class Reducible(ABC):
    """Rows that can be reduced block by block."""

    @abstractmethod
    def reduce(self, kernel: Kernel[T], join: Join[T], size: int = BLOCK_ROWS) -> T:
        """Join what a kernel makes of each block of rows.

        A block has at most ``size`` rows and may be empty; rows of weight zero are left
        out. Results are joined two by two, those of earlier rows first.
        """


class Source(Reducible):
    """Rows and their weights, wherever they are: all that the rest may ask of them."""

    @property
    def in_memory(self) -> bool:
        """Whether rows can be had by their number, at once."""
        return False

    @property
    def n_rows(self) -> int | None:
        """Number of rows, also those of weight zero; None where only reading tells."""
        return None

    def session(self) -> AbstractContextManager[Any]:
        """Open what several reductions after one another need."""
        return nullcontext()

    def rows_in_memory(self, why: str = "") -> Block:
        """All rows and their weights, also those of weight zero.

        Where they are not in memory, the error says ``why`` all are needed at once, and
        what to do instead.
        """
        raise TypeError(f"The rows are in chunks or on Dask. {why}")

    @abstractmethod
    def apply_rowwise(
        self, function: RowFunction, frame: Frame, example: Floats
    ) -> Any:
        """Apply a function to all rows, some at a time; lazily on Dask.

        Rows must be within reach of the frame, see
        :func:`modeseek.rows.validation.check_within_reach`. Where the function is
        applied later, what it makes of the example, some rows (m, d), tells its
        result's shape.
        """


@dataclass(frozen=True, slots=True)
class ArrayRows(Source):
    """Rows of an array, in memory or mapped to it."""

    X: Reals  # (n, d)
    weight: Floats | None = None  # (n,)
    n_jobs: int | None = None

    @property
    def in_memory(self) -> bool:
        """See :class:`Source`."""
        return True

    @property
    def n_rows(self) -> int:
        """See :class:`Source`."""
        return len(self.X)

    def rows_in_memory(self, why: str = "") -> Block:
        """See :class:`Source`."""
        return Block(self.X, self.weight)

    def _block(self, rows: slice) -> Block:
        X = np.asarray(self.X[rows])
        if self.weight is None:
            return Block(X, None)
        w = self.weight[rows]
        return Block(X, w) if w.all() else Block(X[w > 0], w[w > 0])

    def reduce(self, kernel: Kernel[T], join: Join[T], size: int = BLOCK_ROWS) -> T:
        """See :class:`Source`."""
        parts = map_blocks(
            lambda rows: kernel(self._block(rows)),
            len(self.X),
            n_jobs=self.n_jobs,
            size=size,
        )
        return functools.reduce(join, parts)

    def apply_rowwise(
        self, function: RowFunction, frame: Frame, example: Floats
    ) -> NDArray[Any]:
        """See :class:`Source`."""
        # Here, where the numbers of the rows are known, and not part by part.
        check_within_reach(frame, self.X)
        slices = row_slices(len(self.X), APPLIED_ROWS)
        return _concatenate([function(self.X[rows]) for rows in slices])


@dataclass(frozen=True, slots=True)
class ChunkRows(Source):
    """Rows that are read anew, chunk by chunk, for every reduction."""

    read: Callable[[], Iterator[Block]]  # one chunk at least, and none empty
    n_jobs: int | None = None

    def reduce(self, kernel: Kernel[T], join: Join[T], size: int = BLOCK_ROWS) -> T:
        """See :class:`Source`."""
        chunks = (ArrayRows(*block, self.n_jobs) for block in self.read())
        return functools.reduce(join, (c.reduce(kernel, join, size) for c in chunks))

    def apply_rowwise(
        self, function: RowFunction, frame: Frame, example: Floats
    ) -> NDArray[Any]:
        """See :class:`Source`."""
        return _concatenate([function(block.X) for block in self.read()])


def _concatenate(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True, slots=True)
class FramedRows(Reducible):
    """Rows of a source, taken into a frame block by block."""

    source: Source
    frame: Frame
    row_weight: float = 1.0  # the weight that counts as one row

    def reduce(self, kernel: Kernel[T], join: Join[T], size: int = BLOCK_ROWS) -> T:
        """See :class:`Reducible`."""
        framed = functools.partial(_in_frame, kernel, self.frame, self.row_weight)
        return self.source.reduce(framed, join, size)


def _in_frame(kernel: Kernel[T], frame: Frame, row_weight: float, block: Block) -> T:
    weight = block.weight
    if weight is not None and row_weight != 1.0:
        weight = weight / row_weight
    return kernel(Block(frame.enter(block.X), weight))


@dataclass(frozen=True, slots=True)
class LevelledRows(Source):
    """Rows of a source in which some features have one value: they tell no rows apart.

    Values are NaN for features that stay as they are.
    """

    source: Source
    values: Floats  # (d,)

    @property
    def in_memory(self) -> bool:
        """See :class:`Source`."""
        return self.source.in_memory

    @property
    def n_rows(self) -> int | None:
        """See :class:`Source`."""
        return self.source.n_rows

    def rows_in_memory(self, why: str = "") -> Block:
        """See :class:`Source`."""
        return _level(self.values, self.source.rows_in_memory(why))

    def reduce(self, kernel: Kernel[T], join: Join[T], size: int = BLOCK_ROWS) -> T:
        """See :class:`Reducible`."""
        levelled = functools.partial(_in_level, kernel, self.values)
        return self.source.reduce(levelled, join, size)

    def apply_rowwise(
        self, function: RowFunction, frame: Frame, example: Floats
    ) -> Any:
        """See :class:`Source`; frames leave out these features by themselves."""
        return self.source.apply_rowwise(function, frame, example)


def _level(values: Floats, block: Block) -> Block:
    X = np.where(np.isnan(values), block.X, values.astype(block.X.dtype))
    return Block(X, block.weight)


def _in_level(kernel: Kernel[T], values: Floats, block: Block) -> T:
    return kernel(_level(values, block))


def read_all(source: Reducible) -> Block:
    """All rows of positive weight, in their order; for few of them only."""
    return source.reduce(_copy, stack, size=1 << 20)


def _copy(block: Block) -> Block:
    return Block(np.array(block.X), block.weight)


def stack(one: Block, other: Block) -> Block:
    """Rows of two blocks in one."""
    X = np.concatenate([one.X, other.X])
    if one.weight is None or other.weight is None:
        return Block(X, None)
    return Block(X, np.concatenate([one.weight, other.weight]))
