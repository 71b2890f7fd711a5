"""Small clusters and many clusters among many rows.

    python benchmarks/many.py groups --rows 100000 1000000
    python benchmarks/many.py blobs --rows 5000 50000 500000
    python benchmarks/many.py tails --rows 100000 1000000 --clusterers modeseek

``groups`` hides separated groups of 20 to 1,000 rows among ten Gaussian blobs (standard
deviation 1, centres uniform in a cube of 20): Gaussians of half that deviation, at
least 8 from every centre, one of each size. A group is found where one cluster
has more than half of its rows (recall is their share) and more than half of the rows of
that cluster are the group's (precision is their share).

``blobs`` draws 15, 50 and 200 round Gaussians of one deviation, chosen so that the
nearest true centre has an adjusted Rand index of 0.9, and compares the index of
clusterers with that of k-means told their number.

``tails`` draws rows without clusters whose tails are long, and counts the clusters that
are found: the median and the most, and of how many rows the smallest is.

Peers run on the same rows where they end within ``--minutes``, in processes of their
own; the tables are Markdown.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
from collections.abc import Callable
from itertools import product
from queue import Empty

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from mixtures import draw_overlapping
from modeseek import ModeClustering

SIZES = (20, 50, 200, 1000)

Clusterer = Callable[[np.ndarray, int], np.ndarray]


def by_modeseek(X: np.ndarray, k: int) -> np.ndarray:
    return ModeClustering().fit_predict(X)


def by_k_means(X: np.ndarray, k: int) -> np.ndarray:
    return KMeans(k, n_init=3, random_state=0).fit_predict(X)


def by_hdbscan(X: np.ndarray, k: int) -> np.ndarray:
    import hdbscan

    return hdbscan.HDBSCAN(core_dist_n_jobs=2).fit_predict(X)


def by_plscan(X: np.ndarray, k: int) -> np.ndarray:
    from fast_plscan import PLSCAN

    return PLSCAN().fit_predict(X)


CLUSTERERS: dict[str, Clusterer] = {
    "modeseek": by_modeseek,
    "hdbscan": by_hdbscan,
    "PLSCAN": by_plscan,
    "k-means, told k": by_k_means,
}


def _work(name: str, X: np.ndarray, k: int, queue: mp.Queue) -> None:
    queue.put(CLUSTERERS[name](X, k))


def labels_of(name: str, X: np.ndarray, k: int, minutes: float) -> np.ndarray | None:
    """Labels by a clusterer, or None where it takes too long."""
    context = mp.get_context("spawn")  # OpenMP's threads do not outlive a fork
    queue: mp.Queue = context.Queue()
    process = context.Process(target=_work, args=(name, X, k, queue))
    process.start()
    try:
        return queue.get(timeout=60 * minutes)
    except Empty:
        return None
    finally:
        process.kill()
        process.join()


def hide_groups(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten blobs, of label -1, and groups with the number of their size as label."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0, 20, (10, d))
    parts = [centers[rng.integers(10, size=n)] + rng.standard_normal((n, d))]
    labels = [np.full(n, -1)]
    for number, size in enumerate(SIZES):
        while True:
            place = rng.uniform(-10, 30, d)
            if np.linalg.norm(centers - place, axis=1).min() >= 8:
                break
        centers = np.vstack([centers, place])
        parts.append(place + 0.5 * rng.standard_normal((size, d)))
        labels.append(np.full(size, number))
    order = rng.permutation(n + sum(SIZES))
    return np.concatenate(parts)[order], np.concatenate(labels)[order]


def recall_and_precision(
    found: np.ndarray, hidden: np.ndarray, number: int
) -> tuple[float, float]:
    """Of the cluster that has most rows of a hidden group; zeros if it is not found."""
    own = found[hidden == number]
    own = own[own >= 0]
    if not len(own):
        return 0.0, 0.0
    cluster = np.bincount(own).argmax()
    inside = float((own == cluster).sum())
    recall = inside / (hidden == number).sum()
    precision = inside / (found == cluster).sum()
    return (recall, precision) if min(recall, precision) > 0.5 else (0.0, 0.0)


def tell_groups(arguments: argparse.Namespace) -> None:
    heads = ("rows", "features", "clusterer", "clusters", *map(str, SIZES))
    print_head(heads)
    for n in arguments.rows:
        for d in arguments.features or (2, 5, 10):
            for name in arguments.clusterers or ("modeseek", "hdbscan", "PLSCAN"):
                found, counts = [], []
                for seed in range(arguments.seeds):
                    X, hidden = hide_groups(n, d, seed)
                    labels = labels_of(name, X, 14, arguments.minutes)
                    if labels is None:
                        break
                    counts.append(labels.max() + 1)
                    numbers = range(len(SIZES))
                    found.append(
                        [recall_and_precision(labels, hidden, i) for i in numbers]
                    )
                if len(found) < arguments.seeds:
                    print_row(f"{n:,}", d, name, "too long", *("" for _ in SIZES))
                    continue
                means = np.mean(found, axis=0)
                cells = (
                    f"{recall:.2f}, {precision:.2f}" for recall, precision in means
                )
                print_row(f"{n:,}", d, name, f"{np.median(counts):.0f}", *cells)


def print_head(heads: tuple[str, ...]) -> None:
    print_row(*heads)
    print_row(*("---" for _ in heads))


def print_row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def tell_blobs(arguments: argparse.Namespace) -> None:
    print_head(("blobs", "features", "rows", "clusterer", "clusters", "ARI"))
    for k in arguments.blobs or (15, 50, 200):
        for d in arguments.features or (2, 3, 5):
            for n in arguments.rows:
                rng = np.random.default_rng(0)
                X, label = draw_overlapping(n, rng.uniform(0, 1, (k, d)), rng)
                for name in arguments.clusterers or tuple(CLUSTERERS):
                    found = labels_of(name, X, k, arguments.minutes)
                    if found is None:
                        print_row(k, d, f"{n:,}", name, "too long", "")
                        continue
                    index = adjusted_rand_score(label, found)
                    print_row(k, d, f"{n:,}", name, found.max() + 1, f"{index:.3f}")


TAILS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "t, 3 degrees": lambda rng, shape: rng.standard_t(3.0, shape),
    "t, 1.5 degrees": lambda rng, shape: rng.standard_t(1.5, shape),
    "log-normal": lambda rng, shape: rng.lognormal(size=shape),
}


def tell_tails(arguments: argparse.Namespace) -> None:
    heads = ("rows", "features", "kind", "clusterer", "median", "most", "smallest")
    print_head(heads)
    for n in arguments.rows:
        for d in arguments.features or (2, 3, 5, 10):
            for kind, name in product(TAILS, arguments.clusterers or CLUSTERERS):
                counts, smallest = [], n
                for seed in range(arguments.seeds):
                    X = TAILS[kind](np.random.default_rng([seed, d]), (n, d))
                    labels = labels_of(name, X, 1, arguments.minutes)
                    if labels is None:
                        break
                    sizes = np.bincount(labels[labels >= 0], minlength=1)
                    counts.append(len(sizes))
                    smallest = min(smallest, sizes.min())
                cells = ("too long", "", "")
                if len(counts) == arguments.seeds:
                    cells = (f"{np.median(counts):.0f}", max(counts), f"{smallest:,}")
                print_row(f"{n:,}", d, kind, name, *cells)


PARTS = {"groups": tell_groups, "blobs": tell_blobs, "tails": tell_tails}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--rows", type=int, nargs="+", required=True)
    parser.add_argument("--features", type=int, nargs="+")
    parser.add_argument("--blobs", type=int, nargs="+")
    parser.add_argument("--clusterers", nargs="+", choices=tuple(CLUSTERERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=10.0)
    arguments = parser.parse_args()
    PARTS[arguments.part](arguments)


if __name__ == "__main__":
    main()
