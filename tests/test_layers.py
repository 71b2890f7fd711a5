"""Imports go one way, what is private stays private, what is optional stays out."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import modeseek

SOURCE = Path(modeseek.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

#: Folders and single modules; each imports only those before it.
ROOMS = (
    *("errors", "files", "rows", "tree", "field", "graph", "gradient", "cluster"),
    *("image", "plot", "report", "persist", "cli"),
)

#: Modules without a place in that order: what they may import.
DOORS = {"__init__": ROOMS, "__main__": ROOMS, "dask": ("rows",)}
DOORS["datasets"] = ("rows", "field")

#: Names with a leading underscore that others offer to all: those of named tuples, and
#: Python's only way to leave a process at once.
OFFERED = {"_replace", "_fields", "_asdict", "_exit"}

#: Packages that only some modules may import.
OPTIONAL = {
    "matplotlib": {"plot/canvas"},
    "plotly": {"report/page"},
    "skimage": {"image/inputs"},
    "dask": {"rows/dask"},
    "distributed": {"rows/dask"},
    "typer": {"cli/commands", "cli/options"},
    "rich": {"cli/console"},
    "pyarrow": {
        f"cli/{name}" for name in ["tables", "columns", "writers", "features", "tasks"]
    },
    "flowio": {"cli/cytometry"},
    "openpyxl": {"cli/sheets"},
    "skops": {"persist"},
    "PIL": {"image/image_files"},
}


def name_of(path):
    return path.relative_to(SOURCE).with_suffix("").as_posix()


@cache
def nodes_of(path):
    return list(ast.walk(ast.parse(path.read_text("utf-8"))))


def imports(path):
    """Yield the dotted names that a module imports, wherever in it."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively: name the package"
            yield node.module
            if node.module == "modeseek":
                yield from (f"modeseek.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_room_imports_only_those_before_it(path):
    room = name_of(path).split("/")[0]
    allowed = DOORS.get(room) or ROOMS[: ROOMS.index(room)]
    used = {n.split(".")[1] for n in imports(path) if n.startswith("modeseek.")}
    assert used - {"__version__", room} <= set(allowed)


def is_private(name):
    return name.startswith("_") and not name.endswith("__") and name not in OFFERED


def private_names_of(folder):
    """Names with a leading underscore that the classes of a folder define."""
    for node in [node for path in folder.glob("*.py") for node in nodes_of(path)]:
        if isinstance(node, ast.FunctionDef) and is_private(node.name):
            yield node.name
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
            yield node.attr
        elif isinstance(node, ast.ClassDef):
            declared = (line for line in node.body if isinstance(line, ast.AnnAssign))
            yield from (ast.unparse(line.target) for line in declared)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_private_names_of_other_folders_are_left_alone(path):
    known = set(private_names_of(path.parent))
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            own = ast.unparse(node.value) in ("self", "cls")
            assert own or node.attr in known, f"line {node.lineno}: {node.attr}"
        elif isinstance(node, ast.ImportFrom):
            assert not any(is_private(alias.name) for alias in node.names)


def body_length(function):
    """Lines of a function's body, without its docstring."""
    body = function.body[ast.get_docstring(function) is not None :]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_files_and_functions_are_short(path):
    assert len(path.read_text("utf-8").splitlines()) <= 450
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef):
            assert body_length(node) <= 60, node.name


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_optional_packages_stay_at_home(path):
    packages = {name.split(".")[0] for name in imports(path)}
    for package, homes in OPTIONAL.items():
        assert package not in packages or name_of(path) in homes


def test_the_walk_sees_imports():
    assert "modeseek.rows.arrays" in imports(SOURCE / "field" / "basis.py")


def loaded_by(statement):
    """Top-level packages that a fresh interpreter has loaded after a statement."""
    code = f"import sys; {statement}; print(*{{m.split('.')[0] for m in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_help_loads_nothing_that_computes():
    loaded = loaded_by("import modeseek.cli.commands")
    assert {"modeseek", "typer"} <= loaded
    assert not loaded & {"numpy", "scipy", "sklearn", "pyarrow", "skops"}


def test_importing_the_package_imports_nothing_optional():
    optional = {*OPTIONAL, "pandas"}
    loaded = loaded_by("import modeseek; modeseek.ModeClustering")
    assert "modeseek" in loaded
    # scikit-learn itself may load pandas where it is installed.
    assert not (loaded & optional) - loaded_by("import sklearn.model_selection")
