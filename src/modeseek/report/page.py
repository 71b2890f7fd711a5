"""A clustering as one web page: no server, no network, everything in the file.

The page holds plotly.js and the data, both compressed, and cuts the merge tree itself:
its labels at any prominence are those of ``ModeClustering.cut``.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.files import replacing
from modeseek.gradient.base import frame_of
from modeseek.plot.drawing import (
    COLORS,
    SYMBOLS,
    at_even_pace,
    name_features,
    principal_axes,
    sample_each_group,
    telling_features,
    without_names,
)
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.containers import check_in_memory
from modeseek.rows.ranking import generator
from modeseek.rows.validation import check_integer, check_rows, is_word
from modeseek.tree.dendrogram import lay_out

#: Features in the page at most, and numbers a mode and feature: sums of the rows.
MOST_FEATURES, MODE_VALUES = 60, 60_000

#: Principal components to choose from, where there are more than two features.
COMPONENTS = 6

#: Pictures and rows of the animation, and numbers it may take.
FRAMES, CLIMBERS, CLIMB_VALUES = 25, 300, 200_000

#: Rows of every mode that thinning keeps, in the scatter and in the animation.
LEAST_SHOWN, LEAST_CLIMBING = 10, 3

#: The page's own scripts, in the order they need one another.
SCRIPTS = (
    "tree.js",
    "state.js",
    "rows.js",
    "dendrogram.js",
    "clusters.js",
    "page.js",
)

#: Rows that are summed at a time.
CHUNK = 65_536


def write_report(
    path: str | os.PathLike[str],
    model: ModeClustering,
    X: ArrayLike,
    *,
    modes: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    title: str = "Clusters",
    settings: Mapping[str, object] | None = None,
    max_rows: int = 3000,
    random_state: int | np.random.RandomState | None = 0,
) -> Path:
    """Write a clustering as one self-contained web page.

    The page shows the rows in two features or principal components, the merge tree,
    rows climbing to their modes, and the size and profile of every cluster. A slider
    cuts the tree at another prominence, as :meth:`ModeClustering.cut` does, and a
    button downloads the labels of all rows at that level.

    Parameters
    ----------
    path : path
        File to write; overwritten if it exists.
    model : ModeClustering
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Rows to show: those of the fit, or others.
    modes : array-like of shape (n_samples,), optional
        Mode that each row reaches. ``model.predict_modes(X)`` if not given; for the
        rows of the fit, ``model.row_modes_`` is the same and saves the climb.
    feature_names : sequence of str, optional
        Those of the fit if not given, or else numbers.
    title : str, default="Clusters"
        Heading of the page.
    settings : mapping, optional
        Further lines of the table of settings, such as the name of the file.
    max_rows : int, default=3000
        Rows drawn. Others are in the sizes, the profiles and the download only, and
        the page says so.
    random_state : int, RandomState instance or None, default=0
        Seed of the draw of rows. The same call writes the same bytes.

    Returns
    -------
    Path
        The file.

    Notes
    -----
    With the defaults, 100,000 rows take less than 5 MB, plotly.js included. The page
    needs a browser of 2023 or newer.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> from modeseek.report import write_report
    >>> X, _ = three_gaussians().sample(500, random_state=0)
    >>> model = ModeClustering().fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     page = write_report(Path(folder) / "clusters.html", model, X)
    ...     page.stat().st_size < 3_000_000
    True
    """
    check_is_fitted(model)
    check_integer("max_rows", max_rows, least=1)
    check_in_memory(X, "a page is of some of them: give those as an array.")
    rows = check_rows(model, X, reset=False)
    mode_of_row = _check_modes(model, X, len(rows), modes)
    names = name_features(model, rows.shape[1], feature_names)
    data = collect(
        model, rows, mode_of_row, names, max_rows, generator(random_state), settings
    )
    page = _fill(title, data, _plotly_source())
    with replacing(path) as beside:
        beside.write_text(page, encoding="utf-8")
    return Path(path)


def collect(
    model: ModeClustering,
    rows: NDArray[np.floating],
    modes: Integers,
    names: list[str],
    max_rows: int,
    rng: np.random.Generator,
    settings: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Everything the page draws, ready for JSON; arrays are packed.

    Parameters
    ----------
    model : ModeClustering
    rows : ndarray of shape (n, d)
    modes : ndarray of shape (n,)
        Mode that each row reaches.
    names : list of str
        Of the features.
    max_rows : int
        Rows drawn.
    rng : Generator
    settings : mapping, optional
        Further lines of the table of settings.

    Returns
    -------
    dict
    """
    profile = _Profile(model, rows, modes)
    kept = profile.choose_features(model.mode_labels_)
    shown = sample_each_group(modes, max_rows, rng, LEAST_SHOWN)
    axes = _Axes(model, rows[shown].astype(np.float64), names, kept)
    climbers = np.sort(
        shown[
            sample_each_group(modes[shown], axes.count_climbers(), rng, LEAST_CLIMBING)
        ]
    )
    drawn = axes.place(rows[shown].astype(np.float64))
    climb = axes.place_climb(rows[climbers].astype(np.float64), modes[climbers])
    summits = axes.place(model.modes_)
    low, high = _range(drawn, climb, summits)
    step = np.where(high > low, (high - low) / np.iinfo(np.uint16).max, 1.0)

    def quantize(values: Floats) -> dict[str, str]:
        return _pack(np.rint((values - low) / step), "u2")

    return {
        "rows": len(rows),
        "features": rows.shape[1],
        "columns": axes.names,
        "start": axes.start,
        "low": _pack(low, "f8"),
        "step": _pack(step, "f8"),
        "shown": _pack(shown, "u4"),
        "drawn": quantize(drawn),
        "climbers": _pack(climbers, "u4"),
        "frames": FRAMES,
        "climb": quantize(climb),
        "summits": quantize(summits),
        "modes": _pack(modes, "u2" if len(model.modes_) <= 2**16 else "u4"),
        "colors": COLORS,
        "symbols": SYMBOLS,
        **_describe_tree(model),
        **profile.describe(names, kept),
        "settings": _describe_settings(model, settings),
    }


