"""The merge tree as text and as other libraries keep trees."""

import re
from copy import copy

import networkx as nx
import numpy as np
import pytest
from scipy.cluster import hierarchy

from modeseek import KernelDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.tree import MergeTree
from modeseek.tree.outline import MOST_PRINTED, merges_left


@pytest.fixture(scope="module")
def model():
    """Many modes, merged to four clusters."""
    X, _ = three_gaussians().sample(400, random_state=0)
    return ModeClustering(KernelDensityGradient(0.2)).fit(X).recut(n_clusters=4)


@pytest.fixture
def tree(model):
    return model.merge_tree_


def plain_tree():
    """Three modes of nobody's clustering: 1 and 2 join 0, over saddles at 2 and 1."""
    return MergeTree(
        heights=np.array([5.0, 4.0, 3.0]),
        child=np.array([1, 2]),
        parent=np.array([0, 1]),
        saddles=np.zeros((2, 1)),
        passes=np.array([2.0, 1.5]),
        prominence=np.array([2.0, 1.5]),
        std_error=np.array([0.25, 0.5]),
    )


def same_partition(one, other):
    pairs = np.unique(np.column_stack([one, other]), axis=0)
    return len(pairs) == len(np.unique(one)) == len(np.unique(other))


def test_tree_knows_the_clusters_of_the_model_and_their_rows(model, tree):
    np.testing.assert_array_equal(tree.labels, model.mode_labels_)
    sizes = np.bincount(tree.labels, weights=tree.sizes)
    np.testing.assert_array_equal(sizes, np.bincount(model.labels_))
    moved = copy(model).recut(n_clusters=2)
    np.testing.assert_array_equal(moved.merge_tree_.labels, moved.mode_labels_)
    assert tree.labels.max() == 3


def test_repr_is_short_and_print_has_a_line_for_each_cluster(model, tree):
    n_modes = len(model.modes_)
    assert repr(tree) == f"MergeTree({n_modes} modes, 4 clusters, 400 samples)"
    title, *lines = str(tree).splitlines()
    assert title == repr(tree)
    assert sorted(re.search(r"cluster (\d)", line)[1] for line in lines) == list("0123")
    for cluster, size in enumerate(np.bincount(model.labels_)):
        assert sum(f"cluster {cluster}: {size} samples" in line for line in lines) == 1
    assert lines[0].endswith("highest")


def test_print_indents_clusters_below_the_one_they_merge_into():
    assert str(plain_tree()).splitlines() == [
        "MergeTree(3 modes)",
        "mode 0: highest",
        "└─ mode 1: prominence 2.00 ± 0.25",
        "   └─ mode 2: prominence 1.50 ± 0.50",
    ]
    star = plain_tree()._replace(
        parent=np.array([0, 0]), labels=np.array([1, 0, 2]), sizes=np.array([3, 5, 1])
    )
    assert str(star).splitlines()[1:] == [
        "cluster 1: 3 samples, highest",
        "├─ cluster 0: 5 samples, prominence 2.00 ± 0.25",
        "└─ cluster 2: 1 sample, prominence 1.50 ± 0.50",
    ]


def test_many_clusters_are_printed_in_part():
    k = MOST_PRINTED + 7
    tree = MergeTree(
        np.arange(k, 0.0, -1.0),
        *(np.arange(1, k), np.zeros(k - 1, dtype=int), np.zeros((k - 1, 1))),
        *(np.zeros(k - 1), np.arange(k, 1.0, -1.0), np.zeros(k - 1)),
    )
    lines = str(tree).splitlines()
    assert len(lines) == MOST_PRINTED + 2
    assert lines[-1] == "... and 7 more"
    assert tree._repr_html_().count("<tr>") == MOST_PRINTED + 1


def test_a_single_mode_is_a_tree_too():
    X = np.random.default_rng(0).standard_normal((50, 2))
    tree = ModeClustering(KernelDensityGradient(3.0)).fit(X).merge_tree_
    assert str(tree).splitlines()[1:] == ["cluster 0: 50 samples, highest"]
    assert tree.to_newick() == "'cluster 0 (50)';"
    assert tree.to_linkage().shape == (0, 4)
    assert list(tree.to_networkx().nodes) == [0]
    assert tree.to_pandas().parent.tolist() == [-1]
    assert "cluster 0" in tree._repr_html_()


