"""The page of ``benchmarks/coordinates.py``: what was wanted, what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import prominence

if TYPE_CHECKING:
    from coordinates import Result

OURS, TOLD = "modeseek, raw", "k-means, told k, standardised"
PEERS = ("hdbscan", "PLSCAN", "ToMATo")
TOLD_BRIEFLY = "k-means, told k"
OF_MIXTURES = ("modeseek", TOLD_BRIEFLY, "GMM of one covariance, told k", "HDBSCAN")
OF_KINDS = ("modeseek", TOLD_BRIEFLY, "GMM, told k", "HDBSCAN")

HEAD = """\
# Coordinates

Clusters of a table with many features live in a few directions. With nothing set,
`ModeClustering` looks for them: in principal components less their noise, and in the
directions in which held-out rows confirm a valley of the density.
`benchmarks/coordinates.py` measures how well that works, and wrote this page; each part
says what was wanted and what was found. Seed by seed, nothing is left out.
"""

TABLES = """\
## Real tables

Adjusted Rand index on {n_sets} tables, at most 5,000 rows of each, every method on the
same rows. k-means is told the true number of clusters and has standardised features;
the peers are told nothing and stand at raw or standardised features, whichever has the
better mean.

{table}

{wanted}

Behind is the family `uci`, where k-means knows the number of clusters and most tables
have few rows; the mean over all holds because of the other two families. Where the
index is near 0, one cluster was found, or several that have little to do with the
classes.

`real` and `uci` were in sight when rules were chosen, so that their figures flatter by
an unknown amount. The family `drawn`, {n_drawn} drawings of at most 2,000 rows, mostly
in the plane, took no part in choosing coordinates; it was in sight when pieces that no
neighbours connect were kept apart, which helps most there. Its mean index is {drawn},
and that of the version before {before}.
"""

MIXTURES = """\
## Gaussians that features show badly

Mean adjusted Rand index over {n_runs} draws of a kind: 3 to 10 Gaussians of one
covariance in 10 to 50 features, 1,000 to 3,000 rows, or two in 5 to 20, {seeds}
seeds each, which took no part in choosing rules. The nearest two means are five
standard deviations apart. *Round*, *unequal* in size, in *three directions* among
others of noise, turned; *correlated*, with a random covariance; *thin pairs* are apart
along the thinnest direction of theirs. *Overlapping* are 5 to 20 round Gaussians in 5
to 20 features, 2,000 to 10,000 rows, so wide that their true means alone have an index
of 0.9; two of them may have no valley between them. The others have standardised
features; the number of clusters is right in as many draws.

{table}

Splits, coordinates and the share of the gradient that a Gaussian explains are those of
whitened rows, so that the covariance of the clusters does not matter as long as there
are five rows or more for each feature. The version before has {before}.
"""

OTHER_KINDS = """\
## Clusters of other kinds

Mean adjusted Rand index over {seeds} draws of a kind, which took no part in choosing
rules, though other draws of the same kinds did: Gaussians of unequal covariances, heavy
tails, features that are skewed or rounded, Gaussians that differ in three hidden
directions, moons and rings in a plane among features of noise, thick segments in eight
features, all with 2 to 7 clusters of 400 to 3,000 rows together and up to 40 features;
rows without clusters, and one cluster that is bent, an arc or a ring among features of
noise, for which the number of draws with more than one stands instead. The number of
clusters is right in as many draws.

{table}

The version before has {before}.
"""

NOISE = """\
## Without clusters

Runs with more than one cluster among rows of one Gaussian, of a cube, of Student's t
with three degrees of freedom in every feature, and of a Gaussian of random covariance,
{seeds} seeds each.

{table}

{wanted}

A split counts only where held-out rows confirm it; many features did not make false
clusters likelier.
"""

TOY = """\
## The paper's toy

Three Gaussians in the plane and features of noise, 1,000 rows, {seeds} seeds: mean
index, and runs with three clusters. Features as they are, standardised, and after a
random rotation of all of them.

{table}

