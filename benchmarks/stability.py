"""Whether clusters stay: fewer rows, a tiny jitter, other seeds; ours and hdbscan's.

    MODESEEK_DATA=... python benchmarks/stability.py --docs docs/quality.md

Twelve real sets (four of scikit-learn, eight of the folder, left out without it) and
twelve made ones, at most ``--rows`` rows of each, are clustered with nothing set: all
rows, then ``--runs`` times each

- draws: 95 % of the rows
- jitter: all rows, each value moved by a thousandth of its feature's deviation
- seeds: all rows with other seeds (modeseek only: hdbscan has none)

The sets of the leaderboard (benchmarks/quality.py) follow: draws of 90 % of the rows.

Agreement is the adjusted Rand index on the rows that two clusterings share: of each run
with the clustering of all rows, and of the runs with each other. Rows that hdbscan
calls noise are like one more cluster there; it gets standardised features, which
modeseek makes itself; on the leaderboard it gets both these and features as they are.
Results are added to a CSV as they come, and those already there are not computed again.
``--docs`` puts the tables between the two comments of that page that name this script;
``--summary`` only reads the CSV.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import coordinates
import level
import quality
from modeseek.datasets import three_gaussians

#: Sets of the folder: family and name.
IN_FOLDER = (
    ("paper", "accel_st_har"),
    ("real", "banknote"),
    ("real", "olive"),
    ("real", "penbased"),
    ("real", "satimage"),
    ("real", "vowel"),
    ("uci", "ecoli"),
    ("uci", "yeast"),
)

ROWS, RUNS, JITTER = 1500, 20, 1e-3
SHARES = {"draws": 0.95, "smaller draws": 0.9}
ABSENT = -2  # in place of a label
MARKS = "<!-- benchmarks/stability.py -->", "<!-- end of benchmarks/stability.py -->"


def blobs(std: float | list[float], centers: int = 5, d: int = 2) -> np.ndarray:
    n, seed = 1000, 3
    return datasets.make_blobs(
        n, d, centers=centers, cluster_std=std, random_state=seed
    )[0]


def drawn(kind: str, seed: int = 1) -> np.ndarray:
    return level.DRAWN[kind](np.random.default_rng(seed))[0]


MADE = {
    "blobs": partial(blobs, 1.0),
    "blobs that overlap": partial(blobs, 2.0),
    "unequal blobs": partial(blobs, [0.3, 0.6, 1.0, 1.5, 2.0]),
    "long blobs": lambda: blobs(1.0) @ np.array([[0.6, -0.6], [-0.4, 0.8]]),
    "blobs, 20 features": partial(blobs, 4.0, d=20),
    "moons": lambda: datasets.make_moons(1000, noise=0.08, random_state=0)[0],
    "circles": lambda: datasets.make_circles(
        1000, noise=0.05, factor=0.5, random_state=0
    )[0],
    "three Gaussians": lambda: three_gaussians().sample(1000, random_state=0)[0],
    "three Gaussians, 8 features": lambda: three_gaussians(8).sample(
        1000, random_state=0
    )[0],
    "on a background": partial(drawn, "background"),
    "segments, 5 features": partial(drawn, "threads"),
    "no clusters": lambda: np.random.default_rng(0).normal(size=(1000, 5)),
}


class Result(NamedTuple):
    """One line of the CSV."""

    kind: str  # of the set: real, made or leaderboard
    set: str
    method: str
    change: str
    n_clusters: int  # of all rows
    with_all: float  # mean index of the runs with all rows
    between: float  # mean index of two runs
    same: float  # share of the runs with as many clusters as all rows
    least: int  # clusters of a run
    most: int


def data_sets(folder: Path | None) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield kind, name and rows of every set."""
    for name, load in coordinates.BUNDLED.items():
        yield "real", name, load(return_X_y=True)[0]
    if folder is None or not folder.is_dir():
        message = "eight real sets are left out: give --data DIR, or set MODESEEK_DATA"
        print(message, file=sys.stderr)
    else:
        wanted = dict.fromkeys(family for family, _ in IN_FOLDER)
        for data in quality.load(folder, list(wanted), 100_000, 0):
            if (data.family, data.name) in IN_FOLDER:
                yield "real", data.name, data.X
    for name, make in MADE.items():
        yield "made", name, make()
    if folder is not None and folder.is_dir():
        for data in quality.load(folder, list(quality.FAMILIES), 100_000, 0):
            yield "leaderboard", f"{data.family}/{data.name}", data.X


def cluster(method: str, X: np.ndarray, seed: int) -> np.ndarray:
    """Labels, -1 for noise."""
    if method == "modeseek":
        return coordinates.fit_labels(X, seed)
    if method == "hdbscan":
        X = StandardScaler().fit_transform(X)
    return quality.hdbscan(X, seed, 0)


