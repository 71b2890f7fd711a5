"""Clusters that live in few directions: what ``ModeClustering()`` finds, nothing set.

    MODESEEK_DATA=... python benchmarks/coordinates.py --docs docs/coordinates.md

Tasks, chosen by ``--tasks``:

- tables: adjusted Rand index on real tables (families real, paper and uci of the
  folder), beside k-means told the number of clusters and peers that are told nothing,
  as in ``benchmarks/quality.py``, all on the same rows
- drawn: the same index on the family drawn, ours only
- mixtures: Gaussians of one covariance, see ``benchmarks/mixtures.py``, beside k-means
  and a mixture model that are told the number of clusters, and HDBSCAN
- kinds: clusters of other kinds, see ``benchmarks/kinds.py``, and rows without any,
  beside the same
- noise: rows of one Gaussian, a cube, Student's t and a correlated Gaussian
- toy: the paper's three Gaussians, raw, standardised and rotated
- stability: labels of draws of 95 % of the rows against each other
- pairs: Gaussians along random directions, see ``benchmarks/prominence.py``
- time: wide tables, against scikit-learn's HDBSCAN

Results are added to CSV files as they come, and those already there are not computed
again. ``--quick`` takes few seeds, ``--summary`` only reads the CSV files, and
``--docs`` writes the page made by ``coordinates_page.py``, beside the drawings and the
stability in the CSV of an earlier version, if ``--before`` names it. Peers beyond
scikit-learn are in the extra ``peers``.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

import coordinates_page
import kinds
import mixtures
import prominence
import quality
from modeseek import ModeClustering
from modeseek.datasets import three_gaussians

TABLES = ("real", "paper", "uci")
PEERS = ("hdbscan", "PLSCAN", "ToMATo")
TOLD = "k-means, told k"

NOISE_FEATURES, NOISE_ROWS = (2, 10, 50), (300, 2000)
TOY_FEATURES, TOY_ROWS = (2, 4, 6, 8, 50), 1000

#: Seeds of the tasks mixtures and kinds: those before were in sight when rules were
#: chosen.
MIXTURE_SEEDS, KIND_SEEDS = range(200, 205), range(200, 220)

#: Sets of the task stability: where rows come from, and how many at most.
BUNDLED = {
    "wine": datasets.load_wine,
    "iris": datasets.load_iris,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
IN_FOLDER = ("penbased", "olive", "satimage")
STABILITY_ROWS, SHARE_DRAWN = 2000, 0.95

#: Rows and features of the task time, and runs of each method, in turns.
SIZES, REPEATS = ((3000, 50), (2000, 128), (62, 2000)), 3


class Score(NamedTuple):
    """What a case gave."""

    value: float  # an adjusted Rand index, where there is one
    n_clusters: int
    seconds: float = 0.0


class Case(NamedTuple):
    """Something to run."""

    task: str
    case: str
    method: str
    seed: int
    compute: Callable[[], Score]


class Result(NamedTuple):
    """One line of the CSV."""

    task: str
    case: str
    method: str
    seed: int
    value: float
    n_clusters: int
    seconds: float


def fit_labels(X: np.ndarray, seed: int = 0) -> np.ndarray:
    """Labels with nothing set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ModeClustering(random_state=seed).fit_predict(X)


def count(labels: np.ndarray) -> int:
    """Number of clusters."""
    return len(set(labels.tolist()) - {-1})


def tables(options: argparse.Namespace) -> Iterator[Case]:
    """Yield real tables: ours, k-means told k, and peers raw and standardised."""
    for data in quality.load(options.data, TABLES, options.rows, 0):
        for name in ("modeseek", TOLD, *PEERS):
            for features in features_of(name):
                run = partial(score_table, data, name, features)
                method = f"{name}, {features}"
                yield Case("tables", f"{data.family}/{data.name}", method, 0, run)


def features_of(method: str) -> tuple[str, ...]:
    """Whether a method runs on raw or standardised features, or on each of them."""
    if method == "modeseek":
        return ("raw",)
    return ("standardised",) if method == TOLD else ("raw", "standardised")


def score_table(data: quality.DataSet, method: str, features: str) -> Score:
    """Score a method of the leaderboard on one table."""
    X = data.X if features == "raw" else StandardScaler().fit_transform(data.X)
    return Score(*quality.score(quality.METHODS[method], X, data.labelings, 0))


