"""Checks of what users pass in; every error says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_array, validate_data

from modeseek.rows.arrays import Bools, Floats, Integers, Reals
from modeseek.rows.coordinates import FARTHEST, Frame, typical_distance

#: Beyond this, sums and differences of two values may overflow.
LARGEST_VALUE = 1e300

#: Below this typical distance, second derivatives may overflow.
SMALLEST_UNIT = 1e-140

#: How NumPy and scikit-learn begin to say that a value is no number ...
NO_NUMBER = ("could not convert string", "float() argument must be")

#: ... and what to do about it.
ONLY_NUMBERS = "X must hold numbers only: encode other columns, or leave them out."

#: How scikit-learn says that rows are sparse, and what to do about it.
SPARSE = "Sparse data was passed"
FEWER_FEATURES = (
    "Where that is too large, give components instead: X = sklearn.decomposition."
    "TruncatedSVD(50, random_state=0).fit_transform(X)."
)

#: How the names of types of dates and durations begin, in NumPy, pandas, polars, Arrow.
TIMES = ("date", "time", "duration")

#: Sums of weights beyond these may overflow, or lose their digits.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100

#: Widths, in typical distances: below, rounding swamps what is near; beyond, nothing
#: is left of the model.
NARROWEST_WIDTH, WIDEST_WIDTH = 1e-6, 1e20

#: The narrowest of features with a width each, in the same: the fourth power of its
#: inverse is summed over rows.
LEAST_WIDTH = 1e-70

#: Relative to the scale of the moments: beyond, the penalty is lost in rounding or
#: leaves nothing of the model.
SMALLEST_ALPHA, LARGEST_ALPHA = 1e-15, 1e15


def check_rows(
    estimator: BaseEstimator, X: ArrayLike, *, reset: bool, least: int | None = None
) -> Reals:
    """Validate rows: two-dimensional, finite, real, of the width seen in fit.

    At least two of them to fit on, one otherwise, unless ``least`` says how many.
    """
    _refuse_what_numpy_takes(X)
    with _clear_errors():
        rows: Reals = validate_data(
            estimator,
            X,
            dtype=[np.float64, np.float32],
            ensure_min_samples=least or (2 if reset else 1),
            reset=reset,
        )
    _check_size(rows)
    return rows


def check_block(X: ArrayLike, weight: ArrayLike | None) -> tuple[Reals, Floats | None]:
    """Validate rows of a chunk, where no estimator is at hand, and their weights."""
    _refuse_what_numpy_takes(X)
    with _clear_errors():
        rows = check_array(X, dtype=[np.float64, np.float32], input_name="X")
    _check_size(rows)
    return rows, check_weights(weight, len(rows), some=False)


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Say what to do where scikit-learn only says what is wrong."""
    try:
        # The check for infinities sums the values, which may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (TypeError, ValueError) as error:
        if str(error).startswith(NO_NUMBER):
            raise type(error)(f"{error}. {ONLY_NUMBERS}") from error
        if str(error).startswith(SPARSE):
            raise type(error)(f"{error} {FEWER_FEATURES}") from error
        raise


def _check_size(rows: Reals) -> None:
    largest = max(-float(rows.min()), float(rows.max()))
    if largest > LARGEST_VALUE:
        raise ValueError(
            f"X has values up to {largest:.3g}, whose differences overflow. Divide "
            f"the features by a constant so that they stay below {LARGEST_VALUE:g}."
        )


def refuse_masked(name: str, array: Any) -> None:
    """Refuse masked values: NumPy takes what lies below the mask without a word."""
    n_masked = int(np.ma.getmaskarray(array).sum()) if np.ma.isMaskedArray(array) else 0
    if n_masked:
        raise ValueError(
            f"{name} has {n_masked} masked values. Fill them, for example with "
            f"{name}.filled, or leave them out."
        )


def _refuse_what_numpy_takes(X: ArrayLike) -> None:
    """Refuse masks and dates, which NumPy turns into numbers without a word."""
    refuse_masked("X", X)
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        raise TypeError("X is a lazy frame: give the rows themselves, X.collect().")
    columns = getattr(X, "dtypes", getattr(getattr(X, "schema", None), "types", None))
    dtypes = columns if np.iterable(columns) else [getattr(X, "dtype", None)]
    if any(str(dtype).lower().startswith(TIMES) for dtype in dtypes):
        raise TypeError(
            "X holds dates or durations, whose numbers depend on their unit. Convert "
            "them, for example to days since the first: (date - first) / one_day."
        )


