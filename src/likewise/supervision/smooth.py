"""Answers, and all other items too where nothing is known of how an item may look otherwise.

Views of an image show what does not matter for its class. Of a vector of numbers no such change is known, but a class
hardly ends between an item and what lies much nearer to it than any other item. So borders between classes are kept out
of these surroundings, and items are to be sure of their class, with all classes in use:

    L = MCL(known pairs) + mean_i KL(p(x_i) || p(x_i + r_i)) + 0.1 (mean_i H(p(x_i)) - 4 H(mean_i p(x_i)))
      + 0.3 mean_i -log(0.05 + 0.9 p(x_i) . p(x_n(i)))

n(i) is a random one of the nearest items of i, where these are known: most are of one class, so that their MCL counts
as if somebody had said so who is wrong 5 times in a hundred. r_i is the change of length `radius` that upsets item i
most (`vat` in semi.py). The weights of the terms without neighbours are those of IMSAT (Hu et al., 2017), which learns
from the last two of them alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor, nn

from likewise.supervision.answers import AnsweredBatch, Known, answers_objective
from likewise.supervision.semi import SemiBatch, keeping_statistics, roughness

INFORMATION, IN_USE = 0.1, 4.0
NEIGHBOURS, DOUBT = 0.3, 0.05


def smooth_objective(
    known: Known, radius: float, *, noise: float = 0.0, neighbours: Callable[[Tensor], Tensor] | None = None
) -> Callable[[nn.Module, AnsweredBatch], tuple[Tensor, Tensor]]:
    """The objective for `train`: the answers of a batch as in `answers_objective`, and smoothness around all its items.

    `radius` is a length in the space of the normalised inputs. `neighbours` gives the input of a neighbour for each of
    some items (over several ranks, for this rank's rows of them).

    >>> import torch
    >>> import numpy as np
    >>> from likewise.supervision import LabelKnowledge
    >>> from likewise.training import Batch
    >>> batch = Batch(torch.randn(4, 3), torch.full((4,), -1), torch.arange(4))
    >>> loss, logits = smooth_objective(LabelKnowledge(np.array([0, 0, 1, 1])), radius=0.1)(nn.Linear(3, 2), batch)
    >>> loss.shape, logits.shape
    (torch.Size([]), torch.Size([4, 2]))
    """
    answered = answers_objective(known, noise=noise)

    def objective(network: nn.Module, batch: AnsweredBatch) -> tuple[Tensor, Tensor]:
        loss, logits = answered(network, batch)
        log_p = logits.float().log_softmax(1)  # (b, K)
        p = log_p.exp()
        unsure = -(p * log_p).sum(1).mean()
        log_mean = log_p.logsumexp(0) - math.log(len(log_p))  # (K,)
        in_use = -(log_mean.exp() * log_mean).sum()
        rough = roughness(SemiBatch(network, batch.inputs, logits, labelled=0), radius)
        loss = loss + rough + INFORMATION * (unsure - IN_USE * in_use)
        if neighbours is not None:
            with keeping_statistics(network):
                q = network(neighbours(batch.index)).float().softmax(1)
            loss = loss - NEIGHBOURS * (DOUBT + (1 - 2 * DOUBT) * (p * q).sum(1)).log().mean()
        return loss, logits

    return objective
