"""Progress of a long fit: seen in terminals and notebooks, silent elsewhere."""

import io
import sys
import threading

import numpy as np
import pytest

from modeseek import ModeClustering
from modeseek.cluster import progress
from modeseek.cluster.progress import enter_stage, watched


class Terminal(io.StringIO):
    """Standard error that is watched, and knows when something was written."""

    def __init__(self, tty=True):
        super().__init__()
        self.tty, self.written = tty, threading.Event()

    def isatty(self):
        return self.tty

    def write(self, text):
        self.written.set()
        return super().write(text)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.001)


def test_a_watched_fit_shows_its_stage_and_leaves_no_trace(monkeypatch, impatient):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with watched(None):
        enter_stage("climbing")
        terminal.written.clear()
        assert terminal.written.wait(60)
    text = terminal.getvalue()
    assert "\rModeClustering: climbing (" in text
    last = text.rsplit("\r", 2)
    assert last[1].strip() == last[2] == ""
    assert len(last[1]) >= len("ModeClustering: climbing (0 s)")


@pytest.mark.parametrize(("verbose", "tty"), [(0, True), (None, False)])
def test_nobody_watching_or_silence_asked_for_shows_nothing(
    monkeypatch, impatient, verbose, tty
):
    terminal = Terminal(tty)
    monkeypatch.setattr(sys, "stderr", terminal)
    X = np.random.default_rng(0).normal(size=(200, 2))
    ModeClustering(verbose=verbose, ascent="rows").fit(X)
    assert terminal.getvalue() == ""


def test_a_fit_tells_its_stages(monkeypatch, impatient):
    terminal, stages = Terminal(), []
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("modeseek.cluster.fitting.enter_stage", stages.append)
    X = np.random.default_rng(0).normal(size=(200, 2))
    ModeClustering(ascent="rows").fit(X)
    assert any("climbing" in stage for stage in stages)
    assert "labelling rows" in stages


def test_a_short_fit_shows_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with watched(None):
        enter_stage("climbing")
    assert terminal.getvalue() == ""


def test_an_error_ends_the_line_too(monkeypatch, impatient):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    before = threading.active_count()

    def fail():
        with watched(None):
            assert terminal.written.wait(60)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert terminal.getvalue().endswith("\r")
    assert threading.active_count() == before


def test_a_notebook_is_watched(monkeypatch):
    class ZMQInteractiveShell:
        pass

    class Module:
        get_ipython = ZMQInteractiveShell

    monkeypatch.setattr(sys, "stderr", Terminal(tty=False))
    monkeypatch.setitem(sys.modules, "IPython", Module)
    assert progress._is_watched()
