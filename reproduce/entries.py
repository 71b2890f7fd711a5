"""What an experiment hands to the index: claims with verdicts, pictures, tables."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, held against what came out.

    ``holds`` is computed by the stated criterion; None where nothing was run, and
    ``why`` then says what is missing. Otherwise ``why`` is shown where it fails.
    ``elsewhere`` is whether it holds by another reading of what the paper leaves open,
    whose numbers are in ``here`` too.
    """

    paper: str
    criterion: str
    here: str
    holds: bool | None
    why: str = ""
    timed: bool = False
    elsewhere: bool = False

    @property
    def verdict(self) -> str:
        if self.holds is None:
            return "not run"
        if self.holds:
            return "agrees"
        return "depends" if self.elsewhere else "disagrees"


@dataclass(frozen=True)
class Table:
    """A table of texts with a caption."""

    caption: str
    head: list[str]
    body: list[list[str]]


@dataclass(frozen=True)
class Entry:
    """One figure, panel or table of the paper."""

    name: str
    title: str
    setting: str
    claims: list[Claim]
    pictures: list[tuple[str, str]] = field(default_factory=list)  # file, what it shows
    tables: list[Table] = field(default_factory=list)
    extent: str = ""  # how many of the paper's runs were made


def mean_std(values: np.ndarray, digits: int = 2) -> str:
    """Mean and standard deviation, as the paper prints them."""
    if np.isnan(values).all():
        return "-"
    std = values.std(ddof=1) if len(values) > 1 else np.nan
    spread = "-" if np.isnan(std) else f"{std:.{digits}f}"
    return f"{values.mean():.{digits}f} ({spread})"


def not_run(name: str, title: str, paper: list[str], why: str) -> Entry:
    """An entry that says what is missing."""
    claims = [Claim(text, "-", "not run", None, why) for text in paper]
    return Entry(name, title, "Not run here.", claims)
