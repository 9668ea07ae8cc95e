"""A loss surface: the losses on a grid, with its axes, and as an .npz file that holds nothing but plain arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.stats import spearmanr

from likewise.errors import InputError
from likewise.storage.atomic_files import open_atomically

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
    """Spearman's, over the points at which both are finite; NaN where one of them is the same everywhere.

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
