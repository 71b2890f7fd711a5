"""Cluster a real data set with no parameter set: 178 Italian wines, 13 measurements.

Prints what was found; writes the wines to ``out/wine.csv``, their clusters to
``out/labels.csv`` and a picture to ``out/clusters.png``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.plot import AscentDisplay

OUT = Path(__file__).resolve().parent.parent / "out"


def main() -> None:
    wine = load_wine()
    model = ModeClustering().fit(wine.data)
    report(model, wine.target)
    OUT.mkdir(exist_ok=True)
    write_table(wine.feature_names, wine.data.tolist(), OUT / "wine.csv")
    labels = enumerate(model.labels_.tolist())
    write_table(["row", "cluster"], labels, OUT / "labels.csv")
    draw(model, wine.data, OUT / "clusters.png")
    print(f"Wrote wine.csv, labels.csv and clusters.png to {OUT.name}/.")


def report(model: ModeClustering, cultivar: np.ndarray) -> None:
    print(f"{len(cultivar)} wines, 13 measurements, no parameter set.")
    print(f"{len(model.modes_)} modes of the density, {model.n_clusters_} clusters:\n")
    print("cluster  wines  of cultivar A / B / C")
    for k in range(model.n_clusters_):
        members = cultivar[model.labels_ == k]
        split = " / ".join(f"{n:2d}" for n in np.bincount(members, minlength=3))
        print(f"{k:7d}  {len(members):5d}  {split:>21}")
    agreement = adjusted_rand_score(cultivar, model.labels_)
    print(f"\nAgreement with the cultivars (adjusted Rand index): {agreement:.2f}")
    print("Merges, by falling pass (prominence in units of log-density):")
    tree = model.merge_tree_
    for child, parent, height, error in zip(
        tree.child, tree.parent, tree.prominence, tree.std_error, strict=True
    ):
        print(f"  mode {child} into mode {parent}: {height:.2f} +- {error:.2f}")


def write_table(names: list[str], rows: Iterable[Sequence[float]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)


def draw(model: ModeClustering, X: np.ndarray, path: Path) -> None:
    """Rows, their way uphill and their modes, in two principal components."""
    display = AscentDisplay.from_estimator(model, X)
    display.ax_.set_title("178 wines climb to the modes of their density")
    display.figure_.savefig(path, dpi=130)
    plt.close(display.figure_)


if __name__ == "__main__":
    main()
