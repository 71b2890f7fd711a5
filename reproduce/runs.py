"""Runs kept in CSV files, so that what is done is not computed again.

A run is a key (its setting and seed) and the numbers that came out. Every line carries
a mark of the code it was computed by; lines of other code are computed again.
"""

from __future__ import annotations

import csv
import hashlib
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn

import modeseek
from reproduce.sizes import Size

Key = dict[str, Any]
Row = dict[str, str]

#: Columns that differ from one execution to the next, or tell of the code only.
NOT_COMPARED = ("seconds", "code")

HERE = Path(__file__).resolve().parent


class Lab(NamedTuple):
    """Where an experiment works: size, folder of results, folder of real data."""

    size: Size
    out: Path
    data: Path | None

    def complete(
        self,
        name: str,
        keys: Sequence[Key],
        compute: Callable[..., dict[str, Any]],
        script: str,
    ) -> list[Row]:
        """Lines of all keys, in order; those not in the file are computed.

        Parameters
        ----------
        name : str
            Name of the file, without its ending.
        keys : sequence of dict
            Settings, all with the same names.
        compute : callable
            Takes a key's entries by name, gives a dict of results.
        script : str
            File that ``compute`` is in.
        """
        path = self.out / f"{name}.csv"
        mark = code_mark(script)
        done = read_done(path, list(keys[0]), mark)
        wanted = {identity(key): key for key in keys}
        left = [key for who, key in wanted.items() if who not in done]
        start = time.perf_counter()
        for number, key in enumerate(left, start=1):
            row = {**texts(key), **texts(timed(compute, key)), "code": mark}
            append(path, row)
            done[identity(key)] = row
            report(name, number, len(left), key, time.perf_counter() - start)
        rows = [done.pop(who) for who in wanted]
        write(path, [*rows, *done.values()])
        return rows


def timed(compute: Callable[..., dict[str, Any]], key: Key) -> dict[str, Any]:
    """Results of a run, how many warnings it gave and its seconds."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        start = time.perf_counter()
        results = compute(**key)
        seconds = time.perf_counter() - start
    return {**results, "warnings": len(given), "seconds": seconds}


def sources(script: str) -> list[Path]:
    """Files that the numbers of a script come from."""
    library = sorted(Path(modeseek.__file__).parent.rglob("*.py"))
    return [*library, HERE / "methods.py", Path(script)]


def code_mark(script: str) -> str:
    """Eight digits that change with the library, the script and what they stand on."""
    digest = hashlib.sha256()
    for path in sources(script):
        digest.update(path.read_bytes())
    for package in (np, scipy, sklearn):
        digest.update(package.__version__.encode())
    return digest.hexdigest()[:8]


def texts(values: dict[str, Any]) -> Row:
    """Entries as the file has them: six digits, so that rounding does not show."""
    return {
        name: f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
        for name, value in values.items()
    }


def identity(key: Key) -> tuple[str, ...]:
    return tuple(texts(key).values())


def read_done(path: Path, names: list[str], mark: str) -> dict[tuple[str, ...], Row]:
    """Whole lines of this code; an interrupted last line is dropped."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row.get("code") == mark]
    done = {tuple(row[name] for name in names): row for row in rows}
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
