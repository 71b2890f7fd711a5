"""Choices: which coefficients, basis, penalty and loss go together.

The words of :class:`~modeseek.LogDensityGradient` become functions here; words that
do not go together are refused, with those that do.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from modeseek.field.basis import BasisFunction
from modeseek.gradient.extensions.losses import PRINTED, Bregman, find_loss
from modeseek.gradient.extensions.multitask import multitask_path
from modeseek.gradient.extensions.penalties import (
    ITERATIVE,
    NEED_TASKS,
    PENALTIES,
    POSITIVE_PENALTIES,
    Penalty,
    ridge_path,
)
from modeseek.rows.arrays import Floats

if TYPE_CHECKING:
    from modeseek.gradient.settings import GradientSettings

COEFFICIENTS = ("shared", "separate", "multitask")
BASES = ("derivative", "common")
SIMILARITIES = ("ones", "learned")


class Choice(NamedTuple):
    """What the words stand for."""

    shared: bool = True
    common: bool = False
    penalty: Penalty = ridge_path
    loss: Bregman | None = None  # None: squared, which moments carry
    multitask: bool = False
    iterative: bool = False  # the penalty takes the width that the ridge chose
    path: bool = False  # the penalty is chosen among the knots of the l1 path
    own: BasisFunction | None = None  # a basis of the user's

    def is_plain(self) -> bool:
        """Whether it is the default, for which widths can be learned."""
        return self == Choice()


def make_choice(settings: GradientSettings) -> Choice:
    """Turn words, each known, into functions, or say which words go together."""
    coefficients, basis, loss = settings.coefficients, settings.basis, settings.loss
    penalty, positive = settings.penalty, settings.positive
    _check_basis(coefficients, basis, positive)
    _check_penalty(coefficients, penalty, positive)
    if loss != "squared" and (penalty != "ridge" or positive):
        raise ValueError(
            f'loss={loss!r} goes with penalty="ridge" and positive=False: the other '
            'penalties work on moments, which only loss="squared" has.'
        )
    chosen = penalty if callable(penalty) else PENALTIES[penalty]
    if positive:
        chosen = POSITIVE_PENALTIES[str(penalty)]
    if coefficients == "multitask":
        if loss != "squared":
            raise ValueError(
                f'loss={loss!r} goes with coefficients="shared" or "separate", not '
                '"multitask".'
            )
        chosen = _multitask_penalty(settings.similarity)
    return Choice(
        shared=coefficients == "shared",
        common=basis == "common",
        penalty=chosen,
        loss=None if loss == "squared" else find_loss(loss, settings.loss_power),
        multitask=coefficients == "multitask",
        iterative=penalty in ITERATIVE,
        path=penalty == "l1" and not positive,
        own=basis if callable(basis) else None,
    )


def _multitask_penalty(similarity: str | Floats) -> Penalty:
    if not isinstance(similarity, str):
        return partial(multitask_path, similarity=similarity)
    if similarity == "learned":
        return partial(multitask_path, learn=True)
    return multitask_path


def _check_basis(coefficients: str, basis: str | BasisFunction, positive: bool) -> None:
    if callable(basis) or basis == "derivative":
        return
    if coefficients == "shared":
        raise ValueError(
            'basis="common" with coefficients="shared" would give every feature the '
            'same gradient: use coefficients="separate" or "multitask".'
        )
    if positive:
        raise ValueError(
            'positive=True goes with basis="derivative": over a common basis it would '
            "give gradients that are nowhere negative."
        )


def _check_penalty(coefficients: str, penalty: str | Penalty, positive: bool) -> None:
    if coefficients == "multitask" and penalty != "ridge":
        raise ValueError(
            'coefficients="multitask" goes with penalty="ridge": other penalties take '
            'coefficients="shared" or "separate".'
        )
    if penalty in NEED_TASKS and coefficients == "shared":
        raise ValueError(
            f"penalty={penalty!r} ties the coefficients of the features together and "
            'needs coefficients="separate"; with coefficients="shared" use '
            'penalty="ridge" or "l1".'
        )
    allowed = coefficients != "multitask" and penalty in POSITIVE_PENALTIES
    if positive and not allowed:
        words = " or ".join(f'"{name}"' for name in POSITIVE_PENALTIES)
        raise ValueError(
            f'positive=True goes with penalty={words} and coefficients="shared" or '
            '"separate".'
        )


def check_loss_is_defined(loss: object) -> None:
    """Refuse the losses that the paper prints: they are not defined here."""
    if isinstance(loss, str) and loss in PRINTED:
        printed, instead = PRINTED[loss]
        raise ValueError(
            f"loss={loss!r} as printed, {printed}, is defined for positive gradients "
            "only, but the gradient of a log-density has mean zero and takes both "
            f"signs. Use loss={instead}, which stand for it on both signs, or "
            '"squared".'
        )
