"""Batches that hold answered pairs: two random items of a large pile have hardly ever been asked about."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from likewise.errors import InputError
from likewise.training.shuffles import shuffled_steps

LEAST_STEPS = 16  # of an epoch: a small pile is gone through more than once
MOST_ITEMS = 10_000  # of an epoch: the time of learning follows what was told, and not the size of the pile


class AnswerOrder:
    """Both items of answered pairs and, for the rest of a batch, any items; each item once, then once a further view.

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
