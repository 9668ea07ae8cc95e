"""MCL for answers that are sometimes wrong: with probability e, same is said for different, and the other way round.

    a(i, j)    = (1 - e) s_hat(i, j) + e (1 - s_hat(i, j))     the probability that the answer is "same"
    loss(i, j) = - s log a - (1 - s) log (1 - a)

A pair that the network is sure of costs at most -log e, so that a wrong answer pulls only so hard. The rate e may be
known, or a tensor to be learned beside the network.
"""

from __future__ import annotations

import torch
from torch import Tensor

from likewise.criteria.fused import Reduction
from likewise.criteria.listed import listed_pairs
from likewise.criteria.mcl import mcl
from likewise.criteria.tables import PairTable


def flipped_mcl(
    logits: Tensor,
    same: Tensor | PairTable,
    flip: float | Tensor,
    weight: Tensor | None = None,
    *,
    pairs: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """MCL of a batch whose answers are wrong at the rate `flip`, called in the same three forms as `MCL`.

    The pairs are taken one by one (see `listed_pairs`), so that it can be differentiated with respect to the rate.

    >>> logits = torch.tensor([[50.0, 0.0], [50.0, 0.0]])
    >>> wrong = torch.tensor([[torch.nan, 0.0], [0.0, torch.nan]])  # surely the same, but "different" was said
    >>> flipped_mcl(logits, wrong, flip=0.1)  # -log 0.1
    tensor(2.3026)
    """
    if not isinstance(flip, Tensor):
        if not 0 <= flip <= 1:
            raise ValueError(f"flip must be between 0 and 1, got {flip}.")
        if flip == 0:  # then nothing bounds the loss, and MCL is exact where floats end
            return mcl(logits, same, pairs=pairs, weight=weight, reduction=reduction)
    listed = listed_pairs(logits, same, weight, pairs, reduction)
    s_hat, apart = listed.similarity()
    flip = flip.to(listed.p) if isinstance(flip, Tensor) else flip
    said_same = (1 - flip) * s_hat + flip * apart
    said_different = (1 - flip) * apart + flip * s_hat
    tiny = torch.finfo(listed.p.dtype).tiny  # reached only where the rate is 0
    losses = -listed.same * said_same.clamp_min(tiny).log() - (1 - listed.same) * said_different.clamp_min(tiny).log()
    return listed.reduce(losses, reduction)
