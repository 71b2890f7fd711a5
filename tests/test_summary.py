"""Range, mean and variance in one reduction, against NumPy on all rows."""

import itertools

import numpy as np
import pytest

from modeseek.rows.source import ArrayRows, Block, ChunkRows, FramedRows, read_all
from modeseek.rows.summary import summarize

rng = np.random.default_rng(0)
X = rng.standard_normal((50_000, 4)) * [1.0, 1e-200, 1e150, 0.0] + [1e6, 0.0, 0.0, 3.0]
X[:20_000, 1] = 0.0
WEIGHT = rng.integers(0, 4, len(X)).astype(float)


def chunks(weight):
    cuts = [0, 1, 30, 20_000, 20_000, len(X)]
    for i, j in itertools.pairwise(cuts):
        if j > i:
            yield Block(X[i:j], None if weight is None else weight[i:j])


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
def test_summary_is_that_of_all_rows(weight):
    for source in (ArrayRows(X, weight), ChunkRows(lambda: chunks(weight))):
        summary = summarize(source)
        kept = np.ones(len(X), bool) if weight is None else weight > 0
        rows, w = X[kept], None if weight is None else weight[kept]
        assert summary.n_rows == kept.sum()
        assert summary.weight == kept.sum() if w is None else w.sum()
        np.testing.assert_array_equal(summary.low, rows.min(axis=0))
        np.testing.assert_array_equal(summary.high, rows.max(axis=0))
        np.testing.assert_array_equal(summary.constant, [False, False, False, True])
        frame = summary.frame()
        scaled = rows / [1.0, 1e-200, 1e150, 1.0]
        mean = np.average(scaled, axis=0, weights=w)
        spread = np.sqrt(np.average((scaled - mean) ** 2, axis=0, weights=w))
        unit = np.array([1.0, 1e-200, 1e150])
        np.testing.assert_allclose(frame.origin[:3], (mean[:3] * unit), rtol=1e-7)
        np.testing.assert_allclose(frame.unit[:3], spread[:3] * unit, rtol=1e-9)
        assert frame.origin[3] == 3.0


def test_rows_of_weight_zero_do_not_count():
    Y = np.array([[1.0], [2.0], [1e9]])
    summary = summarize(ArrayRows(Y, np.array([1.0, 3.0, 0.0])))
    assert (summary.n_rows, summary.weight) == (2, 4.0)
    assert summary.high == 2.0
    assert summary.frame().origin == pytest.approx(1.75)


def test_a_framed_source_gives_rows_of_the_frame():
    Y = rng.standard_normal((100, 2))
    frame = summarize(ArrayRows(Y)).frame()
    rows = read_all(FramedRows(ArrayRows(Y), frame)).X
    np.testing.assert_array_equal(rows, frame.enter(Y))


def test_sources_tell_how_many_rows_there_are_and_hand_out_those_in_memory():
    Y, weight = np.ones((4, 2)), np.array([1.0, 0.0, 2.0, 1.0])
    here, apart = ArrayRows(Y, weight), ChunkRows(lambda: iter([Block(Y, weight)]))
    assert (here.n_rows, here.in_memory) == (4, True)
    assert here.rows_in_memory("so").X is Y
    assert (apart.n_rows, apart.in_memory) == (None, False)
    with pytest.raises(TypeError, match=r"in chunks or on Dask\. Give some"):
        apart.rows_in_memory("Give some.")
