"""Batches of some labelled items, and then of any items in one view after another."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from likewise.training.answer_order import LEAST_STEPS
from likewise.training.shuffles import shuffled_steps


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
        told = shuffled_steps(len(self.labelled), epoch, self.steps, self.a_batch, seed=self.seed, which=0)
        if not self.views:
            return list(self.labelled[told])
        items = shuffled_steps(self.n_items, epoch, self.steps, self.b, seed=self.seed, which=1)
        drawn = zip(self.labelled[told], items, strict=True)
        return [torch.cat([few, any_items.repeat(self.views)]) for few, any_items in drawn]
