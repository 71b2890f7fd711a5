"""The page that adds a penalty does so, as it is printed."""

import re
from pathlib import Path

import numpy as np
import pytest

from modeseek import LogDensityGradient
from modeseek.datasets import three_gaussians
from modeseek.gradient.base import frame_of
from modeseek.gradient.extensions.penalties import PENALTIES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "adding_a_penalty.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)


@pytest.fixture
def printed(capsys):
    """What the page prints; its entry is taken out again."""
    before = dict(PENALTIES)
    exec(compile(BLOCKS[0], PAGE.name, "exec"), {})
    yield capsys.readouterr().out
    PENALTIES.clear()
    PENALTIES.update(before)


def test_the_page_finds_the_three_clusters(printed):
    assert len(BLOCKS) == 1
    assert printed == "3\n"


@pytest.mark.usefixtures("printed")
def test_its_penalty_minimises_what_it_says():
    X = three_gaussians().sample(200, random_state=0)[0]
    for words in ({}, {"coefficients": "separate"}):
        model = LogDensityGradient(
            20, bandwidth=2.0, alpha=0.1, penalty="level", **words
        ).fit(X)
        G, h = model.moments_.mean()
        theta = np.atleast_2d(model.coef_)
        scale = (frame_of(model).unit / 2.0) ** 2
        apart = theta - theta.mean(axis=1, keepdims=True)
        slope = np.einsum("tbc,tc->tb", G, theta) + h + 0.1 * scale * (theta + apart)
        np.testing.assert_allclose(slope, 0.0, atol=1e-9)
