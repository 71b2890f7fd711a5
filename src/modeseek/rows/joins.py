"""Parts of rows that held-out rows keep apart, joined from many small ones.

Where many clusters overlap in many features, no direction shows a valley of all rows:
along any of them the clusters lie over each other. But two of them alone are apart
along the direction in which they differ. So rows are divided into many small parts, as
by k-means, and neighbouring parts are joined, those nearest in Ward's sense first, as
long as some two have no valley between them that held-out rows confirm.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import kmeans_plusplus

from modeseek.rows.arrays import Bools, Floats, Integers, group_means
from modeseek.rows.blocks import one_blas_thread
from modeseek.rows.splits import (
    CERTAIN,
    Splits,
    certify_sides,
    look_at_sides,
)

#: Small parts at first: one for so many rows, and no more than these.
ROWS_OF_SMALL, MOST_SMALL = 100, 40

#: Starts: it is chance whether small parts are of one cluster each.
N_STARTS = 3

#: Steps by which they come to be where the rows are dense.
SMALL_STEPS = 20

#: Parts beside each one that it may be joined with.
BESIDE = 6


@one_blas_thread()
def join_parts(Z: Floats, rng: np.random.Generator, more_than: int = 1) -> Splits:
    """Divide standardised rows, no two of them equal, into parts that are apart.

    Of several starts the one with most parts counts. One part is returned where there
    would be no more than so many. The certainty is that of each part, but for the last,
    to be apart from its neighbours.
    """
    best = Splits(np.zeros(len(Z), dtype=np.intp), np.empty(0))
    for _ in range(N_STARTS):
        most = max(more_than, best.n_parts)
        best = _join(Z, _small_parts(Z, rng), rng, most) or best
    return best


def _join(
    Z: Floats, part: Integers, rng: np.random.Generator, more_than: int
) -> Splits | None:
    """Join small parts (n,), numbered from 0, if more than so many are left."""
    part, numbers = part.copy(), np.arange(part.max() + 1)
    known: dict[tuple[int, int], float] = {}
    while len(numbers) > more_than:
        pairs = _neighbours(Z, part, numbers)
        for pair in pairs:
            if pair not in known:
                both = np.isin(part, pair)
                known[pair] = _certainty(Z[both], part[both] == pair[0], rng)
            if known[pair] < CERTAIN:
                break
        else:
            least = [min(known[pair] for pair in pairs if i in pair) for i in numbers]
            return Splits(np.searchsorted(numbers, part), np.sort(least)[:-1])
        part[part == pair[1]] = pair[0]
        known = {p: c for p, c in known.items() if not {*p} & {*pair}}
        numbers = np.unique(part)
    return None


def _certainty(Z: Floats, upper: Bools, rng: np.random.Generator) -> float:
    """How certain two sides of rows are apart; what they do not show is not."""
    if look_at_sides(Z, upper) < CERTAIN:
        return 0.0
    return certify_sides(Z, upper, rng)


def _small_parts(Z: Floats, rng: np.random.Generator) -> Integers:
    """Many small parts (n,) of rows, by Lloyd's algorithm."""
    n_small = max(1, min(MOST_SMALL, len(Z) // ROWS_OF_SMALL))
    seed = int(rng.integers(1 << 31))
    centers, _ = kmeans_plusplus(Z, n_small, random_state=seed)
    for _ in range(SMALL_STEPS):
        # |z - c|^2 less |z|^2
        distance = np.einsum("ij,ij->i", centers, centers) - 2.0 * Z @ centers.T
        _, part = np.unique(distance.argmin(axis=1), return_inverse=True)
        centers = group_means(Z, part)
    return np.asarray(part, dtype=np.intp)


def _neighbours(Z: Floats, part: Integers, numbers: Integers) -> list[tuple[int, int]]:
    """Pairs of parts that are near each other, the nearest in Ward's sense first."""
    place = np.searchsorted(numbers, part)
    size, mean = np.bincount(place), group_means(Z, place)
    distance = cdist(mean, mean, "sqeuclidean")
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :BESIDE]
    ends = np.repeat(np.arange(len(numbers)), nearest.shape[1]), nearest.ravel()
    one, two = np.unique(np.sort(ends, axis=0), axis=1)
    apart = one != two
    one, two = one[apart], two[apart]
    ward = size[one] * size[two] / (size[one] + size[two]) * distance[one, two]
    order = np.argsort(ward, kind="stable")
    return [(int(numbers[one[i]]), int(numbers[two[i]])) for i in order]
