"""Train a similarity network on labelled classes, and embed a pile of other items with it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor, nn

from likewise.datasets import normalise
from likewise.networks import BATCH_NORMS, CosineHead, SimilarityModule
from likewise.supervision import contrastive_objective, similarity_objective
from likewise.training.batches import TensorBatches, channels_last
from likewise.training.inputs import NetworkInputs, evaluating
from likewise.training.loop import OnEpoch, TrainingResult, train
from likewise.training.orders import ClassOrder
from likewise.training.randomness import AUGMENT, ORDER, generator
from likewise.training.settings import Settings

CHUNK = 500  # items that are looked at together; batch-norm's statistics need some hundred


def train_similarity(
    network: SimilarityModule,
    known: NetworkInputs,
    labels: Tensor,  # int64 (n,), -1 where unknown
    settings: Settings,  # batch_size: of which `items` are of each class
    *,
    items: int = 4,
    least_steps: int = 1,  # of an epoch, where there are few labels
    run: Path | None = None,
    config: Mapping[str, object] | None = None,
    progress: bool | str = True,
    on_epoch: OnEpoch | None = None,
) -> TrainingResult:
    """Learn what "same" means: by contrast where the head compares angles, else pair by pair."""
    classes = max(2, settings.batch_size // items)
    order = ClassOrder(labels, classes=classes, items=items, seed=settings.seed, least_steps=least_steps)
    batches = TensorBatches(
        known.inputs,
        labels,
        settings.batch_size,
        mean=known.mean,
        std=known.std,
        augment=known.augment,
        order=order,
    )
    objective = contrastive_objective() if isinstance(network.head, CosineHead) else similarity_objective()
    return train(network, batches, objective, settings, run=run, config=config, progress=progress, on_epoch=on_epoch)


def quarter_turns(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Images (n, C, S, S) and the same turned by 90, 180 and 270 degrees; each turn of a class is a separate class.

    >>> turned, labels = quarter_turns(torch.arange(4).view(1, 1, 2, 2), torch.tensor([0]))
    >>> turned[1].tolist(), labels.tolist()
    ([[[1, 3], [0, 2]]], [0, 1, 2, 3])
    """
    n_classes = int(labels.max()) + 1
    turns = [torch.rot90(images, turn, (2, 3)) for turn in range(4)]
    return torch.cat(turns), torch.cat(
        [torch.where(labels < 0, labels, labels + turn * n_classes) for turn in range(4)]
    )


@torch.no_grad()
def adapted(network: SimilarityModule, pile: NetworkInputs, seed: int = 0) -> SimilarityModule:
    """A copy whose batch-norms have the statistics of the pile, which is of other classes than those in training."""
    network = copy.deepcopy(network)
    norms = [module for module in network.modules() if isinstance(module, BATCH_NORMS)]
    momentum = [norm.momentum for norm in norms]
    if len(pile.inputs) < 2:
        return network
    with evaluating(network):
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the mean over all batches
            norm.train()
        order = torch.randperm(len(pile.inputs), generator=generator(seed, ORDER, 0))
        for chunk in order.tensor_split(max(1, round(len(order) / CHUNK))):
            network(_inputs(pile, pile.inputs[chunk], network))
    for norm, value in zip(norms, momentum, strict=True):
        norm.momentum = value
    return network


@dataclass(frozen=True)
class EmbeddedItems:
    """Items, embedded by a similarity network."""

    module: SimilarityModule
    features: Tensor  # (views, n, d) of the backbone

    @cached_property
    def embedding(self) -> Tensor:
        """(n, d) what is compared, of length 1, where the head compares angles; else the mean features of the views."""
        if not isinstance(self.module.head, CosineHead):
            return self.features.mean(0)
        with torch.no_grad():
            return self.module.halves(self.features)[0]

    def probability(self, rows: Tensor | None = None) -> Tensor:
        """That two are the same, for all pairs of the items, or of some of them, (n, n)."""
        return self.module.predict_similarity(self.features if rows is None else self.features[:, rows])


@torch.no_grad()
def embed_items(
    network: SimilarityModule, pile: NetworkInputs, *, views: int = 1, adapt: bool = True, seed: int = 0
) -> EmbeddedItems:
    """Embed the items and `views` - 1 augmented views of each; with `adapt`, batch-norm uses their statistics."""
    network = adapted(network, pile, seed) if adapt else network
    draw = generator(seed, AUGMENT, 0)
    out = []
    with evaluating(network):
        for view in range(views):
            parts = []
            for some in torch.split(pile.inputs, CHUNK):
                seen = some if view == 0 or pile.augment is None else pile.augment(some, draw)
                parts.append(network.features(_inputs(pile, seen, network)).float().cpu())
            out.append(torch.cat(parts))
    on_cpu = network if next(network.parameters()).device.type == "cpu" else copy.deepcopy(network).cpu()
    return EmbeddedItems(on_cpu, torch.stack(out))


def _inputs(pile: NetworkInputs, items: Tensor, network: nn.Module) -> Tensor:
    return channels_last(normalise(items, pile.mean, pile.std)).to(next(network.parameters()).device)
