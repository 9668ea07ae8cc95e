"""Items a chunk at a time, and all chunks in one array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from likewise.datasets.items import Items


@dataclass(eq=False)
class ItemStream:
    """Items that are read while they are used, so that they need not fit into memory; gone through as often as wanted.

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
