"""Blocks: every row once, in order, whatever the threads; BLAS held and released."""

import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from modeseek.rows.blocks import (
    CHUNK_ELEMENTS,
    beside,
    chunk_slices,
    count_workers,
    map_blocks,
    one_blas_thread,
    row_slices,
)


def blas_threads():
    return {
        pool["filepath"]: pool["num_threads"]
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }


@pytest.mark.parametrize("n_rows", [0, 1, 9, 10, 11, 100])
def test_slices_cover_every_row_once_and_in_order(n_rows):
    rows = [i for s in row_slices(n_rows, 10) for i in range(s.start, s.stop)]
    assert rows == list(range(n_rows))
    assert all(s.stop - s.start <= 10 for s in row_slices(n_rows, 10))


@pytest.mark.parametrize("n_columns", [1, 100, CHUNK_ELEMENTS])
def test_chunks_hold_a_cache_full_of_elements_or_64_rows(n_columns):
    sizes = [s.stop - s.start for s in chunk_slices(300_000, n_columns)]
    assert sum(sizes) == 300_000
    assert max(sizes) <= max(64, CHUNK_ELEMENTS // n_columns)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
def test_results_come_in_the_order_of_the_rows(n_jobs):
    X = np.arange(1003)
    blocks = list(map_blocks(lambda rows: X[rows], len(X), n_jobs=n_jobs, size=10))
    assert len(blocks) == 101
    np.testing.assert_array_equal(np.concatenate(blocks), X)


def test_no_rows_give_no_blocks():
    assert list(map_blocks(lambda rows: rows, 0)) == []


def test_blocks_run_on_threads_of_a_pool():
    # Two blocks that wait for each other finish only when they run at once.
    meeting = threading.Barrier(2, timeout=30)
    waited = list(map_blocks(lambda rows: meeting.wait(), 2, n_jobs=2, size=1))
    assert sorted(waited) == [0, 1]


def test_blocks_do_not_run_far_ahead_of_their_consumer():
    started = []
    blocks = map_blocks(lambda r: started.append(r.start), 1000, n_jobs=2, size=1)
    for _ in range(3):
        next(blocks)
    blocks.close()
    assert len(started) <= 3 + 2 * 2


def test_an_error_in_a_block_reaches_the_caller():
    def fail(rows):
        raise ZeroDivisionError(rows.start)

    for n_jobs in (1, 2):
        with pytest.raises(ZeroDivisionError):
            list(map_blocks(fail, 100, n_jobs=n_jobs, size=10))


def test_jobs_count_as_in_scikit_learn():
    cores = (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count()
    )
    assert count_workers(None) == count_workers(-1) == cores
    assert count_workers(3) == 3
    assert count_workers(-2) == max(1, cores - 1)
    assert count_workers(-1000) == 1


def test_blas_is_held_to_one_thread_and_then_restored():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        inside = next(map_blocks(lambda rows: blas_threads(), 1))
        assert set(inside.values()) == {1}
        assert blas_threads() == before


def test_nested_holds_of_blas_restore_it_once_and_after_errors():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread():
            with contextlib.suppress(KeyError), one_blas_thread():
                raise KeyError
            assert set(blas_threads().values()) == {1}
        assert blas_threads() == before


def test_any_thread_may_hold_blas_after_another_did():
    def hold():
        with one_blas_thread():
            return set(blas_threads().values())

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert hold() == {1}
        for _ in range(2):
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(hold).result() == {1}
            assert blas_threads() == before


@pytest.mark.parametrize(("n_jobs", "apart"), [(1, False), (2, True)])
def test_work_beside_has_a_thread_of_its_own_where_there_are_two(n_jobs, apart):
    def work():
        return threading.get_ident(), count_workers(8), set(blas_threads().values())

    with (
        threadpool_limits(2, user_api="blas"),
        beside(work, n_jobs) as result,
    ):
        assert set(blas_threads().values()) == {1}
        thread, workers, blas = result()
    assert (thread != threading.get_ident()) is apart
    assert workers == (1 if apart else 8)
    assert blas == {1}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_work_beside_reaches_who_waits_for_it(n_jobs):
    def fail():
        raise KeyError

    with pytest.raises(KeyError), beside(fail, n_jobs) as result:
        result()


def test_work_beside_ends_before_an_error_leaves():
    ended = threading.Event()
    with pytest.raises(KeyError), beside(ended.set, 2):
        raise KeyError
    assert ended.is_set()
