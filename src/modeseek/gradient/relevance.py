"""Which features matter: those along which the gradient is not a Gaussian's."""

from __future__ import annotations

import numpy as np

from modeseek.field.fields import Field
from modeseek.gradient.base import gradient_rows
from modeseek.rows.arrays import Floats
from modeseek.rows.coordinates import Frame
from modeseek.rows.ranking import Sample, draw_centers
from modeseek.rows.summary import Summary

#: Rows on which the relevance of features is measured.
RELEVANCE_ROWS = 2000


def measure_relevance(
    field: Field,
    frame: Frame,
    sample: Sample,
    summary: Summary,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> Floats:
    """Share (d,) of each feature in what is not Gaussian about the gradient.

    It is measured at rows drawn from the sample, against the means and variances of
    the summary; zero for constant features, and the shares sum to 1.
    """
    n_drawn = min(RELEVANCE_ROWS, len(sample.ranking.first))
    drawn = draw_centers(sample.ranking, n_drawn, rng)
    spread = summary.frame()
    U = spread.enter(sample.X[drawn])
    g = gradient_rows(field, frame.enter(sample.X[drawn]), n_jobs)
    away = g * (spread.unit / frame.unit) + U
    _, power = np.frexp(np.abs(away).max())  # only shares matter, and squares overflow
    excess = np.square(np.ldexp(away, -power)).mean(axis=0)
    excess[summary.constant] = 0.0
    total = excess.sum()
    even = (~summary.constant).astype(np.float64)
    return np.asarray(excess / total if total > 0 else even / even.sum())
