"""What an epoch's training pass adds up: the loss, the items, and which outputs met which classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from likewise.errors import InputError
from likewise.evaluation import accuracy, match_outputs


@dataclass
class Tally:
    """Running sums of one epoch, all on the CPU; class labels are only counted here, never trained on.

    >>> tally = Tally(n_classes=2)
    >>> tally.add(0.5, torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), torch.tensor([1, 0]))
    >>> tally.loss, tally.accuracy()
    (0.5, 1.0)
    """

    n_classes: int
    loss_sum: float = 0.0
    items: int = 0
    confusion: Tensor = field(default_factory=lambda: torch.zeros(0, 0, dtype=torch.int64))  # (K, n_classes)

    def add(self, loss: float, logits: Tensor, labels: Tensor) -> None:
        self.loss_sum += loss * len(labels)
        self.items += len(labels)
        if not len(self.confusion):
            self.confusion = torch.zeros(logits.shape[1], self.n_classes, dtype=torch.int64)
        if self.n_classes:
            known = labels >= 0
            outputs, labels = logits.detach().argmax(1).cpu()[known], labels[known]
            if len(labels) and int(labels.max()) >= self.n_classes:
                raise InputError(f"Label {int(labels.max())} is outside the {self.n_classes} classes (0 is the first).")
            cells = torch.bincount(outputs * self.n_classes + labels, minlength=self.confusion.numel())
            self.confusion += cells.view_as(self.confusion)

    @property
    def loss(self) -> float:
        return self.loss_sum / self.items if self.items else math.nan

    def accuracy(self) -> float:
        """The share of known items whose output's matched class is theirs; NaN where no class is known."""
        counts: np.ndarray = self.confusion.numpy()
        return float(accuracy(counts, match_outputs(counts))) if counts.sum() else math.nan
