"""What people see in a terminal: progress, tables of clusters, trees."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from modeseek.cluster import ModeClustering
from modeseek.frame import Floats
from modeseek.messages import one_line
from modeseek.sampling import Integers

#: Seconds before a bar is shown.
PATIENCE = 2.0

#: Features of a mode that are shown.
SHOWN_FEATURES = 4


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error after two seconds, if that is a terminal.

    Parameters
    ----------
    what : str
        What is being done.
    total : int, optional
        Rows to do, if that is known.

    Yields
    ------
    callable
        To be told the number of rows done since the last time.
    """
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(
            "{task.completed:,.0f} rows" if total is None else "{task.percentage:.0f} %"
        ),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(what, total=total)
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda rows: bar.advance(task, rows)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def show(what: Table | Tree, *, stderr: bool = False) -> None:
    """Print a table or a tree, on standard output or on standard error."""
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, highlight=False, width=100)
    console.print(what)


def number(value: float) -> str:
    """A number in at most four digits."""
    return f"{value:.4g}"


def cluster_table(
    model: ModeClustering, sizes: Integers, columns: Sequence[str], centers: Floats
) -> Table:
    """Clusters with their size, share, prominence and mode.

    Parameters
    ----------
    model : ModeClustering
    sizes : ndarray of shape (n_clusters,)
        Rows of each cluster.
    columns : sequence of str
        Names of the features.
    centers : ndarray of shape (n_clusters, n_features)
        Modes, as they shall be shown.

    Returns
    -------
    rich.table.Table
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("cluster", "rows", "share", "prominence"):
        table.add_column(title, justify="right")
    shown = list(columns[:SHOWN_FEATURES])
    for column in shown:
        name = one_line(column)
        table.add_column(
            Text(name if len(name) <= 18 else f"{name[:17]}…"), justify="right"
        )
    if len(columns) > len(shown):
        table.add_column(f"+{len(columns) - len(shown)}")
    heights = _prominences(model)
    total = max(1, int(sizes.sum()))
    for k, size in enumerate(sizes):
        mode = [number(value) for value in centers[k, : len(shown)]]
        table.add_row(str(k), f"{size:,}", f"{size / total:.1%}", heights[k], *mode)
    return table


def _prominences(model: ModeClustering) -> list[str]:
    """Prominence of each cluster with its standard error, for people."""
    tree = model.merge_tree_
    words = []
    for top in model._tops:
        merge = np.flatnonzero(tree.child == top)
        if len(merge):
            i = merge[0]
            words.append(f"{tree.prominence[i]:.2f} ± {tree.std_error[i]:.2f}")
        else:
            words.append("highest")
    return words


def merge_tree(model: ModeClustering, columns: Sequence[str], modes: Floats) -> Tree:
    """The merge tree: every mode below the one that it merges into.

    Parameters
    ----------
    model : ModeClustering
    columns : sequence of str
        Names of the features.
    modes : ndarray of shape (n_modes, n_features)
        As they shall be shown.

    Returns
    -------
    rich.tree.Tree
    """
    tree = model.merge_tree_
    rows = np.bincount(model.row_modes_, minlength=len(modes))
    shown = [one_line(column) for column in columns[:SHOWN_FEATURES]]
    tops = set(model._tops.tolist())

    def describe(mode: int, merge: int | None) -> Text:
        cluster = int(model.mode_labels_[mode])
        at = ", ".join(
            f"{name} {number(value)}"
            for name, value in zip(shown, modes[mode], strict=False)
        )
        height = "highest"
        if merge is not None:
            error = tree.std_error[merge]
            height = f"prominence {tree.prominence[merge]:.2f} ± {error:.2f}"
        share = f"{rows[mode]:,} row{'s' if rows[mode] != 1 else ''}"
        if mode in tops:
            text = Text(f"cluster {cluster}", style="bold")
            return text.append(f"  {height}, {share}, at {at}", style="not bold")
        return Text(f"merged  {height}, {share}, at {at}", style="dim")

    merge_of = {int(child): i for i, child in enumerate(tree.child)}
    root = next(m for m in range(len(modes)) if m not in merge_of)
    drawn = {root: Tree(describe(root, None))}
    # From the lowest pass up: a mode's own merge comes after those into it.
    for i in reversed(range(len(tree.child))):
        child, parent = int(tree.child[i]), int(tree.parent[i])
        drawn[child] = drawn[parent].add(describe(child, i))
    return drawn[root]
