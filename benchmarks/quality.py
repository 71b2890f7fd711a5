"""Leaderboard: clusterings with no parameter set, over real and artificial data.

Every method runs with its defaults on every set (at most ``--rows`` seeded rows, raw
and standardised features, ``--seeds`` seeds) and is scored by the adjusted Rand index.
A set with several reference labelings counts with the best of them; rows without a
label are clustered but not scored; rows that a method calls noise are one cluster; a
method that refuses a set scores 0 there.
k-means and the Gaussian mixture told the true k are there for orientation.

    MODESEEK_DATA=... python benchmarks/quality.py --output quality.csv

The folder has one folder for each family and in it ``.npz`` files with ``X`` (n, d)
and ``y`` (labelings, n), 0 for no label. Results are added to the CSV as they come, and
those already there are not computed again. ``--methods`` chooses what to run, and
``--summary`` only reads the CSV. Peers beyond scikit-learn are in the extra ``peers``.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, MeanShift
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from modeseek import ModeClustering

FAMILIES = ("sipu", "wut", "other", "real", "paper")

#: Most components that the mixture chosen by BIC may have.
MOST_COMPONENTS = 30


class DataSet(NamedTuple):
    """Rows with one or more labelings; a label of 0 is none."""

    family: str
    name: str
    X: np.ndarray
    labelings: np.ndarray


class Result(NamedTuple):
    """One line of the CSV."""

    family: str
    set: str
    method: str
    features: str
    seed: int
    ari: float
    n_clusters: int
    seconds: float

    @property
    def key(self) -> tuple[str, ...]:
        """What this is the result of."""
        return (self.family, self.set, self.method, self.features, str(self.seed))


def modeseek(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    return ModeClustering(random_state=seed).fit_predict(X)


def sklearn_hdbscan(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    return HDBSCAN(copy=True).fit_predict(X)


def mean_shift(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    # Seeds from bins: from every row it takes minutes a set, for the same modes.
    return MeanShift(bin_seeding=True).fit_predict(X)


def mixture_by_bic(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    most = min(MOST_COMPONENTS, len(X) // 2)
    mixtures = [mixture(X, seed, count) for count in range(1, most + 1)]
    return min(mixtures, key=lambda fitted: fitted.bic(X)).predict(X)


def mixture(X: np.ndarray, seed: int, k: int) -> GaussianMixture:
    return GaussianMixture(k, random_state=seed).fit(X)


def hdbscan(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    import hdbscan

    return hdbscan.HDBSCAN().fit_predict(X)


def plscan(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    from fast_plscan import PLSCAN

    return PLSCAN().fit_predict(X)


def tomato(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    from tomato import ToMATo

    return ToMATo().fit_predict(X)


def k_means_told(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    return KMeans(k, n_init=10, random_state=seed).fit_predict(X)


def mixture_told(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    return mixture(X, seed, k).predict(X)


class Method(NamedTuple):
    """A way to labels, and what it is given."""

    labels: Callable[[np.ndarray, int, int], np.ndarray]
    told: bool = False  # the true number of clusters
    scales: bool = False  # units do not matter to it: raw features are enough


METHODS = {
    "modeseek": Method(modeseek, scales=True),
    "sklearn HDBSCAN": Method(sklearn_hdbscan),
    "MeanShift": Method(mean_shift),
    "GMM, BIC": Method(mixture_by_bic),
    "hdbscan": Method(hdbscan),
    "PLSCAN": Method(plscan),
    "ToMATo": Method(tomato),
    "k-means, told k": Method(k_means_told, told=True),
    "GMM, told k": Method(mixture_told, told=True),
}


def main() -> int:
    options = parse()
    done = read(options.output)
    if not options.summary:
        run(options, done)
    print_summary(list(done.values()))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MODESEEK_DATA"))
    parser.add_argument("--families", nargs="+", default=FAMILIES)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--output", type=Path, default=Path("out/quality.csv"))
    parser.add_argument("--summary", action="store_true", help="only read the CSV")
    options = parser.parse_args()
    if options.data is None and not options.summary:
        parser.error("give --data DIR, or set MODESEEK_DATA to the folder of the sets")
    return options


def read(path: Path) -> dict[tuple[str, ...], Result]:
    """Results that are already there, by what they are results of."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        results = [
            Result(
                *(row[field] for field in Result._fields[:4]),
                int(row["seed"]),
                float(row["ari"]),
                int(row["n_clusters"]),
                float(row["seconds"]),
            )
            for row in csv.DictReader(file)
        ]
    return {result.key: result for result in results}


def run(options: argparse.Namespace, done: dict[tuple[str, ...], Result]) -> None:
    """Compute what is missing, one line of the CSV after the other."""
    options.output.parent.mkdir(parents=True, exist_ok=True)
    is_new = not options.output.exists()
    with options.output.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(Result._fields)
        for seed in range(options.seeds):
            for data in load(options.data, options.families, options.rows, seed):
                for result in results_of(data, options.methods, seed, done):
                    done[result.key] = result
                    writer.writerow(result)
                    file.flush()


