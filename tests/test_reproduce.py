"""The paper's experiments run, twice with the same numbers, and fill the index."""

import csv
import os
import re
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from reproduce import climb, comparison, gradients, images, runs, toy
from reproduce.__main__ import main
from reproduce.entries import Claim
from reproduce.methods import LSLDG, MEAN_SHIFT, PAPER_GRID
from reproduce.page import FROM_HERE, TO_HERE, table_line, update_page
from reproduce.runs import NOT_COMPARED, Batch, Lab, numbers
from reproduce.sizes import FULL, TINY
from reproduce.sources import Ledger

#: The committed run, beside the page that shows it.
PAGE = Path(__file__).parents[1] / "docs" / "reproduce"

ENTRIES = [
    *(f"Figure {k}" for k in (1, 2, 3, 4)),
    *(f"Figure 5{panel}" for panel in "abcdef"),
    "Figure 6",
    "Table 1",
    "Table 2, accelerometry",
    "Table 2, speech",
]


@pytest.fixture(scope="module")
def two_folders(tmp_path_factory):
    """Results of two executions at the smallest size, without real data.

    The animation is short, and of the second execution nothing is drawn: its numbers
    are compared.
    """
    first, second = (tmp_path_factory.mktemp("reproduce") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MODESEEK_DATA", raising=False)
        patch.setattr(climb, "FRAMES", 4)
        assert main(["--size", "tiny", "--out", str(first)]) == 0
        patch.setattr(Figure, "savefig", lambda *args, **options: None)
        patch.setattr(climb, "draw", lambda lab: [])
        assert main(["--size", "tiny", "--out", str(second)]) == 0
    return first, second


def read(path, left_out=()):
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {k: v for k, v in row.items() if k not in left_out}
            for row in csv.DictReader(file)
        ]


def test_two_executions_give_the_same_numbers(two_folders):
    first, second = two_folders
    names = sorted(path.name for path in first.glob("*.csv"))
    assert {"gradients.csv", "climb.csv", "toy.csv", "outcome.csv"} <= set(names)
    assert names == sorted(path.name for path in second.glob("*.csv"))
    for name in set(names) - {"outcome.csv"}:
        assert read(first / name, NOT_COMPARED) == read(second / name, NOT_COMPARED)
    outcomes = [
        [row for row in read(folder / "outcome.csv") if row["timed"] == "no"]
        for folder in two_folders
    ]
    assert outcomes[0] == outcomes[1]


def test_the_index_has_every_figure_and_table(two_folders):
    page = (two_folders[0] / "index.html").read_text("utf-8")
    headings = re.findall(r"<h2 id=\"[^\"]+\">([^:<]+):", page)
    assert headings == ENTRIES
    links = re.findall(r'href="#([^"]+)"', page)
    assert set(links) == set(re.findall(r'id="([^"]+)"', page))


def test_no_entry_is_empty(two_folders):
    folder = two_folders[0]
    page = (folder / "index.html").read_text("utf-8")
    for section in page.split("<h2 ")[1:]:
        assert 'class="verdict' in section
        shown = re.findall(r'<img src="([^"]+)"', section)
        missing = "not-run" in section
        assert missing or shown
        assert all((folder / name).stat().st_size > 5000 for name in shown)
    outcome = read(folder / "outcome.csv")
    assert {row["entry"] for row in outcome} == set(ENTRIES)
    assert all(row["paper"] and row["here"] for row in outcome)


def test_missing_data_is_named(two_folders):
    page = (two_folders[0] / "index.html").read_text("utf-8")
    for name in ("accel_st_har", "basicmotions", "fsdd_lsf50"):
        assert f"MODESEEK_DATA must name the folder with paper/{name}.npz" in page


def test_a_folder_that_is_none_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MODESEEK_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(SystemExit):
        main(["--size", "tiny", "--out", str(tmp_path)])
    assert "which is no folder" in capsys.readouterr().err


class Counter:
    """A computation that counts how often it is asked."""

    def __init__(self, factor=1.0):
        self.asked, self.factor = [], factor

    def square(self, seed):
        return self.factor * float(seed) ** 2 + self.factor

    def __call__(self, seed):
        self.asked.append(seed)
        return {"square": self.square(seed)}


def complete(folder, seeds, compute=None):
    """Lines of some seeds, and the seeds that were computed for them."""
    counter = Counter() if compute is None else compute
    batch = Batch("squares", [{"seed": seed} for seed in seeds], counter)
    rows = Lab(TINY, folder, None).complete(batch)
    assert [float(row["square"]) for row in rows] == [counter.square(s) for s in seeds]
    return counter.asked


