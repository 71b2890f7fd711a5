"""Images: smoothing that keeps edges, and segmentation, by the modes of the density.

A pixel is a row of colour and position. The log-density of these rows is estimated with
one width for colour and one for position, both by cross-validation, and every pixel
climbs to a mode (the paper's section 5.3). :func:`smooth` paints pixels in the colour
of their modes; :func:`segment` joins the pixels of a mode, then regions whose border
hardly shows. Conventions are those of scikit-image, which this module needs:
``pip install 'modeseek[image]'``.
"""

from __future__ import annotations

import sys
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from modeseek.image.fitting import constant_model, fit_model
from modeseek.image.inputs import check_image, is_constant
from modeseek.image.model import CONTRAST, PROMINENCE, ImageModel
from modeseek.image.pixel_landscape import ShowProgress
from modeseek.image.pixels import block_size
from modeseek.rows.arrays import Integers
from modeseek.rows.ranking import generator
from modeseek.rows.validation import check_integer, check_jobs


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
    """Estimate the density of an image's pixels and let them climb.

    Parameters
    ----------
    image : array-like
        Image of two or three dimensions, with channels or grey; booleans, integers or
        floats. Float RGB lies between 0 and 1.
    channel_axis : int or None, default=-1
        Axis of the channels; None for a grey image.
    convert2lab : bool, optional
        Whether to compare colours in Lab. None does so where there are three channels.
    max_pixels : int or None, default=10_000
        A larger image is reduced to about so many blocks; their means climb, and each
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
    >>> photo = astronaut()[::8, ::8]
    >>> model = image.fit(photo)
    >>> model.segment().shape
    (64, 64)
    >>> int(model.segment(n_segments=3).max()) + 1
    3
    """
    checked = check_image(image, channel_axis, convert2lab)
    if max_pixels is not None:
        max_pixels = check_integer("max_pixels", max_pixels, least=100)
    check_jobs(n_jobs)
    side = block_size(checked.space, max_pixels)
    if is_constant(checked.values):
        return constant_model(checked)
    show_progress = _make_show_progress(progress)
    return fit_model(checked, side, generator(random_state), n_jobs, show_progress)


def _make_show_progress(progress: bool | ShowProgress | None) -> ShowProgress:
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


def segment(
    image: ArrayLike,
    *,
    prominence: float = PROMINENCE,
    contrast: float = CONTRAST,
    n_segments: int | None = None,
    min_size: str | int = "auto",
    **options: Unpack[FitOptions],
) -> Integers:
    """Segment an image by the modes that its pixels climb to.

    Modes are merged, connected pieces that are too small join the neighbour they differ
    from least, and neighbours join where their border has little contrast.
    ``fit(image).segment(...)`` does the same, and tries other levels at no cost.

    Parameters
    ----------
    image : array-like
        As :func:`fit` takes it.
    prominence : float, default=0.3
        How far the log-density must fall between two modes for both to stay.
    contrast : float, default=0.5
        Neighbouring regions join where the contrast of their border is below this. It
        is the mean over the border of the geometric mean of two jumps, that of the
        image and that of the modes, in standard deviations of the image's colour,
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
        and ``progress``, see :func:`fit`; ``channel_axis=None`` for a grey image.

    Returns
    -------
    ndarray of int
        0 for the largest segment; the image's shape without its channels.

    Examples
    --------
    >>> import numpy as np
    >>> from modeseek import image
    >>> photo = np.zeros((20, 30, 3), dtype=np.uint8)
    >>> photo[5:15, 10:20] = 200, 50, 50
    >>> np.bincount(image.segment(photo).ravel())
    array([500, 100])
    """
    return fit(image, **options).segment(
        prominence=prominence,
        contrast=contrast,
        n_segments=n_segments,
        min_size=min_size,
    )


def smooth(
    image: ArrayLike, *, prominence: float = 0.0, **options: Unpack[FitOptions]
) -> NDArray[Any]:
    """Smooth an image and keep its edges: every pixel in the colour of its mode.

    ``fit(image).smooth(...)`` does the same, and tries other levels at no cost.

    Parameters
    ----------
    image : array-like
        As :func:`fit` takes it.
    prominence : float, default=0
        Merge modes of a smaller prominence first; 0 keeps every mode.
    **options
        As for :func:`segment`.

    Returns
    -------
    ndarray
        Shape and data type of the image.

    Examples
    --------
    >>> from skimage.data import astronaut
    >>> from modeseek import image
    >>> photo = astronaut()[::8, ::8]
    >>> smoothed = image.smooth(photo)
    >>> smoothed.shape, smoothed.dtype
    ((64, 64, 3), dtype('uint8'))
    """
    return fit(image, **options).smooth(prominence)
