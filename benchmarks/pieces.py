"""How often chance cuts the graph of rows in two, where there is one cluster.

    python benchmarks/pieces.py --draws 100

draws rows without clusters: cubes, Gaussians, heavy tails, long shapes, surfaces, and
curves with and without noise, and prints in how many draws the edges between neighbours
leave more than one piece.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from modeseek.graph.row_graph import build_graph

Draw = Callable[[np.random.Generator, int], np.ndarray]


def of_features(d: int) -> dict[str, Draw]:
    """Kinds of rows with d features."""
    return {
        f"uniform, {d}": lambda rng, n: rng.uniform(size=(n, d)),
        f"Gaussian, {d}": lambda rng, n: rng.normal(size=(n, d)),
        f"Student's t3, {d}": lambda rng, n: rng.standard_t(3, size=(n, d)),
        f"log-normal, {d}": lambda rng, n: rng.lognormal(size=(n, d)),
        f"Pareto, {d}": lambda rng, n: rng.pareto(2.0, size=(n, d)),
    }


def around(rng: np.random.Generator, n: int, noise: float) -> np.ndarray:
    t = rng.uniform(0.0, 2.0 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t)]) + noise * rng.normal(size=(n, 2))


def spiral(rng: np.random.Generator, n: int, noise: float) -> np.ndarray:
    t = 3.0 * np.pi * np.sqrt(rng.uniform(size=n))
    curve = np.column_stack([t * np.cos(t), t * np.sin(t)])
    return curve + noise * rng.normal(size=(n, 2))


def surface(rng: np.random.Generator, n: int) -> np.ndarray:
    t = rng.uniform(size=(n, 2))
    return np.column_stack([t, np.sin(5.0 * t[:, 0])])


KINDS: dict[str, Draw] = {
    **{name: draw for d in (1, 2, 3, 5, 10) for name, draw in of_features(d).items()},
    "long Gaussian": lambda rng, n: rng.normal(size=(n, 2)) * [10.0, 1.0],
    "long rectangle": lambda rng, n: rng.uniform(size=(n, 2)) * [30.0, 1.0],
    "circle": lambda rng, n: around(rng, n, 0.0),
    "circle with noise": lambda rng, n: around(rng, n, 0.05),
    "spiral": lambda rng, n: spiral(rng, n, 0.0),
    "spiral with noise": lambda rng, n: spiral(rng, n, 0.3),
    "surface": surface,
}


def is_cut(X: np.ndarray) -> bool:
    """Whether the graph of rows has more than one piece."""
    graph, _ = build_graph(X, np.ones(len(X)), n_jobs=1)
    assert graph.links is not None
    return bool(graph.links.piece.any())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000, 4000])
    options = parser.parse_args()
    print(
        "| rows without clusters | " + " | ".join(f"{n:,}" for n in options.rows), "|"
    )
    print("| --- |" + " --- |" * len(options.rows))
    cut, most = 0, 0
    for kind, draw in KINDS.items():
        counts = []
        for n in options.rows:
            rngs = (np.random.default_rng(seed) for seed in range(options.draws))
            counts.append(sum(is_cut(draw(rng, n)) for rng in rngs))
        cut, most = cut + sum(counts), max(most, *counts)
        print(f"| {kind} | " + " | ".join(map(str, counts)), "|", flush=True)
    runs = len(KINDS) * len(options.rows) * options.draws
    worst = f"at most {most} of {options.draws} of a kind"
    print(f"\nCut in {cut} of {runs:,} draws; {worst}.")


if __name__ == "__main__":
    main()
