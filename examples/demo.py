"""Cluster a real data set with no parameter set: 1,797 images of handwritten digits.

Prints what was found; writes their clusters to ``out/labels.csv`` and a picture to
``out/clusters.png``, and a table to try the command line on to ``out/wine.csv``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.plot import MergeTreeDisplay

OUT = Path(__file__).resolve().parent.parent / "out"


def main() -> None:
    digits, wine = load_digits(), load_wine()
    model = ModeClustering().fit(digits.data)
    report(model, digits.target)
    OUT.mkdir(exist_ok=True)
    write_table(wine.feature_names, wine.data.tolist(), OUT / "wine.csv")
    labels = enumerate(model.labels_.tolist())
    write_table(["row", "cluster"], labels, OUT / "labels.csv")
    draw(model, OUT / "clusters.png")
    print(f"Wrote wine.csv, labels.csv and clusters.png to {OUT.name}/.")


def report(model: ModeClustering, digit: np.ndarray) -> None:
    print(f"{len(digit):,} images of digits, 8 x 8 pixels, no parameter set.")
    print(f"{len(model.modes_)} modes of the density, {model.n_clusters_} clusters:\n")
    print("cluster  images  of digit" + "".join(f"{k:5d}" for k in range(10)))
    for k in range(model.n_clusters_):
        members = digit[model.labels_ == k]
        split = "".join(f"{n:5d}" for n in np.bincount(members, minlength=10))
        print(f"{k:7d}  {len(members):6d}          {split}")
    agreement = adjusted_rand_score(digit, model.labels_)
    print(f"\nAgreement with the digits (adjusted Rand index): {agreement:.2f}")
    print("Merges, deepest first (prominence in units of log-density):")
    tree = model.merge_tree_
    for i in np.argsort(-tree.prominence):
        print(
            f"  mode {tree.child[i]:2d} into mode {tree.parent[i]:2d}: "
            f"{tree.prominence[i]:.2f} +- {tree.std_error[i]:.2f}"
        )


def write_table(names: list[str], rows: Iterable[Sequence[float]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)


def draw(model: ModeClustering, path: Path) -> None:
    """The merge tree, over the image at every mode."""
    figure, ax = plt.subplots(figsize=(9.0, 5.2), layout="constrained")
    display = MergeTreeDisplay.from_estimator(model, ax=ax)
    ax.set_title(
        f"{len(model.labels_):,} images of digits: {len(model.modes_)} modes of their "
        f"density, {model.n_clusters_} clusters"
    )
    ax.set(xlabel="", ylabel="prominence: fall of the log-density to the saddle")
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="x", labelbottom=False)
    for x, mode in zip(display.mode_places_, model.modes_, strict=True):
        below = ax.inset_axes((x - 0.4, -0.83, 0.8, 0.7), transform=ax.transData)
        below.imshow(mode.reshape(8, 8), cmap="gray_r")
        below.axis("off")
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    main()
