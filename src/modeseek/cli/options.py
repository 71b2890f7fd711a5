"""Options of the command line: declared once, in groups that commands take whole."""

from __future__ import annotations

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


class Format(StrEnum):
    """Formats of tables."""

    csv = "csv"
    parquet = "parquet"
    feather = "feather"
    npy = "npy"
    fcs = "fcs"


TABLES = "Table: CSV, Parquet, Feather, NPY or FCS; - is standard input."
COLUMNS, FITTING, FILES = "Columns and rows", "Clustering", "Files"

File = Annotated[str, typer.Argument(help=TABLES, show_default=False)]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        "-c",
        help="Columns to cluster by, with commas; by default all of numbers.",
        rich_help_panel=COLUMNS,
    ),
]
DropColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--drop-columns", help="Columns not to cluster by.", rich_help_panel=COLUMNS
    ),
]
DropMissing = Annotated[
    bool,
    typer.Option(
        "--drop-missing/--keep-missing",
        help="Leave rows with missing values out of the output; kept rows have an "
        "empty cluster (NaN in NPY and FCS). They are counted either way.",
        rich_help_panel=COLUMNS,
    ),
]
Cofactor = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Take arcsinh(x / cofactor); 0 for none. By default none, but for FCS: "
        "150 with scatter channels (fluorescence), 5 without (mass cytometry). "
        "Scatter stays linear.",
        rich_help_panel=COLUMNS,
    ),
]
Compensate = Annotated[
    bool,
    typer.Option(
        "--compensate/--no-compensate",
        help="Undo spill between the channels of an FCS file by its own matrix.",
        rich_help_panel=COLUMNS,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Between cells of a CSV file; by default seen from its first line.",
        rich_help_panel=COLUMNS,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether a CSV file starts with names; by default, unless its first "
        "line is numbers.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
Standardize = Annotated[
    bool,
    typer.Option(
        "--standardize/--raw",
        help="Standardise columns, so that their units do not matter, or take one "
        "width for all of them in the unit they share.",
        rich_help_panel=FITTING,
    ),
]
Prominence = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Merge modes between which the log-density falls less than this; 0 "
        "keeps all. By default 0.3, or the standard error if that is more.",
        rich_help_panel=FITTING,
    ),
]
NClusters = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Merge the least prominent modes until so many clusters are left.",
        rich_help_panel=FITTING,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0, max=2**32 - 1, help="Seed of all draws.", rich_help_panel=FITTING
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        help="Threads; by default every core. The result does not depend on it.",
        rich_help_panel=FITTING,
    ),
]
MaxRows = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Rows to fit on at most, drawn at random; by default what fits in half "
        "of the free memory. All rows get a cluster.",
        rich_help_panel=FITTING,
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        help="File to write, - for standard output; by default beside the input.",
        rich_help_panel=FILES,
    ),
]
OutputFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        "-f",
        help="Format to write; by default by the ending, or that of the input.",
        rich_help_panel=FILES,
    ),
]
ClusterColumn = Annotated[
    str, typer.Option(help="Name of the column to add.", rich_help_panel=FILES)
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace files that exist.", rich_help_panel=FILES),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print errors and warnings only.", rich_help_panel=FILES
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(help="Model saved by cluster --model.", show_default=False)
]
SaveModel = Annotated[
    Path | None,
    typer.Option("--model", "-m", help="Save the model here.", rich_help_panel=FILES),
]
UseModel = Annotated[
    Path | None,
    typer.Option(
        "--model",
        "-m",
        help="Show this model on the rows, in place of fitting one.",
        rich_help_panel=FILES,
    ),
]
TableOrModel = Annotated[
    str,
    typer.Argument(
        help="Table, or a model saved by cluster --model.", show_default=False
    ),
]

PICTURES = "Picture"
PictureFile = Annotated[
    str,
    typer.Argument(
        help="Picture: PNG, JPEG, TIFF, WebP and what else Pillow reads; - is "
        "standard input.",
        show_default=False,
    ),
]
PictureOutput = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        help="Picture to write, - for a PNG on standard output; by default beside the "
        "input. Segments can be written as an NPY array, too.",
        rich_help_panel=FILES,
    ),
]
MaxPixels = Annotated[
    int,
    typer.Option(
        min=0,
        help="Blocks that a larger picture is reduced to; 0 lets every pixel climb.",
        rich_help_panel=PICTURES,
    ),
]
PictureProminence = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Merge modes between which the log-density falls less than this; by "
        "default 0.3 for segments, and 0 to smooth.",
        rich_help_panel=PICTURES,
    ),
]
Contrast = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Join neighbours whose border has less contrast than this; 0 joins none. "
        "By default 0.45.",
        rich_help_panel=PICTURES,
    ),
]
NSegments = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Join neighbours until at most so many segments are left.",
        rich_help_panel=PICTURES,
    ),
]
MinSize = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Join pieces of fewer pixels to a neighbour; by default 0.2 % of all.",
        rich_help_panel=PICTURES,
    ),
]


