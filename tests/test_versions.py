"""What is tested is what may be installed: oldest releases, versions of Python."""

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


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def lower_bounds():
    extras = project()["optional-dependencies"]
    wanted = [
        *project()["dependencies"],
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


def test_the_workflow_tests_every_python_that_is_claimed():
    yaml = pytest.importorskip("yaml")
    workflow = ROOT / ".github" / "workflows" / "tests.yml"
    matrix = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]["tests"]["strategy"]
    tested = {*matrix["matrix"]["python"]}
    tested |= {entry["python"] for entry in matrix["matrix"]["include"]}
    claimed = [re.search(r":: (3\.\d+)$", line) for line in project()["classifiers"]]
    assert tested == {match[1] for match in claimed if match}
    assert project()["requires-python"] == f">={min(tested, key=numbers)}"


@pytest.mark.parametrize("name", ["tests.yml", "publish.yml"])
def test_every_job_of_a_workflow_has_steps_that_run(name):
    yaml = pytest.importorskip("yaml")
    text = (ROOT / ".github" / "workflows" / name).read_text("utf-8")
    for job in yaml.safe_load(text)["jobs"].values():
        assert job["runs-on"]
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])
