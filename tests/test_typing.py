"""Types that users see: a strict check of their code finds its mistakes only."""

import re
import subprocess
import sys

import pytest

pytest.importorskip("mypy")

USER = """
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from modeseek import (
    Comparison,
    KernelDensityGradient,
    LogDensityGradient,
    ModeClustering,
    compare_clusterings,
)

X = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]
model = ModeClustering(LogDensityGradient(bandwidth="auto"), noise=0.01).fit(X)
assert_type(model, ModeClustering)
assert_type(model.labels_, NDArray[np.int_])
assert_type(model.n_clusters_, int)
assert_type(model.cluster_centers_, NDArray[np.float64])
assert_type(model.predict(X), NDArray[np.int_])
assert_type(model.membership(X), NDArray[np.float64])
assert_type(model.outlier_score(X), NDArray[np.float64])
assert_type(model.transform(X), NDArray[np.float64])
assert_type(model.merge_tree_.prominence, NDArray[np.float64])
assert_type(model.decision_, str)
assert_type(model.cut(n_clusters=2), NDArray[np.int_])
assert_type(KernelDensityGradient(0.5).fit(X).gradient(X), NDArray[np.float64])
assert_type(compare_clusterings([0, 1], [1, 0]), Comparison)
ModeClustering(n_cluster=3)  # call-arg
ModeClustering(n_clusters="three")  # arg-type
model.cut(levels=2)  # call-arg
model.merge_tree_.depth  # attr-defined
"""


def test_a_strict_check_of_user_code_finds_its_mistakes_only(tmp_path):
    (tmp_path / "user.py").write_text(USER, "utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "user.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^user\.py:(\d+): error:.*\[(.+)\]$", run.stdout, re.MULTILINE)
    lines = enumerate(USER.splitlines(), 1)
    wrong = [(str(i), line.split("  # ")[1]) for i, line in lines if "  # " in line]
    assert found == wrong, run.stdout + run.stderr