class Draw(StrEnum):
    """How segments are drawn."""

    means = "means"
    borders = "borders"
    labels = "labels"


DrawOption = Annotated[
    Draw,
    typer.Option(
        "--draw",
        help="Every segment in its mean colour, borders over the picture, or the "
        "number of the segment as a grey value of 16 bits.",
        rich_help_panel=PICTURES,
    ),
]


def check_finite(name: str, value: float | None) -> None:
    """Refuse NaN and infinities."""
    if value is not None and not math.isfinite(value):
        raise UsageError(f"{name} must be a finite number; got {value}.")


class Reading(NamedTuple):
    """How to read a table, and how to go about it."""

    delimiter: Delimiter = None
    header: Header = None
    compensate: Compensate = True
    jobs: Jobs = None
    quiet: Quiet = False

    def check(self) -> None:
        """Refuse values that make no sense."""
        if self.jobs == 0:
            raise UsageError("--jobs must not be 0; -1 is every core.")
        if self.delimiter is not None and len(self.delimiter.encode()) != 1:
            raise UsageError("--delimiter must be a single character.")


class Fitting(NamedTuple):
    """What to fit a model to, and how."""

    columns: Columns = None
    drop_columns: DropColumns = None
    cofactor: Cofactor = None
    standardize: Standardize = True
    prominence: Prominence = None
    n_clusters: NClusters = None
    seed: Seed = 0
    max_rows: MaxRows = None

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.prominence is not None and self.n_clusters is not None:
            raise UsageError("give either --prominence or --n-clusters.")
        # Ranges of options let infinities through, and in older typer NaN.
        check_finite("--prominence", self.prominence)
        check_finite("--cofactor", self.cofactor)


class Writing(NamedTuple):
    """Where labelled rows go."""

    output: Output = None
    output_format: OutputFormat = None
    cluster_column: ClusterColumn = "cluster"
    drop_missing: DropMissing = False
    force: Force = False

    def check(self) -> None:
        """Refuse a column that nobody could name again."""
        if not self.cluster_column.strip():
            raise UsageError("--cluster-column must not be empty.")


class Painting(NamedTuple):
    """How to work on a picture, and where the result goes."""

    output: PictureOutput = None
    max_pixels: MaxPixels = 10_000
    seed: Seed = 0
    jobs: Jobs = None
    force: Force = False
    quiet: Quiet = False

    def check(self) -> None:
        """Refuse values that make no sense."""
        if self.jobs == 0:
            raise UsageError("--jobs must not be 0; -1 is every core.")
        if 0 < self.max_pixels < 100:
            raise UsageError("--max-pixels must be 0 or at least 100.")

    def place(self, file: str, new: str) -> Path | None:
        """Where the picture shall stand; None is standard output."""
        if self.output == "-" or (self.output is None and file == "-"):
            return None
        place = Path(self.output or beside_file(file, new))
        refuse_existing(place, self.force)
        return place

    def settings(self, report: Callable[[str, float], None]) -> dict[str, Any]:
        """What the functions for pictures take."""
        return {
            "max_pixels": self.max_pixels or None,
            "random_state": self.seed,
            "n_jobs": self.jobs,
            "progress": report,
        }


GROUPS = (Reading, Fitting, Writing, Painting)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: typer sees the options one by one.

    Parameters
    ----------
    command : callable
        Parameters whose type is a group get an instance of it, checked.

    Returns
    -------
    callable
        Its signature has the options of each group in place of the group.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if kind in GROUPS}

    @functools.wraps(command)
    def spread(**given: Any) -> None:
        for name, group in groups.items():
            made = group(**{field: given.pop(field) for field in group._fields})
            made.check()
            given[name] = made
        command(**given)

    parameters = list(_spread(inspect.signature(command), hints))
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {p.name: p.annotation for p in parameters}
    return spread


def _spread(
    signature: inspect.Signature, hints: dict[str, Any]
) -> Iterator[inspect.Parameter]:
    """Parameters of a command, groups replaced by their options."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    for name, parameter in signature.parameters.items():
        group = hints[name]
        if group not in GROUPS:
            yield parameter.replace(kind=keyword, annotation=group)
            continue
        fields = get_type_hints(group, include_extras=True)
        for field, default in group._field_defaults.items():
            yield inspect.Parameter(
                field, keyword, default=default, annotation=fields[field]
            )
