"""Prove that a refactoring changed no answer: record them before, compare them after.

    python tools/same.py record before.pkl              # with the old code
    python tools/same.py compare before.pkl             # with the new; 1 if any differs
    python tools/same.py compare before.pkl --quick     # a minute's worth of the cases
    python tools/same.py compare before.pkl --allow 'images/*' paths

Answers, of public names only, must be the same bit for bit: run both on one machine
with the same libraries. A full record serves ``--quick`` too. ``--allow`` names answers
that may differ, as a case, an answer or both, with wildcards: they are shown, and do
not count. The sets of the leaderboard need the folder that MODESEEK_DATA names.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import cache, partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
from skimage import data as pictures
from sklearn.datasets import load_iris, load_wine, make_blobs, make_moons
from threadpoolctl import threadpool_limits

import modeseek
from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering, image
from modeseek.datasets import three_gaussians, two_gaussians

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from quality import FAMILIES, load

Answers = dict[str, Any]
Case = tuple[str, bool, Callable[[], Answers]]  # its name, and whether it is quick

#: What is read from clusterings, merge trees, gradients and models of pictures.
CLUSTERS = ["labels_", "row_modes_", "modes_", "mode_labels_", "cluster_centers_"]
CLUSTERS += ["ascent_", "n_clusters_", "n_iter_", "n_unconverged_", "n_guarded_"]
TREE = ["heights", "child", "parent", "prominence", "std_error", "saddles"]
GRADIENT = ["centers_", "coef_", "bandwidth_", "alpha_", "gamma_", "kept_"]
GRADIENT += ["gaussian_base_", "gaussian_share_", "feature_relevance_"]
PICTURE = ["modes", "mode_colors", "mode_positions", "bandwidth", "block_side"]

CV, KDE = LogDensityGradient(n_jobs=1), KernelDensityGradient(n_jobs=1)


@cache
def rows_of(name: str) -> np.ndarray:
    """Generated rows, and two small tables."""
    toy, blobs = three_gaussians(), partial(make_blobs, centers=5, random_state=0)
    made: dict[str, Callable[[], np.ndarray]] = {
        "toy": lambda: toy.sample(500, 0)[0],
        "toy5": lambda: three_gaussians(5).sample(500, 1)[0],
        "line": lambda: two_gaussians().sample(300, 0)[0],
        "blobs": lambda: blobs(600, n_features=3)[0],
        "moons": lambda: make_moons(500, noise=0.1, random_state=0)[0],
        "iris": lambda: load_iris().data,
        "wine": lambda: load_wine().data,
        "constant": lambda: np.insert(toy.sample(400, 2)[0], 1, 3.0, axis=1),
        "rounded": lambda: toy.sample(800, 3)[0].round(1),
        "float32": lambda: toy.sample(500, 4)[0].astype(np.float32),
        "many": lambda: blobs(20_000, n_features=5)[0],
        "many_toy": lambda: toy.sample(40_000, 0)[0],
        "many_int": lambda: (100.0 * toy.sample(20_000, 1)[0]).astype(np.int32),
    }
    return made[name]()


def read(thing: Any, names: list[str], head: str = "") -> Answers:
    """Attributes, as far as they are there."""
    return {head + name: getattr(thing, name) for name in names if hasattr(thing, name)}


def cluster(rows: np.ndarray, estimator: Any = None, **options: Any) -> Answers:
    """Answers of a clustering of rows, or of X: the same rows, otherwise stored."""
    X, weight = options.pop("X", rows), options.pop("sample_weight", None)
    rng = np.random.default_rng(1)
    near = rows[rng.choice(len(rows), min(200, len(rows)), replace=False)]
    near = near + 0.1 * rows.std(axis=0) * rng.standard_normal(near.shape)
    first = rows[:200]
    if isinstance(X, pd.DataFrame):
        first, near = (pd.DataFrame(it, columns=X.columns) for it in (first, near))
    model = ModeClustering(estimator, **{"n_jobs": 1, **options})
    model.fit(X, sample_weight=weight)
    found = {
        "membership": model.membership(first),
        "outlier_score": model.outlier_score(first),
        "predict": model.predict(near),
        "paths": model.paths(first[:5]),
        "cut": model.cut(n_clusters=min(2, len(model.modes_))),
    }
    found |= read(model, CLUSTERS) | read(model.merge_tree_, TREE, "tree.")
    return found | gradient(model.estimator_, near)


def gradient(estimator: Any, rows: Any) -> Answers:
    """What a fitted gradient says about itself and about rows."""
    found = read(estimator, GRADIENT)
    for name in ("gradient", "hessian", "log_density"):
        if hasattr(estimator, name):
            found[name] = getattr(estimator, name)(rows[:50])
    found["score"] = estimator.score(rows)
    for k, (alphas, coefs) in enumerate(getattr(estimator, "path", list)()):
        found |= {f"path.alphas.{k}": alphas, f"path.coefs.{k}": coefs}
    found |= {f"cv.{name}": table for name, table in estimator.cv_results_.items()}
    return {f"estimator.{name}": answer for name, answer in found.items()}


def settings() -> Iterator[Case]:
    """Yield estimators, ascents and other settings, on small rows."""
    separate, tasks = {"coefficients": "separate"}, {"coefficients": "multitask"}
    learned = {"similarity": "learned", "n_centers": 30, "gamma": [0.1, 1.0]}
    widths = {"bandwidth": [[0.3, 0.2], [0.2, 0.3]]}
    estimators: dict[str, tuple[str, Answers]] = {
        "cv": ("toy", {}),
        "number": ("blobs", {"bandwidth": 1.5, "alpha": 0.01}),
        "numbers": ("toy5", {"bandwidth": [0.8, 1.2, 1.8]}),
        "widths": ("moons", widths | {"n_centers": 40, "cv": 3, "random_state": 7}),
        "auto": ("iris", {"bandwidth": "auto"}),
        "learned": ("toy5", {"bandwidth": "learned"}),
        "separate": ("toy", separate),
        "multitask": ("toy", tasks),
        "multitask_learned": ("toy", tasks | learned),
        "common": ("toy", separate | {"basis": "common"}),
        "common_multitask": ("toy", tasks | {"basis": "common"}),
        "l1": ("blobs", {"penalty": "l1"}),
        "features": ("toy", separate | {"penalty": "features"}),
        "centers": ("iris", separate | {"penalty": "centers"}),
        "positive": ("blobs", {"positive": True}),
        "positive_l1": ("toy", {"positive": True, "penalty": "l1"}),
        "log_cosh": ("line", separate | {"loss": "log_cosh"}),
        "kernel": ("toy", {}),
        "kernel_number": ("iris", {"bandwidth": 0.4}),
    }
    for loss in ("even_power", "pseudo_huber", "shifted_kl", "shifted_logistic"):
        estimators[loss] = ("toy", {"loss": loss})
    slow = {"common_multitask", "features", "centers"}
    for name, (rows, options) in estimators.items():
        kind = KernelDensityGradient if "kernel" in name else LogDensityGradient
        work = partial(cluster, rows_of(rows), kind(n_jobs=1, **options))
        yield f"estimators/{name}", name not in slow, work
    weight = np.random.default_rng(5).integers(0, 4, 500).astype(np.float64)
    others: dict[str, tuple[str, Answers]] = {
        "step_size": ("iris", {"ascent": "gradient", "step_size": 0.05}),
        "blurring_kernel": ("toy", {"estimator": KDE, "ascent": "blurring"}),
        "weights": ("toy", {"sample_weight": weight}),
        "weights_rows": ("toy", {"sample_weight": weight, "ascent": "rows"}),
        "weights_cv": ("toy", {"sample_weight": weight, "estimator": CV}),
        "seed": ("wine", {"random_state": 3}),
        "prominence": ("blobs", {"prominence": 0.8}),
        "prominence_none": ("moons", {"prominence": 0.0}),
        "tolerance": ("toy", {"tol": 1e-6, "max_iter": 20, "estimator": CV}),
        "frame": ("iris", {"X": pd.DataFrame(rows_of("iris")).add_prefix("x")}),
        "threads": ("toy5", {"n_jobs": 2}),
    }
    for ascent in ("rows", "fixed_point", "gradient", "quasi_newton", "blurring"):
        others[ascent] = ("blobs", {"ascent": ascent})
    for rows in ("constant", "rounded", "float32", "line"):
        others |= {rows: (rows, {}), f"{rows}_cv": (rows, {"estimator": CV})}
    for name, (rows, options) in others.items():
        yield f"settings/{name}", True, partial(cluster, rows_of(rows), **options)
    a, b = np.split(rows_of("toy"), [300])
    two = LogDensityGradient(n_jobs=1)
    yield "partial_fit", True, lambda: gradient(two.partial_fit(a).partial_fit(b), a)


def paint(picture: np.ndarray, **options: Any) -> Answers:
    """Answers about a picture."""
    options |= {"n_jobs": 1, "progress": False}
    model = image.fit(picture, **options)
    return read(model, PICTURE) | {
        **read(model.merge_tree, TREE, "tree."),
        "segment": image.segment(picture, **options),
        "basins": model.segment(prominence=0.0, contrast=0.0, min_size=0),
        "few": model.segment(n_segments=5),
        "smooth": image.smooth(picture, **options),
        "merged": model.smooth(0.5),
    }


def paintings() -> Iterator[Case]:
    """Yield pictures: every pixel climbs, blocks of pixels climb, grey."""
    man, cup, grey = pictures.astronaut(), pictures.coffee(), pictures.camera()
    yield "images/astronaut", True, partial(paint, man[::8, ::8])
    yield "images/coffee", False, partial(paint, cup[::4, ::4], max_pixels=2000)
    yield "images/grey", False, partial(paint, grey[::10, ::10], channel_axis=None)


def stored(rows: np.ndarray, how: str, estimator: Any) -> Answers:
    """Answers about rows in memory, in chunks, mapped to memory, or on Dask."""
    ways: Answers = {"memory": rows, "dask": da.from_array(rows, chunks=(7000, -1))}
    ways["chunks"] = np.split(rows, [3000, 3001, len(rows) // 2])
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", rows)
        ways["map"] = np.load(f"{folder}/X.npy", mmap_mode="r")
        return cluster(rows, estimator, X=ways[how])


def stores() -> Iterator[Case]:
    """Yield many rows, stored in every way; a map of integers is read in chunks."""
    for end, estimator in (("", None), ("_cv", CV)):
        for rows in ("many", "many_toy", "many_int"):
            for how in ("memory", "chunks", "map", "dask"):
                work = partial(stored, rows_of(rows), how, estimator)
                yield f"stores/{rows}{end}/{how}", rows == "many", work


def sets() -> Iterator[Case]:
    """Yield the sets of the leaderboard, with nothing chosen and along the gradient."""
    if "MODESEEK_DATA" not in os.environ:
        print("MODESEEK_DATA names no folder: the sets of the leaderboard are skipped")
        return
    for data in load(Path(os.environ["MODESEEK_DATA"]), list(FAMILIES), 5000, 0):
        name = f"{data.family}/{data.name}"
        yield f"sets/{name}", True, partial(cluster, data.X)
        yield f"sets_cv/{name}", False, partial(cluster, data.X, CV)


def compute(quick: bool) -> Answers:
    """Answers of all cases, or of the quick ones, as arrays."""
    found: Answers = {}
    for make in (settings, paintings, stores, sets):
        for name, is_quick, work in make():
            if quick and not is_quick:
                continue
            start = time.perf_counter()
            try:
                answers = work()
            except Exception as error:
                answers = {"error": repr(error)}
                print(f"FAILED: {name}: {error!r}")
            found |= {f"{name}/{k}": np.asarray(it) for k, it in answers.items()}
            print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
    return found


def difference(old: np.ndarray | None, new: np.ndarray | None) -> str | None:
    """Say how two answers differ; None where they are the same."""
    if old is None or new is None:
        return "was not there before" if old is None else "is gone"
    words = old.dtype.kind == "U"
    if old.shape != new.shape or (old.dtype != new.dtype and not words):
        return f"{old.dtype}{old.shape} became {new.dtype}{new.shape}"
    if np.array_equal(old, new, equal_nan=not words):
        return None
    if words or old.size == 1:
        return f"{old} became {new}"
    apart = ~((old == new) | (np.isnan(old) & np.isnan(new)))
    most = np.abs(old[apart].astype(float) - new[apart].astype(float)).max()
    return f"{apart.sum()} of {old.size} entries, by {most:.3g} at most"


def compare(before: Answers, after: Answers, allowed: list[str]) -> int:
    """Print what differs; the number of answers that must not."""
    cases = {key.rpartition("/")[0] for key in after}
    wanted = {key for key in before if key.rpartition("/")[0] in cases}
    n_bad = 0
    for key in sorted(wanted | set(after)):
        if what := difference(before.get(key), after.get(key)):
            names = (key, *key.rsplit("/", 1))
            free = any(fnmatch(name, a) for name in names for a in allowed)
            n_bad += not free
            print(f"{'allowed' if free else 'DIFFERS'}: {key}: {what}")
    print(f"{len(after)} answers computed, {len(before)} recorded: {n_bad} differ")
    return n_bad


def main() -> int:
    """Record answers, or compare them with those recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--quick", action="store_true", help="some of the cases")
    parser.add_argument("--allow", nargs="+", default=[], metavar="NAME")
    options = parser.parse_args()
    print(f"modeseek {modeseek.__version__} of {Path(modeseek.__file__).parent}")
    recorded = options.file.read_bytes() if options.action == "compare" else None
    dask.config.set(scheduler="threads")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = compute(options.quick)
    if recorded:
        return int(compare(pickle.loads(recorded), answers, options.allow) > 0)
    options.file.write_bytes(pickle.dumps(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
