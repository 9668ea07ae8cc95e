"""MCL for evidence: what is known of a pair is how likely it is the same, by all that its witnesses said.

    loss(i, j) = - log [ y s_hat(i, j) + (1 - y) (1 - s_hat(i, j)) ],    y = sigmoid(the sum of the answers' log-odds)

It is the likelihood of the answers up to a constant: y = P(answers | same) / [P(answers | same) + P(answers |
different)]. An answer "same" that is wrong at the rate e has y = 1 - e, and the loss of `flipped_mcl`. Where nothing is
known, y = 1/2, the loss does not depend on the network; the cross-entropy of a soft answer would draw s_hat to y.
"""

from __future__ import annotations

import torch
from torch import Tensor

from likewise.criteria.fused import Reduction
from likewise.criteria.listed import listed_pairs
from likewise.criteria.tables import PairTable


def evidence_mcl(
    logits: Tensor,
    likely: Tensor | PairTable,
    weight: Tensor | None = None,
    *,
    pairs: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """MCL of a batch with y for each known pair, called in the same three forms as `MCL`.

    >>> logits = torch.tensor([[50.0, 0.0], [50.0, 0.0]])
    >>> evidence_mcl(logits, torch.tensor([0.1]), pairs=torch.tensor([[0, 1]]))  # surely the same: -log 0.1
    tensor(2.3026)
    """
    listed = listed_pairs(logits, likely, weight, pairs, reduction)
    s_hat, apart = listed.similarity()
    said = listed.same * s_hat + (1 - listed.same) * apart
    return listed.reduce(-said.clamp_min(torch.finfo(said.dtype).tiny).log(), reduction)
