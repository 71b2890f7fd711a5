"""Every clustering that is compared: a function of rows and the number of classes.

Only k-means and spectral clustering look at that number.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.cluster import HDBSCAN, KMeans, MeanShift, SpectralClustering
from sklearn.mixture import GaussianMixture

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering

#: The paper's candidates for widths and penalties, its equation (6).
PAPER_GRID = 10.0 ** np.arange(-2.0, 1.01, 0.5)

LSLDG, DEFAULTS = "LSLDG, authors' setting", "modeseek, defaults"
LSLDG_PRINTED, LSLDG_OURS = "LSLDG, as printed", "LSLDG, our grid"
MEAN_SHIFT = "Gaussian mean shift, paper's grid"
MEAN_SHIFT_FINE = "Gaussian mean shift, fine grid"

#: Most components of the Gaussian mixture chosen by BIC.
MOST_COMPONENTS = 10

Clustering = Callable[[np.ndarray, int], np.ndarray]


#: What is given to LogDensityGradient. The authors' published code, the paper to the
#: letter, and the library's own grid, scale of the penalty and choice of the width.
CONVENTIONS: dict[str, dict[str, Any]] = {
    LSLDG: {
        "bandwidth": PAPER_GRID,
        "alpha": PAPER_GRID,
        "penalty_scale": "authors",
        "selection": "min",
    },
    LSLDG_PRINTED: {
        "bandwidth": PAPER_GRID,
        "alpha": PAPER_GRID,
        "penalty_scale": "printed",
        "selection": "min",
    },
    LSLDG_OURS: {},
}


def lsldg_gradient(convention: str = LSLDG, **options: Any) -> LogDensityGradient:
    """The paper's main model, by one of the conventions."""
    given = {"coefficients": "separate", **CONVENTIONS[convention], **options}
    return LogDensityGradient(**given)


def lsldg(convention: str = LSLDG, **options: Any) -> ModeClustering:
    """The paper's clustering: every mode is a cluster."""
    return ModeClustering(lsldg_gradient(convention, **options), prominence=0.0)


def mean_shift(width: str | float | np.ndarray = PAPER_GRID) -> ModeClustering:
    """Gaussian mean shift: the width by likelihood, every mode is a cluster."""
    return ModeClustering(KernelDensityGradient(width), prominence=0.0)


def mixture_by_bic(X: np.ndarray, k: int) -> np.ndarray:
    fits = [
        GaussianMixture(m, random_state=0).fit(X) for m in range(1, MOST_COMPONENTS + 1)
    ]
    return min(fits, key=lambda fit: fit.bic(X)).predict(X)


def spectral(X: np.ndarray, k: int) -> np.ndarray:
    """Gaussian similarity; its width is the median distance between rows."""
    gamma = 0.5 / float(np.median(pdist(X))) ** 2
    return SpectralClustering(k, gamma=gamma, random_state=0).fit_predict(X)


def tomato(X: np.ndarray, k: int) -> np.ndarray:
    from tomato import ToMATo

    return np.asarray(ToMATo(random_state=0).fit(X).labels_)


def plscan(X: np.ndarray, k: int) -> np.ndarray:
    from fast_plscan import PLSCAN

    return np.asarray(PLSCAN(num_threads=1).fit_predict(X))


#: Those of this library, not yet fitted.
MODELS: dict[str, Callable[[], ModeClustering]] = {
    **{name: partial(lsldg, name) for name in CONVENTIONS},
    DEFAULTS: ModeClustering,
    MEAN_SHIFT: mean_shift,
    MEAN_SHIFT_FINE: partial(mean_shift, "cv"),
}

#: Those of others.
METHODS: dict[str, Clustering] = {
    "k-means": lambda X, k: KMeans(k, n_init=10, random_state=0).fit_predict(X),
    "spectral clustering": spectral,
    "HDBSCAN": lambda X, k: HDBSCAN(copy=True).fit_predict(X),
    "MeanShift": lambda X, k: MeanShift().fit_predict(X),
    "GMM + BIC": mixture_by_bic,
    "ToMATo": tomato,
    "PLSCAN": plscan,
}

#: Packages of the extra ``peers`` that a method needs.
NEEDED = {"ToMATo": "tomato", "PLSCAN": "fast_plscan"}


def missing(methods: tuple[str, ...]) -> list[str]:
    """Those whose package is not there."""
    return [
        name
        for name in methods
        if name in NEEDED and importlib.util.find_spec(NEEDED[name]) is None
    ]


def installed(methods: tuple[str, ...]) -> list[str]:
    """Those that can run here."""
    absent = missing(methods)
    return [name for name in methods if name not in absent]


def how_many(labels: np.ndarray) -> int:
    """Clusters found; -1 is noise."""
    return len(set(labels.tolist()) - {-1})
