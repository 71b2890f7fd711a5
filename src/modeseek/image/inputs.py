"""Images as users give them: checks, channels last, colours that can be compared.

The only file that knows scikit-image.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from modeseek.image.regions import Labels
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.validation import LARGEST_VALUE, check_integer, refuse_masked

try:
    from skimage.color import lab2rgb, rgb2lab
    from skimage.measure import label
except ImportError as error:
    raise ImportError(
        "modeseek.image needs scikit-image: pip install 'modeseek[image]'"
    ) from error


class ColorSpace(NamedTuple):
    """Between the values of an image and the colours that are compared."""

    lab: bool
    scale: float  # value that becomes 1
    low: float
    high: float
    dtype: np.dtype[Any]

    def enter(self, values: NDArray[np.generic]) -> Floats:
        """Colours of values, (..., channels)."""
        scaled = np.asarray(values, dtype=np.float64) / self.scale
        return np.asarray(rgb2lab(scaled)) if self.lab else scaled

    def leave(self, colors: Floats) -> NDArray[np.generic]:
        """Values of colours, rounded and held within the range of the data type."""
        values = colors
        if self.lab:
            with warnings.catch_warnings():  # out of gamut; clipped below
                warnings.simplefilter("ignore", UserWarning)
                values = lab2rgb(colors)
        values = np.clip(values * self.scale, self.low, self.high)
        if self.dtype.kind != "f":
            values = np.rint(values)
        return np.asarray(values.astype(self.dtype))


class CheckedImage(NamedTuple):
    """An image as it is looked at: channels last."""

    values: NDArray[np.generic]  # (*space, channels), a view of the user's array
    color_space: ColorSpace
    channel_axis: int | None

    @property
    def space(self) -> tuple[int, ...]:
        """Shape without the channels."""
        return self.values.shape[:-1]


def check_image(
    image: ArrayLike, channel_axis: int | None, convert2lab: bool | None
) -> CheckedImage:
    """Validate an image and bring its channels to the last axis.

    Arguments are those of :func:`modeseek.image.fit`, as users give them.
    """
    if isinstance(image, str | bytes | PathLike):
        raise TypeError(
            f"image must be an array, got {image!r}. Read the file first, for "
            "example with skimage.io.imread."
        )
    refuse_masked("image", image)
    array = np.asarray(image)
    if array.dtype.kind not in "buif":
        raise TypeError(f"image must hold numbers, got dtype {array.dtype}.")
    if array.size == 0:
        raise ValueError(f"image is empty: its shape is {array.shape}.")
    values = _channels_last(array, channel_axis)
    lab = _use_lab(values.shape, channel_axis, convert2lab)
    if array.dtype.kind == "f":
        _check_floats(array, lab)
    elif lab and array.dtype not in (np.bool_, np.uint8, np.uint16):
        raise ValueError(
            f"image has dtype {array.dtype}, whose range says nothing about colours. "
            "Give RGB as uint8, uint16 or floats between 0 and 1, or "
            "convert2lab=False."
        )
    return CheckedImage(values, _make_color_space(array, lab), channel_axis)


def _channels_last(array: NDArray[Any], channel_axis: int | None) -> NDArray[Any]:
    n_dims = array.ndim - (channel_axis is not None)
    wish = "For channels give channel_axis."
    if channel_axis is not None:
        wish = "For a grey image give channel_axis=None."
        axis = check_integer("channel_axis", channel_axis, least=-array.ndim)
        if axis >= array.ndim:
            raise ValueError(
                f"channel_axis is {axis}, but image has shape {array.shape}."
            )
    if n_dims not in (2, 3):
        raise ValueError(
            "image must have two or three dimensions besides its channels; its shape "
            f"is {array.shape} and channel_axis={channel_axis}. {wish}"
        )
    if channel_axis is None:
        return array[..., None]
    return np.moveaxis(array, channel_axis, -1)


def _use_lab(
    shape: tuple[int, ...], channel_axis: int | None, convert2lab: bool | None
) -> bool:
    if convert2lab is None:
        if shape[-1] == 4:
            raise ValueError(
                "image has four channels. If the last is alpha, drop it, for example "
                "image[..., :3]; if they are four bands, give convert2lab=False."
            )
        return shape[-1] == 3
    if convert2lab and (channel_axis is None or shape[-1] != 3):
        raise ValueError(
            f"convert2lab=True needs three channels (RGB); image has {shape[-1]}."
        )
    return bool(convert2lab)


def _check_floats(array: NDArray[Any], lab: bool) -> None:
    bad = int(array.size - np.isfinite(array).sum())
    if bad:
        raise ValueError(
            f"image has {bad} values that are NaN or infinite. Fill them first, for "
            "example with skimage.restoration.inpaint_biharmonic."
        )
    largest = float(np.abs(array).max())
    if largest > LARGEST_VALUE:
        raise ValueError(
            f"image has values up to {largest:.3g}, whose differences overflow. Divide "
            f"it by a constant so that they stay below {LARGEST_VALUE:g}."
        )
    if lab and (array.min() < 0.0 or array.max() > 1.0):
        raise ValueError(
            f"image has float values from {array.min():g} to {array.max():g}, and RGB "
            "must lie between 0 and 1 to be compared in Lab. Scale it, or give "
            "convert2lab=False."
        )


def _make_color_space(array: NDArray[Any], lab: bool) -> ColorSpace:
    kind = array.dtype.kind
    if kind in "ui":
        limits = np.iinfo(array.dtype)
        low, high = float(limits.min), float(limits.max)
        if int(high) > limits.max:  # 64 bits: rounded up
            high = float(np.nextafter(high, 0.0))
    elif kind == "b" or lab:
        low, high = 0.0, 1.0
    else:
        low, high = float(array.min()), float(array.max())
    largest = max(abs(float(array.min())), abs(float(array.max())))
    return ColorSpace(lab, high if lab else largest or 1.0, low, high, array.dtype)


def is_constant(values: NDArray[Any]) -> bool:
    """Whether all pixels of (*space, channels) are equal."""
    rows = values.reshape(-1, values.shape[-1])
    return all(bool((rows[:, k] == rows[0, k]).all()) for k in range(rows.shape[1]))


def find_pieces(labels: Labels) -> Integers:
    """Number the connected pieces of a label image from 0; faces connect."""
    find: Callable[..., Integers] = label  # untyped
    return find(labels, connectivity=1, background=-1) - 1
