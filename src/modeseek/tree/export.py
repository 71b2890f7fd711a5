"""The merge tree as others keep trees: tables, SciPy, networkx, Newick."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from modeseek.rows.arrays import Floats
from modeseek.tree.dendrogram import pair_up

if TYPE_CHECKING:
    from modeseek.tree.merge_tree import MergeTree

#: Numbers of each merge that tables and graphs have, and the fields of the tree.
OF_MERGES = {
    "saddle_height": "passes",
    "prominence": "prominence",
    "std_error": "std_error",
    "p_value": "p_value",
}


def import_for(method: str, package: str) -> Any:
    """A package that is no part of the install, or an error that says how to get it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{method} needs {package}: pip install {package}."
        ) from error


def names_of_modes(tree: MergeTree) -> list[str]:
    """Name of each mode: its cluster and size, and its number where that is needed."""
    labels, k = tree.labels, len(tree.heights)
    names = [f"mode {mode}" for mode in range(k)]
    if labels is not None:
        alone = np.bincount(labels)[labels] == 1
        names = [
            f"cluster {labels[mode]}" + ("" if alone[mode] else f", mode {mode}")
            for mode in range(k)
        ]
    if tree.sizes is None:
        return names
    return [f"{name} ({size:,})" for name, size in zip(names, tree.sizes, strict=True)]


def table_of_modes(tree: MergeTree) -> dict[str, NDArray[Any]]:
    """Columns with an entry for each mode; -1 and NaN where the highest has none."""
    k = len(tree.heights)
    known = {"cluster": tree.labels, "size": tree.sizes, "height": tree.heights}
    table = {name: values for name, values in known.items() if values is not None}
    table["parent"] = np.full(k, -1, dtype=np.intp)
    table["parent"][tree.child] = tree.parent
    for name, field in OF_MERGES.items():
        table[name] = np.full(k, np.nan)
        table[name][tree.child] = number_of_merges(tree, field)
    return table


def number_of_merges(tree: MergeTree, field: str) -> Floats:
    """A number of each merge; NaN where the tree does not know it."""
    values: Floats | None = getattr(tree, field)
    return np.full(len(tree.child), np.nan) if values is None else values


def linkage_of(tree: MergeTree) -> Floats:
    """Merges as SciPy's linkage matrix, shape (k - 1, 4)."""
    k = len(tree.heights)
    merge, halves = pair_up(tree)
    n_leaves = np.ones(k + len(merge))
    for i, half in enumerate(halves):
        n_leaves[k + i] = n_leaves[half].sum()
    heights = tree.prominence[merge]
    return np.column_stack([np.sort(halves, axis=1), heights, n_leaves[k:]])


def newick_of(tree: MergeTree) -> str:
    """The dendrogram in Newick's format, its lengths differences of prominence."""
    k = len(tree.heights)
    merge, halves = pair_up(tree)
    text = [f"'{name}'" for name in names_of_modes(tree)]
    height = np.r_[np.zeros(k), tree.prominence[merge]]
    for i, half in enumerate(halves):
        branches = [f"{text[j]}:{height[k + i] - height[j]:.6g}" for j in half]
        text.append(f"({','.join(branches)})")
    return f"{text[-1]};"


def graph_of(tree: MergeTree) -> Any:
    """The tree as a directed graph of networkx, from the highest mode down."""
    graph = import_for("to_networkx", "networkx").DiGraph()
    table = {name: values.tolist() for name, values in table_of_modes(tree).items()}
    of_modes = [name for name in ("cluster", "size", "height") if name in table]
    for mode, name in enumerate(names_of_modes(tree)):
        graph.add_node(mode, name=name, **{key: table[key][mode] for key in of_modes})
    for mode, parent in enumerate(table["parent"]):
        if parent >= 0:
            graph.add_edge(parent, mode, **{key: table[key][mode] for key in OF_MERGES})
    return graph
