"""The networks of the paper, and two that also take feature vectors, by name.

Each has ``features(x)``, a ``last`` linear layer, and ``n_features``.
"""

from __future__ import annotations

import torch

from likewise.errors import InputError
from likewise.networks.architectures import BLOCKS, BOTTLENECK, MLP, STAGES, VGG, LeNet, Linear, PreActResNet
from likewise.networks.heads import CosineHead, PairHead
from likewise.networks.similarity import BATCH_NORMS, SimilarityModule, predicting

__all__ = [
    "BATCH_NORMS",
    "MLP",
    "NAMES",
    "VGG",
    "CosineHead",
    "LeNet",
    "Linear",
    "Network",
    "PairHead",
    "PreActResNet",
    "SimilarityModule",
    "build",
    "predicting",
]

Network = LeNet | VGG | PreActResNet | MLP | Linear
NAMES: tuple[str, ...] = ("lenet", *STAGES, *BLOCKS, "mlp", "linear")

# The smallest side that leaves one pixel after the poolings; the residual networks, whose strides round up, take any.
_SMALLEST_SIDE = {"lenet": 4} | {name: 2 ** len(stages) for name, stages in STAGES.items()}


def build(name: str, n_classes: int, input_shape: tuple[int, ...], *, seed: int | None = None) -> Network:
    """A freshly initialised network for inputs of shape (channels, height, width).

    ``mlp`` and ``linear`` also take (features,).
    With a seed the weights depend on it alone, and torch's own random state is left as it was.

    >>> network = build("lenet", n_classes=10, input_shape=(1, 8, 8))
    >>> images = torch.zeros(3, 1, 8, 8)
    >>> network(images).shape, network.features(images).shape, network.last
    (torch.Size([3, 10]), torch.Size([3, 500]), Linear(in_features=500, out_features=10, bias=True))
    """
    if name not in NAMES:
        raise InputError(f"There is no network named {name!r}; choose one of {', '.join(NAMES)}.")
    if n_classes < 1:
        raise InputError(f"n_classes must be at least 1, got {n_classes}.")
    if len(input_shape) not in (1, 3) or min(input_shape) < 1:
        raise InputError(
            f"input_shape must be (channels, height, width) or (features,), all positive, got {tuple(input_shape)}."
        )
    if seed is not None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return build(name, n_classes, input_shape)

    if name == "mlp":
        return MLP(n_classes, input_shape)
    if name == "linear":
        return Linear(n_classes, input_shape)
    if len(input_shape) != 3:
        raise InputError(
            f"{name} takes images, but the items are vectors of {input_shape[0]} features; use mlp or linear."
        )
    channels, height, width = input_shape
    smallest = _SMALLEST_SIDE.get(name, 1)
    if min(height, width) < smallest:
        fitting = "lenet" if min(height, width) >= _SMALLEST_SIDE["lenet"] else "mlp"
        raise InputError(
            f"{name} needs images of at least {smallest}x{smallest} pixels, but these are {height}x{width}; "
            f"use {fitting}, or enlarge the images."
        )
    shape = (channels, height, width)
    if name == "lenet":
        return LeNet(n_classes, shape)
    if name in STAGES:
        return VGG(n_classes, shape, STAGES[name], hidden_layer=name == "omniglot")
    return PreActResNet(n_classes, shape, BLOCKS[name], bottleneck=name in BOTTLENECK)
