"""What every choice of LogDensityGradient costs and brings: the table of the guide.

For each choice: the time of a fit, as a ratio to the default's on the same rows in the
same run; the centres it kept; the mean squared distance to the true gradient at fresh
rows of the toy (three Gaussians in a plane, further features are noise); and the
adjusted Rand index of ModeClustering with it. On real data, read from the folder that
the environment variable MODESEEK_DATA names, features are scaled to unit variance and
the best index over the reference labelings is taken. A second table has 5 % of the
toy's rows replaced by outliers.

    python benchmarks/choices.py --seeds 2 > choices.txt
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from modeseek import LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians

CHOICES: dict[str, dict[str, Any]] = {
    "default: shared, ridge": {},
    "separate": {"coefficients": "separate"},
    "multitask": {"coefficients": "multitask"},
    "multitask, learned": {"coefficients": "multitask", "similarity": "learned"},
    "l1": {"penalty": "l1"},
    "l1, separate": {"penalty": "l1", "coefficients": "separate"},
    "positive": {"positive": True},
    "centers": {"penalty": "centers", "coefficients": "separate"},
    "features": {"penalty": "features", "coefficients": "separate"},
    "common": {"basis": "common", "coefficients": "separate"},
    "even_power": {"loss": "even_power"},
    "pseudo_huber": {"loss": "pseudo_huber"},
    "log_cosh": {"loss": "log_cosh"},
    "shifted_kl": {"loss": "shifted_kl"},
    "shifted_logistic": {"loss": "shifted_logistic"},
}

LOSSES = ["default: shared, ridge", *(c for c in CHOICES if "loss" in CHOICES[c])]

#: Features beyond which a choice takes minutes, and is left out.
MOST_FEATURES = {"multitask, learned": 8}

REAL = {"accelerometry": "paper/accel_st_har.npz", "banknote": "real/banknote.npz"}

OUTLIERS, BOX = 0.05, 12.0


class Timed(LogDensityGradient):
    """The estimator, remembering how long its fit took."""

    def fit(self, X: Any, y: object = None, sample_weight: Any = None) -> Timed:
        """Fit and measure."""
        start = time.perf_counter()
        super().fit(X, y, sample_weight)
        self.seconds_ = time.perf_counter() - start
        return self


class Result(NamedTuple):
    """One fit."""

    seconds: float
    n_centers: int
    error: float
    ari: float


def run(name: str, X: np.ndarray, judge: Any) -> Result:
    """Fit a choice and judge labels and gradient."""
    words = CHOICES[name]
    ascent = "quasi_newton" if words.get("basis") == "common" else "fixed_point"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        model = ModeClustering(Timed(**words), ascent=ascent).fit(X)
    fitted = model.estimator_
    error, ari = judge(fitted, model.labels_)
    return Result(fitted.seconds_, len(fitted.centers_), error, ari)


def toy(name: str, n_features: int, seed: int, share: float = 0.0) -> Result:
    """Run a choice on the toy, a share of whose rows are outliers."""
    truth, rng = three_gaussians(n_features), np.random.RandomState(seed)
    X, y = truth.sample(1000, rng)
    fresh, _ = truth.sample(2000, rng)
    n_out = int(share * len(X))
    X[:n_out] = rng.uniform(-BOX, BOX, (n_out, n_features))

    def judge(fitted: LogDensityGradient, labels: np.ndarray) -> tuple[float, float]:
        apart = fitted.gradient(fresh) - truth.gradient(fresh)
        error = float((apart**2).sum(axis=1).mean())
        return error, adjusted_rand_score(y[n_out:], labels[n_out:])

    return run(name, X, judge)


def real(name: str, path: Path) -> Result:
    """Run a choice on a set of real data."""
    data = np.load(path)
    X = data["X"].astype(np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)

    def judge(_: LogDensityGradient, labels: np.ndarray) -> tuple[float, float]:
        known = [(y[y > 0], labels[y > 0]) for y in np.atleast_2d(data["y"])]
        return np.nan, max(adjusted_rand_score(*pair) for pair in known)

    return run(name, X, judge)


def column(names: list[str], results: dict[str, list[Result]]) -> list[str]:
    """Cells of one set: cost ratio, centres, error, index."""
    base = results[names[0]]
    cells = []
    for name in names:
        runs = results.get(name)
        if not runs:
            cells.append("- | - | -")
            continue
        ratio = np.median(
            [r.seconds / b.seconds for r, b in zip(runs, base, strict=True)]
        )
        error = np.mean([r.error for r in runs])
        ari = np.mean([r.ari for r in runs])
        centers = np.mean([r.n_centers for r in runs])
        shown = "" if np.isnan(error) else f"{error:.2f}, "
        cells.append(f"{ratio:.0f} | {centers:.0f} | {shown}{ari:.2f}")
    return cells


def report(title: str, names: list[str], results: dict[str, list[Result]]) -> None:
    """Print one set as a table."""
    print(f"\n### {title}\n")
    print("| choice | cost | centres | error, ARI |\n| --- | --- | --- | --- |")
    for name, cells in zip(names, column(names, results), strict=True):
        print(f"| {name} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--features", type=int, nargs="*", default=[2, 8, 16])
    parser.add_argument("--choices", nargs="+", choices=CHOICES, default=list(CHOICES))
    parser.add_argument("--skip-outliers", action="store_true")
    parser.add_argument("--skip-real", action="store_true")
    options = parser.parse_args()
    names = options.choices
    for d in options.features:
        some = [c for c in names if d <= MOST_FEATURES.get(c, d)]
        results = {c: [toy(c, d, s) for s in range(options.seeds)] for c in some}
        report(f"toy, {d} features, {options.seeds} seeds", names, results)
    if not options.skip_outliers:
        results = {
            c: [toy(c, 2, s, OUTLIERS) for s in range(options.seeds)] for c in LOSSES
        }
        report(f"toy, 2 features, 5 % outliers, {options.seeds} seeds", LOSSES, results)
    folder = os.environ.get("MODESEEK_DATA")
    if folder is None and not options.skip_real:
        print("\nNo real data: set MODESEEK_DATA to the folder that has them.")
    elif not options.skip_real:
        for title, path in REAL.items():
            results = {c: [real(c, Path(folder) / path)] for c in names}
            report(title, names, results)


if __name__ == "__main__":
    main()
