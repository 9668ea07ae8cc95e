"""Items: in memory, as a stream of chunks, or walked through a piece at a time; their labels and ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

from likewise.errors import InputError
from likewise.unknown import UNKNOWN


@dataclass(frozen=True)
class Items:
    """Items in memory with their labels, class names and ids: the form in which every room takes its data.

    >>> pile = Items(torch.zeros(3, 1, 8, 8, dtype=torch.uint8), torch.tensor([0, 1, -1]), ("cat", "dog"))
    >>> len(pile), pile.n_classes
    (3, 2)
    >>> pile.subset(torch.tensor([2])).labels
    tensor([-1])
    """

    inputs: torch.Tensor  # uint8 (n, C, H, W) for images, float32 (n, d) for features
    labels: torch.Tensor  # int64 (n,), an index into class_names; -1 where unknown
    class_names: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()  # file names or row ids; empty where items have only their row number
    columns: tuple[str, ...] = ()  # the names of the features where they come from a table

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    def groups(self) -> list[str]:
        """The group of each labelled item, where classes are called group/class, as in Greek/alpha."""
        alone = next((name for name in self.class_names if "/" not in name), None)
        if alone is not None:
            raise InputError(f"The class {alone!r} names no group; call classes that come in groups group/class.")
        group = [name.partition("/")[0] for name in self.class_names]
        return [group[label] for label in self.labels.tolist()]

    def subset(self, index: torch.Tensor) -> Items:
        ids = tuple(self.ids[i] for i in index.tolist()) if self.ids else ()
        return replace(self, inputs=self.inputs[index], labels=self.labels[index], ids=ids)


@dataclass(frozen=True)
class DataSet:
    """A named set with its split and the statistics that its inputs are normalised with.

    >>> from likewise.datasets import load
    >>> digits = load("digits")
    >>> digits.name, len(digits.train), len(digits.test), digits.train.inputs.shape[1:]
    ('digits', 1442, 355, torch.Size([1, 8, 8]))
    """

    name: str
    train: Items
    test: Items
    mean: tuple[float, ...]  # one value per channel, of inputs scaled to [0, 1]
    std: tuple[float, ...]


# Items a chunk at a time, and all chunks in one array.
@dataclass(eq=False)
class ItemStream:
    """Items that are read in chunks while they are used, as often as needed, so that they need not fit into memory.

    `len` is the number of items to expect, before any is left out; there is at least one chunk.

    >>> import torch
    >>> pile = Items(torch.arange(3.0)[:, None], torch.tensor([-1, -1, -1]))
    >>> stream = ItemStream(3, lambda broken: iter([pile.subset(torch.tensor([0, 1])), pile.subset(torch.tensor([2]))]))
    >>> len(stream), [len(items) for items in stream]
    (3, [2, 1])
    >>> collect(stream).inputs.flatten().tolist()
    [0.0, 1.0, 2.0]
    """

    n_items: int
    read: Callable[[list[str]], Iterator[Items]]  # given a list, to which it adds the files that it leaves out
    names: Sequence[str] = ()  # where items may be left out: the ids of all, known before any is read
    item_bytes: int = 0  # that an item takes in memory
    broken: list[str] = field(default_factory=list, init=False)  # left out so far: "path (reason)"

    def __len__(self) -> int:
        return self.n_items

    @property
    def n_bytes(self) -> int:
        """That all items take in memory."""
        return self.n_items * self.item_bytes

    def __iter__(self) -> Iterator[Items]:
        self.broken = []
        return self.read(self.broken)


def collect(stream: ItemStream) -> Items:
    """All items of a stream, in memory once."""
    chunks = iter(stream)
    first = next(chunks)
    inputs = first.inputs.new_empty((len(stream), *first.inputs.shape[1:]))
    labels = first.labels.new_empty(len(stream))
    ids: list[str] = []
    n = 0
    for chunk in chain([first], chunks):
        inputs[n : n + len(chunk)] = chunk.inputs
        labels[n : n + len(chunk)] = chunk.labels
        ids.extend(chunk.ids)
        n += len(chunk)
    return replace(first, inputs=inputs[:n], labels=labels[:n], ids=tuple(ids))


# Items a piece at a time, in memory or on disk.

PIECE = 1024  # rows


def in_pieces(inputs: Tensor) -> Iterator[Tensor]:
    """The rows of a tensor, or of what stands for one, at most 1024 at a time, in order.

    >>> import torch
    >>> [len(piece) for piece in in_pieces(torch.zeros(1500, 2))]
    [1024, 476]
    """
    for start in range(0, len(inputs), PIECE):
        yield inputs[start : start + PIECE]


# Labels are numbered, and each id is checked to be unique.


def number_labels(values: NDArray[Any], path: Path) -> tuple[Tensor, tuple[str, ...]]:
    """An index into the sorted class names for each label, integers or text; -1 where unknown: -1, -100 or empty text.

    >>> number_labels(np.array(["dog", "", "cat", "dog"]), Path("pets.csv"))
    (tensor([ 1, -1,  0,  1]), ('cat', 'dog'))
    >>> number_labels(np.array([10, -1, 9]), Path("digits.csv"))
    (tensor([ 1, -1,  0]), ('9', '10'))
    """
    classes, index = np.unique(values, return_inverse=True)
    if values.dtype.kind == "U":
        known = ~np.isin(classes, ("", *map(str, UNKNOWN)))
    else:
        known = classes >= 0
        wrong = classes[~known & ~np.isin(classes, UNKNOWN)]
        if len(wrong):
            raise InputError(f"{path} holds the label {wrong[0]}; use -1 where a label is unknown.")
    number = np.where(known, np.cumsum(known) - 1, -1)
    return torch.from_numpy(number[index].astype(np.int64)), tuple(str(name) for name in classes[known].tolist())


# The ids of items in a file: text, and each its own.
def own_ids(texts: Any, path: Path, column: str, place: Callable[[int], str]) -> Any:
    """An Arrow array of ids, without the spaces around them; `place` names a row for a message."""
    ids = pc.fill_null(pc.utf8_trim_whitespace(texts), "")
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.combine_chunks()
    empty = pc.index(ids, "").as_py()
    if empty >= 0:
        raise InputError(f"{path}, {place(empty)}: {column} is empty. Give each item an id.")
    counts = pc.value_counts(ids)
    if len(counts) < len(ids):
        double = counts.field("values").filter(pc.greater(counts.field("counts"), 1))[0]
        one, other = np.flatnonzero(np.asarray(pc.equal(ids, double)))[:2].tolist()
        wrong = f"{path}, {place(other)}: {column} is {double.as_py()!r}, as in {place(one)}"
        raise InputError(f"{wrong}. Give each item an id of its own.")
    return ids
