"""Items and how they become inputs of a network."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from likewise.datasets import Augmentation
from likewise.training.batches import Augment, Order, TensorBatches
from likewise.training.predict import predict_logits


@dataclass(frozen=True)
class Pile:
    """Items and how they become inputs of the network."""

    inputs: Tensor  # uint8 (n, C, H, W) or float (n, d), or what stands for it, such as `ArrayOnDisk`
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    augment: Augment | None = None

    def to_be_judged(self) -> Pile:
        """The same with views of images half as far from them as in training: closer ones are judged better."""
        halved = self.augment.halved() if isinstance(self.augment, Augmentation) else self.augment
        return dataclasses.replace(self, augment=halved)

    def logits(self, network: nn.Module, items: np.ndarray | None = None) -> Tensor:
        rows = None if items is None else torch.from_numpy(items)
        return predict_logits(network, self.inputs, rows=rows, mean=self.mean, std=self.std)

    def batches(self, order: Order, batch_size: int) -> TensorBatches:
        """Augmented batches without labels, in this order."""
        nothing = torch.full((len(self.inputs),), -1)
        return TensorBatches(
            self.inputs, nothing, batch_size, mean=self.mean, std=self.std, augment=self.augment, order=order
        )
