"""Tables read from files in batches of rows: CSV, Parquet, Excel and others.

A table is opened once and read as often as needed; its rows never have to fit in
memory (those of FCS, Excel and JSON files do). Cells of CSV files stay the text that
they are, so what is not touched is written back as it was read. Errors name the file,
the row (counted from 1, without the header) and the column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from numpy.typing import NDArray

from modeseek.cli.cytometry import Cytometry, compensate, read_fcs, spill_matrix
from modeseek.cli.dialects import Dialect, guess_dialect
from modeseek.cli.sheets import read_sheet
from modeseek.errors import DataError
from modeseek.files import ending

#: Rows of a batch, and bytes of a block of CSV: the longest row that can be read.
BATCH_ROWS, BLOCK_BYTES = 1 << 16, 1 << 23

#: What the first bytes of a file say about its format.
MAGIC = {
    b"PAR1": "parquet",
    b"ARRO": "feather",
    b"\x93NUM": "npy",
    b"FCS": "fcs",
    b"PK\x03\x04": "xlsx",
    b"\xd0\xcf\x11\xe0": "xls",
    b"{": "jsonl",
    b"[{": "jsonl",
    b"[\n": "jsonl",
    b"[\r": "jsonl",
    b"[ ": "jsonl",
}

#: Compressed text, by its first bytes.
COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2"}

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".npy": "npy",
    ".fcs": "fcs",
    ".xlsx": "xlsx",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


class TableError(DataError):
    """A table that cannot be used; says which file, row and column, and why."""


class Table(NamedTuple):
    """A table that can be read again and again."""

    name: str  # what messages call it
    kind: str  # format, a key of READERS or csv
    schema: pa.Schema
    n_rows: int | None  # where the file says it
    batches: Callable[[], Iterator[pa.RecordBatch]]  # gives the rows, from the start
    dialect: Dialect = Dialect()  # of a CSV file
    cytometry: Cytometry | None = None  # of an FCS file
    #: Makes of a batch as it is read the one that numbers are taken from.
    prepare: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda batch: batch


def guess_kind(path: Path | None, default: str) -> str:
    """Format of a file by its ending."""
    return default if path is None else SUFFIXES.get(_plain_ending(path), default)


def is_known(path: Path | None) -> bool:
    """Whether the ending of a file says its format, or it has none."""
    return path is None or _plain_ending(path) in ("", *SUFFIXES)


def _plain_ending(path: Path) -> str:
    return ending(str(path)).lower().removesuffix(".gz").removesuffix(".bz2")


def _recognize_kind(path: Path) -> str:
    """Format of a file by its first bytes."""
    return _by_first_bytes(path, MAGIC) or "csv"


def _by_first_bytes(path: Path, known: Mapping[bytes, str]) -> str | None:
    with path.open("rb") as handle:
        start = handle.read(4)
    return next((known[first] for first in known if start.startswith(first)), None)


def _stream(path: Path) -> Any:
    """The bytes of a text file, which may be compressed."""
    return pa.input_stream(str(path), compression=_by_first_bytes(path, COMPRESSED))


def open_table(
    path: Path,
    name: str | None = None,
    *,
    kind: str | None = None,
    **given: Any,
) -> Table:
    """Open a table; ``name`` is what messages call it, by default the path.

    The format ``kind`` is by default seen from the ending or else from the first bytes.
    The dialect of a CSV file is guessed, but for what is given: see
    :func:`modeseek.cli.dialects.guess_dialect`.
    """
    name = str(path) if name is None else name
    with _reading(name):
        kind = kind or guess_kind(path, _recognize_kind(path))
        if kind == "csv":
            table = _open_csv(path, name, **given)
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
def _reading(name: str, n_skipped: int = 0) -> Iterator[None]:
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
        raise TableError(f"{name}{_explain(str(error), n_skipped)}") from error


def _explain(message: str, above: int) -> str:
    """What pyarrow says of a broken file, with rows counted as we do."""
    message = message.splitlines()[0] if message else "cannot be read"
    if "Empty CSV" in message or "Could not skip" in message:
        return ": no rows below the header."
    if "straddl" in message:
        return f": a row is longer than {BLOCK_BYTES >> 20} MB."
    if "invalid UTF8" in message:
        return ": not UTF-8 text all through; --encoding says what it is."
    ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if ragged:
        row, wanted, got = map(int, ragged.groups())
        return f", row {row - above}: {got} cells, but {wanted} columns."
    cell = re.search(r"In CSV column #(\d+): Row #(\d+): .*?: (.*)", message)
    if cell:
        return f", row {int(cell[2]) - above}, column {int(cell[1]) + 1}: {cell[3]}."
    return f": {message}"


def _read(
    name: str, batches: Callable[[], Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    with _reading(name):
        for batch in batches():
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)


def _open_csv(path: Path, name: str, **given: Any) -> Table:
    with _stream(path) as stream:
        start = bytes(stream.read(BLOCK_BYTES))
    dialect, names = guess_dialect(start, len(start) < BLOCK_BYTES, **given)
    schema = pa.schema([(column, pa.string()) for column in names])

    def batches() -> Iterator[pa.RecordBatch]:
        with _reading(name, dialect.n_skipped):
            yield from pa.csv.open_csv(
                _stream(path),
                read_options=pa.csv.ReadOptions(
                    use_threads=False,  # or errors do not say the row
                    block_size=BLOCK_BYTES,
                    column_names=names,
                    skip_rows=dialect.n_skipped,
                    encoding=dialect.encoding.removesuffix("-sig"),
                ),
                parse_options=pa.csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char=dialect.quote,
                    newlines_in_values=True,
                    # In a single column an empty line is a missing value.
                    ignore_empty_lines=len(names) > 1,
                ),
                convert_options=pa.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    strings_can_be_null=False,
                ),
            )

    return Table(name, "csv", schema, None, batches, dialect)


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


def _open_jsonl(path: Path, name: str) -> Table:
    options = pa.json.ReadOptions(use_threads=False, block_size=BLOCK_BYTES)
    with _stream(path) as stream:
        if bytes(stream.read(100)).lstrip().startswith(b"["):
            raise TableError(
                f"{name}: a JSON array; write an object on each line, as jq -c '.[]' "
                "does, or to_json(orient='records', lines=True) of pandas."
            )
    with _stream(path) as stream:
        return _loaded_table(name, "jsonl", pa.json.read_json(stream, options))


def _open_xlsx(path: Path, name: str) -> Table:
    rows = read_sheet(path)
    if not rows:
        raise TableError(f"{name}: the first sheet is empty.")
    names = [f"x{j}" for j in range(len(rows[0]))]
    if any(isinstance(cell, str) for cell in rows[0]):
        first, *rows = rows
        cells = ["" if cell is None else str(cell) for cell in first]
        names = [cell.strip() or f"Unnamed: {j}" for j, cell in enumerate(cells)]
    columns = [_cell_array(cells) for cells in zip(*rows, strict=True)]
    if not columns:
        raise TableError(f"{name}: no rows below the header.")
    return _loaded_table(name, "xlsx", pa.table(columns, names))


def _cell_array(cells: Sequence[Any]) -> pa.Array:
    """Cells of a column of Excel, as text where they are not of one kind."""
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if cell is None else str(cell) for cell in cells])


def _refuse_xls(path: Path, name: str) -> Table:
    raise TableError(f"{name}: a workbook of old Excel; save it as .xlsx or CSV.")


def _loaded_table(name: str, kind: str, table: pa.Table) -> Table:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from table.to_batches(max_chunksize=BATCH_ROWS)

    return Table(name, kind, table.schema, table.num_rows, batches)


READERS: dict[str, Callable[[Path, str], Table]] = {
    "parquet": _open_parquet,
    "feather": _open_feather,
    "npy": _open_npy,
    "fcs": _open_fcs,
    "jsonl": _open_jsonl,
    "xlsx": _open_xlsx,
    "xls": _refuse_xls,
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