{wanted}

Units do not matter, as features are standardised first, and a rotation changes little.
Among 48 features of noise the two that differ make the coordinates by themselves; after
a rotation all 50 do, and the index is 0.01 lower.
"""

STABILITY = """\
## When five rows of a hundred go

{seeds} draws of 95 % of the rows (of at most 2,000, drawn once): mean index between the
labels of two draws on the rows that they share, the median number of clusters (the
least to the most), and the draws whose number is within one of the median. Beside it
that of the version before, with {before} draws.

{table}

{wanted}

The number of clusters rarely moves by more than one where there are few, but labels do:
where a valley is certain in some draws only, a cluster comes and goes with all of its
rows. Breast cancer is one cluster in some draws and two in others: the second mode is a
knot of some twenty rows, and its valley is as deep as chance makes one in one of twenty
tables. Wine is two clusters in two draws; in other draws of its 178 rows more often, so
that its index is 0.78 to 0.86, whichever draws are taken.
"""

PAIRS = """\
## Heights

Gaussians Delta apart along random directions of d features, 2,000 rows, {pairs} seeds
of pairs and {seeds} of the others (`benchmarks/prominence.py`): mean estimate of the
prominence ± mean standard error, and runs with as many clusters as the true density has
modes. An estimate is right within 25 % of the truth or two standard errors; the last
column does without the latter.

{table}

{wanted}

Where no valley is certain the tree is that of the graph of rows, whose modes of chance
have prominences of 0.3 to 1.4 where the truth is near 0. Two of its standard errors are
what chance makes of flat rows, so that being right within them says no more than that
the rows do not tell: the last column is the stricter one. Great heights are estimated
too low by more than their standard errors say, most of all in the triangle, where the
estimate is the lower of two valleys that are equally deep. The default rule merges
modes of a prominence below 0.3, so that mixtures below it are one cluster by intention.
One Gaussian of random covariance is among the noise above.
"""

TIME = """\
## Time

Gaussian noise around two centres: median time of {repeats} fits over that of
scikit-learn's `HDBSCAN` on the same rows, the two in turns on the same machine, which
had other work too.

{table}

{wanted}

Few rows in very many features cost HDBSCAN next to nothing, so that the last ratio is
large though the fit is short. That tables of 20,000 x 10 and 100,000 x 5 take no longer
than before was wanted too, and is not measured here: see [Speed](speed.md).
"""

FOOT = """\
    MODESEEK_DATA=folder python benchmarks/coordinates.py --docs docs/coordinates.md
