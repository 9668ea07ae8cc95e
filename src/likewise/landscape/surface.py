"""A loss surface: a plane through the weights, and the losses on a grid of its points.

The plane is theta* + alpha delta + beta eta (the paper's appendix A), with random directions whose filters have the
norms of the weights' (Li et al., 2018), or with those to two other solutions. A surface is kept as an .npz file that
holds nothing but plain arrays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.stats import spearmanr
from torch import Tensor, nn

from likewise.errors import InputError
from likewise.storage.atomic_files import open_atomically
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


Floats = NDArray[np.float32]
ARRAYS = ("alpha", "beta", "losses", "values", "chance", "about", "cpu_seconds")


@dataclass(frozen=True)
class Surface:
    """f(alpha, beta) = L(theta* + alpha delta + beta eta) of one or more losses; NaN where the loss is not finite.

    >>> surface = Surface(np.array([0.0, 1.0]), np.array([0.0]), ("mcl",), np.array([[[0.5], [2.0]]]), {"mcl": 0.325})
    >>> surface["mcl"].shape, np.asarray(surface).shape
    ((2, 1), (1, 2, 1))
    """

    alpha: NDArray[np.float64]  # (A,)
    beta: NDArray[np.float64]  # (B,)
    losses: tuple[str, ...]
    values: Floats  # (losses, A, B)
    chance: Mapping[str, float]  # what each loss is where all outputs are alike
    about: Mapping[str, Any] = field(default_factory=dict)  # how it was made, as JSON has it
    cpu_seconds: float = 0.0  # that it took

    def __getitem__(self, loss: str) -> Floats:
        """The values of one loss, (A, B)."""
        if loss not in self.losses:
            raise KeyError(f"{loss!r} was not computed; there are {', '.join(self.losses)}.")
        of_loss: Floats = self.values[self.losses.index(loss)]
        return of_loss

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """All values, (losses, A, B)."""
        return np.array(self.values, dtype=dtype, copy=copy)

    def gaps(self, loss: str) -> int:
        """At how many points the loss is not finite."""
        return int((~np.isfinite(self[loss])).sum())

    def save(self, path: Path | str) -> None:
        """Write the .npz file, whole or not at all."""
        with open_atomically(Path(path)) as file:
            np.savez_compressed(
                file,
                alpha=self.alpha,
                beta=self.beta,
                losses=np.array(self.losses),
                values=self.values,
                chance=np.array([self.chance[loss] for loss in self.losses]),
                about=np.array(json.dumps(self.about, ensure_ascii=False)),
                cpu_seconds=np.array(self.cpu_seconds),
            )

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read what `save` wrote; nothing is unpickled."""
        try:
            with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                alpha, beta, names, values, levels, about, cpu_seconds = (file[name] for name in ARRAYS)
            losses = tuple(names.tolist())
            chance = dict(zip(losses, levels.tolist(), strict=True))
            return cls(alpha, beta, losses, values, chance, json.loads(str(about)), float(cpu_seconds))
        except FileNotFoundError as error:
            raise InputError(f"{path} does not exist; give the .npz file of a surface.") from error
        except Exception as error:  # NumPy's reader raises whatever it meets: OSError, KeyError, BadZipFile, ...
            raise InputError(f"{path} is not a surface that Likewise wrote ({error}); compute it again.") from error


# What the pictures show, as numbers: how wide the low region is, and how alike two surfaces are.
def share_below(values: ArrayLike, level: float) -> float:
    """The share of all points at which the loss is below a level; a gap is not below.

    >>> share_below([[0.1, 0.4], [0.9, np.nan]], level=0.5)
    0.5
    """
    array = np.asarray(values)
    return float(np.mean(np.less(array, level, where=np.isfinite(array), out=np.zeros(array.shape, dtype=np.bool_))))


def finite_range(values: ArrayLike) -> tuple[float, float]:
    """The lowest and the highest finite value; NaN where there is none.

    >>> finite_range([[0.5, np.nan], [2.0, 1.0]])
    (0.5, 2.0)
    """
    array = np.asarray(values)
    finite = array[np.isfinite(array)]
    return (float(finite.min()), float(finite.max())) if finite.size else (float("nan"), float("nan"))


def rank_correlation(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's rank correlation over the points at which both are finite; NaN where one of them is constant.

    It asks only whether the two rise and fall together, and so needs no common unit.

    >>> round(rank_correlation([1, 2, 3, np.nan], [1, 10, 100, 0]), 6)
    1.0
    """
    left, right = np.asarray(first, dtype=np.float64).ravel(), np.asarray(second, dtype=np.float64).ravel()
    if left.shape != right.shape:
        raise InputError(f"Surfaces of {left.size} and {right.size} points cannot be compared; use one grid for both.")
    both = np.isfinite(left) & np.isfinite(right)
    left, right = left[both], right[both]
    if left.size < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return float("nan")
    return float(spearmanr(left, right).statistic)
