"""Speed: ours against other clusterers, in one run on one machine, as ratios.

Every clusterer runs in a process of its own: it is warmed up on a few rows, so that
what compiles itself has done so (timed apart), and then fitted to rows that are already
in memory. Its import is timed in further processes. What takes longer than ``--limit``
seconds is ended and reported as such, and is not tried on larger sets. Ratios are times
of the other one over ours: above 1, ours is faster.

    python benchmarks/speed.py                      # everything; hours
    python benchmarks/speed.py --tasks 20k imports  # parts; the rest stays as it was
    python benchmarks/speed.py --quick              # all parts at toy sizes

Results go to a JSON file with the versions, task by task; ``--docs`` writes the tables
made from it between the marks of a page. Peers beyond scikit-learn are in the extra
``peers``; the cytometry set is read from the folder MODESEEK_DATA where it is there.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.metadata
import json
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import speed_tables
from quality import METHODS as KNOWN
from quality import Method, rand_index

#: Rows that a clusterer is warmed up on.
WARM_ROWS = 500

#: A fit shorter than this many seconds is repeated, and the median taken.
REPEAT_BELOW, REPEATS = 20.0, 5

#: Repeats of an import.
IMPORTS = 3

#: Packages whose versions are kept.
PACKAGES = (
    "modeseek",
    "numpy",
    "scipy",
    "scikit-learn",
    "hdbscan",
    "fast_hdbscan",
    "fast-plscan",
    "pytomato",
    "numba",
)

OURS = "modeseek"


class Task(NamedTuple):
    """Rows to cluster, and who is asked to."""

    rows: int
    features: int
    methods: tuple[str, ...]
    set: str = "blobs"


def fast_hdbscan(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    import fast_hdbscan

    return fast_hdbscan.HDBSCAN().fit_predict(X)


def mini_batch_told(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(k, random_state=seed).fit_predict(X)


def k_means_once_told(X: np.ndarray, seed: int, k: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=1, random_state=seed).fit_predict(X)


METHODS = {
    name: KNOWN[name]
    for name in (
        OURS,
        "k-means, told k",
        "sklearn HDBSCAN",
        "MeanShift",
        "hdbscan",
        "PLSCAN",
        "ToMATo",
    )
} | {
    speed_tables.ONE_START: Method(k_means_once_told, told=True),
    "mini-batch k-means, told k": Method(mini_batch_told, told=True),
    "fast-hdbscan": Method(fast_hdbscan),
}

#: What is imported before a clusterer can run.
MODULES = {
    OURS: "modeseek.cluster",
    "hdbscan": "hdbscan",
    "PLSCAN": "fast_plscan",
    "ToMATo": "tomato",
    "fast-hdbscan": "fast_hdbscan",
}
SKLEARN = "sklearn.cluster"

ALL = tuple(METHODS)
CYTOMETRY = Task(929_685, 8, ALL, "cytometry")
TASKS = {
    "20k": Task(20_000, 10, ALL),
    "100k": Task(100_000, 5, ALL),
    "1m": Task(1_000_000, 10, ALL),
    "cytometry": CYTOMETRY,
    "growth-1e4": Task(10_000, 5, (OURS,)),
    "growth-1e5": Task(100_000, 5, (OURS,)),
    "growth-1e6": Task(1_000_000, 5, (OURS,)),
    "growth-1e7": Task(10_000_000, 5, (OURS,)),
}
QUICK = {
    "20k": Task(1_000, 10, ALL),
    "100k": Task(2_000, 5, ALL),
    "1m": Task(5_000, 10, ALL),
    "growth-1e4": Task(1_000, 5, (OURS,)),
    "growth-1e5": Task(10_000, 5, (OURS,)),
}


#: Rows and features of predictions, at toy sizes or not.
PREDICTED = {False: (1_000_000, 10), True: (10_000, 10)}


def main() -> int:
    options = parse()
    if options.worker:
        print(json.dumps(measure(*options.worker, options.limit)))
        return 0
    tasks = QUICK if options.quick else TASKS
    results = read(options.output)
    results["machine"] = machine()
    for name in chosen(options.tasks, tasks):
        if name == "imports":
            results["imports"] = imports()
        elif name == "predict":
            results["predict"] = predictions(PREDICTED[options.quick])
        elif tasks[name].set == "cytometry" and cytometry_path() is None:
            print("cytometry: not there; set MODESEEK_DATA", file=sys.stderr)
        else:
            run(name, tasks[name], results, options)
        save(options.output, results)
    text = speed_tables.render(results, OURS)
    print(text)
    if options.docs:
        speed_tables.put(options.docs, text)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*TASKS, "growth", "predict", "imports"]
    parser.add_argument("--tasks", nargs="*", choices=names, default=None)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--quick", action="store_true", help="toy sizes")
    parser.add_argument("--limit", type=int, default=300, help="seconds of one fit")
    parser.add_argument("--output", type=Path, default=Path("out/speed.json"))
    parser.add_argument("--docs", type=Path, help="page whose tables are replaced")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


def chosen(names: list[str] | None, tasks: dict[str, Task]) -> list[str]:
    """Tasks to run, in their order; none where the list is empty."""
    every = [*tasks, "predict", "imports"]
    if names is None:
        return every
    growth = "growth" in names
    return [n for n in every if n in names or (growth and n.startswith("growth-"))]


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {"tasks": {}}


def save(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def run(
    name: str, task: Task, results: dict[str, Any], options: argparse.Namespace
) -> None:
    """Run every method of a task, each in its process; save after each."""
    entry = results["tasks"].setdefault(name, {"results": {}})
    entry |= {"set": task.set, "rows": task.rows, "features": task.features}
    entry["versions"] = versions()
    for method in task.methods:
        if method not in options.methods:
            continue
        smaller = None if method == OURS else over_at_fewer(results, method, task)
        if smaller is not None:
            outcome: dict[str, Any] = {"status": "skipped", "over_at": smaller}
        else:
            # Ours may take as long as it likes: its growth is what is asked for.
            limit = 3600 if method == OURS else options.limit
            outcome = start_worker(task, method, limit)
        print(f"{name}, {method}: {describe(outcome)}", file=sys.stderr, flush=True)
        entry["results"][method] = outcome
        save(options.output, results)


def over_at_fewer(results: dict[str, Any], method: str, task: Task) -> int | None:
    """Fewer rows at which the method was over the limit."""
    rows = [
        entry["rows"]
        for entry in results["tasks"].values()
        if entry["rows"] < task.rows
        and entry["results"].get(method, {}).get("status") == "over"
    ]
    return min(rows, default=None)


def describe(outcome: dict[str, Any]) -> str:
    if outcome["status"] != "done":
        return str(outcome["status"])
    return (
        f"{outcome['seconds']:.2f} s, ARI {outcome['ari']:.3f}, "
        f"{outcome['n_clusters']} clusters, {outcome['peak_mb']:.0f} MB"
    )


def start_worker(task: Task, method: str, limit: int) -> dict[str, Any]:
    """Run a method in a process of its own."""
    command = [sys.executable, __file__, "--limit", str(limit), "--worker"]
    command += [task.set, str(task.rows), str(task.features), method]
    code, out, err = run_alone(command)
    if code == -signal.SIGALRM:
        return {"status": "over", "limit": limit}
    if code:
        message = (err.strip().splitlines() or ["no message"])[-1]
        ended = code == -signal.SIGKILL
        return {"status": "out of memory" if ended else "failed", "message": message}
    cold = import_seconds(f"import {MODULES.get(method, SKLEARN)}")
    outcome = json.loads(out.splitlines()[-1])
    return {"status": "done", "import_seconds": cold, **outcome}


def run_alone(command: list[str]) -> tuple[int, str, str]:
    """Run a command to its end, and end what it started: that would go on without it.

    Its output goes to files, as a pipe stays open while any such process does.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            command, stdout=out, stderr=err, text=True, start_new_session=True
        )
        try:
            code = process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()


