"""The program ``modeseek``, also ``python -m modeseek``."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

#: Signals that end the program, and what it says then.
SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


def _stop(number: int, frame: FrameType | None) -> None:
    """End at once: unwinding would wait for threads that are in the middle of work."""
    outputs = sys.modules.get("modeseek.files")
    if outputs is not None:
        outputs.remove_unfinished()
    # A bar may have hidden the cursor.
    cursor = "\r\x1b[K\x1b[?25h" if sys.stderr.isatty() else ""
    what = f"{cursor}modeseek: {SIGNALS[signal.Signals(number)]}\n"
    os.write(2, what.encode())
    os._exit(128 + number)


def main() -> None:
    """Run the command line; importing it comes after Ctrl-C is taken care of."""
    for number in SIGNALS:
        signal.signal(number, _stop)
    try:
        from modeseek.cli.commands import run
    except ModuleNotFoundError as error:
        sys.exit(
            f"modeseek: the command line needs {error.name}: "
            "pip install 'modeseek[cli]'"
        )
    sys.exit(run())


if __name__ == "__main__":
    main()
