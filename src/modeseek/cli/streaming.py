"""Clustering of tables that need not fit in memory: sample, fit, label by batches.

Rows are read once to fit on (all of them, or as many drawn at random as fit) and a
second time to be labelled and written, a batch at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from modeseek.cli.columns import numbers
from modeseek.cli.tables import BATCH_ROWS, Table, TableError
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.rows.arrays import Floats, Integers

#: Share of the free memory to fit in, and copies of its rows that a fit holds.
MEMORY_SHARE, FIT_COPIES = 0.5, 8

#: Where the system does not say how much memory is free.
ASSUMED_MEMORY = 2 << 30

Tick = Callable[[int], None]


class Recipe(NamedTuple):
    """How features are made from columns.

    Attributes
    ----------
    columns : tuple of str
    cofactors : tuple of float
        Feature j is ``arcsinh(x / cofactor)`` of column j, or the column itself where
        the cofactor is 0.
    """

    columns: tuple[str, ...]
    cofactors: tuple[float, ...]

    def features(self, table: Table, batch: pa.RecordBatch, first_row: int) -> Floats:
        """Features of a batch; NaN where a value is missing."""
        X = numbers(table, table.prepare(batch), self.columns, first_row)
        for j, cofactor in enumerate(self.cofactors):
            if cofactor > 0:
                X[:, j] = np.arcsinh(X[:, j] / cofactor)
        return X

    def undo(self, X: Floats) -> Floats:
        """Columns of features, shape (m, d)."""
        columns = X.copy()
        for j, cofactor in enumerate(self.cofactors):
            if cofactor > 0:
                columns[:, j] = cofactor * np.sinh(X[:, j])
        return columns

    def labels(self) -> list[str]:
        """What to call the features."""
        return [
            f"arcsinh({name} / {cofactor:g})" if cofactor > 0 else name
            for name, cofactor in zip(self.columns, self.cofactors, strict=True)
        ]


class Gathered(NamedTuple):
    """Rows to fit on, and how many the table has."""

    X: Floats  # complete rows, all or drawn
    n_rows: int
    n_missing: int

    @property
    def whole(self) -> bool:
        """Whether these are all the complete rows."""
        return len(self.X) == self.n_rows - self.n_missing


def free_memory() -> int:
    """Bytes of memory that can be had without swapping."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return ASSUMED_MEMORY
    free = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(free[0]) * 1024 if free else ASSUMED_MEMORY


def rows_that_fit(n_features: int) -> int:
    """Rows that a fit can hold in memory."""
    row_bytes = 8 * FIT_COPIES * (n_features + 4)
    return max(BATCH_ROWS, int(MEMORY_SHARE * free_memory() / row_bytes))


def gather(
    table: Table,
    recipe: Recipe,
    *,
    most: int,
    seed: int = 0,
    tick: Tick = lambda rows: None,
) -> Gathered:
    """Read the rows to fit on: all complete ones, or ``most`` of them drawn by seed.

    Parameters
    ----------
    table : Table
    recipe : Recipe
    most : int
        Rows to keep at most. The draw does not depend on how the rows are batched.
    seed : int
    tick : callable
        Told the number of rows read, batch by batch.

    Returns
    -------
    Gathered
    """
    rng = np.random.default_rng(seed)
    rows: list[Floats] = [np.empty((0, len(recipe.columns)))]
    keys: list[Floats] = [np.empty(0)]
    n_rows = n_missing = held = 0
    for batch in table.batches():
        X = recipe.features(table, batch, n_rows)
        complete = ~np.isnan(X).any(axis=1)
        n_rows += len(X)
        n_missing += int((~complete).sum())
        rows.append(X[complete])
        keys.append(rng.random(len(rows[-1])))
        held += len(rows[-1])
        if held > most + max(most // 4, BATCH_ROWS):
            rows, keys = _thin(rows, keys, most)
            held = most
        tick(len(X))
    rows, keys = _thin(rows, keys, most)
    return Gathered(rows[0], n_rows, n_missing)


def _thin(
    rows: list[Floats], keys: list[Floats], most: int
) -> tuple[list[Floats], list[Floats]]:
    """Keep the rows with the smallest keys, in the order they came."""
    X, key = np.concatenate(rows), np.concatenate(keys)
    if len(X) > most:
        kept = np.sort(np.argpartition(key, most - 1)[:most])
        X, key = X[kept], key[kept]
    return [X], [key]


def keep_clusters(model: ModeClustering, n_clusters: int) -> None:
    """Cut a fitted model's tree to a number of clusters, as ``prominence`` would.

    Parameters
    ----------
    model : ModeClustering
        Fitted; its ``prominence`` and labels are changed.
    n_clusters : int
    """
    tree = model.merge_tree_
    tree.cut(n_clusters=n_clusters)  # refuses a number that cannot be had
    ranked = np.sort(tree.prominence)
    made = len(tree.heights) - n_clusters
    if made < len(ranked):
        level = float(ranked[made])
    else:
        level = float(np.nextafter(ranked[-1], np.inf)) if len(ranked) else 0.0
    if np.count_nonzero(ranked < level) != made:
        raise ValueError(
            f"There is no level with {n_clusters} clusters: merges of the same "
            "prominence come together."
        )
    model.set_params(prominence=level)._store_level()


def label_rows(
    table: Table,
    recipe: Recipe,
    model: ModeClustering,
    known: Integers | None = None,
    tick: Tick = lambda rows: None,
) -> Iterator[tuple[pa.RecordBatch, Integers]]:
    """Yield the rows of a table with their labels, batch by batch.

    Parameters
    ----------
    table : Table
    recipe : Recipe
    model : ModeClustering
    known : ndarray, optional
        Labels of the complete rows, in order, where the model was fitted on them.
    tick : callable
        Told the number of rows done, batch by batch.

    Yields
    ------
    batch : pyarrow.RecordBatch
        The rows as they were read.
    labels : ndarray
        -1 where a value is missing.
    """
    first = taken = 0
    for batch in table.batches():
        X = recipe.features(table, batch, first)
        complete = ~np.isnan(X).any(axis=1)
        labels = np.full(len(X), -1, dtype=np.intp)
        n = int(complete.sum())
        if known is not None:
            if taken + n > len(known):
                raise TableError(f"{table.name}: changed while it was read.")
            labels[complete] = known[taken : taken + n]
        elif n:
            try:
                labels[complete] = model.predict(X[complete])
            except ValueError as error:
                raise TableError(f"{table.name}: {error}") from error
        yield batch, labels
        first, taken = first + len(X), taken + n
        tick(len(X))
