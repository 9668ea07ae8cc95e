"""MCL for answers that may be wrong: at a known or learned rate, as evidence, or by classes that people mix up.

These criteria take the known pairs one by one and are made of torch's own operations: they can be differentiated with
respect to more than the logits, and again. Their memory grows with the number of known pairs times K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from likewise.criteria.fused import Reduction
from likewise.criteria.mcl import complement, mcl
from likewise.criteria.tables import known_pairs
from likewise.criteria.targets import Listing, PairTable, read_call, scatter

USUAL = 0.1  # e and d of the prior of B: what is known of any two classes
PRIOR_ANSWERS = 10.0  # that it is worth, for each two
RIDGE = 1e-3


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


def noisy_mcl(
    logits: Tensor,
    same: Tensor | PairTable,
    noise: float | Tensor,
    weight: Tensor | None = None,
    *,
    pairs: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """MCL of a batch whose answers are wrong at the rate e = `noise`, called in the same three forms as `MCL`.

        a(i, j)    = (1 - e) s_hat(i, j) + e (1 - s_hat(i, j))     the probability that the answer is "same"
        loss(i, j) = - s log a - (1 - s) log (1 - a)

    A pair that the network is sure of costs at most -log e, so that a wrong answer pulls only so hard. The rate may be
    known, or a tensor to be learned beside the network.

    >>> logits = torch.tensor([[50.0, 0.0], [50.0, 0.0]])
    >>> wrong = torch.tensor([[torch.nan, 0.0], [0.0, torch.nan]])  # surely the same, but "different" was said
    >>> noisy_mcl(logits, wrong, noise=0.1)  # -log 0.1
    tensor(2.3026)
    """
    if not isinstance(noise, Tensor):
        if not 0 <= noise <= 1:
            raise ValueError(f"noise must be between 0 and 1, got {noise}.")
        if noise == 0:  # then nothing bounds the loss, and MCL is exact where floats end
            return mcl(logits, same, pairs=pairs, weight=weight, reduction=reduction)
    listed = listed_pairs(logits, same, weight, pairs, reduction)
    s_hat, apart = listed.similarity()
    noise = noise.to(listed.p) if isinstance(noise, Tensor) else noise
    said_same = (1 - noise) * s_hat + noise * apart
    said_different = (1 - noise) * apart + noise * s_hat
    tiny = torch.finfo(listed.p.dtype).tiny  # reached only where the rate is 0
    losses = -listed.same * said_same.clamp_min(tiny).log() - (1 - listed.same) * said_different.clamp_min(tiny).log()
    return listed.reduce(losses, reduction)


def evidence_mcl(
    logits: Tensor,
    likely: Tensor | PairTable,
    weight: Tensor | None = None,
    *,
    pairs: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """MCL from evidence: y = `likely` is the probability that a pair is the same, given all answers about it.

        loss(i, j) = - log [ y s_hat(i, j) + (1 - y) (1 - s_hat(i, j)) ],    y = sigmoid(sum of the answers' log-odds)

    It is the likelihood of the answers up to a constant: y = P(answers | same) / [P(answers | same) + P(answers |
    different)]. An answer "same" that is wrong at the rate e has y = 1 - e, and the loss of `noisy_mcl`. Where
    nothing is known, y = 1/2, the loss does not depend on the network; the cross-entropy of a soft answer would draw
    s_hat to y. It is called in the same three forms as `MCL`.

    >>> logits = torch.tensor([[50.0, 0.0], [50.0, 0.0]])
    >>> evidence_mcl(logits, torch.tensor([0.1]), pairs=torch.tensor([[0, 1]]))  # surely the same: -log 0.1
    tensor(2.3026)
    """
    listed = listed_pairs(logits, likely, weight, pairs, reduction)
    s_hat, apart = listed.similarity()
    p_answer = listed.same * s_hat + (1 - listed.same) * apart
    return listed.reduce(-p_answer.clamp_min(torch.finfo(p_answer.dtype).tiny).log(), reduction)


def confusion_mcl(
    logits: Tensor,
    same: Tensor | PairTable,
    confusion: Tensor,
    weight: Tensor | None = None,
    *,
    pairs: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """MCL for people who mix up certain classes, B = `confusion` (Nguyen, Ibrahim and Fu, 2023: VolMaxDCC).

        P(answer "same" | i, j) = f_i^T B f_j         B (K, K) symmetric: B_ab for an item of class a and one of class b
        loss(i, j)              = - s log P - (1 - s) log (1 - P)

    B is the identity where nobody errs. It is called in the same three forms as `MCL`.

    >>> logits = torch.tensor([[50.0, 0.0], [0.0, 50.0]])  # surely of two classes, which are often mixed up
    >>> mixed = torch.tensor([[0.9, 0.4], [0.4, 0.9]])
    >>> confusion_mcl(logits, torch.tensor([1.0]), mixed, pairs=torch.tensor([[0, 1]]))  # -log 0.4
    tensor(0.9163)
    """
    listed = listed_pairs(logits, same, weight, pairs, reduction)
    b = confusion.to(listed.p)
    left, right = listed.p[listed.left], listed.p[listed.right]
    says_same, says_different = ((left @ matrix * right).sum(1) for matrix in (b, 1 - b))
    tiny = torch.finfo(listed.p.dtype).tiny
    losses = -listed.same * says_same.clamp_min(tiny).log() - (1 - listed.same) * says_different.clamp_min(tiny).log()
    return listed.reduce(losses, reduction)


def confusion_prior(confusion: Tensor) -> Tensor:
    """-log of the prior of B, each two classes once, up to a constant; to be divided by the number of answers.

    It is a Beta prior of `PRIOR_ANSWERS` answers around (1 - e) I + d (1 - I).
    """
    usual = torch.full_like(confusion, USUAL).fill_diagonal_(1 - USUAL)
    each = PRIOR_ANSWERS * (usual * confusion.log() + (1 - usual) * (1 - confusion).log())
    return -each.triu().sum()


def volume(logits: Tensor) -> Tensor:
    """How far the outputs F (b, K) of a batch reach into all corners: log det (F^T F / b + 0.001 I).

    Many f explain the answers equally well with a B of their own; the one of the largest volume is wanted. 0 is beyond
    what b items in K classes reach.
    """
    f = logits.softmax(1)
    gram = f.T @ f / len(f) + RIDGE * torch.eye(f.shape[1], dtype=f.dtype, device=f.device)
    volume: Tensor = torch.linalg.slogdet(gram).logabsdet
    return volume
