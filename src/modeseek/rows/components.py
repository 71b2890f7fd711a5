r"""Principal components of standardised features, shrunk by what noise puts into them.

Clusters of a table with many features live in a few directions, and every other
direction adds to the distances between rows without telling clusters apart. At least
half of the components are taken for noise, so the median eigenvalue of the correlations
is its variance v, and :math:`\lambda_k - v` of a component's variance is not noise. Its
coordinate is scaled so that this is the variance that is left,

.. math:: z_k = \sqrt{\max(0, 1 - v / \lambda_k)}\, v_k^\top x.

No number of components is chosen: those at the level of the noise fade out. Where even
the largest is such as noise makes of n rows and d features that are not correlated,
near :math:`v (1 + \sqrt{d / n})^2` (Marchenko and Pastur), none is taken: a plane of
chance is no better than another, and a ring in four features would look lumpy in it.
"""

from __future__ import annotations

import numpy as np

from modeseek.rows.arrays import Floats
from modeseek.rows.blocks import one_blas_thread
from modeseek.rows.coordinates import Frame

#: Features from which on components are looked at: of fewer, half say nothing.
FEWEST_FEATURES = 4

#: Eigenvalues are zero below this share of the largest.
RANK_TOLERANCE = 1e-10

#: Of ten times as many rows as features or more, the largest eigenvalue of noise is
#: seldom so many times that of infinitely many.
LARGEST_OF_NOISE = 1.1

#: Components that keep a smaller share of their length are left out.
LEAST_SCALE = 1e-3

#: Rows for each whitened component, at least: with fewer, any division has a direction.
ROWS_PER_COMPONENT = 5


def principal_components(Z: Floats, most: int | None = None) -> tuple[Floats, Floats]:
    """Standard deviations (q,) of principal components, largest first, and axes (q, d).

    Rows Z (n, d) may have far more features than there are rows. At most ``most``
    components are given, and none without variance.
    """
    Z = Z - Z.mean(axis=0)
    n, d = Z.shape
    # The smaller of the two products has the same eigenvalues.
    values, vectors = np.linalg.eigh((Z.T @ Z if d <= n else Z @ Z.T) / n)
    values, vectors = values[::-1], vectors[:, ::-1]
    q = min(len(values) if most is None else most, _rank(values))
    deviation, axes = np.sqrt(values[:q]), vectors[:, :q].T
    if d > n:
        axes = (axes @ Z) / (deviation[:, None] * np.sqrt(n))
    # The sign is chance: let the largest entry be positive.
    largest = np.abs(axes).argmax(axis=1)
    return deviation, np.asarray(axes * np.sign(axes[np.arange(q), largest])[:, None])


def _rank(values: Floats) -> int:
    return int((values > RANK_TOLERANCE * values[0]).sum())


def whitening_axes(Z: Floats) -> Floats:
    """Axes (q, d) of principal components with unit variance, largest first.

    In coordinates along them features of any scale and correlation are alike, as long
    as there are :data:`ROWS_PER_COMPONENT` rows for each: no more are given.
    """
    deviation, axes = principal_components(Z, max(1, len(Z) // ROWS_PER_COMPONENT))
    return np.asarray(axes / deviation[:, None])


def shrink_covariance(X: Floats) -> Floats:
    """Covariance of rows (n, d) with zero means, shrunk as Ledoit and Wolf say."""
    n, d = X.shape
    covariance = X.T @ X / n
    variance = np.trace(covariance) / d
    squares = np.square(covariance).sum()
    error = (np.square(np.einsum("ij,ij->i", X, X)).sum() / n - squares) / n
    spread = squares - d * variance**2
    has_error = d > 1 and min(error, spread) > 0.0
    share = min(1.0, error / spread) if has_error else 0.0
    return np.asarray((1.0 - share) * covariance + share * variance * np.eye(d))


@one_blas_thread()
def shrink_components(frame: Frame, X: Floats) -> Frame:
    """Frame of the shrunken principal components of some rows X, the largest first.

    The given frame has zero means and unit variances of all rows; it is returned where
    there are few features, or no component stands out. Features that do not vary have
    no part: with and without them, components are the same.
    """
    if X.shape[1] < FEWEST_FEATURES:
        return frame
    Z = frame.enter(X)
    used = np.flatnonzero(np.ptp(Z, axis=0) > 0.0)
    if not used.size:
        return frame
    deviation, inside = principal_components(Z[:, used])
    variance, noise = deviation**2, np.median(deviation**2)
    edge = noise * (1.0 + np.sqrt(used.size / len(X))) ** 2
    if variance[0] <= LARGEST_OF_NOISE * edge:
        return frame
    scale = np.sqrt(np.maximum(1.0 - noise / variance, 0.0))
    kept = scale > LEAST_SCALE
    axes, scale = np.zeros((kept.sum(), X.shape[1])), scale[kept, None]
    axes[:, used] = inside[kept]
    return frame._replace(components=axes * scale, loadings=axes / scale)
