"""What the parameters of LogDensityGradient mean for data: checked, and together."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from modeseek.errors import warn_user
from modeseek.field.basis import BasisFunction
from modeseek.gradient.extensions.choices import (
    BASES,
    COEFFICIENTS,
    SIMILARITIES,
    Choice,
    check_loss_is_defined,
    make_choice,
)
from modeseek.gradient.extensions.losses import LOSSES, Derivatives
from modeseek.gradient.extensions.penalties import PENALTIES, Penalty
from modeseek.rows.arrays import Floats
from modeseek.rows.source import Source
from modeseek.rows.validation import (
    check_alphas,
    check_choice,
    check_gammas,
    check_integer,
    check_real,
    check_similarity,
    check_widths,
    is_word,
)

if TYPE_CHECKING:
    from modeseek.gradient.least_squares import LogDensityGradient

#: Centres that n_centers="auto" draws at most: the paper's number ...
AUTO_CENTERS = 100

#: ... and more where widths may be learned: their descent follows the draw less.
AUTO_CENTERS_LEARNED = 150

#: Default penalties. Below 1e-6 the solution is that of no penalty, to rounding.
ALPHAS = 10.0 ** np.arange(-6.0, 1.01, 0.5)

#: Default strengths of what ties tasks together; each goes with every other penalty.
GAMMAS = 10.0 ** np.arange(-3.0, 1.01)

#: What ``bandwidth`` may say instead of numbers.
WIDTH_WORDS = ("cv", "auto", "learned")

#: How the width is chosen from the hold-out losses.
SELECTIONS = ("one_se", "min")

#: What the penalty is multiplied by: a power of 1 / width^2. With "relative" it has no
#: unit; "printed" is the paper's lambda itself; the authors' published code leaves
#: 1 / width^2 out of the basis, whose coefficients are then as much smaller.
SCALE_POWERS = {"printed": 0, "relative": 1, "authors": 2}

#: The paper's candidates for width and penalty, its equation (6).
PRINTED_CANDIDATES = 10.0 ** np.arange(-2.0, 1.01, 0.5)


class Grid(NamedTuple):
    """Candidates to choose among; None where they follow from the data."""

    widths: Floats | None  # (n_widths, d), in the unit of the data
    lams: Floats | None  # (a,), or (a, 2) with the strength of multi-task

    @property
    def has_choice(self) -> bool:
        """Whether more than one candidate is there."""
        return any(c is None or len(c) > 1 for c in self)


def needs_all_rows(given: LogDensityGradient, source: Source) -> bool:
    """Whether a fit needs all rows, not a sample; refuse it where there are chunks."""
    splits, iterates = not isinstance(given.cv, Integral), given.loss != "squared"
    if source.in_memory or not (splits or iterates):
        return splits or iterates
    if splits:
        raise ValueError(
            "Splits of cv are numbers of rows, which need the rows in memory: give "
            "a number of folds for chunks."
        )
    raise ValueError(
        f'loss="{given.loss}" goes over the rows many times and needs them in '
        'memory: use loss="squared" for chunks.'
    )


class GradientSettings(NamedTuple):
    """What the parameters said when an estimator was fitted.

    It is stored with the fitted estimator and saved with it: what is asked of the
    estimator later reads this, and never the parameters.
    """

    bandwidth: str  # "cv", "auto", "learned", or "given" for widths of the user's
    coefficients: str = "shared"
    basis: str | BasisFunction = "derivative"
    penalty: str | Penalty = "ridge"
    positive: bool = False
    loss: str | Derivatives = "squared"
    similarity: str | Floats = "ones"  # (d, d)
    selection: str = "one_se"
    penalty_scale: str = "relative"
    loss_power: float = 0.5

    @property
    def scale_power(self) -> int:
        """Power of the scale of G that penalties are relative to."""
        return SCALE_POWERS[self.penalty_scale]

    @property
    def has_mean_shift(self) -> bool:
        """Whether its zeros are weighted means of centres, as the fixed point asks."""
        return is_word(self.basis, "derivative")

    @property
    def standardizes(self) -> bool:
        """Whether features are standardised: their units must not matter then."""
        return self.bandwidth in ("auto", "learned")

    def choice(self) -> Choice:
        """Turn the words into functions, or say which words go together."""
        return make_choice(self)


def name_widths(bandwidth: str | ArrayLike) -> str:
    """The word that ``bandwidth`` is; "given" where it is numbers."""
    return next((word for word in WIDTH_WORDS if is_word(bandwidth, word)), "given")


def read_settings(given: LogDensityGradient, d: int) -> GradientSettings:
    """Validate the parameters that say what the model of ``d`` features is."""
    check_choice("coefficients", given.coefficients, COEFFICIENTS)
    if not callable(given.basis):
        check_choice("basis", given.basis, BASES)
    if not callable(given.penalty):
        check_choice("penalty", given.penalty, tuple(PENALTIES))
    if not isinstance(given.positive, bool | np.bool_):
        raise TypeError(f"positive must be True or False, got {given.positive!r}.")
    check_loss_is_defined(given.loss)
    if not callable(given.loss):
        check_choice("loss", given.loss, tuple(LOSSES))
    power = check_real("loss_power", given.loss_power, least=0.0)
    if power > 1.0:
        raise ValueError(f"loss_power must be from 0 to 1, got {power:g}.")
    check_choice("selection", given.selection, SELECTIONS)
    check_choice("penalty_scale", given.penalty_scale, tuple(SCALE_POWERS))
    similarity = given.similarity
    if isinstance(similarity, str):
        check_choice("similarity", similarity, SIMILARITIES)
    else:
        similarity = check_similarity(similarity, d).copy()
    return GradientSettings(
        name_widths(given.bandwidth),
        given.coefficients,
        given.basis,
        given.penalty,
        bool(given.positive),
        given.loss,
        similarity,
        given.selection,
        given.penalty_scale,
        power,
    )


def read_grid(
    given: LogDensityGradient, d: int, settings: GradientSettings, choice: Choice
) -> Grid:
    """Candidate widths, for ``d`` features, and penalties as arrays."""
    lams = None
    if not is_word(given.alpha, "cv"):
        lams = check_alphas(given.alpha)
        if settings.standardizes:
            raise ValueError(
                f"bandwidth={given.bandwidth!r} chooses the penalty as well: leave "
                'alpha="cv", or set bandwidth="cv" or widths of your own.'
            )
    if settings.penalty_scale != "relative":
        _check_ridge(given, settings)
        lams = PRINTED_CANDIDATES if lams is None else lams
    if settings.bandwidth == "learned" and not choice.is_plain():
        raise ValueError(
            'bandwidth="learned" needs coefficients="shared" with penalty="ridge", '
            'positive=False and loss="squared": every other choice takes '
            'bandwidth="cv", "auto" or widths of your own.'
        )
    if choice.multitask:
        gammas = GAMMAS if is_word(given.gamma, "cv") else check_gammas(given.gamma)
        alphas = ALPHAS[::2] if lams is None else lams
        lams = np.array([(lam, gamma) for lam in alphas for gamma in gammas])
    if settings.bandwidth == "given":
        return Grid(check_widths(given.bandwidth, d), lams)
    return Grid(None, lams)


def _check_ridge(given: LogDensityGradient, settings: GradientSettings) -> None:
    """Refuse another scale of the penalty where it is not that of a plain ridge."""
    plain = is_word(given.penalty, "ridge") and given.loss == "squared"
    if settings.standardizes or not plain or given.coefficients == "multitask":
        raise ValueError(
            f'penalty_scale="{given.penalty_scale}" goes with penalty="ridge", '
            'loss="squared", coefficients="shared" or "separate", and bandwidth="cv" '
            "or widths of your own."
        )


def read_centers(given: LogDensityGradient, d: int) -> Floats | None:
    """Centres that were given for ``d`` features, or None where they are drawn."""
    if given.centers is None:
        return None
    centers = np.asarray(given.centers)
    if centers.dtype.kind not in "biuf" or centers.ndim != 2 or centers.shape[1] != d:
        raise ValueError(
            f"centers must be numbers of shape (n_centers, {d}), a column for each "
            f"feature of X; got {centers.dtype} of shape {centers.shape}."
        )
    if not len(centers) or not np.isfinite(centers).all():
        raise ValueError("centers must have at least one row, and finite numbers only.")
    if not is_word(given.n_centers, "auto"):
        raise ValueError("Give either centers or n_centers, not both.")
    return centers.astype(np.float64)


def count_centers(
    given: LogDensityGradient, settings: GradientSettings, most: int
) -> int:
    """Number of centres that ``n_centers`` asks for, at most what the rows allow."""
    most = max(1, most)
    if is_word(given.n_centers, "auto"):
        enough = AUTO_CENTERS_LEARNED if settings.standardizes else AUTO_CENTERS
        return min(enough, most)
    wanted = check_integer("n_centers", given.n_centers, least=1)
    if wanted > most:
        warn_user(
            f"n_centers={wanted} is more than the distinct rows allow: {most} are "
            "used. While widths and penalties are being chosen, at least half of "
            "the distinct rows are kept to judge them."
        )
    return min(wanted, most)


GradientSettings.__module__ = "modeseek.gradient"  # model files name it so
