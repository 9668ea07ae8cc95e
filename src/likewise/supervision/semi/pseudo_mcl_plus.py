"""Pseudo-MCL+, past the paper: weak views say what is the same, where they are sure of it, and strong views learn it.

    s_hat(i, j) = p_i . p_j of weak views, without a gradient
    S(i, j) = 1 where s_hat > 0.95, 0 where s_hat < 0.05, unknown elsewhere; and an item is the same as itself
    L_reg = MCL over the pairs of two strong views, and of a strong and a weak one

So a pair that the network wavers about teaches nothing, where plain Pseudo-MCL believes either half of a coin. What a
weak view shows is easy, and the strong one has to find it out with other light and a part missing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from likewise.criteria import mcl
from likewise.supervision.semi.objective import BatchSeen

SURE = 0.95


def pseudo_mcl_plus(seen: BatchSeen) -> Tensor:
    """Two views of each item, the first weak and the second strong."""
    weak, strong = seen.item_logits.chunk(2)  # (b, K) each
    weak = weak.detach()
    same = sure_similarity(weak)  # (b, b)
    across = same.clone().fill_diagonal_(1)
    unknown = torch.full_like(same, torch.nan)
    views = torch.cat([torch.cat([same, across], 1), torch.cat([across, unknown], 1)])  # (2 b, 2 b)
    return mcl(torch.cat([strong, weak]), views)


def sure_similarity(logits: Tensor) -> Tensor:
    """The (b, b) target of a batch: 1 or 0 where s_hat is sure of it, NaN elsewhere.

    >>> sure_similarity(torch.tensor([[9.0, 0.0], [9.0, 0.0], [0.0, 9.0], [0.0, 0.0]]))
    tensor([[1., 1., 0., nan],
            [1., 1., 0., nan],
            [0., 0., 1., nan],
            [nan, nan, nan, nan]])
    """
    p = logits.detach().softmax(1)
    s_hat = p @ p.T
    unsure = (s_hat <= SURE) & (s_hat >= 1 - SURE)
    return (s_hat > 0.5).float().masked_fill_(unsure, torch.nan)
