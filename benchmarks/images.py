"""Segmentation of the Berkeley images: the paper's table 1, speed, and a contact sheet.

    MODESEEK_DATA=folder python benchmarks/images.py --csv out/images.csv
    MODESEEK_DATA=folder python benchmarks/images.py --tasks speed large sheet

The table: every image of ``paper/bsds500_{test,val}_81x121.npz``, the adjusted Rand
index against each of its human segmentations, the mean of these for the image, then
mean and standard error over images. All methods run on the same images in one run, with
their defaults. The Gaussian mean shift has kernels on a draw of pixels and two widths
chosen by likelihood; every second pixel each way climbs. The paper's setting is another
cut of the model of our default, so its seconds are those of the cut alone.

Speed: ``segment`` against scikit-image's ``quickshift``, both with their defaults, on
the six pictures of ``images/``, in turn; and a picture of 12 megapixels with its peak
memory. The sheet: the six pictures, smoothed and segmented; or, with ``--shipped``,
four that ship with scikit-image, for which no data folder is needed:

    python benchmarks/images.py --tasks sheet --shipped --sheet docs/images.png

Exits with 1 where our default is not above 0.25 on average, not above quickshift,
slic and the mean shift, or slower than quickshift.
"""

from __future__ import annotations

import argparse
import csv
import functools
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from skimage import data
from skimage.color import rgb2lab
from skimage.io import imread
from skimage.segmentation import felzenszwalb, find_boundaries, quickshift, slic
from skimage.transform import resize
from sklearn.metrics import adjusted_rand_score

from modeseek import KernelDensityGradient, image
from modeseek.field.ascent import climb, fixed_point
from modeseek.field.modes import assign_modes, find_modes
from modeseek.gradient.base import field_of, frame_of
from modeseek.rows.blocks import map_blocks

#: Pixels that carry a kernel of the Gaussian mean shift.
MEAN_SHIFT_KERNELS = 500

#: Its widths, in standard deviations of colour and of position.
MEAN_SHIFT_WIDTHS = 2.0 ** np.arange(-4.0, 1.5)

#: Longer side of a picture on the contact sheet, and colours of its palette.
SHEET_SIDE, SHEET_COLORS = 220, 128


def gaussian_mean_shift(picture: np.ndarray) -> np.ndarray:
    """Basins of a kernel density estimate with two widths chosen by likelihood."""
    rng = np.random.default_rng(0)
    spread = picture + rng.uniform(-0.5, 0.5, picture.shape)
    colors = rgb2lab(np.clip(spread, 0.0, 255.0) / 255.0).reshape(-1, 3)
    place = np.indices(picture.shape[:2]).reshape(2, -1).T.astype(float)
    rows = np.column_stack(
        [part / np.sqrt(part.var(axis=0).mean()) for part in (colors, place)]
    )
    pairs = [(c, s) for c in MEAN_SHIFT_WIDTHS for s in MEAN_SHIFT_WIDTHS]
    estimator = KernelDensityGradient(np.array([[c] * 3 + [s] * 2 for c, s in pairs]))
    drawn = rng.choice(len(rows), min(MEAN_SHIFT_KERNELS, len(rows)), replace=False)
    grid = rows.reshape(*picture.shape[:2], -1)[::2, ::2]
    estimator.fit(rows[drawn])
    field = field_of(estimator)

    def arrive(Z: np.ndarray) -> np.ndarray:
        def block(some: slice) -> np.ndarray:
            return climb(field, Z[some], fixed_point(), tol=1e-2, max_iter=500).points

        return np.concatenate(list(map_blocks(block, len(Z), size=500)))

    # No ModeClustering: its merge tree over so many modes takes most of the time.
    ends = arrive(frame_of(estimator).enter(grid.reshape(-1, grid.shape[-1])))
    labels = assign_modes(field, ends, find_modes(field, ends), arrive)
    whole = labels.reshape(grid.shape[:2]).repeat(2, axis=0).repeat(2, axis=1)
    return whole[: picture.shape[0], : picture.shape[1]]


@functools.lru_cache(maxsize=1)
def fit_bytes(pixels: bytes, shape: tuple[int, ...]) -> image.ImageModel:
    return image.fit(np.frombuffer(pixels, dtype=np.uint8).reshape(shape))


