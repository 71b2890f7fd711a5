"""Errors and warnings: what users are told besides results, and where it points."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Packages whose lines a warning passes over on its way to the user's.
PASSED_OVER = frozenset({"modeseek", "sklearn", "contextlib"})


class UsageError(ValueError):
    """Options that cannot be used together, or with this file."""


class DataError(ValueError):
    """A file that cannot be used; says which, and why."""


def one_line(text: str) -> str:
    """Text on one line, its control characters shown and not obeyed."""
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in words)


def say(text: str) -> None:
    """Tell something on standard error, in one line."""
    print(one_line(f"modeseek: {text}"), file=sys.stderr, flush=True)


@contextmanager
def requiring(extra: str) -> Iterator[None]:
    """Say which extra of the package to install where an import fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise DataError(
            f"this needs {error.name}: pip install 'modeseek[{extra}]'"
        ) from error
    except ImportError as error:  # a module of ours that says what it needs itself
        raise DataError(str(error)) from error


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's own code from which the library was called."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and _package_of(frame) in PASSED_OVER:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).split(".")[0]