"""


def write(
    results: list[Result], before: list[Result], pairs: list[prominence.Result]
) -> str:
    """Page of all results; a task that was not run has no part.

    Parameters
    ----------
    results : list of Result
        Lines of the CSV.
    before : list of Result
        Lines of an earlier version's, or none.
    pairs : list of prominence.Result
        Lines of the other.
    """
    parts = [HEAD]
    for task, part in PARTS.items():
        if any(r.task == task for r in results):
            parts.append(part(results, before))
    if pairs:
        parts.append(pairs_part(pairs))
    return "\n".join([*parts, FOOT])


def tables_part(results: list[Result], before: list[Result]) -> str:
    """Real tables, and the drawings."""
    drawn, results = of_task(results, "drawn"), of_task(results, "tables")
    score = {(r.case, r.method): r.value for r in results}
    n_clusters = {r.case: r.n_clusters for r in results if r.method == OURS}
    cases = list(dict.fromkeys(r.case for r in results))
    mean = {
        method: float(np.mean([score[case, method] for case in cases]))
        for method in dict.fromkeys(r.method for r in results)
        if all((case, method) in score for case in cases)
    }
    better = [
        max((f"{p}, raw", f"{p}, standardised"), key=mean.__getitem__) for p in PEERS
    ]
    columns = [OURS, TOLD, *better]
    rows = [
        [case, *(f"{score[case, c]:.2f}" for c in columns), str(n_clusters[case])]
        for case in cases
    ]
    for family in dict.fromkeys(case.split("/")[0] for case in cases):
        of_family = [case for case in cases if case.startswith(f"{family}/")]
        means = [np.mean([score[case, c] for case in of_family]) for c in columns]
        rows.append([f"mean of {family}", *(f"{m:.3f}" for m in means), ""])
    rows.append(["**mean**", *(f"**{mean[c]:.3f}**" for c in columns), ""])
    head = ["table", "modeseek", *columns[1:], "clusters (modeseek)"]
    behind = mean[TOLD] - mean[OURS]
    ahead = mean[OURS] - max(mean[c] for c in better)
    wine = score["uci/wine", OURS]
    wanted = [
        wish(
            "a mean at least that of k-means told k, less 0.03",
            f"{mean[OURS]:.3f} against {mean[TOLD]:.3f}",
            behind <= 0.03,
        ),
        wish("wine at least 0.8", f"{wine:.3f}", wine >= 0.8),
        wish(
            "no peer that is told nothing within 0.08",
            f"the nearest is {ahead:.3f} behind",
            ahead >= 0.08,
        ),
    ]
    return TABLES.format(
        n_sets=len(cases),
        table=markdown(head, rows),
        wanted="\n".join(wanted),
        n_drawn=len(drawn),
        drawn=mean_value(drawn),
        before=mean_value(of_task(before, "drawn")),
    )


def mixtures_part(results: list[Result], before: list[Result]) -> str:
    """Gaussians of one covariance: mean index and runs with the true number."""
    results, earlier = of_task(results, "mixtures"), of_task(before, "mixtures")
    counts = {sum(kind_of(r) == k for r in results) for k in map(kind_of, results)}
    return MIXTURES.format(
        n_runs=" or ".join(str(n // len(OF_MIXTURES)) for n in sorted(counts)),
        seeds=seeds(results),
        table=table_of_kinds(results, OF_MIXTURES),
        before=means_of_kinds(earlier),
    )


def kinds_part(results: list[Result], before: list[Result]) -> str:
    """Clusters of other kinds: the same."""
    results, earlier = of_task(results, "kinds"), of_task(before, "kinds")
    return OTHER_KINDS.format(
        seeds=seeds(results),
        table=table_of_kinds(results, OF_KINDS),
        before=means_of_kinds(earlier),
    )


def table_of_kinds(results: list[Result], methods: Sequence[str]) -> str:
    """Mean index of each method on each kind, and runs with the true number."""
    rows = []
    for kind in dict.fromkeys(map(kind_of, results)):
        cells = [kind]
        for method in methods:
            runs = [r for r in results if kind_of(r) == kind and r.method == method]
            right = sum(r.n_clusters == true_number(r) for r in runs)
            if true_number(runs[0]) == 1 == max(true_number(r) for r in runs):
                told = "told k" in method
                cells.append("-" if told else f"{len(runs) - right} of {len(runs)}")
            elif "told k" in method:
                cells.append(mean_value(runs, 2))
            else:
                cells.append(f"{mean_value(runs, 2)}, {right}/{len(runs)}")
        rows.append(cells)
    return markdown(["kind", *methods], rows)


def means_of_kinds(results: list[Result]) -> str:
    """Mean index of this clusterer on each kind, in words."""
    runs = [r for r in results if r.method == "modeseek" and true_number(r) > 1]
    kinds = dict.fromkeys(map(kind_of, runs))
    told = (
        f"{mean_value([r for r in runs if kind_of(r) == kind], 2)} ({kind})"
        for kind in kinds
    )
    return ", ".join(told) or "not been measured"


def kind_of(result: Result) -> str:
    """Kind of a mixture."""
    return result.case.split("|")[0]


def true_number(result: Result) -> int:
    """Number of clusters that a mixture was drawn with."""
    return int(result.case.split("|")[1])


def noise_part(results: list[Result], before: list[Result]) -> str:
    """Noise: runs with more than one cluster."""
    results = of_task(results, "noise")
    columns = list(dict.fromkeys(r.case.split("|", 1)[1] for r in results))
    kinds = list(dict.fromkeys(r.case.split("|")[0] for r in results))
    rows = [
        [kind, *(several(results, f"{kind}|{c}") for c in columns)] for kind in kinds
    ]
    head = ["", *("d = {}, n = {}".format(*c.split("|")) for c in columns)]
    found = [r.n_clusters > 1 for r in results]
    wanted = wish(
        "more than one cluster in at most 5 % of all runs",
        f"in {sum(found)} of {len(found)}, {100 * np.mean(found):.1f} %",
        np.mean(found) <= 0.05,
    )
    return NOISE.format(seeds=seeds(results), table=markdown(head, rows), wanted=wanted)


def several(results: list[Result], case: str) -> str:
    """Runs of a case with more than one cluster."""
    found = [r.n_clusters > 1 for r in results if r.case == case]
    return f"{sum(found)}/{len(found)}"


def toy_part(results: list[Result], before: list[Result]) -> str:
    """Three Gaussians: mean index and runs with three clusters."""
    results = of_task(results, "toy")
    features = list(dict.fromkeys(r.case.split("|")[0] for r in results))
    frames = list(dict.fromkeys(r.case.split("|")[1] for r in results))
    rows, held = [], []
    for frame in frames:
        cells = [frame]
        for d in features:
            runs = [r for r in results if r.case == f"{d}|{frame}"]
            mean, three = np.mean([(r.value, r.n_clusters == 3) for r in runs], axis=0)
            cells.append(f"{mean:.3f}, {three * len(runs):.0f}/{len(runs)}")
            held.append((mean >= 0.90, three >= 0.95))
        rows.append(cells)
    high, three = np.sum(held, axis=0)
    wanted = wish(
        "a mean of 0.90 and three clusters in 95 % of the runs, in every cell",
        f"the mean in {high} and the count in {three} of {len(held)} cells",
        bool(np.all(held)),
    )
    head = ["", *(f"d = {d}" for d in features)]
    return TOY.format(seeds=seeds(results), table=markdown(head, rows), wanted=wanted)


def stability_part(results: list[Result], before: list[Result]) -> str:
    """Draws against each other."""
    results = of_task(results, "stability")
    before = of_task(before, "stability")
    rows, held = [], []
    for name in dict.fromkeys(r.case for r in results):
        runs = [r for r in results if r.case == name]
        earlier = [r for r in before if r.case == name]
        rows.append([name, *draws(runs), *draws(earlier)])
        near = within_one(runs)
        held.append((np.mean([r.value for r in runs]) >= 0.85, near.mean() >= 0.9))
    same, count = np.sum(held, axis=0)
    wanted = wish(
        "an index of at least 0.85 and 18 of 20 draws within one cluster of the median",
        f"the index on {same} and the number on {count} of {len(held)} sets",
        bool(np.all(held)),
    )
    head = ["set", "index", "clusters", "within one"]
    head += ["index before", "clusters before", "within one before"]
    return STABILITY.format(
        seeds=seeds(results),
        before=seeds(before),
        table=markdown(head, rows),
        wanted=wanted,
    )


def draws(runs: list[Result]) -> list[str]:
    """Index between draws, median number of clusters, and draws within one of it."""
    if not runs:
        return [""] * 3
    counts = [r.n_clusters for r in runs]
    median = f"{np.median(counts):g} ({min(counts)} to {max(counts)})"
    return [mean_value(runs, 2), median, f"{within_one(runs).sum()}/{len(runs)}"]


def within_one(runs: list[Result]) -> np.ndarray:
    """Whether the number of clusters is within one of the median."""
    counts = np.array([r.n_clusters for r in runs])
    return np.abs(counts - np.median(counts)) <= 1


def pairs_part(pairs: list[prominence.Result]) -> str:
    """Gaussians along random directions."""
    two = [r for r in pairs if r.mixture == "pair"]
    shared = {r.seed for r in pairs if r.mixture != "pair"}
    far = [r for r in two if r.delta >= 4]
    near = [r for r in two if r.delta == 3 and r.n_features <= 20]
    one = [r for r in two if r.delta == 0]
    wanted = [
        wish_of_counts("two clusters, Delta = 4 and 6, every d", far),
        wish_of_counts("two clusters, Delta = 3, d up to 20", near),
        wish_of_counts("one cluster, Delta = 0", one),
        wish_of_heights("pairs", two),
        wish_of_heights(
            "all mixtures, seeds of all", [r for r in pairs if r.seed in shared]
        ),
    ]
    return PAIRS.format(
        pairs=len({r.seed for r in two}),
        seeds=len(shared),
        table=prominence.table(pairs),
        wanted="\n".join(wanted),
    )


def wish_of_heights(what: str, runs: list[prominence.Result]) -> str:
    """Wish for a right prominence in four of five runs."""
    right = [r.is_right for r in runs]
    found = f"in {sum(right)} of {len(right)}, {100 * np.mean(right):.1f} %"
    wanted = f"prominence right in 80 % of the runs of {what}"
    return wish(wanted, found, np.mean(right) >= 0.8)


def wish_of_counts(what: str, runs: list[prominence.Result]) -> str:
    """Wish for the right number of clusters in nine of ten runs of every cell."""
    cells = {
        key: np.mean([r.n_clusters == r.n_true for r in runs if r[1:3] == key])
        for key in dict.fromkeys(r[1:3] for r in runs)
    }
    low = [f"d = {d} (Delta = {D:g})" for (D, d), share in cells.items() if share < 0.9]
    n_right = sum(r.n_clusters == r.n_true for r in runs)
    found = f"{n_right} of {len(runs)} runs" + (
        f", fewer at {', '.join(low)}" * bool(low)
    )
    return wish(f"{what}: in 9 of 10 runs", found, not low)


def time_part(results: list[Result], before: list[Result]) -> str:
    """Ratios to HDBSCAN."""
    results = of_task(results, "time")
    rows, ratio, ours = [], {}, {}
    for case in dict.fromkeys(r.case for r in results):
        median = {
            method: np.median([r.seconds for r in results if r[1:3] == (case, method)])
            for method in ("modeseek", "HDBSCAN")
        }
        ours[case] = median["modeseek"]
        ratio[case] = median["modeseek"] / median["HDBSCAN"]
        rows.append(["{} x {}".format(*case.split("|")), f"{ratio[case]:.1f}"])
    many = [case for case in ratio if case != "62|2000"]
    wanted = [
        wish(
            "at most 3 times HDBSCAN at 3,000 x 50 and 2,000 x 128",
            ", ".join(f"{ratio[case]:.1f}" for case in many),
            all(ratio[case] <= 3 for case in many),
        ),
        wish(
            "62 x 2,000 below two seconds",
            "it is" if ours["62|2000"] < 2 else "it is not",
            ours["62|2000"] < 2,
        ),
    ]
    return TIME.format(
        repeats=seeds(results),
        table=markdown(["rows x features", "ratio to HDBSCAN"], rows),
        wanted="\n".join(wanted),
    )


PARTS = {
    "tables": tables_part,
    "mixtures": mixtures_part,
    "kinds": kinds_part,
    "noise": noise_part,
    "toy": toy_part,
    "stability": stability_part,
    "time": time_part,
}


def wish(wanted: str, found: str, holds: bool) -> str:
    """One line: what was wanted, what was found, and whether it holds."""
    return f"- Wanted: {wanted}. Found: {found}. **{'Holds' if holds else 'Missed'}.**"


def of_task(results: list[Result], task: str) -> list[Result]:
    """Results of a task."""
    return [r for r in results if r.task == task]


def mean_value(results: list[Result], digits: int = 3) -> str:
    """Mean index."""
    return f"{np.mean([r.value for r in results]):.{digits}f}" if results else "unknown"


def seeds(results: list[Result]) -> int:
    """Number of seeds."""
    return len({r.seed for r in results})


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
