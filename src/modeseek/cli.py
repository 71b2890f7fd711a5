"""The command line: parse, call the library, print.

What takes time to import is imported by the commands, so that help answers at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modeseek import __version__
from modeseek.messages import DataError, UsageError, say
from modeseek.options import (
    File,
    Fitting,
    Force,
    ModelFile,
    Output,
    Reading,
    SaveModel,
    TableOrModel,
    UseModel,
    Writing,
    grouped,
)
from modeseek.outputs import draining, replacing, spooled

if TYPE_CHECKING:
    from modeseek.cluster import ModeClustering
    from modeseek.persist import SavedModel
    from modeseek.sampling import Integers
    from modeseek.streaming import Gathered, Recipe
    from modeseek.tables import Table

#: Exit codes.
BAD_DATA, USAGE, INTERNAL, INTERRUPTED, BROKEN_PIPE = 1, 2, 70, 130, 141

app = typer.Typer(
    name="modeseek",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"modeseek {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def modeseek(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Clustering by seeking the modes of the density, with nothing to tune.

    [bold]Examples[/bold]

    modeseek cluster wine.csv

    modeseek tree wine.csv

    modeseek report wine.csv

    Exit codes: 0 done, 1 a file or its data cannot be used, 2 the command line is
    wrong, 70 a fault of the program, 130 interrupted, 141 nobody read the output.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


@app.command()
@grouped
def cluster(
    file: File,
    reading: Reading,
    fitting: Fitting,
    writing: Writing,
    model: SaveModel = None,
) -> None:
    """Cluster the rows of a table; write them with a column that says the cluster.

    [bold]Examples[/bold]

    modeseek cluster wine.csv

    modeseek cluster cells.fcs --drop-columns FSC-H,SSC-H --model cells.skops

    modeseek cluster big.parquet --columns x,y --max-rows 200000 -o labelled.parquet

    cat wine.csv | modeseek cluster - > labelled.csv
    """
    with _opened(file, reading) as table:
        target = _Target(table, file, writing)
        if model is not None:
            _refuse_existing(model, writing.force)
        fitted, recipe, gathered = _fit(table, reading, fitting)
        known = fitted.labels_ if gathered.whole else None
        with ExitStack() as stack:
            if model is not None:
                from modeseek.persist import save_model

                # It takes its place only when the rows have been written, too.
                beside = stack.enter_context(replacing(model, force=writing.force))
                columns, cofactors = recipe
                save_model(beside, fitted, columns=columns, cofactors=cofactors)
            sizes = _label(target, reading, recipe, fitted, gathered.n_rows, known)
    _summarize(target, reading, recipe, fitted, sizes)
    if model is not None and not reading.quiet:
        say(f"saved the model as {model}")


@app.command()
@grouped
def predict(model: ModelFile, file: File, reading: Reading, writing: Writing) -> None:
    """Give the rows of a table the clusters of a saved model.

    [bold]Examples[/bold]

    modeseek predict wine.skops new.csv

    cat new.csv | modeseek predict wine.skops - > labelled.csv
    """
    saved = _load(model, reading.jobs)
    with _opened(file, reading) as table:
        target = _Target(table, file, writing)
        recipe = _saved_recipe(saved)
        sizes = _label(target, reading, recipe, saved.model, table.n_rows)
    _summarize(target, reading, recipe, saved.model, sizes)


@app.command()
@grouped
def tree(file: TableOrModel, reading: Reading, fitting: Fitting) -> None:
    """Print how modes merge: each below the one that it merges into.

    The prominence of a mode is how far the log-density falls on the best way from it
    to a higher one. Modes that are merged at the chosen level are said to be so.

    [bold]Examples[/bold]

    modeseek tree wine.csv

    modeseek tree wine.skops --n-clusters 2
    """
    with _extra("cli"):
        from modeseek.console import merge_tree, show
        from modeseek.persist import is_model
    if file != "-" and is_model(file):
        saved = _load(Path(file), reading.jobs)
        fitted, recipe = saved.model, _saved_recipe(saved)
        _set_level(file, fitted, fitting)
    else:
        with _opened(file, reading) as table:
            fitted, recipe, gathered = _fit(table, reading, fitting)
            _tell_missing(gathered, reading)
    show(merge_tree(fitted, recipe.columns, recipe.undo(fitted.modes_)))


@app.command()
@grouped
def report(
    file: File,
    reading: Reading,
    fitting: Fitting,
    output: Output = None,
    model: UseModel = None,
    force: Force = False,
) -> None:
    """Write a clustering as one web page that needs no server and no network.

    [bold]Examples[/bold]

    modeseek report wine.csv

    modeseek report cells.fcs --model cells.skops --output cells.html
    """
    from modeseek.console import progress

    with _extra("report"):
        from modeseek.report import write_report
    place = Path(output or _beside(file, ".html"))
    _refuse_existing(place, force)
    with _opened(file, reading) as table:
        name = Path(table.name).name
        if model is None:
            fitted, recipe, gathered = _fit(table, reading, fitting)
            modes = fitted.row_modes_
        else:
            saved = _load(model, reading.jobs)
            fitted, recipe = saved.model, _saved_recipe(saved)
            _set_level(str(model), fitted, fitting)
            gathered = _gather(table, recipe, reading, fitting)
            modes = fitted.predict_modes(gathered.X)
        _tell_missing(gathered, reading)
        with replacing(place, force=force) as beside, progress("writing the page"):
            write_report(
                beside,
                fitted,
                gathered.X,
                modes=modes,
                feature_names=recipe.labels(),
                title=name,
                settings={"file": name, "rows": gathered.n_rows, "seed": fitting.seed},
                random_state=fitting.seed,
            )
    if not reading.quiet:
        say(f"wrote {place}")


@contextmanager
def _opened(file: str, reading: Reading) -> Iterator[Table]:
    """Open a table; what cannot be read twice is copied first."""
    with _extra("cli"):
        from modeseek.tables import open_table
    with ExitStack() as stack:
        path, name = Path(file), file
        if file == "-":
            path, name = (
                stack.enter_context(spooled(sys.stdin.buffer)),
                "standard input",
            )
        elif path.exists() and not path.is_file() and not path.is_dir():
            pipe = stack.enter_context(path.open("rb"))
            path = stack.enter_context(spooled(pipe))
        yield open_table(path, name, delimiter=reading.delimiter, header=reading.header)


@contextmanager
def _extra(extra: str) -> Iterator[None]:
    """Say which extra of the package is missing where an import fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise DataError(
            f"this needs {error.name}: pip install 'modeseek[{extra}]'"
        ) from error


