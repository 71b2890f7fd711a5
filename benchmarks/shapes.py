"""Whether the time of a fit explodes: rows of many shapes and kinds, over k-means.

    OMP_NUM_THREADS=1 python benchmarks/shapes.py

fits ModeClustering with nothing set and with each estimator of a gradient to few rows
of many features, many rows of few, heavy tails, noise, clusters and near copies, and
prints the processor time of each fit over that of ``KMeans(10, n_init=10)`` on the same
rows, both on one thread. K-means counts as ``FLOOR`` seconds at least: less is the
overhead of calls. Exits with 1 where a ratio is above 20. ``--cells`` fits as many rows
of each shape as have at most so many numbers.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering

ESTIMATORS = {
    "default": None,
    "log-density": LogDensityGradient(),
    "kernel": KernelDensityGradient(),
}

SHAPES = (
    *((116, 300), (185, 100), (62, 2_000), (1_000, 50), (1_000, 500), (5_000, 5)),
    *((3_000, 1_000), (20_000, 150), (60_000, 50), (300_000, 10), (1_000_000, 3)),
)

#: Most rows of KernelDensityGradient, which compares each with every other.
KERNEL_ROWS = 1_000

#: Most times k-means, and seconds that k-means takes at least.
BOUND, FLOOR = 20.0, 0.1


def noise(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d))


def blobs(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) + rng.normal(size=(5, d))[np.arange(n) % 5]


def cauchy(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_cauchy((n, d))


def twins(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    rows = rng.normal(size=(n // 2, d))
    return np.concatenate([rows, rows + 1e-3 * rng.normal(size=rows.shape)])


KINDS = {kind.__name__: kind for kind in (noise, blobs, cauchy, twins)}


def seconds(fit: Callable[[], object]) -> float:
    """Processor time."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit()
    return time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, default=3_000_000, help="of a table")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument(
        "--estimators", nargs="+", default=list(ESTIMATORS), choices=ESTIMATORS
    )
    options = parser.parse_args()
    print(f"| rows | kind | k-means, s | {' | '.join(options.estimators)} |")
    print(f"| --- | --- | --- |{' --- |' * len(options.estimators)}")
    worst = 0.0
    for n, d in SHAPES:
        n = min(n, options.cells // d)
        for kind in options.kinds:
            X = KINDS[kind](np.random.default_rng(0), n, d)
            means = KMeans(10, n_init=10, random_state=0)
            base = max(FLOOR, seconds(lambda: means.fit(X)))  # noqa: B023
            ratios = []
            for name in options.estimators:
                if name == "kernel" and n > KERNEL_ROWS:
                    continue
                estimator = ESTIMATORS[name]
                given = None if estimator is None else clone(estimator)
                model = ModeClustering(given, random_state=0, n_jobs=1)
                ratios.append(seconds(lambda: model.fit(X)) / base)  # noqa: B023
            worst = max([worst, *ratios])
            cells = " | ".join(f"{ratio:.1f}" for ratio in ratios)
            cells += " | -" * (len(options.estimators) - len(ratios))
            print(f"| {n:,} x {d:,} | {kind} | {base:.2f} | {cells} |", flush=True)
    print(f"\nAt most {worst:.1f} times k-means: {worst <= BOUND}")
    return 0 if worst <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
