"""A plane through the weights, theta* + alpha delta + beta eta (the paper's appendix A)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

Weights = Mapping[str, Tensor]  # parameters and perhaps batch-norm statistics, by their names in the network


@dataclass(frozen=True)
class Plane:
    """Three sets of tensors with the same names and shapes.

    >>> plane = Plane({"w": torch.tensor([1.0])}, {"w": torch.tensor([2.0])}, {"w": torch.tensor([0.5])})
    >>> plane.at(alpha=1.0, beta=-2.0)
    {'w': tensor([2.])}
    """

    centre: Weights  # theta*
    delta: Weights
    eta: Weights

    def at(self, alpha: float, beta: float) -> dict[str, Tensor]:
        return self.along(self.row(alpha), beta)

    def row(self, alpha: float) -> dict[str, Tensor]:
        """What all points with this alpha have in common: theta* + alpha delta."""
        return {name: torch.add(self.centre[name], self.delta[name], alpha=alpha) for name in self.centre}

    def along(self, row: Weights, beta: float) -> dict[str, Tensor]:
        """The point of a row that is `beta` from its middle."""
        return {name: torch.add(row[name], self.eta[name], alpha=beta) for name in row}

    def mebibytes(self) -> float:
        """What one point takes."""
        return sum(tensor.nbytes for tensor in self.centre.values()) / 2**20


def weights_of(network: nn.Module, *, statistics: bool) -> dict[str, Tensor]:
    """The parameters, and with `statistics` what batch-norm has stored."""
    parameters = {name for name, _ in network.named_parameters()}
    return {
        name: value.detach().to("cpu", torch.float32).clone()
        for name, value in network.state_dict().items()
        if name in parameters or (statistics and is_statistic(name))
    }


def is_statistic(name: str) -> bool:
    return name.endswith((".running_mean", ".running_var"))
