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
    Contrast,
    Draw,
    DrawOption,
    File,
    Fitting,
    Force,
    MinSize,
    ModelFile,
    NSegments,
    Output,
    Painting,
    PictureFile,
    PictureProminence,
    Reading,
    SaveModel,
    TableOrModel,
    UseModel,
    Writing,
    check_finite,
    grouped,
)
from modeseek.errors import DataError, UsageError, needing, say
from modeseek.files import (
    beside_file,
    draining,
    ending,
    refuse_existing,
    replacing,
    spooled,
)

if TYPE_CHECKING:
    from modeseek.image.files import Picture

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
    fitting: Fitting,
    reading: Reading,
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
    with needing("cli"):
        from modeseek import persist
        from modeseek.cli import tasks
    with tasks.opened(file, reading) as table, ExitStack() as stack:
        target = tasks.Target(table, file, writing)
        if model is not None:
            refuse_existing(model, writing.force)
        fitted, recipe, gathered = tasks.fit_table(table, reading, fitting)
        if model is not None:
            # It takes its place only when the rows have been written, too.
            beside = stack.enter_context(replacing(model, force=writing.force))
            columns, cofactors = recipe
            persist.save_model(beside, fitted, columns=columns, cofactors=cofactors)
        known = fitted.labels_ if gathered.whole else None
        sizes = tasks.label_table(
            target, reading, recipe, fitted, gathered.n_rows, known
        )
    tasks.summarize(target, reading, recipe, fitted, sizes)
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
    with needing("cli"):
        from modeseek.cli import tasks
    saved = tasks.load(model, reading.jobs)
    with tasks.opened(file, reading) as table:
        target = tasks.Target(table, file, writing)
        recipe = tasks.saved_recipe(saved)
        sizes = tasks.label_table(target, reading, recipe, saved.model, table.n_rows)
    tasks.summarize(target, reading, recipe, saved.model, sizes)


@app.command()
@grouped
def tree(file: TableOrModel, fitting: Fitting, reading: Reading) -> None:
    """Print how modes merge: each below the one that it merges into.

    The prominence of a mode is how far the log-density falls on the best way from it
    to a higher one. Modes that are merged at the chosen level are said to be so.

    [bold]Examples[/bold]

    modeseek tree wine.csv

    modeseek tree wine.skops --n-clusters 2
    """
    with needing("cli"):
        from modeseek import persist
        from modeseek.cli import console, tasks
    if file != "-" and persist.is_model(file):
        saved = tasks.load(Path(file), reading.jobs)
        fitted, recipe = saved.model, tasks.saved_recipe(saved)
        tasks.set_level(file, fitted, fitting)
    else:
        with tasks.opened(file, reading) as table:
            fitted, recipe, gathered = tasks.fit_table(table, reading, fitting)
            tasks.tell_missing(gathered, reading)
    modes = recipe.undo(fitted.modes_)
    console.show(console.merge_tree(fitted, recipe.columns, modes))


@app.command()
@grouped
def report(
    file: File,
    fitting: Fitting,
    reading: Reading,
    output: Output = None,
    model: UseModel = None,
    force: Force = False,
) -> None:
    """Write a clustering as one web page that needs no server and no network.

    [bold]Examples[/bold]

    modeseek report wine.csv

    modeseek report cells.fcs --model cells.skops --output cells.html
    """
    with needing("cli"):
        from modeseek.cli import tasks
        from modeseek.cli.console import progress
    with needing("report"):
        from modeseek.report.page import write_report
    place = Path(output or beside_file(file, ".html"))
    refuse_existing(place, force)
    with tasks.opened(file, reading) as table:
        name = Path(table.name).name
        if model is None:
            fitted, recipe, gathered = tasks.fit_table(table, reading, fitting)
            modes = fitted.row_modes_
        else:
            saved = tasks.load(model, reading.jobs)
            fitted, recipe = saved.model, tasks.saved_recipe(saved)
            tasks.set_level(str(model), fitted, fitting)
            gathered = tasks.gather_rows(table, recipe, reading, fitting)
            modes = fitted.predict_modes(gathered.X)
        tasks.tell_missing(gathered, reading)
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


@app.command()
@grouped
def segment(
    file: PictureFile,
    painting: Painting,
    draw: DrawOption = Draw.means,
    prominence: PictureProminence = None,
    contrast: Contrast = None,
    n_segments: NSegments = None,
    min_size: MinSize = None,
) -> None:
    """Segment a picture by the modes that its pixels climb to.

    [bold]Examples[/bold]

    modeseek segment photo.jpg

    modeseek segment photo.jpg --n-segments 5 --draw borders

    modeseek segment photo.jpg --output segments.npy
    """
    with needing("cli"):
        from modeseek.cli import console
    with needing("image"):
        from modeseek import image
        from modeseek.image import files as pictures
    check_finite("--prominence", prominence)
    check_finite("--contrast", contrast)
    levels: dict[str, Any] = {
        "prominence": prominence,
        "contrast": contrast,
        "min_size": min_size,
    }
    given = {name: value for name, value in levels.items() if value is not None}
    place = painting.place(file, ".segments.png")
    source = _read_picture(file, painting)
    with console.stages() as stage, _blaming(file):
        segments = image.segment(
            source.pixels,
            n_segments=n_segments,
            channel_axis=source.channel_axis,
            **painting.settings(stage),
            **given,
        )
    with _painted(place, painting) as beside:
        pictures.write_segments(beside, str(place), source, segments, draw)
    if not painting.quiet:
        table = console.segment_table(segments, pictures.mean_colors(source, segments))
        console.show(table, stderr=place is None)


@app.command()
@grouped
def smooth(
    file: PictureFile, painting: Painting, prominence: PictureProminence = None
) -> None:
    """Smooth a picture and keep its edges: every pixel in the colour of its mode.

    [bold]Examples[/bold]

    modeseek smooth photo.jpg

    modeseek smooth photo.jpg --prominence 0.3 --output flat.png
    """
    with needing("cli"):
        from modeseek.cli import console
    with needing("image"):
        from modeseek import image
        from modeseek.image import files as pictures
    check_finite("--prominence", prominence)
    place = painting.place(file, f".smooth{ending(file)}")
    source = _read_picture(file, painting)
    with console.stages() as stage, _blaming(file):
        pixels = image.smooth(
            source.pixels,
            prominence=prominence or 0.0,
            channel_axis=source.channel_axis,
            **painting.settings(stage),
        )
    with _painted(place, painting) as beside:
        pictures.write_picture(beside, str(place), source, pixels)


def _read_picture(file: str, painting: Painting) -> Picture:
    """Read a picture from a file or from standard input."""
    from modeseek.image.files import read_picture

    with ExitStack() as stack:
        path = Path(file)
        if file == "-":
            path = stack.enter_context(spooled(sys.stdin.buffer))
        source = read_picture(path, "standard input" if file == "-" else file)
    if source.n_frames > 1 and not painting.quiet:
        say(f"{file}: the first of {source.n_frames} pictures in it")
    return source


@contextmanager
def _painted(place: Path | None, painting: Painting) -> Iterator[Path]:
    """Give a file to write a picture to; say where it is in the end."""
    if place is None:
        with draining(sys.stdout.buffer) as path:
            yield path
        return
    with replacing(place, force=painting.force) as path:
        yield path
    if not painting.quiet:
        say(f"wrote {place}")


@contextmanager
def _blaming(file: str) -> Iterator[None]:
    """Let what the library says of bad data name the file."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise DataError(f"{file}: {error}") from error


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
