"""Every clustering that is compared: a function of rows and the number of classes.

Only k-means and spectral clustering look at that number.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.cluster import HDBSCAN, KMeans, MeanShift, SpectralClustering
from sklearn.mixture import GaussianMixture

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering

#: The paper's candidates for widths, equation (6).
PAPER_GRID = 10.0 ** np.arange(-2.0, 1.01, 0.5)

LSLDG, DEFAULTS = "LSLDG, paper's setting", "modeseek, defaults"
MEAN_SHIFT = "Gaussian mean shift, paper's grid"
MEAN_SHIFT_FINE = "Gaussian mean shift, fine grid"

#: Most components of the Gaussian mixture chosen by BIC.
MOST_COMPONENTS = 10

Clustering = Callable[[np.ndarray, int], np.ndarray]


def lsldg(
    width: str | float = "cv",
    n_centers: str | int = "auto",
    coefficients: str = "separate",
) -> ModeClustering:
    """The paper's setting: every mode is a cluster."""
    estimator = LogDensityGradient(
        bandwidth=width, n_centers=n_centers, coefficients=coefficients
    )
    return ModeClustering(estimator, prominence=0.0)


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


METHODS: dict[str, Clustering] = {
    LSLDG: lambda X, k: lsldg().fit_predict(X),
    DEFAULTS: lambda X, k: ModeClustering().fit_predict(X),
    MEAN_SHIFT: lambda X, k: mean_shift().fit_predict(X),
    MEAN_SHIFT_FINE: lambda X, k: mean_shift("cv").fit_predict(X),
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
