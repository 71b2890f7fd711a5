"""A clustering as one web page: no server, no network, everything in the file.

The page holds plotly.js and the data, both compressed, and cuts the merge tree itself:
its labels at any prominence are those of ``ModeClustering.cut``.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.profile import name_features
from modeseek.files import replacing
from modeseek.report.content import collect
from modeseek.report.packing import compress
from modeseek.report.told import check_told
from modeseek.rows.arrays import Integers
from modeseek.rows.containers import check_in_memory
from modeseek.rows.ranking import generator
from modeseek.rows.validation import check_integer, check_rows

#: The page's own scripts, in the order they need one another.
SCRIPTS = (
    *("tree.js", "state.js", "theme.js", "paint.js", "rows.js", "islands.js"),
    *("dendrogram.js", "clusters.js", "page.js"),
)


def write_report(
    path: str | os.PathLike[str],
    model: ModeClustering,
    X: ArrayLike,
    *,
    modes: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    embedding: ArrayLike | None = None,
    row_names: Sequence[Any] | None = None,
    hover: Mapping[str, Sequence[Any]] | Sequence[str] | None = None,
    cluster_names: Mapping[int, str] | Sequence[str] | None = None,
    title: str = "Clusters",
    settings: Mapping[str, object] | None = None,
    max_rows: int = 3000,
    random_state: int | np.random.RandomState | None = 0,
) -> Path:
    """Write a clustering as one self-contained web page.

    The page shows the samples on a map, the merge tree, samples climbing to their
    modes, and the size and profile of every cluster. The map is that of the two
    directions in which clusters lie apart, any two features or principal components, or
    a map of your own. A slider cuts the tree at another prominence, as
    :meth:`ModeClustering.cut` does, and a button downloads the labels of all samples at
    that cut.

    Parameters
    ----------
    path : path
        File to write; overwritten if it exists.
    model : ModeClustering
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Samples to show: those of the fit, or others.
    modes : array-like of shape (n_samples,), optional
        Mode that each sample reaches. ``model.predict_modes(X)`` if not given; for the
        samples of the fit, ``model.row_modes_`` is the same and saves time.
    feature_names : sequence of str, optional
        Those of the fit if not given, or else numbers.
    embedding : array-like of shape (n_samples, 2), optional
        Places of the samples on a map of your own, such as UMAP or t-SNE makes. The
        page opens with it.
    row_names : sequence of shape (n_samples,), optional
        Names of the samples, shown where the mouse is over one, and found by the
        page's search. By default the index of a data frame, if it is of text.
    hover : mapping, data frame or sequence of str, optional
        Further columns to show where the mouse is over a sample, and to colour samples
        by: their values by name, or names of features of X.
    cluster_names : mapping or sequence of str, optional
        Names of the clusters of the fit, in their order, or of some, by their number.
    title : str, default="Clusters"
        Heading of the page.
    settings : mapping, optional
        Further lines of the table of settings, such as the name of the file.
    max_rows : int, default=3000
        Samples drawn at most. Of more, a random selection is drawn; all of them are in
        the sizes, the profiles and the download.
    random_state : int, RandomState instance or None, default=0
        Seed of that selection. The same call writes the same bytes.

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
    plotly = plotly_source()
    check_in_memory(X, "a page shows some of them: give those as an array.")
    rows = check_rows(model, X, reset=False)
    mode_of_row = _check_modes(model, X, len(rows), modes)
    names = name_features(model, rows.shape[1], feature_names)
    told = check_told(
        X,
        rows,
        names,
        model.n_clusters_,
        embedding=embedding,
        row_names=row_names,
        hover=hover,
        cluster_names=cluster_names,
    )
    rng = generator(random_state)
    data = collect(model, rows, mode_of_row, names, max_rows, rng, settings, told)
    page = _fill(title, data, plotly)
    with replacing(path) as beside:
        beside.write_text(page, encoding="utf-8")
    return Path(path)


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


def plotly_source() -> str:
    """The text of plotly.js that the plotly package carries."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(
            "The web page needs plotly: pip install 'modeseek[report]'."
        ) from error
    return str(get_plotlyjs())


def _fill(title: str, data: dict[str, Any], plotly: str) -> str:
    """The page: every ``{{name}}`` of the template replaced, once."""
    assets = resources.files("modeseek.report") / "assets"

    def asset(name: str) -> str:
        return (assets / name).read_text(encoding="utf-8")

    # Compressed data is base64: no text in it can end the element it stands in.
    parts: dict[str, Callable[[], str]] = {
        "title": lambda: html.escape(title),
        "style": lambda: asset("page.css"),
        "scripts": lambda: "\n".join(map(asset, SCRIPTS)),
        "data": lambda: compress(json.dumps(data)),
        "plotly": lambda: compress(plotly),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda m: parts[m[1]](), asset("page.html"))
