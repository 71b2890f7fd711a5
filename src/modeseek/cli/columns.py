"""From cells to numbers: which columns to take, and what stands in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from modeseek.cli.dialects import MISSING, number_pattern
from modeseek.cli.tables import Table, TableError
from modeseek.rows.arrays import Floats
from modeseek.rows.measurements import MANY_VALUES, find_unmeasured, numbers_rows
from modeseek.rows.rounding import FEWEST_ROWS

#: A text column with at least this share of numbers is taken for one with errors.
MOSTLY_NUMBERS = 0.5

#: Rows that are enough to see that a column has many values.
SOME_ROWS = 1000

#: Names of the first column where it is the index that pandas or R wrote.
INDEX_NAMES = ("Unnamed: 0", "__index_level_0__")

#: The decimal sign that a cell may have instead of each.
OTHER_SIGN = {".": ",", ",": "."}


class ColumnChoice(NamedTuple):
    """Columns to cluster by, and why others are left out."""

    columns: tuple[str, ...]
    left_out: dict[str, str]


def choose_columns(
    table: Table, wanted: Sequence[str] = (), unwanted: Sequence[str] = ()
) -> ColumnChoice:
    """Choose the columns to cluster by: those wanted, or else every one that measures.

    Those unwanted are left out. A column that is not there or holds no numbers raises
    :class:`TableError`, and so does text that looks like numbers with errors.
    """
    names = table.schema.names
    for column in (*wanted, *unwanted):
        if column not in names:
            raise TableError(
                f"{table.name}: no column {column!r}; there are {_list(names)}."
            )
    columns = tuple(dict.fromkeys(c for c in (wanted or names) if c not in unwanted))
    left_out: dict[str, str] = {}
    head = next(table.batches(), None)
    if not wanted and head is not None:
        reasons = {column: _why_not(table, head, column) for column in columns}
        left_out = {column: why for column, why in reasons.items() if why}
        rest = [column for column in columns if column not in left_out]
        left_out |= _find_unmeasured(table, rest)
    chosen = tuple(column for column in columns if column not in left_out)
    if not chosen:
        raise TableError(f"{table.name}: no column of numbers is left to cluster by.")
    return ColumnChoice(chosen, left_out)


def _find_unmeasured(table: Table, columns: Sequence[str]) -> dict[str, str]:
    """Columns of numbers that are no measurements, and why.

    The first batch tells which number the rows. Later ones are read as long as some
    column has few values in all before.
    """
    counts: list[dict[float, int]] = [{} for _ in columns]
    numbered = np.zeros(len(columns), dtype=bool)
    n_rows = 0
    for batch in table.batches():
        few = [j for j, seen in enumerate(counts) if len(seen) < MANY_VALUES]
        if not few:
            break
        prepared = table.prepare(batch)
        for j in few:
            column = prepared.column(columns[j])
            x = column_numbers(table, column, columns[j], n_rows)
            x = x[np.isfinite(x)]
            # Most columns have many values in few rows.
            enough = len(np.unique(x[:SOME_ROWS])) >= MANY_VALUES
            seen = x[:SOME_ROWS] if enough else x
            for value, count in zip(*np.unique(seen, return_counts=True), strict=True):
                counts[j][value] = counts[j].get(value, 0) + int(count)
            if not n_rows and len(x) >= FEWEST_ROWS:
                numbered[j] = numbers_rows(x, columns[j])
        n_rows += batch.num_rows
    if n_rows < FEWEST_ROWS:
        return {}
    n_values = np.array([len(seen) for seen in counts])
    total = [max(1, sum(seen.values())) for seen in counts]
    share = np.array([max(seen.values(), default=0) for seen in counts]) / total
    found = find_unmeasured(n_values, share, numbered)
    return {columns[j]: why for j, why in found.items()}


def columns_of_numbers(table: Table) -> list[str]:
    """Columns of text that hold numbers and nothing else, as far as is seen at once."""
    head = next(table.batches(), None)
    if head is None:
        return []
    found = []
    for column in head.schema.names:
        if is_text(head.schema.field(column).type):
            values = _text_or_null(head.column(column))
            bad = pc.any(_not_numbers(values, table.dialect.decimal)).as_py()
            if values.null_count < len(values) and not bad:
                found.append(column)
    return found


def _list(names: Sequence[str]) -> str:
    """Names for a message, not too many."""
    shown = ", ".join(map(repr, names[:12]))
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown


def _why_not(table: Table, head: pa.RecordBatch, column: str) -> str:
    """Why a column is not taken by default; empty if it is."""
    if table.cytometry is not None:
        return "a clock" if column in table.cytometry.clocks() else ""
    if column in INDEX_NAMES and column == head.schema.names[0]:
        return "an index"
    values = head.column(column)
    kind = values.type
    if _is_numeric(kind):
        return ""
    if not is_text(kind):
        return f"of type {kind}"
    values = _text_or_null(values)
    present = len(values) - values.null_count
    if not present:
        return "empty"
    bad = _not_numbers(values, table.dialect.decimal)
    n_bad = pc.sum(bad).as_py() or 0
    if not n_bad:
        return ""
    other = _not_numbers(values, OTHER_SIGN[table.dialect.decimal])
    n_other = pc.sum(other).as_py() or 0
    if min(n_bad, n_other) <= (1.0 - MOSTLY_NUMBERS) * present:
        _refuse_cell(table, values, column, pc.index(bad, True).as_py(), 0)
    return "text"


def _is_numeric(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text, coded or not."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _text_or_null(values: pa.Array) -> pa.Array:
    """Text without the blanks around it; missing values are null."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    values = pc.utf8_trim_whitespace(values.cast(pa.string()))
    missing = pc.is_in(values, value_set=pa.array(MISSING))
    return pc.if_else(missing, pa.scalar(None, pa.string()), values)


