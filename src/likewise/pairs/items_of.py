"""The rows of X that answers are about: by number, by the ids of the items, or by their paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.pairs.pairs import Pairs
from likewise.pairs.target import PairTarget

Ids = Sequence[object] | NDArray[Any]


def answers_about(pairs: object, X: Any, ids: Ids | None = None) -> Pairs:
    """The same answers with positions in the rows of X, or in so many rows.

    Row numbers are taken as they are. Ids are looked up in `ids`, one for each row; or among the paths, where X is made
    of paths; or in the index of a DataFrame. Answers that were indexed (`Pairs.index`) need none of these.

    >>> answers_about(Pairs.from_arrays([("a", "b")], [1]), [[0.5], [1.5], [2.5]], ids=["c", "b", "a"]).left
    array([2])
    """
    if isinstance(pairs, PairTarget):
        pairs = pairs.pairs
    if not isinstance(pairs, Pairs):
        raise InputError(f"pairs must be a Pairs, got {type(pairs).__name__}; make one with Pairs.from_arrays.")
    n = X if isinstance(X, int) else len(X if hasattr(X, "__len__") else np.asarray(X))
    if ids is not None:
        if len(ids) != n:
            raise InputError(f"X has {n} items and ids {len(ids)}; give one id for each item.")
        return pairs.index(list(ids))
    own = own_ids(X)
    if pairs.ids is None and (own is None or not pairs.source.file):  # numbers from Python are rows
        about, fits = pairs.index(n), pairs.n_items <= n
    elif own is not None and not (pairs.indexed and pairs.ids is not None and set(pairs.ids).isdisjoint(own)):
        about, fits = pairs.index(own), True
    else:
        about, fits = (pairs, pairs.n_items == n) if pairs.indexed else (pairs.index(n), True)
    if not fits:
        raise InputError(
            f"The answers are about {pairs.n_items} items, and X has {n}; give those items, or take the answers "
            "between some of them with pairs.within(rows)."
        )
    return about


def paths_of(X: Any) -> list[str | Path] | None:
    """X as a list, where it is a list, an array or a Series of paths; else None."""
    if isinstance(X, np.ndarray) or hasattr(X, "iloc"):
        values = X.tolist() if getattr(X, "ndim", 0) == 1 else []
    else:
        values = X if isinstance(X, Sequence) and not isinstance(X, str) else []
    return list(values) if len(values) and isinstance(values[0], str | Path) else None


def own_ids(X: Any) -> list[str] | None:
    """The ids that X has by itself: its paths, or the index of a DataFrame unless it only counts the rows."""
    paths = paths_of(X)
    if paths is not None:
        return [str(path) for path in paths]
    if not hasattr(X, "iloc"):
        return None
    index = np.asarray(X.index)
    counts = index.dtype.kind in "iu" and np.array_equal(index, np.arange(len(index)))
    return None if counts else [str(name) for name in index]
