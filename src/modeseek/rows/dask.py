"""Rows on Dask: arrays and data frames in chunks, wherever a scheduler keeps them.

Fitting reduces over the chunks as a tree, and moves sums and a bounded number of rows;
labels are another lazy array. The only file that knows Dask.

All of it runs on the scheduler in use: that of a ``distributed.Client`` where there is
one, or what ``dask.config`` says. :func:`connect` opens a client on an address, or on
a cluster of this machine's processes. Where nothing was chosen, a fit opens a cluster
of threads for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np
from dask.base import get_scheduler
from numpy.typing import NDArray

from modeseek.rows.arrays import Floats, Reals
from modeseek.rows.blocks import BLOCK_ROWS, one_thread
from modeseek.rows.coordinates import Frame
from modeseek.rows.source import ArrayRows, Join, Kernel, RowFunction, Source

T = TypeVar("T")

#: Results that a task of the tree joins.
FAN_IN = 8

#: Makes checked rows and weights of a chunk.
Check = Callable[[Any, Any], tuple[Reals, Floats | None]]


@contextmanager
def connect(address: str | None = None, **options: Any) -> Iterator[Any]:
    """Run what is on Dask on a scheduler, until the end of the block.

    Parameters
    ----------
    address : str, optional
        Address of a scheduler, such as ``"tcp://10.0.0.1:8786"``. By default a
        ``distributed.LocalCluster`` is started: worker processes on this machine,
        which a script must start below ``if __name__ == "__main__":``.
    **options
        For ``distributed.Client`` where there is an address, for ``LocalCluster``
        otherwise: ``n_workers``, ``threads_per_worker``, ``memory_limit``.

    Yields
    ------
    distributed.Client

    Examples
    --------
    >>> import dask.array as da
    >>> from modeseek import ModeClustering
    >>> from modeseek.dask import connect
    >>> X = da.random.default_rng(0).normal(size=(20_000, 2), chunks=(5_000, 2))
    >>> with connect(processes=False, n_workers=1, dashboard_address=":0"):
    ...     model = ModeClustering().fit(X)
    ...     labels = model.labels_.compute()
    >>> labels.shape
    (20000,)
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError(
            "Clusters need the package distributed: pip install 'modeseek[dask]'."
        ) from error
    if address is not None:
        with Client(address, **options) as client:
            yield client
        return
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@dataclass(frozen=True, slots=True)
class DaskRows(Source):
    """Rows of a Dask array of one chunk of columns."""

    X: da.Array  # (n, d); n may be unknown
    weight: da.Array | None  # (n,) in the same chunks
    check: Check

    @property
    def n_rows(self) -> int | None:
        """See :class:`modeseek.rows.source.Source`."""
        n = self.X.shape[0]
        return None if np.isnan(n) else int(n)

    def session(self) -> AbstractContextManager[Any]:
        """Open a cluster of threads, where no scheduler was chosen."""
        if get_scheduler() is not None:
            return nullcontext()
        return connect(processes=False, n_workers=1, dashboard_address=":0")

    def reduce(self, kernel: Kernel[T], join: Join[T], size: int = BLOCK_ROWS) -> T:
        """See :class:`modeseek.rows.source.Source`."""
        result: T | None = self.tree(kernel, join, size).compute()[0, 0]
        if result is None:
            raise ValueError("X has no rows.")
        return result

    def tree(self, kernel: Kernel[T], join: Join[T], size: int = BLOCK_ROWS) -> Any:
        """Make the tasks of a reduction; their result is in an array of one element."""
        work = partial(_reduce_chunk, self.check, kernel, join, size)
        pairs: list[Any] = [self.X, "ij"]
        if self.weight is not None:
            pairs += [self.weight, "i"]
        results = da.blockwise(
            _box,
            "ij",
            *pairs,
            # As a task of its own it is sent once, not with every chunk.
            work=dask.delayed(work, traverse=False),
            adjust_chunks={"i": 1, "j": 1},
            align_arrays=False,
            dtype=object,
            meta=np.empty((0, 0), dtype=object),
        )
        parts = list(results.to_delayed().ravel())
        join_all = dask.delayed(partial(_join_all, join), traverse=False)
        while len(parts) > 1:
            parts = [
                join_all(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)
            ]
        return parts[0]

    def apply_rowwise(
        self, function: RowFunction, frame: Frame, example: Floats
    ) -> da.Array:
        """See :class:`modeseek.rows.source.Source`."""
        like = function(example)
        names = "iklm"[: like.ndim]
        return da.blockwise(
            _apply_to_chunk,
            names,
            self.X,
            "ij",
            work=dask.delayed(partial(_checked, self.check, function), traverse=False),
            empty=like[:0],
            new_axes=dict(zip(names[1:], like.shape[1:], strict=True)),
            concatenate=True,
            align_arrays=False,
            dtype=like.dtype,
            meta=like[:0],
        )


