"""Answers as scikit-learn's y: one entry for each item, so that they follow the items into the folds of a split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
