"""Images in files: read as arrays, written back with what belongs to them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modeseek.errors import DataError
from modeseek.rows.arrays import Floats, Integers, group_means

#: Modes of Pillow that are taken as they are; others are converted to RGB.
PLAIN_MODES = ("L", "RGB", "I;16", "I", "F")

#: Quality of the images that lose some: their artefacts must not look like ours.
QUALITY = 95

#: Colour of borders between segments.
BORDER = (255, 220, 0)


class StoredImage(NamedTuple):
    """An image and what its file said besides."""

    pixels: NDArray[Any]  # (h, w) or (h, w, 3)
    alpha: NDArray[np.uint8] | None = None  # (h, w) opacity; takes no part in the work
    profile: bytes | None = None  # of its colours
    n_frames: int = 1  # images in the file, of which this is the first

    @property
    def channel_axis(self) -> int | None:
        """Axis of the channels, as :mod:`modeseek.image` wants it."""
        return -1 if self.pixels.ndim == 3 else None


def read_image(path: Path, name: str) -> StoredImage:
    """Read an image, the right way up; ``name`` is what messages call it.

    A file that is broken or no image raises :class:`DataError`.
    """
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            # Pillow warns of images that are large and refuses those twice as large.
            warnings.simplefilter("ignore")
            with Image.open(path) as file:
                n_frames = int(getattr(file, "n_frames", 1))
                profile = file.info.get("icc_profile")
                upright = ImageOps.exif_transpose(file)
                return _take(upright, profile, n_frames)
    except OSError as error:
        if error.errno is not None:
            raise
        raise DataError(f"{name}: {error}") from error
    except MemoryError:
        raise
    # A broken file meets its decoder anywhere, and decoders raise anything.
    except Exception as error:
        raise DataError(f"{name}: not a readable image ({error})") from error


def _take(image: Any, profile: bytes | None, n_frames: int) -> StoredImage:
    """Pixels and opacity of a Pillow image."""
    alpha = None
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        alpha = np.asarray(image.getchannel("A"))
    if image.mode not in PLAIN_MODES:
        image = image.convert("L" if image.mode == "1" else "RGB")
    return StoredImage(np.asarray(image), alpha, profile, n_frames)


def write_image(path: Path, name: str, source: StoredImage, pixels: Any) -> None:
    """Write pixels as an image, with the opacity and profile of their source.

    The ending of the path says the format; without one it is PNG. Pixels are (h, w) or
    (h, w, 3); ``name`` is what messages call the file.
    """
    from PIL import Image

    image = Image.fromarray(pixels)
    suffix = path.suffix.lower() or ".png"
    if source.alpha is not None and pixels.dtype == np.uint8:
        if suffix in (".jpg", ".jpeg", ".bmp"):
            raise DataError(f"{name}: this format has no opacity; write PNG.")
        image = image.convert("RGB")
        image.putalpha(Image.fromarray(source.alpha))
    options: dict[str, Any] = {}
    if source.profile:
        options["icc_profile"] = source.profile
    if suffix in (".jpg", ".jpeg", ".webp"):
        options["quality"] = QUALITY
    try:
        image.save(path, format=None if path.suffix else "PNG", **options)
    except (ValueError, KeyError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{name}: cannot be written ({error})") from error


def write_segments(
    path: Path, name: str, source: StoredImage, segments: Integers, draw: str
) -> None:
    """Write segments, drawn in one of three ways, or as an array if that is the ending.

    Segments number the pixels (h, w) of ``source``. They are drawn as "means" (each in
    its mean colour), "borders" (over the image) or "labels" (numbers as grey values).
    """
    if path.suffix.lower() == ".npy":
        with path.open("wb") as handle:
            np.save(handle, segments.astype(np.int32))
    elif draw == "labels":
        plain = StoredImage(source.pixels)
        write_image(path, name, plain, number_pixels(name, segments))
    elif draw == "borders":
        write_image(path, name, source, draw_borders(source.pixels, segments))
    else:
        means = mean_colors(source, segments)
        if source.pixels.dtype.kind in "iu":
            means = means.round()
        painted = means.astype(source.pixels.dtype)[segments]
        write_image(path, name, source, painted.reshape(source.pixels.shape))


def mean_colors(source: StoredImage, segments: Integers) -> Floats:
    """Mean colour of every segment, (n_segments, n_channels), of segments (h, w)."""
    flat = segments.ravel()
    return group_means(source.pixels.reshape(len(flat), -1), flat)


def draw_borders(pixels: NDArray[Any], segments: Integers) -> NDArray[np.uint8]:
    """The image as (h, w, 3), borders between segments (h, w) drawn over it."""
    drawn = _as_bytes(pixels)
    if drawn.ndim == 2:
        drawn = np.repeat(drawn[:, :, None], 3, axis=2)
    border = np.zeros(segments.shape, dtype=bool)
    border[:-1] |= segments[:-1] != segments[1:]
    border[:, :-1] |= segments[:, :-1] != segments[:, 1:]
    drawn[border] = BORDER
    return drawn


def _as_bytes(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels in eight bits, from their darkest to their brightest if need be."""
    if pixels.dtype == np.uint8:
        return pixels.copy()
    low, high = float(pixels.min()), float(pixels.max())
    scaled = (pixels.astype(np.float64) - low) / max(high - low, 1e-300)
    return np.asarray(255.0 * scaled).round().astype(np.uint8)


def number_pixels(name: str, segments: Integers) -> NDArray[np.uint16]:
    """Segments (h, w) as grey values of sixteen bits: the number of each."""
    if segments.max() > np.iinfo(np.uint16).max:
        raise DataError(f"{name}: more segments than an image can number; write NPY.")
    return segments.astype(np.uint16)
