"""A network's outputs for many items, a batch at a time, leaving the network as it was."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from likewise.datasets import normalise
from likewise.training.batches import channels_last


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
    """What gives the features below the last layer, flat, or the logits where the network names no features.

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
