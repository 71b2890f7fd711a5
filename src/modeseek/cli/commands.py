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
from modeseek.cli.options import (
    File,
    FitOptions,
    Force,
    ImageFile,
    ImageOptions,
    ImageProminence,
    ModelFile,
    OtherModelFile,
    Output,
    Picture,
    ReadOptions,
    SaveModel,
    SegmentOptions,
    TableOrModel,
    UseModel,
    WriteOptions,
    check_finite,
    grouped,
)
from modeseek.cli.page_options import PageOptions
from modeseek.errors import DataError, UsageError, requiring, say
from modeseek.files import (
    beside_file,
    ending,
    input_file,
    output_file,
    refuse_existing,
    replacing,
    require_files,
)

if TYPE_CHECKING:
    from modeseek.image.image_files import StoredImage

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

    Every row climbs to a mode, a top of the density. Modes are merged where the valley
    between them is one that chance may have made; rows of the same modes are a cluster.

    [bold]Examples[/bold]

    modeseek cluster wine.csv

    modeseek tree wine.csv

    modeseek report wine.csv

    modeseek segment photo.jpg

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
    fitting: FitOptions,
    reading: ReadOptions,
    writing: WriteOptions,
    model: SaveModel = None,
) -> None:
    """Cluster the rows of a table; write them with a column that says the cluster.

    Every row climbs to a mode, a top of the density; rows of modes that are merged are
    a cluster. What is printed of each: its rows, its prominence (how far the logarithm
    of the density falls from its mode to the valley before a higher one, ± its standard
    error), and the columns whose means set it apart, in standard deviations (sd) from
    those of all rows.

    [bold]Examples[/bold]

    modeseek cluster wine.csv

    modeseek cluster cells.fcs --drop-columns FSC-H,SSC-H --model cells.skops

    modeseek cluster big.parquet --columns x,y --max-rows 200000 -o labelled.parquet

    cat wine.csv | modeseek cluster - > labelled.csv
    """
    require_files(file)
    with requiring("cli"):
        from modeseek import persist
        from modeseek.cli import tasks
    with tasks.opened(file, reading) as table, ExitStack() as stack:
        target = tasks.Target(table, file, writing)
        if model is not None:
            refuse_existing(model, writing.force)
        fitted, fitted_rows = tasks.fit_table(table, reading, fitting)
        recipe = fitted_rows.recipe
        if model is not None:
            # It takes its place only when the rows have been written, too.
            unfinished = stack.enter_context(replacing(model, force=writing.force))
            persist.save_model(unfinished, fitted, **recipe._asdict())
        known = fitted.labels_ if fitted_rows.drawn is None else None
        n_rows = fitted_rows.n_rows
        sizes = tasks.label_table(target, reading, recipe, fitted, n_rows, known)
    tasks.summarize(target, reading, recipe, fitted, sizes)
    if model is not None and not reading.quiet:
        say(f"saved the model as {model}")


@app.command()
@grouped
def predict(
    model: ModelFile, file: File, reading: ReadOptions, writing: WriteOptions
) -> None:
    """Give the rows of a table the clusters of a saved model.

    [bold]Examples[/bold]

    modeseek predict wine.skops new.csv

    cat new.csv | modeseek predict wine.skops - > labelled.csv
    """
    require_files(model, file)
    with requiring("cli"):
        from modeseek.cli import tasks
    fitted, recipe = tasks.load(model, reading.jobs)
    with tasks.opened(file, reading) as table:
        target = tasks.Target(table, file, writing)
        sizes = tasks.label_table(target, reading, recipe, fitted, table.n_rows)
    tasks.summarize(target, reading, recipe, fitted, sizes)


@app.command()
@grouped
def tree(file: TableOrModel, fitting: FitOptions, reading: ReadOptions) -> None:
    """Print how modes merge: each below the one that it merges into.

    A mode is a top of the density, to which rows climb. Its prominence is how far the
    logarithm of the density falls on the best way from it to a higher mode. Modes that
    are merged at the chosen level are said to be so.

    [bold]Examples[/bold]

    modeseek tree wine.csv

    modeseek tree wine.skops --n-clusters 2
    """
    require_files(file)
    with requiring("cli"):
        from modeseek import persist
        from modeseek.cli import console, tasks
    if file != "-" and persist.is_model(file):
        fitted, recipe = tasks.load(Path(file), reading.jobs)
        tasks.recut(file, fitted, fitting)
    else:
        with tasks.opened(file, reading) as table:
            fitted, fitted_rows = tasks.fit_table(table, reading, fitting)
            recipe = fitted_rows.recipe
            tasks.tell_missing(fitted_rows, reading)
    tasks.tell_decision(fitted, reading)
    modes = recipe.undo(fitted.modes_)
    console.show(console.merge_tree(fitted, recipe.columns, modes))
    tasks.tell_gaps(fitted, reading)


