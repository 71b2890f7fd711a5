"""Tables written to files batch by batch, in any of the formats that are read."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from modeseek.cli.columns import column_numbers, is_text
from modeseek.cli.cytometry import write_fcs
from modeseek.cli.sheets import writing_sheet
from modeseek.cli.tables import Table, TableError
from modeseek.rows.arrays import Floats

Write = Callable[[pa.RecordBatch], None]


def add_column(batch: pa.RecordBatch, name: str, labels: pa.Array) -> pa.RecordBatch:
    """Batch with one more column, its last."""
    schema = batch.schema.append(pa.field(name, labels.type))
    return pa.record_batch([*batch.columns, labels], schema=schema)


def typed_schema(schema: pa.Schema, columns: Collection[str]) -> pa.Schema:
    """Schema in which columns of text that hold numbers are numbers."""
    for column in columns:
        i = schema.get_field_index(column)
        if is_text(schema.field(i).type):
            schema = schema.set(i, pa.field(column, pa.float64()))
    return schema


def typed(source: Table, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Batch with the types of a schema that :func:`typed_schema` gave."""
    columns = [
        values
        if values.type == field.type
        else pa.array(column_numbers(source, values, field.name, 0), from_pandas=True)
        for values, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.record_batch(columns, schema=schema)


@contextmanager
def writing(path: Path, kind: str, source: Table, schema: pa.Schema) -> Iterator[Write]:
    """Write a table to a file, batch by batch; gives what takes the next batch.

    ``kind`` is the format, a key of ``WRITERS``; ``schema`` that of the batches to
    come. A CSV file is written in the dialect of its ``source``, an FCS file with its
    keywords.
    """
    try:
        with WRITERS[kind](path, source, schema) as write:
            yield write
    except (pa.ArrowException, UnicodeEncodeError) as error:
        message = str(error).splitlines()[0]
        raise TableError(
            f"{source.name}: cannot be written as {kind} ({message})."
        ) from error


@contextmanager
def _write_csv(path: Path, source: Table, schema: pa.Schema) -> Iterator[Write]:
    dialect = source.dialect
    encode = codecs.getincrementalencoder(dialect.encoding)().encode  # its mark once
    with pa.output_stream(str(path)) as stream:

        def write(batch: pa.RecordBatch) -> None:
            stream.write(encode(csv_lines(batch, dialect.delimiter, dialect.quote)))

        if dialect.header:
            cells = list(schema.names)
            for j in dialect.unnamed:
                cells[j] = ""
            write(pa.record_batch([pa.array([cell]) for cell in cells], schema.names))
        yield write


def csv_lines(batch: pa.RecordBatch, delimiter: str = ",", quote: str = '"') -> str:
    """Rows as lines of CSV, quoted only where it is needed."""
    if not batch.num_rows:
        return ""
    cells = [_csv_cells(column, delimiter, quote) for column in batch.columns]
    lines = pc.binary_join_element_wise(*cells, delimiter)
    joined = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")
    return f"{joined[0].as_py()}\n"


def _csv_cells(column: pa.Array, delimiter: str, quote: str) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    text = pc.fill_null(column.cast(pa.string()), "")
    special = pc.match_substring_regex(text, f"[{quote}\r\n{re.escape(delimiter)}]")
    if not pc.any(special).as_py():
        return text
    inner = pc.replace_substring(text, quote, 2 * quote)
    quoted = pc.binary_join_element_wise(quote, inner, quote, "")
    return pc.if_else(special, quoted, text)


@contextmanager
def _write_jsonl(path: Path, source: Table, schema: pa.Schema) -> Iterator[Write]:
    with path.open("w", encoding="utf-8") as handle:

        def write(batch: pa.RecordBatch) -> None:
            for row in batch.to_pylist():
                # JSON has no number that is none.
                row = {name: None if v != v else v for name, v in row.items()}
                handle.write(f"{json.dumps(row, ensure_ascii=False, default=str)}\n")

        yield write


@contextmanager
def _write_xlsx(path: Path, source: Table, schema: pa.Schema) -> Iterator[Write]:
    with writing_sheet(path) as write_row:
        write_row(schema.names)

        def write(batch: pa.RecordBatch) -> None:
            columns = [column.to_pylist() for column in batch.columns]
            for row in zip(*columns, strict=True):
                write_row([None if cell != cell else cell for cell in row])

        yield write


@contextmanager
def _write_parquet(path: Path, source: Table, schema: pa.Schema) -> Iterator[Write]:
    with pa.parquet.ParquetWriter(path, schema) as writer:
        yield writer.write_batch


@contextmanager
def _write_feather(path: Path, source: Table, schema: pa.Schema) -> Iterator[Write]:
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, schema, options=options) as writer,
    ):
        yield writer.write_batch


def _numeric(source: Table, batch: pa.RecordBatch, kind: str) -> Floats:
    """All columns of a batch as numbers, for formats that hold nothing else."""
    try:
        columns = [
            column_numbers(source, values, name, 0)
            for name, values in zip(batch.schema.names, batch.columns, strict=True)
        ]
    except TableError as error:
        raise TableError(
            f"{source.name}: {kind} files hold numbers only; write another format."
        ) from error
    return np.column_stack(columns)


@contextmanager
def _write_npy(path: Path, source: Table, schema: pa.Schema) -> Iterator[Write]:
    """One array of floats; its header is written last, when the rows are counted."""
    # The last column is the one that was added.
    single = {field.type for field in list(schema)[:-1]} <= {pa.float16(), pa.float32()}
    dtype = np.dtype("<f4" if single else "<f8")
    n_rows = 0
    with path.open("wb") as handle:
        handle.write(_npy_header(dtype, (0, len(schema))))

        def write(batch: pa.RecordBatch) -> None:
            nonlocal n_rows
            handle.write(_numeric(source, batch, "NPY").astype(dtype).tobytes())
            n_rows += batch.num_rows

        yield write
        handle.seek(0)
        handle.write(_npy_header(dtype, (n_rows, len(schema))))


def _npy_header(dtype: np.dtype[Any], shape: tuple[int, int]) -> bytes:
    """Header of an NPY file, of 128 bytes whatever the shape."""
    words = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00\x76\x00" + words.ljust(117).encode() + b"\n"


@contextmanager
def _write_fcs(path: Path, source: Table, schema: pa.Schema) -> Iterator[Write]:
    parts: list[Floats] = [np.empty((0, len(schema)))]
    yield lambda batch: parts.append(_numeric(source, batch, "FCS"))
    names = list(schema.names)
    data = source.cytometry
    # What was added to the channels of the source comes last.
    detectors = names if data is None else [*data.detectors, *names[len(data.names) :]]
    text = {} if data is None else data.text
    write_fcs(path, np.concatenate(parts), detectors, names, text)


WRITERS: dict[str, Any] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "feather": _write_feather,
    "npy": _write_npy,
    "fcs": _write_fcs,
    "jsonl": _write_jsonl,
    "xlsx": _write_xlsx,
}
