"""A `fit` that ends in an exception leaves its estimator as it was."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])


def atomic(fit: Fit) -> Fit:
    """Undo what `fit` assigned to its estimator if it raises, Ctrl-C included.

    A fitted estimator predicts as before, and one that was never fitted raises NotFittedError. `fit` must assign new
    objects and not change those that an earlier one assigned.

    >>> class Model:
    ...     @atomic
    ...     def fit(self, x: float) -> None:
    ...         self.scale_ = abs(x)
    ...         self.inverse_ = 1 / x
    >>> model = Model()
    >>> model.fit(4)
    >>> model.fit(0)
    Traceback (most recent call last):
    ZeroDivisionError: division by zero
    >>> vars(model)
    {'scale_': 4, 'inverse_': 0.25}
    """

    @functools.wraps(fit)
    def fit_or_undo(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        before = vars(self).copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Fit, fit_or_undo)
