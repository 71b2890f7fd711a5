"""Whether p-values mean what they say: rows without clusters, and rows with two.

    python benchmarks/calibration.py --draws 20

Draws rows without clusters that fill a space, a curve or a surface, and prints for each
kind and size in how many draws ``ModeClustering()`` has a valley with a p-value below
0.05, and in how many it sees more than one cluster; then, for its power, in how many
draws it sees two among two Gaussians that are Delta standard deviations apart along a
random direction (with a valley between them from Delta = 2 on).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from modeseek import ModeClustering

ROWS = (200, 1000, 5000, 20_000)

Draw = Callable[[int, np.random.Generator], np.ndarray]


def gaussian(d: int) -> Draw:
    """Rows of one Gaussian."""
    return lambda n, rng: rng.normal(size=(n, d))


def cube(d: int) -> Draw:
    """Rows that fill a cube."""
    return lambda n, rng: rng.uniform(size=(n, d))


def ring(noise: float) -> Draw:
    """Rows along the unit circle, with noise."""

    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        t = rng.uniform(0.0, 2.0 * np.pi, n)
        X = np.column_stack([np.cos(t), np.sin(t)])
        return X + noise * rng.normal(size=X.shape)

    return draw


def knot(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows along a closed curve of constant speed in four features, with noise."""
    t = rng.uniform(0.0, 2.0 * np.pi, n)
    X = np.column_stack([np.cos(t), np.sin(t), np.cos(2.0 * t), np.sin(2.0 * t)])
    return X + 0.05 * rng.normal(size=X.shape)


def sphere(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows on the unit sphere, with noise."""
    X = rng.normal(size=(n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X + 0.02 * rng.normal(size=X.shape)


def tube(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows on a cylinder, with noise."""
    t, along = rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(-1.0, 1.0, n)
    X = np.column_stack([np.cos(t), np.sin(t), along])
    return X + 0.02 * rng.normal(size=X.shape)


WITHOUT_CLUSTERS: dict[str, Draw] = {
    **{f"Gaussian, {d} features": gaussian(d) for d in (2, 5, 10)},
    **{f"cube, {d} features": cube(d) for d in (2, 5, 10)},
    **{f"ring, noise {noise}": ring(noise) for noise in (0.0, 0.02, 0.1)},
    "curve in four features": knot,
    "sphere": sphere,
    "cylinder": tube,
}


def pair(n: int, d: int, delta: float, rng: np.random.Generator) -> np.ndarray:
    """Two Gaussians of equal weight along a random direction."""
    along = rng.normal(size=d)
    along *= delta / np.linalg.norm(along)
    return rng.normal(size=(n, d)) + along * rng.integers(0, 2, n)[:, None]


def report_chance(n_draws: int, rows: list[int]) -> None:
    """Print how often p-values of chance are small, and how often it makes clusters."""
    head = " | ".join(f"{n:,} rows" for n in rows)
    print(f"| without clusters | {head} |")
    print("| --- |" + " --- |" * len(rows))
    small = split = 0
    for kind, draw in WITHOUT_CLUSTERS.items():
        cells = []
        for n in rows:
            found = []
            for seed in range(n_draws):
                X = draw(n, np.random.default_rng([seed, n]))
                model = ModeClustering().fit(X)
                p_value = model.merge_tree_.p_value
                assert p_value is not None
                least = p_value.min(initial=1.0)
                found.append((least < 0.05, model.n_clusters_ > 1))
            low, more = np.sum(found, axis=0)
            cells.append(f"{low}, {more}")
            small, split = small + low, split + more
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)
    total = n_draws * len(rows) * len(WITHOUT_CLUSTERS)
    print(
        f"\nOf {n_draws} draws each: those with a p-value below 0.05, and those with "
        f"more than one cluster; {small} and {split} of {total} in all.\n"
    )


def report_power(n_draws: int) -> None:
    """Print how often two Gaussians are told apart."""
    features = (2, 5, 10, 50)
    print("| rows | Delta | " + " | ".join(f"{d} features" for d in features) + " |")
    print("| --- | --- |" + " --- |" * len(features))
    for n in (300, 2000):
        for delta in (3.0, 4.0, 6.0):
            cells = []
            for d in features:
                two = 0
                for seed in range(n_draws):
                    X = pair(n, d, delta, np.random.default_rng([seed, n, d]))
                    two += ModeClustering().fit(X).n_clusters_ == 2
                cells.append(f"{two} of {n_draws}")
            print(f"| {n:,} | {delta:g} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    options = parser.parse_args()
    report_chance(options.draws, options.rows)
    report_power(options.draws)


if __name__ == "__main__":
    main()
