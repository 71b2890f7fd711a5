"""How prominent chance makes the modes of the graph of rows, beside the bound in use.

Draws uniform cubes, builds the graph of rows, and prints quantiles of the largest
prominence with ``modeseek.tree.default_cut.chance_prominence``, and how often it is
larger than so many times that bound with ``chance_of``::

    python benchmarks/chance.py --draws 20
    python benchmarks/chance.py --rows 20000 80000 --features 1 2 3 5 --draws 20
"""

from __future__ import annotations

import argparse

import numpy as np

from modeseek.graph.row_graph import build_graph
from modeseek.tree.default_cut import chance_of, chance_prominence


def largest_prominence(n: int, d: int, seed: int) -> tuple[float, float]:
    """Largest prominence in a standardised uniform cube, and the bound for it."""
    X = np.random.default_rng(seed).uniform(size=(n, d))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    graph, tree = build_graph(X, np.ones(n))
    bound = chance_prominence(n, graph.dimension, graph.n_neighbors)
    return float(tree.prominence.max(initial=0.0)), float(bound)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[50, 150, 500, 1500, 5000]
    )
    parser.add_argument(
        "--features", type=int, nargs="+", default=[1, 2, 3, 4, 5, 8, 12, 20]
    )
    options = parser.parse_args()
    ratios: list[float] = []
    print("| features | rows | median | 95 % | largest | bound | above the bound |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for d in options.features:
        for n in options.rows:
            drawn = [largest_prominence(n, d, seed) for seed in range(options.draws)]
            p, bound = np.array(drawn).T
            ratios.extend((p / bound).tolist())
            median, high = np.percentile(p, [50, 95])
            print(
                f"| {d} | {n:,} | {median:.2f} | {high:.2f} | {p.max():.2f} "
                f"| {bound.mean():.2f} | {(p >= bound).sum()} of {options.draws} |",
                flush=True,
            )
    print("\n| times the bound | share of draws with a larger one | in use |")
    print("| --- | --- | --- |")
    for ratio in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3):
        share = np.mean(np.array(ratios) >= ratio)
        used = chance_of(ratio, 1.0)
        print(f"| {ratio:.1f} | {share:.3f} | {used:.3f} |")


if __name__ == "__main__":
    main()
