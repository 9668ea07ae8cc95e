"""Items in memory: images as bytes or feature vectors, with class labels where they are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from likewise.errors import InputError


@dataclass(frozen=True)
class Items:
    """A pile of items; every room takes its data in this form.

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
    mean: tuple[float, ...]  # one value a channel, of inputs scaled to [0, 1]
    std: tuple[float, ...]
