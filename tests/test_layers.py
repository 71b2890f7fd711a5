"""Imports go one way, and what is optional stays out until it is asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import modeseek

SOURCE = Path(modeseek.__file__).parent

#: A module may import modules of lower layers only. A new module is one more line.
LAYERS = {
    "frame": 0,
    "blocks": 0,
    "basis": 1,
    "sampling": 1,
    "field": 2,
    "moments": 2,
    "datasets": 2,
    "validation": 2,
    "pixels": 2,
    "regions": 2,
    "penalties": 3,
    "uncertainty": 3,
    "ascent": 3,
    "selection": 4,
    "modes": 4,
    "widths": 5,
    "tree": 5,
    "soft": 6,
    "model": 6,
    "pixelmodes": 6,
    "gradient": 7,
    "kernel": 8,
    "picture": 8,
    "cluster": 9,
    "image": 10,
    "plot": 10,
    "report": 11,
    "cli": 12,
    "__init__": 13,
}

#: Only estimators and what stands on them check what users pass in.
FIRST_ESTIMATOR = LAYERS["gradient"]

#: Packages that one module alone may import.
OPTIONAL = {
    "matplotlib": "plot",
    "skimage": "picture",
    "dask": "blocks",
    "typer": "cli",
}

MODULES = sorted(path.stem for path in SOURCE.glob("*.py"))


def imports(module):
    """Yield the dotted names that a module imports, wherever in it."""
    for node in ast.walk(ast.parse((SOURCE / f"{module}.py").read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively: name the package"
            yield node.module
            if node.module == "modeseek":
                yield from (f"modeseek.{alias.name}" for alias in node.names)


def siblings(module):
    """Modules of the package that a module imports."""
    names = {name.split(".")[1] for name in imports(module) if "modeseek." in name}
    return names & {path.stem for path in SOURCE.glob("*.py")}


@pytest.mark.parametrize("module", MODULES)
def test_module_has_a_layer(module):
    assert module in LAYERS, f"give {module} a layer in LAYERS of tests/test_layers.py"


@pytest.mark.parametrize("module", MODULES)
def test_module_imports_lower_layers_only(module):
    upward = {m for m in siblings(module) if LAYERS.get(m, 0) >= LAYERS.get(module, 0)}
    assert not upward, f"{module} must not import {sorted(upward)}"


@pytest.mark.parametrize("module", MODULES)
def test_only_estimators_validate(module):
    if "validation" in siblings(module):
        assert LAYERS[module] >= FIRST_ESTIMATOR


@pytest.mark.parametrize("module", MODULES)
def test_optional_packages_have_one_home(module):
    packages = {name.split(".")[0] for name in imports(module)}
    for package, home in OPTIONAL.items():
        assert package not in packages or module == home


def test_the_walk_sees_imports():
    assert {"field", "frame", "validation"} <= siblings("gradient")
    assert siblings("frame") == set()


def loaded_by(statement):
    """Top-level packages that a fresh interpreter has loaded after a statement."""
    code = f"import sys; {statement}; print(*{{m.split('.')[0] for m in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_importing_the_package_imports_nothing_optional():
    optional = {"matplotlib", "pandas", "dask", "skimage", "typer", "rich"}
    loaded = loaded_by("import modeseek")
    assert "modeseek" in loaded
    # scikit-learn itself may load pandas where it is installed.
    assert not (loaded & optional) - loaded_by("import sklearn.model_selection")
