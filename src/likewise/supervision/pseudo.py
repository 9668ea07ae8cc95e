"""Pseudo-similarity (section 4.3 of the paper): S comes from the network that is being trained.

    S(i, j) = 1 where s_hat(i, j) > 0.5, or where i and j are two views of one item, else 0

No gradient flows through S. With the views of an item averaged, s_hat is firmer than that of either view, and all views
of two items have one answer.
"""

from __future__ import annotations

import torch
from torch import Tensor


def pseudo_similarity(logits: Tensor, index: Tensor, *, averaged: bool = True) -> Tensor:
    """The (b, b) target of a batch in which `index` (b,) says which rows are views of one item.

    Without `averaged`, s_hat is that of the two views at hand, as in the paper.

    >>> sure = torch.tensor([[9.0, 0.0], [0.0, 9.0], [9.0, 0.0]])
    >>> pseudo_similarity(sure, torch.tensor([3, 5, 7]))
    tensor([[1., 0., 1.],
            [0., 1., 0.],
            [1., 0., 1.]])
    """
    index = index.to(logits.device)
    p = logits.detach().float().softmax(1)  # (b, K)
    if not averaged:
        return ((p @ p.T > 0.5) | (index[:, None] == index)).float()
    items, place = torch.unique(index, return_inverse=True)
    mean = torch.zeros(len(items), p.shape[1], device=p.device).index_add_(0, place, p)  # (items, K)
    mean /= torch.bincount(place, minlength=len(items)).unsqueeze(1)
    same = (mean @ mean.T > 0.5).float().fill_diagonal_(1)  # (items, items)
    return same[place][:, place]  # (b, b)
