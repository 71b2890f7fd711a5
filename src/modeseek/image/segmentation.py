"""Pictures: smoothing that keeps edges, and segmentation, by the modes of the density.

A pixel is a row of colour and position. The log-density of these rows is estimated with
one width for colour and one for position, both by cross-validation, and every pixel
climbs to a mode (the paper's section 5.3). :func:`smooth` paints pixels in the colour
of their modes; :func:`segment` joins the pixels of a mode, then regions whose border
hardly shows. Conventions are those of scikit-image, which this module needs:
``pip install 'modeseek[image]'``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from modeseek.gradient.selection import Scores
from modeseek.image.palette import Picture, check_picture, find_pieces, is_constant
from modeseek.image.pixel_modes import ShowProgress, climb_pixels, pixel_frame
from modeseek.image.pixels import (
    block_size,
    find_owners,
    find_tick,
    positions,
    reduce_blocks,
    slab_rows,
    spread_ties,
)
from modeseek.image.regions import (
    Labels,
    RegionTree,
    build_region_tree,
    find_borders,
    join_small,
)
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.coordinates import Frame
from modeseek.rows.ranking import generator
from modeseek.rows.validation import check_integer, check_jobs, check_real, is_word
from modeseek.tree.merge_tree import MergeTree

#: Default levels: a density ratio of 1.35 between modes, as for ModeClustering, and the
#: contrast that was best on the Berkeley validation images (mean ARI 0.44; 0.43 at 0.4
#: and at 0.6).
PROMINENCE, CONTRAST = 0.3, 0.5

#: min_size="auto": this share of the pixels.
SMALLEST_SHARE = 0.002


@dataclass(frozen=True)
class ImageModel:
    """A picture whose pixels have climbed; other levels cost no new climb.

    Made by :func:`fit`. It keeps the picture it was given, not a copy.

    Attributes
    ----------
    merge_tree : MergeTree
        How modes merge, with the prominence of each merge. Standard errors are zero.
    mode_colors : ndarray of shape (n_modes, channels)
        Colour of each mode, highest first, as values of the picture.
    mode_positions : ndarray of shape (n_modes, dimensions)
        Position of each mode, in pixels.
    modes : ndarray of int
        Mode of each pixel, in the shape of the picture without its channels.
    bandwidth : tuple of float
        Width for colour (in Lab for RGB, else in the unit of the picture) and for
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
    _picture: Picture
    _colors: Floats  # (*grid, channels) of the blocks, in standard deviations
    _block_modes: Integers  # grid
    _tops: Floats  # (n_modes, channels) colours of the modes, in the same unit
    _owners: NDArray[np.int32]  # space

    @property
    def modes(self) -> Integers:
        """Mode of each pixel."""
        return np.asarray(self._block_modes.ravel()[self._owners])

    def smooth(self, prominence: float = 0.0) -> NDArray[Any]:
        """The picture with every pixel in the colour of its mode.

        Parameters
        ----------
        prominence : float, default=0
            Merge modes of a smaller prominence first; 0 keeps every mode.

        Returns
        -------
        ndarray
            Shape and data type of the picture.
        """
        level = check_real("prominence", prominence, least=0.0)
        top = self.merge_tree.cut(prominence=level)
        out: NDArray[Any] = self.mode_colors[top][self.modes]
        axis = self._picture.channel_axis
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
            0 for the largest segment; the picture's shape without its channels.
        """
        level = check_real("prominence", prominence, least=0.0)
        border = check_real("contrast", contrast, least=0.0)
        if n_segments is not None:
            n_segments = check_integer("n_segments", n_segments, least=1)
        least = self._check_size(min_size)
        basins = self.merge_tree.cut(prominence=level)[self._block_modes]
        if not least and not border and n_segments is None:
            return _number(basins.ravel()[self._owners])
        volume = float(self.block_side**self._block_modes.ndim)
        pieces = self._join_small(find_pieces(basins), least / volume)
        regions = self._region_tree(pieces).cut(border, n_segments)[pieces]
        labels: Labels = regions.ravel().astype(np.int32)[self._owners]
        if self.block_side > 1 and least:
            labels = self._join_specks(labels, least)
        return _number(labels)

    def _check_size(self, min_size: str | int) -> int:
        if is_word(min_size, "auto"):
            return int(np.ceil(SMALLEST_SHARE * self._owners.size))
        return check_integer("min_size", min_size, least=0)

    def _join_small(self, pieces: Integers, least: float) -> Integers:
        """Join small pieces of the blocks; number those that stay."""
        if least <= 1:
            return pieces
        flat = pieces.ravel()
        size = np.bincount(flat).astype(np.float64)
        rows = self._colors.reshape(len(flat), -1)
        sums = [np.bincount(flat, weights=channel) for channel in rows.T]
        color = np.stack(sums, axis=1) / size[:, None]
        into = join_small(size, color, find_borders(pieces), least)
        return find_pieces(into[pieces])

    def _region_tree(self, pieces: Integers) -> RegionTree:
        """Tree over pieces; a border shows where picture and modes jump, both.

        Modes cut smooth slopes anywhere, where the picture does not jump; texture
        jumps everywhere, where modes do not: the geometric mean tells edges.
        """
        colors = self._colors.reshape(-1, self._colors.shape[-1])
        mode = self._block_modes.ravel()

        def jump(p: Integers, q: Integers) -> Floats:
            of_picture = np.linalg.norm(colors[p] - colors[q], axis=1)
            of_modes = np.linalg.norm(self._tops[mode[p]] - self._tops[mode[q]], axis=1)
            return np.asarray(np.sqrt(of_picture * of_modes))

        size = np.bincount(pieces.ravel()).astype(np.float64)
        return build_region_tree(size, find_borders(pieces, jump))

    def _join_specks(self, labels: Labels, least: int) -> Labels:
        """Join small pieces of the whole picture, colours read slab by slab."""
        pieces = find_pieces(labels)
        n_pieces = int(pieces.max()) + 1
        region = np.zeros(n_pieces, dtype=labels.dtype)
        region[pieces.ravel()] = labels.ravel()
        size = np.bincount(pieces.ravel()).astype(np.float64)
        if size.min() >= least:
            return labels
        values, palette = self._picture.values, self._picture.palette
        sums = np.zeros((n_pieces, values.shape[-1]))
        rows = slab_rows(self._picture.space, self.block_side)
        for start in range(0, len(values), rows):
            colors = palette.enter(values[start : start + rows])
            flat = pieces[start : start + rows].ravel()
            for k, channel in enumerate(colors.reshape(-1, values.shape[-1]).T):
                sums[:, k] += np.bincount(flat, weights=channel, minlength=n_pieces)
        into = join_small(size, sums / size[:, None], find_borders(pieces), least)
        return np.asarray(region[into][pieces])


class FitOptions(TypedDict, total=False):
    """What :func:`segment` and :func:`smooth` hand on to :func:`fit`."""

    channel_axis: int | None
    convert2lab: bool | None
    max_pixels: int | None
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    progress: bool | ShowProgress | None


def fit(
    image: ArrayLike,
    *,
    channel_axis: int | None = -1,
    convert2lab: bool | None = None,
    max_pixels: int | None = 10_000,
    random_state: int | np.random.RandomState | None = 0,
    n_jobs: int | None = None,
    progress: bool | ShowProgress | None = None,
) -> ImageModel:
    """Estimate the density of a picture's pixels and let them climb.

    Parameters
    ----------
    image : array-like
        Picture of two or three dimensions, with channels or grey; booleans, integers or
        floats. Float RGB lies between 0 and 1.
    channel_axis : int or None, default=-1
        Axis of the channels; None for a grey picture.
    convert2lab : bool, optional
        Whether to compare colours in Lab. None does so where there are three channels.
    max_pixels : int or None, default=10_000
        A larger picture is reduced to about so many blocks; their means climb, and each
        pixel goes with the block around it that is most like it. None: every pixel
        climbs.
    random_state : int, RandomState instance or None, default=0
        Seed of centres, folds and the spreading of ties.
    n_jobs : int or None, default=None
        Threads; None and -1 use every core. The result does not depend on it.
    progress : bool, callable or None, default=None
        Show progress on standard error; None does so on a terminal. A callable gets
        the name of the stage and the share of it that is done.

    Returns
    -------
    ImageModel

    Examples
    --------
    >>> from skimage.data import astronaut
    >>> from modeseek import image
    >>> picture = astronaut()[::8, ::8]
    >>> model = image.fit(picture)
    >>> model.segment().shape
    (64, 64)
    >>> int(model.segment(n_segments=3).max()) + 1
    3
    """
    picture = check_picture(image, channel_axis, convert2lab)
    if max_pixels is not None:
        max_pixels = check_integer("max_pixels", max_pixels, least=100)
    check_jobs(n_jobs)
    side = block_size(picture.space, max_pixels)
    if is_constant(picture.values):
        return _constant_model(picture)
    return _fit(picture, side, generator(random_state), n_jobs, _reporter(progress))


def _fit(
    picture: Picture,
    side: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    report: ShowProgress,
) -> ImageModel:
    """Reduce, fit, climb, and give every pixel its block."""
    palette, n_channels = picture.palette, picture.values.shape[-1]
    means = reduce_blocks(picture.values, side)
    grid = means.shape[:-1]
    tick = find_tick(picture.values)
    spread = spread_ties(means, tick, palette.low, palette.high, rng)
    colors = palette.enter(spread).reshape(-1, n_channels)
    place = positions(slice(0, grid[0]), grid, side)
    frame = pixel_frame(colors, place)
    Z = frame.enter(np.column_stack([colors, place]))
    found = climb_pixels(frame, Z, n_channels, grid, rng, n_jobs, report)
    landscape = found.landscape
    widths = landscape.field.widths
    owners = np.arange(len(Z), dtype=np.int32).reshape(grid)
    if side > 1:
        blocks = (Z / widths).reshape(*grid, -1)
        look = _looker(picture, frame, widths)
        slabs = find_owners(look, blocks, picture.space, side, n_jobs)
        owners = _gather(slabs, len(picture.values), report)
    report("done", 1.0)
    tops = landscape.modes
    unit = widths * frame.unit
    color_unit = 1.0 if palette.lab else palette.scale
    return ImageModel(
        merge_tree=landscape.tree,
        mode_colors=palette.leave(tops[:, :n_channels]),
        mode_positions=tops[:, n_channels:],
        bandwidth=(float(color_unit * unit[0]), float(unit[-1])),
        scores=found.scores,
        block_side=side,
        _picture=picture,
        _colors=Z[:, :n_channels].reshape(*grid, n_channels),
        _block_modes=found.mode.reshape(grid),
        _tops=landscape.peaks[:, :n_channels],
        _owners=owners,
    )


def _looker(
    picture: Picture, frame: Frame, widths: Floats
) -> Callable[[slice], Floats]:
    """Features of the pixels of a slab, in widths."""

    def look(slab: slice) -> Floats:
        colors = picture.palette.enter(picture.values[slab])
        place = positions(slab, picture.space, 1)
        rows = np.column_stack([colors.reshape(len(place), -1), place])
        return (frame.enter(rows) / widths).reshape(*colors.shape[:-1], -1)

    return look


def _gather(
    slabs: Iterator[NDArray[np.int32]], n_rows: int, report: ShowProgress
) -> NDArray[np.int32]:
    """Stack slabs as they come."""
    parts: list[NDArray[np.int32]] = []
    done = 0
    for slab in slabs:
        parts.append(slab)
        done += len(slab)
        report("drawing borders", done / n_rows)
    return np.concatenate(parts)


def _constant_model(picture: Picture) -> ImageModel:
    """The model of a picture of one colour: one mode, in the middle."""
    one = picture.values.reshape(-1, picture.values.shape[-1])[:1]
    space = picture.space
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
        _picture=picture,
        _colors=np.zeros((*space, one.shape[1])),
        _block_modes=np.zeros(space, dtype=np.intp),
        _tops=np.zeros((1, one.shape[1])),
        _owners=np.zeros(space, dtype=np.int32),
    )


def segment(
    image: ArrayLike,
    *,
    prominence: float = PROMINENCE,
    contrast: float = CONTRAST,
    n_segments: int | None = None,
    min_size: str | int = "auto",
    **options: Unpack[FitOptions],
) -> Integers:
    """Segment a picture by the modes that its pixels climb to.

    Modes are merged, connected pieces that are too small join the neighbour they differ
    from least, and neighbours join where their border has little contrast.
    ``fit(image).segment(...)`` does the same, and tries other levels at no cost.

    Parameters
    ----------
    image : array-like
        Picture of two or three dimensions, with channels or grey; booleans, integers or
        floats. Float RGB lies between 0 and 1.
    prominence : float, default=0.3
        How far the log-density must fall between two modes for both to stay.
    contrast : float, default=0.5
        Neighbouring regions join where the contrast of their border is below this. It
        is the mean over the border of the geometric mean of two jumps, that of the
        picture and that of the modes, in standard deviations of the picture's colour,
        times the fourth root of the smaller region's share of the pixels. 0 joins none.
    n_segments : int, optional
        Join regions until there are at most so many, instead of up to ``contrast``.
    min_size : "auto" or int, default="auto"
        Connected pieces of fewer pixels join the neighbour of the nearest mean colour;
        ``"auto"`` is 0.2 % of the pixels, 0 joins none. With ``contrast=0`` as well,
        segments are the basins of the modes, connected or not; with ``prominence=0``
        too, the paper's.
    **options
        ``channel_axis``, ``convert2lab``, ``max_pixels``, ``random_state``, ``n_jobs``
        and ``progress``, see :func:`fit`; ``channel_axis=None`` for a grey picture.

    Returns
    -------
    ndarray of int
        0 for the largest segment; the picture's shape without its channels.

    Examples
    --------
    >>> import numpy as np
    >>> from modeseek import image
    >>> picture = np.zeros((20, 30, 3), dtype=np.uint8)
    >>> picture[5:15, 10:20] = 200, 50, 50
    >>> np.bincount(image.segment(picture).ravel())
    array([500, 100])
    """
    return fit(image, **options).segment(
        prominence=prominence,
        contrast=contrast,
        n_segments=n_segments,
        min_size=min_size,
    )


def smooth(
    image: ArrayLike,
    *,
    prominence: float = 0.0,
    **options: Unpack[FitOptions],
) -> NDArray[Any]:
    """Smooth a picture and keep its edges: every pixel in the colour of its mode.

    ``fit(image).smooth(...)`` does the same, and tries other levels at no cost.

    Parameters
    ----------
    image : array-like
        Picture of two or three dimensions, with channels or grey; booleans, integers or
        floats. Float RGB lies between 0 and 1.
    prominence : float, default=0
        Merge modes of a smaller prominence first; 0 keeps every mode.
    **options
        ``channel_axis``, ``convert2lab``, ``max_pixels``, ``random_state``, ``n_jobs``
        and ``progress``, see :func:`fit`; ``channel_axis=None`` for a grey picture.

    Returns
    -------
    ndarray
        Shape and data type of the picture.

    Examples
    --------
    >>> from skimage.data import astronaut
    >>> from modeseek import image
    >>> picture = astronaut()[::8, ::8]
    >>> smoothed = image.smooth(picture)
    >>> smoothed.shape, smoothed.dtype
    ((64, 64, 3), dtype('uint8'))
    """
    return fit(image, **options).smooth(prominence)


def _number(labels: Labels) -> Integers:
    """Number labels from 0 by falling size."""
    size = np.bincount(labels.ravel())
    used = np.flatnonzero(size)
    number = np.zeros(len(size), dtype=np.intp)
    number[used[np.argsort(-size[used], kind="stable")]] = np.arange(len(used))
    return number[labels]


def _reporter(progress: bool | ShowProgress | None) -> ShowProgress:
    """What to call with the progress: the user's, a line on a terminal, or nothing."""
    if callable(progress):
        return progress
    if progress is None:
        progress = sys.stderr.isatty()
    if not progress:
        return lambda stage, share: None

    def show(stage: str, share: float) -> None:
        end = "\n" if stage == "done" else ""
        line = f"\r[modeseek] {stage} {100.0 * share:3.0f} %"
        print(f"{line:<40}", end=end, file=sys.stderr, flush=True)

    return show
