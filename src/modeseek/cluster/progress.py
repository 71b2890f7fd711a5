"""A line that tells what a long fit is doing, where somebody is watching."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Seconds before a fit tells what it does, and between two looks at the clock.
PATIENCE, INTERVAL = 5.0, 0.5

#: What the fit of this thread is doing, in a list of one.
_stage: ContextVar[list[str]] = ContextVar("stage")


def enter_stage(what: str) -> None:
    """Tell what the fit that is going on does next."""
    stage = _stage.get(None)
    if stage is not None:
        stage[0] = what


@contextmanager
def watched(verbose: int | None) -> Iterator[None]:
    """Show the stage of a fit and its time on standard error, if it takes long.

    Only with ``verbose`` None, and where standard error is a terminal or a notebook.
    """
    if verbose is not None or not _is_watched():
        yield
        return
    stage, done = ["estimating the gradient"], threading.Event()
    token = _stage.set(stage)
    teller = threading.Thread(target=_tell, args=(stage, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
        _stage.reset(token)


def _tell(stage: list[str], done: threading.Event) -> None:
    start, width = time.monotonic(), 0
    wait = PATIENCE
    while not done.wait(wait):
        wait = INTERVAL
        line = f"ModeClustering: {stage[0]} ({time.monotonic() - start:.0f} s)"
        width = max(width, len(line))
        sys.stderr.write(f"\r{line:{width}}")
        sys.stderr.flush()
    if width:
        sys.stderr.write(f"\r{'':{width}}\r")
        sys.stderr.flush()


def _is_watched() -> bool:
    stream = sys.stderr
    if stream is not None and stream.isatty():
        return True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"  # of a notebook
