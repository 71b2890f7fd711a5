"""Every odd picture at every entry point of modeseek.image, with its outcome."""

import dask.array
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from modeseek import image


def draw():
    picture = np.full((12, 16, 3), 60.0)
    picture[3:9, 4:12] = 200.0, 60.0, 50.0
    picture += np.random.default_rng(0).normal(0.0, 4.0, picture.shape)
    return picture.clip(0, 255).round().astype(np.uint8)


RGB = draw()
FLOATS = RGB / 255.0
GREY = FLOATS.mean(axis=-1)
PLAIN, WITHOUT_CHANNELS = {}, {"channel_axis": None}


def replaced(picture, value):
    changed = picture.copy()
    changed[2, 3] = value
    return changed


def read_only():
    picture = RGB.copy()
    picture.flags.writeable = False
    return picture


#: Pictures that give what a plain array of the same numbers gives.
RIGHT = {
    "one pixel": (RGB[:1, :1], PLAIN),
    "one row": (RGB[:1], PLAIN),
    "one column": (RGB[:, :1], PLAIN),
    "one colour": (np.zeros_like(RGB), PLAIN),
    "floats": (FLOATS, PLAIN),
    "single precision": (FLOATS.astype(np.float32), PLAIN),
    "half precision": (FLOATS.astype(np.float16), PLAIN),
    "other byte order": (FLOATS.astype(FLOATS.dtype.newbyteorder()), PLAIN),
    "values of 1e-308": (1e-308 * GREY, WITHOUT_CHANNELS),
    "values of 1e299": (1e299 * GREY, WITHOUT_CHANNELS),
    "integers": (RGB[..., 0].astype(int), WITHOUT_CHANNELS),
    "booleans": (RGB[..., 0] > 100, WITHOUT_CHANNELS),
    "read-only": (read_only(), PLAIN),
    "every other column": (np.repeat(RGB, 2, axis=1)[:, ::2], PLAIN),
    "backwards in memory": (RGB[::-1].copy()[::-1], PLAIN),
    "by columns": (np.asfortranarray(RGB), PLAIN),
    "a list": (RGB[..., 0].tolist(), WITHOUT_CHANNELS),
    "a frame": (pd.DataFrame(GREY), WITHOUT_CHANNELS),
    "a dask array": (dask.array.from_array(RGB), PLAIN),
    "a mask that hides nothing": (np.ma.masked_greater(FLOATS, 9.0), PLAIN),
}

NUMBERS = (TypeError, "image must hold numbers, got dtype")
SPACE = (ValueError, "two or three dimensions besides its channels.*give channel_axis")

