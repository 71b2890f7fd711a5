"""Mutation test: a small change of the mathematics must be noticed by the tests.

    python tools/mutants.py             # goes on where it stopped, for nine minutes
    python tools/mutants.py --again     # run the survivors again, after better tests
    python tools/mutants.py --report    # what is known so far

Mutants are drawn by a seed from all mutations of the modules below. Which tests run a
line is measured once; a mutant is shown to those alone, quickest first, in a process
forked from one that has the libraries loaded, and the first failure kills it.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.abc
import importlib.util
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import coverage
import numpy as np
import pytest
from mutations import Mutation, find_mutations, mutate

ROOT = Path(__file__).resolve().parents[1]
MODULES = (
    "gradient.moments",
    "gradient.extensions.penalties",
    "field.ascent",
    "field.modes",
)

#: Tests that are about these modules, or stand directly on them.
TESTS = tuple(
    f"tests/test_{name}.py"
    for name in (
        "moments",
        "penalties",
        "sparse",
        "multitask",
        "ascent",
        "modes",
        "steps",
        "field",
    )
)

#: Those that are shown to a mutant first.
OWN = {
    "gradient.moments": ("tests/test_moments.py",),
    "gradient.extensions.penalties": ("tests/test_penalties.py",),
    "field.ascent": ("tests/test_steps.py",),
    "field.modes": ("tests/test_steps.py",),
}

#: Where what is known is kept between runs.
KEPT = ROOT / "out" / "mutants"

#: A mutant may take so many times what its tests took, and so many seconds more.
PATIENCE, GRACE = 8.0, 20.0

#: Exit code of a process that broke outside of the tests.
FAULT = 99

#: Bytes that a mutant may ask for.
MEMORY = 8 << 30

#: Seconds of further tests, the quickest, that are shown to a mutant after its own.
BUDGET = 5.0

QUIET = [
    "-q",
    "-x",
    "--tb=no",
    "--no-header",
    "-p",
    "no:cacheprovider",
    "-o",
    "addopts=",
]


class Known(NamedTuple):
    """What was measured of the tests."""

    seconds: dict[str, float]  # of every test
    lines: dict[str, dict[str, set[str]]]  # module -> line -> tests, or whole files


class Swap(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module of the package from a tree instead of its file."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.name, self.tree = f"modeseek.{module}", tree

    def find_spec(self, name: str, path: object, target: object = None) -> Any:
        """Answer for the one module."""
        return (
            importlib.util.spec_from_loader(name, self) if name == self.name else None
        )

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leave that to Python."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the tree as the module's code."""
        exec(compile(self.tree, f"<mutant of {self.name}>", "exec"), module.__dict__)


class Choose:
    """Plugin of pytest: only these tests, quickest first."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Drop the others and sort."""
        items[:] = [item for item in items if item.nodeid in self.seconds]
        items.sort(key=lambda item: self.seconds[item.nodeid])


class Watch:
    """Plugin of pytest: which test runs which line, and how long it takes."""

    def __init__(self, cover: coverage.Coverage) -> None:
        self.cover = cover
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up what the phases of a test take."""
        before = self.seconds.get(report.nodeid, 0.0)
        self.seconds[report.nodeid] = before + report.duration

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """What a fixture runs counts for the whole file: others may share it."""
        self.cover.switch_context(item.nodeid.split("::")[0])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """What the test itself runs."""
        self.cover.switch_context(item.nodeid)


def in_fork(work: Callable[[], int], seconds: float) -> int:
    """Exit code of work done in a process of its own, of so many seconds of CPU."""
    child = os.fork()
    if not child:
        code = FAULT
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(
                resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2)
            )
            said = os.open(
                KEPT / f"said-{os.getppid()}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            )
            os.dup2(said, 1)
            os.dup2(said, 2)
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def file_of(module: str) -> Path:
    """File of a module of the package."""
    return (ROOT / "src" / "modeseek" / module.replace(".", "/")).with_suffix(".py")


def source_of(module: str) -> str:
    """Text of a module of the package."""
    return file_of(module).read_text("utf-8")


def digest(*texts: str) -> str:
    """Short mark of texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


def preload() -> None:
    """Import what the tests import besides the package, so that no fork has to."""
    place = KEPT / "libraries.json"

    def collect() -> int:
        code = int(pytest.main([*QUIET, "--collect-only", *TESTS]))
        ours = ("modeseek", "test_", "tests", "_pytest", "__m")
        names = [name for name in sys.modules if not name.startswith(ours)]
        place.write_text(json.dumps(names))
        return code

    if in_fork(collect, 600.0):
        sys.exit(f"The tests cannot be collected; see {KEPT / 'said-*.txt'}.")
    for name in json.loads(place.read_text("utf-8")):
        if "hypothesis" not in name:  # whose plugin must come with pytest
            with suppress(ImportError):
                importlib.import_module(name)


def measure() -> Known:
    """Which tests run each line, measured anew for files that changed."""
    texts = [source_of(module) for module in MODULES]
    seconds: dict[str, float] = {}
    lines: dict[str, dict[str, set[str]]] = {module: {} for module in MODULES}
    for test in TESTS:
        mark = digest(*texts, (ROOT / test).read_text("utf-8"))
        place = KEPT / f"{Path(test).stem}-{mark}.json"
        if not place.exists():
            print(f"measuring which lines {test} runs ...", flush=True)
            if in_fork(lambda test=test, place=place: _measure(test, place), 3600.0):
                sys.exit(f"{test} must pass first; see {KEPT / 'said-*.txt'}.")
        found = json.loads(place.read_text("utf-8"))
        seconds |= found["seconds"]
        for module, contexts in found["lines"].items():
            for line, tests in contexts.items():
                lines[module].setdefault(line, set()).update(tests)
    return Known(seconds, lines)


