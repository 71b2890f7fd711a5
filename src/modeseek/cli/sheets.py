"""Workbooks of Excel, by openpyxl."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from modeseek.errors import requiring


def import_openpyxl() -> Any:
    """The package that reads and writes workbooks, or what to install."""
    with requiring("excel"):
        import openpyxl
    return openpyxl


def read_sheet(path: Path) -> list[tuple[Any, ...]]:
    """Rows of the first sheet but empty ones; formulas by their values."""
    openpyxl = import_openpyxl()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and other things that are not read
        with path.open("rb") as handle:  # its name need not end in .xlsx
            book = openpyxl.load_workbook(handle, read_only=True, data_only=True)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # what files say of their size may be anything
            rows = [_without_end(row) for row in sheet.iter_rows(values_only=True)]
    rows = [row for row in rows if row]
    width = max((len(row) for row in rows), default=0)
    return [(*row, *[None] * (width - len(row))) for row in rows]


def _without_end(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row up to its last cell with a value."""
    held = (i for i, cell in enumerate(row, 1) if cell is not None)
    return row[: max(held, default=0)]


@contextmanager
def writing_sheet(path: Path) -> Iterator[Callable[[Sequence[Any]], None]]:
    """Write a workbook of one sheet; gives what takes the next row."""
    openpyxl = import_openpyxl()
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()

    def text(value: str) -> Any:
        cell = openpyxl.cell.WriteOnlyCell(sheet, value)
        cell.data_type = "s"  # or text that begins with = would be a formula
        return cell

    def write(row: Sequence[Any]) -> None:
        sheet.append([text(cell) if isinstance(cell, str) else cell for cell in row])

    yield write
    book.save(path)
