"""What the documentation shows runs as it is printed, and its links hold."""

import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest

from modeseek.gradient.extensions.penalties import PENALTIES

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *DOCS.glob("*.rst")])
EXAMPLES = sorted((DOCS / "gallery").glob("plot_*.py"))

#: A block of Python and, where it follows at once, the block of what it prints.
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n\n^```text\n(?P<printed>.*?)^```$)?",
    flags=re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"(?<!`)\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")


def blocks(page):
    return list(BLOCK.finditer(page.read_text("utf-8")))


def name(path):
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """Run in an empty folder, without windows; put back what a page changes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    before = dict(PENALTIES)
    yield
    PENALTIES.clear()
    PENALTIES.update(before)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def skip_without_extra(error):
    """Skip where an extra is not installed; any other import must work."""
    extra = error.name and error.name.split(".")[0] not in ("modeseek", "sklearn")
    if not extra and "pip install" not in str(error):
        raise error
    pytest.skip(f"an extra is not installed: {error}")


def lines(text):
    return [line.rstrip() for line in text.rstrip().splitlines()]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=name)
@pytest.mark.usefixtures("empty_folder")
def test_python_blocks_run_and_print_what_the_page_says(page, capsys):
    names = {}
    for block in blocks(page):
        try:
            exec(compile(block["code"], page.name, "exec"), names)
        except ImportError as error:
            skip_without_extra(error)
        printed = capsys.readouterr().out
        if block["printed"] is not None:
            assert lines(printed) == lines(block["printed"])


@pytest.mark.parametrize("example", EXAMPLES, ids=name)
@pytest.mark.usefixtures("empty_folder")
def test_gallery_examples_run(example):
    try:
        runpy.run_path(str(example), run_name="__main__")
    except ImportError as error:
        skip_without_extra(error)


def test_the_pages_have_blocks_of_both_kinds():
    pages = {page.name: blocks(page) for page in PAGES}
    assert sum(block["printed"] is not None for block in pages["README.md"]) >= 2
    assert sum(block["printed"] is not None for block in pages["start.md"]) >= 5
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("page", [p for p in PAGES if p.suffix == ".md"], ids=name)
def test_links_between_files_hold(page):
    generated = "auto_gallery/"  # built; Sphinx checks these
    for target in LINK.findall(page.read_text("utf-8")):
        assert target.startswith(generated) or (page.parent / target).exists(), target


@pytest.mark.parametrize(
    "page", ["docs/design.md", "docs/decisions.md", "CONTRIBUTING.md"]
)
def test_files_that_the_map_names_exist(page):
    named = set(re.findall(r"`([\w/]+\.py)`", (ROOT / page).read_text("utf-8")))
    there = [path.as_posix() for path in ROOT.rglob("*.py")]
    assert named
    for path in named:
        assert any(file.endswith(f"/{path}") for file in there), path


def test_the_map_is_one_page():
    assert len((DOCS / "design.md").read_text("utf-8").splitlines()) <= 90


def constants():
    """Lines of the table of constants: name, module and value as printed there."""
    for line in (DOCS / "constants.md").read_text("utf-8").splitlines():
        if line.startswith("| `"):
            name, path, value = re.match(
                r"\| `(\w+)`, `([\w/]+)\.py` \| (.+?) \|", line
            ).groups()
            yield pytest.param(
                f"modeseek.{path.replace('/', '.')}.{name}", value, id=name
            )


@pytest.mark.parametrize(("constant", "value"), list(constants()))
def test_constants_have_the_value_that_the_table_says(constant, value):
    found = find(constant)
    assert value == ("formula" if callable(found) else f"{found:,}")


@pytest.fixture(scope="module")
def equations():
    """The module beside the settings of Sphinx that reads the mathematics."""
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("equations")
    sys.path.remove(str(DOCS))


def find(dotted):
    """The object of a dotted name, or an error."""
    parts = dotted.split(".")
    for i in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for part in parts[i:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(dotted)


def test_every_equation_names_functions_that_exist(equations):
    found = equations.functions_of_equations()
    assert len(found) >= 15
    for label, functions in found.items():
        assert functions, f"{label} names no function"
        for function in functions:
            assert callable(find(function)), function


def test_every_numbered_equation_is_read(equations):
    text = equations.PAGE.read_text("utf-8")
    assert text.count("\n$$ (") == len(equations.functions_of_equations())
    assert text.count("*Computed by*") == len(equations.functions_of_equations())


def test_functions_link_back_to_their_equations(equations):
    docstring = ["Moments."]
    equations.add_equations(
        None,
        "function",
        "modeseek.gradient.moments.compute_moments",
        None,
        None,
        docstring,
    )
    assert ":eq:`moments`, :eq:`common`" in docstring[-2]
    untouched = ["Other."]
    equations.add_equations(None, "function", "modeseek.other", None, None, untouched)
    assert untouched == ["Other."]
