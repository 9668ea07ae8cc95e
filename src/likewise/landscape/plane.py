"""A plane through the weights, theta* + alpha delta + beta eta (the paper's appendix A), and its directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from likewise.errors import InputError
from likewise.training.randomness import generator

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


# Directions in the space of weights: random ones, scaled filter by filter, and those from one solution to another.

Biases = Literal["left-out", "normalised"]


def random_plane(centre: Weights, *, seed: int = 0, biases: Biases = "left-out") -> Plane:
    """The plane of two random directions."""
    return Plane(centre, *(random_direction(centre, seed, which, biases) for which in (0, 1)))


def mutual_plane(centre: Weights, second: Weights, third: Weights) -> Plane:
    """The plane through three solutions: the second is at (1, 0), the third at (0, 1)."""
    return Plane(centre, _difference(second, centre), _difference(third, centre))


def random_direction(weights: Weights, seed: int, which: int = 0, biases: Biases = "left-out") -> dict[str, Tensor]:
    """Gaussian numbers in which each filter has the norm of the trained one (Li et al., 2018).

    A filter is all that leads to one output of a layer. Vectors (biases, and batch-norm's weights) are left out, so
    that they stay as they are, or each is scaled as a whole; batch-norm's statistics are no weights and stay.

    >>> filters = {"w": torch.tensor([[3.0, 4.0], [0.0, 0.0]]), "b": torch.tensor([1.0, 2.0])}
    >>> direction = random_direction(filters, seed=0)
    >>> direction["w"].norm(dim=1), direction["b"]
    (tensor([5., 0.]), tensor([0., 0.]))
    """
    if biases not in get_args(Biases):
        raise InputError(f"biases must be {' or '.join(get_args(Biases))}, got {biases!r}.")
    random = generator(seed, which)
    direction = {}
    for name, weight in weights.items():
        drawn = torch.randn(weight.shape, generator=random)
        if is_statistic(name) or (weight.ndim < 2 and biases == "left-out"):
            direction[name] = torch.zeros_like(weight)
        else:
            filters = (1, -1) if weight.ndim < 2 else (len(weight), -1)
            norms = weight.reshape(filters).norm(dim=1, keepdim=True)
            unit = torch.nn.functional.normalize(drawn.reshape(filters), dim=1)
            direction[name] = (norms * unit).reshape(weight.shape)
    return direction


def _difference(to: Weights, origin: Weights) -> dict[str, Tensor]:
    return {name: to[name] - origin[name] for name in origin}
