"""How two clusterings of the same samples differ."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.validation import check_is_fitted

from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.containers import is_lazy
from modeseek.tree.export import import_for

#: Share of a cluster that is a part of it worth a word.
LEAST_PART = 0.1


class Comparison(NamedTuple):
    """How two clusterings of the same samples differ; :func:`compare_clusterings`.

    ``print`` and notebooks show the table of :meth:`to_pandas`.

    Attributes
    ----------
    clusters : ndarray of shape (n_clusters,)
        Labels of the first clustering.
    others : ndarray of shape (n_others,)
        Labels of the second.
    overlap : ndarray of shape (n_clusters, n_others)
        Samples that each cluster of the first shares with each of the second.
    adjusted_rand : float
        Adjusted Rand index: 1 where both are the same, near 0 where they have no more
        in common than by chance.
    """

    clusters: Integers
    others: Integers
    overlap: Integers
    adjusted_rand: float

    @property
    def jaccard(self) -> Floats:
        """Samples that two clusters share, by all that either has: 1 if the same."""
        size, other = self.overlap.sum(axis=1), self.overlap.sum(axis=0)
        return np.asarray(self.overlap / (size[:, None] + other - self.overlap))

    def changes(self) -> list[str]:
        """What became of each cluster of the first clustering, in words.

        A cluster goes where most of its samples are, comes from where most of its
        samples were, and is kept where both are so. It is split into clusters that
        come from it, each with a tenth of its samples at least, and that to which it
        goes. If it neither goes nor is split it is scattered.

        Returns
        -------
        list of str
            Such as "same as 0", "kept as 1, with 3" where 3 joins it, "split into 0,
            2", "merged into 1", "scattered over 0, 1, 2".
        """
        share = self.overlap / self.overlap.sum(axis=1, keepdims=True)
        goes, comes = share > 0.5, self.overlap > 0.5 * self.overlap.sum(axis=0)
        parts = (comes & (share >= LEAST_PART)) | goes
        words = []
        for i in range(len(share)):
            into = _list(self.others[goes[i]])
            joined = goes[:, goes[i]].any(axis=1)
            joined[i] = False
            if (self.jaccard[i] == 1.0).any():
                words.append(f"same as {into}")
            elif parts[i].sum() > 1:
                words.append(f"split into {_list(self.others[parts[i]])}")
            elif (goes[i] & comes[i]).any():
                along = _list(self.clusters[joined])
                words.append(f"kept as {into}" + (f", with {along}" if along else ""))
            elif into:
                words.append(f"merged into {into}")
            else:
                named = self.others[share[i] >= LEAST_PART]
                words.append(f"scattered over {_list(named)}")
        return words

    def table(self) -> dict[str, NDArray[Any]]:
        """What :meth:`to_pandas` has, as arrays by name."""
        best = np.argmax(self.jaccard, axis=1)
        rows = np.arange(len(best))
        return {
            "cluster": self.clusters,
            "size": self.overlap.sum(axis=1),
            "match": self.others[best],
            "match_size": self.overlap.sum(axis=0)[best],
            "overlap": self.overlap[rows, best],
            "jaccard": self.jaccard[rows, best],
            "change": np.array(self.changes(), dtype=object),
        }

    def to_pandas(self) -> Any:
        """Matches as a data frame, a line for each cluster of the first clustering.

        Returns
        -------
        pandas.DataFrame
            ``size`` of the cluster, the ``match`` in the second clustering that is
            most like it, its ``match_size``, their ``overlap`` in samples, its
            ``jaccard`` index, and the ``change`` in words.
        """
        pandas = import_for("to_pandas", "pandas")
        return pandas.DataFrame(self.table()).set_index("cluster")

    def lines(self) -> list[list[str]]:
        """The table as text, after a line of titles."""
        table = self.table()
        text = {name: [str(value) for value in table[name]] for name in table}
        text["cluster"] = [name_label(label) for label in self.clusters]
        text["match"] = [name_label(label) for label in table["match"]]
        text["jaccard"] = [f"{value:.2f}" for value in table["jaccard"]]
        titles = [name.replace("_", " ") for name in table]
        return [titles, *(list(line) for line in zip(*text.values(), strict=True))]

    def __repr__(self) -> str:
        return (
            f"Comparison({len(self.clusters)} with {len(self.others)} clusters, "
            f"adjusted Rand index {self.adjusted_rand:.3f})"
        )

    def __str__(self) -> str:
        lines = self.lines()
        width = [max(map(len, column)) for column in zip(*lines, strict=True)][:-1]
        return "\n".join(
            [repr(self)]
            + ["  ".join([*map(str.rjust, cells, width), w]) for *cells, w in lines]
        )

    def _repr_html_(self) -> str:
        rows = [
            "".join(f'<td style="text-align: left">{cell}</td>' for cell in line)
            for line in self.lines()
        ]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<code>{escape(repr(self))}</code><table>{body}</table>"


def compare_clusterings(one: Any, other: Any, X: ArrayLike | None = None) -> Comparison:
    """Compare two clusterings of the same samples.

    For a model and its update, two levels of one tree, or two methods.

    Parameters
    ----------
    one, other : array-like of shape (n_samples,), or fitted clusterers
        Labels, in which -1 is noise, or models that have or predict them.
    X : array-like of shape (n_samples, n_features), optional
        Samples whose labels the models predict. By default models tell those of the
        samples that they were fitted to, which must be the same.

    Returns
    -------
    Comparison
        Which clusters match, and what became of each.

    See Also
    --------
    modeseek.plot.ComparisonDisplay

    Examples
    --------
    >>> from modeseek import ModeClustering, compare_clusterings
    >>> from modeseek.datasets import three_gaussians
    >>> X, _ = three_gaussians().sample(1000, random_state=0)
    >>> model = ModeClustering().fit(X)
    >>> print(compare_clusterings(model, model.cut(n_clusters=2)))
    Comparison(3 with 2 clusters, adjusted Rand index 0.536)
    cluster  size  match  match size  overlap  jaccard  change
          0   425      0         713      425     0.60  kept as 0, with 1
          1   288      0         713      288     0.40  merged into 0
          2   287      1         287      287     1.00  same as 1
    """
    labels = [
        _labels_of(name, given, X) for name, given in (("one", one), ("other", other))
    ]
    if len(labels[0]) != len(labels[1]):
        raise ValueError(
            "one and other must be clusterings of the same samples; got "
            f"{len(labels[0])} and {len(labels[1])}."
        )
    (clusters, row), (others, column) = (
        np.unique(given, return_inverse=True) for given in labels
    )
    overlap = np.zeros((len(clusters), len(others)), dtype=np.intp)
    np.add.at(overlap, (row, column), 1)
    return Comparison(clusters, others, overlap, float(adjusted_rand_score(*labels)))


def _labels_of(name: str, given: Any, X: ArrayLike | None) -> Integers:
    """Labels as given, or as a model tells them."""
    labels = given
    if hasattr(given, "fit"):
        check_is_fitted(given)
        labels = given.labels_ if X is None else given.predict(X)
    if is_lazy(labels):
        labels = labels.compute()
    labels = np.asarray(labels)
    if labels.ndim != 1 or not len(labels) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a fitted clusterer or its labels, whole numbers of shape "
            f"(n_samples,); got {labels.dtype} of shape {labels.shape}."
        )
    return labels.astype(np.intp)


def name_label(label: int) -> str:
    """A label as text; -1 is noise."""
    return "noise" if label < 0 else str(label)


def _list(labels: Integers) -> str:
    return ", ".join(name_label(label) for label in labels)


Comparison.__module__ = "modeseek.cluster"
