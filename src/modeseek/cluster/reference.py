"""Rows of the fit that a model keeps, to compare others with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.rows.arrays import Floats
from modeseek.rows.coordinates import Frame
from modeseek.rows.ranking import draw_centers
from modeseek.rows.rounding import grain_of
from modeseek.rows.subsample import Overview

#: Rows that are kept at most, and numbers in them.
MOST_ROWS, MOST_VALUES = 5000, 1 << 20


class Reference(NamedTuple):
    """Distinct rows of the fit, in the data's coordinates."""

    rows: Floats  # (m, d)
    weight: Floats  # (m,) of each with its copies
    grain: float  # of their distances as features are scaled


def draw_reference(overview: Overview, frame: Frame) -> Reference:
    """Draw the rows to keep, by rank: the order of the rows does not matter."""
    ranking, X = overview.sample.ranking, overview.sample.X
    drawn, most = ranking.first, min(MOST_ROWS, max(1, MOST_VALUES // X.shape[1]))
    if len(drawn) > most:
        drawn = draw_centers(ranking, most, np.random.default_rng(0))
    count = np.bincount(ranking.rank, weights=overview.sample.weight)
    weight = count[ranking.rank[drawn]].astype(np.float64)
    grain = grain_of(scaling(frame).steps(overview.rounding.step))
    return Reference(X[drawn].astype(np.float64), weight, grain)


def scaling(frame: Frame) -> Frame:
    """The frame of all features that count, without its components."""
    return Frame(frame.origin, frame.unit)


Reference.__module__ = "modeseek.cluster"  # model files name it so
