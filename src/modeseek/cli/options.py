"""Options of the command line: declared once, in groups that commands take whole."""

from __future__ import annotations

import codecs
import functools
import inspect
import math
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

from modeseek.errors import UsageError
from modeseek.files import beside_file, refuse_existing

#: Formats of tables.
Format = StrEnum("Format", ["csv", "parquet", "feather", "npy", "fcs", "xlsx", "jsonl"])

#: How segments are drawn.
Draw = StrEnum("Draw", ["means", "borders", "labels"])


def option(panel: str, text: str, *names: str, **limits: Any) -> Any:
    """Declare an option, with its help and the panel of the help that it stands in.

    The names are those on the command line, by default that of the parameter; limits
    are further arguments of :func:`typer.Option`.
    """
    return typer.Option(*names, help=text, rich_help_panel=panel, **limits)


_columns_option = functools.partial(option, "Columns and rows")
_fit_option = functools.partial(option, "Clustering")
_file_option = functools.partial(option, "Files")
_image_option = functools.partial(option, "Image")


def _argument(text: str) -> Any:
    return typer.Argument(help=text, show_default=False)


File = Annotated[
    str,
    _argument(
        "Table: CSV, Parquet, Feather, Excel (.xlsx), JSON lines, NPY or FCS; - is "
        "standard input."
    ),
]
ModelFile = Annotated[Path, _argument("Model saved by cluster --model.")]
OtherModelFile = Annotated[Path, _argument("Model to compare it with.")]
TableOrModel = Annotated[str, _argument("Table, or a model saved by cluster --model.")]
ImageFile = Annotated[
    str,
    _argument(
        "Image: PNG, JPEG, TIFF, WebP and what else Pillow reads; - is standard input."
    ),
]
Seed = Annotated[int, _fit_option("Seed of all random draws.", min=0, max=2**32 - 1)]
Jobs = Annotated[
    int | None,
    _fit_option(
        "Threads; by default every core. The result does not depend on it.",
        *("--jobs", "-j"),
    ),
]
Output = Annotated[
    str | None,
    _file_option(
        "File to write, - for standard output; by default beside the input.",
        *("--output", "-o"),
    ),
]
ClusterColumn = Annotated[str, _file_option("Name of the column to add.")]
Force = Annotated[bool, _file_option("Replace files that exist.", "--force")]
Quiet = Annotated[
    bool, _file_option("Print errors and warnings only.", "--quiet", "-q")
]
SaveModel = Annotated[
    Path | None, _file_option("Save the model here.", "--model", "-m")
]
UseModel = Annotated[
    Path | None,
    _file_option(
        "Show the clusters of this model, instead of fitting one.", "--model", "-m"
    ),
]
Picture = Annotated[
    Path | None,
    _file_option(
        "Draw the comparison here: PNG, PDF, SVG and what else matplotlib writes.",
        *("--picture", "-p"),
    ),
]
ImageProminence = Annotated[
    float | None,
    _image_option(
        "Merge modes between which the log-density falls less than this; by default "
        "0.3 for segments, and 0 to smooth.",
        min=0.0,
    ),
]


def check_finite(**values: float | None) -> None:
    """Refuse NaN and infinities, which ranges of options let through."""
    for name, value in values.items():
        if value is not None and not math.isfinite(value):
            raise UsageError(f"--{name} must be a finite number; got {value}.")


def _check_jobs(jobs: int | None) -> None:
    if jobs == 0:
        raise UsageError("--jobs must not be 0; -1 is every core.")