def load(
    folder: Path, families: list[str], most_rows: int, seed: int
) -> Iterator[DataSet]:
    """Yield the sets of the families, thinned to a seeded choice of rows."""
    for family in families:
        for path in sorted((Path(folder) / family).glob("*.npz")):
            with np.load(path) as arrays:
                if not {"X", "y"} <= set(arrays.files):
                    continue
                X = arrays["X"].astype(np.float64)
                y = np.atleast_2d(arrays["y"])
            if len(X) > most_rows:
                rng = np.random.default_rng(seed)
                chosen = np.sort(rng.choice(len(X), most_rows, replace=False))
                X, y = X[chosen], y[:, chosen]
            yield DataSet(family, path.stem, X, y)


def results_of(
    data: DataSet, methods: list[str], seed: int, done: dict[tuple[str, ...], Result]
) -> Iterator[Result]:
    """Yield the results of a set that are not there yet."""
    for name in methods:
        method = METHODS[name]
        for features in ("raw",) if method.scales else ("raw", "standardised"):
            if (data.family, data.name, name, features, str(seed)) in done:
                continue
            X = data.X if features == "raw" else StandardScaler().fit_transform(data.X)
            start = time.perf_counter()
            ari, n_clusters = score(method, X, data.labelings, seed)
            seconds = time.perf_counter() - start
            print(
                f"{data.family}/{data.name} {name} ({features}) seed {seed}: "
                f"{ari:.3f}, {n_clusters} clusters, {seconds:.1f} s",
                file=sys.stderr,
                flush=True,
            )
            yield Result(
                data.family,
                data.name,
                name,
                features,
                seed,
                round(ari, 4),
                n_clusters,
                round(seconds, 2),
            )


def score(
    method: Method, X: np.ndarray, labelings: np.ndarray, seed: int
) -> tuple[float, int]:
    """Best index over the labelings; a method told k runs once for each of them."""
    counts = [len(set(y[y != 0].tolist())) for y in labelings]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method.told:
                tries = [method.labels(X, seed, k) for k in counts]
            else:
                tries = [method.labels(X, seed, 0)] * len(counts)
    except ValueError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 0.0, 0
    scores = [rand_index(y, labels) for y, labels in zip(labelings, tries, strict=True)]
    best = int(np.argmax(scores))
    return scores[best], len(set(np.asarray(tries[best]).tolist()) - {-1})


def rand_index(y: np.ndarray, labels: Any) -> float:
    """Adjusted Rand index of the rows that have a label."""
    return float(adjusted_rand_score(y[y != 0], np.asarray(labels)[y != 0]))


def print_summary(results: list[Result]) -> None:
    """Print the index of every set and the means, as Markdown tables."""
    by_set: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for result in results:
        features = "" if METHODS[result.method].scales else f", {result.features}"
        column = f"{result.method}{features}"
        by_set[result.family, result.set][column].append(result.ari)
    columns = list(dict.fromkeys(c for row in by_set.values() for c in row))
    complete = {
        key: {column: float(np.mean(row[column])) for column in columns}
        for key, row in by_set.items()
        if all(column in row for column in columns)
    }
    print(f"{len(complete)} sets, mean adjusted Rand index over seeds\n")
    table(["set", *columns], [("/".join(k), v) for k, v in complete.items()], columns)
    families = list(dict.fromkeys(family for family, _ in complete))
    means = [(f, mean_of(complete, columns, f)) for f in families]
    means.append(("all sets", mean_of(complete, columns)))
    print()
    table(["mean", *columns], means, columns)
    print()
    free = [c for c in columns if "told" not in c]
    best = {
        column: sum(
            row[column] >= max(row[c] for c in free) - 1e-3 for row in complete.values()
        )
        for column in free
    }
    print("best or within 0.001 of it, among those not told k:")
    for column in sorted(free, key=lambda c: -best[c]):
        print(f"- {column}: {best[column]} of {len(complete)} sets")


def mean_of(
    complete: dict[tuple[str, str], dict[str, float]],
    columns: list[str],
    family: str | None = None,
) -> dict[str, float]:
    """Mean of every column over the sets of a family, or over all."""
    rows = [row for (f, _), row in complete.items() if family in (f, None)]
    return {column: float(np.mean([row[column] for row in rows])) for column in columns}


def table(
    head: list[str], rows: list[tuple[str, dict[str, float]]], columns: list[str]
) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for name, row in rows:
        print(f"| {name} | " + " | ".join(f"{row[c]:.3f}" for c in columns) + " |")


if __name__ == "__main__":
    sys.exit(main())
