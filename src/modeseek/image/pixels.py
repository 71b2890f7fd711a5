"""Pixels as rows: blocks of them, their positions, centres, and back to the image.

An image is an array of shape (*space, channels). A large one is reduced to the means
of square blocks, a block being a pixel of the reduced image. A pixel then goes with the
*nearest block*: among its own and those around it, the one that is most like it. So
what is found for blocks is drawn with the borders of the whole image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import map_blocks

#: Values read to find the step in which an image was rounded.
VALUES_READ = 100_000

#: An image with fewer distinct values than this has flat colours.
FEWEST_LEVELS = 16

#: Centres a square root of a pixel: 81 x 121 pixels get 11 x 16, as in the paper.
CENTER_DENSITY = 1.77

#: Centres of a tiny image, if it has so many pixels.
FEWEST_CENTERS = 8

#: Pixels of a strip: consecutive rows of the whole image, worked on together.
STRIP_PIXELS = 1 << 16


def block_size(space: tuple[int, ...], most: int | None) -> int:
    """Side of the blocks that leave about ``most`` of them; 1 keeps every pixel."""
    if most is None:
        return 1
    ratio = np.prod(np.array(space, dtype=np.float64)) / most
    # A little more than ``most`` is no reason to halve the image.
    return max(1, int(np.ceil(ratio ** (1.0 / len(space)) - 0.05)))


def reduce_blocks(image: NDArray[np.generic], side: int) -> Floats:
    """Means (*blocks, channels) of an image's blocks of ``side`` pixels a side.

    Blocks at the far edges may be smaller.
    """
    if side == 1:
        return np.asarray(image, dtype=np.float64)
    means: NDArray[Any] = image
    for axis in range(image.ndim - 1):
        starts = np.arange(0, image.shape[axis], side)
        counts = np.diff(np.append(starts, image.shape[axis]))
        counts = counts.reshape([-1 if a == axis else 1 for a in range(image.ndim)])
        means = np.add.reduceat(means, starts, axis=axis, dtype=np.float64) / counts
    return np.asarray(means)


def find_rounding_step(image: NDArray[np.generic]) -> float:
    """Step in which the values of an image were rounded; 0 if they hardly repeat.

    An image of a few flat colours is drawn, not rounded: its steps are its contrast,
    and a 255th of its range is taken instead.
    """
    pixels = image.reshape(-1, image.shape[-1])
    values = pixels[:: max(1, image.size // VALUES_READ)]
    distinct = np.unique(values).astype(np.float64)
    if not 1 < distinct.size < 0.5 * values.size:
        return 0.0
    step = float(np.diff(distinct).min())
    if distinct.size < FEWEST_LEVELS:
        return min(step, float(distinct[-1] - distinct[0]) / 255.0)
    return step


def spread_ties(
    image: Floats, step: float, low: float, high: float, rng: np.random.Generator
) -> Floats:
    """Spread values by up to half a rounding step either way, within bounds.

    Rounded values have no density: ties would drive the widths to zero.
    """
    if step == 0.0:
        return image
    spread = image + rng.uniform(-0.5 * step, 0.5 * step, image.shape)
    # Reflected, not clipped, which would make new ties at the bounds.
    spread = np.where(spread < low, 2.0 * low - spread, spread)
    return np.where(spread > high, 2.0 * high - spread, spread)


def positions(rows: slice, space: tuple[int, ...], side: float) -> Floats:
    """Middles (n, dimensions) of the pixels in a strip of a grid.

    The strip is a slice of the first axis of a grid of shape ``space`` whose pixels
    have sides of length ``side``.
    """
    axes = [np.arange(rows.start, rows.stop), *(np.arange(n) for n in space[1:])]
    grid = np.meshgrid(*(side * (axis + 0.5) for axis in axes), indexing="ij")
    return np.stack([g.ravel() for g in grid], axis=1)


def draw_grid_centers(space: tuple[int, ...], rng: np.random.Generator) -> Integers:
    """Draw a pixel from every cell of a coarse grid; returns their flat numbers.

    There are as many cells as the square root of the number of pixels, times
    ``CENTER_DENSITY``, and no more than half the pixels unless these are very few;
    cells are about square.
    """
    n = int(np.prod(space))
    wanted = max(min(n, FEWEST_CENTERS), min(CENTER_DENSITY * np.sqrt(n), n / 2))
    side = (n / wanted) ** (1.0 / len(space))
    edges = []
    for length in space:
        cells = max(1, min(length, round(length / side)))
        edges.append(np.arange(cells + 1) * length // cells)
    low = np.meshgrid(*(e[:-1] for e in edges), indexing="ij")
    high = np.meshgrid(*(e[1:] for e in edges), indexing="ij")
    drawn = tuple(rng.integers(a, b) for a, b in zip(low, high, strict=True))
    return np.asarray(np.ravel_multi_index(drawn, space)).ravel()


def strip_rows(space: tuple[int, ...], side: int) -> int:
    """Rows of the first axis in a strip: whole blocks, no more than fit in cache."""
    layer = max(1, int(np.prod(space[1:])) * side)
    return side * max(1, STRIP_PIXELS // layer)


def find_nearest_blocks(
    features_of: Callable[[slice], Floats],
    blocks: Floats,
    space: tuple[int, ...],
    side: int,
    n_jobs: int | None,
) -> Iterator[NDArray[np.int32]]:
    """Yield, strip by strip, the flat number of the block most like each pixel.

    Candidates are the pixel's own block and those around it. ``features_of`` takes a
    strip of the image, whose shape is ``space``, and gives the features (*strip, d) of
    its pixels; those of the blocks, of ``side`` pixels a side, are (*grid, d). Both are
    in widths.
    """
    grid = blocks.shape[:-1]
    number = np.arange(np.prod(grid), dtype=np.int32).reshape(grid)
    compact = blocks.astype(np.float32)

    def kernel(strip: slice) -> NDArray[np.int32]:
        pixels = features_of(strip).astype(np.float32)
        inside = [np.arange(strip.start, strip.stop) // side]
        inside += [np.arange(length) // side for length in space[1:]]
        block = np.zeros(pixels.shape[:-1], dtype=np.int32)
        nearest = np.full(block.shape, np.inf, dtype=np.float32)
        for shift in product((0, -1, 1), repeat=len(grid)):
            shifted = (
                np.clip(i + s, 0, n - 1)
                for i, s, n in zip(inside, shift, grid, strict=True)
            )
            around = np.ix_(*shifted)
            gap = pixels - compact[around]
            distance = np.einsum("...j,...j->...", gap, gap)
            nearer = distance < nearest
            np.copyto(nearest, distance, where=nearer)
            np.copyto(block, number[around], where=nearer)
        return block

    yield from map_blocks(kernel, space[0], n_jobs=n_jobs, size=strip_rows(space, side))
