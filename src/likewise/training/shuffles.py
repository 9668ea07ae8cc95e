"""An endless row of shuffles, of which each epoch takes its part, and any part can be had again."""

from __future__ import annotations

import torch
from torch import Tensor

from likewise.training.randomness import ORDER, generator


def shuffled_steps(n: int, epoch: int, steps: int, a_step: int, *, seed: int, which: int) -> Tensor:
    """What the steps of an epoch take, (steps, a_step), of an endless row of shuffles of 0 to n - 1.

    `which` tells rows apart.

    >>> row = torch.cat([shuffled_steps(6, epoch, 2, 2, seed=0, which=0) for epoch in range(3)]).flatten()
    >>> row.view(2, 6).sort(1).values.tolist()
    [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]
    """
    count = steps * a_step
    start = epoch * count
    rounds = range(start // n, (start + count - 1) // n + 1)
    shuffles = [torch.randperm(n, generator=generator(seed, ORDER, turn, which)) for turn in rounds]
    return torch.cat([torch.empty(0, dtype=torch.int64), *shuffles])[start % n :][:count].view(steps, a_step)
