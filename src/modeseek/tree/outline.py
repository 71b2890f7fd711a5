"""The merge tree in words: clusters below those that they would merge into."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from modeseek.rows.arrays import Integers
from modeseek.tree.gaps import prominence_in_words

if TYPE_CHECKING:
    from modeseek.tree.merge_tree import MergeTree

#: Clusters that are printed.
MOST_PRINTED = 40


class Line(NamedTuple):
    """A cluster on its line."""

    cluster: int
    ends: tuple[bool, ...]  # of each cluster above and its own: the last of its kind?
    text: str
    prominence: float  # NaN for the highest


def merges_left(tree: MergeTree, labels: Integers) -> Integers:
    """Merge that each cluster would be joined to another by; -1 for the highest.

    ``labels`` has the cluster of each mode; every other merge has been made.
    """
    own = np.full(int(labels.max()) + 1, -1)
    left = np.flatnonzero(labels[tree.child] != labels[tree.parent])
    own[labels[tree.child[left]]] = left
    return own


def with_error(tree: MergeTree, merge: int) -> str:
    """Prominence of a merge with its standard error; of none, that it is highest."""
    if merge < 0:
        return "highest"
    n_rows = np.inf if tree.sizes is None else tree.sizes.sum()
    height, error = tree.prominence[merge], tree.std_error[merge]
    return f"prominence {prominence_in_words(height, error, n_rows)}"


def title_of(tree: MergeTree) -> str:
    """What the tree joins, in a line."""
    k = len(tree.heights)
    parts = [f"{k} mode{'s' * (k > 1)}"]
    if tree.labels is not None:
        n = int(tree.labels.max()) + 1
        parts.append(f"{n} cluster{'s' * (n > 1)}")
    if tree.sizes is not None:
        parts.append(f"{tree.sizes.sum():,} samples")
    return f"MergeTree({', '.join(parts)})"


def lines_of(tree: MergeTree) -> list[Line]:
    """Clusters in the order of an outline, the most prominent branch first."""
    labels = np.arange(len(tree.heights)) if tree.labels is None else tree.labels
    own, n_modes = merges_left(tree, labels), np.bincount(labels)
    into, depth = np.full(len(own), -1), np.full(len(own), np.nan)
    into[own >= 0] = labels[tree.parent[own[own >= 0]]]
    depth[own >= 0] = tree.prominence[own[own >= 0]]

    def describe(cluster: int) -> str:
        words = [f"{'mode' if tree.labels is None else 'cluster'} {cluster}:"]
        if tree.sizes is not None:
            size = int(tree.sizes[labels == cluster].sum())
            words.append(f"{size:,} sample{'s' * (size != 1)},")
        if n_modes[cluster] > 1:
            words.append(f"{n_modes[cluster]} modes,")
        return " ".join([*words, with_error(tree, own[cluster])])

    lines: list[Line] = []
    highest = int(np.flatnonzero(own < 0)[0])
    waiting: list[tuple[int, tuple[bool, ...]]] = [(highest, ())]
    while waiting:
        cluster, ends = waiting.pop()
        lines.append(Line(cluster, ends, describe(cluster), float(depth[cluster])))
        below = np.flatnonzero(into == cluster)
        below = below[np.argsort(depth[below], kind="stable")]  # the last comes first
        waiting += [(int(c), (*ends, i == 0)) for i, c in enumerate(below)]
    return lines


def print_tree(tree: MergeTree) -> str:
    """The outline with lines drawn by letters."""
    printed = [title_of(tree)]
    lines = lines_of(tree)
    for line in lines[:MOST_PRINTED]:
        above = "".join("   " if end else "│  " for end in line.ends[:-1])
        branch = ("└─ " if line.ends[-1] else "├─ ") if line.ends else ""
        printed.append(above + branch + line.text)
    if len(lines) > MOST_PRINTED:
        printed.append(f"... and {len(lines) - MOST_PRINTED} more")
    return "\n".join(printed)


def draw_html(tree: MergeTree) -> str:
    """The outline for a notebook: a bar for the prominence of every cluster."""
    lines = lines_of(tree)
    highest = max((line.prominence for line in lines[1:]), default=1.0) or 1.0
    rows = []
    for line in lines[:MOST_PRINTED]:
        name, _, rest = line.text.partition(":")
        share = 1.0 if np.isnan(line.prominence) else line.prominence / highest
        rows.append(
            f'<tr><td style="text-align: left; padding-left: {1.5 * len(line.ends)}em">'
            f'<b>{name}</b></td><td style="text-align: left">{escape(rest)}</td>'
            '<td style="text-align: left; min-width: 8em"><div style="height: 0.7em; '
            f'width: {8 * share:.2f}em; background: #0072b2; opacity: 0.6"></div></td>'
            "</tr>"
        )
    if len(lines) > MOST_PRINTED:
        rows.append(f"<tr><td>and {len(lines) - MOST_PRINTED} more</td></tr>")
    return (
        f"<code>{escape(title_of(tree))}</code><table>{''.join(rows)}</table>"
        "<p><small>Each stands below the one that it would merge into next. "
        "Prominence: how far the logarithm of the density falls from its top (its "
        "mode) on the best way to a higher one, ± its standard error.</small></p>"
    )