def drawn(options: argparse.Namespace) -> Iterator[Case]:
    """Yield the family of drawings."""
    for data in quality.load(options.data, ["drawn"], 2000, 0):
        run = partial(score_table, data, "modeseek", "raw")
        yield Case("drawn", data.name, "modeseek", 0, run)


def gaussians(_: argparse.Namespace) -> Iterator[Case]:
    """Yield Gaussians of one covariance."""
    for seed in MIXTURE_SEEDS:
        for mixture in mixtures.all_mixtures():
            name = "|".join(map(str, mixture))
            for method in coordinates_page.OF_MIXTURES:
                run = partial(score_drawn, mixtures.draw, mixture, method, seed)
                yield Case("mixtures", name, method, seed, run)


def other_kinds(_: argparse.Namespace) -> Iterator[Case]:
    """Yield clusters of many kinds; the number of clusters is part of their name."""
    for seed in KIND_SEEDS:
        for kind in kinds.KINDS:
            name = f"{kind}|{len(set(kinds.draw(kind, seed)[1].tolist()))}"
            for method in coordinates_page.OF_KINDS:
                run = partial(score_drawn, kinds.draw, kind, method, seed)
                yield Case("kinds", name, method, seed, run)


def score_drawn(
    draw: Callable[..., tuple[np.ndarray, np.ndarray]],
    what: object,
    method: str,
    seed: int,
) -> Score:
    """Score a method on one draw; the others have standardised features."""
    X, y = draw(what, seed)
    if method == "modeseek":
        labels = fit_labels(X, seed)
    else:
        labels = other(method, len(set(y.tolist())), seed).fit_predict(
            StandardScaler().fit_transform(X)
        )
    return Score(adjusted_rand_score(y, labels), count(labels))


def other(method: str, k: int, seed: int) -> KMeans | GaussianMixture | HDBSCAN:
    """Another clusterer; some are told the number of clusters."""
    if method == "HDBSCAN":
        return HDBSCAN(copy=True)
    if method == coordinates_page.TOLD_BRIEFLY:
        return KMeans(k, n_init=10, random_state=seed)
    covariance = "tied" if "one covariance" in method else "full"
    return GaussianMixture(k, covariance_type=covariance, n_init=5, random_state=seed)


def noise(options: argparse.Namespace) -> Iterator[Case]:
    """Yield rows without clusters."""
    for seed in range(options.seeds):
        for kind in ("Gaussian", "uniform", "t3", "correlated"):
            for d in NOISE_FEATURES:
                for n in NOISE_ROWS:
                    run = partial(score_noise, kind, n, d, seed)
                    yield Case("noise", f"{kind}|{d}|{n}", "modeseek", seed, run)


def score_noise(kind: str, n: int, d: int, seed: int) -> Score:
    """Count the clusters that are found where there is one."""
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        X = rng.uniform(size=(n, d))
    elif kind == "t3":
        X = rng.standard_t(3, size=(n, d))
    else:
        X = rng.normal(size=(n, d))
    if kind == "correlated":
        X = X @ rng.normal(size=(d, d))
    return Score(0.0, count(fit_labels(X, seed)))


def toy(options: argparse.Namespace) -> Iterator[Case]:
    """Yield the paper's three Gaussians in three sets of coordinates."""
    for seed in range(options.seeds):
        for d in TOY_FEATURES:
            for frame in ("raw", "standardised", "rotated"):
                run = partial(score_toy, d, frame, seed)
                yield Case("toy", f"{d}|{frame}", "modeseek", seed, run)


def score_toy(d: int, frame: str, seed: int) -> Score:
    """Score the toy in one set of coordinates."""
    X, y = three_gaussians(d).sample(TOY_ROWS, random_state=seed)
    if frame == "standardised":
        X = StandardScaler().fit_transform(X)
    elif frame == "rotated":
        rng = np.random.default_rng(seed)
        X = X @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    labels = fit_labels(X, seed)
    return Score(adjusted_rand_score(y, labels), count(labels))


def stability(options: argparse.Namespace) -> Iterator[Case]:
    """Yield draws of the rows of real sets."""
    for name in (*BUNDLED, *IN_FOLDER):
        for i in range(options.seeds):
            run = partial(score_draw, name, options.data, options.seeds, i)
            yield Case("stability", name, "modeseek", i, run)


def score_draw(name: str, folder: Path, n_draws: int, i: int) -> Score:
    """Mean index of one draw's labels with those of the others, on shared rows."""
    draws = label_draws(name, folder, n_draws)
    shared = [(draws[i] >= 0) & (other >= 0) for other in draws]
    scores = [
        adjusted_rand_score(draws[i][both], other[both])
        for j, (other, both) in enumerate(zip(draws, shared, strict=True))
        if j != i
    ]
    return Score(float(np.mean(scores)), count(draws[i]))


