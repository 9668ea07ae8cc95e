"""A moving average of the weights, which judges better than the weights of any one step.

    average <- d average + (1 - d) weights,    d = min(0.999, (1 + t) / (10 + t)) at step t

so that the average reaches back over a tenth of the steps so far, and at most over a thousand.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

MOST = 0.999


class AveragedNetwork(nn.Module):
    """A network and the average of its weights: the first is trained, the second answers in evaluation mode.

    Both are part of its state, so that a run that goes on has them again.

    >>> network = AveragedNetwork(nn.Linear(1, 1, bias=False))
    >>> _ = network.network.weight.data.fill_(1), network.average.weight.data.fill_(0)
    >>> network.follow()
    >>> round(network.average.weight.item(), 6)  # d = 1/10 at first
    0.9
    """

    steps: Tensor

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.training = network.training  # so that `train` sees which parts of the network are frozen
        self.average = copy.deepcopy(network).requires_grad_(False).eval()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def follow(self) -> None:
        """Move the average towards the weights of this step; what is counted (by batch-norm) is copied."""
        t = int(self.steps)
        move = 1 - min(MOST, (1 + t) / (10 + t))
        old, new = list(self.average.state_dict().values()), list(self.network.state_dict().values())
        numbers = [place for place, value in enumerate(old) if value.is_floating_point()]
        torch._foreach_lerp_([old[place] for place in numbers], [new[place] for place in numbers], move)
        for place in set(range(len(old))) - set(numbers):
            old[place].copy_(new[place])
        self.steps += 1

    def train(self, mode: bool = True) -> AveragedNetwork:
        super().train(mode)
        self.average.eval()
        return self

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.network(inputs) if self.training else self.average(inputs)
        return logits
