"""Prominences in words: with their error, or as gaps that rows cannot measure.

At most all of n rows are at a mode where less than one is at the saddle: a ratio of
densities beyond n, a prominence beyond log n, says no more than that no row lies
between. Values far from all others, such as codes for missing ones, make such gaps.
"""

from __future__ import annotations

import numpy as np


def is_gap(prominence: float, n_rows: float) -> bool:
    """Whether a prominence is more than so many rows can tell."""
    return bool(prominence > np.log(n_rows))


def prominence_in_words(prominence: float, std_error: float, n_rows: float) -> str:
    """A prominence with its standard error, or that it is a gap."""
    if is_gap(prominence, n_rows):
        return f"{prominence:.3g}, a gap"
    return f"{prominence:.2f} ± {std_error:.2f}"
