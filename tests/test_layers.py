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
    "source": 1,
    "rounding": 1,
    "pairs": 2,
    "neighbors": 2,
    "cells": 2,
    "field": 2,
    "moments": 2,
    "summary": 2,
    "dask": 2,
    "validation": 2,
    "multitask": 2,
    "pixels": 2,
    "regions": 2,
    "penalties": 3,
    "thinning": 3,
    "uncertainty": 3,
    "ascent": 3,
    "basins": 3,
    "losses": 4,
    "selection": 4,
    "modes": 4,
    "choices": 5,
    "widths": 5,
    "tree": 5,
    "soft": 6,
    "level": 6,
    "rowedges": 6,
    "rowgraph": 7,
    "model": 6,
    "drawing": 6,
    "pixelmodes": 6,
    "containers": 6.5,
    "estimator": 7,
    "settings": 7,
    "datasets": 8,
    "gradient": 8,
    "kernel": 8,
    "palette": 8,
    "blurring": 9,
    "answers": 9.5,
    "cluster": 10,
    "image": 11,
    "canvas": 10,
    "plot_fit": 12,
    "plot_rows": 12,
    "plot": 13,
    "report": 13,
    "outputs": 0,
    "messages": 0,
    "options": 1,
    "cytometry": 1,
    "tables": 2,
    "columns": 3,
    "sinks": 4,
    "persist": 11,
    "streaming": 11,
    "console": 11,
    "pictures": 11,
    "tasks": 12,
    "cli": 14,
    "__init__": 15,
    "__main__": 15,
}

#: Only estimators, and what is near them or stands on them, check what users pass in.
FIRST_ESTIMATOR = LAYERS["containers"]

#: Packages that only some modules may import.
OPTIONAL = {
    "matplotlib": {"canvas"},
    "plotly": {"report"},
    "skimage": {"palette"},
    "dask": {"dask"},
    "distributed": {"dask"},
    "typer": {"cli", "options"},
    "rich": {"console"},
    "pyarrow": {"tables", "columns", "sinks", "streaming", "tasks"},
    "flowio": {"cytometry"},
    "skops": {"persist"},
    "PIL": {"pictures"},
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
def test_optional_packages_stay_at_home(module):
    packages = {name.split(".")[0] for name in imports(module)}
    for package, homes in OPTIONAL.items():
        assert package not in packages or module in homes


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


def test_help_loads_nothing_that_computes():
    loaded = loaded_by("import modeseek.cli")
    assert {"modeseek", "typer"} <= loaded
    assert not loaded & {"numpy", "scipy", "sklearn", "pyarrow", "skops"}


def test_importing_the_package_imports_nothing_optional():
    optional = {*OPTIONAL, "pandas"}
    loaded = loaded_by("import modeseek; modeseek.ModeClustering")
    assert "modeseek" in loaded
    # scikit-learn itself may load pandas where it is installed.
    assert not (loaded & optional) - loaded_by("import sklearn.model_selection")
