"""What the command line says besides its results, and the errors that it explains."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


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
def needing(extra: str) -> Iterator[None]:
    """Say which extra of the package is missing where an import fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise DataError(
            f"this needs {error.name}: pip install 'modeseek[{extra}]'"
        ) from error
    except ImportError as error:  # a module of ours that says what it needs itself
        raise DataError(str(error)) from error