def test_done_runs_are_not_computed_again(tmp_path):
    assert complete(tmp_path, [0, 1, 2]) == [0, 1, 2]
    assert complete(tmp_path, [0, 1, 2]) == []
    assert complete(tmp_path, [3, 1]) == [3]
    assert complete(tmp_path, [0, 1, 2, 3]) == []


def test_an_interrupted_line_is_computed_again(tmp_path):
    complete(tmp_path, [0, 1, 2])
    path = tmp_path / "squares.csv"
    text = path.read_text("utf-8")
    path.write_text(text[: text.rindex(",")], encoding="utf-8")
    assert complete(tmp_path, [0, 1, 2]) == [2]


def test_runs_stay_if_changed_code_gives_the_same_numbers(tmp_path, monkeypatch):
    complete(tmp_path, [0, 1, 2])
    monkeypatch.setattr(runs, "RELEASES", "others")
    assert complete(tmp_path, [0, 1, 2]) == [0]  # one of its only setting
    assert complete(tmp_path, [0, 1, 2]) == []


def test_runs_go_if_changed_code_gives_other_numbers(tmp_path, monkeypatch):
    complete(tmp_path, [0, 1, 2])
    monkeypatch.setattr(runs, "RELEASES", "others")
    other = Counter(factor=2.0)
    assert complete(tmp_path, [0, 1, 2], other) == [0, 0, 1, 2]


def test_runs_of_all_batches_take_turns_until_the_time_is_up(tmp_path):
    lab, asked = Lab(TINY, tmp_path, None), []

    def note(name, seed):
        asked.append((name, seed))
        return {}

    batches = [
        Batch(name, [{"seed": s} for s in range(3)], partial(note, name))
        for name in ("first", "second")
    ]
    runs.work(lab, batches, until=-np.inf)
    assert asked == [("first", 0)]
    runs.work(lab, batches)
    assert [seed for _, seed in asked] == [0, 0, 1, 1, 2, 2]
    assert set(asked) == {(n, s) for s in range(3) for n in ("first", "second")}
    assert runs.extent(batches[0], lab.lines(batches[0])) == "3 of 3"
    assert runs.extent(batches[0], lab.lines(batches[0])[:1]) == "1 of 3"


def sample_lines(batch):
    """Of every method a line of the page that is quick to compute again."""
    lines = sorted(read(PAGE / f"{batch.name}.csv"), key=lambda r: float(r["seconds"]))
    keys = {runs.identity(key): key for key in batch.keys}
    for group in dict.fromkeys(map(batch.group, lines)):
        known = [
            (r, keys[who])
            for r in lines
            if batch.group(r) == group
            for who in [tuple(r[name] for name in batch.columns)]
            if who in keys
        ]
        if known:
            yield group, *known[0]


@pytest.mark.parametrize("experiment", [gradients, climb, toy, images, comparison])
def test_the_page_is_not_older_than_the_code_that_makes_its_numbers(
    experiment, tmp_path
):
    """If this fails, run python -m reproduce --page docs/reproduce.md again.

    Only where the code of a method has changed since, a run is computed again.
    """
    folder = os.environ.get("MODESEEK_DATA")
    lab = Lab(FULL, tmp_path, Path(folder) if folder else None)
    ledger = Ledger(PAGE / "sources.json", runs.RELEASES)
    for batch in experiment.batches(lab):
        for group, line, key in sample_lines(batch):
            if not ledger.changed(group):
                continue
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The chosen .* is the first or last")
                again = runs.texts(batch.compute(**key))
            for name, value in again.items():
                same = value == line[name] or np.isclose(
                    float(value), float(line[name]), rtol=1e-3, atol=1e-3
                )
                assert same, (group, key, name, ledger.changed(group)[:9])


def test_the_page_knows_the_code_of_all_its_runs():
    ledger = Ledger(PAGE / "sources.json", runs.RELEASES)
    lab = Lab(FULL, PAGE, None)
    for batch in [*gradients.batches(lab), *climb.batches(lab), *toy.batches(lab)]:
        assert {batch.group(row) for row in read(PAGE / f"{batch.name}.csv")} <= set(
            ledger.groups
        )


def test_the_page_shows_the_outcome_of_its_run():
    page = PAGE.with_suffix(".md").read_text("utf-8")
    outcome = read(PAGE / "outcome.csv")
    assert {claim["entry"] for claim in outcome} == set(ENTRIES)
    assert all(table_line(claim) in page for claim in outcome)


