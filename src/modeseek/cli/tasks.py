"""What the commands on tables have in common: open, choose, fit, label, summarise."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from modeseek.cli.columns import choose_columns
from modeseek.cli.console import cluster_table, progress, show
from modeseek.cli.options import Fitting, Reading, Writing
from modeseek.cli.sinks import add_column, typed, typed_schema, writing
from modeseek.cli.streaming import (
    Gathered,
    Recipe,
    gather,
    keep_clusters,
    label_rows,
    rows_that_fit,
)
from modeseek.cli.tables import Table, compensated, guess_kind, open_table
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.errors import DataError, UsageError, say
from modeseek.files import (
    beside_file,
    draining,
    ending,
    is_stream,
    refuse_existing,
    replacing,
    spooled,
)
from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.persist import SavedModel, load_model
from modeseek.rows.arrays import Integers
from modeseek.rows.rounding import RoundingWarning, warn_of_rounding


@contextmanager
def opened(file: str, reading: Reading) -> Iterator[Table]:
    """Open a table; what cannot be read twice is copied first."""
    with ExitStack() as stack:
        path, name = Path(file), file
        if file == "-":
            path, name = (
                stack.enter_context(spooled(sys.stdin.buffer)),
                "standard input",
            )
        elif is_stream(path):
            pipe = stack.enter_context(path.open("rb"))
            path = stack.enter_context(spooled(pipe))
        yield open_table(path, name, delimiter=reading.delimiter, header=reading.header)


class Target:
    """Where labelled rows go: a file, or standard output."""

    def __init__(self, table: Table, file: str, writing: Writing) -> None:
        self.table, self.options = table, writing
        kind, output = writing.output_format, writing.output
        if output is None and file == "-":
            output = "-"
        elif output is None:
            output = beside_file(
                file, f".clusters{f'.{kind}' if kind else ending(file)}"
            )
        self.place = None if output == "-" else Path(output)
        self.kind = kind.value if kind else guess_kind(self.place, table.kind)
        if writing.cluster_column in table.schema.names:
            raise UsageError(
                f"{table.name} has a column {writing.cluster_column!r} already: name "
                "another with --cluster-column."
            )
        if self.place is not None:
            refuse_existing(self.place, writing.force)

    @contextmanager
    def open(self) -> Iterator[Path]:
        """Give a file to write that goes to its place when all went well."""
        if self.place is None:
            with draining(sys.stdout.buffer) as path:
                yield path
        else:
            with replacing(self.place, force=self.options.force) as path:
                yield path


def _split(given: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """Names given with commas, but for names that have commas themselves."""
    return [
        name
        for item in given or ()
        for name in ([item] if item in names else item.split(","))
    ]


def _recipe(table: Table, reading: Reading, fitting: Fitting) -> Recipe:
    """Choose columns and their transform, and say what was left out."""
    names = table.schema.names
    choice = choose_columns(
        table, _split(fitting.columns, names), _split(fitting.drop_columns, names)
    )
    if choice.left_out and not reading.quiet:
        said = ", ".join(f"{name} ({why})" for name, why in choice.left_out.items())
        say(f"not clustered by: {said}")
    cofactor, linear = fitting.cofactor, set[str]()
    if table.cytometry is not None:
        linear = set(table.cytometry.scatter())
        if cofactor is None:
            cofactor = table.cytometry.usual_cofactor()
            if not reading.quiet:
                say(f"arcsinh with cofactor {cofactor:g}; --cofactor sets another")
    cofactors = [0.0 if c in linear else cofactor or 0.0 for c in choice.columns]
    return Recipe(choice.columns, tuple(cofactors))


def saved_recipe(saved: SavedModel) -> Recipe:
    """Recipe of a saved model; its features are numbered if they have no names."""
    d = saved.model.n_features_in_
    columns = saved.columns or tuple(f"x{j}" for j in range(d))
    return Recipe(columns, saved.cofactors or (0.0,) * d)


def _prepared(table: Table, recipe: Recipe, reading: Reading) -> Table:
    """The table with the columns that are needed, compensated if that is wanted."""
    for column in recipe.columns:
        if column not in table.schema.names:
            raise DataError(
                f"{table.name}: no column {column!r}, which the model needs."
            )
    return compensated(table) if reading.compensate else table


def gather_rows(
    table: Table, recipe: Recipe, reading: Reading, fitting: Fitting
) -> Gathered:
    """Read the rows to fit on, and say if they are not all."""
    most = fitting.max_rows or rows_that_fit(len(recipe.columns))
    prepared = _prepared(table, recipe, reading)
    with progress(f"reading {table.name}", table.n_rows) as tick:
        found = gather(prepared, recipe, most=most, seed=fitting.seed, tick=tick)
    n_complete = found.n_rows - found.n_missing
    if not found.whole and not reading.quiet:
        say(f"fitted on {len(found.X):,} of {n_complete:,} rows, drawn at random")
    if n_complete < 2:
        raise DataError(
            f"{table.name}: {n_complete} of {found.n_rows} rows have no missing value, "
            "and clustering needs two."
        )
    return found


def tell_missing(gathered: Gathered, reading: Reading, how: str = "left out") -> None:
    """Say how many rows have missing values, and what becomes of them."""
    if gathered.n_missing and not reading.quiet:
        say(
            f"{gathered.n_missing:,} of {gathered.n_rows:,} rows have missing values "
            f"and were {how}"
        )


def fit_table(
    table: Table, reading: Reading, fitting: Fitting
) -> tuple[ModeClustering, Recipe, Gathered]:
    """Fit a model to the rows of a table."""
    recipe = _recipe(table, reading, fitting)
    gathered = gather_rows(table, recipe, reading, fitting)
    shared: dict[str, Any] = {"random_state": fitting.seed, "n_jobs": reading.jobs}
    # The default estimator standardises; "cv" takes one width for all columns.
    raw = None if fitting.standardize else LogDensityGradient(bandwidth="cv", **shared)
    model = ModeClustering(raw, **shared)
    try:
        with (
            progress(f"fitting {len(gathered.X):,} rows"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", RoundingWarning)  # it would number columns
            model.fit(gathered.X)
    except ValueError as error:
        raise DataError(f"{table.name}: {error}") from error
    warn_of_rounding(model._rounding, recipe.columns, stacklevel=2)
    set_level(table.name, model, fitting)
    return model, recipe, gathered


def set_level(name: str, model: ModeClustering, fitting: Fitting) -> None:
    """Cut the tree where the options say; every level is in the fitted model."""
    try:
        if fitting.n_clusters is not None:
            keep_clusters(model, fitting.n_clusters)
        elif fitting.prominence is not None:
            model.set_params(prominence=fitting.prominence)._store_level()
    except ValueError as error:
        raise DataError(f"{name}: {error}") from error


def load(path: Path, jobs: int | None) -> SavedModel:
    """Load a model that is asked about plain arrays, on so many threads."""
    saved = load_model(path)
    for part in (saved.model, saved.model.estimator_):
        part.set_params(n_jobs=jobs)
        # Columns are found by name here, not by the model.
        if hasattr(part, "feature_names_in_"):
            del part.feature_names_in_
    return saved


def label_table(
    target: Target,
    reading: Reading,
    recipe: Recipe,
    model: ModeClustering,
    total: int | None,
    known: Integers | None = None,
) -> Integers:
    """Write all rows with their labels; return the sizes of the clusters."""
    options = target.options
    table = _prepared(target.table, recipe, reading)
    textual = target.kind == "csv"
    schema = typed_schema(table.schema, () if textual else recipe.columns)
    added = schema.append(pa.field(options.cluster_column, pa.int32()))
    sizes = np.zeros(model.n_clusters_, dtype=np.intp)
    n_missing = n_rows = 0
    with (
        progress(f"labelling {table.name}", total) as tick,
        target.open() as path,
        writing(path, target.kind, table, added) as write,
    ):
        for batch, labels in label_rows(table, recipe, model, known, tick):
            missing = labels < 0
            sizes += np.bincount(labels[~missing], minlength=len(sizes))
            n_missing, n_rows = n_missing + int(missing.sum()), n_rows + len(labels)
            column = pa.array(labels, pa.int32(), mask=missing)
            labelled = add_column(
                typed(table, batch, schema), options.cluster_column, column
            )
            keep = pa.array(~missing)
            write(labelled.filter(keep) if options.drop_missing else labelled)
    how = "left out" if options.drop_missing else "kept, with no cluster"
    tell_missing(Gathered(np.empty((0, 0)), n_rows, n_missing), reading, how)
    return sizes


def summarize(
    target: Target,
    reading: Reading,
    recipe: Recipe,
    model: ModeClustering,
    sizes: Integers,
) -> None:
    """Print the table of clusters, and where the rows are."""
    if reading.quiet:
        return
    centers = recipe.undo(model.cluster_centers_)
    table = cluster_table(model, sizes, recipe.columns, centers)
    show(table, stderr=target.place is None)
    if target.place is not None:
        say(f"wrote {target.place}")
