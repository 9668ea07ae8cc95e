"""Pseudo-MCL (section 4.3 of the paper): MCL on what the network itself says of pairs, better and better as it learns.

L_reg = MCL with S(i, j) = 1 where s_hat(i, j) > 0.5, or where i and j are two views of one item, else 0
"""

from __future__ import annotations

import torch
from torch import Tensor

from likewise.criteria import mcl
from likewise.supervision.pseudo import pseudo_similarity
from likewise.supervision.semi.objective import BatchSeen


def pseudo_mcl(seen: BatchSeen) -> Tensor:
    """Two views of each item, and all pairs of views."""
    logits = seen.item_logits  # (2 b, K)
    item = torch.arange(len(logits) // 2, device=logits.device).repeat(2)
    return mcl(logits, pseudo_similarity(logits, item, averaged=False))
