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
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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


def chunk_rows(n_columns: int) -> int:
    """Rows of a work array of ``n_columns`` that stays in cache."""
    return max(64, CHUNK_ELEMENTS // max(1, n_columns))


def chunk_slices(n_rows: int, n_columns: int) -> list[slice]:
    """Cut rows so that a work array of ``n_columns`` stays in cache."""
    return row_slices(n_rows, chunk_rows(n_columns))


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


@contextmanager
def beside(work: Callable[[], T], n_jobs: int | None) -> Iterator[Callable[[], T]]:
    """Do some work on a thread of its own beside what is done in the context.

    That gets a function which waits for the result. Where there is one thread only, the
    work is done first. It makes no threads itself, and BLAS is held to one in both, so
    that results do not depend on which of them is done when.
    """

    def work_alone() -> T:
        with one_thread():
            return work()

    with one_blas_thread():
        if count_workers(n_jobs) <= 1:
            result = work()
            yield lambda: result
            return
        with ThreadPoolExecutor(1) as pool:
            yield pool.submit(work_alone).result


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
def _libraries(api: str) -> list[Any]:
    """Controllers of the libraries of an API, ``"blas"`` or ``"openmp"``."""
    return list(ThreadpoolController().select(user_api=api).lib_controllers)


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Hold OpenMP to one thread, where it is called from this thread."""
    before = [(library, library.num_threads) for library in _libraries("openmp")]
    try:
        _restore([(library, 1) for library, _ in before])
        yield
    finally:
        try:
            _restore(before)
        except BaseException:  # Ctrl-C on the way out: once more, from the start
            _restore(before)
            raise


def _restore(numbers: list[tuple[Any, int]]) -> None:
    for library, number in numbers:
        library.set_num_threads(number)
        # From threadpoolctl 3.8 on, a thread that set a number keeps others from it.
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread()


# Garbage may be collected, and suspended blocks closed, while the guard is held.
_guard = threading.RLock()
_holders: set[int] = set()  # threads that hold BLAS to one
_unheld: list[tuple[Any, int]] | None = None  # libraries and what they had before


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; nested and concurrent uses restore it once.

    The limit is global to the process, so the first to enter sets it and the
    last to leave restores it.
    """
    me = threading.get_ident()
    if me in _holders:
        yield
        return
    try:
        _holders.add(me)
        _settle()
        yield
    finally:
        try:
            _settle(gone=me)
        except BaseException:  # Ctrl-C on the way out: once more, from the start
            _settle(gone=me)
            raise


def _settle(gone: int | None = None) -> None:
    """Hold BLAS if anybody wants it held; may be broken off, and done again."""
    global _unheld
    with _guard:
        _holders.discard(gone)
        if _holders and _unheld is None:
            _unheld = [(library, library.num_threads) for library in _libraries("blas")]
            _restore([(library, 1) for library, _ in _unheld])
        elif not _holders and _unheld is not None:
            _restore(_unheld)
            _unheld = None


#: Seconds that a fork waits for other threads to leave BLAS.
QUIET = 0.05

_interval = 0.0  # after which Python switches threads, as it was before a fork


def _before_fork() -> None:
    """Let other threads leave BLAS, whose lock of its buffers no child could open.

    While this thread keeps Python's interpreter, theirs end the calls that they are
    in and wait.
    """
    global _interval
    _guard.acquire()
    _interval = sys.getswitchinterval()
    if _holders - {threading.get_ident()}:
        sys.setswitchinterval(100.0 * QUIET)
        end = time.monotonic() + QUIET
        while time.monotonic() < end:
            pass


def _after_fork() -> None:
    sys.setswitchinterval(_interval)
    _guard.release()


def _after_fork_in_child() -> None:
    """Forget the threads of the parent, which hold nothing in a forked process."""
    _after_fork()
    _holders.intersection_update({threading.get_ident()})
    _settle()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork,
        after_in_child=_after_fork_in_child,
    )
