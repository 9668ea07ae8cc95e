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
from likewise.criteria.mcl import complement, mcl
from likewise.criteria.tables import PairTable, known_pairs
from likewise.criteria.targets import Listing, read_call, scatter


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

    It is made of torch's own operations on the known pairs, one by one, so that it can be differentiated with respect
    to the rate, and again. Its memory grows with the number of known pairs times K.

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
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}.")
    taking_part, target, rows = read_call(logits, same, pairs, weight, self_pairs=False)
    if isinstance(target, Listing):
        left, right, truth, counted = target.left, target.right, target.same, target.weight
    else:
        known, truth, counted = known_pairs(target.table, target.items)
        left, right = known.unbind(1)
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    truth, counted, p = truth.to(wide), counted.to(wide), taking_part.to(wide).softmax(1)
    s_hat, apart = (p[left] * p[right]).sum(1), (p[left] * complement(p)[right]).sum(1)  # (P,)
    flip = flip.to(p) if isinstance(flip, Tensor) else flip
    said_same = (1 - flip) * s_hat + flip * apart
    said_different = (1 - flip) * apart + flip * s_hat
    tiny = torch.finfo(wide).tiny  # reached only where the rate is 0
    losses = -truth * said_same.clamp_min(tiny).log() - (1 - truth) * said_different.clamp_min(tiny).log()
    losses = counted * losses
    if reduction == "mean":
        return losses.sum() / counted.sum().clamp_min(tiny)
    if reduction == "sum":
        return losses.sum()
    if isinstance(target, Listing):
        return losses
    each = losses.new_zeros(target.items, target.items).index_put((left, right), losses)
    return each if rows is None else scatter(each, rows, len(logits))
