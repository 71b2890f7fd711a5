"""Tables read from files in batches of rows: CSV, Parquet, Feather, NPY and FCS.

A table is opened once and read as often as needed; its rows never have to fit in
memory (those of FCS files do). Cells of CSV files stay the text that they are, so what
is not touched is written back as it was read. Errors name the file, the row (counted
from 1, without the header) and the column.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from modeseek.cli.cytometry import Cytometry, compensate, read_fcs, spill_matrix
from modeseek.errors import DataError
from modeseek.files import ending

#: Rows of a batch, and bytes of a block of CSV: the longest row that can be read.
BATCH_ROWS, BLOCK_BYTES = 1 << 16, 1 << 23

#: Cells that say that there is no value, as in pandas.
MISSING = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "None"),
    *("NaN", "nan", "-NaN", "-nan", "NULL", "null"),
)

#: Delimiters that are recognised in the first line of a CSV file.
DELIMITERS = (",", ";", "\t", "|")

#: What the first bytes of a file say about its format.
MAGIC = {b"PAR1": "parquet", b"ARRO": "feather", b"\x93NUM": "npy", b"FCS": "fcs"}

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".npy": "npy",
    ".fcs": "fcs",
}


class TableError(DataError):
    """A table that cannot be used; says which file, row and column, and why."""


class Dialect(NamedTuple):
    """How a CSV file is written."""

    delimiter: str = ","
    header: bool = True


class Table(NamedTuple):
    """A table that can be read again and again."""

    name: str  # what messages call it
    kind: str  # format: csv, parquet, feather, npy or fcs
    schema: pa.Schema
    n_rows: int | None  # where the file says it
    batches: Callable[[], Iterator[pa.RecordBatch]]  # gives the rows, from the start
    dialect: Dialect = Dialect()  # of a CSV file
    cytometry: Cytometry | None = None  # of an FCS file
    #: Makes of a batch as it is read the one that numbers are taken from.
    prepare: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda batch: batch


def guess_kind(path: Path | None, default: str) -> str:
    """Format of a file by its ending."""
    if path is None:
        return default
    plain = ending(str(path)).lower().removesuffix(".gz").removesuffix(".bz2")
    return SUFFIXES.get(plain, default)


def _recognize_kind(path: Path) -> str:
    """Format of a file by its first bytes."""
    with path.open("rb") as handle:
        start = handle.read(4)
    return next(
        (kind for magic, kind in MAGIC.items() if start.startswith(magic)), "csv"
    )


def open_table(
    path: Path,
    name: str | None = None,
    *,
    kind: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Table:
    """Open a table; ``name`` is what messages call it, by default the path.

    The format ``kind`` is by default seen from the ending or else from the first bytes;
    delimiter and header of a CSV file from its first line, which is no header when all
    its cells are numbers.
    """
    name = str(path) if name is None else name
    with _reading(name):
        kind = kind or guess_kind(path, _recognize_kind(path))
        if kind == "csv":
            table = _open_csv(path, name, delimiter, header)
        else:
            table = READERS[kind](path, name)
        names = table.schema.names
    twice = sorted({column for column in names if names.count(column) > 1})
    if twice:
        raise TableError(f"{name}: more than one column is called {twice[0]!r}.")
    if not names:
        raise TableError(f"{name}: no columns.")
    return table._replace(batches=lambda: _read(name, table.batches))


@contextmanager
def _reading(name: str, header: bool = False) -> Iterator[None]:
    """Turn what the readers raise into errors that name the file."""
    try:
        yield
    except TableError:
        raise
    except MemoryError as error:  # also Arrow's
        raise TableError(f"{name}: asks for more memory than there is.") from error
    # A broken file meets its reader anywhere, and readers raise anything.
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise TableError(f"{name}{_explain(str(error), header)}") from error


def _explain(message: str, header: bool) -> str:
    """What pyarrow says of a broken file, with rows counted as we do."""
    message = message.splitlines()[0] if message else "cannot be read"
    if "Empty CSV" in message:
        return ": no rows below the header."
    if "straddl" in message:
        return f": a row is longer than {BLOCK_BYTES >> 20} MB."
    ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if ragged:
        row, wanted, got = map(int, ragged.groups())
        return f", row {row - header}: {got} cells, but {wanted} columns."
    cell = re.search(r"In CSV column #(\d+): Row #(\d+): .*?: (.*)", message)
    if cell:
        return f", row {int(cell[2]) - header}, column {int(cell[1]) + 1}: {cell[3]}."
    return f": {message}"


def _read(
    name: str, batches: Callable[[], Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    with _reading(name):
        for batch in batches():
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)


def _open_csv(
    path: Path, name: str, delimiter: str | None, header: bool | None
) -> Table:
    first = _first_line(path)
    if delimiter is None:
        bare = re.sub(r'"[^"]*"', "", first)
        delimiter = max(DELIMITERS, key=bare.count)  # the first of equals
    cells = next(csv.reader([first], delimiter=delimiter), [])
    if not cells:
        raise TableError(f"{name}: the file is empty.")
    if header is None:
        header = not _all_numbers(cells)
    names = cells if header else [f"x{j}" for j in range(len(cells))]
    blank = [j for j, cell in enumerate(names) if not cell.strip()]
    if blank:
        raise TableError(f"{name}: column {blank[0] + 1} has no name in the header.")
    schema = pa.schema([(column, pa.string()) for column in names])

    def batches() -> Iterator[pa.RecordBatch]:
        with _reading(name, header):
            reader = pa.csv.open_csv(
                pa.input_stream(str(path)),
                read_options=pa.csv.ReadOptions(
                    use_threads=False,  # or errors do not say the row
                    block_size=BLOCK_BYTES,
                    column_names=None if header else names,
                ),
                parse_options=pa.csv.ParseOptions(
                    delimiter=delimiter,
                    newlines_in_values=True,
                    # In a single column an empty line is a missing value.
                    ignore_empty_lines=len(names) > 1,
                ),
                convert_options=pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    strings_can_be_null=False,
                ),
            )
            if reader.schema.names != names:
                raise TableError(f"{name}: the header is not a line of CSV.")
            yield from reader

    return Table(name, "csv", schema, None, batches, Dialect(delimiter, header))


def _first_line(path: Path) -> str:
    """First line of a CSV file, which need not be a line of text where it is quoted."""
    with pa.input_stream(str(path)) as stream:
        start = bytes(stream.read(BLOCK_BYTES))
    try:
        text = start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(start) < BLOCK_BYTES or error.start < len(start) - 4:
            raise ValueError(
                f"not UTF-8 text (byte {error.start + 1}): save it as CSV in UTF-8."
            ) from error
        text = start[: error.start].decode("utf-8-sig")
    ends = re.match(r'(?:[^"\r\n]|"[^"]*")*', text)
    return ends.group() if ends else ""


def _all_numbers(cells: Sequence[str]) -> bool:
    """Whether cells are numbers or missing, and not all missing."""
    present = [cell for cell in cells if cell.strip() not in MISSING]
    try:
        return bool([float(cell) for cell in present])
    except ValueError:
        return False


def _open_parquet(path: Path, name: str) -> Table:
    file = pa.parquet.ParquetFile(path)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from file.iter_batches(batch_size=BATCH_ROWS)

    return Table(name, "parquet", file.schema_arrow, file.metadata.num_rows, batches)


def _open_feather(path: Path, name: str) -> Table:
    file = pa.ipc.open_file(pa.memory_map(str(path)))

    def batches() -> Iterator[pa.RecordBatch]:
        for i in range(file.num_record_batches):
            batch = file.get_batch(i)
            # Arrow trusts what it maps, and reads whatever wrong offsets point to.
            batch.validate(full=True)
            yield batch

    return Table(name, "feather", file.schema, None, batches)


def _open_npy(path: Path, name: str) -> Table:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.ndim not in (1, 2):
        shape = getattr(array, "shape", "no shape")
        raise TableError(f"{name}: rows and columns are wanted, got shape {shape}.")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TableError(f"{name}: numbers are wanted, got dtype {array.dtype}.")
    rows = array.reshape(len(array), -1)
    return _array_table(name, "npy", rows, [f"x{j}" for j in range(rows.shape[1])])


def _open_fcs(path: Path, name: str) -> Table:
    data = read_fcs(path)
    table = _array_table(name, "fcs", data.events, data.names)
    return table._replace(cytometry=data)


def _array_table(
    name: str, kind: str, rows: NDArray[Any], columns: Sequence[str]
) -> Table:
    dtype = rows.dtype.newbyteorder("=")
    schema = pa.schema([(column, pa.from_numpy_dtype(dtype)) for column in columns])

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, len(rows), BATCH_ROWS):
            part = np.array(rows[start : start + BATCH_ROWS], dtype=dtype, order="F")
            yield pa.record_batch([pa.array(c) for c in part.T], schema=schema)

    return Table(name, kind, schema, len(rows), batches)


READERS: dict[str, Callable[[Path, str], Table]] = {
    "parquet": _open_parquet,
    "feather": _open_feather,
    "npy": _open_npy,
    "fcs": _open_fcs,
}


def compensated(table: Table) -> Table:
    """Table whose numbers are compensated if it is of an FCS file that asks for it."""
    data = table.cytometry
    if data is None:
        return table
    try:
        spill = spill_matrix(data)
    except ValueError as error:
        raise TableError(
            f"{table.name}: {error}; --no-compensate takes the events as they are."
        ) from error
    if spill is None:
        return table

    def prepare(batch: pa.RecordBatch) -> pa.RecordBatch:
        events = np.column_stack([np.asarray(c) for c in batch.columns])
        clean = compensate(events, spill)
        return pa.record_batch([pa.array(c) for c in clean.T.copy()], table.schema)

    return table._replace(prepare=prepare)
