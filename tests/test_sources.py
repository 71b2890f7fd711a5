"""Which code a run comes from: what it entered, and the constants of that."""

import importlib
import sys
import threading

import pytest

pytest.importorskip("matplotlib")

from reproduce import sources
from reproduce.sources import Ledger, closure, digest, noting

MAIN = """
from toyland.parts import Kept, Unused, double, table

LEFT = table["left"] + 1


def asked(x):
    '''Say something.'''

    def inside(y):
        return double(y) + LEFT

    return Kept(inside(x)).value()


def never(x):
    return x


def in_a_thread(x):
    import threading

    one = threading.Thread(target=double, args=(x,))
    one.start()
    one.join()
"""

PARTS = """
table = {"left": 1}


class Unused:
    pass


def double(x: int) -> int:
    return 2 * x  # twice


class Base:
    factor = 3


class Kept(Base):
    def __init__(self, x):
        self.x = x

    def value(self):
        return self.x * self.factor

    def other(self):
        return 0
"""


def read_anew():
    """Forget what was read of files that have changed meanwhile."""
    remembered = ("read_module", "bare", "digest", "referred", "parts_at")
    for name in remembered:
        getattr(sources, name).cache_clear()


@pytest.fixture
def land(tmp_path, monkeypatch):
    """A function that writes a package, imports it and gives its main module."""
    folder = tmp_path / "toyland"
    folder.mkdir()
    monkeypatch.setitem(sources.PACKAGES, "toyland", folder)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(main=MAIN, parts=PARTS):
        (folder / "__init__.py").write_text("")
        (folder / "main.py").write_text(main)
        (folder / "parts.py").write_text(parts)
        for name in [n for n in sys.modules if n.startswith("toyland")]:
            del sys.modules[name]
        read_anew()
        importlib.invalidate_caches()
        return importlib.import_module("toyland.main")

    yield write
    for name in [n for n in sys.modules if n.startswith("toyland")]:
        del sys.modules[name]
    read_anew()


def test_what_is_entered_counts_with_its_constants_and_classes(land):
    main = land()
    with noting() as parts:
        assert main.asked(1) == 12
    assert set(closure(parts)) == {
        "toyland.main:LEFT",
        "toyland.main:asked",
        "toyland.parts:Base",
        "toyland.parts:Kept",
        "toyland.parts:Kept.__init__",
        "toyland.parts:Kept.value",
        "toyland.parts:double",
        "toyland.parts:table",
    }


def test_threads_are_watched_too(land):
    main = land()
    with noting() as parts:
        main.in_a_thread(1)
    assert ("toyland.parts", "double") in parts


def test_nothing_is_noted_afterwards(land):
    main, before = land(), sys.gettrace()
    with noting() as parts:
        pass
    main.asked(1)
    assert not parts
    assert sys.gettrace() is before
    assert threading.gettrace() is before if sys.version_info >= (3, 12) else True


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("Say something.", "Say something else.", []),
        ("# twice", "# two times", []),
        ("x: int", "x: float", []),
        ("return x\n", "return -x\n", []),
        ("class Unused:\n    pass", "class Unused:\n    y = 1", []),
        ("        return 0", "        return 1", []),
        ("return 2 * x", "return x + x", ["toyland.parts:double"]),
        ("factor = 3", "factor = 4", ["toyland.parts:Base"]),
        ('{"left": 1}', '{"left": 2}', ["toyland.parts:table"]),
        ('table["left"] + 1', 'table["left"]', ["toyland.main:LEFT"]),
        ("class Kept(Base)", "class Kept(Unused, Base)", ["toyland.parts:Kept"]),
        (
            "import Kept, Unused, double",
            "import Kept, Unused, triple as double",
            ["toyland.main:asked"],
        ),
    ],
)
def test_a_change_is_seen_where_it_counts(land, tmp_path, old, new, changed):
    main = land()
    ledger = Ledger(tmp_path / "sources.json", "1.0")
    with noting() as parts:
        main.asked(1)
    ledger.add("group", parts)
    ledger.write()
    assert Ledger(ledger.path, "1.0").changed("group") == []
    extra = "\n\ndef triple(x):\n    return 3 * x\n"
    assert old in MAIN + PARTS
    land(MAIN.replace(old, new), PARTS.replace(old, new) + extra)
    assert Ledger(ledger.path, "1.0").changed("group") == changed
    assert "releases" in Ledger(ledger.path, "2.0").changed("group")


def test_a_group_whose_parts_were_noted_anew_by_another_is_not_current(land, tmp_path):
    main = land()
    ledger = Ledger(tmp_path / "sources.json", "1.0")
    for group in ("one", "two"):
        with noting() as parts:
            main.asked(1)
        ledger.add(group, parts)
    main = land(parts=PARTS.replace("2 * x", "x + x"))
    with noting() as parts:
        main.asked(1)
    ledger.add("one", parts)
    assert ledger.changed("two") == ["nothing is known"]


def test_the_library_is_read_whole():
    for path in sorted(sources.LIBRARY.rglob("*.py")):
        steps = path.relative_to(sources.LIBRARY.parent).with_suffix("").parts
        name = ".".join(step for step in steps if step != "__init__")
        for part in sources.read_module(name).parts:
            assert len(digest((name, part))) == 8
