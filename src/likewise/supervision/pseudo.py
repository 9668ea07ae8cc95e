"""Pseudo-similarity (section 4.3 of the paper): S comes from the network that is being trained.

    S(i, j) = 1 where s_hat(i, j) > 0.5, or where i and j are two views of one item, else 0

No gradient flows through S. With the views of an item averaged, s_hat is firmer than that of either view, and all views
of two items have one answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from likewise.criteria import TableTile


@dataclass(frozen=True, slots=True)
class PseudoSimilarity:
    """The target of a batch, a tile at a time."""

    p: Tensor  # (b, K)
    item: Tensor  # (b,) as float32, see `item_numbers`

    certain = True

    def tile(self, rows: slice, columns: slice) -> TableTile:
        same = self.p[rows] @ self.p[columns].T > 0.5
        same |= self.item[rows, None] == self.item[columns]
        return TableTile(~same, None)


def pseudo_similarity(logits: Tensor, index: Tensor, *, averaged: bool = True) -> PseudoSimilarity:
    """The target of a batch in which `index` (b,) says which rows are views of one item.

    Without `averaged`, s_hat is that of the two views of the batch, as in the paper.

    >>> sure = torch.tensor([[9.0, 0.0], [0.0, 9.0], [9.0, 0.0]])
    >>> pseudo_similarity(sure, torch.tensor([3, 5, 7])).tile(slice(0, 1), slice(0, 3)).different
    tensor([[False,  True, False]])
    """
    index = index.to(logits.device)
    p = logits.detach().float().softmax(1)  # (b, K)
    if averaged:
        items, place = torch.unique(index, return_inverse=True)
        mean = torch.zeros(len(items), p.shape[1], device=p.device).index_add_(0, place, p)  # (items, K)
        mean /= torch.bincount(place, minlength=len(items)).unsqueeze(1)
        p = mean[place]
    return PseudoSimilarity(p, item_numbers(index))


def item_numbers(index: Tensor) -> Tensor:
    """Items numbered from 0 as float32, which compare several times faster than int64. (b,)"""
    place: Tensor = torch.unique(index, return_inverse=True)[1]
    return place.float()
