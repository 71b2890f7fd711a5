"""The commands that the README shows run (its Python does in test_docs)."""

import re
import runpy
import shlex
from pathlib import Path

from sklearn.datasets import load_wine

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
COMMANDS = re.findall(r"^    (modeseek .*)$", README.read_text("utf-8"), flags=re.M)


def test_every_command_runs_in_turn(tmp_path, monkeypatch, capsys):
    from modeseek.cli.commands import run

    demo = runpy.run_path(str(ROOT / "examples" / "demo.py"))
    monkeypatch.setitem(demo["main"].__globals__, "OUT", tmp_path / "out")
    demo["main"]()
    monkeypatch.chdir(tmp_path)
    written = []
    for command in COMMANDS:
        program, *words = shlex.split(command, comments=True)
        assert program == "modeseek"
        assert run(words) == 0, f"{command}: {capsys.readouterr().err}"
        written += [re.search(r"writes (\S+?),?(?: |$)", command)]
    for name in filter(None, written):
        assert (tmp_path / name[1]).exists(), name[1]
    assert len(COMMANDS) >= 5
    assert len((tmp_path / "out" / "again.csv").read_text().splitlines()) == 1 + len(
        load_wine().data
    )


def test_links_work_where_readme_is_shown_elsewhere():
    tool = runpy.run_path(str(ROOT / "tools" / "absolute_links.py"))
    text = README.read_text("utf-8")
    shown = tool["absolute_links"](text, "https://example.org/modeseek/", "v1")
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", shown)
    assert len(links) == len(re.findall(r"\]\([^)]+\)", text)) > 20
    for picture, target in links:
        kind = "raw" if picture else "blob"
        start = f"https://example.org/modeseek/{kind}/v1/"
        assert target.startswith(("#", "https://")), target
        if target.startswith("https://example.org"):
            assert target.startswith(start)
            assert (ROOT / target.removeprefix(start).split("#")[0]).exists(), target


def test_the_stability_it_states_is_that_of_the_tables():
    page = (ROOT / "docs" / "quality.md").read_text("utf-8")
    row = r"\| 12 {} \| {} \| ([\d.]+) \| \d+ % \| ([\d.]+) \|"
    measured = {
        (kind, change): re.search(row.format(kind, change), page).groups()
        for kind in ("made", "real")
        for change in ("draws", "jitter")
    }
    text = " ".join(README.read_text("utf-8").split())
    draws = re.search(
        r"made sets agree with those before by ([\d.]+) \(hdbscan: ([\d.]+)\), those "
        r"of 12 real tables by ([\d.]+) \(hdbscan: ([\d.]+)\);",
        text,
    )
    assert draws.groups() == measured["made", "draws"] + measured["real", "draws"]
    jitter = re.search(
        r"of a deviation, by ([\d.]+) and ([\d.]+) \(hdbscan: ([\d.]+), ([\d.]+)\)",
        text,
    )
    made, real = measured["made", "jitter"], measured["real", "jitter"]
    assert jitter.groups() == (made[0], real[0], made[1], real[1])
    stated = re.search(r"agree by ([\d.]+) \(hdbscan: ([\d.]+)\)", text).groups()
    of_57 = [
        re.search(rf"\n\| {name} \| ([\d.]+) \| [\d.]+ \| \d+ % \|", page)[1]
        for name in ("modeseek", "hdbscan", "hdbscan, unscaled")
    ]
    assert stated == (of_57[0], max(of_57[1:]))
