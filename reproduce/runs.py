"""Runs kept in CSV files, so that what is done is not computed again.

A run is a key (its setting and seed) and the numbers that came out. Which code they
came from is kept beside the files, see :mod:`reproduce.sources`. Where that code has
changed since, some runs of every method are computed again: if the numbers are the
same, the others stay, and if one differs, all runs of that method go.
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn

from reproduce.sizes import Size
from reproduce.sources import Ledger, noting

Key = dict[str, Any]
Row = dict[str, str]

#: Column that differs from one execution to the next.
NOT_COMPARED = ("seconds",)

#: Entries of a key that tell runs of the same setting apart.
OF_A_RUN = ("seed", "picture")

#: Settings of a method that are computed again where its code has changed.
CHECKED = 4

#: Numbers of the releases that results may depend on.
RELEASES = " ".join(package.__version__ for package in (np, scipy, sklearn))


class Batch(NamedTuple):
    """Runs whose lines share a file."""

    name: str  # of the file, without its ending
    keys: Sequence[Key]  # settings, all with the same names
    compute: Callable[..., dict[str, Any]]  # of a key's entries by name -> results
    by: str = ""  # entry that names the method; all lines are of one where it is empty

    @property
    def columns(self) -> list[str]:
        return list(self.keys[0])

    def group(self, line: Key) -> str:
        """File and method of a line, for which its code is kept."""
        return f"{self.name}/{line[self.by]}" if self.by else self.name


class Lab(NamedTuple):
    """Where an experiment works: size, folder of results, folder of real data."""

    size: Size
    out: Path
    data: Path | None

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.out / "sources.json", RELEASES)

    def lines(self, batch: Batch) -> list[Row]:
        """Lines of the batch's keys that were computed, in order."""
        done = read_done(self.out / f"{batch.name}.csv", batch.columns)
        wanted = dict.fromkeys(map(identity, batch.keys))
        return [done[who] for who in wanted if who in done]

    def complete(self, batch: Batch) -> list[Row]:
        """The same, after those that are not there were computed."""
        work(self, [batch])
        return self.lines(batch)


def work(lab: Lab, batches: Sequence[Batch], until: float = np.inf) -> None:
    """Compute what is not there: first runs of every setting first, the quicker before.

    It ends with the run during which the clock (``time.monotonic``) passes ``until``.
    """
    for batch in batches:
        review(lab, batch)
    left, seconds = [], {}
    for batch in batches:
        done = read_done(lab.out / f"{batch.name}.csv", batch.columns)
        unique = {identity(key): key for key in batch.keys}
        left += [(batch, key) for who, key in unique.items() if who not in done]
        for row in done.values():
            seconds.setdefault(batch.group(row), []).append(float(row["seconds"]))
    cost = {group: float(np.median(times)) for group, times in seconds.items()}
    left.sort(key=lambda pair: (turn(pair[1]), cost.get(pair[0].group(pair[1]), 0.0)))
    start = time.monotonic()
    for number, (batch, key) in enumerate(left, start=1):
        compute_line(lab, batch, key)
        elapsed = time.monotonic() - start
        report(batch.name, number, len(left), key, elapsed)
        if time.monotonic() > until:
            return


def turn(key: Key) -> float:
    """When a run comes: its seed, or half the number of its picture."""
    if "seed" in key:
        return float(key["seed"])
    return 0.5 * key["picture"] if isinstance(key.get("picture"), int) else 0.0


def compute_line(lab: Lab, batch: Batch, key: Key, keep: bool = True) -> Row:
    """Compute a run, note the code that it entered, and keep it in the file."""
    with noting() as parts:
        results = timed(batch.compute, key)
    row = {**texts(key), **texts(results)}
    ledger = lab.ledger
    ledger.add(batch.group(key), parts)
    ledger.write()
    if keep:
        append(lab.out / f"{batch.name}.csv", row)
    return row


def review(lab: Lab, batch: Batch) -> None:
    """Drop lines of methods whose code gives other numbers than it did."""
    path = lab.out / f"{batch.name}.csv"
    done = read_done(path, batch.columns)
    groups: dict[str, list[Row]] = {}
    for row in done.values():
        groups.setdefault(batch.group(row), []).append(row)
    for group, rows in groups.items():
        if lab.ledger.changed(group) and not same_numbers(lab, batch, group, rows):
            print(f"[{batch.name}] {group}: other numbers, runs go", file=sys.stderr)
            done = {who: row for who, row in done.items() if batch.group(row) != group}
            write(path, list(done.values()))


