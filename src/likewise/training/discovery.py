"""From partitions of a pile to a classifier: MCL on same or different cluster, from the similarity's backbone."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from likewise.criteria import MCL
from likewise.errors import InputError
from likewise.networks import CosineHead, Linear
from likewise.supervision import consensus_objective
from likewise.training.batches import EpochOrder, TensorBatches
from likewise.training.inputs import NetworkInputs, predict_logits
from likewise.training.loop import OnEpoch, TrainingResult, train
from likewise.training.randomness import AUGMENT, generator
from likewise.training.settings import Settings
from likewise.training.similarity import EmbeddedItems

# A last layer that puts items where the nearest prototype of a partition is.

SHARPNESS = 15.0  # by which a prototype's output stands out at the start, in logits


@torch.no_grad()
def prototype_layer(g: Tensor, partition: Tensor, n_outputs: int, *, by_angle: bool = False) -> tuple[Tensor, Tensor]:
    """The weight (K, d) and bias (K,) of logit_k = c (g . m_k - |m_k|^2 / 2), for items g (n, d) and clusters (n,).

    m_k is the mean of a cluster or, `by_angle`, its direction. c is such that the nearest prototype stands out by
    `SHARPNESS` from the mean of the others. Outputs without a cluster start far below.

    >>> g, partition = torch.tensor([[0.0, 0.0], [0.0, 1.0], [4.0, 0.0]]), torch.tensor([0, 0, 1])
    >>> weight, bias = prototype_layer(g, partition, 3)
    >>> (g @ weight.T + bias).argmax(1).tolist()
    [0, 0, 1]
    """
    n_clusters = int(partition.max()) + 1
    g = g.float()
    sizes = torch.bincount(partition, minlength=n_clusters)
    means = torch.zeros(n_clusters, g.shape[1]).index_add_(0, partition, g) / sizes.clamp_min(1)[:, None]
    if by_angle:
        means = normalize(means, dim=1)
    logits = g @ means.T - means.square().sum(1) / 2  # (n, clusters)
    own = logits.gather(1, partition[:, None]).mean()
    others = (logits.sum() - own * len(g)) / max(1, len(g) * (n_clusters - 1))
    sharpness = SHARPNESS / (own - others).clamp_min(1e-6)
    weight, bias = torch.zeros(n_outputs, g.shape[1]), torch.empty(n_outputs)
    weight[:n_clusters] = sharpness * means
    offset = -sharpness * means.square().sum(1) / 2
    bias.fill_(float(offset.min() - 2 * SHARPNESS))
    bias[:n_clusters] = torch.where(sizes > 0, offset, bias[:n_clusters])
    return weight, bias


@torch.no_grad()
def start_at_prototypes(network: Linear, items: Tensor, partition: Tensor) -> None:
    """Initialise a linear network with the weights that put items in the nearest cluster; random ones grow slowly."""
    weight, bias = prototype_layer(items, partition, network.last.out_features)
    network.last.weight.copy_(weight)
    network.last.bias.copy_(bias)


@torch.no_grad()
def prototype_classifier(seen: EmbeddedItems, partition: Tensor, n_outputs: int) -> nn.Module:
    """A copy of the backbone with a new last layer: an item is of the cluster whose prototype m_k is nearest.

        logit_k = c (g . m_k - |m_k|^2 / 2),    g = A f + a

    for features f (n, d) and clusters of the partition (n,), as `prototype_layer` has it. g is what the similarity
    compares: the features, or where it compares angles their embedding, whose length is taken as that of the average
    item. A and a go into the one layer.
    """
    if not isinstance(getattr(seen.module.backbone, "last", None), nn.Linear):
        raise InputError(
            f"A classifier is made of {type(seen.module.backbone).__name__} by replacing its last layer; give a "
            "backbone that has it as `last`, an nn.Linear."
        )
    head = seen.module.head
    by_angle = isinstance(head, CosineHead)
    weight, bias = prototype_layer(seen.embedding, partition, n_outputs, by_angle=by_angle)
    if isinstance(head, CosineHead):
        length = head.first(seen.features).norm(dim=-1).mean()
        weight, bias = weight @ head.first.weight / length, bias + weight @ head.first.bias / length
    network = copy.deepcopy(seen.module.backbone)
    network.last = nn.Linear(weight.shape[1], n_outputs)
    network.last.weight.copy_(weight)
    network.last.bias.copy_(bias)
    return network


@torch.no_grad()
def mean_probabilities(network: nn.Module, pile: NetworkInputs, views: int, seed: int = 0) -> Tensor:
    """The mean softmax (n, K) over the items as they are and `views` - 1 augmented views of each.

    It is firmer than that of one view: for drawings of characters this was measured to be worth several points.
    """
    draw = generator(seed, AUGMENT, 0)
    total = torch.zeros(())
    for view in range(views):
        seen = pile.inputs if view == 0 or pile.augment is None else pile.augment(pile.inputs, draw)
        total = total + predict_logits(network, seen, mean=pile.mean, std=pile.std).softmax(1)
    return total / views


def learn_consensus(
    network: nn.Module,
    pile: NetworkInputs,
    opinions: Tensor,  # int64 (n, R): the cluster of each item in each of R partitions
    settings: Settings,
    *,
    run: Path | None = None,
    config: Mapping[str, object] | None = None,
    progress: bool | str = True,
    on_epoch: OnEpoch | None = None,
) -> TrainingResult:
    """MCL over the pairs of each batch, in which every item is seen twice; the partitions say how alike two are."""
    n = len(pile.inputs)
    batches = TensorBatches(
        pile.inputs,
        torch.full((n,), -1),
        settings.batch_size,
        mean=pile.mean,
        std=pile.std,
        augment=pile.augment,
        order=EpochOrder(n, settings.batch_size, settings.seed, views=2),
    )
    objective = consensus_objective(opinions, MCL())
    return train(network, batches, objective, settings, run=run, config=config, progress=progress, on_epoch=on_epoch)
