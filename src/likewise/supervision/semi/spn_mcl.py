"""SPN-MCL (section 5.4 of the paper): MCL on what a similarity network, trained on the labelled items, says of pairs.

L_reg = MCL with S(i, j) = [g(x_i, x_j) > 0.5],    g fixed
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from likewise.criteria import mcl
from likewise.supervision.semi.objective import BatchSeen, Regulariser


def spn_mcl(similarity: Callable[[Tensor], Tensor]) -> Regulariser:
    """One view of each item; `similarity` gives (b, b) probabilities of "same" for b items."""

    def regulariser(seen: BatchSeen) -> Tensor:
        same = (similarity(seen.items) > 0.5).float()  # (b, b)
        return mcl(seen.item_logits, same)

    return regulariser