#: Pictures and options that are refused, and how.
REFUSED = {
    "empty": (RGB[:0], PLAIN, ValueError, "image is empty: its shape is"),
    "no channels": (RGB[..., :0], PLAIN, ValueError, "image is empty"),
    "NaN": (replaced(FLOATS, np.nan), PLAIN, ValueError, "NaN or infinite. Fill them"),
    "infinity": (replaced(FLOATS, np.inf), PLAIN, ValueError, "NaN or infinite"),
    "1e308": (replaced(GREY, 1e308), WITHOUT_CHANNELS, ValueError, "Divide it by"),
    "a mask": (np.ma.masked_greater(RGB, 99), PLAIN, ValueError, "masked values. Fill"),
    "a mask over floats": (
        np.ma.masked_greater(FLOATS, 0.5),
        PLAIN,
        ValueError,
        "masked values",
    ),
    "integers without a range": (
        RGB.astype(int),
        PLAIN,
        ValueError,
        "uint8, uint16 or",
    ),
    "floats beyond 1": (300.0 * FLOATS, PLAIN, ValueError, "Scale it, or give"),
    "four channels": (
        np.dstack([RGB, RGB[..., 0]]),
        PLAIN,
        ValueError,
        "alpha, drop it",
    ),
    "a file": ("a.png", PLAIN, TypeError, "Read the file first"),
    "words": (np.full((4, 4, 3), "red"), PLAIN, *NUMBERS),
    "objects": (RGB.astype(object), PLAIN, *NUMBERS),
    "dates": (np.full((4, 4, 3), np.datetime64("2020-01-01")), PLAIN, *NUMBERS),
    "complex": (FLOATS + 1j, PLAIN, *NUMBERS),
    "sparse": (sparse.csr_matrix(GREY), WITHOUT_CHANNELS, *NUMBERS),
    "None": (None, PLAIN, *NUMBERS),
    "one dimension": (GREY[0], WITHOUT_CHANNELS, *SPACE),
    "five dimensions": (RGB[None, None], PLAIN, *SPACE),
    "grey without saying so": (GREY, PLAIN, *SPACE),
    "an axis that is not there": (
        RGB,
        {"channel_axis": 7},
        ValueError,
        "channel_axis is 7",
    ),
    "an axis by name": (RGB, {"channel_axis": "c"}, TypeError, "whole number"),
    "grey as colour": (
        GREY,
        {"channel_axis": None, "convert2lab": True},
        ValueError,
        "needs three channels",
    ),
    "too few pixels": (RGB, {"max_pixels": 3}, ValueError, "at least 100"),
    "half a pixel": (RGB, {"max_pixels": 300.5}, TypeError, "whole number"),
    "no threads": (RGB, {"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
    "a word as seed": (RGB, {"random_state": "s"}, ValueError, "seed"),
    "an unknown option": (RGB, {"colour": 3}, TypeError, "colour"),
}

LEVELS = {
    "prominence": [(-1.0, ValueError), ("low", TypeError), (np.nan, ValueError)],
    "contrast": [(-1.0, ValueError), (None, TypeError)],
    "n_segments": [(0, ValueError), (2.5, TypeError)],
    "min_size": [(-1, ValueError), (0.5, TypeError), ("tiny", TypeError)],
}


#: What the entry points give of plain arrays; many pictures are the same numbers.
EXPECTED = {}


def expected(entry, plain, options):
    key = entry, plain.shape, plain.dtype, plain.tobytes()
    if key not in EXPECTED:
        EXPECTED[key] = getattr(image, entry)(plain, **options)
    return EXPECTED[key]


@pytest.mark.parametrize("entry", ["segment", "smooth"])
@pytest.mark.parametrize("name", RIGHT)
def test_a_picture_is_its_numbers(name, entry):
    picture, options = RIGHT[name]
    array = np.asarray(picture)
    plain = np.array(array.tolist(), dtype=array.dtype.newbyteorder("="))
    result = getattr(image, entry)(picture, **options)
    np.testing.assert_array_equal(result, expected(entry, plain, options))


@pytest.mark.parametrize("name", RIGHT)
def test_the_model_of_a_picture_is_that_of_its_numbers(name):
    picture, options = RIGHT[name]
    model = image.fit(picture, **options)
    array = np.asarray(picture)
    plain = np.array(array.tolist(), dtype=array.dtype.newbyteorder("="))
    for entry in ("segment", "smooth"):
        result = expected(entry, plain, options)
        np.testing.assert_array_equal(getattr(model, entry)(), result)


@pytest.mark.parametrize("entry", ["fit", "segment", "smooth"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_picture_is_refused_in_words(name, entry):
    picture, options, error, message = REFUSED[name]
    with pytest.raises(error, match=f"(?s){message}"):
        getattr(image, entry)(picture, **options)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [(name, *case) for name, cases in LEVELS.items() for case in cases],
)
def test_a_level_is_refused_in_words(name, value, error):
    with pytest.raises(error, match=f"{name} must be"):
        image.segment(RGB, **{name: value})
    if name == "prominence":
        with pytest.raises(error, match=f"{name} must be"):
            image.smooth(RGB, prominence=value)
