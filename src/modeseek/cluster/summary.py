"""Clusters in a table: how large, how certain, and what sets them apart."""

from __future__ import annotations

from functools import cached_property
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.landscape import Landscape
from modeseek.cluster.profile import (
    Profile,
    name_features,
    profile_rows,
    say_what_sets_apart,
)
from modeseek.rows.arrays import Integers
from modeseek.rows.containers import is_lazy
from modeseek.tree.export import OF_MERGES, import_for, number_of_merges
from modeseek.tree.gaps import GAP_IN_WORDS
from modeseek.tree.merge_tree import MergeTree
from modeseek.tree.outline import merges_left, with_error

if TYPE_CHECKING:
    from modeseek.cluster.fitting import Fitted
    from modeseek.cluster.mode_clustering import ModeClustering
    from modeseek.rows.source import Source

#: Numbers that are read for the means of clusters; of more, every second row or fewer.
MOST_VALUES = 1 << 24

#: Clusters in a notebook's table.
MOST_SHOWN = 20

#: What sets clusters apart of which no means are known.
NOT_SAVED = "not known: the model was saved by an earlier version"

#: What the words in that table mean.
WORDS = (
    "Every row climbs to a mode, a top of the density; rows whose modes are not parted "
    "by a deep valley are one cluster. Prominence: how far the logarithm of the "
    "density falls from the cluster's mode on the best way to a higher one, ± its "
    "standard error. Set apart by: means farthest from those of all rows, in standard "
    "deviations (sd)."
)


class SummaryMixin:
    """What a clusterer tells of its clusters in a table, also in notebooks."""

    mode_labels_: Integers
    row_modes_: Integers
    _landscape: Landscape
    _profile: Profile  # of the rows of each mode

    def summary(self) -> Any:
        """Clusters with their size, evidence, and the features that set them apart.

        Returns
        -------
        pandas.DataFrame, or dict of str to ndarray where pandas is not installed
            A line for each cluster of the current level, with

            - ``size``, the samples of the fit in it, without noise (on Dask, estimated
              from the subsample), and ``share`` of all;
            - ``modes``, how many it was merged from;
            - ``into``, the cluster that it would merge into next (-1 for that with the
              highest mode), with the ``prominence`` of this merge, its ``std_error``
              and ``p_value`` (NaN for the highest);
            - ``features`` that set it apart: its means that are farthest from those of
              all samples, in standard deviations (sd) of all samples. A model that an
              earlier version saved does not know them, and says so.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from modeseek import ModeClustering
        >>> model = ModeClustering().fit(load_wine(as_frame=True).data)
        >>> for features in model.summary()["features"]:
        ...     print(features)
        alcohol -0.9 sd, color_intensity -0.9 sd, proline -0.7 sd
        proline +1.1 sd, flavanoids +1.0 sd, total_phenols +0.9 sd
        od280/od315_of_diluted_wines -1.3 sd, flavanoids -1.2 sd, hue -1.1 sd
        """
        check_is_fitted(self)
        table = table_of_clusters(self)  # type: ignore[arg-type]
        if find_spec("pandas") is None:
            return table
        return import_for("summary", "pandas").DataFrame(table).set_index("cluster")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook shows: scikit-learn's diagram, and the clusters below it."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle and hasattr(self, "labels_"):
            bundle["text/html"] += draw_clusters(self)  # type: ignore[arg-type]
        return bundle

    def __getstate__(self) -> dict[str, Any]:
        if "_landscape" in self.__dict__:  # what is saved has its tree
            self._landscape = self._landscape.with_tree()
            _ = self.merge_tree_
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return state

    @cached_property
    def merge_tree_(self) -> MergeTree:
        """How modes merge; with ``prominence=0``, found when it is first asked for."""
        check_is_fitted(self)
        sizes = np.rint(self._profile.size).astype(np.intp)
        if not is_lazy(self.row_modes_):
            sizes = np.bincount(self.row_modes_, minlength=len(sizes))
        labels = self.__dict__.get("mode_labels_")  # none yet while it is being cut
        return self._landscape.tree._replace(labels=labels, sizes=sizes)


