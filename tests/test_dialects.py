"""CSV files as programs write them: read as pandas does when told how they are written.

The table has two measures with a missing value, one of them negative and in exponents,
whole numbers, and text that needs its encoding and its quotes.
"""

import csv
import gzip
import io
from itertools import product

import numpy as np
import pytest

from modeseek.cli.columns import choose_columns, numbers
from modeseek.cli.dialects import Dialect, guess_dialect
from modeseek.cli.tables import TableError, open_table
from modeseek.cli.writers import writing

pd = pytest.importorskip("pandas")

N_ROWS = 40


def made_table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "length": rng.normal(20, 4, N_ROWS).round(2),
            "température": rng.normal(-2, 30, N_ROWS).round(3),
            "count": rng.poisson(30, N_ROWS),
            "note": [
                f"süd {i} „ok“; a,b|c\td" if i % 3 else "x" for i in range(N_ROWS)
            ],
        }
    )
    table.loc[3, "length"] = np.nan
    table.loc[7, "température"] = -1.25e-3
    return table


TABLE = made_table()
MEASURES = ["length", "température", "count"]

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": " "}
ENCODINGS = ("utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le")  # -le: no mark
QUOTING = {
    "minimal": (csv.QUOTE_MINIMAL, '"'),
    "all": (csv.QUOTE_ALL, '"'),
    "single": (csv.QUOTE_ALL, "'"),
}
INDEX = ("none", "unnamed", "short")

DIALECTS = [
    (*where, quoting, ending)
    for i, where in enumerate(
        product(DELIMITERS, ".,", ENCODINGS, (True, False), INDEX)
    )
    for quoting, ending in [[*product(QUOTING, ("\n", "\r\n"))][(i + i // 6) % 6]]
    if where[3] or where[4] != "short"  # the header is what is short
]


def write(delimiter, decimal, encoding, header, index, quoting, ending):
    """Text of TABLE, and how pandas reads it."""
    style, quote = QUOTING[quoting]
    text = TABLE.to_csv(
        sep=DELIMITERS[delimiter],
        decimal=decimal,
        header=header,
        index=index != "none",
        quoting=style,
        quotechar=quote,
        lineterminator=ending,
    )
    if index == "short":
        blank = ("" if quoting == "minimal" else 2 * quote) + DELIMITERS[delimiter]
        assert text.startswith(blank)
        text = text.removeprefix(blank)
    options = {"sep": DELIMITERS[delimiter], "decimal": decimal, "encoding": encoding}
    options["quotechar"] = quote
    if index != "none":
        options["index_col"] = 0
    return text.encode(encoding), options | {"header": 0 if header else None}


def read(table):
    """Columns that are chosen, and their numbers."""
    columns = choose_columns(table).columns
    return columns, np.concatenate(
        [numbers(table, b, columns) for b in table.batches()]
    )


def test_there_are_more_than_two_hundred_dialects():
    assert len(set(DIALECTS)) == len(DIALECTS) > 200
    for style in (5, 6):  # quotes and line ends meet every other choice
        for other in range(5):
            met = {(dialect[style], dialect[other]) for dialect in DIALECTS}
            assert len(met) == np.prod([len({m[k] for m in met}) for k in (0, 1)])


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: "-".join(map(repr, d)))
def test_every_dialect_is_read_as_pandas_does_when_told(tmp_path, dialect):
    content, options = write(*dialect)
    (tmp_path / "rows.csv").write_bytes(content)
    expected = pd.read_csv(io.BytesIO(content), **options).select_dtypes("number")
    columns, X = read(open_table(tmp_path / "rows.csv"))
    np.testing.assert_array_equal(X, expected.to_numpy())
    if options["header"] == 0:
        assert columns == tuple(expected.columns)


@pytest.mark.parametrize("dialect", DIALECTS[::7], ids=lambda d: "-".join(map(repr, d)))
def test_every_dialect_is_written_as_it_was_read(tmp_path, dialect):
    content, options = write(*dialect)
    (tmp_path / "rows.csv").write_bytes(content)
    table = open_table(tmp_path / "rows.csv")
    with writing(tmp_path / "out.csv", "csv", table, table.schema) as take:
        for batch in table.batches():
            take(batch)
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "out.csv", **options),
        pd.read_csv(tmp_path / "rows.csv", **options),
    )


def opened(folder, content, **given):
    path = folder / "rows.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_table(path, **given)