def papers_setting(picture: np.ndarray) -> np.ndarray:
    """Basins of all modes, from the model that our default was cut from."""
    model = fit_bytes(picture.tobytes(), picture.shape)
    return model.segment(prominence=0.0, contrast=0.0, min_size=0)


METHODS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "modeseek": lambda picture: fit_bytes(picture.tobytes(), picture.shape).segment(),
    "modeseek, the paper's setting": papers_setting,
    "Gaussian mean shift": gaussian_mean_shift,
    "quickshift": quickshift,
    "slic": slic,
    "felzenszwalb": felzenszwalb,
    "felzenszwalb, scale=300, min_size=100": lambda picture: felzenszwalb(
        picture, scale=300, min_size=100
    ),
}

#: Whom our default must beat.
PEERS = ("quickshift", "slic", "Gaussian mean shift")


def main() -> int:
    options = parse()
    only_shipped = options.shipped and options.tasks == ["sheet"]
    folder = Path() if only_shipped else data_folder()
    tasks = {"table": table, "speed": speed, "large": large, "sheet": sheet}
    held = [tasks[name](folder, options) for name in options.tasks]
    print("\ntargets:", "hold" if all(held) else "missed")
    return int(not all(held))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--tasks",
        nargs="+",
        choices=["table", "speed", "large", "sheet"],
        default=["table", "speed", "sheet"],
    )
    parser.add_argument("--split", choices=["test", "val"], default="test")
    parser.add_argument("--limit", type=int, help="use the first images only")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--csv", type=Path, help="write a line for each image here")
    parser.add_argument("--shipped", action="store_true", help="scikit-image's own")
    parser.add_argument("--sheet", type=Path, default=Path("out/images.png"))
    return parser.parse_args()


def data_folder() -> Path:
    folder = os.environ.get("MODESEEK_DATA")
    if not folder or not Path(folder, "paper").is_dir():
        sys.exit("Set MODESEEK_DATA to the folder that holds paper/ and images/.")
    return Path(folder)


def table(folder: Path, options: argparse.Namespace) -> bool:
    """Print the table of all methods; whether our default is where it should be."""
    berkeley = np.load(folder / "paper" / f"bsds500_{options.split}_81x121.npz")
    pictures = berkeley["images"][: options.limit]
    ids = berkeley["ids"][: options.limit]
    humans = [
        berkeley["segmentations"][berkeley["segmentation_image"] == i]
        for i in range(len(pictures))
    ]
    lines: list[tuple[str, str, float, int, float]] = []
    for number, picture, human in zip(ids, pictures, humans, strict=True):
        for name in options.methods:
            lines.append((number, name, *score(METHODS[name], picture, human)))
        print(f"{len(lines) // len(options.methods)}", end=" ", flush=True)
    if options.csv:
        options.csv.parent.mkdir(parents=True, exist_ok=True)
        with options.csv.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["image", "method", "ari", "segments", "seconds"])
            writer.writerows(lines)
    print(f"\n\n{len(pictures)} images of {options.split}, 81 x 121 pixels\n")
    print("| method | mean ARI | standard error | segments | seconds an image |")
    print("| --- | --- | --- | --- | --- |")
    means = {}
    for name in options.methods:
        rows = np.array([line[2:] for line in lines if line[1] == name])
        ari, segments, seconds = rows.mean(axis=0)
        error = rows[:, 0].std(ddof=1) / np.sqrt(len(rows))
        print(f"| {name} | {ari:.3f} | {error:.3f} | {segments:.0f} | {seconds:.2f} |")
        means[name] = ari
    ours = means.get("modeseek", np.inf)
    return bool(ours > 0.25 and all(ours > means.get(p, -1.0) for p in PEERS))


def score(
    method: Callable[[np.ndarray], np.ndarray], picture: np.ndarray, humans: np.ndarray
) -> tuple[float, int, float]:
    """Mean ARI against all human segmentations, number of segments, seconds."""
    start = time.perf_counter()
    labels = method(picture)
    seconds = time.perf_counter() - start
    scores = [adjusted_rand_score(one.ravel(), labels.ravel()) for one in humans]
    return float(np.mean(scores)), len(np.unique(labels)), seconds


def six_pictures(folder: Path) -> list[np.ndarray]:
    return [imread(path) for path in sorted((folder / "images").glob("*.jpg"))]


