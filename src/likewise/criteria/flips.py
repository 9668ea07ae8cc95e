"""MCL for answers that are sometimes wrong: with probability e, same is said for different, and the other way round.

    a(i, j)    = (1 - e) s_hat(i, j) + e (1 - s_hat(i, j))     the probability that the answer is "same"
    loss(i, j) = - s log a - (1 - s) log (1 - a)

A pair that the network is sure of costs at most -log e, so that a wrong answer pulls only so hard. The rate e may be
known, or a tensor to be learned beside the network.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor


def flipped_mcl(
    logits: Tensor,
    same: Tensor,  # (b, b), NaN where unknown; or (P,), one for each of the pairs
    flip: float | Tensor,
    weight: Tensor | None = None,  # like same
    *,
    pairs: Tensor | None = None,  # int (P, 2)
    reduction: Literal["mean", "none"] = "mean",
) -> Tensor:
    """The mean over the known pairs i < j of a batch, or over listed pairs, weighted where there are weights.

    With the reduction "none", the loss of each, (P,), times its weight.

    >>> logits = torch.tensor([[50.0, 0.0], [50.0, 0.0]])
    >>> wrong = torch.tensor([[torch.nan, 0.0], [torch.nan, torch.nan]])  # surely the same, but "different" was said
    >>> flipped_mcl(logits, wrong, flip=0.1)  # -log 0.1
    tensor(2.3026)
    """
    if pairs is None:
        left, right = torch.triu(~same.isnan(), 1).nonzero(as_tuple=True)  # (P,)
        same, weight = same[left, right], None if weight is None else weight[left, right]
    else:
        left, right = pairs.unbind(1)
    p = logits.float().softmax(1)
    s_hat = (p[left] * p[right]).sum(1)
    said_same = flip + (1 - 2 * flip) * s_hat
    tiny = torch.finfo(p.dtype).tiny  # reached only where the rate is 0
    loss = -same * said_same.clamp_min(tiny).log() - (1 - same) * (1 - said_same).clamp_min(tiny).log()
    counted = torch.ones_like(loss) if weight is None else weight
    if reduction == "none":
        return counted * loss
    return (counted * loss).sum() / counted.sum().clamp_min(tiny)
