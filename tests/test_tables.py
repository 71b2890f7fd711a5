"""Tables from files: what is read, what is refused and how, what is written back."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from modeseek.cli.columns import choose_columns, numbers
from modeseek.cli.cytometry import compensate, read_fcs, spill_matrix, write_fcs
from modeseek.cli.tables import SUFFIXES, TableError, compensated, open_table
from modeseek.cli.writers import WRITERS, add_column, csv_lines, writing


def read(table, columns=None):
    """All rows of a table as numbers."""
    columns = columns or choose_columns(table).columns
    parts, first = [np.empty((0, len(columns)))], 0
    for batch in table.batches():
        parts.append(numbers(table, table.prepare(batch), columns, first))
        first += batch.num_rows
    return np.concatenate(parts)


def csv(folder, text, name="rows.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


ROWS = np.array([[1.5, -2.0, 3e-5], [4.25, 0.5, 6e7], [0.125, 8.0, -9.0]])


def write_rows(path, kind):
    """Write ROWS with the writer of each format's own library."""
    names = ["a", "b", "c"]
    if kind == "csv":
        np.savetxt(path, ROWS, delimiter=",", header="a,b,c", comments="", fmt="%.17g")
    elif kind == "npy":
        np.save(path, ROWS)
    elif kind == "fcs":
        write_fcs(path, ROWS, names, names, {})
    elif kind == "xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in [names, *ROWS.tolist()]:
            book.active.append(row)
        book.save(path)
    elif kind == "jsonl":
        rows = [dict(zip(names, row, strict=True)) for row in ROWS.tolist()]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        table = pa.table(dict(zip(names, ROWS.T, strict=True)))
        if kind == "parquet":
            pa.parquet.write_table(table, path)
        else:
            pa.feather.write_feather(table, path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_the_rows(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    kind = SUFFIXES[suffix]
    write_rows(path, kind)
    table = open_table(path)
    assert table.kind == kind
    expected = ROWS.astype(np.float32) if kind == "fcs" else ROWS
    np.testing.assert_array_equal(read(table), expected)
    np.testing.assert_array_equal(read(table), expected)  # and again


@pytest.mark.parametrize("kind", WRITERS)
def test_a_file_without_an_ending_is_known_by_its_first_bytes(tmp_path, kind):
    write_rows(tmp_path / f"rows.{kind}", kind)
    bare = (tmp_path / f"rows.{kind}").rename(tmp_path / "rows")
    assert open_table(bare).kind == kind


@pytest.mark.parametrize("source", WRITERS)
@pytest.mark.parametrize("target", WRITERS)
def test_rows_survive_from_any_format_to_any_other(tmp_path, source, target):
    write_rows(tmp_path / f"rows.{source}", source)
    table = open_table(tmp_path / f"rows.{source}")
    schema = table.schema.append(pa.field("cluster", pa.int32()))
    place = tmp_path / f"written.{target}"
    with writing(place, target, table, schema) as write:
        for batch in table.batches():
            write(add_column(batch, "cluster", pa.array([2, None, 0], pa.int32())))
    back = open_table(place)
    columns = back.schema.names
    expected = np.column_stack([read(table), [2, np.nan, 0]])
    if target == "fcs":
        expected = expected.astype(np.float32)
    # Workbooks have 16 digits.
    digits = 1e-15 if "xlsx" in (source, target) else 0
    np.testing.assert_allclose(read(back, columns), expected, rtol=digits)
    names = ["x0", "x1", "x2", "x3"] if target == "npy" else [*table.schema.names]
    assert columns == (names if target == "npy" else [*names, "cluster"])


def test_cells_of_csv_are_written_back_as_they_were(tmp_path):
    text = 'id,note,x\n007,"a, ""b""",1.50\n8,"two\nlines",\n9,plain,1e3\n'
    table = open_table(csv(tmp_path, text))
    (batch,) = table.batches()
    assert csv_lines(batch) == text.split("\n", 1)[1]


@pytest.mark.parametrize(
    ("text", "delimiter"), [("a;b\n1;2\n", ";"), ("a\tb\n1\t2\n", "\t")]
)
def test_the_delimiter_is_seen(tmp_path, text, delimiter):
    table = open_table(csv(tmp_path, text))
    assert table.dialect.delimiter == delimiter
    np.testing.assert_array_equal(read(table), [[1, 2]])


def test_a_first_line_of_numbers_is_a_row(tmp_path):
    table = open_table(csv(tmp_path, "1,2\n3,4\n"))
    assert table.schema.names == ["x0", "x1"]
    np.testing.assert_array_equal(read(table), [[1, 2], [3, 4]])
    table = open_table(csv(tmp_path, "1,2\n3,4\n"), header=True)
    np.testing.assert_array_equal(read(table), [[3, 4]])


def test_an_empty_line_of_a_single_column_is_a_missing_value(tmp_path):
    X = read(open_table(csv(tmp_path, "a\n1\n\n3\n")))
    np.testing.assert_array_equal(X, [[1], [np.nan], [3]])


def test_compressed_csv_is_read(tmp_path):
    path = csv(tmp_path, gzip.compress(b"a,b\n1,2\n"), "rows.csv.gz")
    np.testing.assert_array_equal(read(open_table(path)), [[1, 2]])


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    assert open_table(csv(tmp_path, "\ufeffa,b\n1,2\n")).schema.names == ["a", "b"]


@pytest.mark.parametrize("cell", ["", "NA", "nan", "NULL", " ", "?"])
def test_missing_cells_are_missing(tmp_path, cell):
    X = read(open_table(csv(tmp_path, f"a,b\n1,{cell}\n3,4\n")))
    np.testing.assert_array_equal(X, [[1, np.nan], [3, 4]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"rows.csv: the file is empty\."),
        ("a,b", r"rows.csv: no rows below the header\."),
        ("a,b\n1,2\n3\n", r"rows.csv, row 2: 1 cells, but 2 columns\."),
        ("1,2\n3,4,5\n", r"rows.csv, row 2: 3 cells, but 2 columns\."),
        ("a,a\n1,2\n", r"rows.csv: more than one column is called 'a'\."),
        (
            "a,b\n1,2\n3,4x\n5,6\n",
            r"rows.csv, row 2, column 'b': '4x' is not a number",
        ),
        ("a,b\n1,2\n3,inf\n", r"rows.csv, row 2, column 'b': an infinite value"),
        ("a,b\n1,2\n3,1e999\n", r"rows.csv, row 2, column 'b': an infinite value"),
        ("a,b\nx,y\n", r"rows.csv: no column of numbers"),
        (b"a,b\n1,\xff\x00\n", r"rows.csv: not a table of text"),
    ],
)
def test_bad_csv_is_refused_in_words(tmp_path, text, message):
    with pytest.raises(TableError, match=message):
        read(open_table(csv(tmp_path, text)))


def test_a_bad_cell_far_below_is_named(tmp_path):
    text = "a,b\n" + "1,2\n" * 100_000 + "3,oops\n"
    with pytest.raises(TableError, match="row 100001, column 'b': 'oops'"):
        read(open_table(csv(tmp_path, text)))


@pytest.mark.parametrize("kind", ["parquet", "feather", "npy", "fcs"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"no such thing" * 100])
def test_other_broken_files_are_refused_with_their_name(tmp_path, kind, content):
    path = tmp_path / f"rows.{kind}"
    path.write_bytes(content)
    with pytest.raises(TableError, match=f"^{path}"):
        read(open_table(path))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 2, 2)), "shape"),
        (np.zeros(2, dtype=complex), "dtype"),
        (np.array([["a"]]), "dtype"),
        (np.array([[1, None]], dtype=object), "Python objects"),
    ],
)
def test_arrays_that_are_no_tables_are_refused(tmp_path, array, message):
    np.save(tmp_path / "rows.npy", array)
    with pytest.raises(TableError, match=message):
        open_table(tmp_path / "rows.npy")


