"""What every method shares: how it is called, and what it refuses before it begins.

A method is a scikit-learn estimator of its own, `class Name(ClusterMixin, BaseEstimator)`; there is no common ancestor.

    Name(n_clusters=K, random_state=0, contradictions=..., ...).fit(X, pairs=pairs).labels_

`fit(X, y=None, *, pairs=None)` is `@atomic`, so that one that raises changes nothing, and begins with

    items = check_items(self, X)                                                 # (n, d) float64
    given = read_constraints(pairs, X, self.contradictions)                      # hard=True: it keeps every constraint

`contradictions` is "accept" by default where constraints are soft, since a penalty can be paid on either side, and
"refuse" where they are hard. A method that uses no pairs takes and ignores them, and has no such argument. A method
that goes on until nothing changes says in n_iter_ how many steps it took, and warns where its limit came first.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from likewise.clustering.constraints import Floats
from likewise.clustering.hyperparameters import Rules, check_hyperparameters
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
    """Say so where a method was stopped by its limit, such as max_iter, before its objective stopped falling."""
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
    items: Floats = validate_data(method, X, dtype=np.float64, ensure_min_samples=2)
    n_clusters = method.n_clusters
    if n_clusters is not None and n_clusters > len(items):
        raise InputError(f"n_clusters is {n_clusters}, but X has {len(items)} items; give {len(items)} at most.")
    return items
