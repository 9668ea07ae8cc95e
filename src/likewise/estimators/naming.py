"""Which outputs are in use, and what the classes they stand for are called."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from likewise.evaluation import confusion, match_outputs


@dataclass(frozen=True, eq=False)
class Naming:
    """The output of each class; -1 for a class without one."""

    classes: NDArray[Any]  # (classes,) sorted
    columns: NDArray[np.int64]  # (classes,)
    named: bool  # whether the classes are a user's; else they are the numbers of the outputs

    @property
    def outputs(self) -> NDArray[np.int64]:
        """The outputs that stand for a class, in order."""
        return np.sort(self.columns[self.columns >= 0])

    @property
    def titles(self) -> list[str]:
        """What the classes with an output are called on a page: by their names, or "class 3" where they have none."""
        return [str(name) if self.named else f"class {name}" for name in self.classes[self.columns >= 0].tolist()]

    def probabilities(self, logits: Tensor) -> NDArray[np.float32]:
        """(n, classes) The softmax over the outputs in use; 0 for a class without one."""
        used = self.columns >= 0
        probabilities = np.zeros((len(logits), len(self.classes)), dtype=np.float32)
        probabilities[:, used] = logits[:, self.columns[used]].softmax(1).numpy()
        return probabilities


def outputs_in_use(outputs: NDArray[np.int64]) -> Naming:
    """Each output that an item falls in is a class, and its number the name."""
    used = np.unique(outputs)
    return Naming(used, used, named=False)


def known_outputs(classes: NDArray[Any], outputs: NDArray[np.int64]) -> Naming:
    """Output k stands for classes[k]. Others that items fall in get a name of the same kind: text, or the next number.

    >>> known_outputs(np.array([3, 7]), np.array([0, 1, 4, 1])).classes
    array([3, 7, 8])
    >>> known_outputs(np.array(["cat", "rat"]), np.array([0, 1, 4, 1])).classes
    array(['cat', 'output 4', 'rat'], dtype='<U8')
    """
    known = np.arange(len(classes))
    others = np.setdiff1d(outputs, known)
    if not len(others):
        return Naming(classes, known, named=True)
    if classes.dtype.kind in "iuf":
        names = np.concatenate([classes, classes.max() + 1 + np.arange(len(others))])
    else:
        names = np.concatenate([classes.astype(str), [f"output {k}" for k in others]])
    order = np.argsort(names)
    return Naming(names[order], np.concatenate([known, others])[order], named=True)


def names_beside(classes: NDArray[Any], count: int) -> NDArray[Any]:
    """The names of known classes and of new ones after them: the next numbers, or "new 1", "new 2", ...

    >>> names_beside(np.array([3, 7]), 2), names_beside(np.array(["cat", "new 1"]), 2)
    (array([3, 7, 8, 9]), array(['cat', 'new 1', 'new 2', 'new 3'], dtype='<U5'))
    """
    if classes.dtype.kind in "iuf":
        return np.concatenate([classes, classes.max() + 1 + np.arange(count)])
    names = [str(name) for name in classes.tolist()]
    free = (name for name in map("new {}".format, itertools.count(1)) if name not in names)
    return np.array(names + list(itertools.islice(free, count)))


def match_names(
    outputs: NDArray[np.int64],  # (n,)
    names: NDArray[Any],  # (n,)
    in_use: NDArray[np.int64],
    *,
    others: bool,
    classes: NDArray[Any] | None = None,  # all names there are, sorted, where some may have no item here
) -> Naming:
    """Name outputs by the matching in which most items' outputs and names agree (the Hungarian algorithm).

    A name without an output stays among the classes. An output in use without a name is dropped or, with `others`, is a
    class of its own, "output 3".

    >>> naming = match_names(np.array([2, 2, 0]), np.array(["b", "b", "a"]), np.array([0, 1, 2]), others=True)
    >>> naming.classes, naming.columns
    (array(['a', 'b', 'output 1'], dtype='<U8'), array([0, 2, 1]))
    """
    classes = np.unique(names) if classes is None else np.unique(classes)
    codes = np.searchsorted(classes, names)
    place = np.searchsorted(in_use, outputs).clip(max=len(in_use) - 1)
    place = np.where(in_use[place] == outputs, place, -1)
    counted = place >= 0
    matching = match_outputs(confusion(place[counted], codes[counted], len(in_use), len(classes)))  # (in_use,)
    columns = np.full(len(classes), -1, dtype=np.int64)
    columns[matching[matching >= 0]] = in_use[matching >= 0]
    nameless = in_use[matching < 0] if others else in_use[:0]
    if not len(nameless):
        return Naming(classes, columns, named=True)
    classes = np.concatenate([classes.astype(str), [f"output {k}" for k in nameless]])
    order = np.argsort(classes)
    return Naming(classes[order], np.concatenate([columns, nameless])[order], named=True)
