"""Answers and the rows of X they are about; as y of scikit-learn, they follow the items into the folds of a split."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs


class PairTarget:
    """The answers about n items, indexed by item: taking some of the items takes the answers between them.

    `Pairs.target` makes it. scikit-learn sees a target of n entries, whatever they are, and gives each side of a split
    its own part, with which an estimator is fitted or scored.

    >>> from likewise.pairs import Pairs
    >>> y = Pairs.from_arrays([(0, 1), (1, 2), (2, 3)], [1, 0, 1]).target(4)
    >>> y.shape, y[[1, 2, 3]].pairs.left, y[[1, 2, 3]].pairs.right
    ((4,), array([0, 1]), array([1, 2]))
    """

    __iter__ = None  # an item alone has no answer

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs

    def __len__(self) -> int:
        return self.pairs.n_items

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __getitem__(self, items: Any) -> PairTarget:
        key = items[0] if isinstance(items, tuple) else items  # scikit-learn says y[items, ...]
        rows = np.arange(len(self))[key]
        if np.ndim(rows) != 1:
            raise TypeError("An item alone has no answer; take several: y[[0, 1, 2]].")
        return PairTarget(self.pairs.within(rows))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """A different fraction for each item: scikit-learn sees that these are no classes, and does not stratify."""
        return (np.arange(len(self)) + 0.5).astype(dtype or np.float64)

    def __repr__(self) -> str:
        return f"PairTarget({self.pairs!r}, of {len(self)} items)"


# The rows of X that answers are about: by number, by the ids of the items, or by their paths.

Ids = Sequence[object] | NDArray[Any]


def answers_about(pairs: object, X: Any, ids: Ids | None = None) -> Pairs:
    """The same answers with positions in the rows of X, or in so many rows.

    Row numbers are taken as they are. Ids are looked up in `ids`, one for each row; or among the paths, where X is made
    of paths; or in the index of a DataFrame. Answers that were indexed (`Pairs.index`) need none of these.

    >>> from likewise.pairs import Pairs
    >>> answers_about(Pairs.from_arrays([("a", "b")], [1]), [[0.5], [1.5], [2.5]], ids=["c", "b", "a"]).left
    array([2])
    """
    from likewise.pairs.pairs import Pairs

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
