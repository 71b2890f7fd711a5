"""A fitted image: smoothing and segmentation at any level of its trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modeseek.gradient.selection import Scores
from modeseek.image.inputs import CheckedImage, find_pieces
from modeseek.image.pixels import strip_rows
from modeseek.image.regions import (
    Labels,
    RegionTree,
    build_region_tree,
    find_borders,
    join_small,
)
from modeseek.rows.arrays import Floats, Integers, group_means
from modeseek.rows.validation import check_integer, check_real, is_word
from modeseek.tree.merge_tree import MergeTree

#: Default levels: a density ratio of 1.35 between modes, as for ModeClustering, and the
#: contrast that was best on the Berkeley validation images (mean ARI 0.453; 0.449 at
#: 0.4 and 0.441 at 0.6).
PROMINENCE, CONTRAST = 0.3, 0.5

#: min_size="auto": this share of the pixels.
SMALLEST_SHARE = 0.002


@dataclass(frozen=True)
class ImageModel:
    """An image whose pixels have climbed; other levels cost no new climb.

    Made by :func:`fit`. It keeps the image it was given, not a copy.

    Attributes
    ----------
    merge_tree : MergeTree
        How modes merge, with the prominence of each merge. Standard errors are zero.
    mode_colors : ndarray of shape (n_modes, channels)
        Colour of each mode, highest first, as values of the image.
    mode_positions : ndarray of shape (n_modes, dimensions)
        Position of each mode, in pixels.
    modes : ndarray of int
        Mode of each pixel, in the shape of the image without its channels.
    bandwidth : tuple of float
        Width for colour (in Lab for RGB, else in the unit of the image) and for
        position, in pixels.
    scores : Scores or None
        Hold-out losses of the widths and penalties tried; None where nothing was to
        be chosen.
    block_side : int
        Side of the blocks of pixels whose means climbed; 1: every pixel climbed.
    """

    merge_tree: MergeTree
    mode_colors: NDArray[np.generic]
    mode_positions: Floats
    bandwidth: tuple[float, float]
    scores: Scores | None
    block_side: int
    _image: CheckedImage
    _colors: Floats  # (*grid, channels) of the blocks, in standard deviations
    _block_modes: Integers  # grid
    _peak_colors: Floats  # (n_modes, channels) colours of the modes, in the same unit
    _pixel_blocks: NDArray[np.int32]  # space

    @property
    def modes(self) -> Integers:
        """Mode of each pixel."""
        return np.asarray(self._block_modes.ravel()[self._pixel_blocks])

    def smooth(self, prominence: float = 0.0) -> NDArray[Any]:
        """The image with every pixel in the colour of its mode.

        Parameters
        ----------
        prominence : float, default=0
            Merge modes of a smaller prominence first; 0 keeps every mode.

        Returns
        -------
        ndarray
            Shape and data type of the image.
        """
        level = check_real("prominence", prominence, least=0.0)
        top = self.merge_tree.cut(prominence=level)
        out: NDArray[Any] = self.mode_colors[top][self.modes]
        axis = self._image.channel_axis
        return out[..., 0] if axis is None else np.moveaxis(out, -1, axis)

    def segment(
        self,
        *,
        prominence: float = PROMINENCE,
        contrast: float = CONTRAST,
        n_segments: int | None = None,
        min_size: str | int = "auto",
    ) -> Integers:
        """Labels of the pixels at a level of the trees.

        Parameters are those of :func:`segment`.

        Returns
        -------
        ndarray of int
            0 for the largest segment; the image's shape without its channels.
        """
        level = check_real("prominence", prominence, least=0.0)
        border = check_real("contrast", contrast, least=0.0)
        if n_segments is not None:
            n_segments = check_integer("n_segments", n_segments, least=1)
        least = self._check_size(min_size)
        basins = self.merge_tree.cut(prominence=level)[self._block_modes]
        if not least and not border and n_segments is None:
            return _number_by_size(basins.ravel()[self._pixel_blocks])
        volume = float(self.block_side**self._block_modes.ndim)
        pieces = self._join_small_block_pieces(find_pieces(basins), least / volume)
        regions = self._region_tree(pieces).cut(border, n_segments)[pieces]
        labels: Labels = regions.ravel().astype(np.int32)[self._pixel_blocks]
        if self.block_side > 1 and least:
            labels = self._join_small_pieces(labels, least)
        return _number_by_size(labels)

    def _check_size(self, min_size: str | int) -> int:
        if is_word(min_size, "auto"):
            return int(np.ceil(SMALLEST_SHARE * self._pixel_blocks.size))
        return check_integer("min_size", min_size, least=0)

    def _join_small_block_pieces(self, pieces: Integers, least: float) -> Integers:
        """Join small pieces of the blocks; number those that stay."""
        if least <= 1:
            return pieces
        flat = pieces.ravel()
        size = np.bincount(flat).astype(np.float64)
        rows = self._colors.reshape(len(flat), -1)
        color = group_means(rows, flat)
        into = join_small(size, color, find_borders(pieces), least)
        return find_pieces(into[pieces])

    def _region_tree(self, pieces: Integers) -> RegionTree:
        """Tree over pieces; a border shows where image and modes jump, both.

        Modes cut smooth slopes anywhere, where the image does not jump; texture
        jumps everywhere, where modes do not: the geometric mean tells edges.
        """
        colors = self._colors.reshape(-1, self._colors.shape[-1])
        mode_colors = self._peak_colors[self._block_modes.ravel()]

        def jump(p: Integers, q: Integers) -> Floats:
            of_image = np.linalg.norm(colors[p] - colors[q], axis=1)
            of_modes = np.linalg.norm(mode_colors[p] - mode_colors[q], axis=1)
            return np.asarray(np.sqrt(of_image * of_modes))

        size = np.bincount(pieces.ravel()).astype(np.float64)
        return build_region_tree(size, find_borders(pieces, jump))

    def _join_small_pieces(self, labels: Labels, least: int) -> Labels:
        """Join small pieces of the whole image, colours read strip by strip."""
        pieces = find_pieces(labels)
        n_pieces = int(pieces.max()) + 1
        region = np.zeros(n_pieces, dtype=labels.dtype)
        region[pieces.ravel()] = labels.ravel()
        size = np.bincount(pieces.ravel()).astype(np.float64)
        if size.min() >= least:
            return labels
        values, color_space = self._image.values, self._image.color_space
        sums = np.zeros((n_pieces, values.shape[-1]))
        rows = strip_rows(self._image.space, self.block_side)
        for start in range(0, len(values), rows):
            colors = color_space.enter(values[start : start + rows])
            flat = pieces[start : start + rows].ravel()
            for k, channel in enumerate(colors.reshape(-1, values.shape[-1]).T):
                sums[:, k] += np.bincount(flat, weights=channel, minlength=n_pieces)
        into = join_small(size, sums / size[:, None], find_borders(pieces), least)
        return np.asarray(region[into][pieces])


def _number_by_size(labels: Labels) -> Integers:
    """Number labels from 0 by falling size."""
    size = np.bincount(labels.ravel())
    used = np.flatnonzero(size)
    number = np.zeros(len(size), dtype=np.intp)
    number[used[np.argsort(-size[used], kind="stable")]] = np.arange(len(used))
    return number[labels]
