"""Pseudo-Label (Lee, 2013): the class that the network holds most likely is taken for the truth.

L_reg = mean_i - log p_i(argmax_k p_i(k))
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import cross_entropy

from likewise.supervision.semi.objective import BatchSeen


def pseudo_label(seen: BatchSeen) -> Tensor:
    """One view of each item; no gradient flows through the label."""
    logits = seen.item_logits  # (b, K)
    return cross_entropy(logits, logits.detach().argmax(1))
