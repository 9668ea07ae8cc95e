"""From a partition of a pile to a classifier: MCL on same or different cluster, from the similarity's backbone."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from likewise.criteria import MCL
from likewise.supervision import label_objective
from likewise.training.answers import Pile
from likewise.training.batches import TensorBatches
from likewise.training.loop import TrainingResult, train
from likewise.training.predict import predict_logits
from likewise.training.randomness import AUGMENT, generator
from likewise.training.settings import Settings

SHARPNESS = 15.0  # by which a prototype's output stands out at the start, in logits


def prototype_classifier(backbone: nn.Module, features: Tensor, partition: Tensor, n_outputs: int) -> nn.Module:
    """A copy of the backbone with a new last layer: an item is of the cluster whose mean is nearest.

        logit_k = c (f . m_k - |m_k|^2 / 2)  =  c (|f|^2 - |f - m_k|^2) / 2

    for features f (n, d) of the items and their means m_k over each cluster of the partition (n,). c is such that the
    nearest stands out by `SHARPNESS` from the mean of the others. Outputs without a cluster start far below.
    """
    n_clusters = int(partition.max()) + 1
    means = torch.zeros(n_clusters, features.shape[1]).index_add_(0, partition, features.float())
    means /= torch.bincount(partition, minlength=n_clusters).clamp_min(1)[:, None]
    apart = torch.cdist(features.float(), means).square() / 2  # (n, clusters)
    own = apart.gather(1, partition[:, None]).mean()
    others = (apart.sum() - own * len(apart)) / max(1, len(apart) * (n_clusters - 1))
    sharpness = SHARPNESS / (others - own).clamp_min(1e-6)
    network = copy.deepcopy(backbone)
    last = nn.Linear(features.shape[1], n_outputs)
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(float(-sharpness * apart.max()))
        last.weight[:n_clusters] = sharpness * means
        last.bias[:n_clusters] = -sharpness * means.square().sum(1) / 2
    network.last = last
    return network


@torch.no_grad()
def mean_probabilities(network: nn.Module, pile: Pile, views: int, seed: int = 0) -> Tensor:
    """The mean softmax (n, K) over the items as they are and `views` - 1 augmented views of each.

    It is firmer than that of one view: for drawings of characters this was measured to be worth several points.
    """
    draw = generator(seed, AUGMENT, 0)
    total = torch.zeros(())
    for view in range(views):
        seen = pile.inputs if view == 0 or pile.augment is None else pile.augment(pile.inputs, draw)
        total = total + predict_logits(network, seen, mean=pile.mean, std=pile.std).softmax(1)
    return total / views


def learn_partition(
    network: nn.Module,
    pile: Pile,
    partition: Tensor,  # int64 (n,)
    settings: Settings,
    *,
    run: Path | None = None,
    config: Mapping[str, object] | None = None,
    progress: bool = True,
) -> TrainingResult:
    """MCL over the pairs of each batch; two items are the same where the partition has them in one cluster."""
    batches = TensorBatches(
        pile.inputs,
        partition,
        settings.batch_size,
        seed=settings.seed,
        mean=pile.mean,
        std=pile.std,
        augment=pile.augment,
    )
    return train(network, batches, label_objective(MCL()), settings, run=run, config=config, progress=progress)
