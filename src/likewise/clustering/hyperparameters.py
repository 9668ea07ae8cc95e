"""What the hyperparameters of the methods may be; `check_hyperparameters` looks at all of a method at once.

A method names the rule of each of its own in `hyperparameters`; those that have one meaning everywhere are in SHARED.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from likewise.clustering.constraints import Contradictions
from likewise.errors import InputError

LARGEST_SEED = 2**32 - 1  # of numpy's RandomState


@dataclass(frozen=True)
class Rule:
    words: str  # what a value must be
    holds: Callable[[Any], bool]


Rules = Mapping[str, Rule]


def check_hyperparameters(method: Any) -> None:
    """Refuse a method with a hyperparameter that it cannot use, in one sentence.

    >>> from likewise.clustering import KMeans
    >>> check_hyperparameters(KMeans(n_init=0))
    Traceback (most recent call last):
    likewise.errors.InputError: n_init of KMeans must be a whole number from 1, got 0.
    """
    for name, value in method.get_params(deep=False).items():
        rule = method.hyperparameters.get(name) or SHARED[name]
        if not rule.holds(value):
            raise InputError(f"{name} of {type(method).__name__} must be {rule.words}, got {value!r}.")


def is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """A finite real number; True and False are none."""
    return isinstance(value, numbers.Real) and value is not True and value is not False and math.isfinite(value)


def whole_from(least: int) -> Rule:
    return Rule(f"a whole number from {least}", lambda value: is_whole(value) and value >= least)


def number_where(words: str, holds: Callable[[Any], bool]) -> Rule:
    return Rule(f"a number {words}", lambda value: is_number(value) and holds(value))


def one_of(choices: Any) -> Rule:
    """One of the texts of a Literal type.

    >>> one_of(Contradictions).words
    "'accept', 'refuse' or 'repair'"
    """
    texts = get_args(choices)
    words = ", ".join(map(repr, texts[:-1])) + f" or {texts[-1]!r}"
    return Rule(words, lambda value: isinstance(value, str) and value in texts)


def or_none(rule: Rule) -> Rule:
    return Rule(f"{rule.words}, or None", lambda value: value is None or rule.holds(value))


COUNT = whole_from(1)
ABOVE_0 = number_where("above 0", lambda value: value > 0)
FROM_0 = number_where("of 0 or more", lambda value: value >= 0)
SHARE = number_where("above 0 and at most 1", lambda value: 0 < value <= 1)
YES_OR_NO = Rule("True or False", lambda value: isinstance(value, bool | np.bool_))
SEED = Rule(
    f"a whole number from 0 to {LARGEST_SEED}, a numpy RandomState, or None",
    lambda value: (
        value is None or isinstance(value, np.random.RandomState) or (is_whole(value) and 0 <= value <= LARGEST_SEED)
    ),
)
SHARED: Rules = {"n_clusters": COUNT, "contradictions": one_of(Contradictions), "random_state": SEED}