@app.command()
@grouped
def report(
    file: File,
    fitting: FitOptions,
    reading: ReadOptions,
    page: PageOptions,
    output: Output = None,
    model: UseModel = None,
    force: Force = False,
) -> None:
    """Write a clustering as one web page that needs no server and no network.

    It shows the rows on a map, how their modes (tops of the density) merge, and what
    sets each cluster apart; a slider makes clusters fewer or more.

    [bold]Examples[/bold]

    modeseek report wine.csv

    modeseek report wine.csv --names bottle --hover alcohol,proline --embedding umap.csv

    modeseek report cells.fcs --model cells.skops --output cells.html
    """
    require_files(file, *([] if model is None else [model]), *page.files())
    path = Path(output or beside_file(file, ".html"))
    refuse_existing(path, force)
    with requiring("cli"):
        from modeseek.cli import pages
    with requiring("report"):
        from modeseek.report.page import plotly_source

        plotly_source()  # not after the fit
    pages.write_page(file, path, model, reading, fitting, page, force=force)
    if not reading.quiet:
        say(f"wrote {path}")


@app.command()
@grouped
def compare(
    model: ModelFile,
    other: OtherModelFile,
    file: File,
    reading: ReadOptions,
    picture: Picture = None,
    force: Force = False,
) -> None:
    """Compare the clusters that two saved models give the rows of a table.

    For each cluster of the first model the table has that of the second which is most
    like it: the rows that both have, these by all rows of either (jaccard), and what
    became of it. The adjusted Rand index is 1 where both models say the same.

    [bold]Examples[/bold]

    modeseek compare wine.skops update.skops wine.csv

    modeseek compare wine.skops update.skops wine.csv --picture changes.png
    """
    require_files(model, other, file)
    with requiring("cli"):
        from modeseek.cli import console, tasks
    if picture is not None:
        refuse_existing(picture, force)
        with requiring("plot"):
            from modeseek.plot import ComparisonDisplay, canvas

            canvas.pyplot()
    with tasks.opened(file, reading) as table:
        comparison = tasks.compare_models(model, other, table, reading)
    console.show(console.comparison_table(comparison))
    print(f"adjusted Rand index {comparison.adjusted_rand:.3f}", flush=True)
    if picture is not None:
        names = (model.stem, other.stem)
        display = ComparisonDisplay(comparison=comparison, names=names).plot()
        with replacing(picture, force=force) as unfinished:
            canvas.save(display.figure_, unfinished, picture)
        if not reading.quiet:
            say(f"wrote {picture}")


@app.command()
@grouped
def segment(file: ImageFile, options: ImageOptions, wanted: SegmentOptions) -> None:
    """Divide an image into segments, by the modes that its pixels climb to.

    A mode is a colour and a place around which pixels are most alike: a top of their
    density.

    [bold]Examples[/bold]

    modeseek segment photo.jpg

    modeseek segment photo.jpg --n-segments 5 --draw borders

    modeseek segment photo.jpg --output segments.npy
    """
    require_files(file)
    with requiring("image"):
        from modeseek import image
        from modeseek.image import image_files
    path = options.output_path(file, ".segments.png")
    with _opened_image(file, options) as (source, settings):
        segments = image.segment(source.pixels, **settings, **wanted.levels())
    with output_file(path, force=options.force) as unfinished:
        image_files.write_segments(unfinished, str(path), source, segments, wanted.draw)
    if not options.quiet:
        from modeseek.cli import console

        _say_written(path)
        colors = image_files.mean_colors(source, segments)
        console.show(console.segment_table(segments, colors), stderr=path is None)


@app.command()
@grouped
def smooth(
    file: ImageFile, options: ImageOptions, prominence: ImageProminence = None
) -> None:
    """Smooth an image and keep its edges: every pixel in the colour of its mode.

    A mode is a colour and a place around which pixels are most alike: a top of their
    density.

    [bold]Examples[/bold]

    modeseek smooth photo.jpg

    modeseek smooth photo.jpg --prominence 0.3 --output flat.png
    """
    require_files(file)
    with requiring("image"):
        from modeseek import image
        from modeseek.image import image_files
    check_finite(prominence=prominence)
    path = options.output_path(file, f".smooth{ending(file)}")
    with _opened_image(file, options) as (source, settings):
        pixels = image.smooth(source.pixels, prominence=prominence or 0.0, **settings)
    with output_file(path, force=options.force) as unfinished:
        image_files.write_image(unfinished, str(path), source, pixels)
    if not options.quiet:
        _say_written(path)


@contextmanager
def _opened_image(
    file: str, options: ImageOptions
) -> Iterator[tuple[StoredImage, dict[str, Any]]]:
    """Give an image and the settings of the work on it; errors name the file."""
    with requiring("cli"):
        from modeseek.cli.console import stages
        from modeseek.image.image_files import read_image
    with input_file(file) as (path, name):
        source = read_image(path, name)
    if source.n_frames > 1 and not options.quiet:
        say(f"{file}: the first of {source.n_frames} images in it")
    try:
        with stages() as stage:
            settings = options.settings(stage)
            yield source, {"channel_axis": source.channel_axis, **settings}
    except (ValueError, TypeError) as error:
        raise DataError(f"{file}: {error}") from error


def _say_written(path: Path | None) -> None:
    if path is not None:
        say(f"wrote {path}")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; a fault is one line on standard error.

    The arguments are by default those of the process.
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
        return USAGE, f"{error.format_message().rstrip('.')}. Try 'modeseek --help'."
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
