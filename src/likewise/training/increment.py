"""Learn what is new: a trained network goes on with new answers or labels, and sees some of what it was told before.

The steps follow from what is new alone: each new answer is seen once in an epoch, in a batch of which the other half is
answers that were told before. Answers are learned by MCL. Labels are learned by cross-entropy, since the outputs have
names by now: a class that is new is given a free output, and MCL would hardly move items to one that is never used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from likewise.errors import InputError
from likewise.training.loop import OnEpoch, TrainingResult, train
from likewise.training.orders import shuffled_steps
from likewise.training.pile import Pile
from likewise.training.precision import Objective
from likewise.training.settings import Settings


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


def learn_increment(
    network: nn.Module,  # trained in place
    pile: Pile,
    objective: Objective,
    new: Tensor,
    old: Tensor,
    settings: Settings,
    *,
    run: Path | None = None,
    config: Mapping[str, object] | None = None,
    progress: bool = True,
    on_epoch: OnEpoch | None = None,
) -> TrainingResult:
    """Go on from the network's weights; `new` and `old` are those of `IncrementOrder`."""
    batches = pile.batches(IncrementOrder(new, old, settings.batch_size, seed=settings.seed), settings.batch_size)
    return train(network, batches, objective, settings, run=run, config=config, progress=progress, on_epoch=on_epoch)
