"""How CSV files are written, guessed from their first rows where nobody says it.

Of all delimiters that cut every row into as many cells, the one is taken that makes
most of them numbers. The decimal sign is the comma where cells are numbers with it and
none is with a point. The first row has names unless it is numbers, or has one with
decimals; one cell fewer than the rows have, as R writes it, leaves the first column
without a name.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

#: Cells that say that there is no value, as in pandas.
MISSING = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "None"),
    *("NaN", "nan", "-NaN", "-nan", "NULL", "null"),
)

#: Delimiters that are recognised; the first of those that do as well.
DELIMITERS = (",", ";", "\t", "|", " ")

#: Rows that are looked at.
SEEN_ROWS = 200

#: What files begin with whose encoding says so, the longest first.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

#: What no text has but files that are none.
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

#: Digits with commas that may be there for thousands.
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")


class Dialect(NamedTuple):
    """How a CSV file is written."""

    delimiter: str = ","
    header: bool = True
    decimal: str = "."
    encoding: str = "utf-8"
    quote: str = '"'
    n_skipped: int = 0  # lines before the first row of values
    unnamed: frozenset[int] = frozenset()  # columns without a name in the header
    doubts: tuple[str, ...] = ()  # what was guessed and may be wrong, in words


def number_pattern(decimal: str) -> str:
    """Regular expression of cells that are numbers."""
    point = re.escape(decimal)
    digits = rf"(\d+{point}?\d*|{point}\d+)([eE][-+]?\d+)?"
    return rf"^[-+]?({digits}|(?i:inf|infinity|nan))$"


def guess_encoding(start: bytes, whole: bool) -> str:
    """Encoding of a text by its first bytes, or by all of them."""
    for mark, encoding in MARKS.items():
        if start.startswith(mark):
            return encoding
    # Of most letters one of two bytes is zero.
    zeros = [start[i:1000:2].count(0) for i in (0, 1)]
    if max(zeros) > 3 * min(zeros) and max(zeros) > 0.2 * len(start[:1000]):
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    for encoding in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(start, final=whole)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def decode(start: bytes, encoding: str, whole: bool) -> str:
    """Text of the first bytes of a file; what is cut off at their end is left out."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start, final=whole)
    except (UnicodeError, ValueError) as error:
        raise ValueError(
            f"not {encoding} text; --encoding says what it is, such as latin-1."
        ) from error
    if CONTROL.search(text[:100_000]) and not encoding.startswith("utf-8"):
        raise ValueError("not a table of text, nor of another format that is read.")
    return text


