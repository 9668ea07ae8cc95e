"""MCL for people who mix up certain classes: which ones is learned, K x K (Nguyen, Ibrahim and Fu, 2023: VolMaxDCC).

    P(answer "same" | i, j) = f_i^T B f_j         B (K, K) symmetric: B_ab for an item of class a and one of class b
    loss(i, j)              = - s log P - (1 - s) log (1 - P)

B is the identity where nobody errs. It has a Beta prior of so many answers around (1 - e) I + d (1 - I). Many f explain
the answers equally well with a B of their own; of these the one is wanted whose outputs reach into all corners, by

    volume = log det (F^T F / b + 0.001 I)        F (b, K): the outputs of a batch
"""

from __future__ import annotations

import torch
from torch import Tensor

from likewise.criteria.fused import Reduction
from likewise.criteria.listed import listed_pairs
from likewise.criteria.tables import PairTable

USUAL = 0.1  # e and d: what is known of any two classes
PRIOR_ANSWERS = 10.0  # that it is worth, for each two
RIDGE = 1e-3


def confusion_mcl(
    logits: Tensor,
    same: Tensor | PairTable,
    confusion: Tensor,
    weight: Tensor | None = None,
    *,
    pairs: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """The loss of a batch for B = `confusion`, called in the same three forms as `MCL`.

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
    """-log of the prior of B, each two classes once, up to a constant; to be divided by the number of answers."""
    usual = torch.full_like(confusion, USUAL).fill_diagonal_(1 - USUAL)
    each = PRIOR_ANSWERS * (usual * confusion.log() + (1 - usual) * (1 - confusion).log())
    return -each.triu().sum()


def volume(logits: Tensor) -> Tensor:
    """How far the outputs of a batch (b, K) reach into all corners; 0 is beyond what b items in K classes reach."""
    f = logits.softmax(1)
    gram = f.T @ f / len(f) + RIDGE * torch.eye(f.shape[1], dtype=f.dtype, device=f.device)
    found: Tensor = torch.linalg.slogdet(gram).logabsdet
    return found