def check_within_reach(frame: Frame, X: Reals, row: Integers | None = None) -> None:
    """Refuse rows so far from the rest that distances among the rest vanish.

    The unit of the frame is a typical distance; ``row`` has the numbers that users
    know.
    """
    # The range of all features together is found at once, and nearly always enough.
    widest = np.array([[X.min()], [X.max()]]).repeat(X.shape[1], axis=1)
    if not _beyond(frame, widest).any():
        return
    low, high = X.min(axis=0), X.max(axis=0)
    if not _beyond(frame, np.stack([low, high])).any():
        return
    i, j = np.argwhere(_beyond(frame, X))[0]
    raise ValueError(
        f"Row {i if row is None else row[i]} of X lies "
        f"{_far_away(frame, float(X[i, j]), j)}"
    )


def check_range(frame: Frame, low: Floats, high: Floats) -> None:
    """Refuse what :func:`check_within_reach` refuses, where only the range is known."""
    both = np.stack([low, high])
    beyond = _beyond(frame, both)
    if beyond.any():
        i, j = np.argwhere(beyond)[0]
        raise ValueError(
            f"A row of X, {both[i, j]:.3g} in feature {j}, lies "
            f"{_far_away(frame, float(both[i, j]), j)}"
        )


def _beyond(frame: Frame, X: Reals) -> Bools:
    unit = np.broadcast_to(frame.unit, X.shape[1:])
    if unit.min() < SMALLEST_UNIT:
        raise ValueError(
            f"The rows of X lie only {unit.min():.3g} apart, and derivatives of their "
            "density overflow. Multiply the features by a constant."
        )
    return np.asarray(np.abs(X - frame.origin) / FARTHEST > unit)


def _far_away(frame: Frame, value: float, j: int) -> str:
    unit = np.broadcast_to(frame.unit, frame.origin.shape)
    return (
        f"{abs(value - frame.origin[j]):.3g} away from the others, whose typical "
        f"distance is {unit[j]:.3g}. Such a value is usually a code for a missing "
        "one: remove the row or rescale the feature."
    )


def check_weights(
    weight: ArrayLike | None, n_rows: int, *, some: bool = True
) -> Floats | None:
    """Validate sample weights: one finite, non-negative number a row.

    One of them must be positive, unless ``some`` is False.
    """
    if weight is None:
        return None
    w = np.asarray(weight)
    if w.dtype.kind not in "biuf":
        raise ValueError(f"sample_weight must be numbers, got dtype {w.dtype}.")
    w = np.asarray(w, dtype=np.float64)
    if w.ndim == 0:
        w = np.full(n_rows, float(w))
    if w.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one entry a row: shape ({n_rows},), got "
            f"{w.shape}."
        )
    if not np.isfinite(w).all():
        raise ValueError("sample_weight has NaN or infinite entries.")
    if (w < 0).any():
        raise ValueError("sample_weight has negative entries.")
    if not (w > 0).any():
        if some:
            raise ValueError("sample_weight is zero for every row: nothing to fit.")
        return w
    if w.max() > LARGEST_WEIGHT or w[w > 0].min() < SMALLEST_WEIGHT:
        raise ValueError(
            f"sample_weight must be zero or between {SMALLEST_WEIGHT:g} and "
            f"{LARGEST_WEIGHT:g}; got {w[w > 0].min():g} to {w.max():g}."
        )
    return w


def check_integer(name: str, value: Any, least: int) -> int:
    """Validate a whole number parameter."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.")
    return int(value)


def check_real(name: str, value: Any, *, least: float) -> float:
    """Validate a finite real parameter."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    if not np.isfinite(number) or number < least:
        raise ValueError(f"{name} must be finite and at least {least}, got {value}.")
    return number


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Validate a parameter that is one of a few words."""
    if not isinstance(value, str) or value not in choices:
        words = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {words}; got {value!r}.")
    return value


def check_jobs(n_jobs: Any) -> int | None:
    """Validate ``n_jobs``."""
    if n_jobs is None:
        return None
    if check_integer("n_jobs", n_jobs, least=-(2**31)) == 0:
        raise ValueError("n_jobs must not be 0: a number of threads, or -1 for all.")
    return int(n_jobs)


def check_folds(cv: Any, n_rows: int) -> int | Integers:
    """Validate ``cv``: a number of folds, or splits of the rows into (train, test).

    Returns the number, or the fold that each row is held out with (-1: none).
    """
    if isinstance(cv, Integral) or not (hasattr(cv, "split") or np.iterable(cv)):
        return check_integer("cv", cv, least=2)
    fold = np.full(n_rows, -1, dtype=np.intp)
    rows = np.arange(n_rows)
    for k, (train, test) in enumerate(check_cv(cv).split(rows)):
        twice = fold[test] >= 0
        if twice.any() or not np.array_equal(np.sort(train), np.delete(rows, test)):
            raise ValueError(
                "Every split of cv must judge rows that no other split judges, and "
                "train on all the rest: use KFold or a number of folds."
            )
        fold[test] = k
    return fold


def _check_numbers(name: str, value: Any, ndims: tuple[int, ...]) -> Floats:
    """Validate a number, or several with so many axes."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be 'cv', a number or numbers; got {value!r}.")
    if array.ndim not in ndims or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; see its documentation.")
    return array.astype(np.float64)


