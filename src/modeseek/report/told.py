"""What users tell about their rows: a map of their own, names, columns to show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from modeseek.plot.drawing import check_cluster_names, check_places
from modeseek.report.packing import pack
from modeseek.rows.arrays import Floats, Integers, Reals

#: Letters of a name or of a value on the page.
MOST_LETTERS = 80

#: What the axes of a map are called unless it has names.
MAP_AXES = ("map, across", "map, up")


class Told(NamedTuple):
    """What is told about the rows (n), and about the clusters."""

    embedding: Floats | None = None  # (n, 2)
    axes: Sequence[str] = MAP_AXES  # names of its columns
    row_names: Sequence[Any] | None = None  # (n,)
    hover: Mapping[str, Sequence[Any]] | None = None  # (n,) each
    cluster_names: Mapping[int, str] | None = None

    def describe(self, shown: Integers, tops: Integers) -> dict[str, Any]:
        """What the page needs: of the rows shown, and of the modes of the clusters."""
        names = None
        if self.row_names is not None:
            names = [_plain(self.row_names[i]) for i in shown]
        hover = [
            {"name": name, "values": [_plain(values[i]) for i in shown]}
            for name, values in (self.hover or {}).items()
        ]
        named = [
            [int(tops[cluster]), _plain(name)]
            for cluster, name in (self.cluster_names or {}).items()
        ]
        embedding = None
        if self.embedding is not None:
            values = pack(self.embedding[shown], "f4")
            embedding = {"axes": list(self.axes), "values": values}
        return {
            "embedding": embedding,
            "rowNames": names,
            "hover": hover,
            "clusterNames": named,
        }


def check_told(
    X: Any,
    rows: Reals,
    features: Sequence[str],
    n_clusters: int,
    *,
    embedding: ArrayLike | None,
    row_names: Sequence[Any] | None,
    hover: Mapping[str, Sequence[Any]] | Sequence[str] | None,
    cluster_names: Mapping[int, str] | Sequence[str] | None,
) -> Told:
    """Check what users tell, of rows (n, d) as they gave them and as numbers."""
    axes: Sequence[str] = MAP_AXES
    places = None
    if embedding is not None:
        places = check_places(embedding, len(rows))
        axes = [str(name) for name in getattr(embedding, "columns", MAP_AXES)]
    if row_names is None:
        row_names = _index_of(X)
    return Told(
        places,
        axes,
        None if row_names is None else _column("row_names", row_names, len(rows)),
        _check_hover(hover, rows, features),
        check_cluster_names(cluster_names, n_clusters),
    )


def _check_hover(
    hover: Mapping[str, Sequence[Any]] | Sequence[str] | None,
    rows: Reals,
    features: Sequence[str],
) -> dict[str, Sequence[Any]]:
    if hover is None:
        return {}
    if hasattr(hover, "items"):  # a mapping, or a data frame
        return {
            str(name): _column(f"hover[{name!r}]", values, len(rows))
            for name, values in hover.items()
        }
    wanted: Iterable[str] = [hover] if isinstance(hover, str) else hover
    found: dict[str, Sequence[Any]] = {}
    for name in wanted:
        if name not in features:
            raise ValueError(
                f"hover names no feature of X: {name!r}. Other columns are given with "
                "their values, as a mapping or a data frame."
            )
        found[str(name)] = rows[:, list(features).index(name)].tolist()
    return found


def _column(what: str, values: Iterable[Any], n: int) -> list[Any]:
    listed = list(values)
    if isinstance(values, str) or len(listed) != n:
        raise ValueError(
            f"{what} must be {n} values, one for each row of X; got {len(listed)}."
        )
    return listed


def _index_of(X: Any) -> Sequence[Any] | None:
    """Names of rows: the index of a data frame of pandas, if it is of text."""
    index = getattr(X, "index", None)
    if not hasattr(X, "iloc") or index is None or not len(index):
        return None
    return list(index) if all(isinstance(name, str) for name in index) else None


def _plain(value: Any) -> str | int | float | None:
    """A value for JSON: a number, or its text; None if it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value != value:  # not a number, not a time
        return None
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        return value
    text = str(value)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