class _Profile:
    """Sums over the rows of every mode, from which those of any cluster follow."""

    def __init__(
        self, model: ModeClustering, rows: NDArray[np.floating], modes: Integers
    ) -> None:
        # In the model's frame numbers are near 1 whatever the unit of the data.
        frame = frame_of(model.estimator_)
        k, d = model.modes_.shape
        self.count = np.bincount(modes, minlength=k)
        self.sums, self.squares = np.zeros((k, d)), np.zeros((k, d))
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            Z, m = frame.enter(rows[part]), len(modes[part])
            member = csr_array((np.ones(m), (modes[part], np.arange(m))), shape=(k, m))
            self.sums += member @ Z
            self.squares += member @ Z**2
        mean = self.sums.sum(axis=0) / len(rows)
        spread = np.sqrt(
            np.maximum(self.squares.sum(axis=0) / len(rows) - mean**2, 0.0)
        )
        spread[spread <= 1e-7 * np.abs(mean)] = 0.0  # rounding of a constant feature
        self._standardize(mean, spread)
        self.center, self.scale = frame.leave(mean), spread * frame.unit

    def _standardize(self, mean: Floats, spread: Floats) -> None:
        """Turn the sums into those of (z - mean) / spread."""
        scale, n = np.where(spread > 0, spread, np.inf), self.count[:, None]
        self.squares += mean * (n * mean - 2.0 * self.sums)
        self.squares = np.maximum(self.squares, 0.0) / scale / scale
        self.sums = (self.sums - n * mean) / scale

    def choose_features(self, labels: Integers) -> Integers:
        """Features that differ most between clusters, as many as the page takes."""
        k, d = self.sums.shape
        most = max(2, min(MOST_FEATURES, MODE_VALUES // k))
        if d <= most:
            return np.arange(d)
        member = np.zeros((int(labels.max()) + 1, k))
        member[labels, np.arange(k)] = 1.0
        size = np.maximum(member @ self.count, 1.0)
        return telling_features(member @ self.sums / size[:, None], size, most)

    def describe(self, names: list[str], kept: Integers) -> dict[str, Any]:
        return {
            "profiled": [names[j] for j in kept],
            "count": _pack(self.count, "u4"),
            "sums": _pack(self.sums[:, kept], "f4"),
            "squares": _pack(self.squares[:, kept], "f4"),
            "center": _pack(self.center[kept], "f8"),
            "scale": _pack(self.scale[kept], "f8"),
        }


class _Axes:
    """What the scatter can show of a row: features, components, log-density."""

    def __init__(
        self, model: ModeClustering, X: Floats, names: list[str], kept: Integers
    ) -> None:
        self._model, self._kept = without_names(model), kept
        self._components = principal_axes(X, COMPONENTS) if X.shape[1] > 2 else None
        self.names = [names[j] for j in kept]
        self.start = (0, min(1, len(kept) - 1))
        if self._components is not None:
            self.start = (len(kept), len(kept) + 1)
            self.names += self._components.names()
        self._log_density = getattr(model.estimator_, "log_density", None)
        if self._log_density is not None:
            self.names.append("log-density")
            if X.shape[1] == 1:
                self.start = (0, 1)

    def place(self, X: Floats) -> Floats:
        """Columns of rows, shape (m, n_columns)."""
        columns = [X[:, self._kept]]
        if self._components is not None:
            columns.append(self._components.transform(X))
        if self._log_density is not None:
            columns.append(self._log_density(X)[:, None])
        return np.concatenate(columns, axis=1)

    def count_climbers(self) -> int:
        """Rows of the animation."""
        return max(1, min(CLIMBERS, CLIMB_VALUES // (FRAMES * len(self.names))))

    def place_climb(self, X: Floats, modes: Integers) -> Floats:
        """Columns of rows on their way, shape (n_frames, m, n_columns)."""
        model, d = self._model, X.shape[1]
        frame = frame_of(model.estimator_)
        size = max(1, CLIMB_VALUES * 10 // ((model.n_iter_ + 1) * d))
        parts = []
        for start in range(0, len(X), size):
            part = slice(start, start + size)
            # Rows stop within tol of their modes, or short of them after max_iter.
            ends = model.modes_[modes[part]][None]
            way = np.concatenate([model.paths(X[part]), ends])
            parts.append(frame.leave(at_even_pace(frame.enter(way), FRAMES)))
        along = np.concatenate(parts, axis=1)
        return self.place(along.reshape(-1, d)).reshape(FRAMES, len(X), -1)


def _range(*parts: Floats) -> tuple[Floats, Floats]:
    """Least and largest value of every column."""
    flat = np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts])
    return flat.min(axis=0), flat.max(axis=0)


def _pack(values: ArrayLike, kind: str) -> dict[str, str]:
    """An array as its little-endian bytes in base64, with its type."""
    array = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {"type": kind, "bytes": base64.b64encode(array.tobytes()).decode("ascii")}


def _describe_tree(model: ModeClustering) -> dict[str, Any]:
    """The merge tree, its drawing, and the level of the fit."""
    tree, layout = model.merge_tree_, lay_out(model.merge_tree_)
    level = None if is_word(model.prominence, "auto") else float(model.prominence)
    return {
        "fitted": {
            "labels": _pack(model.mode_labels_, "u4"),
            "tops": _pack(model.cluster_modes_, "u4"),
            "prominence": level,
        },
        "weight": _pack(model.mode_weights_, "f8"),
        "tree": {
            "child": _pack(tree.child, "u4"),
            "parent": _pack(tree.parent, "u4"),
            "prominence": _pack(tree.prominence, "f8"),
            "error": _pack(tree.std_error, "f8"),
        },
        "layout": {
            "x": _pack(layout.x, "f8"),
            "merge": _pack(layout.merge, "u4"),
            "left": _pack(layout.left, "f8"),
            "right": _pack(layout.right, "f8"),
            "leftFoot": _pack(layout.left_foot, "f8"),
            "rightFoot": _pack(layout.right_foot, "f8"),
        },
    }


def _describe_settings(
    model: ModeClustering, further: Mapping[str, object] | None
) -> dict[str, list[list[str]]]:
    """Tables of names and values: what was asked, what was found, what made it."""
    fitted = model.estimator_
    chosen = {
        "gradient": type(fitted).__name__,
        "centres": len(fitted.centers_),
        "bandwidth": _short(fitted.bandwidth_),
        "most steps of a row": model.n_iter_,
        "rows still moving": model.n_unconverged_,
        "modes": len(model.modes_),
        "clusters as fitted": model.n_clusters_,
    }
    if hasattr(fitted, "alpha_"):
        chosen["penalty (alpha)"] = f"{fitted.alpha_:.4g}"
    versions = {
        "modeseek": metadata.version("modeseek"),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "plotly": _plotly().__version__,
    }
    tables: dict[str, Mapping[str, object]] = {
        "Data": further or {},
        "Settings": model.get_params(deep=False),
        "Chosen and found": chosen,
        "Versions": versions,
    }
    return {
        heading: [[str(name), str(value)] for name, value in table.items()]
        for heading, table in tables.items()
        if table
    }


def _short(widths: Floats) -> str:
    """Widths in a line: the first few, or the one they share."""
    distinct = np.unique(widths)
    if len(distinct) == 1:
        return f"{distinct[0]:.4g}"
    more = f", ... ({len(widths)})" if len(widths) > 8 else ""
    return ", ".join(f"{width:.4g}" for width in widths[:8]) + more


def _check_modes(
    model: ModeClustering, X: ArrayLike, n_rows: int, modes: ArrayLike | None
) -> Integers:
    """Modes of the rows: as given, or where they climb to."""
    if modes is None:
        return model.predict_modes(X)
    given = np.asarray(modes)
    if given.shape != (n_rows,) or given.dtype.kind not in "iu":
        raise ValueError(
            f"modes must be {n_rows} whole numbers, one for each row of X; got "
            f"{given.dtype} of shape {given.shape}."
        )
    if given.min() < 0 or given.max() >= len(model.modes_):
        raise ValueError(
            f"modes must be from 0 to {len(model.modes_) - 1}, rows of modes_; got "
            f"from {given.min()} to {given.max()}."
        )
    return given.astype(np.intp)


def _plotly() -> Any:
    """The plotly package, or an error that says how to get it."""
    try:
        import plotly
    except ImportError as error:
        raise ImportError(
            "The web page needs plotly: pip install 'modeseek[report]'."
        ) from error
    return plotly


def _plotly_source() -> str:
    """The text of plotly.js that the plotly package carries."""
    _plotly()
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def _compress(text: str) -> str:
    """Text as gzip in base64, the same bytes every time."""
    packed = gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0)
    return base64.b64encode(packed).decode("ascii")


def _fill(title: str, data: dict[str, Any], plotly_source: str) -> str:
    """The page: every ``{{name}}`` of the template replaced, once."""
    assets = resources.files("modeseek.report") / "assets"

    def asset(name: str) -> str:
        return (assets / name).read_text(encoding="utf-8")

    # Compressed data is base64: no text in it can end the element it stands in.
    parts: dict[str, Callable[[], str]] = {
        "title": lambda: html.escape(title),
        "style": lambda: asset("page.css"),
        "scripts": lambda: "\n".join(map(asset, SCRIPTS)),
        "data": lambda: _compress(json.dumps(data)),
        "plotly": lambda: _compress(plotly_source),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda m: parts[m[1]](), asset("page.html"))
