"""The known pairs of a batch one by one, for criteria that are made of torch's own operations.

Such a criterion can be differentiated with respect to more than the logits, and again. Its memory grows with the number
of known pairs times K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from likewise.criteria.fused import Reduction
from likewise.criteria.mcl import complement
from likewise.criteria.tables import PairTable, known_pairs
from likewise.criteria.targets import Listing, read_call, scatter


@dataclass(frozen=True)
class ListedPairs:
    """The known pairs (P,) of a batch, in float32 or, where the logits are so, float64."""

    p: Tensor  # (b, K) softmax of the logits
    left: Tensor  # (P,)
    right: Tensor  # (P,)
    same: Tensor  # (P,)
    weight: Tensor  # (P,)
    restore: Callable[[Tensor], Tensor]  # (P,) to the form of the call

    def similarity(self) -> tuple[Tensor, Tensor]:
        """(P,) s_hat, and 1 - s_hat as a sum of products."""
        left, right = self.p[self.left], self.p[self.right]
        return (left * right).sum(1), (left * complement(self.p)[self.right]).sum(1)

    def reduce(self, losses: Tensor, reduction: Reduction) -> Tensor:
        """The mean or the sum of the losses (P,) by their weights, or each of them in the form of the call."""
        losses = self.weight * losses
        if reduction == "mean":
            return losses.sum() / self.weight.sum().clamp_min(torch.finfo(losses.dtype).tiny)
        return losses.sum() if reduction == "sum" else self.restore(losses)


def listed_pairs(
    logits: Tensor, same: Tensor | PairTable, weight: Tensor | None, pairs: Tensor | None, reduction: Reduction
) -> ListedPairs:
    """Read a call in any of the three forms of `MCL`."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}.")
    taking_part, target, rows = read_call(logits, same, pairs, weight, self_pairs=False)
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    p = taking_part.to(wide).softmax(1)
    if isinstance(target, Listing):
        return ListedPairs(
            p, target.left, target.right, target.same.to(wide), target.weight.to(wide), lambda losses: losses
        )
    known, truth, counted = known_pairs(target.table, target.items)
    left, right = known.unbind(1)

    def restore(losses: Tensor) -> Tensor:
        each = losses.new_zeros(target.items, target.items).index_put((left, right), losses)
        return each if rows is None else scatter(each, rows, len(logits))

    return ListedPairs(p, left, right, truth.to(wide), counted.to(wide), restore)
