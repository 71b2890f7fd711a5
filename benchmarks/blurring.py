"""Blurring beside the fixed point: adjusted Rand index on the paper's toy.

Three Gaussians in a plane, further features are noise; every mode or end a cluster, and
with the default merging::

    OMP_NUM_THREADS=1 python benchmarks/blurring.py

prints means over seeds, and the rounds until rows stand still.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians

ESTIMATORS = {
    "kernel density": KernelDensityGradient(),
    "shared coefficients": LogDensityGradient(),
    "separate coefficients": LogDensityGradient(coefficients="separate"),
}


def scores(estimator: object, ascent: str, d: int, seed: int, n: int) -> list[float]:
    X, y = three_gaussians(d).sample(n, random_state=seed)
    model = ModeClustering(estimator, ascent=ascent).fit(X)
    every = adjusted_rand_score(y, model.row_modes_)
    return [every, adjusted_rand_score(y, model.labels_), model.n_iter_]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=500)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| estimator | features | fixed point, merged | blurring, merged | rounds |")
    print("| --- | --- | --- | --- | --- |")
    for name, estimator in ESTIMATORS.items():
        for d in (2, 4, 8):
            means = [
                np.mean(
                    [
                        scores(estimator, ascent, d, seed, options.rows)
                        for seed in range(options.seeds)
                    ],
                    axis=0,
                )
                for ascent in ("fixed_point", "blurring")
            ]
            cells = [f"{a:.2f}, {b:.2f}" for a, b, _ in means]
            print(f"| {name} | {d} | {' | '.join(cells)} | {means[1][2]:.0f} |")


if __name__ == "__main__":
    main()
