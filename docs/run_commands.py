"""Run the commands that docs/cli.md shows, and put what they print below them.

``python docs/run_commands.py`` rewrites the page; the tests run the same commands and
compare.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

PAGE = Path(__file__).with_name("cli.md")
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
CONSOLE = re.compile(r"```console\n\$ ([^\n]*)\n(.*?)```", re.DOTALL)


def prepare(page: str, folder: Path) -> None:
    """Make the files that the commands work on."""
    with chdir(folder):
        for block in PYTHON.findall(page):
            exec(block, {})


def run(command: str, folder: Path) -> str:
    """Run a command as a shell would; return what it prints."""
    program = f'modeseek() {{ "{sys.executable}" -m modeseek "$@"; }}'
    done = subprocess.run(
        ["bash", "-c", f"{program}\n{command}"],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def rewrite(page: str, answer: Callable[[str], str]) -> str:
    """The page with the answer to every command below it."""
    return CONSOLE.sub(
        lambda block: f"```console\n$ {block[1]}\n{answer(block[1])}```", page
    )


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    with tempfile.TemporaryDirectory() as name:
        prepare(text, Path(name))
        PAGE.write_text(rewrite(text, lambda c: run(c, Path(name))), "utf-8")
