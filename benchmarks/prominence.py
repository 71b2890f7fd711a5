"""Prominence of mixtures of Gaussians: what is true, and what is estimated.

Gaussians of unit variance whose means are Delta apart lie along random directions among
d features: two of the same weight; three at the corners of a triangle; two of weights
0.8 and 0.2. For a mixture of k the true prominence is that of the lowest of its k
modes, from the density on a grid in the plane of the means; the estimate is the
prominence of rank k - 1 in the merge tree of ``ModeClustering()``, with its standard
error, whether the default rule takes it for a cluster or not. An estimate is right
within a quarter of the truth or two standard errors.

    python benchmarks/prominence.py --seeds 10 --output prominence.csv

Results are added to the CSV as they come, one seed after the other, and those already
there are not computed again. ``--summary`` only reads the CSV. With ``--deltas 0``
there is one Gaussian, which is run once and not for every mixture.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from modeseek import ModeClustering
from modeseek.datasets import SphericalMixture

#: Corners in the plane at a distance of one, and weights.
MIXTURES = {
    "pair": (((-0.5, 0.0), (0.5, 0.0)), (0.5, 0.5)),
    "triangle": (((-0.5, 0.0), (0.5, 0.0), (0.0, 0.75**0.5)), (1 / 3, 1 / 3, 1 / 3)),
    "unequal": (((-0.5, 0.0), (0.5, 0.0)), (0.8, 0.2)),
}
DELTAS = (0.0, 2.5, 3.0, 4.0, 6.0)
FEATURES = (2, 5, 10, 20, 50, 128)

#: Step of the grid for the truth, and how far it reaches beyond the means.
GRID_STEP, GRID_MARGIN = 0.025, 0.25

#: Prominences of the truth below this are those of the grid.
LEAST_TRUTH = 1e-3

#: An estimate is right within this share of the truth, or so many standard errors.
RIGHT_SHARE, RIGHT_ERRORS = 0.25, 2.0


class Result(NamedTuple):
    """One line of the CSV."""

    mixture: str
    delta: float
    n_features: int
    n_samples: int
    seed: int
    estimate: float
    std_error: float
    n_clusters: int

    @property
    def truth(self) -> float:
        """True prominence."""
        return true_prominence(self.mixture, self.delta)

    @property
    def n_true(self) -> int:
        """Number of modes of the true density."""
        return len(MIXTURES[self.mixture][1]) if self.truth > LEAST_TRUTH else 1

    @property
    def is_near(self) -> bool:
        """Whether the estimate is right without its standard error."""
        return abs(self.estimate - self.truth) <= RIGHT_SHARE * self.truth

    @property
    def is_right(self) -> bool:
        """Whether the estimate is right."""
        miss = abs(self.estimate - self.truth)
        return self.is_near or miss <= RIGHT_ERRORS * self.std_error


def mixture_in_plane(mixture: str, delta: float) -> SphericalMixture:
    """Mixture of two features whose means are delta apart."""
    means, weights = MIXTURES[mixture]
    return SphericalMixture(delta * np.array(means), np.array(weights))


def draw(mixture: str, delta: float, d: int, n: int, seed: int) -> np.ndarray:
    """Rows of the mixture, its plane turned into a random one of d features."""
    rng = np.random.default_rng(seed)
    plane = mixture_in_plane(mixture, delta)
    axes, _ = np.linalg.qr(rng.normal(size=(d, 2)))
    return plane._replace(means=plane.means @ axes.T).sample(n, random_state=seed)[0]


@cache
def true_prominence(mixture: str, delta: float) -> float:
    """Prominence of rank k - 1 of the true density, by flooding a grid in the plane."""
    plane = mixture_in_plane(mixture, delta)
    low, high = plane.means.min(axis=0), plane.means.max(axis=0)
    x, y = (
        np.arange(a - GRID_MARGIN, b + GRID_MARGIN, GRID_STEP)
        for a, b in zip(low, high, strict=True)
    )
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    height = plane.log_density(points).reshape(len(x), len(y))
    found = sorted(flood(height), reverse=True)
    rank = len(plane.weights) - 1
    return float(found[rank - 1]) if len(found) >= rank else 0.0


def flood(height: np.ndarray) -> list[float]:
    """Prominences of the modes of heights on a grid, but for the highest mode."""
    # A rim of minus infinity, so that every point has eight neighbours.
    padded = np.pad(height, 1, constant_values=-np.inf)
    width, flat = padded.shape[1], padded.ravel()
    steps = [a * width + b for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]
    group: dict[int, int] = {}  # points already flooded; their group's top leads to
    found = []

    def top_of(i: int) -> int:
        while group[i] != i:
            group[i] = group[group[i]]
            i = group[i]
        return i

    for i in np.argsort(-flat, kind="stable")[: height.size].tolist():
        tops = sorted({top_of(i + s) for s in steps if i + s in group})
        tops.sort(key=lambda j: -flat[j])
        group[i] = tops[0] if tops else i
        for lower in tops[1:]:
            found.append(float(flat[lower] - flat[i]))
            group[lower] = tops[0]
    return found


def measure(mixture: str, delta: float, d: int, n: int, seed: int) -> Result:
    """Fit with nothing set, and read the prominence off the tree."""
    model = ModeClustering(random_state=seed).fit(draw(mixture, delta, d, n, seed))
    tree, rank = model.merge_tree_, len(MIXTURES[mixture][1]) - 1
    order = np.argsort(-tree.prominence)
    estimate, error = 0.0, 0.0
    if len(order) >= rank:
        estimate = float(tree.prominence[order[rank - 1]])
        error = float(tree.std_error[order[rank - 1]])
    estimate, error = round(estimate, 4), round(error, 4)
    return Result(mixture, delta, d, n, seed, estimate, error, model.n_clusters_)


def read(path: Path) -> list[Result]:
    """Results that are already there."""
    if not path.exists():
        return []
    kinds = (str, float, int, int, int, float, float, int)
    with path.open(newline="") as file:
        lines = list(csv.reader(file))[1:]
    return [
        Result(*(kind(value) for kind, value in zip(kinds, line, strict=True)))
        for line in lines
    ]


def run(path: Path, cases: Iterator[tuple[str, float, int, int, int]]) -> None:
    """Compute what is missing, one line of the CSV after the other."""
    done = {result[:5] for result in read(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(Result._fields)
        for case in cases:
            if case not in done:
                result = measure(*case)
                print(*result, file=sys.stderr, flush=True)
                writer.writerow(result)
                file.flush()


def all_cases(
    deltas: list[float], features: list[int], n: int, seeds: int
) -> Iterator[tuple[str, float, int, int, int]]:
    """Yield what there is to measure."""
    for seed in range(seeds):
        for mixture in MIXTURES:
            for delta in deltas:
                if delta or mixture == "pair":
                    for d in features:
                        yield mixture, float(delta), d, n, seed


def table(results: list[Result]) -> str:
    """Markdown table: estimate, error and runs with the right count, by features."""
    features = sorted({r.n_features for r in results})
    head = ["mixture", "Delta", "truth", *(f"d = {d}" for d in features)]
    head += ["right", "within 25 %"]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for mixture, delta in sorted({r[:2] for r in results}):
        row = [r for r in results if r[:2] == (mixture, delta)]
        name = mixture if delta else "one Gaussian"
        cells = [name, f"{delta:g}", f"{row[0].truth:.2f}"]
        cells += [cell([r for r in row if r.n_features == d]) for d in features]
        cells += [percent([r.is_right for r in row]), percent([r.is_near for r in row])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(runs: list[Result]) -> str:
    """Mean estimate and standard error, and runs with the right number of clusters."""
    if not runs:
        return ""
    estimate, error = np.mean([(r.estimate, r.std_error) for r in runs], axis=0)
    n_right = sum(r.n_clusters == r.n_true for r in runs)
    return f"{estimate:.2f} ± {error:.2f}, {n_right}/{len(runs)}"


def percent(truths: list[bool]) -> str:
    """Share of what is true."""
    return f"{100.0 * np.mean(truths):.0f} %"


def main() -> int:
    options = parse()
    if not options.summary:
        cases = all_cases(
            options.deltas, options.features, options.samples, options.seeds
        )
        run(options.output, cases)
    results = read(options.output)
    print(
        "Mean estimate ± mean standard error, runs with as many clusters as true modes."
    )
    print(f"\n{table(results)}\n\nright:", percent([r.is_right for r in results]))
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--deltas", type=float, nargs="+", default=list(DELTAS))
    parser.add_argument("--features", type=int, nargs="+", default=list(FEATURES))
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--output", type=Path, default=Path("out/prominence.csv"))
    parser.add_argument("--summary", action="store_true", help="only read the CSV")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