def shipped_pictures() -> list[np.ndarray]:
    return [data.astronaut(), data.chelsea(), data.coffee(), data.rocket()]


def speed(folder: Path, options: argparse.Namespace) -> bool:
    """Time segment and quickshift in turn; whether ours takes no longer."""
    pictures = six_pictures(folder)
    image.segment(pictures[0][:64, :64])  # imports and caches
    print("\n| picture | segment, s | one thread, s | quickshift, s | ratio |")
    print("| --- | --- | --- | --- | --- |")
    ratios = []
    for number, picture in enumerate(pictures, start=1):
        ours = seconds_of(image.segment, picture)
        alone = seconds_of(lambda p: image.segment(p, n_jobs=1), picture)
        theirs = seconds_of(quickshift, picture)
        ratios.append(ours / theirs)
        print(
            f"| {number}, {picture.shape[0]} x {picture.shape[1]} | {ours:.2f} "
            f"| {alone:.2f} | {theirs:.2f} | {ratios[-1]:.2f} |",
            flush=True,
        )
    print(f"\nmedian ratio of segment to quickshift: {np.median(ratios):.2f}")
    return bool(np.median(ratios) <= 1.0)


def seconds_of(method: Callable[[np.ndarray], object], picture: np.ndarray) -> float:
    start = time.perf_counter()
    method(picture)
    return time.perf_counter() - start


def large(folder: Path, options: argparse.Namespace) -> bool:
    """Segment a picture of 12 megapixels; print its seconds and memory."""
    small = six_pictures(folder)[0]
    picture = np.minimum(small, 239).repeat(10, axis=0).repeat(9, axis=1)
    picture = picture[:3000, :4000].copy()
    picture += np.random.default_rng(0).integers(0, 17, picture.shape, dtype=np.uint8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = seconds_of(image.segment, picture)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"\n3000 x 4000 pixels ({picture.nbytes >> 20} MiB): {seconds:.1f} s; peak "
        f"memory of the process {before >> 10} MiB before, {after >> 10} MiB after"
    )
    return True


def sheet(folder: Path, options: argparse.Namespace) -> bool:
    """Draw the pictures, smoothed and segmented, two pictures to a row."""
    from PIL import Image

    pictures = shipped_pictures() if options.shipped else six_pictures(folder)
    wide_first = sorted(pictures, key=lambda p: p.shape[0])
    strips = []
    for picture in wide_first:
        model = image.fit(picture)
        labels = model.segment()
        sizes = np.bincount(labels.ravel())
        flat = picture.reshape(-1, 3)
        sums = [np.bincount(labels.ravel(), channel) for channel in flat.T]
        painted = (np.stack(sums, axis=1) / sizes[:, None])[labels].astype(np.uint8)
        painted[find_boundaries(labels)] = 255
        strips.append([thumbnail(p) for p in (picture, model.smooth(), painted)])
    rows = []
    for one, two in zip(strips[::2], strips[1::2], strict=True):
        height = max(tile.shape[0] for tile in (*one, *two))
        tiles = [framed(tile, height) for tile in (*one, *two)]
        rows.append(np.concatenate(tiles, axis=1))
    drawn = Image.fromarray(np.concatenate(rows)).quantize(SHEET_COLORS)
    options.sheet.parent.mkdir(parents=True, exist_ok=True)
    drawn.save(options.sheet, optimize=True)
    print(f"\n{options.sheet}: {options.sheet.stat().st_size >> 10} KiB")
    return True


def thumbnail(picture: np.ndarray) -> np.ndarray:
    factor = SHEET_SIDE / max(picture.shape[:2])
    shape = [round(factor * length) for length in picture.shape[:2]]
    small = resize(picture, shape, anti_aliasing=True)
    return np.rint(255.0 * small).astype(np.uint8)


def framed(tile: np.ndarray, height: int) -> np.ndarray:
    """Put a tile on white, in the middle, with a margin."""
    canvas = np.full((height + 6, SHEET_SIDE + 6, 3), 255, dtype=np.uint8)
    top = (canvas.shape[0] - tile.shape[0]) // 2
    left = (canvas.shape[1] - tile.shape[1]) // 2
    canvas[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
    return canvas


if __name__ == "__main__":
    sys.exit(main())
