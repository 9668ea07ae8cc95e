"""Directions in the space of weights: random ones, scaled filter by filter, and those from one solution to another."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from likewise.errors import InputError
from likewise.landscape.plane import Plane, Weights, is_statistic
from likewise.training.randomness import generator

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


def _difference(there: Weights, here: Weights) -> dict[str, Tensor]:
    return {name: there[name] - here[name] for name in here}