def check_candidates(name: str, value: Any, ndims: tuple[int, ...]) -> Floats:
    """Validate a positive number, or candidates to choose from."""
    array = _check_numbers(name, value, ndims)
    if not (np.isfinite(array) & (array > 0)).all():
        raise ValueError(f"{name} must be positive and finite; got {value!r}.")
    return array


def check_widths(bandwidth: Any, d: int) -> Floats:
    """Validate widths: shape (n_candidates, n_features)."""
    widths = check_candidates("bandwidth", bandwidth, (0, 1, 2))
    if widths.ndim < 2:
        widths = np.repeat(np.atleast_1d(widths)[:, None], d, axis=1)
    if widths.shape[1] != d:
        raise ValueError(
            f"bandwidth gives {widths.shape[1]} widths a candidate, but X has {d} "
            "features."
        )
    return widths


def check_alphas(alpha: Any) -> Floats:
    """Validate penalties: ascending, shape (n_candidates,)."""
    alphas = np.sort(np.atleast_1d(check_candidates("alpha", alpha, (0, 1))))
    if alphas[0] < SMALLEST_ALPHA or alphas[-1] > LARGEST_ALPHA:
        raise ValueError(
            f"alpha must lie between {SMALLEST_ALPHA:g} and {LARGEST_ALPHA:g}; got "
            f"{alpha!r}."
        )
    return alphas


def check_gammas(gamma: Any) -> Floats:
    """Validate strengths between tasks: ascending, shape (n_candidates,)."""
    gammas = np.sort(np.atleast_1d(_check_numbers("gamma", gamma, (0, 1))))
    if not (gammas[0] >= 0.0 and gammas[-1] <= LARGEST_ALPHA):  # NaN is the last
        raise ValueError(
            f"gamma must lie between 0 and {LARGEST_ALPHA:g}; got {gamma!r}."
        )
    return gammas


def check_similarity(similarity: Any, d: int) -> Floats:
    """Validate similarities of features: symmetric, from 0 to 1, shape (d, d)."""
    array = np.asarray(similarity)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            "similarity must be 'ones', 'learned' or an array of numbers; got "
            f"{similarity!r}."
        )
    array = array.astype(np.float64)
    if array.shape != (d, d):
        raise ValueError(
            f"similarity must have shape ({d}, {d}), a row and a column for each "
            f"feature; got {array.shape}."
        )
    if not ((array >= 0.0) & (array <= 1.0)).all() or (array != array.T).any():
        raise ValueError("similarity must be symmetric, with entries from 0 to 1.")
    return array


def check_widths_match(widths: Floats, C: Floats) -> None:
    """Refuse widths out of all proportion to the distances between some rows C.

    Both are in the frame; a width is infinite for a feature that is not in the model.
    """
    finite = widths[np.isfinite(widths)]
    if LEAST_WIDTH > finite.min(initial=np.inf) < finite.max(initial=0.0):
        raise ValueError(
            "bandwidth has widths so far apart that their squares overflow: bring the "
            "features to one scale, for instance with StandardScaler."
        )
    least = (widths == widths.min(axis=0)).all(axis=1)
    narrowest = widths[least][:1] if least.any() else widths
    with np.errstate(over="ignore"):  # clipped at once
        scaled = [np.clip(C / row, -FARTHEST, FARTHEST) for row in narrowest]
    narrow = max(map(typical_distance, scaled)) > 1.0 / NARROWEST_WIDTH
    if narrow or widths[np.isfinite(widths)].max() > WIDEST_WIDTH:
        raise ValueError(
            f"bandwidth must lie between {NARROWEST_WIDTH:g} and {WIDEST_WIDTH:g} "
            "times the typical distance between rows."
        )


def is_word(value: Any, word: str) -> bool:
    """Whether a parameter that may also be numbers is this word."""
    return isinstance(value, str) and value == word
