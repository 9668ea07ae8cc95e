"""Batches of some classes with some items each, so that "same" is not rare where there are many classes."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from likewise.errors import InputError
from likewise.training.randomness import ORDER, generator


class ClassOrder:
    """Each batch has `classes` classes and `items` of each, all different; classes with fewer items give all they have.

    Classes come in a random order, all of them before any comes again. An epoch has as many batches as it takes to see
    as many items as there are, and no fewer than `least_steps`.

    >>> order = ClassOrder(torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2]), classes=2, items=2)
    >>> [len(chunk) for chunk in order.chunks(0)]
    [4, 4, 4]
    """

    def __init__(self, labels: Tensor, *, classes: int, items: int, seed: int = 0, least_steps: int = 1) -> None:
        known = labels >= 0
        self.members = [torch.nonzero(labels == name).flatten() for name in torch.unique(labels[known])]
        if len(self.members) < 2:
            raise InputError(f"The labels hold {len(self.members)} class; at least two are needed to tell apart.")
        if items < 2 or classes < 2:
            raise InputError(f"A batch needs two classes of two items or more, got {classes} of {items}.")
        if max(len(rows) for rows in self.members) < 2:
            raise InputError("No class has two items, so that nothing is the same; label more items.")
        self.classes, self.items, self.seed = min(classes, len(self.members)), items, seed
        self.steps = max(least_steps, math.ceil(int(known.sum()) / (self.classes * items)))

    def __len__(self) -> int:
        return self.steps

    def chunks(self, epoch: int) -> list[Tensor]:
        draw = generator(self.seed, ORDER, epoch)
        chunks: list[Tensor] = []
        waiting: list[int] = []
        for _ in range(self.steps):
            if len(waiting) < self.classes:  # those left over stand first in the next round, and are not drawn twice
                fresh = torch.randperm(len(self.members), generator=draw).tolist()
                waiting += [name for name in fresh if name not in waiting]
            chosen, waiting = waiting[: self.classes], waiting[self.classes :]
            parts = [self.members[name] for name in chosen]
            chunks.append(torch.cat([rows[torch.randperm(len(rows), generator=draw)[: self.items]] for rows in parts]))
        return chunks
