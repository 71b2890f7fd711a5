"""Work over blocks of rows: the only file that knows threads.

Rows are cut into blocks whose bounds depend on the number of rows alone, the
blocks run on a pool of threads (NumPy releases the interpreter lock), and their
results are taken in order. So results do not depend on ``n_jobs``, to the bit.

BLAS is held to a single thread meanwhile: its own threads, on top of ours or on
a busy machine, cost far more than they bring.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from modeseek.rows.arrays import Floats

T = TypeVar("T")

#: Rows of one block. A block is the unit of parallel work and of summation.
BLOCK_ROWS = 8192

#: Elements of one (rows, centres) work array; three of them fit a core's cache.
CHUNK_ELEMENTS = 1 << 18


_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Make no threads in here, whatever ``n_jobs`` says: others use the cores."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def count_workers(n_jobs: int | None) -> int:
    """Translate ``n_jobs``: None or -1 is every core allowed, -2 all but one."""
    if _alone.get():
        return 1
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, cores + 1 + (-1 if n_jobs is None else n_jobs))


def row_slices(n_rows: int, size: int) -> list[slice]:
    """Cut ``range(n_rows)`` into consecutive slices of at most ``size`` rows."""
    return [slice(i, min(i + size, n_rows)) for i in range(0, n_rows, size)]


def chunk_slices(n_rows: int, n_columns: int) -> list[slice]:
    """Cut rows so that a work array of ``n_columns`` stays in cache."""
    return row_slices(n_rows, max(64, CHUNK_ELEMENTS // max(1, n_columns)))


def in_chunks(
    function: Callable[[Floats], Floats], rows: Floats, n_columns: int
) -> Floats:
    """Apply a function to rows, a few at a time, and stack the results.

    The columns are those of its largest work array, which is to stay in cache.
    """
    slices = chunk_slices(len(rows), n_columns) or [slice(0, 0)]
    return np.concatenate([function(rows[chunk]) for chunk in slices])


def map_blocks(
    kernel: Callable[[slice], T],
    n_rows: int,
    *,
    n_jobs: int | None = None,
    size: int = BLOCK_ROWS,
) -> Iterator[T]:
    """Yield ``kernel(rows)`` for every slice of ``size`` rows, in order.

    The kernel runs in a thread of the pool; ``n_jobs`` is that of
    :func:`count_workers`.
    """
    slices = row_slices(n_rows, size)
    workers = min(count_workers(n_jobs), len(slices))
    with one_blas_thread():
        if workers <= 1:
            yield from map(kernel, slices)
            return
        with ThreadPoolExecutor(workers) as pool:
            # A few blocks ahead of the consumer, so that results do not pile up.
            waiting = iter(slices)
            pending = [pool.submit(kernel, s) for s in islice(waiting, 2 * workers)]
            while pending:
                result = pending.pop(0).result()
                pending.extend(pool.submit(kernel, s) for s in islice(waiting, 1))
                yield result


def map_rows(
    function: Callable[[Floats], Floats],
    rows: Floats,
    n_columns: int,
    n_jobs: int | None,
) -> Floats:
    """Apply a function to rows as :func:`in_chunks`, on ``n_jobs`` threads."""

    def kernel(block: slice) -> Floats:
        return in_chunks(function, rows[block], n_columns)

    return np.concatenate(list(map_blocks(kernel, len(rows), n_jobs=n_jobs)))


@functools.cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def one_openmp_thread() -> AbstractContextManager[Any]:
    """Hold OpenMP to one thread, where it is called from this thread."""
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="openmp")
    return limit


_guard = threading.Lock()
_depth = 0
_limiter = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; nested and concurrent uses restore it once.

    The limit is global to the process, so the first to enter sets it and the
    last to leave restores it.
    """
    global _depth, _limiter
    with _guard:
        if _depth == 0:
            _limiter = _libraries().limit(limits=1, user_api="blas")
        _depth += 1
    try:
        yield
    finally:
        with _guard:
            _depth -= 1
            if _depth == 0 and _limiter is not None:
                _limiter.restore_original_limits()
                _limiter = None
