"""Memberships against the true posterior, outlier scores against uniform.

Mixtures of four Gaussians in 2 to 50 dimensions, drawn with their own weights, means
and covariances, of which 2,000 rows are fitted and 4,000 fresh ones are asked about::

    OMP_NUM_THREADS=1 python benchmarks/memberships.py

prints, for each dimension and as the mean over seeds, the Brier score (mean squared
distance to the posterior, summed over clusters) and the calibration error (mean
difference between the top membership and how often it is right, in ten bins) of
``ModeClustering`` with nothing set, of its hard labels, and of a Gaussian mixture of
scikit-learn that is told the number of components; and the Kolmogorov distance of the
outlier scores of the fresh rows to uniform. Components that a clustering put together
count as one for it: what is measured is the memberships, not the number of clusters,
which is printed as well.
"""

from __future__ import annotations

import argparse
import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from scipy.stats import kstest, multivariate_normal
from sklearn.mixture import GaussianMixture

from modeseek import ModeClustering

DIMENSIONS = (2, 5, 10, 20, 50)
N_COMPONENTS, N_FITTED, N_FRESH = 4, 2000, 4000

#: Typical distance between two means, in standard deviations.
APART = 6.0


class Mixture(NamedTuple):
    """Gaussians with weights."""

    weight: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray

    def sample(self, n, rng):
        """Draw rows and the component of each."""
        y = rng.choice(len(self.weight), n, p=self.weight)
        X = np.empty((n, self.mean.shape[1]))
        for k in range(len(self.weight)):
            drawn = int((y == k).sum())
            covariance = self.covariance[k]
            X[y == k] = rng.multivariate_normal(self.mean[k], covariance, drawn)
        return X, y

    def posterior(self, X):
        """Probability of each component at each row."""
        parts = zip(self.weight, self.mean, self.covariance, strict=True)
        height = [
            np.log(weight) + multivariate_normal(mean, covariance).logpdf(X)
            for weight, mean, covariance in parts
        ]
        return softmax(np.stack(height, axis=1), axis=1)


def draw_mixture(d, rng, *, round_ones):
    """Draw a mixture: round components, or each with a covariance of its own."""
    k = N_COMPONENTS
    mean = rng.normal(size=(k, d)) * APART / np.sqrt(2 * d)
    covariance = np.tile(np.eye(d), (k, 1, 1))
    if not round_ones:
        A = rng.normal(size=(k, d, 3 * d + 3))
        covariance = A @ A.transpose(0, 2, 1) / A.shape[2]
    return Mixture(rng.dirichlet(np.full(k, 5.0)), mean, covariance)


def joined(share, to, n):
    """Shares of columns added up: column k goes to ``to[k]`` of n."""
    total = np.zeros((len(share), n))
    np.add.at(total.T, to, share.T)
    return total


def most_often(which, among, n, n_among):
    """Return the entry of ``among`` that each of n numbers goes with most often."""
    table = np.zeros((n, n_among))
    np.add.at(table, (which, among), 1.0)
    return table.argmax(axis=1)


def brier(share, posterior):
    return ((share - posterior) ** 2).sum(axis=1).mean()


def calibration_error(share, posterior):
    """Mean over rows of |top share - how often it is right|, in ten bins."""
    top = share.argmax(axis=1)
    rows = np.arange(len(share))
    said, right = share[rows, top], posterior[rows, top]
    bins = np.minimum((10 * said).astype(int), 9)
    n = np.bincount(bins, minlength=10)
    off = np.abs(np.bincount(bins, said - right, minlength=10))
    return off.sum() / n.sum()


def measure(d, seed, *, round_ones):
    """Figures of one mixture."""
    rng = np.random.default_rng([seed, d, round_ones])
    mixture = draw_mixture(d, rng, round_ones=round_ones)
    (X, y), (fresh, _) = (mixture.sample(n, rng) for n in (N_FITTED, N_FRESH))
    truth = mixture.posterior(fresh)
    model = ModeClustering().fit(X)
    n = model.n_clusters_
    to = most_often(y, model.labels_, N_COMPONENTS, n)
    expected = joined(truth, to, n)
    told = GaussianMixture(N_COMPONENTS, n_init=3, random_state=0).fit(X)
    of_told = most_often(told.predict(X), y, N_COMPONENTS, N_COMPONENTS)
    of_told = joined(told.predict_proba(fresh), of_told, N_COMPONENTS)
    ways = {
        "memberships": model.membership(fresh),
        "labels": np.eye(n)[model.predict(fresh)],
        "GMM told k": joined(of_told, to, n),
    }
    figures = [
        score(share, expected)
        for score in (brier, calibration_error)
        for share in ways.values()
    ]
    distance = kstest(model.outlier_score(fresh), "uniform").statistic
    return [n, *figures, distance]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=5)
    n_seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    print(
        "| components | d | clusters | Brier: memberships | labels | GMM told k "
        "| calibration: memberships | labels | GMM told k | outliers |"
    )
    print("|" + " --- |" * 10)
    for round_ones in (True, False):
        for d in DIMENSIONS:
            runs = [measure(d, s, round_ones=round_ones) for s in range(n_seeds)]
            n, *figures = np.mean(runs, axis=0)
            shown = " | ".join(f"{figure:.3f}" for figure in figures)
            kind = "round" if round_ones else "any shape"
            print(f"| {kind} | {d} | {n:.1f} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
