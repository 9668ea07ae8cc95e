"""Transfer (section 4.2 of the paper): what "same" means is learned on classes that have labels.

    S(i, j) = [g(x_i, x_j) > 0.5]    with g the similarity prediction network

g is trained as a classifier of pairs, all ordered pairs of a batch, same or different; or so that each item is more
like those of its class than like the rest. Then it is the teacher of a classifier of items that have no labels.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from likewise.supervision.labels import LabelledBatch


def similarity_objective() -> Callable[[nn.Module, LabelledBatch], tuple[Tensor, Tensor]]:
    """The objective for `train` of a network whose output is (b, b), a logit for every ordered pair of the batch.

    An item with itself is no pair, and an item labelled -1 takes part in none.

    >>> from likewise.networks import SimilarityModule, build
    >>> from likewise.training import Batch
    >>> batch = Batch(torch.randn(4, 3), torch.tensor([0, 0, 1, 1]), torch.arange(4))
    >>> loss, logits = similarity_objective()(SimilarityModule(build("mlp", 2, (3,))), batch)
    >>> loss.shape, logits.shape
    (torch.Size([]), torch.Size([4, 4]))
    """

    def objective(network: nn.Module, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)  # (b, b)
        same, known = _pairs_of(batch.labels.to(logits.device))
        loss = binary_cross_entropy_with_logits(logits, same.to(logits.dtype), known.to(logits.dtype), reduction="sum")
        return loss / known.sum().clamp_min(1), logits

    return objective


def contrastive_objective() -> Callable[[nn.Module, LabelledBatch], tuple[Tensor, Tensor]]:
    """The same from the supervised contrastive loss (Khosla et al., 2020), for logits z = cos / temperature:

        L_i = mean over j of i's class of  -log(exp z_ij / sum_{k != i} exp z_ik)

    It asks only that a row be in the right order, and so makes better use of many classes than a verdict on each pair.
    """

    def objective(network: nn.Module, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)  # (b, b)
        same, known = _pairs_of(batch.labels.to(logits.device))
        values = logits.float().masked_fill(~known, -torch.inf)
        likely = (values - values.logsumexp(1, keepdim=True)).masked_fill(~(same & known), 0)
        n_same = (same & known).sum(1)
        each = -likely.sum(1) / n_same.clamp_min(1)  # (b,)
        return each.sum() / (n_same > 0).sum().clamp_min(1), logits

    return objective


def transfer_objective(
    similarity: Callable[[Tensor], Tensor], criterion: Callable[[Tensor, Tensor], Tensor]
) -> Callable[[nn.Module, LabelledBatch], tuple[Tensor, Tensor]]:
    """The objective of a classifier whose teacher gives the probability of "same" (b, b) for the inputs of a batch.

    Labels are not looked at. The reference code of the paper lets the teacher's batch-norm normalise by the batch
    (`SimilarityModule.similarity` with `adapt`), because the classes are not those that it was trained on.

    >>> from likewise.criteria import MCL
    >>> from likewise.training import Batch
    >>> batch = Batch(torch.randn(4, 3), torch.full((4,), -1), torch.arange(4))
    >>> teacher = lambda x: (x[:, None] * x).sum(2).sigmoid()  # (b, b)
    >>> loss, logits = transfer_objective(teacher, MCL())(nn.Linear(3, 2), batch)
    >>> loss.shape, logits.shape
    (torch.Size([]), torch.Size([4, 2]))
    """

    def objective(network: nn.Module, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        same = (similarity(batch.inputs) > 0.5).float()
        logits = network(batch.inputs)
        return criterion(logits.float(), same), logits

    return objective


def _pairs_of(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Which ordered pairs are of one class (b, b), and of which it is known."""
    known = (labels[:, None] >= 0) & (labels >= 0)
    known.fill_diagonal_(False)
    return labels[:, None] == labels, known
