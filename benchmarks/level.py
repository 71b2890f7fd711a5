"""Rules for cutting the merge tree, judged on families they were not chosen on.

    MODESEEK_DATA=... python benchmarks/level.py --trees trees

Every set is cut down to two subsamples of its rows. Sets come from the families of the
folder and from families that are drawn here: Gaussian mixtures, curves, clusters on a
uniform background, clusters of dimension 1 among five features, and rows without
clusters. Their graphs of rows are built once, and kept in ``--trees``; then every rule
of :data:`RULES` cuts the trees, and the clusters are scored by the adjusted Rand index
as in ``benchmarks/quality.py``. Printed are the mean of each rule on each family, that
of the best level of each tree, and the score of each family if the rule is chosen on
the other families: by their mean plus the worst of them; and by their mean less how far
the worst of them is below its best levels, as some families are hard for any rule.

``--peers`` compares instead: ``ModeClustering()`` and those that are told nothing, too,
on the same subsamples, raw and standardised.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_circles, make_moons
from sklearn.preprocessing import StandardScaler

import quality
from modeseek.cluster.climbing import (
    choose_landscape,
    graph_frames,
    graph_landscape,
    nodes_of,
    scale_within,
)
from modeseek.graph.chance import draw_chance_modes
from modeseek.graph.crossings import count_narrowness
from modeseek.graph.landscape import GraphLandscape
from modeseek.rows.components import FEWEST_FEATURES
from modeseek.rows.source import ArrayRows
from modeseek.rows.subsample import make_overview
from modeseek.tree.default_cut import (
    CERTAIN,
    ChanceModes,
    chance_on_rows,
    chance_prominence,
    evidence_on_rows,
    merges_on_rows,
)
from modeseek.tree.merge_tree import MergeTree

FAMILIES = ("sipu", "wut", "other", "real", "paper", "uci", "drawn")

PEERS = ("hdbscan", "PLSCAN", "ToMATo")

#: Rows of a subsample at most, and its share of the rows.
ROWS, SHARE = 3000, 0.8

#: Sets of each family that is drawn here.
N_DRAWN = 20


class Case(NamedTuple):
    """A tree of a subsample, and all that rules and scores need."""

    family: str
    name: str
    tree: MergeTree
    n_nodes: int
    dimension: float
    sizes: np.ndarray  # (n_modes,) rows that climb to each mode
    row_modes: np.ndarray  # (n,) mode of every row
    labelings: np.ndarray  # (l, n); 0 is no label
    chance: ChanceModes  # drawn on the graph
    apart: np.ndarray  # (n_merges,) whether no neighbours connect the two sides
    counted: MergeTree  # with prominences that count more where few edges cross
    factor: float | None  # how many times deeper than drawn chance is, if measured

    def evidence(self) -> float:
        """How far the tree stands out from what chance makes."""
        return evidence_on_rows(self.tree, self._bound())

    def count_certain(self) -> int:
        """Clusters that stand by themselves."""
        return 1 + int((self.tree.prominence >= self._bound()).sum())

    def _bound(self) -> np.ndarray:
        return chance_prominence(self.n_nodes, self.dimension)


def mixtures(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Gaussians of unequal size, spread and overlap."""
    k, d = int(rng.integers(2, 41)), int(rng.choice([2, 2, 3, 5, 10]))
    centers = rng.normal(size=(k, d)) * rng.uniform(2.0, 8.0) * k ** (0.5 / d)
    spread = np.exp(rng.normal(scale=0.3, size=(k, d)))
    share = rng.dirichlet(np.full(k, 5.0))
    y = rng.choice(k, size=int(rng.integers(300, 3001)), p=share)
    return centers[y] + spread[y] * rng.normal(size=(len(y), d)), y + 1


