"""Cytometry files (FCS): events, compensation, and the usual arcsinh transform.

Signals span decades. ``arcsinh(x / cofactor)`` is linear near zero and
logarithmic far from it; 5 is the usual cofactor of mass cytometry and 150 that of
fluorescence. Scatter stays linear; the clock is no property of a cell.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from modeseek.rows.arrays import Floats

#: Usual cofactors of arcsinh.
MASS_COFACTOR, FLUORESCENCE_COFACTOR = 5.0, 150.0

#: Channels that belong to the run and not to the cell.
CLOCKS = ("time", "event_length", "event #", "event_number")

#: Keywords that hold the compensation matrix, the standard's own first.
SPILL_KEYWORDS = ("spillover", "spill", "comp")

#: Keywords that say how events are stored.
LAYOUT = re.compile(r"timestep$|nextdata$|datatype$|p\d+[beg]$")


class Cytometry(NamedTuple):
    """Events of a file, linear and uncompensated, and what it says of its channels."""

    names: tuple[str, ...]  # markers of the channels, or else their detectors
    detectors: tuple[str, ...]
    events: Floats  # (n, d)
    text: dict[str, str]  # all keywords

    def clocks(self) -> list[str]:
        """Channels that count time or events."""
        pairs = zip(self.names, self.detectors, strict=True)
        return [name for name, detector in pairs if detector.lower() in CLOCKS]

    def scatter(self) -> list[str]:
        """Channels of scattered light."""
        pairs = zip(self.names, self.detectors, strict=True)
        return [n for n, detector in pairs if detector.lower()[:3] in ("fsc", "ssc")]

    def usual_cofactor(self) -> float:
        """Cofactor by the kind of instrument: only flow cytometers see scatter."""
        return FLUORESCENCE_COFACTOR if self.scatter() else MASS_COFACTOR


def read_fcs(path: Path) -> Cytometry:
    """Read a cytometry file; a broken one raises ValueError, whatever flowio raises."""
    import flowio

    try:
        with (
            path.open("rb") as handle,  # flowio leaves what it opens open on errors
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
        ):
            warnings.simplefilter("ignore")
            data = flowio.FlowData(handle)
            # A broken count of events would ask for any amount of memory.
            if data.event_count < 0 or data.channel_count < 1:
                raise ValueError("it says that it has no channels or events")
            events = np.asarray(data.as_array(preprocess=True), dtype=np.float64)
        detectors = tuple(str(name).strip() for name in data.pnn_labels)
        if len(detectors) != events.shape[1] or len(events) != data.event_count:
            raise ValueError("events do not match the channels it names")
        markers = [str(name or "").strip() for name in data.pns_labels]
        text = {str(key): str(value) for key, value in data.text.items()}
    except (MemoryError, OSError):
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
        if isinstance(error, KeyError):
            reason = f"no keyword {reason}"
        raise ValueError(f"not a readable FCS file ({reason})") from error
    pairs = zip(markers, detectors, strict=True)
    names = tuple(marker or detector for marker, detector in pairs)
    if len(set(names)) < len(names):
        names = detectors
    return Cytometry(names, detectors, events, text)


def spill_matrix(data: Cytometry) -> tuple[list[int], Floats] | None:
    """Channels and matrix of the compensation that the file asks for.

    Row i of the matrix is how the dye of channel i shows in every channel. None where
    the file has no matrix, or the identity.
    """
    for keyword in SPILL_KEYWORDS:
        if data.text.get(keyword, "").strip():
            break
    else:
        return None
    try:
        n, *rest = data.text[keyword].split(",")
        detectors = [cell.strip() for cell in rest[: int(n)]]
        cells = np.array(rest[int(n) :], dtype=np.float64)
        matrix = cells.reshape(len(detectors), len(detectors))
        channels = [data.detectors.index(name) for name in detectors]
    except ValueError as error:
        raise ValueError(f"keyword ${keyword.upper()} is not a matrix") from error
    if np.array_equal(matrix, np.eye(len(matrix))):
        return None
    if not np.isfinite(matrix).all() or np.linalg.cond(matrix) > 1e8:
        raise ValueError(f"the matrix of ${keyword.upper()} cannot be inverted")
    return channels, matrix


def compensate(events: Floats, spill: tuple[list[int], Floats] | None) -> Floats:
    """Undo the spill of dyes into other channels, in events of shape (n, d)."""
    if spill is None:
        return events
    channels, matrix = spill
    clean = events.copy()
    # Seen = true @ matrix, so true solves matrix' true' = seen'.
    clean[:, channels] = np.linalg.solve(matrix.T, events[:, channels].T).T
    return clean


def write_fcs(
    path: Path,
    events: Floats,
    detectors: Sequence[str],
    names: Sequence[str],
    text: dict[str, str],
) -> None:
    """Write events (n, d) in single precision, with the keywords of their source.

    Each channel has a detector and a name. Keywords that describe the layout are made
    anew.
    """
    import flowio

    markers: list[Any] = [
        "" if name == detector else _plain(name)
        for name, detector in zip(names, detectors, strict=True)
    ]
    # The events are linear now, whatever scale they were stored in.
    kept = {k: _plain(v) for k, v in text.items() if v and not LAYOUT.match(k)}
    with path.open("wb") as handle:
        flowio.create_fcs(
            handle, events.ravel(), [*map(_plain, detectors)], markers, kept
        )


def _plain(text: str) -> str:
    """Text as flowio can write it: ASCII, no delimiter at either end."""
    escaped = text.encode("ascii", "backslashreplace").decode()
    return re.sub("/$", "/ ", re.sub("^/", " /", escaped))