@cache
def label_draws(name: str, folder: Path, n_draws: int) -> list[np.ndarray]:
    """Labels of every draw; -1 for rows that are not in it."""
    if name in BUNDLED:
        X = BUNDLED[name](return_X_y=True)[0]
    else:
        with np.load(folder / "real" / f"{name}.npz") as arrays:
            X = arrays["X"].astype(np.float64)
    rng = np.random.default_rng(0)
    if len(X) > STABILITY_ROWS:
        X = X[rng.choice(len(X), STABILITY_ROWS, replace=False)]
    found = []
    for _ in range(n_draws):
        rows = rng.choice(len(X), int(SHARE_DRAWN * len(X)), replace=False)
        labels = np.full(len(X), -1)
        labels[rows] = fit_labels(X[rows])
        found.append(labels)
    return found


def timed(options: argparse.Namespace) -> Iterator[Case]:
    """Yield wide tables, the two methods in turns."""
    methods = {"modeseek": fit_labels, "HDBSCAN": HDBSCAN(copy=True).fit_predict}
    for n, d in SIZES:
        for seed in range(REPEATS):
            for name, method in methods.items():
                run = partial(time_fit, method, n, d, seed)
                yield Case("time", f"{n}|{d}", name, seed, run)


def time_fit(
    fit: Callable[[np.ndarray], np.ndarray], n: int, d: int, seed: int
) -> Score:
    """Time a fit to Gaussian noise around two centres."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=(2, d))[np.arange(n) % 2]
    start = time.perf_counter()
    labels = fit(X)
    return Score(0.0, count(labels), time.perf_counter() - start)


TASKS = {
    "tables": tables,
    "drawn": drawn,
    "mixtures": gaussians,
    "kinds": other_kinds,
    "noise": noise,
    "toy": toy,
    "stability": stability,
    "time": timed,
}


def main() -> int:
    options = parse()
    of_pairs = options.output.with_name("prominence.csv")
    if not options.summary:
        run(options)
    if "pairs" in options.tasks and not options.summary:
        every = (prominence.DELTAS, prominence.FEATURES, 2000, options.seeds)
        prominence.run(of_pairs, prominence.all_cases(*every))
    before = read(options.before) if options.before is not None else []
    pairs = prominence.read(of_pairs)
    page = coordinates_page.write(read(options.output), before, pairs)
    print(page)
    if options.docs is not None:
        options.docs.write_text(page)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    every = [*TASKS, "pairs"]
    parser.add_argument("--data", type=Path, default=os.environ.get("MODESEEK_DATA"))
    parser.add_argument("--tasks", nargs="+", choices=every, default=every)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=5000, help="of a table, at most")
    parser.add_argument("--output", type=Path, default=Path("out/coordinates.csv"))
    parser.add_argument("--before", type=Path, help="CSV of an earlier version")
    parser.add_argument("--docs", type=Path, help="write the page here")
    parser.add_argument("--quick", action="store_true", help="three seeds")
    parser.add_argument("--summary", action="store_true", help="only read the CSV")
    options = parser.parse_args()
    if options.quick:
        options.seeds = 3
    if options.data is None and not options.summary:
        parser.error("give --data DIR, or set MODESEEK_DATA to the folder of the sets")
    options.data = Path(options.data or ".")
    return options


def read(path: Path) -> list[Result]:
    """Results that are already there."""
    if not path.exists():
        return []
    kinds = (str, str, str, int, float, int, float)
    with path.open(newline="") as file:
        lines = list(csv.reader(file))[1:]
    return [
        Result(*(kind(value) for kind, value in zip(kinds, line, strict=True)))
        for line in lines
    ]


def run(options: argparse.Namespace) -> None:
    """Compute what is missing, one line of the CSV after the other."""
    done = {result[:4] for result in read(options.output)}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    is_new = not options.output.exists()
    with options.output.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(Result._fields)
        for task in options.tasks:
            for case in TASKS[task](options) if task in TASKS else ():
                if case[:4] in done:
                    continue
                value, n_clusters, seconds = case.compute()
                result = Result(
                    *case[:4], round(value, 4), n_clusters, round(seconds, 4)
                )
                print(*result, file=sys.stderr, flush=True)
                writer.writerow(result)
                file.flush()


if __name__ == "__main__":
    sys.exit(main())
