"""Features that are no measurements, and values that stand for missing ones.

The density along a feature says something about clusters where the feature was
measured. A number given to every row is spread evenly, whatever the rows are. Each of
two or three values is a peak that no row lies between, unless nearly all rows have one
of them. Where most features have few values, that is what was measured.

Whole numbers that were measured are now and then equal. Among n rows with values from a
range of r whole numbers, at least :math:`n (n - 1) / 2r` pairs are so on average; where
that is :data:`EQUAL_PAIRS` and none is, chance has a part of 1 in 1000 in it, and the
numbers were given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from modeseek.errors import warn_user
from modeseek.rows.arrays import Bools, Floats, Integers, Reals
from modeseek.rows.rounding import FEWEST_ROWS
from modeseek.rows.subsample import Overview

#: Values of a feature that is no measurement, at most ...
FEW_VALUES = 3

#: ... unless one of them has a larger share of the rows than this, ...
MOST_OF_ALL = 0.9

#: ... or most features have fewer values than this.
MANY_VALUES = 10

#: Equal pairs that chance makes on average where numbers without any were given.
EQUAL_PAIRS = 7.0

#: Names of features that number rows, also where the numbers are far apart.
NUMBER_NAMES = re.compile(r"(?i:(^|[\W_])(id|index|key))$|[a-z]I[dD]$")

#: A value may be a code where it is so many times as far from the next as all others
#: are from each other, and these are so many.
FAR_OFF, VALUES_BESIDE_CODE = 3.0, 10

#: Codes that people write, and how far off these need to be.
USUAL_CODES, USUALLY_FAR = (99.0, 999.0, 9999.0, 99999.0, 999999.0), 0.3


class FeatureWarning(UserWarning):
    """Features look like no measurements, or hold codes; says which, and what to do."""


def find_unmeasured(
    n_values: Integers, largest_share: Floats, numbered: Bools
) -> dict[int, str]:
    """Features that are no measurements, and why in words; never all of them.

    ``n_values`` (d,) counts the distinct values of each feature, ``largest_share`` (d,)
    is the share of rows with its most frequent one, and ``numbered`` (d,) says which
    features number the rows.
    """
    constant = n_values == 1
    if constant.all():
        return {}
    numbered = numbered & (2 * numbered.sum() <= (~constant).sum())  # or they are ranks
    few = (n_values <= FEW_VALUES) & ~constant & (largest_share <= MOST_OF_ALL)
    measured = (n_values >= MANY_VALUES) & ~numbered
    if measured.sum() < (~constant & ~numbered & ~measured).sum():
        few[:] = False
    why = dict.fromkeys(np.flatnonzero(numbered).tolist(), "numbers the rows")
    why |= {j: f"{n_values[j]} values" for j in np.flatnonzero(few).tolist()}
    why |= dict.fromkeys(np.flatnonzero(constant).tolist(), "one value")
    return {j: why[j] for j in sorted(why)}


def numbers_rows(x: Reals, name: str = "") -> bool:
    """Whether values, one for each row, are numbers that were given to the rows."""
    n, span = len(x), float(x.max()) - float(x.min()) + 1.0
    if n * (n - 1) < 2.0 * EQUAL_PAIRS * span and not NUMBER_NAMES.search(name):
        return False
    return bool((x == np.rint(x)).all()) and len(np.unique(x)) == n


def unmeasured_features(
    overview: Overview, names: Sequence[str] | None = None
) -> dict[int, str]:
    """Features of an overview that are no measurements; see :func:`find_unmeasured`.

    Constant ones are not among them: they change no distance.
    """
    (_, summary, sample, rounding), d = overview, overview.sample.X.shape[1]
    if len(sample.ranking.first) < FEWEST_ROWS:
        return {}
    # A row that is there twice has no number of its own.
    copies = len(sample.ranking.first) < len(sample.X) or (
        summary.has_counts
        and (summary.weight > summary.n_rows or sample.weight is not None)
    )
    numbered = np.zeros(d, dtype=bool)
    share = np.zeros(d)
    for j in range(d):
        x = sample.X[:, j]
        numbered[j] = not copies and numbers_rows(x, "" if names is None else names[j])
        if rounding.n_values[j] <= FEW_VALUES:
            count = np.bincount(np.unique(x, return_inverse=True)[1], sample.weight)
            share[j] = count.max() / count.sum()
    found = find_unmeasured(rounding.n_values, share, numbered)
    return {j: why for j, why in found.items() if not summary.constant[j]}


def find_code(x: Reals) -> float | None:
    """Value that may stand for a missing one: of some rows, and far from all else."""
    for sign in (1.0, -1.0):
        y = sign * x
        rest = y[y > y.min()]
        if len(y) - len(rest) < 2 or not len(rest):
            continue
        next_one = rest.min()
        far = USUALLY_FAR if abs(y.min()) in USUAL_CODES else FAR_OFF
        is_far = next_one - y.min() > far * (rest.max() - next_one)
        if is_far and len(np.unique(rest)) >= VALUES_BESIDE_CODE:
            return float(sign * y.min())
    return None


def name_features(
    found: Mapping[int, str], names: Sequence[str] | None, most: int = 5
) -> str:
    """Features and what is said of them, for a message; no more than ``most``."""
    told = [f"{_name(j, names)} ({what})" for j, what in found.items()]
    more = f" and {len(told) - most} more" if len(told) > most else ""
    return ", ".join(told[:most]) + more


def _name(j: int, names: Sequence[str] | None) -> str:
    return f"feature {j}" if names is None else repr(str(names[j]))


def warn_of_features(
    unmeasured: Mapping[int, str], names: Sequence[str] | None, *, left_out: bool
) -> None:
    """Warn of features that are no measurements, left out of the distances or not."""
    if not unmeasured:
        return
    told = name_features(unmeasured, names)
    if left_out:
        what = f'not clustered by: {told}. features="all" takes every feature.'
    else:
        what = (
            f"clustered by what looks like no measurement: {told}. Leave it out of X, "
            'or say that it is meant by features="all".'
        )
    warn_user(what, FeatureWarning)


def warn_of_codes(overview: Overview, names: Sequence[str] | None) -> None:
    """Warn of values that may stand for missing ones."""
    X = overview.sample.X
    codes = {j: find_code(X[:, j]) for j in range(X.shape[1])}
    found = {j: f"{code:g}" for j, code in codes.items() if code is not None}
    if found:
        warn_user(
            f"far from all other values, in more than one row: "
            f"{name_features(found, names)}. If that stands for a missing value, leave "
            "these rows out (in a file, leave the cells empty).",
            FeatureWarning,
        )