def table_of_clusters(
    model: ModeClustering,
    sizes: Integers | None = None,
    names: list[str] | None = None,
) -> dict[str, NDArray[Any]]:
    """Columns with an entry for each cluster, see :meth:`SummaryMixin.summary`.

    ``sizes`` (n_clusters,) are those of other rows than the fit's, ``names`` those of
    the features.
    """
    tree, labels = model.merge_tree_, model.mode_labels_
    if sizes is None and is_lazy(model.labels_):
        sizes = np.bincount(labels, weights=tree.sizes).astype(np.intp)
    n_rows = len(model.labels_) if sizes is None else int(sizes.sum())
    if sizes is None:  # noise is in no cluster
        counts = np.bincount(model.labels_ + 1, minlength=model.n_clusters_ + 1)
        sizes = counts[1:]
    own = merges_left(tree, labels)
    joined = own >= 0
    table: dict[str, NDArray[Any]] = {
        "cluster": np.arange(len(sizes)),
        "size": sizes,
        "share": sizes / max(1, n_rows),
        "modes": np.bincount(labels),
        "into": np.full(len(sizes), -1),
    }
    table["into"][joined] = labels[tree.parent[own[joined]]]
    for name, field in OF_MERGES.items():
        table[name] = np.full(len(sizes), np.nan)
        table[name][joined] = number_of_merges(tree, field)[own[joined]]
    del table["saddle_height"]
    names = name_features(model, model.n_features_in_, names)
    profile = model.__dict__.get("_profile")
    said = [NOT_SAVED] * len(sizes)
    if profile is not None:
        said = say_what_sets_apart(profile.means(labels), names)
    return table | {"features": np.array(said, dtype=object)}


def separating_features(model: ModeClustering, most: int) -> Integers:
    """Features, in order, that differ most between clusters; the first if unknown."""
    profile: Profile | None = model.__dict__.get("_profile")
    if profile is None:
        return np.arange(min(most, model.n_features_in_))
    return profile.separating(model.mode_labels_, most)


def prominences_in_words(model: ModeClustering) -> list[str]:
    """Prominence of every cluster with its standard error; one is the highest."""
    tree = model.merge_tree_
    own = merges_left(tree, model.mode_labels_)
    return [with_error(tree, merge).removeprefix("prominence ") for merge in own]


def profile_fit(
    fitted: Fitted, source: Source, row_modes: Any, n_jobs: int | None = None
) -> Profile:
    """Profile of rows of a fit; those of its subsample where they are elsewhere."""
    landscape, frame = fitted.climbed.landscape, fitted.frame
    n_modes = len(landscape.modes)
    if source.in_memory:
        X = source.rows_in_memory().X
        some = slice(None, None, 1 + X.size // MOST_VALUES)
        return profile_rows(frame, X[some], row_modes[some], n_modes, n_jobs=n_jobs)
    sample, modes = fitted.overview.sample, fitted.climbed.row_modes
    if modes is None:
        modes = landscape.locate(sample.X)
    weight = np.ones(len(modes)) if sample.weight is None else sample.weight
    weight = weight * (fitted.overview.summary.n_rows / weight.sum())
    return profile_rows(frame, sample.X, modes, n_modes, weight, n_jobs)


def draw_clusters(model: ModeClustering) -> str:
    """Table of the clusters for a notebook, and how they were found."""
    table, prominences = table_of_clusters(model), prominences_in_words(model)
    titles = ("cluster", "size", "share", "prominence", "set apart by")
    lines = []
    for k in range(min(MOST_SHOWN, model.n_clusters_)):
        cells = (
            f"{k}",
            f"{table['size'][k]:,}",
            f"{table['share'][k]:.1%}",
            prominences[k],
            escape(table["features"][k]),
        )
        lines.append(
            "".join(f'<td style="text-align: left">{cell}</td>' for cell in cells)
        )
    head = "".join(f'<th style="text-align: left">{title}</th>' for title in titles)
    more = model.n_clusters_ - len(lines)
    note = f"<p>and {more} smaller clusters</p>" if more else ""
    if any(words.endswith("gap") for words in prominences):
        note += f"<p>Prominence, {GAP_IN_WORDS}</p>"
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f"<p>{escape(model.decision_)}</p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{note}<p><small>{WORDS}</small></p>"
    )