def test_notebooks_get_the_same_lines_as_a_table(tree):
    html = tree._repr_html_()
    for line in str(tree).splitlines()[1:]:
        name, _, rest = line.partition(":")
        assert f"<b>{name.strip('│├└─ ')}</b>" in html
        assert rest in html


def test_linkage_cuts_into_the_clusters_of_the_tree(model, tree):
    Z = tree.to_linkage()
    assert hierarchy.is_valid_linkage(Z, throw=True)
    assert hierarchy.is_monotonic(Z)
    for n in (1, 2, 4, 7, len(tree.heights)):
        theirs = hierarchy.fcluster(Z, n, "maxclust")
        assert same_partition(theirs, tree.cut(n_clusters=n))
    assert len(hierarchy.dendrogram(Z, no_plot=True)["leaves"]) == len(model.modes_)


def test_data_frame_has_a_line_for_each_mode(model, tree):
    frame = tree.to_pandas()
    assert frame.index.name == "mode"
    np.testing.assert_array_equal(frame["cluster"], model.mode_labels_)
    np.testing.assert_array_equal(frame["size"], np.bincount(model.row_modes_))
    np.testing.assert_array_equal(frame["height"], tree.heights)
    assert frame["parent"].tolist().count(-1) == 1
    assert frame.loc[frame["parent"] < 0, "prominence"].isna().all()
    merged = frame.loc[tree.child]
    np.testing.assert_array_equal(merged["parent"], tree.parent)
    np.testing.assert_array_equal(merged["prominence"], tree.prominence)
    np.testing.assert_array_equal(merged["std_error"], tree.std_error)
    np.testing.assert_allclose(
        merged["height"] - merged["saddle_height"], merged["prominence"]
    )


def test_graph_is_an_arborescence_from_the_highest_mode(tree):
    graph = tree.to_networkx()
    assert nx.is_arborescence(graph)
    assert graph.in_degree(int(np.argmax(tree.heights))) == 0
    for i, edge in enumerate(zip(tree.parent, tree.child, strict=True)):
        assert graph.edges[edge]["prominence"] == tree.prominence[i]
    assert [graph.nodes[mode]["size"] for mode in graph] == tree.sizes.tolist()


def parse_newick(text):
    """Depths of the leaves below the root, by their names."""
    tokens = re.findall(r"'[^']*'|[(),;]|:[-+.\de]+", text)

    def read():
        below = {}
        if tokens[0] == "(":
            while tokens.pop(0) in "(,":
                below |= read()
                if tokens[0] == ")":
                    tokens.pop(0)
                    break
        else:
            below = {tokens.pop(0).strip("'"): 0.0}
        if tokens[0].startswith(":"):
            length = float(tokens.pop(0)[1:])
            below = {name: depth + length for name, depth in below.items()}
        return below

    depths = read()
    assert tokens == [";"]
    return depths


def test_newick_has_all_leaves_at_the_depth_of_the_last_merge(tree):
    depths = parse_newick(tree.to_newick())
    assert len(depths) == len(tree.heights)
    np.testing.assert_allclose(
        list(depths.values()), tree.prominence.max(), rtol=1e-4, atol=1e-4
    )
    named = [int(re.search(r"cluster (\d+)", name)[1]) for name in depths]
    np.testing.assert_array_equal(np.bincount(named), np.bincount(tree.labels))


def test_every_cluster_but_the_highest_has_one_merge_left(model, tree):
    own = merges_left(tree, model.mode_labels_)
    assert (own < 0).sum() == 1
    left = own[own >= 0]
    assert len(set(left)) == 3
    made = np.ones(len(tree.child), dtype=bool)
    made[left] = False
    assert same_partition(tree.merge(made), model.mode_labels_)


@pytest.mark.parametrize(
    ("method", "package"), [("to_pandas", "pandas"), ("to_networkx", "networkx")]
)
def test_a_missing_package_is_named(tree, monkeypatch, method, package):
    def missing(name, *args):
        raise ImportError(name)

    monkeypatch.setattr("modeseek.tree.export.import_module", missing)
    with pytest.raises(ImportError, match=f"{method} needs {package}: pip install"):
        getattr(tree, method)()
