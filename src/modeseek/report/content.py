"""Everything that the web page draws, as one dictionary for JSON."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modeseek.cluster.answers import NOISE
from modeseek.cluster.features import scaling_of
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.profile import LEAST_SAID, MOST_SAID, Profile, profile_rows
from modeseek.plot.drawing import SYMBOLS, palette, sample_each_group, without_names
from modeseek.report.columns import FRAMES, PLANE, ScatterColumns
from modeseek.report.packing import pack
from modeseek.report.told import Told
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.validation import is_word
from modeseek.tree.dendrogram import lay_out
from modeseek.tree.gaps import GAP_IN_WORDS, largest_prominence

#: Features in the page at most, and numbers for all modes and features together.
MOST_FEATURES, MODE_VALUES = 60, 60_000

#: Rows of every mode that are chosen, for the scatter and for the animation.
LEAST_SHOWN, LEAST_CLIMBING = 10, 3

#: Colours at least, for kinds of rows, and at most; of more modes, some share them.
LEAST_COLORS, MOST_COLORS = 12, 500


def collect(
    model: ModeClustering,
    rows: NDArray[np.floating],
    modes: Integers,
    names: list[str],
    max_rows: int,
    rng: np.random.Generator,
    settings: Mapping[str, object] | None = None,
    told: Told | None = None,
) -> dict[str, Any]:
    """Everything the page draws, ready for JSON; arrays are packed.

    ``modes`` (n,) are those that the rows (n, d) reach, ``names`` those of the
    features. At most ``max_rows`` rows are drawn, chosen by ``rng``; ``settings`` are
    further lines of the table of settings, ``told`` is what users say of the rows.
    """
    n_modes = len(model.modes_)
    profile = profile_rows(scaling_of(model), rows, modes, n_modes)
    most = max(2, min(MOST_FEATURES, MODE_VALUES // n_modes))
    kept = profile.separating(model.mode_labels_, most)
    shown = sample_each_group(modes, max_rows, rng, LEAST_SHOWN)
    shown_rows = rows[shown].astype(np.float64)
    clusters = model.mode_labels_[modes[shown]]
    columns = ScatterColumns(model, shown_rows, clusters, names, kept)
    climbing = sample_each_group(
        modes[shown], columns.count_climbers(), rng, LEAST_CLIMBING
    )
    climbers = np.sort(shown[climbing])
    drawn = columns.values(shown_rows)
    climb = columns.climb_values(rows[climbers].astype(np.float64), modes[climbers])
    summits = columns.values(model.modes_)
    low, high = _range(drawn, climb, summits)
    quantum = np.where(high > low, (high - low) / np.iinfo(np.uint16).max, 1.0)

    # At the cut of the fit: a slider does not change which rows are far from others.
    labels = modes if model.noise is None else without_names(model).predict(rows)
    noise = np.flatnonzero(labels == NOISE)

    def quantize(values: Floats) -> dict[str, str]:
        return pack(np.rint((values - low) / quantum), "u2")

    return {
        "rows": len(rows),
        "features": rows.shape[1],
        "decision": model.decision_,
        "said": {"most": MOST_SAID, "least": LEAST_SAID},
        "columns": columns.names,
        "plane": PLANE[0],
        "start": columns.start,
        "low": pack(low, "f8"),
        "quantum": pack(quantum, "f8"),
        "shown": pack(shown, "u4"),
        "drawn": quantize(drawn),
        "climbers": pack(climbers, "u4"),
        "frames": FRAMES,
        "climb": quantize(climb),
        "summits": quantize(summits),
        "modes": pack(modes, "u2" if len(model.modes_) <= 2**16 else "u4"),
        "noise": pack(noise, "u4"),
        "colors": palette(min(max(n_modes, LEAST_COLORS), MOST_COLORS)),
        "symbols": SYMBOLS,
        **(told or Told()).describe(shown, model.cluster_modes_),
        **_describe_tree(model),
        **_describe_profile(profile, names, kept),
        "settings": _describe_settings(model, settings),
    }


def _range(*parts: Floats) -> tuple[Floats, Floats]:
    """Least and largest value of every column."""
    flat = np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts])
    return flat.min(axis=0), flat.max(axis=0)


def _describe_profile(
    profile: Profile, names: list[str], kept: Integers
) -> dict[str, Any]:
    """What the page needs of some features."""
    return {
        "profiled": [names[j] for j in kept],
        "count": pack(profile.size, "u4"),
        "sums": pack(profile.sums[:, kept], "f4"),
        "squares": pack(profile.squares[:, kept], "f4"),
        "mean": pack(profile.mean[kept], "f8"),
        "deviation": pack(profile.deviation[kept], "f8"),
    }


def _describe_tree(model: ModeClustering) -> dict[str, Any]:
    """The merge tree, its drawing, and the cut that the page opens with."""
    tree, layout = model.merge_tree_, lay_out(model.merge_tree_)
    assert tree.sizes is not None
    return {
        "fitted": {
            "labels": pack(model.mode_labels_, "u4"),
            "tops": pack(model.cluster_modes_, "u4"),
            "prominence": _cut_level(model),
        },
        "weight": pack(model.mode_weights_, "f8"),
        "gap": {
            "above": largest_prominence(tree.sizes.sum()),
            "words": GAP_IN_WORDS,
        },
        "tree": {
            "child": pack(tree.child, "u4"),
            "parent": pack(tree.parent, "u4"),
            "prominence": pack(tree.prominence, "f8"),
            "error": pack(tree.std_error, "f8"),
        },
        "layout": {
            "x": pack(layout.x, "f8"),
            "merge": pack(layout.merge, "u4"),
            "left": pack(layout.left, "f8"),
            "right": pack(layout.right, "f8"),
            "leftFoot": pack(layout.left_foot, "f8"),
            "rightFoot": pack(layout.right_foot, "f8"),
        },
    }


def _cut_level(model: ModeClustering) -> float | None:
    """Prominence that the tree is cut at; None where that is no single number."""
    if is_word(model.prominence, "auto"):
        return None
    level = float(model.prominence)
    as_asked = np.array_equal(model.label_modes(prominence=level), model.mode_labels_)
    return level if as_asked else None  # the tree may have been cut anew


def _describe_settings(
    model: ModeClustering, further: Mapping[str, object] | None
) -> dict[str, list[list[str]]]:
    """Tables of names and values: what was asked, what was found, what made it."""
    fitted = model.estimator_
    chosen: dict[str, object] = {
        "coordinates that rows climb in": model.n_components_,
        "most steps of a row": model.n_iter_,
        "rows still moving": model.n_unconverged_,
        "modes": len(model.modes_),
        "clusters as fitted": model.n_clusters_,
    }
    if model.ascent_ != "rows":  # there the gradient is of another model
        chosen["gradient"] = type(fitted).__name__
        chosen["Gaussians in it (centres)"] = len(fitted.centers_)
        chosen["their width (bandwidth)"] = _shorten(fitted.bandwidth_)
        if hasattr(fitted, "alpha_"):
            chosen["penalty on their weights (alpha)"] = f"{fitted.alpha_:.4g}"
    versions = {"modeseek": metadata.version("modeseek")}
    versions["Python"] = platform.python_version()
    for package in ("NumPy", "SciPy", "scikit-learn", "plotly"):
        versions[package] = metadata.version(package)
    tables: dict[str, Mapping[str, object]] = {
        "Data": further or {},
        "Settings": model.get_params(deep=False),
        "Chosen and found": chosen,
        "Versions": versions,
    }
    return {
        heading: [[str(name), str(value)] for name, value in table.items()]
        for heading, table in tables.items()
        if table
    }


def _shorten(widths: Floats) -> str:
    """Widths in a line: the first few, or the one they share."""
    distinct = np.unique(widths)
    if len(distinct) == 1:
        return f"{distinct[0]:.4g}"
    more = f", ... ({len(widths)})" if len(widths) > 8 else ""
    return ", ".join(f"{width:.4g}" for width in widths[:8]) + more
