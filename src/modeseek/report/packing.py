"""Numbers and texts as the web page carries them: compact, and safe within HTML."""

from __future__ import annotations

import base64
import gzip

import numpy as np
from numpy.typing import ArrayLike


def pack(values: ArrayLike, kind: str) -> dict[str, str]:
    """An array as its little-endian bytes in base64, with its type.

    ``kind`` is the type of the numbers as NumPy calls it without the order of bytes,
    such as "f8". The entries that come back are ``type`` and ``bytes``.
    """
    array = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {"type": kind, "bytes": base64.b64encode(array.tobytes()).decode("ascii")}


def compress(text: str) -> str:
    """Text as gzip in base64, the same bytes every time."""
    packed = gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0)
    return base64.b64encode(packed).decode("ascii")
