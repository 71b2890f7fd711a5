"""Progress is shown on a terminal, after a while, and nowhere else."""

import io
import re
import time

import numpy as np

from modeseek import LogDensityGradient, ModeClustering
from modeseek.cli import console as module
from modeseek.cli.console import (
    cluster_table,
    has_gaps,
    merge_tree,
    progress,
    show,
    stages,
)
from modeseek.cluster.summary import table_of_clusters
from modeseek.datasets import three_gaussians
from modeseek.errors import one_line


class Terminal(io.StringIO):
    def isatty(self):
        return True


def make_terminal(monkeypatch):
    """Standard error as a terminal; pytest would undo it between setup and test."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "SECONDS_BEFORE_BAR", 0.0)
    return stream


def wait_for(stream, text):
    deadline = time.monotonic() + 30
    while text not in stream.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert text in stream.getvalue()


def test_a_terminal_sees_a_bar(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with progress("reading [rows]", 10) as advance:
        advance(5)
        wait_for(terminal, "50 %")
        assert "reading [rows]" in terminal.getvalue()
    with progress("counting") as advance:
        advance(1234)
        wait_for(terminal, "1,234 rows")


def test_a_terminal_sees_stages(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with stages() as stage:
        stage("climbing", 0.25)
        wait_for(terminal, "25 %")
        assert "climbing" in terminal.getvalue()


def test_what_is_done_soon_shows_no_bar(monkeypatch):
    terminal = make_terminal(monkeypatch)
    monkeypatch.setattr(module, "SECONDS_BEFORE_BAR", 60.0)
    with progress("reading", 10) as advance:
        advance(10)
    assert "reading" not in terminal.getvalue()


def test_a_pipe_sees_nothing(monkeypatch, capsys):
    monkeypatch.setattr(module, "SECONDS_BEFORE_BAR", 0.0)
    with progress("reading", 10) as advance, stages() as stage:
        advance(5)
        stage("climbing", 0.5)
        time.sleep(0.2)
    assert capsys.readouterr() == ("", "")


def test_names_are_text_and_not_markup(capsys):
    X, _ = three_gaussians().sample(100, random_state=0)
    model = ModeClustering(LogDensityGradient(bandwidth=1.0, alpha=0.1)).fit(X)
    names = ["[red]u[/red]", "v\x1b[2J\n"]
    sizes = np.bincount(model.labels_)
    show(cluster_table(model, sizes, names))
    show(merge_tree(model, names, model.modes_))
    out = capsys.readouterr().out
    words = table_of_clusters(model, names=names)["features"]
    said = sum("u[/red]" in line for line in words)
    assert out.count("[red]u[/red]") == said + len(model.modes_)
    assert said
    assert "\x1b" not in out
    assert r"v\x1b[2J" in out


def test_one_line_is_one_line():
    assert one_line("a\n b\tc\x00d") == "a b c\\x00d"


def test_trees_name_the_columns_that_tell_clusters_apart(capsys):
    X = np.random.default_rng(0).standard_normal((200, 9))
    X[:100, 7] += 20.0
    model = ModeClustering().fit(X)
    show(merge_tree(model, list("abcdefghi"), model.modes_))
    tree = capsys.readouterr().out.splitlines()
    assert f"h {model.modes_[0, 7]:.4g}" in tree[0]
    assert len(re.findall(r"\b[a-i] -?[.\d]+", tree[0])) == 4


def test_a_prominence_that_the_rows_cannot_tell_is_a_gap(capsys):
    rng = np.random.default_rng(0)
    X, side = rng.normal(size=(200, 2)), np.repeat([[0.0], [1.0]], 100, axis=0)
    for apart, gaps in ((4.0, False), (1e4, True)):
        model = ModeClustering(ascent="rows").fit(X + apart * side)
        model.recut(n_clusters=2)
        assert has_gaps(model) == gaps
        show(cluster_table(model, np.bincount(model.labels_), ["u", "v"]))
        show(merge_tree(model, ["u", "v"], model.modes_))
        assert capsys.readouterr().out.count(", a gap") == 2 * gaps
        assert (", a gap" in str(model.merge_tree_)) == gaps
