"""One cluster in words: what was tried, what chance makes, and what to try next."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from modeseek.cluster.landscape import Landscape
from modeseek.graph.landscape import GraphLandscape

NEXT = (
    "More rows show shallower valleys; features that say nothing about clusters hide "
    "them: leave these out."
)


def explain_one(landscape: Landscape, *, held_out: bool) -> str:
    """Say why all rows are one cluster, and whether held-out rows were asked too."""
    tried = "One cluster: "
    if held_out:
        tried += "rows that were held out confirm no split in any direction tried, and "
    tree = landscape.tree
    if not len(tree.prominence):
        return f"{tried}the density has one mode and no valley. {NEXT}"
    deepest = int(np.argmax(tree.prominence))
    depth, error = tree.prominence[deepest], tree.std_error[deepest]
    found = f"{tried}the deepest valley, {depth:.2f} in log-density, is such as chance"
    if isinstance(landscape, GraphLandscape) and tree.p_value is not None:
        n = len(landscape.graph.nodes)
        times = round(20 * float(tree.p_value[deepest]))
        often = f"makes in about {times} of 20 draws of {n:,} rows without clusters"
    else:
        times = 100.0 * norm.sf(depth / max(error, 1e-12))
        often = f"may make: its standard error is {error:.2f}, {times:.0f} % by chance"
    return f"{found} {often}. n_clusters=2 cuts the tree there. {NEXT}"
