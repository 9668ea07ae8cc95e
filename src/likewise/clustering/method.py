"""What every method shares: how it is called, what its hyperparameters may be, and what it refuses.

A method is a scikit-learn estimator of its own, `class Name(ClusterMixin, BaseEstimator)`; there is no common ancestor.

    Name(n_clusters=K, random_state=0, contradictions=..., ...).fit(X, pairs=pairs).labels_

`fit(X, y=None, *, pairs=None)` is `@atomic`, so that one that raises changes nothing, and begins with

    items = check_items(self, X)                                                 # (n, d) float64
    constraints = read_constraints(pairs, X, self.contradictions)                # hard=True: it keeps every constraint

`contradictions` is "accept" by default where constraints are soft, since a penalty can be paid on either side, and
"refuse" where they are hard. A method that uses no pairs takes and ignores them, and has no such argument. A method
that iterates until nothing changes says in n_iter_ how many steps it took, and warns where its limit came first.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from likewise.clustering.constraints import Contradictions, Floats
from likewise.errors import InputError
from likewise.pairs import Pairs

Seed = int | np.random.RandomState | None


class Method(Protocol):
    """What the command line and the paper's tables ask of a method; those in METHODS have it."""

    uses_pairs: ClassVar[bool]  # K-means and its like do not
    finds_n_clusters: ClassVar[bool]  # then n_clusters may be None, and n_clusters_ says what was found
    hyperparameters: ClassVar[Rules]  # what its own may be
    n_clusters: int | None
    labels_: NDArray[np.integer[Any]]  # (n,) from 0

    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self: ...


def warn_unless(converged: bool, method: Any, limit: str) -> None:
    """Warn where a limit such as max_iter stopped a method before its objective stopped falling."""
    if not converged:
        steps = getattr(method, limit)
        warnings.warn(
            f"{type(method).__name__} was stopped by {limit}={steps} before it converged; give a higher {limit}.",
            ConvergenceWarning,
            stacklevel=4,  # the caller of fit, past what makes it atomic
        )


def check_items(method: Any, X: ArrayLike) -> Floats:
    """X as (n, d) float64, after a look at the hyperparameters; d is remembered as n_features_in_."""
    check_hyperparameters(method)
    items: Floats = validate_data(
        method, X, dtype=np.float64, order="C", ensure_min_samples=2
    )  # as rounding depends on it
    n_clusters = method.n_clusters
    if n_clusters is not None and n_clusters > len(items):
        raise InputError(f"n_clusters is {n_clusters}, but X has {len(items)} items; give {len(items)} at most.")
    return items


# What the hyperparameters of the methods may be; `check_hyperparameters` looks at all of a method at once.
#
# A method names the rule of each of its own in `hyperparameters`; those that have one meaning everywhere are in SHARED.

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
    """Whether a value is a finite real number; True and False are not."""
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