def _not_numbers(values: pa.Array, decimal: str) -> pa.Array:
    """Which cells of text are neither null nor numbers with this decimal sign."""
    number = pc.match_substring_regex(values, number_pattern(decimal))
    return pc.invert(pc.fill_null(number, True))


def _refuse_cell(
    table: Table, values: pa.Array, column: str, i: int, first_row: int
) -> None:
    cell = values[i].as_py()
    shown = repr(cell if len(cell) <= 40 else f"{cell[:40]}...")
    other = OTHER_SIGN[table.dialect.decimal]
    hint = ""
    if re.match(number_pattern(other), cell):
        hint = f"read it as one with --decimal {other}, "
    raise TableError(
        f"{table.name}, row {first_row + i + 1}, column {column!r}: {shown} is not a "
        f"number; {hint}correct it, or leave the column out with --drop-columns."
    )


def numbers(
    table: Table, batch: pa.RecordBatch, columns: Sequence[str], first_row: int = 0
) -> Floats:
    """Columns of a batch as numbers (n, n_columns), NaN where a value is missing.

    ``first_row`` rows of the table come before the batch: a cell that is not a finite
    number raises a :class:`TableError` that says its row.
    """
    X = np.empty((batch.num_rows, len(columns)))
    for j, column in enumerate(columns):
        X[:, j] = column_numbers(table, batch.column(column), column, first_row)
    infinite = np.isinf(X)
    if infinite.any():
        i, j = map(int, np.argwhere(infinite)[0])
        raise TableError(
            f"{table.name}, row {first_row + i + 1}, column {columns[j]!r}: an "
            "infinite value; correct it, or leave it empty."
        )
    return X


def column_numbers(
    table: Table, values: pa.Array, column: str, first_row: int
) -> Floats:
    """One column as numbers; see :func:`numbers`."""
    kind = values.type
    if is_text(kind):
        values, decimal = _text_or_null(values), table.dialect.decimal
        if decimal != ".":
            bad = pc.index(_not_numbers(values, decimal), True).as_py()
            if bad >= 0:
                _refuse_cell(table, values, column, bad, first_row)
            values = pc.replace_substring(values, decimal, ".")
        try:
            values = values.cast(pa.float64())
        except pa.ArrowInvalid:
            bad = pc.index(_not_numbers(values, "."), True).as_py()
            _refuse_cell(table, values, column, max(bad, 0), first_row)
    elif pa.types.is_boolean(kind):
        values = values.cast(pa.uint8()).cast(pa.float64())
    elif _is_numeric(kind) or pa.types.is_null(kind):
        values = values.cast(pa.float64(), safe=False)
    else:
        raise TableError(
            f"{table.name}: column {column!r} is of type {kind}, which is not a number."
        )
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