def measure(
    set_name: str, rows: str, features: str, method: str, limit: int
) -> dict[str, Any]:
    """Time a method on a set, in this process."""
    warnings.simplefilter("ignore")
    X, y = load(set_name, int(rows), int(features))
    k, labels_of = len(set(y[y != 0].tolist())), METHODS[method].labels
    warm = X[:: max(1, len(X) // WARM_ROWS)][:WARM_ROWS].copy()
    warm_seconds = timed(lambda: labels_of(warm, 0, k))[0]
    before = reset_peak()
    signal.alarm(limit)  # nobody handles it: it ends the process, even in C
    cpu = time.process_time()
    seconds, labels = timed(lambda: labels_of(X, 0, k))
    cpu = time.process_time() - cpu
    peak = peak_memory() - before
    times = [seconds]
    while times[0] < REPEAT_BELOW and len(times) < REPEATS:
        times.append(timed(lambda: labels_of(X, 0, k))[0])
    signal.alarm(0)
    return {
        "seconds": statistics.median(times),
        "times": times,
        "cpu_seconds": cpu,
        "ari": rand_index(y, labels),
        "n_clusters": len(set(np.asarray(labels).tolist()) - {-1}),
        "peak_mb": peak / 2**20,
        "input_mb": X.nbytes / 2**20,
        "warm_seconds": warm_seconds,
    }


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def load(set_name: str, rows: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and their labels, 0 for none."""
    if set_name == "cytometry":
        with np.load(str(cytometry_path())) as arrays:
            return np.arcsinh(arrays["X"] / 5.0), np.atleast_2d(arrays["y"])[0]
    # As scikit-learn's make_blobs, in one array instead of several.
    rng = np.random.default_rng(0)
    centers = rng.uniform(-10.0, 10.0, (10, features))
    y = rng.integers(10, size=rows)
    X = rng.standard_normal((rows, features))
    for k, center in enumerate(centers):
        X[y == k] += center
    return X, y + 1


def cytometry_path() -> Path | None:
    folder = os.environ.get("MODESEEK_DATA")
    path = Path(folder or ".") / "large" / "flow_multicenter16.npz"
    return path if folder and path.exists() else None


def reset_peak() -> int:
    """Forget the peak of this process so far; its memory now, in bytes."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return status("VmRSS")
    except OSError:
        return peak_memory()


def peak_memory() -> int:
    """Peak of this process in bytes, since the reset where the system has one."""
    try:
        return status("VmHWM")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(name)


def imports() -> dict[str, Any]:
    """Seconds that imports take, ours beside scikit-learn's."""
    statements = {
        "sklearn.cluster": "import sklearn.cluster",
        "modeseek": "import modeseek",
        "modeseek.ModeClustering": "from modeseek import ModeClustering",
    }
    return {"versions": versions()} | {
        name: import_seconds(text) for name, text in statements.items()
    }


def predictions(size: tuple[int, int]) -> dict[str, Any]:
    """Seconds that labels of rows take, ours beside k-means with as many centres."""
    from sklearn.cluster import KMeans

    from modeseek import ModeClustering

    X, _ = load("blobs", *size)
    ours = ModeClustering().fit(X)
    told = KMeans(ours.n_clusters_, n_init=1, random_state=0).fit(X)
    seconds = {
        name: statistics.median(
            timed(functools.partial(model.predict, X))[0] for _ in range(REPEATS)
        )
        for name, model in ((OURS, ours), ("k-means", told))
    }
    return {"rows": size[0], "features": size[1], "versions": versions(), **seconds}


@functools.cache
def import_seconds(statement: str) -> float:
    """Seconds of an import in fresh processes, their median, without Python's own."""
    return statistics.median(start_import(statement) for _ in range(IMPORTS))


def start_import(statement: str) -> float:
    code = f"import time; t = time.perf_counter(); {statement}; "
    code += "print(time.perf_counter() - t)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


def machine() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return {
        "system": platform.system(),
        "processor": processor(),
        "cores": cores or os.cpu_count(),
        "python": platform.python_version(),
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    sys.exit(main())
