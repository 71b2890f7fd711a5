"""Coordinates in which parts of the rows differ that held-out rows confirm."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import norm

from modeseek.cluster.discriminants import discriminant_frame
from modeseek.rows.arrays import Floats, Integers, Reals, group_means
from modeseek.rows.coordinates import Frame
from modeseek.rows.joins import join_parts
from modeseek.rows.splits import SELDOM, Splits, find_splits, split_parts

#: Where the graph of rows shows as many clusters, held-out rows must be so many
#: standard deviations sure of theirs, or surer of these: splits that they just confirm,
#: a few rows undo.
BEYOND_DOUBT = 3.0


class CertifiedFrame(NamedTuple):
    """Coordinates in which the parts differ that held-out rows confirm."""

    frame: Frame
    certainty: Floats  # of the splits, in standard deviations
    part: Integers  # (n,) of the rows that were split, from 0
    means: Floats  # (n_parts, q) of the parts in these coordinates
    joined: bool = False  # from many small parts, not divided

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.means)

    @property
    def n_undivided(self) -> int:
        """Number of clusters, or of all rows as one, before they were split."""
        return self.n_parts - len(self.certainty)

    def nearest_part(self, X: Reals) -> Integers:
        """Part whose mean in these coordinates is nearest to each row."""
        return np.asarray(cdist(self.frame.enter(X), self.means).argmin(axis=1))

    def is_doubtful(self) -> bool:
        """Whether chance makes one of so many splits in more than few tables."""
        return bool(
            self.certainty.min() < norm.isf(1.0 / (SELDOM * len(self.certainty)))
        )

    def compares_with(self, n_certain: int, n_shown: int) -> bool:
        """Whether parts are as many as clusters of which a graph is certain.

        If they are no more than all that it shows, no split may be in doubt.
        """
        if self.n_parts < n_certain:
            return False
        return self.n_parts > n_shown or bool(self.certainty.min() >= BEYOND_DOUBT)

    def describe(self) -> str:
        """Say in words why rows climb in these coordinates."""
        n, least = self.frame.n_coordinates, self.certainty.min()
        if self.joined:
            return (
                f"in {n} coordinate{'s' * (n > 1)}: rows that were held out confirm "
                f"that {self.n_parts} clusters are apart there, each from those beside "
                f"it by {least:.1f} standard deviations or more."
            )
        before = f", not {self.n_undivided}," if self.n_undivided > 1 else ""
        return (
            f"in {n} coordinate{'s' * (n > 1)}: rows that were held out confirm that "
            f"{self.n_parts} clusters{before} are apart there, each split by "
            f"{least:.1f} standard deviations or more."
        )


def certify_frame(
    frame: Frame,
    Z: Floats,
    cluster: Integers | None = None,
    may_split: Callable[[Integers], bool] | None = None,
) -> CertifiedFrame | None:
    """Find the coordinates in which parts of rows Z (n, d) of a frame differ.

    The frame has zero means and unit variances, and Z has some that are not 0. Clusters
    (n,) of the rows, numbered from 0, may be known: then these are split, beyond doubt,
    if some rows may be. None is returned where no split is certain.
    """
    rng = np.random.default_rng(0)
    if cluster is None:
        splits = find_splits(_varying(Z), rng)
    else:
        splits = split_parts(_varying(Z), cluster, rng, BEYOND_DOUBT, may_split)
    return _frame_of_parts(frame, Z, splits)


def certify_joined(frame: Frame, Z: Floats, more_than: int) -> CertifiedFrame | None:
    """Find the same for parts that are joined from many small ones.

    None is returned unless there are more than so many.
    """
    joined = join_parts(_varying(Z), np.random.default_rng(0), more_than)
    certified = _frame_of_parts(frame, Z, joined)
    return None if certified is None else certified._replace(joined=True)


def _varying(Z: Floats) -> Floats:
    """Features that are not 0: what others are must not change what is drawn."""
    return Z[:, Z.any(axis=0)]


def _frame_of_parts(frame: Frame, Z: Floats, splits: Splits) -> CertifiedFrame | None:
    """Coordinates in which parts of rows Z (n, d) differ, if there are several."""
    if not len(splits.certainty):
        return None
    inside = discriminant_frame(frame, Z, splits.part)
    assert inside.components is not None
    means = group_means(Z @ inside.components.T, splits.part)
    return CertifiedFrame(inside, splits.certainty, splits.part, means)
