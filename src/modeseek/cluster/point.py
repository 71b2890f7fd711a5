"""Rows that are all equal: a landscape of one point, and one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from modeseek.cluster.climbing import Climbed
from modeseek.cluster.fitting import Fitted, Settings, fit_landscape, make_estimator
from modeseek.errors import warn_user
from modeseek.graph.landscape import GraphLandscape
from modeseek.graph.row_graph import point_graph
from modeseek.rows.coordinates import Frame, power_of_two
from modeseek.rows.ranking import EqualRows, Ranking, Sample
from modeseek.rows.rounding import find_rounding
from modeseek.rows.source import Source
from modeseek.rows.subsample import NO_NUMBERS, Overview
from modeseek.rows.summary import summarize


def fit_rows(
    settings: Settings, source: Source, names: Sequence[str] | None = None
) -> Fitted:
    """Fit a landscape to rows, also to those that have no density.

    A gradient of equal rows does not exist, and its estimators refuse them. Their
    cluster does: loops over groups go on, as with scikit-learn's clusterers.
    """
    if source.n_rows != 1:
        with suppress(EqualRows):
            return fit_landscape(settings, source, names)
    with source.session():
        summary = summarize(source)
    reason = "X has one row" if summary.n_rows == 1 else "All rows of X are equal"
    warn_user(f"{reason}: that is one cluster, and there is no density to estimate.")
    row, order = summary.low[None], np.zeros(1, dtype=np.intp)
    unit = float(power_of_two(max(1.0, float(np.abs(row).max()))))
    graph, tree = point_graph(np.zeros_like(row))
    frame, weight = Frame(summary.low, unit), np.array([summary.n_counted])
    landscape = GraphLandscape(frame, row, graph, weight, tree)
    sample = Sample(row, NO_NUMBERS, None, Ranking(order, order), summary.constant)
    overview = Overview(source, summary, sample, find_rounding(row))
    climbed = Climbed(landscape, None, 1, 0, 0, 1)
    estimator = make_estimator(settings)
    return Fitted(estimator, overview, "rows", climbed, frame, f"{reason}.", {})
