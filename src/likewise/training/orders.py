"""The orders in which items come to batches: by answered pairs, by classes, and by a few labels."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from likewise.errors import InputError
from likewise.training.randomness import ORDER, generator


# An endless row of shuffles, of which each epoch takes its part, and any part can be had again.
def shuffled_steps(n: int, epoch: int, steps: int, a_step: int, *, seed: int, which: int) -> Tensor:
    """The numbers that each step of an epoch takes, (steps, a_step), from an endless series of shuffles of 0 to n - 1.

    `which` selects one of several such series.

    >>> row = torch.cat([shuffled_steps(6, epoch, 2, 2, seed=0, which=0) for epoch in range(3)]).flatten()
    >>> row.view(2, 6).sort(1).values.tolist()
    [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]
    """
    count = steps * a_step
    start = epoch * count
    rounds = range(start // n, (start + count - 1) // n + 1)
    shuffles = [torch.randperm(n, generator=generator(seed, ORDER, turn, which)) for turn in rounds]
    return torch.cat([torch.empty(0, dtype=torch.int64), *shuffles])[start % n :][:count].view(steps, a_step)


LEAST_STEPS = 16  # of an epoch: few items are visited more than once
MOST_ITEMS = 10_000  # of an epoch: the time of training grows with the answers, not with the number of items


class AnswerOrder:
    """Both items of answered pairs and, for the rest of a batch, any items; each item once, then once per further view.

    The answers come in a random order, all of them before any comes again, and so do the items. An epoch has as many
    batches as it takes to see every item once, or 10,000 of them.

    >>> order = AnswerOrder(torch.tensor([[0, 1], [2, 3]]), n_items=6, batch_size=4, answered=0.5, views=2)
    >>> [chunk.tolist() for chunk in order.chunks(0)][:2]
    [[0, 2, 3, 0, 2, 3], [0, 1, 2, 0, 1, 2]]
    """

    def __init__(
        self,
        pairs: Tensor,  # int64 (m, 2)
        n_items: int,
        batch_size: int,
        *,
        seed: int = 0,
        answered: float = 1.0,  # the share of a batch that answered pairs fill
        views: int = 1,
    ) -> None:
        if not len(pairs):
            raise InputError("There is no answer to learn from; give at least one pair that is the same or different.")
        self.pairs, self.n_items, self.seed, self.views = pairs, n_items, seed, views
        self.n_pairs = max(1, round(min(batch_size, n_items) * answered / 2))
        self.n_others = max(0, min(batch_size, n_items) - 2 * self.n_pairs) if answered < 1 else 0
        self.steps = max(LEAST_STEPS, math.ceil(min(n_items, MOST_ITEMS) / batch_size))

    def __len__(self) -> int:
        return self.steps

    def chunks(self, epoch: int) -> list[Tensor]:
        rows = shuffled_steps(len(self.pairs), epoch, self.steps, self.n_pairs, seed=self.seed, which=0)
        others = shuffled_steps(self.n_items, epoch, self.steps, self.n_others, seed=self.seed, which=1)
        chosen = (torch.cat([self.pairs[row].flatten(), other]) for row, other in zip(rows, others, strict=True))
        return [torch.unique(items).repeat(self.views) for items in chosen]


# Batches of some classes with some items each, so that "same" is not rare where there are many classes.
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
            raise InputError("No class has two items, so no pair is the same; label more items.")
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


# Batches of some labelled items, and then of any items in one view after another.
class FewLabelsOrder:
    """`a_batch` labelled items, then `batch_size` of all items, as often as there are views; without views, none.

    Labelled items come in a random order, all of them before any comes again, and so do the items. An epoch has as
    many batches as it takes to see all items once, or where there are no views, all labelled ones.

    >>> order = FewLabelsOrder(torch.tensor([7, 9]), n_items=10, batch_size=3, a_batch=1, views=2)
    >>> first = order.chunks(0)[0].tolist()
    >>> first[0] in (7, 9), len(first), first[1:4] == first[4:7]
    (True, 7, True)
    """

    def __init__(
        self,
        labelled: Tensor,  # int64 (n_labelled,): their positions
        n_items: int,
        batch_size: int,
        *,
        a_batch: int,
        views: int,
        seed: int = 0,
    ) -> None:
        self.labelled, self.n_items, self.views, self.seed = labelled, n_items, views, seed
        self.a_batch = min(a_batch, len(labelled))
        self.b = min(batch_size, n_items)
        one_round = n_items / self.b if views else len(labelled) / self.a_batch
        self.steps = max(LEAST_STEPS, math.ceil(one_round))

    def __len__(self) -> int:
        return self.steps

    def chunks(self, epoch: int) -> list[Tensor]:
        chosen = shuffled_steps(len(self.labelled), epoch, self.steps, self.a_batch, seed=self.seed, which=0)
        if not self.views:
            return list(self.labelled[chosen])
        items = shuffled_steps(self.n_items, epoch, self.steps, self.b, seed=self.seed, which=1)
        drawn = zip(self.labelled[chosen], items, strict=True)
        return [torch.cat([few, any_items.repeat(self.views)]) for few, any_items in drawn]


class IncrementOrder:
    """The items of new answers and of as many old ones, in batches; all of a kind come before any comes again.

    >>> order = IncrementOrder(torch.tensor([[4, 5], [6, 7], [8, 9]]), torch.tensor([[0, 1], [2, 3]]), batch_size=8)
    >>> [chunk.tolist() for chunk in order.chunks(0)]
    [[0, 1, 2, 3, 6, 7, 8, 9], [0, 1, 2, 3, 4, 5, 8, 9]]
    """

    def __init__(self, new: Tensor, old: Tensor, batch_size: int, *, seed: int = 0) -> None:
        """`new` and `old` hold the items of each answer, (m, 2), or of each label, (m, 1)."""
        self.new, self.old, self.seed = new, old, seed
        half = max(1, batch_size // (2 * new.shape[1]))
        self.n_new, self.n_old = min(half, len(new)), min(half, len(old))
        if len(torch.unique(torch.cat([new.flatten(), old.flatten()]))) < 2:
            raise InputError("One item alone says nothing about same or different; give two or more.")

    def __len__(self) -> int:
        return math.ceil(len(self.new) / self.n_new)

    def chunks(self, epoch: int) -> list[Tensor]:
        parts = [(self.new, self.n_new, 0), (self.old, self.n_old, 1)]
        rows = [
            part[shuffled_steps(len(part), epoch, len(self), n, seed=self.seed, which=which)].flatten(1)
            for part, n, which in parts
            if n
        ]  # (steps, items) of each
        return [torch.unique(items) for items in torch.cat(rows, dim=1)]
