"""Data without clusters: how often nothing set gives one cluster.

One Gaussian and one uniform cube, by number of features and rows, beside scikit-learn's
HDBSCAN with its defaults, which calls everything noise or sees two clusters or more::

    python benchmarks/noise.py --seeds 20

Exits with 1 where less than 95 % of the runs give one cluster.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from sklearn.cluster import HDBSCAN

from modeseek import ModeClustering

#: Features of each kind.
KINDS = {"Gaussian": (2, 10, 50), "uniform cube": (2, 5)}


def count_clusters(kind: str, n: int, d: int, seed: int) -> tuple[int, int]:
    """Clusters that modeseek finds, and HDBSCAN."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) if kind == "Gaussian" else rng.uniform(size=(n, d))
    ours = ModeClustering(random_state=seed).fit(X).n_clusters_
    return ours, HDBSCAN(copy=True).fit_predict(X).max() + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--features", type=int, nargs="+")
    options = parser.parse_args()
    print("| data | features | rows | one cluster in | most | HDBSCAN: median | most |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    missed = False
    for kind in options.kinds:
        for d in options.features or KINDS[kind]:
            for n in options.rows:
                runs = [count_clusters(kind, n, d, s) for s in range(options.seeds)]
                found, others = zip(*runs, strict=True)
                ones = found.count(1)
                print(
                    f"| {kind} | {d} | {n:,} | {ones} of {options.seeds} "
                    f"| {max(found)} | {np.median(others):g} | {max(others)} |",
                    flush=True,
                )
                missed |= ones < 0.95 * options.seeds
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