def parquet(folder, **columns):
    pa.parquet.write_table(pa.table(columns), folder / "rows.parquet")
    return open_table(folder / "rows.parquet")


def test_columns_of_numbers_are_taken_and_the_others_named(tmp_path):
    table = parquet(
        tmp_path,
        x=[1.0, 2.0],
        n=pa.array([1, None], pa.int8()),
        flag=[True, False],
        name=["a", "b"],
        day=pa.array([1, 2], pa.date32()),
    )
    choice = choose_columns(table)
    assert choice.columns == ("x", "n")
    assert choice.left_out == {
        "flag": "of type bool",
        "name": "text",
        "day": "of type date32[day]",
    }
    np.testing.assert_array_equal(read(table), [[1, 1], [2, np.nan]])
    np.testing.assert_array_equal(read(table, ["flag", "x"]), [[1, 1], [0, 2]])
    with pytest.raises(TableError, match="'day' is of type"):
        read(table, ["day"])


def test_text_that_codes_numbers_is_numbers(tmp_path):
    coded = pa.array(["1", "2", "1"]).dictionary_encode()
    np.testing.assert_array_equal(read(parquet(tmp_path, x=coded)), [[1], [2], [1]])


def test_columns_that_are_not_there_are_refused_with_those_that_are(tmp_path):
    table = parquet(tmp_path, x=[1.0], y=[2.0])
    with pytest.raises(TableError, match="no column 'z'; there are 'x', 'y'"):
        choose_columns(table, ["z"])
    with pytest.raises(TableError, match="no column 'z'"):
        choose_columns(table, unwanted=["z"])
    with pytest.raises(TableError, match="no column of numbers"):
        choose_columns(table, unwanted=["x", "y"])
    assert choose_columns(table, ["y", "x"]).columns == ("y", "x")