def same_numbers(lab: Lab, batch: Batch, group: str, rows: list[Row]) -> bool:
    """Whether runs of some settings of a group, the quicker ones, are as they were."""
    ledger = lab.ledger
    ledger.forget(group)
    ledger.write()
    keys = {identity(key): key for key in batch.keys}
    names = [name for name in batch.columns if name not in OF_A_RUN]

    def setting(row: Row) -> tuple[str, ...]:
        return tuple(row[name] for name in names)

    known = [r for r in rows if tuple(r[name] for name in batch.columns) in keys]
    first = {setting(row): row for row in reversed(known)}.values()
    by_time = sorted(first, key=lambda row: float(row["seconds"]))
    places = np.linspace(0, (len(by_time) - 1) // 2, CHECKED).astype(int)
    for row in (by_time[i] for i in np.unique(places)):
        key = keys[tuple(row[name] for name in batch.columns)]
        if compared(compute_line(lab, batch, key, keep=False)) != compared(row):
            return False
    return True


def compared(row: Row) -> Row:
    return {k: v for k, v in row.items() if k not in NOT_COMPARED}


def timed(compute: Callable[..., dict[str, Any]], key: Key) -> dict[str, Any]:
    """Results of a run, how many warnings it gave and its seconds of processor time."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        start = time.process_time()
        results = compute(**key)
        seconds = time.process_time() - start
    return {**results, "warnings": len(given), "seconds": seconds}


def texts(values: dict[str, Any]) -> Row:
    """Entries as the file has them: six digits, so that rounding does not show."""
    return {
        name: f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
        for name, value in values.items()
    }


def identity(key: Key) -> tuple[str, ...]:
    return tuple(texts(key).values())


def read_done(path: Path, names: list[str]) -> dict[tuple[str, ...], Row]:
    """Whole lines by key; an interrupted last line is dropped."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if None not in row.values()]
    whole = [row for row in rows if row["seconds"]]
    done = {tuple(row[name] for name in names): row for row in whole}
    if len(whole) < len(rows):
        write(path, list(done.values()))
    return done


def append(path: Path, row: Row) -> None:
    new = not path.exists() or not path.stat().st_size
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, row)
        if new:
            writer.writeheader()
        writer.writerow(row)


def write(path: Path, rows: list[Row]) -> None:
    """Replace the file in one move, so that no interruption leaves half of it."""
    part = path.with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        if rows:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    part.replace(path)


def report(name: str, number: int, total: int, key: Key, elapsed: float) -> None:
    """One line of progress; on a terminal it replaces the one before."""
    left = elapsed / number * (total - number)
    what = ", ".join(f"{k} {v}" for k, v in key.items() if v not in ("", None))
    line = f"[{name}] {number} of {total}, {left:.0f} s left: {what}"
    if sys.stderr.isatty():
        end = "\n" if number == total else ""
        print(f"\r\x1b[K{line[:110]}", end=end, file=sys.stderr, flush=True)
    elif number == total or number % max(1, total // 10) == 0:
        print(line, file=sys.stderr, flush=True)


def numbers(lines: list[Row], name: str, /, **where: Any) -> np.ndarray:
    """A column of the lines whose key has these entries."""
    wanted = texts(where)
    found = [r for r in lines if all(r[k] == v for k, v in wanted.items())]
    if not found:
        raise LookupError(f"No run has {where}.")
    return np.array([float(r[name]) for r in found])


def extent(batch: Batch, lines: list[Row], /, **where: Any) -> str:
    """Runs made of those that the size asks for, where fewest were."""
    wanted = texts(where)
    names = [name for name in batch.columns if name not in OF_A_RUN]

    def count(some: Sequence[Row]) -> dict[tuple[str, ...], int]:
        found: dict[tuple[str, ...], int] = {}
        for line in some:
            if all(line[k] == v for k, v in wanted.items()):
                setting = tuple(line[name] for name in names)
                found[setting] = found.get(setting, 0) + 1
        return found

    made, unique = count(lines), {identity(key): texts(key) for key in batch.keys}
    pairs = [
        (made.get(setting, 0), n) for setting, n in count(list(unique.values())).items()
    ]
    return "{} of {}".format(*min(pairs, key=lambda pair: pair[0] / pair[1]))


def found(lines: list[Row], name: str, /, **where: Any) -> np.ndarray:
    """As :func:`numbers`, but not a number where there is no such run yet."""
    try:
        return numbers(lines, name, **where)
    except LookupError:
        return np.array([np.nan])
