"""What the commands on tables have in common: open, choose, fit, label, summarise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from modeseek.cli.columns import choose_columns, columns_of_numbers
from modeseek.cli.console import cluster_table, has_gaps, progress, show, stages
from modeseek.cli.features import (
    NO_CLUSTER,
    Recipe,
    TableRows,
    count_rows,
    label_rows,
    most_rows,
    read_features,
)
from modeseek.cli.options import FitOptions, ReadOptions, WriteOptions
from modeseek.cli.sheets import import_openpyxl
from modeseek.cli.tables import (
    SUFFIXES,
    Table,
    compensated,
    guess_kind,
    is_known,
    open_table,
)
from modeseek.cli.writers import add_column, typed, typed_schema, writing
from modeseek.cluster.answers import NOISE
from modeseek.cluster.comparison import Comparison, compare_clusterings
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.errors import DataError, UsageError, say
from modeseek.files import beside_file, ending, input_file, output_file, refuse_existing
from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.persist import load_model
from modeseek.plot.drawing import without_names
from modeseek.rows.arrays import Integers
from modeseek.tree.gaps import GAP_IN_WORDS


@contextmanager
def opened(file: str, reading: ReadOptions) -> Iterator[Table]:
    """Open a table; what cannot be read twice is copied first."""
    with input_file(file) as (path, name):
        table = open_table(path, name, **reading.dialect())
        if table.dialect.doubts and not reading.quiet:
            say(f"{name} is read {' and '.join(table.dialect.doubts)}")
        yield table


class Target:
    """Where labelled rows go: a file, or standard output."""

    def __init__(self, table: Table, file: str, writing: WriteOptions) -> None:
        self.table, self.options = table, writing
        kind, output = writing.output_format, writing.output
        if output is None and file == "-":
            output = "-"
        elif output is None:
            suffix = f".{kind}" if kind else ending(file)
            output = beside_file(file, f".clusters{suffix}")
        self.path = None if output == "-" else Path(output)
        self.kind = kind.value if kind else guess_kind(self.path, table.kind)
        if not kind and writing.output and not is_known(self.path):
            raise UsageError(
                f"{output}: no format has this ending; --format says which, or end it "
                f"in {', '.join(SUFFIXES)}."
            )
        if self.kind == "xlsx":
            import_openpyxl()  # not after the fit
        if writing.cluster_column in table.schema.names:
            raise UsageError(
                f"{table.name} has a column {writing.cluster_column!r} already: name "
                "another with --cluster-column."
            )
        if self.path is not None:
            refuse_existing(self.path, writing.force)


def split_names(given: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """Names given with commas, but for names that have commas themselves."""
    return [
        name
        for item in given or ()
        for name in ([item] if item in names else item.split(","))
    ]


def _make_recipe(table: Table, reading: ReadOptions, fitting: FitOptions) -> Recipe:
    """Choose columns and their transform, and say what was left out."""
    names = table.schema.names
    choice = choose_columns(
        table,
        split_names(fitting.columns, names),
        split_names(fitting.drop_columns, names),
    )
    if choice.left_out and not reading.quiet:
        said = ", ".join(f"{name} ({why})" for name, why in choice.left_out.items())
        say(f"not clustered by: {said}; --columns chooses")
    cofactor, linear = fitting.cofactor, set[str]()
    if table.cytometry is not None:
        linear = set(table.cytometry.scatter())
        if cofactor is None:
            cofactor = table.cytometry.usual_cofactor()
            if not reading.quiet:
                say(f"arcsinh with cofactor {cofactor:g}; --cofactor sets another")
    cofactors = [0.0 if c in linear else cofactor or 0.0 for c in choice.columns]
    return Recipe(choice.columns, tuple(cofactors))


def _prepared(table: Table, recipe: Recipe, reading: ReadOptions) -> Table:
    """The table with the columns that are needed, compensated if that is wanted."""
    for column in recipe.columns:
        if column not in table.schema.names:
            raise DataError(
                f"{table.name}: no column {column!r}, which the model needs."
            )
    return compensated(table) if reading.compensate else table


def find_rows(
    table: Table,
    recipe: Recipe,
    reading: ReadOptions,
    fitting: FitOptions,
    *,
    in_memory: bool = False,
) -> TableRows:
    """Find the rows to fit on, in chunks or in memory, and say if they are not all."""
    prepared = _prepared(table, recipe, reading)
    with progress(f"reading {table.name}", table.n_rows) as advance:
        rows = count_rows(prepared, recipe, advance)
    n_complete = rows.n_complete
    if not n_complete:
        raise DataError(
            f"{table.name}: none of its {rows.n_rows} rows is without a missing value."
        )
    most = fitting.max_rows or most_rows(rows, in_memory=in_memory)
    if most < n_complete and not reading.quiet:
        say(f"fitted on {most:,} of {n_complete:,} rows, drawn at random")
    return rows.draw(most, fitting.seed)


def tell_missing(rows: TableRows, reading: ReadOptions, how: str = "left out") -> None:
    """Say how many rows have missing values, and what becomes of them."""
    if rows.n_missing and not reading.quiet:
        missing = f"{rows.n_missing:,} of {rows.n_rows:,} rows have missing values"
        say(f"{missing} and were {how}")


def tell_gaps(model: ModeClustering, reading: ReadOptions) -> None:
    """Say what a gap is, if one was shown."""
    if has_gaps(model) and not reading.quiet:
        say(GAP_IN_WORDS)


def tell_decision(model: ModeClustering, reading: ReadOptions) -> None:
    """Say which way rows climbed, and why."""
    if not reading.quiet:
        say(model.decision_)


def fit_table(
    table: Table, reading: ReadOptions, fitting: FitOptions, *, in_memory: bool = False
) -> tuple[ModeClustering, TableRows]:
    """Fit a model to the rows of a table; see :func:`find_rows`."""
    recipe = _make_recipe(table, reading, fitting)
    rows = find_rows(table, recipe, reading, fitting, in_memory=in_memory)
    shared: dict[str, Any] = {"random_state": fitting.seed, "n_jobs": reading.jobs}
    # The default estimator standardises; "cv" takes one width for all columns.
    raw = None if fitting.standardize else LogDensityGradient(bandwidth="cv", **shared)
    # Columns that are no measurements were left out, or were asked for.
    model = ModeClustering(
        raw,
        prominence="auto" if fitting.prominence is None else fitting.prominence,
        n_clusters=fitting.n_clusters,
        noise=fitting.noise,
        features="all",
        verbose=0,  # there is a bar
        **shared,
    )
    try:
        # A table of one batch is read once; a larger one by the fit, in chunks.
        if in_memory or rows.is_one_batch:
            X = rows.load()
            with progress(f"fitting {X.num_rows:,} rows"):
                model.fit(X)
        else:
            with stages() as stage:
                model.fit(_reader(rows, stage))
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{table.name}: {error}") from error
    return model, rows


def _reader(rows: TableRows, stage: Callable[[str, float], None]) -> Any:
    """Make a function that reads the chunks anew, and says how far that is."""
    n_rows = rows.n_complete if rows.drawn is None else len(rows.drawn)
    n_readings = 1

    def chunks() -> Iterator[pa.Table]:
        nonlocal n_readings
        done = 0
        for chunk in rows.chunks():
            yield chunk
            done += chunk.num_rows
            stage(f"fitting {rows.table.name}, reading {n_readings}", done / n_rows)
        n_readings += 1

    return chunks


def recut(name: str, model: ModeClustering, fitting: FitOptions) -> None:
    """Cut the tree where the options say; every level is in the fitted model."""
    if fitting.noise is not None:
        raise UsageError("--noise is for a fit; a model that is loaded has its own.")
    try:
        if fitting.n_clusters is not None or fitting.prominence is not None:
            model.recut(fitting.prominence, fitting.n_clusters)
    except ValueError as error:
        raise DataError(f"{name}: {error}") from error


def load(path: Path, jobs: int | None) -> tuple[ModeClustering, Recipe]:
    """Load a model to be used on so many threads, and the recipe of its features.

    Features that have no names are numbered.
    """
    model, columns, cofactors = load_model(path)
    for part in (model, model.estimator_):
        part.set_params(n_jobs=jobs)
    d = model.n_features_in_
    names = columns or tuple(f"x{j}" for j in range(d))
    return model, Recipe(names, cofactors or (0.0,) * d)


def compare_models(
    one: Path, other: Path, table: Table, reading: ReadOptions
) -> Comparison:
    """Compare what two saved models say of the rows that neither misses a value of."""
    labels, known = [], []
    for path in (one, other):
        model, recipe = load(path, reading.jobs)
        if not reading.quiet:
            say(f"{path.name}: {model.decision_}")
        model = without_names(model)  # columns were found by name already
        prepared, parts = _prepared(table, recipe, reading), []
        with progress(
            f"labelling {table.name} by {path.name}", table.n_rows
        ) as advance:
            for _, X, complete in read_features(prepared, recipe, advance):
                part = np.zeros(len(X), dtype=np.intp)
                if complete.any():
                    part[complete] = model.predict(X[complete])
                parts.append((part, complete))
        labels.append(np.concatenate([part for part, _ in parts]))
        known.append(np.concatenate([complete for _, complete in parts]))
    both = known[0] & known[1]
    rows = TableRows(table, recipe, len(both), int((~both).sum()))
    if not rows.n_complete:
        raise DataError(f"{table.name}: no row without a missing value.")
    tell_missing(rows, reading)
    return compare_clusterings(labels[0][both], labels[1][both])


def label_table(
    target: Target,
    reading: ReadOptions,
    recipe: Recipe,
    model: ModeClustering,
    total: int | None,
    known: Integers | None = None,
) -> Integers:
    """Write all rows with their labels; return the sizes of the clusters."""
    options = target.options
    table = _prepared(target.table, recipe, reading)
    schema = table.schema
    if target.kind != "csv":
        schema = typed_schema(schema, {*recipe.columns, *columns_of_numbers(table)})
    added = schema.append(pa.field(options.cluster_column, pa.int32()))
    sizes = np.zeros(model.n_clusters_, dtype=np.intp)
    n_missing = n_noise = n_rows = 0
    with (
        progress(f"labelling {table.name}", total) as advance,
        output_file(target.path, force=options.force) as path,
        writing(path, target.kind, table, added) as write,
    ):
        for batch, labels in label_rows(table, recipe, model, known, advance):
            missing = labels == NO_CLUSTER
            sizes += np.bincount(labels[labels >= 0], minlength=len(sizes))
            n_noise += int((labels == NOISE).sum())
            n_missing, n_rows = n_missing + int(missing.sum()), n_rows + len(labels)
            column = pa.array(labels, pa.int32(), mask=missing)
            rows = typed(table, batch, schema)
            labelled = add_column(rows, options.cluster_column, column)
            keep = pa.array(~missing)
            write(labelled.filter(keep) if options.drop_missing else labelled)
    if n_noise and not reading.quiet:
        say(f"{n_noise:,} of {n_rows:,} rows are noise, cluster {NOISE}")
    how = "left out" if options.drop_missing else "kept, with no cluster"
    tell_missing(TableRows(table, recipe, n_rows, n_missing), reading, how)
    return sizes


def summarize(
    target: Target,
    reading: ReadOptions,
    recipe: Recipe,
    model: ModeClustering,
    sizes: Integers,
) -> None:
    """Print the table of clusters, and where the rows are."""
    if reading.quiet:
        return
    tell_decision(model, reading)
    show(cluster_table(model, sizes, recipe.columns), stderr=target.path is None)
    tell_gaps(model, reading)
    if target.path is not None:
        say(f"wrote {target.path}")