class ReadOptions(NamedTuple):
    """How to read a table, and how to go about it."""

    delimiter: Annotated[
        str | None,
        _columns_option(
            "Character between the cells of a CSV file, tab for a tab; by default "
            "recognised from its first rows."
        ),
    ] = None
    decimal: Annotated[
        str | None,
        _columns_option(
            "Decimal sign in a CSV file, a point or a comma; by default recognised."
        ),
    ] = None
    encoding: Annotated[
        str | None,
        _columns_option(
            "Encoding of a CSV file, such as utf-8, utf-16 or latin-1; by default "
            "recognised."
        ),
    ] = None
    header: Annotated[
        bool | None,
        _columns_option(
            "Whether a CSV file starts with the names of its columns; by default, "
            "unless its first row is numbers or has one with decimals.",
            "--header/--no-header",
            show_default=False,
        ),
    ] = None
    compensate: Annotated[
        bool,
        _columns_option(
            "Undo spill between the channels of an FCS file by its own matrix.",
            "--compensate/--no-compensate",
        ),
    ] = True
    jobs: Jobs = None
    quiet: Quiet = False

    def check(self) -> None:
        """Refuse values that make no sense."""
        _check_jobs(self.jobs)
        delimiter = self.dialect()["delimiter"]
        if delimiter is not None and len(delimiter.encode()) != 1:
            raise UsageError("--delimiter must be a single character.")
        if self.decimal not in (None, ".", ","):
            raise UsageError("--decimal must be a point or a comma.")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError as error:
            raise UsageError(f"--encoding: no encoding {self.encoding!r}.") from error

    def dialect(self) -> dict[str, Any]:
        """What is given of the dialect of a CSV file, and None for what is not."""
        tabs = {"tab": "\t", r"\t": "\t"}
        delimiter = self.delimiter and tabs.get(self.delimiter, self.delimiter)
        names = ("header", "decimal", "encoding")
        return {"delimiter": delimiter} | {name: getattr(self, name) for name in names}


class FitOptions(NamedTuple):
    """What to fit a model to, and how."""

    columns: Annotated[
        list[str] | None,
        _columns_option(
            "Columns to cluster by, separated by commas; by default all that measure: "
            "no text, index or number of the row, nor two or three values.",
            *("--columns", "-c"),
        ),
    ] = None
    drop_columns: Annotated[
        list[str] | None,
        _columns_option("Columns not to cluster by.", "--drop-columns"),
    ] = None
    cofactor: Annotated[
        float | None,
        _columns_option(
            "Take arcsinh(x / cofactor); 0 for none. By default none, but for FCS: 150 "
            "with scatter channels (fluorescence), 5 without (mass cytometry). Scatter "
            "stays linear.",
            min=0.0,
        ),
    ] = None
    standardize: Annotated[
        bool,
        _fit_option(
            "Standardise columns, so that their units do not matter, or take them as "
            "they are, in a unit that all share.",
            "--standardize/--raw",
        ),
    ] = True
    prominence: Annotated[
        float | None,
        _fit_option(
            "Merge modes of a smaller prominence, which is how far the log-density "
            "falls between a mode and a higher one; 0 keeps all. By default modes are "
            "merged that chance may have made.",
            min=0.0,
        ),
    ] = None
    n_clusters: Annotated[
        int | None,
        _fit_option(
            "Merge the least prominent modes until so many clusters are left.", min=1
        ),
    ] = None
    noise: Annotated[
        float | None,
        _fit_option(
            "Share of the rows of each cluster that get the label -1: those farthest "
            "from their neighbours, such as 0.01. By default none.",
            min=0.0,
            max=0.999,
        ),
    ] = None
    seed: Seed = 0
    max_rows: Annotated[
        int | None,
        _fit_option(
            "Rows to fit on at most, drawn at random; by default all, as far as memory "
            "suffices. All rows get a cluster.",
            min=2,
        ),
    ] = None

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.prominence is not None and self.n_clusters is not None:
            raise UsageError("give either --prominence or --n-clusters.")
        numbers = {"prominence": self.prominence, "cofactor": self.cofactor}
        check_finite(**numbers, noise=self.noise)

    def settings(self) -> dict[str, Any]:
        """What a report tells of them: the seed, and where the tree was cut."""
        told = {"seed": self.seed, "cut at prominence": self.prominence}
        return _given(told | {"cut to clusters": self.n_clusters, "noise": self.noise})


class WriteOptions(NamedTuple):
    """Where labelled rows go."""

    output: Output = None
    output_format: Annotated[
        Format | None,
        _file_option(
            "Format to write; by default by the ending, or that of the input.",
            *("--format", "-f"),
        ),
    ] = None
    cluster_column: ClusterColumn = "cluster"
    drop_missing: Annotated[
        bool,
        _columns_option(
            "Leave rows with missing values out of the output; kept rows have an empty "
            "cluster (NaN in NPY and FCS). They are counted either way.",
            "--drop-missing/--keep-missing",
        ),
    ] = False
    force: Force = False

    def check(self) -> None:
        """Refuse a column that nobody could name again."""
        if not self.cluster_column.strip():
            raise UsageError("--cluster-column must not be empty.")


