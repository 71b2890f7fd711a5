"""The paper's toy mixtures, with their true log-density and its gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils import check_random_state

from modeseek.field.basis import squared_distances
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.validation import check_integer


class SphericalMixture(NamedTuple):
    """A mixture of Gaussians whose covariances are the identity.

    Examples
    --------
    >>> from modeseek.datasets import three_gaussians
    >>> X, y = three_gaussians(n_features=5).sample(1000, random_state=0)
    >>> X.shape
    (1000, 5)
    """

    means: Floats  # (k, d)
    weights: Floats  # (k,)

    def sample(
        self,
        n_samples: int = 1000,
        random_state: int | np.random.RandomState | None = None,
    ) -> tuple[Floats, Integers]:
        """Draw rows and the component each came from.

        Parameters
        ----------
        n_samples : int, default=1000
        random_state : int, RandomState instance or None

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        """
        check_integer("n_samples", n_samples, least=0)
        rng = check_random_state(random_state)
        y = rng.choice(len(self.weights), size=n_samples, p=self.weights)
        return self.means[y] + rng.standard_normal((n_samples, self.means.shape[1])), y

    def _rows(self, X: ArrayLike) -> Floats:
        rows = np.asarray(X, dtype=np.float64)
        d = self.means.shape[1]
        if rows.ndim != 2 or rows.shape[1] != d:
            raise ValueError(
                f"X must have shape (n_samples, {d}), as the mixture has {d} features; "
                f"got {rows.shape}."
            )
        return rows

    def _log_joint(self, X: Floats) -> Floats:
        """Log of weight times density of each component, shape (n, k)."""
        d = self.means.shape[1]
        D = squared_distances(X, self.means, np.ones(d))
        return np.asarray(np.log(self.weights) - 0.5 * (D + d * np.log(2.0 * np.pi)))

    def log_density(self, X: ArrayLike) -> Floats:
        """True log-density, shape (n_samples,)."""
        joint = self._log_joint(self._rows(X))
        return np.asarray(logsumexp(joint, axis=1))

    def gradient(self, X: ArrayLike) -> Floats:
        """True gradient of the log-density, shape (n_samples, n_features)."""
        rows = self._rows(X)
        joint = self._log_joint(rows)
        share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        return np.asarray(share @ self.means - rows)


def gaussian(n_features: int = 1) -> SphericalMixture:
    """Standard normal distribution, as in the paper's figure 2."""
    return _padded([[0.0]], [1.0], n_features)


def two_gaussians(n_features: int = 1) -> SphericalMixture:
    """Equal Gaussians at -2 and 2, as in figure 3; further features are noise."""
    return _padded([[2.0], [-2.0]], [0.5, 0.5], n_features)


def three_gaussians(n_features: int = 2) -> SphericalMixture:
    """Three Gaussians of the paper's section 5.2; further features are noise."""
    means = [[0.0, 2.0], [-2.0, -2.0], [2.0, -2.0]]
    return _padded(means, [0.4, 0.3, 0.3], n_features)


def _padded(
    means: list[list[float]], weights: list[float], n_features: int
) -> SphericalMixture:
    """Add features of mean zero."""
    check_integer("n_features", n_features, least=len(means[0]))
    padded = np.zeros((len(means), n_features))
    padded[:, : len(means[0])] = means
    return SphericalMixture(padded, np.asarray(weights))
