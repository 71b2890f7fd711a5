"""Options of the web page."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, NamedTuple

from modeseek.cli.options import option
from modeseek.errors import UsageError

_page_option = functools.partial(option, "Page")


class PageOptions(NamedTuple):
    """What the page tells of the rows, besides what they are clustered by."""

    embedding: Annotated[
        Path | None,
        _page_option(
            "Map of your own, such as UMAP or t-SNE makes: a table with two columns of "
            "numbers and the rows of the first."
        ),
    ] = None
    names: Annotated[
        str | None,
        _page_option("Column with the names of the rows.", "--names"),
    ] = None
    hover: Annotated[
        list[str] | None,
        _page_option(
            "Columns to show where the mouse is over a row, separated by commas.",
            "--hover",
        ),
    ] = None
    title: Annotated[
        str | None,
        _page_option("Heading of the page; by default the name of the file."),
    ] = None

    def check(self) -> None:
        """Refuse a heading that nobody sees."""
        if self.title is not None and not self.title.strip():
            raise UsageError("--title must not be empty.")

    def files(self) -> list[Path]:
        """Files that are read for the page."""
        return [] if self.embedding is None else [self.embedding]