class ImageOptions(NamedTuple):
    """How to work on an image, and where the result goes."""

    output: Annotated[
        str | None,
        _file_option(
            "Image to write, - for a PNG on standard output; by default beside the "
            "input. Segments can be written as an NPY array, too.",
            *("--output", "-o"),
        ),
    ] = None
    max_pixels: Annotated[
        int,
        _image_option(
            "Square blocks that a larger image is reduced to, which climb in place of "
            "their pixels; 0 lets every pixel climb.",
            min=0,
        ),
    ] = 10_000
    seed: Seed = 0
    jobs: Jobs = None
    force: Force = False
    quiet: Quiet = False

    def check(self) -> None:
        """Refuse values that make no sense."""
        _check_jobs(self.jobs)
        if 0 < self.max_pixels < 100:
            raise UsageError("--max-pixels must be 0 or at least 100.")

    def output_path(self, file: str, new_ending: str) -> Path | None:
        """Where the new image goes; None is standard output."""
        if self.output == "-" or (self.output is None and file == "-"):
            return None
        path = Path(self.output or beside_file(file, new_ending))
        refuse_existing(path, self.force)
        return path

    def settings(self, progress: Callable[[str, float], None]) -> dict[str, Any]:
        """Arguments that the functions of :mod:`modeseek.image` take."""
        return {
            "max_pixels": self.max_pixels or None,
            "random_state": self.seed,
            "n_jobs": self.jobs,
            "progress": progress,
        }


class SegmentOptions(NamedTuple):
    """Which segments to make, and how to draw them."""

    draw: Annotated[
        Draw,
        _image_option(
            "Every segment in its mean colour, borders over the image, or the number "
            "of the segment as a grey value of 16 bits.",
            "--draw",
        ),
    ] = Draw.means
    prominence: ImageProminence = None
    contrast: Annotated[
        float | None,
        _image_option(
            "Join neighbouring segments whose border has less contrast than this (the "
            "jump in colour, in standard deviations, less for small segments); 0 "
            "joins none. By default 0.5.",
            min=0.0,
        ),
    ] = None
    n_segments: Annotated[
        int | None,
        _image_option(
            "Join neighbouring segments until at most so many are left.", min=1
        ),
    ] = None
    min_size: Annotated[
        int | None,
        _image_option(
            "Join segments of fewer pixels to a neighbour; by default 0.2 % of all "
            "pixels.",
            min=0,
        ),
    ] = None

    def check(self) -> None:
        """Refuse levels that are no numbers."""
        check_finite(prominence=self.prominence, contrast=self.contrast)

    def levels(self) -> dict[str, Any]:
        """Arguments of :func:`modeseek.image.segment` that are given."""
        return _given({k: v for k, v in self._asdict().items() if k != "draw"})


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Those options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def _is_group(kind: Any) -> bool:
    """Whether a type is a group of options that a command takes as one parameter."""
    return inspect.isclass(kind) and hasattr(kind, "_fields") and hasattr(kind, "check")


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: typer sees the options one by one.

    Parameters whose type is a group get an instance of it, checked; the signature has
    the options of each group in its place.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if _is_group(kind)}

    @functools.wraps(command)
    def take_options(**given: Any) -> None:
        for name, group in groups.items():
            made = group(**{field: given.pop(field) for field in group._fields})
            made.check()
            given[name] = made
        command(**given)

    parameters = list(_ungrouped(inspect.signature(command), hints))
    take_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    take_options.__annotations__ = {p.name: p.annotation for p in parameters}
    return take_options


def _ungrouped(
    signature: inspect.Signature, hints: dict[str, Any]
) -> Iterator[inspect.Parameter]:
    """Parameters of a command, groups replaced by their options."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    for name, parameter in signature.parameters.items():
        group = hints[name]
        if not _is_group(group):
            yield parameter.replace(kind=keyword, annotation=group)
            continue
        fields = get_type_hints(group, include_extras=True)
        for field, option in inspect.signature(group).parameters.items():
            yield option.replace(kind=keyword, annotation=fields[field])
