"""Items a piece at a time, in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

PIECE = 1024  # rows


def in_pieces(inputs: Tensor) -> Iterator[Tensor]:
    """The rows of a tensor, or of what stands for one, at most 1024 at a time, in order.

    >>> import torch
    >>> [len(piece) for piece in in_pieces(torch.zeros(1500, 2))]
    [1024, 476]
    """
    for start in range(0, len(inputs), PIECE):
        yield inputs[start : start + PIECE]
