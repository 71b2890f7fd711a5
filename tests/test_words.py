"""A new user's walk: words of the method are explained where they are met."""

import re
from importlib import resources
from pathlib import Path

import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from modeseek import ModeClustering
from modeseek.cli.commands import app

ROOT = Path(__file__).resolve().parent.parent

#: Words with what explains them.
EXPLAINED = {
    r"modes?\b": r"top of the density|tops of the density|top of their density",
    r"prominence": r"how far the log|falls? less than this|depth of the valley",
    r"saddle": r"lowest point of the best way",
    r"gap\b": r"no row lies between|above a gap in the tree",
    r"p-value": r"how likely chance",
    r"\bsd\b": r"standard deviations? \(sd\)",
    r"jaccard": r"rows that both have",
    r"contrast": r"jump in colour",
    r"cofactor": r"arcsinh\(x / cofactor\)",
}

#: Words of the glossary that only its readers know.
UNKNOWN = r"\b(basins?|bumps?|landscapes?|grain|scouts?|overview|certified|moments)\b"


def help_of(command):
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "300"})
    return result.output.replace("│", " ")


def notebook():
    model = ModeClustering().fit(load_wine(as_frame=True).data)
    shown = model._repr_mimebundle_()["text/html"]
    return shown[shown.index(model.decision_) :] + model.merge_tree_._repr_html_()


def page():
    text = (resources.files("modeseek.report") / "assets" / "page.html").read_text()
    return re.sub(r"<[^>]*>|\{\{\w+\}\}", " ", text)


COMMANDS = ("cluster", "predict", "tree", "report", "compare", "segment", "smooth")
PLACES = {
    "README": lambda: (ROOT / "README.md").read_text("utf-8"),
    "start": lambda: (ROOT / "docs" / "start.md").read_text("utf-8"),
    "help": lambda: help_of([]),
    **{f"help of {name}": lambda name=name: help_of([name]) for name in COMMANDS},
    "page": page,
    "notebook": notebook,
}


@pytest.mark.parametrize("place", PLACES)
def test_words_are_explained_where_they_are_met(place):
    text = " ".join(PLACES[place]().split())
    for word, explanation in EXPLAINED.items():
        if re.search(word, text, re.IGNORECASE):
            assert re.search(explanation, text), f"{place} does not explain {word}"
    assert not re.search(UNKNOWN, text)
