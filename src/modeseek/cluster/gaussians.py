r"""Climbing a density of one Gaussian for each part that held-out rows keep apart.

Parts that overlap among many features are more than a graph of rows or a field of some
hundred Gaussians can hold apart, but in the coordinates in which they differ, where
rows vary by one within them, each is a hill around its mean. So rows climb the gradient
of

.. math:: \log \sum_j w_j \exp(-\|z - m_j\|^2 / 2),

with the share :math:`w_j` and the mean :math:`m_j` of every part.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from modeseek.cluster.certified_frame import CertifiedFrame
from modeseek.cluster.climbing import Climbed, climb_inside
from modeseek.field.climbing import Ascent
from modeseek.field.landscape import FieldLandscape
from modeseek.gradient.kernel import KernelDensityGradient
from modeseek.rows.arrays import Floats
from modeseek.rows.splits import certify_sides
from modeseek.rows.subsample import Overview
from modeseek.tree.merge_tree import MergeTree


def climb_gaussians(
    certified: CertifiedFrame,
    Z: Floats,
    overview: Overview,
    ascent: Ascent,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> tuple[KernelDensityGradient, Climbed]:
    """Let the subsample climb a density of one Gaussian for each part.

    Z are the standardised rows (n, d) that the parts are of. The estimator takes the
    coordinates, the landscape rows in the data's own.
    """
    estimator = KernelDensityGradient(1.0, n_jobs=n_jobs).fit(
        certified.means, sample_weight=np.bincount(certified.part)
    )
    climbed = climb_inside(estimator, certified.frame, overview, ascent, rng, n_jobs)
    landscape = climbed.landscape
    assert isinstance(landscape, FieldLandscape)
    tree = landscape.tree
    tops = certified.frame.enter(landscape.modes[tree.child])
    saddles = certified.frame.enter(tree.saddles)
    tree = tree._replace(
        std_error=_standard_errors(certified, tops, saddles),
        p_value=_p_values(certified, Z, landscape.modes, tree),
    )
    landscape = landscape._replace(grown=tree, n_certified=certified.n_parts)
    return estimator, climbed._replace(landscape=landscape)


def _standard_errors(
    certified: CertifiedFrame, tops: Floats, saddles: Floats
) -> Floats:
    r"""Standard errors (k,) of differences between heights of two points (k, q).

    They are those of shares and means as the rows tell them: with the share
    :math:`r_j(z)` that a Gaussian has in the density at z, the height there changes by
    :math:`r_j(z) (z - m_j)` with a mean, and by :math:`r_j(z)` with the logarithm of a
    share.
    """
    n, means = len(certified.part), certified.means
    share = np.bincount(certified.part) / n
    top_by_share, top_by_mean = _derivatives(means, share, tops)
    low_by_share, low_by_mean = _derivatives(means, share, saddles)
    squares = np.square(top_by_share - low_by_share)
    squares += np.square(top_by_mean - low_by_mean).sum(axis=2)
    return np.asarray(np.sqrt((squares / share).sum(axis=1) / n))


def _derivatives(means: Floats, share: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Derivatives of heights at points by the shares' logarithms and by the means."""
    away = z[:, None] - means
    log = np.log(share) - 0.5 * np.square(away).sum(axis=2)
    r = np.exp(log - log.max(axis=1, keepdims=True))
    r /= r.sum(axis=1, keepdims=True)
    return r, r[:, :, None] * away


def _p_values(
    certified: CertifiedFrame, Z: Floats, modes: Floats, tree: MergeTree
) -> Floats:
    """How likely chance leaves out as many held-out rows between merging modes."""
    rng = np.random.default_rng(0)
    part_of_mode, p_value = certified.nearest_part(modes), np.ones(len(tree.child))
    for i, (child, parent) in enumerate(zip(tree.child, tree.parent, strict=True)):
        upper, lower = part_of_mode[child], part_of_mode[parent]
        both = np.isin(certified.part, (upper, lower))
        certainty = certify_sides(Z[both], certified.part[both] == upper, rng)
        p_value[i] = norm.sf(certainty)
    return p_value
