"""Some of what a classifier was told, kept with the items, so that later increments do not make it forget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from likewise.pairs import Pairs

REMEMBERED = 2000  # labels, and as many answers

Kind = Literal["labels", "answers"]


@dataclass(frozen=True)
class Told:
    """Labels, about an item each, or answers, about two."""

    inputs: Tensor  # the items, or what stands for them
    index: NDArray[np.int64]  # (m, 1) or (m, 2) positions in the inputs
    said: NDArray[Any]  # (m,) labels, or the probability of "same"
    weight: NDArray[np.float32]  # (m,)

    @classmethod
    def of_answers(cls, inputs: Tensor, pairs: Pairs) -> Told:
        return cls(inputs, np.stack([pairs.left, pairs.right], axis=1), pairs.same, pairs.weight)

    @classmethod
    def of_labels(cls, inputs: Tensor, labels: NDArray[Any], weight: NDArray[np.float32] | None) -> Told:
        weight = np.ones(len(labels), dtype=np.float32) if weight is None else weight
        return cls(inputs, np.arange(len(labels))[:, None], labels, weight)

    @property
    def kind(self) -> Kind:
        return "labels" if self.index.shape[1] == 1 else "answers"

    @property
    def pairs(self) -> Pairs:
        """The answers, about the inputs."""
        return Pairs.from_arrays(self.index, self.said, self.weight).index(len(self.inputs))

    def select(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Told:
        """Some labels or answers, with the items that they are about and no others."""
        items, places = np.unique(self.index[rows], return_inverse=True)
        inputs = self.inputs[torch.from_numpy(items)]
        return Told(inputs, places.reshape(self.index[rows].shape), self.said[rows], self.weight[rows])

    def join(self, later: Told) -> Told:
        """These and later ones, whose items come after."""
        return Told(
            torch.cat([self.inputs, later.inputs]),
            np.concatenate([self.index, later.index + len(self.inputs)]),
            np.concatenate([self.said, later.said]),
            np.concatenate([self.weight, later.weight]),
        )


@dataclass(frozen=True)
class Memory:
    """A random sample of all that was told, with as many labels of each class, or answers of each kind."""

    told: Told
    priority: NDArray[np.float64]  # (m,) drawn once for each; the lowest stay, so that early and late ones are alike

    @classmethod
    def of(cls, told: Told, seed: int, before: Memory | None = None) -> Memory:
        priority = np.random.default_rng(seed).random(len(told.said))
        if before is not None:
            told, priority = before.told.join(told), np.concatenate([before.priority, priority])
        order = np.argsort(priority)
        kinds = np.unique(told.said[order], return_inverse=True)[1]
        rank = np.empty(len(order), dtype=np.int64)  # of each among its kind
        for kind in np.unique(kinds):
            rank[kinds == kind] = np.arange(np.sum(kinds == kind))
        kept = np.sort(order[np.argsort(rank, kind="stable")[:REMEMBERED]])
        return cls(told.select(kept), priority[kept])
