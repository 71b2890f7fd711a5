"""Around a fit: done whole or not at all, its products by one thread each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from modeseek.rows.blocks import one_blas_thread

P = ParamSpec("P")
E = TypeVar("E")
R = TypeVar("R")


def whole_fit(
    fit: Callable[Concatenate[E, P], R],
) -> Callable[Concatenate[E, P], R]:
    """Make a method leave its estimator as it was where it fails or is interrupted.

    So a model whose first fit was broken off is not fitted, and one that was fitted
    keeps answering as before. BLAS has one thread throughout: sums do not depend on
    what other threads do, and a process that is forked meanwhile finds no lock of BLAS
    held.
    """

    @functools.wraps(fit)
    def fit_or_restore(self: E, /, *args: P.args, **kwargs: P.kwargs) -> R:
        before: dict[str, Any] = vars(self).copy()
        try:
            with one_blas_thread():
                return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return fit_or_restore
