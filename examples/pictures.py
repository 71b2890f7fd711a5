"""Draw every picture of the documentation, on data that ship with scikit-learn.

Writes ``docs/pictures/*.png``; ``--poster FOLDER`` writes them there instead, at the
size of a poster.
"""

from __future__ import annotations

import argparse
import runpy
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from PIL import Image
from sklearn.datasets import load_digits, load_wine, make_moons

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.plot import (
    AscentDisplay,
    ClusterMapDisplay,
    ClusterPairsDisplay,
    ClusterProfileDisplay,
    ComparisonDisplay,
    FeatureRelevanceDisplay,
    GradientFieldDisplay,
    MergeTreeDisplay,
    ValidationDisplay,
)

DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURES = DOCS / "pictures"

#: Pixels across: on a page, and on a poster.
PAGE, POSTER = 800, 4000


def pictures() -> dict[str, Callable[[], object]]:
    """Names of files, and what draws them."""
    toy, _ = three_gaussians().sample(1000, random_state=0)
    smooth = ModeClustering(ascent="fixed_point").fit(toy)
    rough = ModeClustering(KernelDensityGradient(0.3)).fit(toy)
    moons, _ = make_moons(1000, noise=0.07, random_state=0)
    shapes = ModeClustering().fit(moons)
    wine = load_wine(as_frame=True).data
    wines = ModeClustering().fit(wine)
    digits, digit = load_digits(return_X_y=True)
    images = ModeClustering().fit(digits)
    page = runpy.run_path(str(DOCS / "gallery" / "plot_1_coordinates.py"))
    plt.close("all")
    wines_and_pair = [name for name in page["tables"] if "pixels" not in name]
    return {
        "found": lambda: page["compare"](wines_and_pair),
        "field": lambda: GradientFieldDisplay.from_estimator(smooth, toy),
        "rows": lambda: AscentDisplay.from_estimator(shapes, moons),
        "ascent": lambda: AscentDisplay.from_estimator(wines, wine),
        "validation": lambda: ValidationDisplay.from_estimator(
            LogDensityGradient().fit(toy)
        ),
        "tree": lambda: MergeTreeDisplay.from_estimator(rough, cut=0.8),
        "comparison": lambda: ComparisonDisplay.from_clusterings(
            digit, images, names=("digit", "cluster")
        ),
        "relevance": lambda: FeatureRelevanceDisplay.from_estimator(wines),
        "map": lambda: ClusterMapDisplay.from_estimator(wines, wine),
        "profile": lambda: ClusterProfileDisplay.from_estimator(wines, wine),
        "pairs": lambda: ClusterPairsDisplay.from_estimator(wines, wine),
    }


def shrink(path: Path) -> None:
    """Keep few colours: the files are a third of the size and look the same."""
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(200, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--poster", type=Path, metavar="FOLDER")
    poster = parser.parse_args().poster
    folder, pixels = (poster, POSTER) if poster else (PICTURES, PAGE)
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in pictures().items():
        draw()
        figure = plt.gcf()
        figure.savefig(folder / f"{name}.png", dpi=pixels / figure.get_figwidth())
        plt.close(figure)
        shrink(folder / f"{name}.png")
        print(f"Wrote {name}.png.")


if __name__ == "__main__":
    main()
