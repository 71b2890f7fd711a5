"""Edges across valleys of chance, and whether thin bands stay whole.

    python benchmarks/crossings.py --draws 20

Draws rows without clusters: squares, cubes, Gaussians, heavy tails, rings and arcs with
noise. Printed are, for each kind and size, quantiles of the share of edges that cross
the deepest valley (``modeseek.graph.crossings``), and in how many draws
``ModeClustering()`` sees one cluster; then the same for two moons, circles and spirals,
with the mean adjusted Rand index and in how many draws there are two clusters.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.graph.crossings import crossing_shares
from modeseek.graph.row_graph import build_graph

ROWS = (300, 1000, 3000)

NOISE = (0.02, 0.05, 0.08, 0.1)


def arc(n: int, angle: float, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Rows along an arc of the unit circle, with noise."""
    t = rng.uniform(0.0, angle, n)
    return np.column_stack([np.cos(t), np.sin(t)]) + noise * rng.normal(size=(n, 2))


def spirals(n: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two arms of a spiral, 0.63 apart."""
    rng = np.random.default_rng(seed)
    t, y = 3.0 * np.pi * np.sqrt(rng.uniform(0.05, 1.0, n)), rng.integers(0, 2, n)
    X = t[:, None] * np.column_stack([np.cos(t + np.pi * y), np.sin(t + np.pi * y)])
    return 0.1 * X + 0.5 * noise * rng.normal(size=(n, 2)), y


def moons(n: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two moons."""
    return make_moons(n, noise=noise, random_state=seed)


def circles(n: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two circles, one of half the radius."""
    return make_circles(n, noise=noise, factor=0.5, random_state=seed)


WHOLE: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "square": lambda n, rng: rng.uniform(size=(n, 2)),
    "cube": lambda n, rng: rng.uniform(size=(n, 3)),
    "Gaussian, 2": lambda n, rng: rng.normal(size=(n, 2)),
    "Gaussian, 3": lambda n, rng: rng.normal(size=(n, 3)),
    "t with 3 degrees, 2": lambda n, rng: rng.standard_t(3, size=(n, 2)),
    **{
        f"ring, noise {noise}": lambda n, rng, noise=noise: arc(
            n, 2.0 * np.pi, noise, rng
        )
        for noise in (*NOISE, 0.2)
    },
    **{
        f"arc, noise {noise}": lambda n, rng, noise=noise: arc(n, np.pi, noise, rng)
        for noise in NOISE
    },
}


def share_of_deepest(X: np.ndarray) -> float:
    """Share of edges across the deepest valley of the graph of rows, or NaN."""
    graph, tree = build_graph((X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X)))
    assert graph.links is not None
    if not len(tree.child):
        return np.nan
    shares = crossing_shares(tree, graph.mode, graph.links.edges)
    return float(shares[np.argmax(tree.prominence)])


def report_whole(n_draws: int) -> None:
    """Print shares and single clusters of what has no clusters."""
    every = []
    print("| rows | kind | share: 10 % | median | 90 % | one cluster |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, draw in WHOLE.items():
        for n in ROWS:
            sets = [draw(n, np.random.default_rng([s, n])) for s in range(n_draws)]
            shares = [share_of_deepest(X) for X in sets]
            every += shares
            low, middle, high = np.nanquantile(shares, [0.1, 0.5, 0.9])
            single = sum(ModeClustering().fit(X).n_clusters_ == 1 for X in sets)
            print(
                f"| {n:,} | {kind} | {low:.2f} | {middle:.2f} | {high:.2f} "
                f"| {single} of {n_draws} |",
                flush=True,
            )
    print(f"\nMedian share of all: {np.nanmedian(every):.3f}\n")


def report_pairs(n_draws: int) -> None:
    """Print scores and pairs of clusters of two bands."""
    print("| two | rows | noise | ARI | two clusters |")
    print("| --- | --- | --- | --- | --- |")
    for draw in (moons, circles, spirals):
        for n in ROWS:
            for noise in NOISE:
                scores, pairs = [], 0
                for seed in range(n_draws):
                    X, y = draw(n, noise, seed)
                    model = ModeClustering().fit(X)
                    scores.append(adjusted_rand_score(y, model.labels_))
                    pairs += model.n_clusters_ == 2
                print(
                    f"| {draw.__name__} | {n:,} | {noise} | {np.mean(scores):.2f} "
                    f"| {pairs} of {n_draws} |",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    report_whole(options.draws)
    report_pairs(options.draws)


if __name__ == "__main__":
    main()
