"""The coordinates in which everything is computed: z = (x - origin) / unit.

By default the origin is the median of the centres and the unit a power of two near
the typical distance between them. Squared distances then neither overflow nor cancel,
whatever the unit and the offset of the data, and a far outlier moves neither. Where the
unit of each feature must not matter, features are standardised instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from modeseek.rows.arrays import Bools, Floats, Integers, group_means

#: Rows farther than this many units from the origin are refused: their squared
#: distances leave no digits for the rest.
FARTHEST = 1e100

#: Sizes below this count as zero: such units are refused, and inverses may overflow.
TINY = 2.0**-1000


class Frame(NamedTuple):
    """Between the data's coordinates and those in which everything is computed.

    Rows are shifted and scaled; where components are given, their products with these
    are the coordinates.
    """

    origin: Floats  # (d,)
    unit: float | Floats  # one for all features, or (d,); features of an infinite one
    # count for nothing
    components: Floats | None = None  # (q, d) of the scaled features
    loadings: Floats | None = (
        None  # (q, d) scaled features at a unit of each coordinate
    )

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates."""
        return len(self.origin if self.components is None else self.components)

    def enter(self, X: NDArray[np.floating]) -> Floats:
        """Take rows of data into the frame."""
        Z = np.asarray(np.subtract(X, self.origin, dtype=np.float64))
        Z /= self.unit  # in place: many rows take less than half of the time
        return np.asarray(Z if self.components is None else Z @ self.components.T)

    def leave(self, Z: Floats) -> Floats:
        """Take rows of the frame back to the data's coordinates."""
        scaled = Z if self.loadings is None else Z @ self.loadings
        unit = np.where(np.isinf(self.unit), 0.0, self.unit)
        return np.asarray(scaled * unit + self.origin)

    def of_features(self) -> Frame:
        """The frame that shifts and scales all features, and does no more."""
        lost = np.isinf(self.unit)
        unit = np.where(lost, 1.0 + np.abs(self.origin), self.unit)
        return Frame(self.origin, unit if lost.any() else self.unit)

    def without(self, features: Bools) -> Frame:
        """The frame in which some features (d,) count for nothing."""
        if not features.any():
            return self
        return self._replace(unit=np.where(features, np.inf, self.unit))

    def then(self, inner: Frame) -> Frame:
        """The frame that enters this one, then another of its coordinates."""
        assert self.components is not None
        assert self.loadings is not None
        assert inner.components is None
        unit = np.broadcast_to(inner.unit, inner.origin.shape)[:, None]
        return Frame(
            self.leave(inner.origin),
            self.unit,
            self.components / unit,
            self.loadings * unit,
        )

    def steps(self, steps: Floats) -> Floats:
        """Lengths in the frame of steps of each feature."""
        scaled = np.asarray(steps / self.unit)
        if self.components is None:
            return scaled
        return np.asarray(scaled * np.linalg.norm(self.components, axis=0))


def spread_within(Z: Floats, group: Integers) -> Floats:
    """Standard deviation (d,) of each feature of rows around the means of groups.

    Rows (n, d) are of groups 0, 1, ..., none of which is empty.
    """
    around = Z - group_means(Z, group)[group]
    return np.asarray(np.sqrt(np.square(around).mean(axis=0)))


def power_of_two(size: float | Floats) -> Floats:
    """Largest powers of two up to sizes, also to subnormal ones; 1 for zero.

    Parameters
    ----------
    size : float or ndarray
        Finite and not negative.

    Returns
    -------
    ndarray of the same shape
    """
    _, exponent = np.frexp(size)
    return np.where(np.equal(size, 0.0), 1.0, np.ldexp(1.0, exponent - 1))


def frame_from_centers(C: Floats) -> Frame:
    """Choose the frame: median of the centres, typical distance between them.

    Parameters
    ----------
    C : ndarray of shape (n_centers, n_features)
        The centres, in the data's coordinates.

    Returns
    -------
    Frame
        A power of two as unit, so that scaling loses no digit.
    """
    # Halving before taking the median keeps sums of two huge values finite.
    origin = 2.0 * np.median(C / 2.0, axis=0)
    spread = C - origin
    size = np.abs(spread).max(axis=1)
    if not size.any():
        return Frame(origin, 1.0)
    # The middle size, not the largest: beside one far centre the squares of all other
    # distances would underflow. The far ones need only stay finite.
    coarse = float(power_of_two(float(np.median(size[size > 0]))))
    if coarse < TINY:
        return Frame(origin, coarse)
    reach = coarse * FARTHEST
    typical = typical_distance(np.clip(spread, -reach, reach) / coarse)
    return Frame(origin, coarse * float(np.exp2(np.round(np.log2(typical)))))


def typical_distance(C: Floats) -> float:
    """Median distance between distinct centres; 1 where there is only one."""
    distances = pdist(C)
    distances = distances[distances > 0]
    return float(np.median(distances)) if distances.size else 1.0


Frame.__module__ = "modeseek.rows"  # model files name it so
