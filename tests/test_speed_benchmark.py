"""The benchmark of speed: it runs, ends what is slow, and tells what it saw."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from benchmarks import speed_tables

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "speed.py"
OURS = "modeseek"


def done(seconds, peak_mb=50.0, input_mb=10.0):
    return {
        "status": "done",
        "seconds": seconds,
        "ari": 0.9,
        "n_clusters": 10,
        "peak_mb": peak_mb,
        "input_mb": input_mb,
        "import_seconds": 1.0,
        "warm_seconds": 0.5,
    }


def entry(rows, **results):
    named = {name.replace("_", " "): result for name, result in results.items()}
    return {
        "set": "blobs",
        "rows": rows,
        "features": 5,
        "versions": {"numpy": "2.0"},
        "results": named,
    }


def results_of(**tasks):
    machine = {"cores": 2, "processor": "P", "system": "S", "python": "3.12"}
    return {
        "machine": machine,
        "tasks": {k.replace("_", "-"): v for k, v in tasks.items()},
    }


def verdict(results, word):
    (line,) = [
        claim for claim in speed_tables.claims(results, OURS) if word in claim[0]
    ]
    return line


def test_ratios_are_of_the_others_times_over_ours():
    results = results_of(a=entry(1000, modeseek=done(2.0), PLSCAN=done(5.0)))
    text = speed_tables.render(results, OURS)
    assert "| PLSCAN | 2.50 | 0.900 | 10 | 5.0 | 1.00 | 1.00 |" in text
    assert "| modeseek | 1.00 |" in text
    assert "1,000 x 5" in text


def test_what_did_not_finish_is_said():
    slow = {"status": "over", "limit": 300}
    unsaid = {"status": "skipped", "over_at": 1000}
    broken = {"status": "failed", "message": "MemoryError"}
    results = results_of(
        a=entry(9, modeseek=done(2.0), one=slow, two=unsaid, three=broken)
    )
    text = speed_tables.render(results, OURS)
    assert "| one | over 5 min |" in text
    assert "| two | not run: over the limit at 1,000 rows |" in text
    assert "| three | failed: MemoryError |" in text


@pytest.mark.parametrize(("peer", "holds"), [(2.9, False), (3.1, True)])
def test_the_fastest_peer_that_is_told_nothing_decides(peer, holds):
    told = {"k-means, told k": done(0.1)}
    task = entry(100_000, modeseek=done(1.0), PLSCAN=done(9.0), ToMATo=done(peer))
    task["results"] |= told
    results = results_of(**{"100k": task})
    _, measured, verdict_ = verdict(results, "told nothing, by 3")
    assert measured == f"ToMATo takes {peer:.2f} times as long"
    assert verdict_ is holds


def test_growth_is_the_power_between_the_ends():
    results = results_of(
        **{
            f"growth-1e{n}": entry(10**n, modeseek=done(seconds))
            for n, seconds in ((4, 1.0), (5, 2.0), (6, 20.0), (7, 2.0 * 10**2.1))
        }
    )
    _, measured, holds = verdict(results, "rows^1.1")
    assert measured == "1.05 from 100,000 to 10,000,000 rows"
    assert holds
    assert "| 1,000,000 | 10.0 | 1.00 | 5.0 |" in speed_tables.render(results, OURS)


@pytest.mark.parametrize(("peak", "holds"), [(309.0, True), (311.0, False)])
def test_memory_is_beyond_one_more_copy(peak, holds):
    results = results_of(a=entry(10, modeseek=done(1.0, peak_mb=peak)))
    assert verdict(results, "peak memory")[2] is holds


@pytest.mark.parametrize(("seconds", "holds"), [(0.29, True), (0.31, False)])
def test_predictions_are_over_those_of_k_means(seconds, holds):
    results = results_of()
    timed = {"modeseek": seconds, "k-means": 0.1, "versions": {}}
    results["predict"] = {"rows": 1000, "features": 5, **timed}
    said = f"{10 * seconds:.1f} times"
    assert verdict(results, "`predict`") == (
        "`predict` at most 3 times as long as that of k-means",
        said,
        holds,
    )
    assert f"`predict` takes {said} as long" in speed_tables.render(results, OURS)


def test_what_is_missing_is_not_measured():
    for claim in speed_tables.claims(results_of(), OURS):
        assert claim[2] is None


def test_tables_replace_what_stands_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"head\n{speed_tables.BEGIN}\nold\n{speed_tables.END}\ntail\n")
    speed_tables.put(page, "new")
    speed_tables.put(page, "newer")
    text = page.read_text()
    assert text.startswith("head\n")
    assert text.endswith("\ntail\n")
    assert "newer" in text
    assert "old" not in text


def test_it_runs_and_ends_what_takes_too_long(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    main = runpy.run_path(str(SCRIPT))["main"]
    monkeypatch.setitem(main.__globals__, "IMPORTS", 1)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
        assert main() == 0
        return capsys.readouterr().out

    output = tmp_path / "speed.json"
    methods = ["--methods", OURS, "k-means, told k"]
    run("--quick", "--tasks", "20k", *methods, "--output", output)
    results = json.loads(output.read_text())["tasks"]["20k"]
    ours, told = (results["results"][name] for name in methods[1:])
    assert ours["status"] == told["status"] == "done"
    assert ours["ari"] > 0.95
    assert ours["peak_mb"] > 0
    assert results["versions"]["modeseek"] != "absent"
    # A mean shift of 20,000 rows takes more than a second.
    late = ["--tasks", "20k", "--methods", "MeanShift", "--limit", 1]
    shown = run(*late, "--output", output)
    assert "**Predictions** of 10,000 x 10 blobs" in run(
        "--quick", "--tasks", "predict", "--output", output
    )
    again = json.loads(output.read_text())["tasks"]["20k"]["results"]
    assert again["MeanShift"] == {"status": "over", "limit": 1}
    assert again[OURS] == ours  # what was not asked for stays
    assert "| MeanShift | over 1 s |" in shown
