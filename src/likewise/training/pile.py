"""Items and how they become inputs of a network."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from likewise.datasets import Augmentation, normalise
from likewise.training.batches import Augment, Order, TensorBatches
from likewise.training.predict import predict_logits

NEIGHBOURS, MEASURED = 10_000, 1000  # items that may be a neighbour, and whose neighbours are looked for
MOST_NUMBERS = 2**24  # of them in memory


@dataclass(frozen=True)
class Pile:
    """Items and how they become inputs of the network."""

    inputs: Tensor  # uint8 (n, C, H, W) or float (n, d), or what stands for it, such as `ArrayOnDisk`
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    augment: Augment | None = None
    views: Tensor | None = None  # of each item, (v, n, ...), beside the item itself

    def with_gentler_views(self) -> Pile:
        """The same with views of images half as far from them as in training, which are predicted better."""
        halved = self.augment.halved() if isinstance(self.augment, Augmentation) else self.augment
        return dataclasses.replace(self, augment=halved)

    def spacing(self, seed: int) -> float:
        """The median distance of an item to its third neighbour among up to 10,000, in the normalised inputs."""
        numbers = max(1, math.prod(self.inputs.shape[1:]))
        n = min(len(self.inputs), NEIGHBOURS, max(100, MOST_NUMBERS // numbers))
        chosen = np.sort(np.random.default_rng(seed).choice(len(self.inputs), n, replace=False))
        rows = normalise(self.inputs[torch.from_numpy(chosen)], self.mean, self.std).flatten(1)
        nearest = torch.cdist(rows[:MEASURED], rows).topk(min(4, n), largest=False).values  # itself among them
        return float(nearest[:, -1].median())

    def logits(self, network: nn.Module, items: np.ndarray | None = None) -> Tensor:
        rows = None if items is None else torch.from_numpy(items)
        return predict_logits(network, self.inputs, rows=rows, mean=self.mean, std=self.std)

    def batches(self, order: Order, batch_size: int, *, viewed: bool = False) -> TensorBatches:
        """Augmented batches without labels, in this order; `viewed`: any view of each item."""
        nothing = torch.full((len(self.inputs),), -1)
        return TensorBatches(
            self.inputs,
            nothing,
            batch_size,
            mean=self.mean,
            std=self.std,
            augment=self.augment,
            order=order,
            views=self.views if viewed else None,
        )