def _box(X: Any, weight: Any = None, *, work: Any) -> NDArray[np.object_]:
    """Put what is made of a chunk into an array of one element."""
    box = np.empty((1, 1), dtype=object)
    box[0, 0] = work(X, weight)
    return box


def _reduce_chunk(
    check: Check, kernel: Kernel[T], join: Join[T], size: int, X: Any, weight: Any
) -> T | None:
    if not len(X):
        return None
    with one_thread():  # the scheduler has the others
        return ArrayRows(*check(X, weight)).reduce(kernel, join, size)


def _join_all(join: Join[T], boxes: list[NDArray[np.object_]]) -> NDArray[np.object_]:
    box = np.empty((1, 1), dtype=object)
    parts = [part[0, 0] for part in boxes if part[0, 0] is not None]
    box[0, 0] = reduce(join, parts) if parts else None
    return box


def as_array(X: Any) -> da.Array:
    """Rows or weights as a Dask array whose features are in one chunk.

    Nothing is computed: the length may be unknown.
    """
    if not (isinstance(X, da.Array) or hasattr(type(X), "to_dask_array")):
        raise TypeError(
            f"Rows on Dask are an array or a data frame; got {type(X).__name__}."
        )
    array = X if isinstance(X, da.Array) else X.to_dask_array()
    return array.rechunk({1: -1}) if array.ndim == 2 else array


def example_of(X: Any) -> Any:
    """Two made-up rows with the type, features and names of a Dask collection."""
    if isinstance(X, da.Array):
        return np.ones((2, *X.shape[1:]), dtype=X.dtype)
    from dask.dataframe.utils import make_meta, meta_nonempty

    return meta_nonempty(make_meta(X))


def align_weights(weight: Any, X: da.Array) -> da.Array:
    """Cut weights, on Dask or in memory, into the chunks of the rows."""
    rows = X.chunks[0]
    known = not np.isnan(rows).any()
    if not hasattr(weight, "__dask_graph__"):
        if not known:
            raise ValueError(
                "The lengths of the chunks of X are not known, so an array of weights "
                "cannot be cut to them: give sample_weight as a column of the same "
                "data frame, or call X.compute_chunk_sizes()."
            )
        weight = da.from_array(np.asarray(weight))
    w = as_array(weight)
    if w.ndim == 1 and known and w.shape == (sum(rows),):
        return w.rechunk((rows,))
    # Where a length is not known, each chunk is compared with its rows.
    compared = not known or bool(np.isnan(w.shape).any())
    if w.ndim == 1 and compared and w.numblocks[0] == len(rows):
        return w
    raise ValueError(
        f"sample_weight must have one entry a row, in the chunks of X; got shape "
        f"{w.shape} in {w.numblocks} chunks for {len(rows)} chunks of X."
    )


def _checked(check: Check, function: RowFunction, X: Any) -> NDArray[Any]:
    with one_thread():
        return function(check(X, None)[0])


def _apply_to_chunk(X: Any, *, work: Any, empty: NDArray[Any]) -> NDArray[Any]:
    results: NDArray[Any] = work(X) if len(X) else empty
    return results
