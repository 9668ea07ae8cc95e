"""Transfer (section 4.2 of the paper): what "same" means is learned on classes that have labels.

    S(i, j) = [g(x_i, x_j) > 0.5]    with g the similarity prediction network

Here g is trained, as a classifier of pairs: all ordered pairs of a batch, same or different.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from likewise.supervision.labels import LabelledBatch


def similarity_objective() -> Callable[[nn.Module, LabelledBatch], tuple[Tensor, Tensor]]:
    """The objective for `train` of a network whose output is (b, b), a logit for every ordered pair of the batch.

    An item with itself is no pair, and an item labelled -1 takes part in none.
    """

    def objective(network: nn.Module, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)  # (b, b)
        labels = batch.labels.to(logits.device)
        known = (labels[:, None] >= 0) & (labels >= 0)
        known.fill_diagonal_(False)
        same = (labels[:, None] == labels).to(logits.dtype)
        loss = binary_cross_entropy_with_logits(logits, same, known.to(logits.dtype), reduction="sum")
        return loss / known.sum().clamp_min(1), logits

    return objective
