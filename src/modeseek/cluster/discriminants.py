"""Coordinates in which clusters that were found differ, and the graph of rows in them.

Clusters that a graph of rows shows in all features are blurred by the directions in
which they do not differ, and by those in which features go together within them. In
their discriminant coordinates both are gone. Clusters that are true come back there,
with clearer borders; those that are not fall apart, and then the graph stays as it was.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from modeseek.cluster.climbing import Climbed, Nodes, graph_landscape
from modeseek.cluster.held_out import certify_merges, merge_unconfirmed
from modeseek.graph.edges import EDGE_NEIGHBORS
from modeseek.graph.landscape import GraphLandscape
from modeseek.graph.neighbors import Search
from modeseek.rows.arrays import Bools, Floats, Integers
from modeseek.rows.components import FEWEST_FEATURES
from modeseek.rows.coordinates import Frame
from modeseek.rows.rounding import Rounding
from modeseek.rows.splits import find_discriminants, standardise

#: Clusters are the same from this index on (adjusted Rand).
SAME_CLUSTERS = 0.8

#: Nodes of a graph that is built a second time, at most: more nodes tell as much.
MOST_NODES = 10_000

#: Where fewer neighbours than this share are of another cluster, among so many nodes,
#: there is nothing to sharpen.
LEAST_MIXED, LOOKED_AT = 0.005, 512


def discriminant_frame(frame: Frame, Z: Floats, part: Integers) -> Frame:
    """Coordinates in which parts (n,) of standardised rows Z (n, d) differ.

    Parts are numbered from 0, and none is empty. Features that are 0 have no share in
    the coordinates, which have unit variances within the parts.
    """
    used = Z.any(axis=0)
    found = find_discriminants(Z[:, used], part)
    components = np.zeros((len(found), Z.shape[1]))
    components[:, used] = found
    # Back in the features, a point is where rows with its coordinates are on average.
    loadings = np.linalg.lstsq(Z @ components.T, Z, rcond=None)[0]
    return frame._replace(components=components, loadings=np.asarray(loadings))


def sharpen_graph(
    climbed: Climbed, frame: Frame, rounding: Rounding, n_jobs: int | None
) -> GraphLandscape:
    """Graph in the discriminant coordinates of its clusters, if it shows them there.

    They must be the same clusters but for some rows at their borders, and no fewer, or
    there must be more evidence of them. What else shows there counts only if held-out
    rows confirm it. The given frame has zero means and unit
    variances. In a few features clusters have any shape, and the graph stays.
    """
    graph, nodes = climbed.landscape, climbed.nodes
    assert isinstance(graph, GraphLandscape)
    assert nodes is not None
    made = graph.default_merges()
    if made.all() or nodes.rows.shape[1] < FEWEST_FEATURES:
        return graph
    if len(nodes.rows) > MOST_NODES:
        return graph
    label = cluster_of_nodes(graph)
    if _share_mixed(graph, label) < LEAST_MIXED:
        return graph
    tells = _telling_nodes(label, nodes)
    Z = standardise(frame, graph.rows[tells], rounding, np.random.default_rng(0))
    if not Z.any():
        return graph
    _, part = np.unique(label[tells], return_inverse=True)
    sharper = discriminant_frame(frame, Z, part)
    if not sharper.n_coordinates:
        return graph
    rival = graph_landscape(sharper, nodes, rounding, n_jobs).with_merges(n_jobs)
    rival = certify_merges(rival, frame, rounding)
    known = graph.tree.merge(made)[graph.locate(rival.rows, n_jobs)]
    rival = merge_unconfirmed(rival, known, frame, rounding)
    rival_label = rival.tree.merge(rival.default_merges())[rival.locate(graph.rows)]
    if adjusted_rand_score(label, rival_label) < SAME_CLUSTERS:
        return graph
    no_fewer = (~rival.default_merges()).sum() >= (~made).sum()
    return rival if no_fewer or rival.evidence() >= graph.evidence() else graph


def cluster_of_nodes(graph: GraphLandscape) -> Integers:
    """Cluster of each node of a graph, by its default merges; numbered from 0."""
    group = graph.tree.merge(graph.default_merges())
    _, cluster = np.unique(group, return_inverse=True)
    return np.asarray(cluster[graph.graph.mode])


def _share_mixed(graph: GraphLandscape, label: Integers) -> float:
    """Share of the neighbours of some nodes that are of another cluster."""
    nodes = graph.graph.nodes
    some = np.arange(0, len(nodes), max(1, len(nodes) // LOOKED_AT))
    k = min(EDGE_NEIGHBORS + 1, len(nodes))
    near = Search(nodes).query(nodes[some], k)[1]
    return float((label[near] != label[some, None]).mean())


def _telling_nodes(label: Integers, nodes: Nodes) -> Bools:
    """Nodes that tell where the clusters are: not those that stand for themselves.

    These are there for being far from others; but of a small cluster they may be most.
    """
    drawn = np.arange(len(label)) < len(label) - nodes.n_single
    share = np.bincount(label, drawn) / np.bincount(label)
    return np.asarray(drawn | (share < 0.5)[label])
