"""What changes when a constant of the code is halved or doubled.

``ModeClustering()`` is fitted to toys, to sets that come with scikit-learn and, with
the folder ``MODESEEK_DATA``, to its sets of at most 600 rows (benchmarks/quality.py
says what is in it). Constants that bound a number of rows get toys of many rows::

    OMP_NUM_THREADS=1 python benchmarks/constants.py

reads from the table of docs/constants.md what the constants are, and writes its values
and its last two columns anew; ``--only BUMP TIES`` those of these constants. It prints
how many sets there were, and how they fared: say so above the table.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets

from modeseek import ModeClustering
from modeseek.datasets import three_gaussians
from quality import FAMILIES, DataSet, load, rand_index

PAGE = Path(__file__).resolve().parent.parent / "docs" / "constants.md"
MOST_ROWS = 600


class Outcome(NamedTuple):
    """What became of a set."""

    ari: float
    labels: np.ndarray
    tried: set[str]  # the landscapes that were built, as the page calls them


def small_sets() -> Iterator[DataSet]:
    """Yield toys, sets that come with scikit-learn, and those of the folder."""
    rng, one = np.random.default_rng(0), np.zeros(300)
    yield from (as_set(three_gaussians(d).sample(300, 0)) for d in (2, 4, 8))
    for read in (datasets.load_wine, datasets.load_breast_cancer, datasets.load_digits):
        yield as_set(part[:MOST_ROWS] for part in read(return_X_y=True))
    yield as_set(datasets.make_moons(MOST_ROWS, noise=0.07, random_state=0))
    yield as_set(datasets.make_blobs(MOST_ROWS, 10, centers=8, random_state=0))
    yield as_set((rng.uniform(size=(300, 2)), one))
    yield as_set((rng.normal(size=(300, 5)), one))
    if "MODESEEK_DATA" in os.environ:
        sets = load(Path(os.environ["MODESEEK_DATA"]), list(FAMILIES), 10**9, 0)
        yield from (data for data in sets if len(data.X) <= MOST_ROWS)


def many_sets() -> Iterator[DataSet]:
    """Yield toys of many rows."""
    yield as_set(datasets.make_moons(40_000, noise=0.07, random_state=0))
    yield as_set(datasets.make_blobs(40_000, centers=40, random_state=0))
    yield as_set(three_gaussians().sample(40_000, 0))
    yield as_set(three_gaussians(4).sample(5_000, 0))


def as_set(rows: Any) -> DataSet:
    X, y = rows
    return DataSet("", "", X, 1 + y.astype(int)[None])


def cluster(data: DataSet) -> Outcome:
    model = ModeClustering().fit(data.X)
    ari = max(rand_index(y, model.labels_) for y in data.labelings)
    tried = {"both", "many rows", "field"}
    tried |= {"graph"} if model.ascent_ == "rows" else set()
    return Outcome(ari, model.labels_, tried)


@cache
def before(many: bool) -> list[tuple[DataSet, Outcome]]:
    """Sets, and what becomes of them with every constant as it is."""
    fitted = [(data, cluster(data)) for data in (many_sets() if many else small_sets())]
    ari = np.mean([outcome.ari for _, outcome in fitted])
    found = np.mean([outcome.labels.max() + 1 for _, outcome in fitted])
    print(f"{len(fitted)} sets, mean index {ari:.3f}, {found:.1f} clusters", flush=True)
    return fitted


@contextmanager
def times(factor: float, home: Any, name: str) -> Iterator[None]:
    """Multiply a constant, or what a function returns, wherever it is imported."""
    old: Any = getattr(home, name)
    new: Any = lambda *arguments: factor * old(*arguments)  # noqa: E731
    if not callable(old):
        new = math.ceil(factor * old) if isinstance(old, int) else factor * old
    loaded = [m for key, m in sys.modules.items() if key.startswith("modeseek")]
    users = [m for m in loaded if getattr(m, name, None) is old]
    for user in users:
        setattr(user, name, new)
    yield
    for user in users:
        setattr(user, name, old)


def change(acts_on: str) -> str:
    """Rise of the mean index; clusters in the mean; sets with other labels."""
    pairs = [
        (cluster(data) if acts_on in old.tried else old, old)
        for data, old in before(acts_on == "many rows")
    ]
    other = sum(not np.array_equal(new.labels, old.labels) for new, old in pairs)
    rise = np.mean([new.ari - old.ari for new, old in pairs])
    found = np.mean([new.labels.max() + 1 for new, _ in pairs])
    return f"{rise:+.3f}; {found:.1f}; {other}" if other else "nothing"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", help="names of the constants to vary")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = PAGE.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("| `"):
            continue
        constant, _, does, acts_on, script, *_ = line.strip("| ").split(" | ")
        name, path = (word.strip("`") for word in constant.split(", "))
        if name not in (options.only or [name]):
            continue
        dotted = path.removesuffix(".py").replace("/", ".")
        home = importlib.import_module(f"modeseek.{dotted}")
        value = getattr(home, name)
        before(acts_on == "many rows")
        told = "formula" if callable(value) else f"{value:,}"
        cells = [constant, told, does, acts_on, script]
        for factor in (0.5, 2.0):
            with times(factor, home, name):
                cells.append(change(acts_on))
        lines[number] = f"| {' | '.join(cells)} |"
        print(lines[number], flush=True)
        PAGE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