class _Target:
    """Where labelled rows go: a file, or standard output."""

    def __init__(self, table: Table, file: str, writing: Writing) -> None:
        from modeseek.tables import guess_kind

        self.table, self.options = table, writing
        kind, output = writing.output_format, writing.output
        if output is None and file == "-":
            output = "-"
        elif output is None:
            output = _beside(file, f".clusters{f'.{kind}' if kind else _ending(file)}")
        self.place = None if output == "-" else Path(output)
        self.kind = kind.value if kind else guess_kind(self.place, table.kind)
        if writing.cluster_column in table.schema.names:
            raise UsageError(
                f"{table.name} has a column {writing.cluster_column!r} already: name "
                "another with --cluster-column."
            )
        if self.place is not None:
            _refuse_existing(self.place, writing.force)

    @contextmanager
    def open(self) -> Iterator[Path]:
        """Give a file to write that goes to its place when all went well."""
        if self.place is None:
            with draining(sys.stdout.buffer) as path:
                yield path
        else:
            with replacing(self.place, force=self.options.force) as path:
                yield path


def _beside(file: str, ending: str) -> str:
    """Name of a file beside another one, with another ending."""
    path = Path("table" if file == "-" else file)
    return str(path.with_name(path.name.removesuffix(_ending(file)) + ending))


def _ending(file: str) -> str:
    """Ending of a file, with that of its compression."""
    path = Path(file)
    if path.suffix.lower() in (".gz", ".bz2"):
        return path.with_suffix("").suffix + path.suffix
    return path.suffix


def _refuse_existing(path: Path, force: bool) -> None:
    """Refuse, before any work is done, what could not be written after it."""
    if path.exists() and not force:
        raise FileExistsError(17, "exists already", str(path))
    if not path.parent.is_dir():
        raise NotADirectoryError(20, "no such folder", str(path.parent))


