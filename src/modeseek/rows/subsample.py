"""A deterministic subsample: a bounded number of rows, drawn where the rows are.

Rows are in the order of :mod:`modeseek.rows.ranking`: by their distance from the mean,
then by content. From each of a thousand starts, spread evenly over the weight of all
rows, the next rows of that order are taken. Rows of almost the same distance lie
anywhere around the mean, so they are as good as drawn by chance; and they depend on
the set of rows only, not on their order or chunks, nor on whether copies are written
out or given as a weight. A row of so much weight that a start lies on it is always
among them.

Starts are found without sorting. The bits of a positive number, read as an integer,
order like the number: counting rows by the leading bits of their distance tells which
of these bins hold the starts, and counting those alone by more bits narrows them, until
the rows left are few enough to be read into memory.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from modeseek.rows.arrays import Bools, Floats, Integers, Reals
from modeseek.rows.blocks import chunk_slices
from modeseek.rows.coordinates import power_of_two
from modeseek.rows.ranking import (
    DistanceFromMean,
    Ranking,
    Sample,
    draw_centers,
    settle_ties,
    take_sample,
)
from modeseek.rows.rounding import Rounding, find_rounding
from modeseek.rows.source import ArrayRows, Block, Source, read_all, stack
from modeseek.rows.summary import Summary, summarize

#: Rows taken at most; with fewer in all, each is taken.
SAMPLE_ROWS = 1 << 15

#: Starts from which they are taken. More follow small groups of rows far from the
#: mean more evenly, and take longer to find.
STARTS = 1024

#: Candidates read into memory at most, where rows differ, for each row to be taken.
CANDIDATES_PER_ROW = 10

#: Trailing bits of a distance that do not count at first, and bits added then: about
#: 16,000 bins while squared distances double, then 64 in each of the bins.
FIRST_SHIFT, NARROWING = 38, 6

#: Bins that are counted in an array of all of them, at most.
BINS_AT_ONCE = 1 << 18

#: Rows of a block.
COUNTED_ROWS = 1 << 16

Keys = NDArray[np.int64]

#: Numbers in the data of subsampled rows: they are not known.
NO_NUMBERS: Integers = np.empty(0, dtype=np.intp)

#: Beyond the bits of every distance.
LAST_KEY = np.iinfo(np.int64).max


class Spans(NamedTuple):
    """Ranges of distances, ascending and apart, and the weight of rows before each."""

    first: Keys  # (k,)
    last: Keys  # (k,) included
    before: Floats  # (k,)

    def find(self, keys: Keys) -> tuple[Integers, Bools]:
        """Return the span at or before each key, and whether it holds the key."""
        span = np.searchsorted(self.first, keys, side="right") - 1
        return span, (span >= 0) & (keys <= self.last[span])


class Counts(NamedTuple):
    """Rows in bins of distance."""

    bin: Keys  # (k,) ascending
    weight: Floats  # (k,)
    n_rows: Integers  # (k,)


class Candidates(NamedTuple):
    """Rows that may be taken; once sorted, with the weight of their copies."""

    block: Block
    position: Floats  # (m,)


class Overview(NamedTuple):
    """All rows: where they are, their summary, a subsample, and their rounding."""

    source: Source
    summary: Summary  # of all rows
    sample: Sample  # all rows, or a subsample: then its ``row`` is empty
    rounding: Rounding  # of the sample


def make_overview(source: Source, *, whole: bool, n_jobs: int | None) -> Overview:
    """Summarise all rows, and take all of them or a deterministic subsample.

    All are taken if they are few, or where ``whole`` says that no subsample will do.
    """
    summary = summarize(source)
    most = summary.n_rows if whole else SAMPLE_ROWS
    sample = _sample_of(source, summary, most, n_jobs)
    rounding = find_rounding(sample.X[sample.ranking.first])
    return Overview(source, summary, sample, rounding)


def larger_sample(overview: Overview, most: int, n_jobs: int | None = None) -> Sample:
    """Sample of more rows than an overview has: of all, or of so many."""
    n_rows = overview.summary.n_rows
    if len(overview.sample.X) >= min(n_rows, most):
        return overview.sample
    return _sample_of(overview.source, overview.summary, most, n_jobs)


def _sample_of(
    source: Source, summary: Summary, most: int, n_jobs: int | None
) -> Sample:
    """All rows, or a deterministic subsample of so many."""
    takes_all = summary.n_rows <= most
    if takes_all and source.in_memory:
        X, weight = source.rows_in_memory()
        return take_sample(X, _count_in_rows(weight, summary), n_jobs)
    if takes_all:
        X, weight = read_all(source)
        weight = _count_in_rows(weight, summary)
    else:
        X, weight = draw_subsample(source, summary, most=most)
    sample = take_sample(X, weight, n_jobs)
    return sample._replace(row=NO_NUMBERS, constant=summary.constant)


def _count_in_rows(weight: Floats | None, summary: Summary) -> Floats | None:
    """Weights with a mean of 1 unless they are counts; None where they are all 1."""
    if weight is None or summary.has_counts:
        return weight
    return None if (weight == weight[0]).all() else weight / summary.row_weight


def smaller_overview(
    overview: Overview, most: int, n_jobs: int | None = None
) -> Overview:
    """Overview of fewer rows: some of its distinct ones, as if they were all.

    Each gets the weight of its copies. Range, means, variances and rounding stay those
    of all rows. ``most`` is no more than the number of the sample's distinct rows.
    """
    sample = overview.sample
    drawn = draw_centers(sample.ranking, most, np.random.default_rng(0))
    rank = sample.ranking.rank
    count = np.bincount(rank, weights=sample.weight).astype(np.float64)[rank[drawn]]
    X, weight = sample.X[drawn], None if (count == count[0]).all() else count
    order = np.arange(most)  # drawn in the order of the ranking
    few = Sample(X, NO_NUMBERS, weight, Ranking(order, order), sample.constant)
    total = float(most if weight is None else weight.sum())
    squares = overview.summary.squares * (total / overview.summary.weight)
    summary = overview.summary._replace(
        n_rows=most, weight=total, squares=squares, has_counts=True
    )
    return Overview(ArrayRows(X, weight, n_jobs), summary, few, overview.rounding)


def draw_subsample(source: Source, summary: Summary, *, most: int) -> Block:
    """Draw a subsample that depends on the set of rows only, not on their order.

    It has ``most`` distinct rows, fewer than all. They have
    no weights where every row weighs 1 and differs from the others; otherwise weights
    have a mean of 1.
    """
    scale = float(power_of_two(summary.largest))
    distance = DistanceFromMean(scale, summary.mean * summary.unit / scale)
    n_starts = min(STARTS, most)
    run = most // n_starts
    share = summary.weight / n_starts
    chance = np.random.default_rng(0).random(n_starts)
    targets = (np.arange(n_starts) + chance) * share
    # Runs that touch push each other on, so that more rows than a run may be needed.
    ahead = 4 * run
    while True:
        spans = _locate(source, distance, summary, targets, ahead, most)
        many = summary.n_rows > CANDIDATES_PER_ROW * most
        kernel = partial(_pick, distance, spans, many)
        join = partial(_merge, most)
        found = _sort(source.reduce(kernel, join, size=COUNTED_ROWS))
        taken = _take(found, spans, targets, run)
        if taken is not None:
            return _weigh(found.block, taken, summary.weight, share)
        ahead *= 16  # copies made runs shorter than they were counted


def _locate(
    source: Source,
    distance: DistanceFromMean,
    summary: Summary,
    targets: Floats,
    ahead: int,
    most: int,
) -> Spans:
    """Spans that hold every target and the ``ahead`` rows after it, and few others."""
    spans = Spans(np.array([0]), np.array([LAST_KEY]), np.zeros(1))
    if summary.n_rows <= CANDIDATES_PER_ROW * most:
        return spans
    shift = FIRST_SHIFT
    while True:
        kernel = partial(_count, distance, spans, shift)
        counts = source.reduce(kernel, _add_counts, size=COUNTED_ROWS)
        spans, n_rows = _narrow(counts, shift, spans, targets, ahead)
        if n_rows <= CANDIDATES_PER_ROW * most or shift == 0:
            return spans
        shift = max(0, shift - NARROWING)


def _positions(distance: DistanceFromMean, X: Reals) -> Floats:
    parts = [distance.squared(X[rows]) for rows in chunk_slices(len(X), X.shape[1])]
    return np.concatenate(parts) if parts else np.empty(0)


def _keys(position: Floats) -> Keys:
    return position.view(np.int64)


def _count(
    distance: DistanceFromMean, spans: Spans, shift: int, block: Block
) -> Counts:
    """Count rows of the spans by the leading bits of their distance."""
    keys = _keys(_positions(distance, block.X))
    _, inside = spans.find(keys)
    w = None if block.weight is None else block.weight[inside]
    return _sum_bins(keys[inside] >> shift, w)


def _sum_bins(
    bins: Keys, weight: Floats | None = None, n_rows: Integers | None = None
) -> Counts:
    """Add up entries of the same bin; each weighs 1 and is one row if not told."""
    first = bins.min(initial=LAST_KEY)
    n_bins = int(bins.max(initial=first) - first) + 1
    if n_bins <= BINS_AT_ONCE:  # far faster than to sort them
        index, names = bins - first, None
    else:
        names, index = np.unique(bins, return_inverse=True)
        n_bins = len(names)
    rows = np.bincount(index, n_rows, n_bins)
    used = np.flatnonzero(rows)
    rows = rows[used].astype(np.intp)
    total = rows if weight is None else np.bincount(index, weight, n_bins)[used]
    return Counts(
        used + first if names is None else names, total.astype(np.float64), rows
    )


def _add_counts(one: Counts, other: Counts) -> Counts:
    return _sum_bins(*(np.concatenate(parts) for parts in zip(one, other, strict=True)))


def _before(span: Integers, spans: Spans, weight: Floats) -> Floats:
    """Weight of all rows before each entry; entries are in order, in their spans."""
    through = np.cumsum(weight)
    before = through - weight
    starts = np.searchsorted(span, np.arange(len(spans.first)))
    first = np.append(before, 0.0)[starts]  # the last for a span without an entry
    return np.asarray(before - first[span] + spans.before[span])


def _narrow(
    counts: Counts, shift: int, spans: Spans, targets: Floats, ahead: int
) -> tuple[Spans, int]:
    """Keep the bins of the targets and those of the ``ahead`` rows after them."""
    span, _ = spans.find(counts.bin << shift)
    before = _before(span, spans, counts.weight)
    start = np.maximum(0, np.searchsorted(before, targets, side="right") - 1)
    through = np.cumsum(counts.n_rows)
    end = np.searchsorted(through, through[start] + ahead)
    end = np.minimum(end, len(through) - 1)
    apart = np.append(True, start[1:] > np.maximum.accumulate(end)[:-1])
    first = start[apart]
    last = np.maximum.reduceat(end, np.flatnonzero(apart))
    n_rows = int((through[last] - through[first] + counts.n_rows[first]).sum())
    low, high = counts.bin[first] << shift, ((counts.bin[last] + 1) << shift) - 1
    if last[-1] == len(through) - 1 and spans.last[-1] == LAST_KEY:
        high[-1] = LAST_KEY
    return Spans(low, high, before[first]), n_rows


def _pick(
    distance: DistanceFromMean, spans: Spans, distinct: bool, block: Block
) -> Candidates:
    """Rows of the spans, each with its weight or, as distinct ones, that of its copies.

    Many rows may be copies of few, and what is picked travels.
    """
    position = _positions(distance, block.X)
    _, inside = spans.find(_keys(position))
    w = np.ones(len(position)) if block.weight is None else block.weight
    found = Candidates(Block(block.X, w), position)
    if not inside.all():
        found = Candidates(Block(block.X[inside], w[inside]), position[inside])
    return _sort(found) if distinct else found


def _merge(most: int, one: Candidates, other: Candidates) -> Candidates:
    """Put candidates together; in order, without copies, only where they are many."""
    position = np.concatenate([one.position, other.position])
    both = Candidates(stack(one.block, other.block), position)
    return _sort(both) if len(position) > 2 * CANDIDATES_PER_ROW * most else both


def _sort(found: Candidates) -> Candidates:
    (X, w), position = found
    assert w is not None
    if not len(X):
        return found
    order = np.argsort(position)  # ties are settled next, so any sort will do
    order, is_new = settle_ties(X, position, order)
    weight = np.add.reduceat(w[order], np.flatnonzero(is_new))
    order = order[is_new]
    return Candidates(Block(X[order], weight), position[order])


def _take(found: Candidates, spans: Spans, targets: Floats, run: int) -> Bools | None:
    """Choose the rows of every run; None if they are not all among the candidates."""
    weight = found.block.weight
    assert weight is not None
    span, _ = spans.find(_keys(found.position))
    before = _before(span, spans, weight)
    reached = np.searchsorted(before, targets, side="right") - 1
    n_before = np.searchsorted(span, np.arange(len(spans.first) + 1))
    taken = np.zeros(len(weight), dtype=bool)
    free = 0
    for start in np.unique(np.maximum(0, reached)):
        first = max(int(start), free)
        free = first + run
        here = span[start]
        if free > n_before[here + 1] and spans.last[here] != LAST_KEY:
            return None
        taken[first:free] = True
    return taken


def _weigh(block: Block, taken: Bools, total: float, share: float) -> Block:
    """Take rows; light ones get the weight of all light rows, and the mean is 1.

    A row of twice the weight of a share is not light: some start is always on it.
    """
    assert block.weight is not None
    X, w = block.X[taken], block.weight[taken]
    if (w == w[0]).all():
        return Block(X, None)
    heavy = w >= 2.0 * share
    weight = w.copy()
    if not heavy.all():
        weight[~heavy] *= (total - w[heavy].sum()) / w[~heavy].sum()
    return Block(X, weight / weight.mean())