def test_a_sheet_ends_where_its_values_end(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["a", "b"], [1, 2.5], [], [3, None], [4, "x"]]:
        book.active.append(row)
    book.active["XFD1048576"].number_format = "0.0"  # a format without a value
    book.save(tmp_path / "rows.xlsx")
    table = open_table(tmp_path / "rows.xlsx")
    assert table.n_rows == 3
    (batch,) = table.batches()
    assert batch.to_pydict() == {"a": [1, 3, 4], "b": ["2.5", None, "x"]}


def test_text_cannot_be_written_as_numbers(tmp_path):
    table = open_table(csv(tmp_path, "a,b\n1,x\n"))
    (batch,) = table.batches()
    with (
        pytest.raises(TableError, match="NPY files hold numbers only"),
        writing(tmp_path / "rows.npy", "npy", table, table.schema) as write,
    ):
        write(batch)


def test_nested_columns_cannot_be_written_as_csv(tmp_path):
    table = parquet(tmp_path, x=[1.0], parts=[[1, 2]])
    (batch,) = table.batches()
    with (
        pytest.raises(TableError, match="cannot be written as csv"),
        writing(tmp_path / "rows.csv", "csv", table, table.schema) as write,
    ):
        write(batch)


def flow_file(path, spill=None):
    rng = np.random.default_rng(0)
    text = {"cyt": "µ-flow", "fil": "/data/run/"}
    if spill is not None:
        text["spillover"] = spill
    events = rng.uniform(0, 1000, size=(50, 4)).astype(np.float32)
    detectors = ["FSC-A", "B530-A", "R660-A", "Time"]
    write_fcs(path, events, detectors, ["FSC-A", "CD3", "CD8", "Time"], text)
    return events


def test_channels_have_the_names_of_their_markers(tmp_path):
    events = flow_file(tmp_path / "cells.fcs")
    data = read_fcs(tmp_path / "cells.fcs")
    assert data.names == ("FSC-A", "CD3", "CD8", "Time")
    assert data.detectors == ("FSC-A", "B530-A", "R660-A", "Time")
    assert data.clocks() == ["Time"]
    assert data.scatter() == ["FSC-A"]
    assert data.usual_cofactor() == 150
    assert spill_matrix(data) is None
    np.testing.assert_array_equal(data.events, events)
    choice = choose_columns(open_table(tmp_path / "cells.fcs"))
    assert choice.columns == ("FSC-A", "CD3", "CD8")
    assert choice.left_out == {"Time": "a clock"}


def test_keywords_survive_in_ascii(tmp_path):
    flow_file(tmp_path / "cells.fcs")
    text = read_fcs(tmp_path / "cells.fcs").text
    assert text["cyt"] == "\\xb5-flow"
    assert text["fil"].strip() == "/data/run/"


def test_without_scatter_it_is_mass_cytometry(tmp_path):
    write_fcs(tmp_path / "cells.fcs", ROWS, ["a", "b", "c"], ["a", "b", "c"], {})
    assert read_fcs(tmp_path / "cells.fcs").usual_cofactor() == 5


def test_compensation_undoes_the_spill(tmp_path):
    true = flow_file(tmp_path / "true.fcs").astype(np.float64)
    matrix = np.array([[1.0, 0.2], [0.05, 1.0]])
    seen = true.copy()
    seen[:, 1:3] = true[:, 1:3] @ matrix
    spill = [1, 2], matrix
    np.testing.assert_allclose(compensate(seen, spill), true, rtol=1e-12)

    events = flow_file(tmp_path / "cells.fcs", "2,B530-A,R660-A,1,0.2,0.05,1")
    table = open_table(tmp_path / "cells.fcs")
    np.testing.assert_array_equal(read(table, table.schema.names), events)
    clean = read(compensated(table), table.schema.names)
    np.testing.assert_allclose(clean[:, 1:3] @ matrix, events[:, 1:3], rtol=1e-6)
    np.testing.assert_array_equal(clean[:, [0, 3]], events[:, [0, 3]])


@pytest.mark.parametrize(
    ("spill", "message"),
    [
        ("2,B530-A,R660-A,1,0.2,0.05", "not a matrix"),
        ("2,B530-A,nobody,1,0.2,0.05,1", "not a matrix"),
        ("2,B530-A,R660-A,1,1,1,1", "cannot be inverted"),
    ],
)
def test_a_broken_compensation_is_refused(tmp_path, spill, message):
    flow_file(tmp_path / "cells.fcs", spill)
    with pytest.raises(TableError, match=f"{message}.*--no-compensate"):
        compensated(open_table(tmp_path / "cells.fcs"))
