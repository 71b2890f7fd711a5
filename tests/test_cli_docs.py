"""Every command of docs/cli.md prints what the page shows, to its numbers."""

import io
import re
import runpy
import shlex
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
tool = runpy.run_path(str(DOCS / "run_commands.py"))
PAGE = (DOCS / "cli.md").read_text("utf-8")

#: Modules that commands need besides those of the command line.
NEEDS = {
    "report": ["modeseek.report", "plotly"],
    "segment": ["modeseek.image", "skimage"],
    "smooth": ["modeseek.image", "skimage"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("skimage")
    pytest.importorskip("pandas")
    made = tmp_path_factory.mktemp("page")
    tool["prepare"](PAGE, made)
    return made


def printed(command, folder):
    """What a command prints; in this process, unless a shell joins it to others.

    A program of its own would spend most of its time on imports.
    """
    words = shlex.split(command)
    if words[0] != "modeseek" or "|" in words:
        return tool["run"](command, folder)
    from modeseek.cli.commands import run

    screen = io.StringIO()
    with chdir(folder), redirect_stdout(screen), redirect_stderr(screen):
        run(words[1:])
    return screen.getvalue()


def masked(text):
    """Text without its numbers and its layout, which depends on them."""
    words = re.sub(r"[-+]?[\d.,]*\d%?", "#", text)
    return re.sub(r"[\s│├└─]+", " ", words).strip()


@pytest.mark.parametrize(("command", "shown"), tool["CONSOLE"].findall(PAGE))
def test_the_page_shows_what_is_printed(folder, command, shown, monkeypatch):
    name = re.search(r"modeseek (\w+)", command)[1]
    missing = [module for module in NEEDS.get(name, ()) if find_spec(module) is None]
    if missing:
        pytest.skip(f"needs {missing[0]}")
    monkeypatch.setenv("NO_COLOR", "1")
    assert masked(printed(command, folder)) == masked(shown)


def test_every_command_is_on_the_page():
    from modeseek.cli.commands import app

    names = {command.callback.__name__ for command in app.registered_commands}
    shown = {
        re.search(r"modeseek (\w+)", c)[1] for c, _ in tool["CONSOLE"].findall(PAGE)
    }
    assert names == shown


def test_the_mask_keeps_words():
    assert masked("a  1,234 rows\n├── 3.5%") == masked("a 7 rows # ")
    assert masked("cluster 1") != masked("clusters 1")
