"""The graph of rows as a landscape: rows take the way up of the nearest node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from modeseek.graph.chance import draw_chance_modes
from modeseek.graph.crossings import count_narrowness
from modeseek.graph.edges import CURVES
from modeseek.graph.row_graph import (
    RowGraph,
    nearest_mode_labels,
    nearest_modes,
    nodes_on_the_way,
    row_heights,
)
from modeseek.rows.arrays import Bools, Floats, Integers, Reals
from modeseek.rows.components import FEWEST_FEATURES
from modeseek.rows.coordinates import Frame
from modeseek.rows.validation import check_within_reach
from modeseek.tree.default_cut import (
    ChanceModes,
    chance_of,
    chance_on_rows,
    evidence_on_rows,
    merges_on_rows,
)
from modeseek.tree.merge_tree import MergeTree


class GraphLandscape(NamedTuple):
    """A graph of rows with the merge tree of its modes.

    Rows come in the data's coordinates; see :class:`modeseek.cluster.Landscape` for
    what they can ask.
    """

    frame: Frame
    rows: Floats  # (m, d) nodes of the graph in the data's coordinates
    graph: RowGraph
    mode_weights: Floats  # (k,) of the nodes below each mode, with their copies
    tree: MergeTree  # its saddles in the data's coordinates
    certified: Bools | None = None  # (k - 1,) merges that held-out rows refuse
    made: Bools | None = None  # (k - 1,) merges that are made if they do not

    @property
    def modes(self) -> Floats:
        """Modes in the data's coordinates, shape (k, d): they are rows."""
        return self.rows[self.graph.peaks]

    def with_tree(self) -> GraphLandscape:
        """The landscape itself, whose tree is always there."""
        return self

    def enter(self, X: Reals) -> Floats:
        """Rows in the frame; those out of reach are refused."""
        check_within_reach(self.frame, X)
        return self.frame.enter(X)

    def locate(self, X: Reals, n_jobs: int | None = None) -> Integers:
        """Mode of the node nearest to each row."""
        group = None if self.made is None else self.tree.merge(self.default_merges())
        return nearest_modes(self.graph, self.enter(X), n_jobs, group)

    def label(
        self, X: Reals, mode_labels: Integers, n_jobs: int | None = None
    ) -> Integers:
        """Label of the mode of the node nearest to each row."""
        return nearest_mode_labels(self.graph, mode_labels, self.enter(X), n_jobs)

    def heights(self, X: Reals, n_jobs: int | None = None) -> Floats:
        """Log-density of rows, up to one constant, as nodes have it."""
        return row_heights(self.graph, self.enter(X), n_jobs)

    def paths(self, X: Reals, n_jobs: int | None = None) -> list[Floats]:
        """Where each row is after every step, in the data's coordinates."""
        way = nodes_on_the_way(self.graph, self.enter(X), n_jobs)
        return [np.asarray(X, dtype=np.float64), *(self.rows[node] for node in way)]

    def with_merges(self, n_jobs: int | None = 1) -> GraphLandscape:
        """The same with the merges chosen that are made by default.

        Pieces that no edge between neighbours connects are not merged. The p-values of
        the tree become those that merges were chosen by.
        """
        if self.made is not None:
            return self
        graph, tree = self.graph, self.tree
        strict = self.rows.shape[1] >= FEWEST_FEATURES
        apart = graph.are_apart(tree)
        made, p_value = self._judge(n_jobs, strict=strict)
        if tree.p_value is not None:
            tree = tree._replace(p_value=np.where(apart, tree.p_value, p_value))
        return self._replace(
            made=made & ~apart,
            tree=tree,
            graph=graph._replace(links=None, valleys=None),
        )

    def merges_by_formula(self) -> Bools:
        """Merges to make if nothing is drawn on the graph: there may be more."""
        strict = self.rows.shape[1] >= FEWEST_FEATURES
        made, _ = self._judge(1, strict=strict, draws=False)
        return made & ~self.graph.are_apart(self.tree)

    def _judge(
        self, n_jobs: int | None, *, strict: bool, draws: bool = True
    ) -> tuple[Bools, Floats]:
        """Merges across valleys such as chance makes, and how likely it makes each."""
        graph, tree = self.graph, self.tree
        bound = self.chance()
        if graph.links is not None and not strict:
            tree = count_narrowness(tree, graph.mode, graph.links.edges)
        p_value = chance_of(tree.prominence, bound)
        doubtful = draws and bool((tree.prominence >= bound).any())
        if not doubtful or graph.links is None:
            return merges_on_rows(tree, p_value, bound, strict=strict), p_value
        near, edges, _ = graph.links
        chance = draw_chance_modes(
            near, edges, graph.height, graph.mode, graph.n_neighbors, n_jobs
        )
        p_value = chance_on_rows(tree, bound, chance)
        made = merges_on_rows(tree, p_value, bound, strict=strict)
        factor = self.measure_factor(chance, narrow=not strict)
        if factor is not None:  # the worst of shapes need not be feared
            known = chance_on_rows(tree, bound, chance, factor, measured=True)
            kept = ~merges_on_rows(tree, known, bound, strict=strict, measured=True)
            usual = ~self.are_small()  # of these the valleys tell
            made &= ~(kept & usual)
            p_value = np.where(usual, np.minimum(p_value, known), p_value)
        return made, p_value

    def are_small(self) -> Bools:
        """Merges (k - 1,) whose lower mode is in a small group.

        Its height is made of fewer neighbours than most, or the mode stands for itself.
        """
        graph, chance = self.graph, self.chance()
        n_drawn = len(graph.nodes) - graph.n_single
        alone = graph.peaks[self.tree.child] >= n_drawn
        return np.asarray(alone | (chance > chance.min(initial=np.inf)))

    def measure_factor(self, chance: ChanceModes, *, narrow: bool) -> float | None:
        """How many times deeper than drawn ones valleys of chance are, if known.

        On curves the many between neighbours do not tell of the few along the curve.
        """
        graph = self.graph
        if graph.valleys is None or graph.links is None or graph.dimension <= CURVES:
            return None
        valleys = graph.valleys
        if narrow:
            tree = count_narrowness(valleys.tree, valleys.mode, graph.links.edges)
            valleys = valleys._replace(tree=tree)
        return chance.measure_factor(valleys.prominences())

    def default_merges(self) -> Bools:
        """Merges of the tree that are made by default."""
        made = self.with_merges().made
        assert made is not None
        return made if self.certified is None else made & ~self.certified

    def leaves_doubt(self) -> bool:
        """Whether a merge is made that chance hardly explains.

        It makes a valley as deep less often than not, so that more nodes might tell. Of
        small groups all rows are asked.
        """
        p_value = self.tree.p_value
        assert p_value is not None
        asked = self.default_merges() & ~self.are_small()
        return bool((p_value[asked] <= 0.5).any())

    def describe(self, kind: str = "principal components less noise") -> str:
        """Say in words how rows climb this graph; coordinates may be of some kind."""
        counts = np.isfinite(self.frame.unit).all()
        where = "all features" if counts else "all features that count"
        if self.frame.components is not None:
            where = f"{self.frame.n_coordinates} {kind}"
        return f"Rows climb from row to row, each to a denser neighbour in {where}."

    def count_certain(self) -> int:
        """Clusters that stand by themselves, whatever the other merges say."""
        return 1 + int((self.tree.prominence >= self.chance()).sum())

    def evidence(self) -> float:
        """How far the tree stands out from what chance makes."""
        return evidence_on_rows(self.tree, self.chance())

    def chance(self) -> Floats:
        """Prominence (k - 1,) that chance makes, for each merge."""
        return self.graph.chance_of_merges(self.tree)


GraphLandscape.__module__ = "modeseek.graph"  # model files name it so
