"""The oldest releases that are tested are the oldest that may be installed."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: What the package itself stands on; further pins keep their old callers company.
OURS = {
    *("numpy", "scipy", "scikit-learn", "threadpoolctl", "matplotlib", "plotly"),
    *("scikit-image", "dask", "typer", "rich", "pyarrow", "flowio", "skops", "pandas"),
    "pillow",
}


def numbers(version):
    return [int(part) for part in version.split(".")]


def lower_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(r for extra in extras.values() for r in extra),
    ]
    found = [re.match(r"([\w-]+)(?:\[.*\])?>=([\d.]+)$", name) for name in wanted]
    return {match[1]: match[2] for match in found if match}


def pins():
    lines = (ROOT / "tests" / "oldest.txt").read_text("utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


@pytest.mark.parametrize("name", sorted(OURS))
def test_the_oldest_release_is_the_lower_bound(name):
    bound, pin = numbers(lower_bounds()[name]), numbers(pins()[name])
    # The first release of a series need not be its .0.
    assert pin[: len(bound)] == bound
    assert sum(pin[len(bound) :]) <= 1