@pytest.mark.parametrize(
    ("text", "columns", "row"),
    [
        ("sep=;\na;b\n1,5;2\n3,5;4\n", ("a", "b"), [1.5, 2]),  # Excel
        ("\n\na,b\n1,2\n", ("a", "b"), [1, 2]),
        ("'a','b'\n'1','x y'\n'2','z'\n", ("a",), [1]),
        ("'a'\t'b'\n1\t'x\ty'\n2\t'z'\n", ("a",), [1]),
        ("a,b,\n1,2,\n3,4,\n", ("a", "b"), [1, 2]),  # a delimiter too many
        ("x\n1,5\n2,5\n", ("x",), [1.5]),
        ("1,5;2,5;3\n4,5;5,5;6\n", ("x0", "x1", "x2"), [1.5, 2.5, 3]),
        ("a\tb\r1\t2\r3\t4\r", ("a", "b"), [1, 2]),  # old Macintosh
        ('"a","b"\n"1,5","2,5"\n', ("a", "b"), [1.5, 2.5]),
        ("day,x\n2020-01-01 10:00,5\n2020-01-02 11:30,6\n", ("x",), [5]),
        ('"two\nlines",b\n1,2\n', ("two\nlines", "b"), [1, 2]),
        ("a;b\n0,125;1\n", ("a", "b"), [0.125, 1]),
    ],
)
def test_odd_files_are_read(tmp_path, text, columns, row):
    chosen, X = read(opened(tmp_path, text))
    assert chosen == columns
    np.testing.assert_array_equal(X[0], row)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a;b\n1,234;5\n12,345;6\n", r"row 1, column 'a': '1,234' .* --decimal ,"),
        ("a;b\n1.5;1,5\n2.5;2,5\n", r"row 1, column 'b': '1,5' .* --decimal ,"),
        (b"a,b\n1,2\n\x00\x01\xff\x02,4\n", "not a table of text"),
    ],
)
def test_what_cannot_be_guessed_is_said_in_one_line(tmp_path, content, message):
    with pytest.raises(TableError, match=message) as raised:
        read(opened(tmp_path, content))
    assert "\n" not in str(raised.value)


def test_old_excel_is_told_what_to_do(tmp_path):
    (tmp_path / "rows.xls").write_bytes(b"\xd0\xcf\x11\xe0rest")
    with pytest.raises(TableError, match=r"old Excel; save it as \.xlsx or CSV"):
        open_table(tmp_path / "rows.xls")


def test_what_is_given_is_taken(tmp_path):
    text = "a;b\n1,234;5\n12,345;6\n"
    _, X = read(opened(tmp_path, text, decimal=","))
    np.testing.assert_array_equal(X, [[1.234, 5], [12.345, 6]])
    columns, _ = read(opened(tmp_path, "a b;c\n1;2\n", delimiter=";"))
    assert columns == ("a b", "c")
    table = opened(tmp_path, "é,b\n1,2\n".encode("cp1250"), encoding="cp1250")
    assert table.schema.names == ["é", "b"]
    with pytest.raises(TableError, match="not utf-8 text; --encoding"):
        opened(tmp_path, "é,b\n1,2\n".encode("cp1250"), encoding="utf-8")


def test_an_encoding_that_changes_below_what_is_seen_is_said(tmp_path):
    text = b"a,b\n" + b"1,x\n" * (3 << 20) + "1,é\n".encode("latin-1")
    with pytest.raises(TableError, match="--encoding"):
        for _ in opened(tmp_path, text).batches():
            pass


def test_compressed_text_is_known_by_its_first_bytes(tmp_path):
    (tmp_path / "rows").write_bytes(gzip.compress(b"a;b\n1;2\n"))
    _, X = read(open_table(tmp_path / "rows"))
    np.testing.assert_array_equal(X, [[1, 2]])


def test_an_index_is_left_out_by_name_and_others_by_what_they_hold(tmp_path):
    choice = choose_columns(opened(tmp_path, TABLE.to_csv()))
    assert choice.columns == tuple(MEASURES)
    assert choice.left_out == {"Unnamed: 0": "an index", "note": "text"}
    extra = TABLE.assign(
        id=range(N_ROWS), year=[2020, 2021] * 20, site=7, rare=[1, *[0] * 39]
    )
    choice = choose_columns(opened(tmp_path, extra.to_csv(index=False)))
    assert choice.columns == (*MEASURES, "rare")
    assert choice.left_out == {
        "note": "text",
        "id": "numbers the rows",
        "year": "2 values",
        "site": "one value",
    }
    assert choose_columns(opened(tmp_path, extra.to_csv()), ["year"]).columns == (
        "year",
    )


def test_columns_that_vary_only_below_the_first_batch_are_taken(tmp_path):
    n = 70_000
    x = np.random.default_rng(0).normal(size=n)
    table = pd.DataFrame({"x": x, "late": np.where(np.arange(n) < 66_000, 1, x)})
    choice = choose_columns(opened(tmp_path, table.to_csv(index=False)))
    assert choice.columns == ("x", "late")


def test_the_guess_says_what_may_be_wrong():
    plain, _ = guess_dialect(b"a,b\n1,2\n", True)
    assert plain == Dialect(n_skipped=1)
    odd, names = guess_dialect("ä;b\n1,5;2\n".encode("latin-1"), True)
    assert names == ["ä", "b"]
    years, _ = guess_dialect(b"name,2019,2020\nx,1,2\n", True)
    assert years.header
    assert years.doubts == ("with its first row as names (--no-header if it has none)",)
    told, _ = guess_dialect(b"name,2019,2020\nx,1,2\n", True, header=True)
    assert told.doubts == ()
    assert odd.doubts == (
        "as cp1252 (--encoding sets another)",
        "with decimal commas (--decimal sets another)",
    )