def curves(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two rings, moons, or spirals."""
    n, seed = int(rng.integers(300, 2001)), int(rng.integers(1 << 30))
    noise, kind = rng.uniform(0.02, 0.12), rng.integers(3)
    if kind == 0:
        X, y = make_moons(n, noise=noise, random_state=seed)
    elif kind == 1:
        X, y = make_circles(n, noise=noise, factor=0.5, random_state=seed)
    else:
        y = np.arange(n) % 3
        t = rng.uniform(0.5, 2.5, n) * np.pi
        angle = t + y * 2 * np.pi / 3
        X = t[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        X += 4.0 * noise * rng.normal(size=X.shape)
    return X, y + 1


def background(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Gaussians among uniform rows, which have no label."""
    k, d = int(rng.integers(2, 9)), int(rng.choice([2, 2, 3]))
    n, share = int(rng.integers(500, 3001)), rng.uniform(0.0, 0.5)
    y = rng.integers(1, k + 1, size=n)
    X = rng.uniform(-8.0, 8.0, size=(k + 1, d))[y] + rng.normal(size=(n, d)) * 0.8
    noise = rng.random(n) < share
    X[noise], y[noise] = rng.uniform(-10.0, 10.0, size=(int(noise.sum()), d)), 0
    return X, y


def threads(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Segments in random directions of five features, with some noise."""
    k, n = int(rng.integers(2, 9)), int(rng.integers(300, 2001))
    y = rng.integers(k, size=n)
    along = rng.normal(size=(k, 5))
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    X = rng.normal(size=(k, 5))[y] * 2.0 + rng.uniform(-3, 3, n)[:, None] * along[y]
    return X + rng.uniform(0.05, 0.3) * rng.normal(size=X.shape), y + 1


def nothing(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows without clusters: a Gaussian, a cube, Student's t, a curve, a surface."""
    n, d = int(rng.integers(200, 3001)), int(rng.choice([2, 3, 5, 10]))
    kind = rng.integers(5)
    if kind == 0:
        X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    elif kind == 1:
        X = rng.uniform(size=(n, d))
    elif kind == 2:
        X = rng.standard_t(3, size=(n, d))
    else:
        t, u = rng.uniform(0, 2 * np.pi, n), rng.uniform(-1, 1, n)
        X = np.column_stack([np.cos(t), np.sin(t), u if kind == 3 else np.zeros(n)])
        X += 0.02 * rng.normal(size=X.shape)
    return X, np.ones(n, dtype=int)


DRAWN = {one.__name__: one for one in (mixtures, curves, background, threads, nothing)}


def data_sets(folder: Path | None) -> Iterator[quality.DataSet]:
    """Yield the sets of the folder, then those that are drawn."""
    if folder is not None:
        yield from quality.load(folder, list(FAMILIES), 10 * ROWS, 0)
    for family, draw in DRAWN.items():
        for seed in range(N_DRAWN):
            X, y = draw(np.random.default_rng(seed))
            yield quality.DataSet(family, f"{seed:02d}", X, y[None])


def draw_rows(data: quality.DataSet, half: int) -> np.ndarray:
    """Rows of a subsample, one of two."""
    n = min(ROWS, int(SHARE * len(data.X)))
    rng = np.random.default_rng(half)
    return np.sort(rng.choice(len(data.X), n, replace=False))


def build_cases(data: quality.DataSet, half: int) -> list[Case]:
    """Trees of a subsample, one for each set of coordinates."""
    rows = draw_rows(data, half)
    X = data.X[rows]
    overview = make_overview(ArrayRows(X, None, None), whole=False, n_jobs=None)
    sample, drawn = overview.sample, overview.sample.ranking.first
    build = partial(
        graph_landscape,
        nodes=nodes_of(sample, drawn),
        rounding=overview.rounding,
        n_jobs=None,
    )
    frames = graph_frames(overview.summary.frame(), sample, drawn)
    landscapes = [build(frame) for frame in frames]
    if 1 < X.shape[1] < FEWEST_FEATURES:
        landscapes = [build(scale_within(landscapes[0], build).frame)]
    return [_case(data, rows, X, landscape) for landscape in landscapes]


def _case(
    data: quality.DataSet, rows: np.ndarray, X: np.ndarray, landscape: GraphLandscape
) -> Case:
    graph = landscape.graph
    assert graph.links is not None
    chance = draw_chance_modes(
        graph.links.near,
        graph.links.edges,
        graph.height,
        graph.mode,
        graph.n_neighbors,
    )
    return Case(
        data.family,
        data.name,
        landscape.tree,
        len(graph.nodes),
        graph.dimension,
        np.bincount(graph.mode, minlength=len(graph.peaks)),
        landscape.locate(X),
        data.labelings[:, rows],
        chance,
        graph.are_apart(landscape.tree),
        count_narrowness(landscape.tree, graph.mode, graph.links.edges),
        landscape.measure_factor(chance, narrow=X.shape[1] < FEWEST_FEATURES),
    )


Rule = Callable[[Case], np.ndarray]


def drawn_chance(
    factor: float | None = None,
    *,
    strictly: bool = True,
    pieces: bool = True,
    narrow: bool = True,
    measures: bool = True,
) -> Rule:
    """Draw the level on the graph, strictly for many features or alike for all.

    How much deeper chance is than what is drawn is measured where it can be, or given.
    Pieces that no neighbours connect are not merged, or by depth alone as others.
    Valleys that few edges cross count more where features are few, or all alike.
    """

    def rule(case: Case) -> np.ndarray:
        many = case.tree.saddles.shape[1] >= FEWEST_FEATURES
        tree = case.counted if narrow and not many else case.tree
        bound = float(chance_prominence(case.n_nodes, case.dimension))
        strict = strictly and many
        p_value = chance_on_rows(tree, bound, case.chance, factor)
        made = merges_on_rows(tree, p_value, bound, strict=strict)
        if measures and factor is None and case.factor is not None:
            known = chance_on_rows(tree, bound, case.chance, case.factor, measured=True)
            made &= merges_on_rows(tree, known, bound, strict=strict, measured=True)
        return made & ~case.apart if pieces else made

    return rule


def above_chance(factor: float) -> Rule:
    """Make merges whose prominence is below that of chance, times a factor."""

    def rule(case: Case) -> np.ndarray:
        chance = chance_prominence(case.n_nodes, case.dimension)
        return case.tree.prominence < factor * chance

    return rule


def widest_gap(prominence: np.ndarray) -> float:
    """Smallest prominence above the widest gap; infinite where there is none.

    Sorted from the largest down, the gap after the i-th counts sqrt(i) times that of
    log(1 + p), if p is at least 0.5.
    """
    falling = np.sort(prominence)[::-1]
    gap = -np.diff(np.log1p(falling), append=0.0)
    worth = np.sqrt(1.0 + np.arange(len(gap))) * gap
    worth = worth[falling >= 0.5]
    return float(falling[np.argmax(worth)]) if worth.size else np.inf


def above_gap(case: Case) -> np.ndarray:
    """Make merges below the widest gap, if any is above chance."""
    prominence = case.tree.prominence
    if prominence.max(initial=0.0) < chance_prominence(case.n_nodes, case.dimension):
        return np.ones(len(prominence), dtype=bool)
    return prominence < widest_gap(prominence)


def above_gap_or_chance(case: Case) -> np.ndarray:
    """Make merges below the widest gap and below so many times chance."""
    return above_gap(case) & above_chance(CERTAIN)(case)


def few_false(case: Case) -> np.ndarray:
    """Let chance expect at most one false cluster in twenty.

    The largest prominence of chance has nearly a Gumbel distribution, whose scale is a
    tenth of the bound; so the number of false clusters that is expected above a level
    grows by e for each tenth that the level is lower.
    """
    chance = chance_prominence(case.n_nodes, case.dimension)
    falling = np.sort(case.tree.prominence)[::-1]
    level = chance * (1.0 - 0.1 * np.log(np.arange(1, len(falling) + 1)))
    kept = np.flatnonzero(falling >= level)
    return case.tree.prominence < (falling[kept[-1]] if len(kept) else np.inf)


def deep_from_both(case: Case) -> np.ndarray:
    """Ask for a depth from both sides: the geometric mean of the two heights."""
    tree = case.tree
    chance = chance_prominence(case.n_nodes, case.dimension)
    other = [tree.heights[two].max() for _, two in tree.sides()]
    depth = np.sqrt(tree.prominence * (np.array(other) - tree.passes))
    return (tree.prominence < 0.8 * chance) | (depth < 1.2 * chance)


RULES: dict[str, Rule] = {
    "default": drawn_chance(),
    "factor 1.7": drawn_chance(measures=False),
    "factor 1.1": drawn_chance(1.1),
    "factor 1.5": drawn_chance(1.5),
    "any width": drawn_chance(narrow=False),
    "alike for all": drawn_chance(strictly=False),
    "by depth alone": drawn_chance(pieces=False),
    "above chance": above_chance(1.0),
    f"above {CERTAIN} chance": above_chance(CERTAIN),
    "above the gap": above_gap,
    f"the gap or {CERTAIN} chance": above_gap_or_chance,
    "few false": few_false,
    "deep from both sides": deep_from_both,
}


def score(case: Case, made: np.ndarray) -> float:
    """Score the clusters that the merges leave, by the best labeling."""
    labels = case.tree.merge(made)[case.row_modes]
    return max(quality.rand_index(y, labels) for y in case.labelings)


def best_level(case: Case) -> float:
    """Score of the best level, among those between prominences (at most 60)."""
    levels = np.append(np.sort(case.tree.prominence), np.inf)
    tried = np.unique(np.linspace(0, len(levels) - 1, 60).astype(int))
    return max(score(case, case.tree.prominence < levels[i]) for i in tried)


def judge(cases: list[Case]) -> dict[str, dict[str, float]]:
    """Mean score of every rule, and of the best level, on each family."""
    found: dict[str, dict[str, float]] = {}
    for name, rule in RULES.items():
        found[name] = by_family(cases, [score(case, rule(case)) for case in cases])
    found["best level"] = by_family(cases, [best_level(case) for case in cases])
    return found


def by_family(cases: list[Case], scores: list[float]) -> dict[str, float]:
    """Mean score of each family."""
    families = np.array([case.family for case in cases])
    return {
        str(family): float(np.mean(np.array(scores)[families == family]))
        for family in dict.fromkeys(families.tolist())
    }


def by_worst(scores: np.ndarray, best: np.ndarray) -> float:
    """Merit of a rule: its mean over families, and the worst of them."""
    return float(scores.mean() + scores.min())


def by_shortfall(scores: np.ndarray, best: np.ndarray) -> float:
    """Merit of a rule: its mean over families, less the most that it misses."""
    return float(scores.mean() - (best - scores).max())


MERITS = {"chosen by the worst": by_worst, "chosen by the shortfall": by_shortfall}


def chosen_without(
    found: dict[str, dict[str, float]],
    family: str,
    merit: Callable[[np.ndarray, np.ndarray], float],
) -> str:
    """Rule of the largest merit over the other families."""
    others = [name for name in found["default"] if name != family]

    def scores(rule: str) -> np.ndarray:
        return np.array([found[rule][name] for name in others])

    return max(RULES, key=lambda rule: merit(scores(rule), scores("best level")))


def report(found: dict[str, dict[str, float]]) -> str:
    """Write the Markdown table of families by rules, and of the rules left out."""
    rows = {
        family: [found[name][family] for name in found] for family in found["default"]
    }
    means = np.mean(list(rows.values()), axis=0).tolist()
    cells = {family: [f"{value:.3f}" for value in row] for family, row in rows.items()}
    for merit in MERITS.values():
        chosen = {family: chosen_without(found, family, merit) for family in rows}
        for family, rule in chosen.items():
            cells[family].append(f"{found[rule][family]:.3f} ({rule})")
        means.append(np.mean([found[rule][family] for family, rule in chosen.items()]))
    cells["**mean**"] = [f"**{mean:.3f}**" for mean in means]
    lines = [
        "| family | " + " | ".join([*found, *MERITS]) + " |",
        "| --- |" + " --- |" * (len(found) + len(MERITS)),
    ]
    lines += [
        f"| {family} | " + " | ".join(row) + " |" for family, row in cells.items()
    ]
    return "\n".join(lines)


def load_cases(trees: Path, folder: Path | None) -> list[Case]:
    """Trees of every set and subsample, built where they are missing."""
    trees.mkdir(parents=True, exist_ok=True)
    cases = []
    for data in data_sets(folder):
        for half in (0, 1):
            path = trees / f"{data.family}-{data.name}-{half}.pkl"
            if not path.exists():
                print(path.stem, file=sys.stderr, flush=True)
                path.write_bytes(pickle.dumps(build_cases(data, half)))
            cases.append(choose_landscape(*pickle.loads(path.read_bytes())))
    return cases


def compare(trees: Path, folder: Path | None) -> str:
    """Write the Markdown table of families by clusterers that are told nothing."""
    trees.mkdir(parents=True, exist_ok=True)
    scores: dict[str, list[dict[str, float]]] = {}
    for data in data_sets(folder):
        for half in (0, 1):
            path = trees / f"{data.family}-{data.name}-{half}-scores.json"
            if not path.exists():
                print(path.stem, file=sys.stderr, flush=True)
                path.write_text(json.dumps(score_methods(data, draw_rows(data, half))))
            scores.setdefault(data.family, []).append(json.loads(path.read_text()))
    names = list(scores["nothing"][0])
    means = {
        family: [np.mean([one[name] for one in all_of]) for name in names]
        for family, all_of in scores.items()
    }
    means["**mean**"] = np.mean(list(means.values()), axis=0).tolist()
    lines = [
        "| family | " + " | ".join(names) + " |",
        "| --- |" + " --- |" * len(names),
    ]
    for family, row in means.items():
        lines.append(f"| {family} | " + " | ".join(f"{v:.3f}" for v in row) + " |")
    return "\n".join(lines)


def score_methods(data: quality.DataSet, rows: np.ndarray) -> dict[str, float]:
    """Score of ours on a subsample, and of peers on it raw and standardised."""
    X, labelings = data.X[rows], data.labelings[:, rows]
    found = {}
    for name in ("modeseek", *PEERS):
        method = quality.METHODS[name]
        for features in ("raw",) if method.scales else ("raw", "standardised"):
            Z = X if features == "raw" else StandardScaler().fit_transform(X)
            column = name if method.scales else f"{name}, {features}"
            found[column] = quality.score(method, Z, labelings, 0)[0]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MODESEEK_DATA"))
    parser.add_argument("--trees", type=Path, default=Path("out/trees"))
    parser.add_argument("--peers", action="store_true", help="compare clusterers")
    options = parser.parse_args()
    if options.peers:
        print(compare(options.trees, options.data))
        return
    print(report(judge(load_cases(options.trees, options.data))))


if __name__ == "__main__":
    main()
