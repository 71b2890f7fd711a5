"""Rows that no machine has to hold: made lazily, fitted and labelled on a cluster.

Chunks of ten Gaussians are made when they are needed, on a LocalCluster of two workers
with 1 GB each. Prints how long a fit and the labels of all rows take, the labels
against the truth, and the largest memory of a worker. Exits with 1 when a worker was
restarted or the labels are not those of the Gaussians.

    python benchmarks/cluster.py                    # 50,000,000 x 8: 3.2 GB
    python benchmarks/cluster.py --rows 5_000_000
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from typing import Any

import dask.array as da
import numpy as np
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.dask import connect

N_FEATURES, N_CLUSTERS, CHUNK_ROWS = 8, 10, 250_000

#: Means of the Gaussians, whose standard deviation is 1.
MEANS = np.random.default_rng(0).uniform(-6.0, 6.0, (N_CLUSTERS, N_FEATURES))


def make_chunk(number: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a chunk, and the Gaussian of each."""
    rng = np.random.default_rng((1, number))
    member = rng.integers(0, N_CLUSTERS, n_rows)
    X = rng.standard_normal((n_rows, N_FEATURES))
    X += MEANS[member]
    return X, member


def rows_of_chunk(block_info: Any = None) -> np.ndarray:
    n_rows = block_info[None]["chunk-shape"][0]
    return make_chunk(block_info[None]["chunk-location"][0], n_rows)[0]


def lazy_rows(n_rows: int) -> da.Array:
    sizes = [CHUNK_ROWS] * (n_rows // CHUNK_ROWS)
    sizes += [n_rows % CHUNK_ROWS] * (n_rows % CHUNK_ROWS > 0)
    chunks = (tuple(sizes), (N_FEATURES,))
    return da.map_blocks(rows_of_chunk, chunks=chunks, dtype=float)


def describe_worker() -> dict[str, float]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"pid": os.getpid(), "peak_mb": peak}


def run(n_rows: int, n_workers: int, memory: str) -> dict[str, Any]:
    """Fit and label; what it took."""
    options = {"n_workers": n_workers, "threads_per_worker": 1, "memory_limit": memory}
    with connect(**options, dashboard_address=":0") as client:
        before = client.run(describe_worker)
        X = lazy_rows(n_rows)
        start = time.perf_counter()
        model = ModeClustering().fit(X)
        fitted = time.perf_counter()
        counts = da.bincount(model.labels_, minlength=model.n_clusters_).compute()
        labelled = time.perf_counter()
        after = client.run(describe_worker)
        first = model.labels_.blocks[0].compute()
    truth = make_chunk(0, len(first))[1]
    pids = {worker["pid"] for worker in before.values()}
    return {
        "rows": n_rows,
        "features": N_FEATURES,
        "workers": n_workers,
        "memory_limit": memory,
        "fit_seconds": round(fitted - start, 1),
        "label_seconds": round(labelled - fitted, 1),
        "clusters": int(model.n_clusters_),
        "labelled_rows": int(counts.sum()),
        "ari_of_first_chunk": round(float(adjusted_rand_score(truth, first)), 4),
        "restarted": len(pids - {worker["pid"] for worker in after.values()}),
        "peak_mb_of_a_worker": round(max(w["peak_mb"] for w in after.values())),
        "peak_mb_of_the_client": round(describe_worker()["peak_mb"]),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="1GB", help="of each worker")
    arguments = parser.parse_args()
    result = run(arguments.rows, arguments.workers, arguments.memory)
    print(json.dumps(result, indent=2))
    whole = result["labelled_rows"] == arguments.rows
    good = result["ari_of_first_chunk"] > 0.9
    return 0 if whole and good and not result["restarted"] else 1


if __name__ == "__main__":
    sys.exit(main())
