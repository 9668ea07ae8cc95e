"""Items as the input of a network: normalised, augmented and in views; and its outputs for them, a batch at a time."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from likewise.datasets import Augmentation, normalise
from likewise.training.batches import Augment, Order, TensorBatches, channels_last

NEIGHBOURS, MEASURED = 10_000, 1000  # items that may be a neighbour, and whose neighbours are looked for
MOST_NUMBERS = 2**24  # of them in memory


@dataclass(frozen=True)
class NetworkInputs:
    """Items and how they become inputs of the network."""

    inputs: Tensor  # uint8 (n, C, H, W) or float (n, d), or what stands for it, such as `ArrayOnDisk`
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    augment: Augment | None = None
    views: Tensor | None = None  # of each item, (v, n, ...), beside the item itself

    def with_gentler_views(self) -> NetworkInputs:
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


def predict_logits(
    network: nn.Module,
    inputs: Tensor,  # uint8 (n, C, H, W) or float (n, d)
    *,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
    rows: Tensor | None = None,
    batch_size: int = 1000,
    device: torch.device | str | None = None,
) -> Tensor:
    """The logits of every item, float32 (n, K) on the CPU, in evaluation mode; `device` defaults to the network's.

    With `rows`, those of these items. The inputs may be on disk: a batch of them is in memory at a time. For a device
    that the network is not on, it is copied there.

    >>> predict_logits(torch.nn.Identity(), torch.tensor([[1.0, 2.0]]))
    tensor([[1., 2.]])
    """
    if device is None:
        parameter = next(network.parameters(), None)
        device = torch.device("cpu") if parameter is None else parameter.device
    elif any(part.device != torch.device(device) for part in (*network.parameters(), *network.buffers())):
        network = copy.deepcopy(network).to(device)
    n = len(inputs if rows is None else rows)
    logits = torch.empty(0, 0)
    with evaluating(network), torch.no_grad():  # not inference mode: autograd is to accept the logits
        for start in range(0, max(n, 1), batch_size):
            some = slice(start, start + batch_size)
            batch = normalise(inputs[some if rows is None else rows[some]], tuple(mean), tuple(std))
            out = network(channels_last(batch).to(device))
            if start == 0:  # one place for all: a small tensor kept of each batch would break the memory into pieces
                logits = torch.empty(n, *out.shape[1:], dtype=torch.float32, device="cpu")
            logits[some] = out
    return logits


def features_of(network: nn.Module) -> nn.Module:
    """The part of a network below its last layer, flat; the network itself where it names no features.

    >>> from likewise.networks import build
    >>> features_of(build("lenet", 10, (1, 8, 8)))(torch.zeros(2, 1, 8, 8)).shape
    torch.Size([2, 500])
    """
    return _Features(network) if callable(getattr(network, "features", None)) else network


class _Features(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: Tensor) -> Tensor:
        features: Tensor = self.network.features(inputs)  # type: ignore[operator]
        return features.flatten(1)


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """The network in evaluation mode, and every part of it in its own mode again afterwards."""
    with modes_kept(network):
        network.eval()
        yield


@contextmanager
def modes_kept(network: nn.Module) -> Iterator[None]:
    modes = [(module, module.training) for module in network.modules()]
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
