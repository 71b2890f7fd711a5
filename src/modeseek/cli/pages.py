"""The web page of a table: what is fitted or loaded, and what is told of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from modeseek.cli.columns import choose_columns
from modeseek.cli.console import progress
from modeseek.cli.features import Recipe, TableRows, read_features
from modeseek.cli.options import FitOptions, ReadOptions
from modeseek.cli.page_options import PageOptions
from modeseek.cli.tables import Table, TableError
from modeseek.cli.tasks import (
    find_rows,
    fit_table,
    load,
    opened,
    recut,
    split_names,
    tell_decision,
    tell_missing,
)
from modeseek.errors import DataError
from modeseek.files import replacing
from modeseek.plot.drawing import without_names
from modeseek.report.page import write_report
from modeseek.rows.arrays import Floats, Integers


def write_page(
    file: str,
    path: Path,
    model: Path | None,
    reading: ReadOptions,
    fitting: FitOptions,
    wanted: PageOptions,
    *,
    force: bool,
) -> None:
    """Write the page of a table, of a model that is fitted to it or loaded."""
    with opened(file, reading) as table:
        name = Path(table.name).name
        columns = _told_columns(table, wanted)
        if model is None:
            fitted, rows = fit_table(table, reading, fitting, in_memory=True)
            modes = fitted.row_modes_
        else:
            fitted, recipe = load(model, reading.jobs)
            recut(str(model), fitted, fitting)
            rows = find_rows(table, recipe, reading, fitting, in_memory=True)
            modes = None
        tell_missing(rows, reading)
        tell_decision(fitted, reading)
        told = _read_told(rows, columns, wanted, reading)
        with replacing(path, force=force) as unfinished, progress("writing the page"):
            write_report(
                unfinished,
                without_names(fitted),  # columns were found by name already
                np.asarray(rows.load()),
                modes=modes,
                feature_names=rows.recipe.labels(),
                title=name if wanted.title is None else wanted.title,
                settings={"file": name, "rows": rows.n_rows, **fitting.settings()},
                random_state=fitting.seed,
                **told,
            )


def _told_columns(table: Table, wanted: PageOptions) -> list[str]:
    """Columns that the page shows of each row, checked before the fit."""
    names = table.schema.names
    columns = split_names(wanted.hover, names)
    for column in [*columns, *([] if wanted.names is None else [wanted.names])]:
        if column not in names:
            raise TableError(f"{table.name}: no column {column!r} to show.")
    return columns


def _read_told(
    rows: TableRows, columns: list[str], wanted: PageOptions, reading: ReadOptions
) -> dict[str, Any]:
    """Arguments of the page: names and columns of the rows taken, and their places."""
    names = [] if wanted.names is None else [wanted.names]
    shown = dict.fromkeys([*columns, *names])
    cells: dict[str, list[Any]] = {column: [] for column in shown}
    taken: list[Integers] = []
    first = n_complete = 0
    for batch, _, complete in read_features(rows.table, rows.recipe):
        here = np.flatnonzero(complete)
        if rows.drawn is not None:
            ends = np.searchsorted(rows.drawn, [n_complete, n_complete + len(here)])
            n_complete += len(here)
            here = here[rows.drawn[slice(*ends)] - (n_complete - len(here))]
        for column, values in cells.items():
            values += batch.column(column).take(here).to_pylist()
        taken.append(first + here)
        first += batch.num_rows
    told: dict[str, Any] = {"hover": {column: cells[column] for column in columns}}
    if wanted.names is not None:
        told["row_names"] = cells[wanted.names]
    if wanted.embedding is not None:
        places = _read_embedding(wanted.embedding, reading, rows.n_rows)
        told["embedding"] = places[np.concatenate(taken)]
    return told


def _read_embedding(path: Path, reading: ReadOptions, n_rows: int) -> Floats:
    """Places of all rows of the table, shape (n_rows, 2)."""
    with opened(str(path), ReadOptions(quiet=reading.quiet)) as table:
        columns = choose_columns(table).columns
        if len(columns) != 2:
            raise DataError(
                f"{path}: a map has two columns of numbers; this has {len(columns)}."
            )
        recipe = Recipe(columns, (0.0, 0.0))
        places = np.concatenate([X for _, X, _ in read_features(table, recipe)])
    if len(places) != n_rows:
        raise DataError(
            f"{path}: {len(places):,} places, but the table has {n_rows:,} rows."
        )
    if not np.isfinite(places).all():
        raise DataError(f"{path}: a place is missing.")
    return places