def _measure(test: str, place: Path) -> int:
    files = {m: str(file_of(m)) for m in MODULES}
    cover = coverage.Coverage(
        data_file=None, config_file=False, include=list(files.values())
    )
    watch = Watch(cover)
    cover.start()
    code = int(pytest.main([*QUIET, test], plugins=[watch]))
    cover.stop()
    data = cover.get_data()
    lines = {m: data.contexts_by_lineno(file) for m, file in files.items()}
    if not code:
        place.write_text(json.dumps({"seconds": watch.seconds, "lines": lines}))
    return code


def tests_for(known: Known, module: str, mutation: Mutation) -> dict[str, float]:
    """Tests that run a line, by the seconds each takes: the module's own and a few."""
    contexts = known.lines[module].get(str(mutation.line), set())
    if "" in contexts:  # runs as the module is loaded: anybody may depend on it
        contexts = contexts | set(TESTS)
    hit = [t for t in known.seconds if t in contexts or t.split("::")[0] in contexts]
    own = [test for test in hit if test.startswith(OWN[module])]
    others = sorted(set(hit) - set(own), key=known.seconds.__getitem__)
    spent = np.cumsum([known.seconds[test] for test in others])
    few = others[: int(np.searchsorted(spent, BUDGET))]
    return {test: known.seconds[test] for test in (*own, *few)}


def judge(module: str, mutation: Mutation, known: Known) -> str:
    """Show a mutant to its tests: killed, timeout, survived or untested."""
    chosen = tests_for(known, module, mutation)
    if not chosen:
        return "untested"
    own = {t: s for t, s in chosen.items() if t.startswith(OWN[module])}
    for stage in (own, {t: s for t, s in chosen.items() if t not in own}):
        if not stage:
            continue
        patience = GRACE + PATIENCE * sum(stage.values())
        code = in_fork(lambda s=stage: _show(module, mutation, s), patience)
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return "timeout"
        if code:
            return "killed"
    return "survived"


def _show(module: str, mutation: Mutation, tests: dict[str, float]) -> int:
    sys.meta_path.insert(0, Swap(module, mutate(source_of(module), mutation)))
    files = sorted({test.split("::")[0] for test in tests})
    return int(pytest.main([*QUIET, *files], plugins=[Choose(tests)]))


def draw(seed: int, count: int) -> list[tuple[str, Mutation]]:
    """Mutants drawn from all modules together."""
    all_mutants = [(m, x) for m in MODULES for x in find_mutations(source_of(m))]
    chosen = np.random.default_rng(seed).permutation(len(all_mutants))[:count]
    return [all_mutants[i] for i in chosen]


def mark(module: str, mutation: Mutation) -> str:
    """Name of a mutant, which changes with the text of its module."""
    where = f"{mutation.line}:{mutation.column}"
    change = digest(source_of(module), mutation.was, mutation.becomes)
    return f"{module}:{where}:{change}"


def load() -> dict[str, str]:
    """What is known of mutants; the last line on each counts."""
    place = KEPT / "outcomes.jsonl"
    lines = place.read_text("utf-8").splitlines() if place.exists() else []
    return dict(json.loads(line) for line in lines)


def run(mutants: Sequence[tuple[str, Mutation]], minutes: float, again: bool) -> None:
    """Judge what is not known yet, until the time is over."""
    KEPT.mkdir(parents=True, exist_ok=True)
    preload()
    outcomes, known = load(), measure()
    until = time.monotonic() + 60.0 * minutes
    for module, mutation in mutants:
        name = mark(module, mutation)
        lives = outcomes.get(name) in ("survived", "untested")
        if name in outcomes and not (again and lives):
            continue
        if time.monotonic() > until:
            print("out of time; run again to go on", flush=True)
            break
        outcomes[name] = judge(module, mutation, known)
        with (KEPT / "outcomes.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps([name, outcomes[name]]) + "\n")
        print(f"{outcomes[name]:9}{describe(module, mutation)}", flush=True)


def describe(module: str, mutation: Mutation) -> str:
    """A mutant in one line."""
    was, becomes = (
        " ".join(text.split())[:70] for text in (mutation.was, mutation.becomes)
    )
    return f"{module}.py:{mutation.line}: {was} -> {becomes}"


def report(mutants: Sequence[tuple[str, Mutation]], outcomes: dict[str, str]) -> None:
    """Print survivors and the share that was killed."""
    judged = [
        (m, x, outcomes[mark(m, x)]) for m, x in mutants if mark(m, x) in outcomes
    ]
    counts = Counter(outcome for *_, outcome in judged)
    for module, mutation, outcome in sorted(judged, key=lambda j: (j[0], j[1].line)):
        if outcome in ("survived", "untested"):
            print(f"{outcome:9}{describe(module, mutation)}")
    dead = counts["killed"] + counts["timeout"]
    print(
        f"{len(judged)} of {len(mutants)} mutants judged: {dead} killed "
        f"({100.0 * dead / max(1, len(judged)):.1f} %), of them {counts['timeout']} by "
        f"taking too long; {counts['survived']} survived, {counts['untested']} untested"
    )


def main() -> None:
    """Draw, judge, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--part", default="0/1", help="0/2 and 1/2 share the work")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    os.chdir(ROOT)
    mutants = draw(options.seed, options.count)
    if not options.report:
        part, parts = map(int, options.part.split("/"))
        run(mutants[part::parts], options.minutes, options.again)
    report(mutants, load())


if __name__ == "__main__":
    main()
