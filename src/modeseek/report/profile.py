"""Sizes and means of clusters, for any cut of the merge tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from modeseek.cluster.features import scaling_of
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.plot.drawing import telling_features
from modeseek.report.packing import pack
from modeseek.rows.arrays import Floats, Integers

#: Features in the page at most, and numbers for all modes and features together.
MOST_FEATURES, MODE_VALUES = 60, 60_000

#: Rows that are summed at a time.
ROWS_AT_A_TIME = 65_536


class Profile:
    """Sums over the rows of every mode, from which those of any cluster follow."""

    def __init__(
        self, model: ModeClustering, rows: NDArray[np.floating], modes: Integers
    ) -> None:
        # In the model's frame numbers are near 1 whatever the unit of the data.
        frame = scaling_of(model)
        k, d = model.modes_.shape
        self.count = np.bincount(modes, minlength=k)
        self.sums, self.squares = np.zeros((k, d)), np.zeros((k, d))
        for start in range(0, len(rows), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            Z, m = frame.enter(rows[part]), len(modes[part])
            member = csr_array((np.ones(m), (modes[part], np.arange(m))), shape=(k, m))
            self.sums += member @ Z
            self.squares += member @ Z**2
        mean = self.sums.sum(axis=0) / len(rows)
        spread = np.sqrt(
            np.maximum(self.squares.sum(axis=0) / len(rows) - mean**2, 0.0)
        )
        spread[spread <= 1e-7 * np.abs(mean)] = 0.0  # rounding of a constant feature
        self._standardize(mean, spread)
        self.mean, self.deviation = frame.leave(mean), spread * frame.unit

    def _standardize(self, mean: Floats, spread: Floats) -> None:
        """Turn the sums into those of (z - mean) / spread."""
        divisor, n = np.where(spread > 0, spread, np.inf), self.count[:, None]
        self.squares += mean * (n * mean - 2.0 * self.sums)
        self.squares = np.maximum(self.squares, 0.0) / divisor / divisor
        self.sums = (self.sums - n * mean) / divisor

    def choose_features(self, labels: Integers) -> Integers:
        """Features that differ most between clusters, as many as the page takes."""
        k, d = self.sums.shape
        most = max(2, min(MOST_FEATURES, MODE_VALUES // k))
        if d <= most:
            return np.arange(d)
        member = np.zeros((int(labels.max()) + 1, k))
        member[labels, np.arange(k)] = 1.0
        size = np.maximum(member @ self.count, 1.0)
        return telling_features(member @ self.sums / size[:, None], size, most)

    def describe(self, names: list[str], kept: Integers) -> dict[str, Any]:
        """What the page needs of some features, ready for JSON."""
        return {
            "profiled": [names[j] for j in kept],
            "count": pack(self.count, "u4"),
            "sums": pack(self.sums[:, kept], "f4"),
            "squares": pack(self.squares[:, kept], "f4"),
            "mean": pack(self.mean[kept], "f8"),
            "deviation": pack(self.deviation[kept], "f8"),
        }