def runs(method: str, change: str, X: np.ndarray, n_runs: int) -> Iterator[np.ndarray]:
    """Yield labels of every run; ABSENT for rows that are not in it."""
    for run in range(1, n_runs + 1):
        rng = np.random.default_rng(run)
        if change in SHARES:
            rows = np.sort(rng.permutation(len(X))[: int(SHARES[change] * len(X))])
            labels = np.full(len(X), ABSENT)
            labels[rows] = cluster(method, X[rows], 0)
            yield labels
        elif change == "jitter":
            moved = X + JITTER * X.std(axis=0) * rng.normal(size=X.shape)
            yield cluster(method, moved, 0)
        else:
            yield cluster(method, X, run)


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Adjusted Rand index on the rows that both have."""
    both = (one != ABSENT) & (other != ABSENT)
    return float(adjusted_rand_score(one[both], other[both]))


def measure(method: str, change: str, X: np.ndarray, n_runs: int) -> tuple[float, ...]:
    """Everything of a :class:`Result` that is a number."""
    whole = cluster(method, X, 0)
    found = list(runs(method, change, X, n_runs))
    n_clusters, *counts = (len(set(labels[labels >= 0])) for labels in [whole, *found])
    return (
        n_clusters,
        round(float(np.mean([agreement(whole, labels) for labels in found])), 4),
        round(float(np.mean([agreement(*two) for two in combinations(found, 2)])), 4),
        round(float(np.mean([count == n_clusters for count in counts])), 4),
        min(counts),
        max(counts),
    )


CASES = [
    *(("modeseek", change) for change in ("draws", "jitter", "seeds")),
    *(("hdbscan", change) for change in ("draws", "jitter")),
]
LEADERBOARD_METHODS = ("modeseek", "hdbscan", "hdbscan, unscaled")


def main() -> int:
    options = parse()
    if not options.summary:
        run(options)
    page = write_tables(read(options.output), options.runs)
    print(page)
    if options.docs is not None:
        options.docs.write_text(put_between(options.docs.read_text(), page))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MODESEEK_DATA"))
    parser.add_argument("--rows", type=int, default=ROWS, help="of a set, at most")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each change")
    parser.add_argument("--output", type=Path, default=Path("out/stability.csv"))
    parser.add_argument("--docs", type=Path, help="put the tables into this page")
    parser.add_argument("--summary", action="store_true", help="only read the CSV")
    options = parser.parse_args()
    options.data = None if options.data is None else Path(options.data)
    return options


def read(path: Path) -> list[Result]:
    """Results that are already there."""
    if not path.exists():
        return []
    kinds = (str, str, str, str, int, float, float, float, int, int)
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
        for kind, name, X in data_sets(options.data):
            if len(X) > options.rows:
                rng = np.random.default_rng(0)
                X = X[np.sort(rng.choice(len(X), options.rows, replace=False))]
            cases = CASES
            if kind == "leaderboard":
                cases = [(method, "smaller draws") for method in LEADERBOARD_METHODS]
            for case in cases:
                if (kind, name, *case) not in done:
                    numbers = measure(*case, X, options.runs)
                    result = Result(kind, name, *case, *numbers)
                    print(*result, file=sys.stderr, flush=True)
                    writer.writerow(result)
                    file.flush()


def write_tables(results: list[Result], n_runs: int) -> str:
    """Means over the sets of a kind, then every set, as Markdown."""
    kinds = [kind for kind in ("real", "made") if any(r.kind == kind for r in results)]
    lines = [
        "| sets | change | modeseek | same number | hdbscan | same number |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind in kinds:
        for change in ("draws", "jitter", "seeds"):
            cells = [
                _mean_cell(results, kind, change, m) for m in ("modeseek", "hdbscan")
            ]
            count = len({r.set for r in results if r.kind == kind})
            lines.append(f"| {count} {kind} | {change} | {' | '.join(cells)} |")
    lines += [
        "",
        f"Draws of 95 % of the rows, {n_runs} of each set: index with all rows,",
        "index between two draws, clusters of all rows, least to most of a draw.",
        "",
        "| set | with all | between | clusters | hdbscan, all | between | clusters |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    of_draws = {(r.set, r.method): r for r in results if r.change == "draws"}
    for name in dict.fromkeys(name for name, _ in of_draws):
        cells = [_draws_cell(of_draws[name, m]) for m in ("modeseek", "hdbscan")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += _leaderboard_lines(results)
    return "\n".join(lines) + "\n"


def _leaderboard_lines(results: list[Result]) -> list[str]:
    """Means of the sets of the leaderboard, of every method."""
    of_method = {
        method: [r for r in results if (r.kind, r.method) == ("leaderboard", method)]
        for method in LEADERBOARD_METHODS
    }
    if not all(of_method.values()):
        return []
    n_sets = len(of_method["modeseek"])
    lines = [
        "",
        f"Draws of 90 % of the rows of the {n_sets} sets of the leaderboard:",
        "",
        "| method | between two draws | with all rows | same number |",
        "| --- | --- | --- | --- |",
    ]
    for method, of_these in of_method.items():
        between, with_all, same = (
            np.mean([getattr(r, name) for r in of_these])
            for name in ("between", "with_all", "same")
        )
        cells = f"{between:.2f} | {with_all:.2f} | {100 * same:.0f} %"
        lines.append(f"| {method} | {cells} |")
    return lines


def _mean_cell(results: list[Result], kind: str, change: str, method: str) -> str:
    of_these = [
        r for r in results if (r.kind, r.change, r.method) == (kind, change, method)
    ]
    if not of_these:
        return "- | -"
    index = np.mean([r.with_all for r in of_these])
    return f"{index:.2f} | {100 * np.mean([r.same for r in of_these]):.0f} %"


def _draws_cell(result: Result) -> str:
    clusters = f"{result.n_clusters}; {result.least} to {result.most}"
    return f"{result.with_all:.2f} | {result.between:.2f} | {clusters}"


def put_between(page: str, text: str) -> str:
    """Replace what stands between the marks of a page."""
    start, end = (page.find(mark) for mark in MARKS)
    if not -1 < start < end:
        raise SystemExit(
            f"the page has no place for the tables: {MARKS[0]} to {MARKS[1]}"
        )
    return page[: start + len(MARKS[0])] + "\n\n" + text + "\n" + page[end:]


if __name__ == "__main__":
    sys.exit(main())
