"""Rows wherever they are: in memory, on disk, in chunks, on a cluster.

All that looks at every row is a reduction: a *kernel* makes something small of a block
of rows, and *join* makes one of two of these. A source of rows knows how to run it.

    in memory    blocks of a fixed size on the pool of threads, joined in order;
    in chunks    the same for one chunk after the other, so one of them is in memory;
    on Dask      the same in every task, joined as a tree (:mod:`modeseek.dask`).

Kernels and joins are pure and can be sent to another process: functions of a module,
with :func:`functools.partial` for what they need.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from modeseek.rows.arrays import Floats
from modeseek.rows.blocks import BLOCK_ROWS, map_blocks
from modeseek.rows.coordinates import Frame

T = TypeVar("T")


class Block(NamedTuple):
    """Some rows, and their weights."""

    X: NDArray[np.floating]  # (m, d)
    weight: Floats | None  # (m,)


class Source(Protocol):
    """Rows that can be reduced."""

    @property
    def in_memory(self) -> bool:
        """Whether rows can be had by their number, at once."""

    def session(self) -> AbstractContextManager[Any]:
        """Make a place where several reductions run."""

    def reduce(
        self,
        kernel: Callable[[Block], T],
        join: Callable[[T, T], T],
        size: int = BLOCK_ROWS,
    ) -> T:
        """Join what the kernel makes of blocks of at most ``size`` rows.

        Rows of weight zero are left out; a block may be empty.
        """


@dataclass(frozen=True, slots=True)
class ArrayRows:
    """Rows of an array, in memory or mapped to it."""

    X: NDArray[np.floating]  # (n, d)
    weight: Floats | None = None  # (n,)
    n_jobs: int | None = None
    in_memory: bool = True

    def session(self) -> AbstractContextManager[Any]:
        """See :class:`Source`."""
        return nullcontext()

    def _block(self, rows: slice) -> Block:
        X = np.asarray(self.X[rows])
        if self.weight is None:
            return Block(X, None)
        w = self.weight[rows]
        return Block(X, w) if w.all() else Block(X[w > 0], w[w > 0])

    def reduce(
        self,
        kernel: Callable[[Block], T],
        join: Callable[[T, T], T],
        size: int = BLOCK_ROWS,
    ) -> T:
        """See :class:`Source`."""
        parts = map_blocks(
            lambda rows: kernel(self._block(rows)),
            len(self.X),
            n_jobs=self.n_jobs,
            size=size,
        )
        return functools.reduce(join, parts)


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """Rows that are read anew, chunk by chunk, for every reduction."""

    read: Callable[[], Iterator[Block]]  # one chunk at least, and none empty
    n_jobs: int | None = None
    in_memory: bool = False

    def session(self) -> AbstractContextManager[Any]:
        """See :class:`Source`."""
        return nullcontext()

    def reduce(
        self,
        kernel: Callable[[Block], T],
        join: Callable[[T, T], T],
        size: int = BLOCK_ROWS,
    ) -> T:
        """See :class:`Source`."""
        chunks = (ArrayRows(*block, self.n_jobs) for block in self.read())
        return functools.reduce(join, (c.reduce(kernel, join, size) for c in chunks))


@dataclass(frozen=True, slots=True)
class FramedRows:
    """Rows of another source, taken into a frame."""

    source: Source
    frame: Frame

    @property
    def in_memory(self) -> bool:
        """See :class:`Source`."""
        return self.source.in_memory

    def session(self) -> AbstractContextManager[Any]:
        """See :class:`Source`."""
        return self.source.session()

    def reduce(
        self,
        kernel: Callable[[Block], T],
        join: Callable[[T, T], T],
        size: int = BLOCK_ROWS,
    ) -> T:
        """See :class:`Source`."""
        framed = functools.partial(_in_frame, kernel, self.frame)
        return self.source.reduce(framed, join, size)


def _in_frame(kernel: Callable[[Block], T], frame: Frame, block: Block) -> T:
    return kernel(Block(frame.enter(block.X), block.weight))


def gather(source: Source) -> Block:
    """All rows of positive weight, in their order; for few of them only.

    Parameters
    ----------
    source : Source

    Returns
    -------
    Block
    """
    return source.reduce(_copy, stack, size=1 << 20)


def _copy(block: Block) -> Block:
    return Block(np.array(block.X), block.weight)


def stack(one: Block, other: Block) -> Block:
    """Rows of two blocks in one."""
    X = np.concatenate([one.X, other.X])
    if one.weight is None or other.weight is None:
        return Block(X, None)
    return Block(X, np.concatenate([one.weight, other.weight]))
