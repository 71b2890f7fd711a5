"""Checks of what users pass in; every error says what is wrong and what to do."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from modeseek.frame import FARTHEST, Floats, Frame

#: Beyond this, sums and differences of two values may overflow.
LARGEST_VALUE = 1e300


def check_rows(
    estimator: BaseEstimator, X: ArrayLike, *, reset: bool
) -> NDArray[np.floating]:
    """Validate rows: two-dimensional, finite, real, of the width seen in fit."""
    rows: NDArray[np.floating] = validate_data(
        estimator,
        X,
        dtype=[np.float64, np.float32],
        ensure_min_samples=2 if reset else 1,
        reset=reset,
    )
    largest = np.abs(rows).max()
    if largest > LARGEST_VALUE:
        raise ValueError(
            f"X has values up to {largest:.3g}, whose differences overflow. Divide "
            f"the features by a constant so that they stay below {LARGEST_VALUE:g}."
        )
    return rows


def check_within_reach(frame: Frame, X: NDArray[np.floating]) -> None:
    """Refuse rows so far from the rest that distances among the rest vanish."""
    far = np.abs(X - frame.origin).max(axis=1) / frame.unit
    row = int(far.argmax())
    if far[row] > FARTHEST:
        raise ValueError(
            f"Row {row} of X lies {far[row]:.3g} typical distances away from the "
            "others. Such a value is usually a code for a missing one: remove the row "
            "or rescale the feature."
        )


def check_weights(weight: ArrayLike | None, n_rows: int) -> Floats | None:
    """Validate sample weights: one finite, non-negative number a row."""
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
        raise ValueError("sample_weight is zero for every row: nothing to fit.")
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


def check_candidates(name: str, value: Any, ndims: tuple[int, ...]) -> Floats:
    """Validate a positive number, or candidates to choose from."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be 'cv', a number or numbers; got {value!r}.")
    array = array.astype(np.float64)
    if array.ndim not in ndims or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; see its documentation.")
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


def is_word(value: Any, word: str) -> bool:
    """Whether a parameter that may also be numbers is this word."""
    return isinstance(value, str) and value == word