def guess_dialect(
    start: bytes,
    whole: bool,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> tuple[Dialect, list[str]]:
    """Dialect of a file by its first bytes, but for what is given, and its columns."""
    doubts = []
    if encoding is None:
        encoding = guess_encoding(start, whole)
        if not encoding.startswith("utf-"):
            doubts.append(f"as {encoding} (--encoding sets another)")
    encoding = codecs.lookup(encoding).name
    text = decode(start, encoding, whole)
    said = re.match(r'\s*"?sep=([^\r\n"])"?(\r\n|\r|\n)', text)  # as Excel writes it
    before = said.group() if said else ""
    while blank := re.compile(r"[ \t]*(\r\n|\r|\n)").match(text, len(before)):
        before += blank.group()
    text = text[len(before) :]
    quote = "'" if re.match(r"'[^'\"\r\n]*'[,;\t| \r\n]", text) else '"'
    if delimiter is None:
        delimiter = said[1] if said else _guess_delimiter(text, quote)
    rows = _read_rows(text, delimiter, quote)
    if not rows:
        raise ValueError("the file is empty.")
    first, width = rows[0], _common_width(rows)
    if decimal is None:
        decimal = _guess_decimal([cell for row in rows for cell in row])
        if decimal == ",":
            doubts.append("with decimal commas (--decimal sets another)")
    if header is None:
        header = _are_names(first, decimal)
        if header and _share_of_numbers(first, decimal):
            doubts.append("with its first row as names (--no-header if it has none)")
    if header and 1 < len(first) == width - 1:
        first = ["", *first]
    unnamed = frozenset[int]()
    names = [f"x{j}" for j in range(len(first))]
    if header:
        unnamed = frozenset(j for j, cell in enumerate(first) if not cell.strip())
        names = [f"Unnamed: {j}" if j in unnamed else c for j, c in enumerate(first)]
    lines = before + (_first_line(text, quote) if header else "")
    n_skipped = len(re.findall(r"\r\n|\r|\n", lines)) + header
    told = tuple(doubts)
    made = Dialect(
        delimiter, header, decimal, encoding, quote, n_skipped, unnamed, told
    )
    return made, names


def _first_line(text: str, quote: str) -> str:
    """Line of the first row, which goes on where a line ends inside quotes."""
    line = re.match(rf"(?:[^{quote}\r\n]|{quote}[^{quote}]*{quote})*", text)
    return line.group() if line else ""


def _read_rows(text: str, delimiter: str, quote: str) -> list[list[str]]:
    """The first rows that are not empty."""
    options: dict[str, Any] = {"delimiter": delimiter, "quotechar": quote}
    reader = csv.reader(io.StringIO(text, newline=""), **options)
    try:
        return [row for row in islice(reader, SEEN_ROWS) if row]
    except csv.Error:  # a cell beyond the limit, or a line end that is none
        return [row for row in csv.reader([_first_line(text, quote)], **options) if row]


def _guess_delimiter(text: str, quote: str) -> str:
    best, most = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        rows = _read_rows(text, delimiter, quote)
        width = _common_width(rows)
        if width < 2 or len(rows[0]) not in (width, max(2, width - 1)):
            continue
        cells = [cell for row in rows[1:] or rows for cell in row]
        decimal = _guess_decimal(cells)
        quality = (1.0 + _share_of_numbers(cells, decimal), int(len(rows[0]) == width))
        if quality > most:
            best, most = delimiter, quality
    if most > (0.0, 0):
        return best
    bare = re.sub(rf"{quote}[^{quote}]*{quote}", "", _first_line(text, quote))
    most_frequent = max(DELIMITERS[:-1], key=bare.count)
    if most_frequent in bare:  # rows differ in length, which the error tells
        return most_frequent
    # A single column, if something cuts no row.
    return next((d for d in DELIMITERS if d not in text), most_frequent)


def _common_width(rows: Sequence[Sequence[str]]) -> int:
    """Cells of every row but the first, which may be short; 0 if they differ."""
    widths = {len(row) for row in rows[1:] or rows}
    return widths.pop() if len(widths) == 1 else 0


def _guess_decimal(cells: Sequence[str]) -> str:
    """Comma where cells are numbers with it only, and none with a point."""
    numbers = {sign: re.compile(number_pattern(sign)) for sign in ".,"}
    cells = [cell.strip() for cell in cells]
    commas = [c for c in cells if "," in c and numbers[","].match(c)]
    if not commas or any("." in c and numbers["."].match(c) for c in cells):
        return "."
    return "." if all(map(THOUSANDS.fullmatch, commas)) else ","


def _are_names(cells: Sequence[str], decimal: str) -> bool:
    """Whether cells are names: not all are numbers, and none has decimals."""
    if any(decimal in cell and _share_of_numbers([cell], decimal) for cell in cells):
        return False
    return _share_of_numbers(cells, decimal) < 1.0


def _share_of_numbers(cells: Sequence[str], decimal: str) -> float:
    """Share of the cells with a value that are numbers; 0 where none has one."""
    pattern = re.compile(number_pattern(decimal))
    present = [cell.strip() for cell in cells if cell.strip() not in MISSING]
    return sum(bool(pattern.match(c)) for c in present) / max(1, len(present))
