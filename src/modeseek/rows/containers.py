"""Makes a source of what users pass as rows: an array, a mapped file, chunks, Dask.

A new kind of rows is a subclass of :class:`modeseek.rows.source.Source` that
:func:`open_rows` makes; kinds are told apart in this file only. Chunks are

- a list or tuple of two-dimensional arrays or data frames,
- an object that gives them each time it is iterated over, or
- a function that returns an iterator over them.

Fitting reads them several times; what can be read once only is refused there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from modeseek.rows.arrays import Floats
from modeseek.rows.blocks import one_blas_thread, row_slices
from modeseek.rows.coordinates import Frame
from modeseek.rows.source import (
    APPLIED_ROWS,
    ArrayRows,
    Block,
    ChunkRows,
    RowFunction,
    Source,
)
from modeseek.rows.validation import check_block, check_rows, check_weights

NO_ROWS = (
    "X has no chunk with rows, or its chunks can be read only once: give a list of "
    "chunks, an object whose __iter__ starts again, or a function that returns a new "
    "iterator each time."
)


def is_lazy(X: Any) -> bool:
    """Whether rows are a Dask collection."""
    return hasattr(X, "__dask_graph__")


def is_chunked(X: Any) -> bool:
    """Whether rows come in chunks rather than as an array."""
    if isinstance(X, np.memmap):
        return X.ndim == 2 and X.dtype not in (np.float64, np.float32)
    if callable(X):
        return True
    if isinstance(X, str | bytes | dict | set) or hasattr(X, "__array__"):
        return False
    if hasattr(X, "__dataframe__") or hasattr(X, "nnz") or not hasattr(X, "__iter__"):
        return False
    if hasattr(X, "__getitem__") and hasattr(X, "__len__"):
        return len(X) > 0 and len(getattr(X[0], "shape", ())) == 2
    return True


def check_in_memory(X: Any, why: str) -> None:
    """Refuse chunks and Dask where all rows are needed at once, and say why."""
    if is_lazy(X) or is_chunked(X):
        kind = "on Dask" if is_lazy(X) else "in chunks"
        raise TypeError(f"The rows are {kind}, and {why}")


def _reader(X: Any) -> Callable[[], Iterator[Any]]:
    """Make a function that iterates over the chunks, each time from the first."""
    if isinstance(X, np.memmap):
        return lambda: (X[rows] for rows in row_slices(len(X), APPLIED_ROWS))
    return partial(_call, X) if callable(X) else partial(iter, X)


def _call(X: Callable[[], Any]) -> Iterator[Any]:
    made = X()
    if not np.iterable(made):
        raise TypeError(
            f"Chunks are given as a function that returns an iterator over them; this "
            f"one returned {made!r}."
        )
    return iter(made)


def _length(chunk: Any) -> int:
    return int(chunk.shape[0]) if hasattr(chunk, "shape") else len(chunk)


def _check_can_be_read_again(name: str, X: Any) -> None:
    if isinstance(X, Iterator):
        raise TypeError(
            f"{name} is an iterator, {type(X).__name__}, that can be read only once, "
            "and fitting reads the chunks several times. Give a list of chunks, an "
            "object whose __iter__ starts again, or the function that makes the "
            "iterator, without calling it."
        )


def open_rows(
    estimator: BaseEstimator,
    X: Any,
    sample_weight: Any,
    n_jobs: int | None,
    *,
    reset: bool,
    again: bool = True,
    least: int = 2,
) -> Source:
    """Make a source of what users pass as rows and weights, in any container.

    The estimator is told the number and names of the features if it is fitted anew,
    with ``reset``, and asked for them otherwise. Chunks that are read only once need no
    ``again``: they may be an iterator. An array to fit needs ``least`` rows.
    """
    if is_lazy(X):
        return _open_lazy(estimator, X, sample_weight, reset)
    if not is_chunked(X):
        if is_lazy(sample_weight):
            sample_weight = sample_weight.compute()
        rows = check_rows(estimator, X, reset=reset, least=least if reset else 1)
        return ArrayRows(rows, check_weights(sample_weight, len(rows)), n_jobs)
    if again:
        _check_can_be_read_again("X", X)
        _check_can_be_read_again("sample_weight", sample_weight)
    if reset:
        first = next((chunk for chunk in _reader(X)() if _length(chunk)), None)
        if first is None:
            raise ValueError(NO_ROWS)
        check_rows(estimator, first, reset=True, least=1)
    return ChunkRows(partial(_read, estimator, X, sample_weight), n_jobs)


def _read(estimator: BaseEstimator, X: Any, sample_weight: Any) -> Iterator[Block]:
    """Yield checked chunks with their weights."""
    n_rows = 0
    for chunk, w in _with_weights(X, sample_weight):
        if not _length(chunk):
            continue
        rows = check_rows(estimator, chunk, reset=False)
        yield Block(rows, check_weights(w, len(rows), some=False))
        n_rows += len(rows)
    if not n_rows:
        raise ValueError(NO_ROWS)


def _with_weights(X: Any, sample_weight: Any) -> Iterator[tuple[Any, Any]]:
    if sample_weight is None:
        yield from ((chunk, None) for chunk in _reader(X)())
        return
    if isinstance(X, np.memmap):
        weight = check_weights(sample_weight, len(X))
        assert weight is not None
        weights: Iterator[Any] = (
            weight[rows] for rows in row_slices(len(X), APPLIED_ROWS)
        )
    elif isinstance(sample_weight, np.ndarray) or np.isscalar(sample_weight):
        raise TypeError(
            "sample_weight must come in chunks, as X does: an array of weights for "
            "each of them."
        )
    else:
        weights = _reader(sample_weight)()
    missing = object()
    for chunk, w in zip_longest(_reader(X)(), weights, fillvalue=missing):
        if chunk is missing or w is missing:
            raise ValueError("sample_weight must have as many chunks as X.")
        yield chunk, w


def _open_lazy(
    estimator: BaseEstimator, X: Any, sample_weight: Any, reset: bool
) -> Source:
    from modeseek.rows.dask import DaskRows, align_weights, as_array, example_of

    rows = as_array(X)
    check_rows(estimator, example_of(X), reset=reset)
    weight = None if sample_weight is None else align_weights(sample_weight, rows)
    return DaskRows(rows, weight, check_block)


@one_blas_thread()
def apply_rowwise(
    estimator: BaseEstimator,
    X: Any,
    function: RowFunction,
    frame: Frame,
    example: Floats,
) -> Any:
    """Apply a function to rows that users pass, some at a time; lazily on Dask.

    The rows must have the features of the fitted estimator. See
    :meth:`modeseek.rows.source.Source.apply_rowwise`.
    """
    source = open_rows(estimator, X, None, None, reset=False, again=False)
    return source.apply_rowwise(function, frame, example)


def apply_elementwise(function: Callable[..., NDArray[Any]], *columns: Any) -> Any:
    """Apply a function to numbers (n,) of all rows together; lazily on Dask."""
    if not is_lazy(columns[0]):
        return function(*columns)
    like = function(*(np.empty(0, dtype=column.dtype) for column in columns))
    first, *others = columns
    return first.map_blocks(function, *others, dtype=like.dtype, meta=like)


def look_up(table: NDArray[Any], index: Any) -> Any:
    """Entries of a table (k,), by their number for each row (n,); lazily on Dask."""
    return apply_elementwise(table.take, index)
