"""Prominences in words: with their error, or as gaps that rows cannot measure.

At most all of n rows are at a mode where less than one is at the saddle: a ratio of
densities beyond n, a prominence beyond log n, says no more than that no row lies
between. Values far from all others, such as codes for missing ones, make such gaps.
"""

from __future__ import annotations

import numpy as np

#: What a gap is, for those who meet one.
GAP_IN_WORDS = (
    "a gap: no row lies between, and the number is no ratio of densities. Values far "
    "from all others, such as -999 for missing ones, make gaps, too."
)


def largest_prominence(n_rows: float) -> float:
    """Prominence beyond which so many rows tell no more than that there is a gap."""
    return float(np.log(n_rows))


def prominence_in_words(prominence: float, std_error: float, n_rows: float) -> str:
    """A prominence with its standard error, or that it is a gap."""
    if prominence > largest_prominence(n_rows):
        return f"{prominence:.3g}, a gap"
    return f"{prominence:.2f} ± {std_error:.2f}"
