"""Features made from the columns of a table, and chunks of them that a fit reads.

A table need not fit in memory. It is read once to check and count its rows, as often
as the fit wants, and once more to be labelled and written, a batch at a time.
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
from modeseek.plot.drawing import without_names
from modeseek.rows.arrays import Bools, Floats, Integers

#: Share of the free memory that a fit may take.
MEMORY_SHARE = 0.5

#: Bytes of memory for a row that is labelled, and for one that is drawn at random.
LABEL_BYTES, DRAWN_BYTES = 32, 512

#: Copies of its rows that work on rows in memory holds.
COPIES_IN_MEMORY = 8

#: Where the system does not say how much memory is free.
ASSUMED_MEMORY = 2 << 30

#: Stands for the label of a row with a missing value; -1 is that of noise.
NO_CLUSTER = -2

#: Told the number of rows read, batch by batch.
Advance = Callable[[int], None]


class Recipe(NamedTuple):
    """How features are made from columns."""

    columns: tuple[str, ...]  # names, one for each feature
    cofactors: tuple[float, ...]  # arcsinh(x / cofactor) is taken; 0 takes x itself

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


class TableRows(NamedTuple):
    """The rows of a table that a model is fitted to."""

    table: Table
    recipe: Recipe  # what is made of its columns
    n_rows: int
    n_missing: int  # rows with a missing value, which are left out
    drawn: Integers | None = None  # numbers among the complete rows; None for all

    @property
    def n_complete(self) -> int:
        """Rows without a missing value."""
        return self.n_rows - self.n_missing

    @property
    def is_one_batch(self) -> bool:
        """Whether the table is read as a single batch."""
        return self.n_rows <= BATCH_ROWS

    def draw(self, n: int, seed: int) -> TableRows:
        """Take n of the complete rows at random; all of them if there are no more."""
        if n >= self.n_complete:
            return self
        rng = np.random.default_rng(seed)
        drawn = rng.choice(self.n_complete, n, replace=False, shuffle=False)
        return self._replace(drawn=np.sort(drawn))

    def chunks(self) -> Iterator[pa.Table]:
        """Yield the features of the rows taken, with their names, batch by batch."""
        start = 0
        names = list(self.recipe.columns)
        for _, X, complete in read_features(self.table, self.recipe):
            rows = X[complete]
            end = start + len(rows)
            if self.drawn is not None:
                here = slice(*np.searchsorted(self.drawn, [start, end]))
                rows = rows[self.drawn[here] - start]
            yield pa.table([pa.array(column) for column in rows.T.copy()], names)
            start = end

    def load(self) -> pa.Table:
        """All chunks as one, in memory."""
        return pa.concat_tables(self.chunks())


def read_features(
    table: Table, recipe: Recipe, advance: Advance = lambda rows: None
) -> Iterator[tuple[pa.RecordBatch, Floats, Bools]]:
    """Yield batches of a table, their features, and which rows miss no value."""
    n_rows = 0
    for batch in table.batches():
        X = recipe.features(table, batch, n_rows)
        yield batch, X, np.asarray(~np.isnan(X).any(axis=1))
        n_rows += len(X)
        advance(len(X))


def count_rows(table: Table, recipe: Recipe, advance: Advance) -> TableRows:
    """Read a table once, to find cells that are no numbers and to count its rows."""
    n_rows = n_missing = 0
    for _, _, complete in read_features(table, recipe, advance):
        n_rows += len(complete)
        n_missing += int((~complete).sum())
    return TableRows(table, recipe, n_rows, n_missing)


def free_memory() -> int:
    """Bytes of memory that can be had without swapping."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return ASSUMED_MEMORY
    free = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(free[0]) * 1024 if free else ASSUMED_MEMORY


def rows_that_fit(row_bytes: int) -> int:
    """How many rows of so many bytes can be held in memory."""
    return max(BATCH_ROWS, int(MEMORY_SHARE * free_memory() / row_bytes))


def most_rows(rows: TableRows, *, in_memory: bool) -> int:
    """How many rows memory suffices for: to be held, or only to be labelled."""
    if in_memory:
        return rows_that_fit(8 * COPIES_IN_MEMORY * (len(rows.recipe.columns) + 4))
    if rows.n_complete <= rows_that_fit(LABEL_BYTES):
        return rows.n_complete
    return rows_that_fit(DRAWN_BYTES)


def label_rows(
    table: Table,
    recipe: Recipe,
    model: ModeClustering,
    known: Integers | None = None,
    advance: Advance = lambda rows: None,
) -> Iterator[tuple[pa.RecordBatch, Integers]]:
    """Yield the rows of a table as they were read, with their labels, batch by batch.

    Labels are NO_CLUSTER where a value is. ``known`` are the labels of the rows that
    miss none, in order, where the model was fitted on all of them; ``advance`` is told
    the number of rows done.
    """
    model = without_names(model)  # columns were found by name already
    taken = 0
    for batch, X, complete in read_features(table, recipe, advance):
        labels = np.full(len(X), NO_CLUSTER, dtype=np.intp)
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
        taken += n
