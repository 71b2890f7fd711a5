"""Figure 5: clustering of three Gaussians over features, widths, rows and centres.

All six panels read one file of runs. A width or a number of centres that is not given
is chosen by the method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from modeseek.datasets import three_gaussians
from reproduce.entries import Entry
from reproduce.methods import (
    LSLDG,
    MEAN_SHIFT,
    METHODS,
    MODELS,
    how_many,
    installed,
    lsldg,
    mean_shift,
)
from reproduce.runs import Batch, Key, Lab
from reproduce.toy_panels import (
    CENTER_FEATURES,
    OURS,
    TIME_FEATURES,
    TIMED,
    panels_of_figure_5,
)


def compute(
    method: str, features: int, rows: int, width: str, centers: str, seed: int
) -> dict[str, Any]:
    """Cluster one sample."""
    X, y = three_gaussians(features).sample(rows, random_state=seed)
    if width and method == MEAN_SHIFT:
        model = mean_shift(float(width))
    elif width:
        model = lsldg(method, bandwidth=float(width))
    elif centers:
        model = lsldg(method, n_centers=int(centers))
    elif method in MODELS:
        model = MODELS[method]()
    else:
        model = None
    labels = METHODS[method](X, 3) if model is None else model.fit_predict(X)
    chosen = "" if model is None else float(np.median(model.estimator_.bandwidth_))
    ari = adjusted_rand_score(y, labels)
    return {"ari": ari, "clusters": how_many(labels), "bandwidth": chosen}


def make_key(
    method: str, d: int, n: int, seed: int, width: object = "", centers: object = ""
) -> Key:
    return {
        "method": method,
        "features": d,
        "rows": n,
        "width": str(width),
        "centers": str(centers),
        "seed": seed,
    }


def batches(lab: Lab) -> list[Batch]:
    size = lab.size
    methods = [*OURS, *installed(size.peers)]
    n, seeds, few = size.rows, range(size.cluster_runs), range(size.other_runs)
    keys = [
        *(
            make_key(m, d, n, s)
            for d in size.cluster_features
            for m in methods
            for s in (seeds if m in (LSLDG, MEAN_SHIFT) else few)
        ),
        *(
            make_key(m, size.width_features, n, s, width=w)
            for w in size.widths
            for m in (LSLDG, MEAN_SHIFT)
            for s in seeds
        ),
        *(
            make_key(m, TIME_FEATURES, rows, s)
            for rows in size.timed_rows
            for m in TIMED
            for s in few
        ),
        *(
            make_key(LSLDG, CENTER_FEATURES, n, s, centers=b)
            for b in size.centers
            for s in seeds
        ),
    ]
    return [Batch("toy", keys, compute, "method")]


def run(lab: Lab) -> list[Entry]:
    (batch,) = batches(lab)
    methods = [*OURS, *installed(lab.size.peers)]
    return panels_of_figure_5(lab, batch, lab.lines(batch), methods)
