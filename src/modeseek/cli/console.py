"""What is printed in a terminal: progress, tables of clusters, trees."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from modeseek.cluster.comparison import Comparison
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.summary import (
    prominences_in_words,
    separating_features,
    table_of_clusters,
)
from modeseek.errors import one_line
from modeseek.rows.arrays import Floats, Integers
from modeseek.tree.outline import merges_left, with_error

#: Work that takes longer than this shows a bar.
SECONDS_BEFORE_BAR = 2.0

#: Features of a mode that are shown.
SHOWN_FEATURES = 4

#: Segments that are listed.
SHOWN_SEGMENTS = 12


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar of rows on standard error after two seconds, if that is a terminal.

    It is labelled ``what`` and counts to ``total`` rows, if that is known. The function
    that comes back is to be told the number of rows done since the last time.
    """
    how = "{task.completed:,.0f} rows" if total is None else "{task.percentage:.0f} %"
    with _bar(how) as bar:
        task = bar.add_task(one_line(what), total=total)
        yield lambda rows: bar.advance(task, rows)


@contextmanager
def stages() -> Iterator[Callable[[str, float], None]]:
    """Show a bar for each stage of some work, as :func:`progress` does.

    The function that comes back is to be told the name of a stage and the share of it
    that is done.
    """
    with _bar("{task.percentage:.0f} %") as bar:
        task = bar.add_task("", total=1.0)
        yield lambda stage, share: bar.update(task, description=stage, completed=share)


@contextmanager
def _bar(how: str) -> Iterator[Progress]:
    """Bars that appear when the work is not done soon."""
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn(how),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not sys.stderr.isatty(),
    )
    timer = threading.Timer(SECONDS_BEFORE_BAR, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield bar
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:  # rich before 14 would print an empty line
            bar.stop()


def show(what: Table | Tree, *, stderr: bool = False) -> None:
    """Print a table or a tree, on standard output or on standard error."""
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, highlight=False, width=100)
    console.print(what)
    console.file.flush()  # before what follows on the other stream


def number(value: float) -> str:
    """A number in at most four digits."""
    return f"{value:.4g}"


def _new_table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, justify="right")
    return table


def cluster_table(
    model: ModeClustering, sizes: Integers, columns: Sequence[str]
) -> Table:
    """Clusters with their size, share, prominence and what sets them apart.

    ``sizes`` (n_clusters,) are the rows of each cluster, ``columns`` the names of the
    features.
    """
    clusters = table_of_clusters(model, sizes, [one_line(name) for name in columns])
    table = _new_table("cluster", "rows", "share", "prominence")
    table.add_column("set apart by")
    for k, height in enumerate(prominences_in_words(model)):
        size, share = clusters["size"][k], f"{clusters['share'][k]:.1%}"
        table.add_row(str(k), f"{size:,}", share, height, Text(clusters["features"][k]))
    return table


def comparison_table(comparison: Comparison) -> Table:
    """Clusters with their matches in another clustering, and what became of them."""
    titles, *lines = comparison.lines()
    table = _new_table(*titles[:-1])
    table.add_column(titles[-1])
    for line in lines:
        table.add_row(*line)
    return table


def segment_table(segments: Integers, colors: Floats) -> Table:
    """The largest segments with their size, share and mean colour.

    ``segments`` (h, w) holds the segment of each pixel, 0 for the largest; ``colors``
    (n_segments, n_channels) are the mean colours.
    """
    table = _new_table("segment", "pixels", "share", "mean colour")
    sizes = np.bincount(segments.ravel())
    for k, size in enumerate(sizes[:SHOWN_SEGMENTS]):
        color = " ".join(number(value) for value in colors[k])
        table.add_row(str(k), f"{size:,}", f"{size / segments.size:.1%}", color)
    if len(sizes) > SHOWN_SEGMENTS:
        rest = int(sizes[SHOWN_SEGMENTS:].sum())
        share = f"{rest / segments.size:.1%}"
        table.add_row(f"{len(sizes) - SHOWN_SEGMENTS} more", f"{rest:,}", share, "")
    return table


def has_gaps(model: ModeClustering) -> bool:
    """Whether the prominence of a cluster is a gap."""
    return any(height.endswith("gap") for height in prominences_in_words(model))


def merge_tree(model: ModeClustering, columns: Sequence[str], modes: Floats) -> Tree:
    """The merge tree: every mode below the one that it merges into.

    ``modes`` (n_modes, n_features) are in the units of the table, ``columns`` the names
    of the features.
    """
    tree = model.merge_tree_
    rows = np.bincount(model.row_modes_, minlength=len(modes))
    shown = separating_features(model, SHOWN_FEATURES)
    tops = set(model.cluster_modes_.tolist())

    own = merges_left(tree, np.arange(len(modes)))
    root = int(np.argmin(own))

    def describe(mode: int) -> Text:
        at = ", ".join(
            f"{one_line(columns[j])} {number(modes[mode, j])}" for j in shown
        )
        height = with_error(tree, own[mode])
        share = f"{rows[mode]:,} row{'s' if rows[mode] != 1 else ''}"
        if mode in tops:
            text = Text(f"cluster {model.mode_labels_[mode]}", style="bold")
            return text.append(f"  {height}, {share}, at {at}", style="not bold")
        return Text(f"merged  {height}, {share}, at {at}", style="dim")

    drawn = {root: Tree(describe(root))}
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        for i in np.flatnonzero(tree.parent == parent)[::-1]:  # from the lowest saddle
            child = int(tree.child[i])
            drawn[child] = drawn[parent].add(describe(child))
            waiting.append(child)
    return drawn[root]
