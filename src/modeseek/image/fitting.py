"""From a checked image to its model: reduce, fit, climb, and back to every pixel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from modeseek.image.inputs import CheckedImage
from modeseek.image.model import ImageModel
from modeseek.image.pixel_landscape import (
    Pixels,
    ShowProgress,
    climb_pixels,
    pixel_frame,
)
from modeseek.image.pixels import (
    find_nearest_blocks,
    find_rounding_step,
    positions,
    reduce_blocks,
    spread_ties,
)
from modeseek.rows.arrays import Floats
from modeseek.rows.blocks import one_blas_thread
from modeseek.rows.coordinates import Frame
from modeseek.tree.merge_tree import MergeTree


@one_blas_thread()
def fit_model(
    checked: CheckedImage,
    side: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    show_progress: ShowProgress,
) -> ImageModel:
    """Estimate the density of an image's pixels, let them climb, and keep the trees.

    Means of blocks of ``side`` pixels a side climb; 1 lets every pixel climb. The
    generator draws centres and folds and spreads ties; ``show_progress`` is called with
    the name of a stage and the share of it that is done.
    """
    color_space, n_channels = checked.color_space, checked.values.shape[-1]
    means = reduce_blocks(checked.values, side)
    grid = means.shape[:-1]
    step = find_rounding_step(checked.values)
    spread = spread_ties(means, step, color_space.low, color_space.high, rng)
    colors = color_space.enter(spread).reshape(-1, n_channels)
    place = positions(slice(0, grid[0]), grid, side)
    frame = pixel_frame(colors, place)
    Z = frame.enter(np.column_stack([colors, place]))
    pixels = Pixels(frame, Z, n_channels, grid)
    found = climb_pixels(pixels, rng, n_jobs, show_progress)
    landscape = found.landscape
    widths = landscape.field.widths
    pixel_blocks = np.arange(len(Z), dtype=np.int32).reshape(grid)
    if side > 1:
        blocks = (Z / widths).reshape(*grid, -1)
        features_of = _feature_reader(checked, frame, widths)
        strips: list[NDArray[np.int32]] = []
        for strip in find_nearest_blocks(
            features_of, blocks, checked.space, side, n_jobs
        ):
            strips.append(strip)
            done = sum(map(len, strips)) / len(checked.values)
            show_progress("drawing borders", done)
        pixel_blocks = np.concatenate(strips)
    show_progress("done", 1.0)
    modes = landscape.modes
    unit = widths * frame.unit
    color_unit = 1.0 if color_space.lab else color_space.scale
    return ImageModel(
        merge_tree=landscape.tree,
        mode_colors=color_space.leave(modes[:, :n_channels]),
        mode_positions=modes[:, n_channels:],
        bandwidth=(float(color_unit * unit[0]), float(unit[-1])),
        scores=found.scores,
        block_side=side,
        _image=checked,
        _colors=Z[:, :n_channels].reshape(*grid, n_channels),
        _block_modes=found.mode.reshape(grid),
        _peak_colors=landscape.peaks[:, :n_channels],
        _pixel_blocks=pixel_blocks,
    )


def _feature_reader(
    checked: CheckedImage, frame: Frame, widths: Floats
) -> Callable[[slice], Floats]:
    """A function that gives the features of the pixels of a strip, in widths."""

    def features_of(strip: slice) -> Floats:
        colors = checked.color_space.enter(checked.values[strip])
        place = positions(strip, checked.space, 1)
        rows = np.column_stack([colors.reshape(len(place), -1), place])
        return (frame.enter(rows) / widths).reshape(*colors.shape[:-1], -1)

    return features_of


def constant_model(checked: CheckedImage) -> ImageModel:
    """The model of an image of one colour: one mode, in the middle."""
    one = checked.values.reshape(-1, checked.values.shape[-1])[:1]
    space = checked.space
    middle = 0.5 * np.array([space], dtype=np.float64)
    none, no_mode = np.empty(0), np.empty(0, dtype=np.intp)
    d = one.shape[1] + len(space)
    tree = MergeTree(np.zeros(1), no_mode, no_mode, np.empty((0, d)), none, none, none)
    return ImageModel(
        merge_tree=tree,
        mode_colors=one.copy(),
        mode_positions=middle,
        bandwidth=(np.inf, np.inf),
        scores=None,
        block_side=1,
        _image=checked,
        _colors=np.zeros((*space, one.shape[1])),
        _block_modes=np.zeros(space, dtype=np.intp),
        _peak_colors=np.zeros((1, one.shape[1])),
        _pixel_blocks=np.zeros(space, dtype=np.int32),
    )
