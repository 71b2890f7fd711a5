"""One cluster is told in words, in the library and in the terminal."""

import numpy as np
import pytest

from modeseek import LogDensityGradient, ModeClustering
from modeseek.cli.commands import run
from modeseek.cluster.one_cluster import explain_one
from modeseek.gradient.model import GAUSSIAN_SHARE

RNG = np.random.default_rng(0)
UNIFORM = RNG.uniform(size=(400, 2))
HILL = np.random.default_rng(1).normal(size=(400, 2))
GAUSSIAN = RNG.normal(size=(300, 10))


def test_one_cluster_says_what_was_tried_and_what_chance_makes():
    model = ModeClustering().fit(HILL)
    assert model.n_clusters_ == 1
    assert model.estimator_.gaussian_share_ >= GAUSSIAN_SHARE
    depth = model.merge_tree_.prominence.max()
    said = model.decision_
    assert "rows that were held out confirm no split in any direction tried" in said
    assert f"the deepest valley, {depth:.2f} in log-density" in said
    assert "of 20 draws of 400 rows without clusters" in said
    assert "n_clusters=2 cuts the tree there" in said


def test_a_ring_was_not_put_to_held_out_rows():
    t = RNG.uniform(0.0, 2.0 * np.pi, 500)
    model = ModeClustering().fit(np.column_stack([np.cos(t), np.sin(t)]))
    assert "One cluster: the deepest valley" in model.decision_
    assert "held out" not in model.decision_


def test_how_often_chance_makes_the_valley_is_told_in_twentieths():
    landscape = ModeClustering(ascent="rows").fit(UNIFORM)._landscape
    tree = landscape.tree
    deepest = tree.prominence.argmax()
    assert tree.p_value[deepest] >= 0.05
    for p_value, times in ((1.0, 20), (0.31, 6), (0.05, 1)):
        told = tree._replace(p_value=np.full(len(tree.prominence), p_value))
        words = explain_one(landscape._replace(tree=told), held_out=False)
        assert f"makes in about {times} of 20 draws" in words


def test_along_the_gradient_chance_is_that_of_the_standard_error():
    model = ModeClustering(LogDensityGradient(bandwidth=0.3)).fit(UNIFORM)
    tree = model.merge_tree_
    deepest = tree.prominence.argmax()
    tree = tree._replace(std_error=tree.prominence.copy())
    words = explain_one(model._landscape._replace(grown=tree), held_out=False)
    assert f"its standard error is {tree.prominence[deepest]:.2f}, 16 %" in words
    assert "held-out" not in words


def test_one_mode_has_no_valley():
    model = ModeClustering().fit(GAUSSIAN)
    assert len(model.modes_) == 1
    assert "the density has one mode and no valley" in model.decision_


@pytest.mark.parametrize("asked", [{"n_clusters": 1}, {"prominence": 99.0}])
def test_one_cluster_that_was_asked_for_needs_no_words(asked):
    assert "One cluster" not in ModeClustering(**asked).fit(UNIFORM).decision_


def test_several_clusters_need_no_words():
    X = np.concatenate([UNIFORM, UNIFORM + 5.0])
    assert "One cluster" not in ModeClustering().fit(X).decision_


def test_the_program_says_why_there_is_one_cluster(tmp_path, capsys):
    table = tmp_path / "rows.csv"
    np.savetxt(table, UNIFORM, delimiter=",", header="u,v", comments="")
    assert run(["cluster", str(table)]) == 0
    out, err = capsys.readouterr()
    said = " ".join((out + err).split())
    assert "the deepest valley" in said
    assert "More rows show shallower valleys" in said
