"""Feature vectors brought to length 1, in memory or as they are read from disk."""

from __future__ import annotations

import torch
from torch import Tensor

from likewise.datasets.array_on_disk import ArrayOnDisk

SMALLEST = torch.finfo(torch.float32).tiny


def to_unit_length(features: Tensor) -> Tensor:
    """Each row (d,) divided by its Euclidean length; a row of zeros stays as it is.

    >>> to_unit_length(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    scaled = features / features.abs().amax(1, keepdim=True).clamp_min(SMALLEST)  # whose squares cannot overflow
    rows: Tensor = scaled / torch.linalg.vector_norm(scaled, dim=1, keepdim=True).clamp_min(SMALLEST)
    return rows


class UnitLengthOnDisk:
    """The rows of an `ArrayOnDisk` of features, each brought to length 1 when it is read."""

    def __init__(self, array: ArrayOnDisk) -> None:
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, torch.float32, array.ndim

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        return to_unit_length(self.array[index].float())
