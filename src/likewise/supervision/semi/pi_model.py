"""The Pi-model (Laine & Aila, 2017; Sajjadi et al., 2016): two views of an item are answered alike.

L_reg = mean_i 1/K sum_k (p_i(k) - p'_i(k))^2
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import mse_loss

from likewise.supervision.semi.objective import BatchSeen


def pi_model(seen: BatchSeen) -> Tensor:
    """Two views of each item; the gradient flows through both."""
    first, second = seen.item_logits.softmax(1).chunk(2)  # (b, K) each
    return mse_loss(first, second)