def _split(given: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """Names given with commas, but for names that have commas themselves."""
    return [
        name
        for item in given or ()
        for name in ([item] if item in names else item.split(","))
    ]


def _recipe(table: Table, reading: Reading, fitting: Fitting) -> Recipe:
    """Choose columns and their transform, and say what was left out."""
    from modeseek.columns import choose_columns
    from modeseek.streaming import Recipe

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


def _saved_recipe(saved: SavedModel) -> Recipe:
    """Recipe of a saved model; its features are numbered if they have no names."""
    from modeseek.streaming import Recipe

    d = saved.model.n_features_in_
    columns = saved.columns or tuple(f"x{j}" for j in range(d))
    return Recipe(columns, saved.cofactors or (0.0,) * d)


def _features(table: Table, recipe: Recipe, reading: Reading) -> Table:
    """The table that features are made from, with the columns that are needed."""
    from modeseek.tables import compensated

    for column in recipe.columns:
        if column not in table.schema.names:
            raise DataError(
                f"{table.name}: no column {column!r}, which the model needs."
            )
    return compensated(table) if reading.compensate else table


def _gather(
    table: Table, recipe: Recipe, reading: Reading, fitting: Fitting
) -> Gathered:
    """Read the rows to fit on, and say if they are not all."""
    from modeseek.console import progress
    from modeseek.streaming import gather, rows_that_fit

    most = fitting.max_rows or rows_that_fit(len(recipe.columns))
    features = _features(table, recipe, reading)
    with progress(f"reading {table.name}", table.n_rows) as tick:
        found = gather(features, recipe, most=most, seed=fitting.seed, tick=tick)
    n_complete = found.n_rows - found.n_missing
    if not found.whole and not reading.quiet:
        say(f"fitted on {len(found.X):,} of {n_complete:,} rows, drawn at random")
    if n_complete < 2:
        raise DataError(
            f"{table.name}: {n_complete} of {found.n_rows} rows have no missing value, "
            "and clustering needs two."
        )
    return found


def _tell_missing(gathered: Gathered, reading: Reading, how: str = "left out") -> None:
    if gathered.n_missing and not reading.quiet:
        say(
            f"{gathered.n_missing:,} of {gathered.n_rows:,} rows have missing values "
            f"and were {how}"
        )


def _fit(
    table: Table, reading: Reading, fitting: Fitting
) -> tuple[ModeClustering, Recipe, Gathered]:
    """Fit a model to the rows of a table."""
    from modeseek.cluster import ModeClustering
    from modeseek.console import progress
    from modeseek.gradient import LogDensityGradient

    recipe = _recipe(table, reading, fitting)
    gathered = _gather(table, recipe, reading, fitting)
    shared: dict[str, Any] = {"random_state": fitting.seed, "n_jobs": reading.jobs}
    # The default estimator standardises; "cv" takes one width for all columns.
    raw = None if fitting.standardize else LogDensityGradient(bandwidth="cv", **shared)
    model = ModeClustering(raw, **shared)
    try:
        with progress(f"fitting {len(gathered.X):,} rows"):
            model.fit(gathered.X)
    except ValueError as error:
        raise DataError(f"{table.name}: {error}") from error
    _set_level(table.name, model, fitting)
    return model, recipe, gathered


def _set_level(name: str, model: ModeClustering, fitting: Fitting) -> None:
    """Cut the tree where the options say; every level is in the fitted model."""
    from modeseek.streaming import keep_clusters

    try:
        if fitting.n_clusters is not None:
            keep_clusters(model, fitting.n_clusters)
        elif fitting.prominence is not None:
            model.set_params(prominence=fitting.prominence)._store_level()
    except ValueError as error:
        raise DataError(f"{name}: {error}") from error


def _load(path: Path, jobs: int | None) -> SavedModel:
    with _extra("cli"):
        from modeseek.persist import load_model

        saved = load_model(path)
    for part in (saved.model, saved.model.estimator_):
        part.set_params(n_jobs=jobs)
        # Columns are found by name here, and handed over as plain arrays.
        vars(part).pop("feature_names_in_", None)
    return saved


def _label(
    target: _Target,
    reading: Reading,
    recipe: Recipe,
    model: ModeClustering,
    total: int | None,
    known: Integers | None = None,
) -> Integers:
    """Write all rows with their labels; return the sizes of the clusters."""
    import numpy as np
    import pyarrow as pa

    from modeseek.console import progress
    from modeseek.sinks import add_column, typed, typed_schema, writing
    from modeseek.streaming import Gathered, label_rows

    table, options = target.table, target.options
    features = _features(table, recipe, reading)
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
        for batch, labels in label_rows(table, features, recipe, model, known, tick):
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
    _tell_missing(Gathered(np.empty((0, 0)), n_rows, n_missing), reading, how)
    return sizes


def _summarize(
    target: _Target,
    reading: Reading,
    recipe: Recipe,
    model: ModeClustering,
    sizes: Integers,
) -> None:
    """Print the table of clusters, and where the rows are."""
    from modeseek.console import cluster_table, show

    if reading.quiet:
        return
    centers = recipe.undo(model.cluster_centers_)
    table = cluster_table(model, sizes, recipe.columns, centers)
    show(table, stderr=target.place is None)
    if target.place is not None:
        say(f"wrote {target.place}")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; whatever goes wrong is one line on standard error.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.

    Returns
    -------
    int
        Exit code.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _show_warning
            code = app(arguments, prog_name="modeseek", standalone_mode=False)
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except SystemExit as leaving:
        # So typer ends where nobody reads what is printed. What is still to be flushed
        # would raise again.
        if not isinstance(leaving.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return INTERRUPTED
    except Exception as error:
        code, message = _explain(error)
        say(message)
        return code


def _show_warning(message: Warning | str, *args: object, **kwargs: object) -> None:
    say(f"warning: {message}")


def _explain(error: Exception) -> tuple[int, str]:
    """Exit code and message of an error."""
    if hasattr(error, "format_message"):  # click's own, wherever typer keeps it
        return USAGE, f"{error.format_message()} Try 'modeseek --help'."
    if isinstance(error, UsageError):
        return USAGE, str(error)
    if isinstance(error, FileExistsError):
        return USAGE, f"{error.filename} exists already: --force replaces it."
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return BAD_DATA, f"{where}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return BAD_DATA, "not enough memory: --max-rows fits on fewer rows."
    if isinstance(error, DataError):
        return BAD_DATA, str(error)
    if os.environ.get("MODESEEK_DEBUG"):
        raise error
    kind = type(error).__name__
    return INTERNAL, f"a fault of modeseek, please report it ({kind}: {error})."