def test_an_outcome_is_put_between_the_marks_of_a_page(two_folders, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{FROM_HERE}\nformer run\n{TO_HERE}\nafter\n")
    for _ in range(2):  # again and again
        update_page(page, TINY, two_folders[0])
    text = page.read_text("utf-8")
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert "**tiny**" in text
    assert "| Figure 4 |" in text
    assert "former run" not in text
    assert read(tmp_path / "page" / "toy.csv") == read(two_folders[0] / "toy.csv")


def test_an_unknown_setting_is_an_error():
    with pytest.raises(LookupError, match="No run has"):
        numbers([{"seed": "0", "ari": "1"}], "ari", seed=1)


def test_a_verdict_follows_from_the_criterion():
    verdicts = [Claim("p", "c", "h", holds).verdict for holds in (True, False, None)]
    assert verdicts == ["agrees", "disagrees", "not run"]
    other = [Claim("p", "c", "h", h, elsewhere=True) for h in (True, False, None)]
    assert [c.verdict for c in other] == ["agrees", "depends", "not run"]


def test_candidates_and_runs_are_the_papers():
    np.testing.assert_allclose(np.log10(PAPER_GRID), [-2, -1.5, -1, -0.5, 0, 0.5, 1])
    assert FULL.rows == 1000
    assert {FULL.gradient_runs, FULL.cluster_runs, FULL.speech_runs} == {100}
    assert FULL.images == 200


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory):
    """Small sets in the format of the real ones, with classes that are easy to tell."""
    data = tmp_path_factory.mktemp("data")
    (data / "paper").mkdir()
    rng = np.random.default_rng(0)
    for name, n_classes, d in (
        ("accel_st_har", 3, 2),
        ("basicmotions", 3, 2),
        ("fsdd_lsf50", 6, 2),
    ):
        y = np.repeat(np.arange(1, n_classes + 1), 40)
        X = rng.standard_normal((len(y), d)) + 8.0 * y[:, None]
        np.savez(data / "paper" / f"{name}.npz", X=X, y=y[None].astype(np.int16))
    return data


def test_table_2_has_every_set_and_pair(stand_ins, tmp_path):
    lab = Lab(replace(TINY, accelerometry_runs=2), tmp_path, stand_ins)
    runs.work(lab, comparison.batches(lab))
    accelerometry, speech = comparison.run(lab)
    assert accelerometry.tables[1].head == ["method", "accel_st_har", "basicmotions"]
    assert len(speech.tables[1].body) == 15 + 1
    assert [row[0] for row in accelerometry.tables[1].body][:4] == [
        *comparison.PAPER_METHODS
    ]
    ari = read(tmp_path / "comparison_accelerometry.csv")
    assert {row["ari"] for row in ari if row["method"] == "k-means"} == {"1"}


def lines(scores):
    return [
        {"data_set": "s", "method": m, "ari": str(v)}
        for m, values in scores.items()
        for v in values
    ]


def test_the_t_test_tells_what_is_comparable_to_the_best():
    noise = np.linspace(-0.1, 0.1, 20)
    scores = {LSLDG: 0.6 + noise, MEAN_SHIFT: 0.59 + noise, "k-means": 0.3 + noise}
    best = comparison.comparable(lines(scores), "s", list(scores))
    assert best == {LSLDG, MEAN_SHIFT}


def test_constant_scores_are_compared_without_a_t_test():
    scores = {LSLDG: [0.0, 0.0], MEAN_SHIFT: [0.0, 0.0], "k-means": [-0.1, -0.1]}
    best = comparison.comparable(lines(scores), "s", list(scores))
    assert best == {LSLDG, MEAN_SHIFT}


def test_pixels_as_rows_are_scaled_or_as_they_are():
    pixels = np.random.default_rng(0).integers(0, 256, size=(6, 8, 3), dtype=np.uint8)
    plain = images.pixels_as_rows(pixels, lab=False, scaled=False)
    np.testing.assert_allclose(plain[..., :3], pixels, atol=0.5)
    np.testing.assert_array_equal(
        plain[..., 3:], np.moveaxis(np.indices((6, 8)), 0, -1)
    )
    scaled = images.pixels_as_rows(pixels, lab=False, scaled=True)
    for part in (slice(3), slice(3, 5)):
        np.testing.assert_allclose(scaled[..., part].var(axis=(0, 1)).mean(), 1.0)


@pytest.mark.parametrize("method", [*list(images.SHIFTS)[-2:], [*images.READINGS][-1]])
def test_readings_of_table_1_tell_two_halves_apart(method):
    rng = np.random.default_rng(0)
    pixels = rng.normal(60.0, 8.0, size=(14, 20, 3))
    pixels[:, 10:] += 120.0
    pixels = pixels.clip(0, 255).astype(np.uint8)
    segment = images.mean_shift_segments
    options = images.SHIFTS.get(method)
    if options is None:
        segment, options = images.lsldg_segments, images.READINGS[method]
    labels = segment(pixels, **options)
    assert labels.shape == (14, 20)
    assert not set(labels[:, :9].ravel()) & set(labels[:, 11:].ravel())
