"""Cluster a real data set with no parameter set: 178 Italian wines, 13 measurements.

Prints what was found, writes ``out/labels.csv`` and ``out/clusters.png``.
"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering

OUT = Path(__file__).resolve().parent.parent / "out"

#: Okabe and Ito's colours, safe for colour blindness; markers for print.
COLORS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"]
MARKERS = ["o", "s", "^", "D", "v", "P"]


def main() -> None:
    wine = load_wine()
    model = ModeClustering().fit(wine.data)
    report(model, wine.target)
    OUT.mkdir(exist_ok=True)
    write_labels(model, OUT / "labels.csv")
    draw(model, wine.data, OUT / "clusters.png")
    print(f"Wrote {OUT.name}/labels.csv and {OUT.name}/clusters.png.")


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


def write_labels(model: ModeClustering, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "cluster"])
        writer.writerows(enumerate(model.labels_.tolist()))


def draw(model: ModeClustering, X: np.ndarray, path: Path) -> None:
    """Rows, their way uphill and their modes, in two principal components."""
    scale = X.std(axis=0)
    pca = PCA(2).fit(X / scale)
    flat = pca.transform(X / scale)
    steps = np.stack([pca.transform(points / scale) for points in model.paths(X)])
    centers = pca.transform(model.cluster_centers_ / scale)
    figure, axes = plt.subplots(figsize=(8, 5.5), layout="constrained")
    for k in range(model.n_clusters_):
        color, marker = COLORS[k % 6], MARKERS[k % 6]
        rows = model.labels_ == k
        axes.plot(*steps[:, rows].transpose(2, 0, 1), color=color, alpha=0.15, lw=0.8)
        axes.scatter(
            *flat[rows].T,
            s=26,
            color=color,
            marker=marker,
            edgecolor="white",
            linewidth=0.4,
            label=f"cluster {k} ({rows.sum()})",
        )
    axes.scatter(*centers.T, s=190, marker="*", color="black", label="modes", zorder=3)
    axes.set_xlabel("first principal component")
    axes.set_ylabel("second principal component")
    axes.set_title("178 wines climb to the modes of their density")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    main()
