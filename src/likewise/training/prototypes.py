"""A last layer that puts items where the nearest prototype of a partition is."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

SHARPNESS = 15.0  # by which a prototype's output stands out at the start, in logits


@torch.no_grad()
def prototype_layer(g: Tensor, partition: Tensor, n_outputs: int, *, by_angle: bool = False) -> tuple[Tensor, Tensor]:
    """The weight (K, d) and bias (K,) of logit_k = c (g . m_k - |m_k|^2 / 2), for items g (n, d) and clusters (n,).

    m_k is the mean of a cluster or, `by_angle`, its direction. c is such that the nearest prototype stands out by
    `SHARPNESS` from the mean of the others. Outputs without a cluster start far below.

    >>> g, partition = torch.tensor([[0.0, 0.0], [0.0, 1.0], [4.0, 0.0]]), torch.tensor([0, 0, 1])
    >>> weight, bias = prototype_layer(g, partition, 3)
    >>> (g @ weight.T + bias).argmax(1).tolist()
    [0, 0, 1]
    """
    n_clusters = int(partition.max()) + 1
    g = g.float()
    sizes = torch.bincount(partition, minlength=n_clusters)
    means = torch.zeros(n_clusters, g.shape[1]).index_add_(0, partition, g) / sizes.clamp_min(1)[:, None]
    if by_angle:
        means = normalize(means, dim=1)
    logits = g @ means.T - means.square().sum(1) / 2  # (n, clusters)
    own = logits.gather(1, partition[:, None]).mean()
    others = (logits.sum() - own * len(g)) / max(1, len(g) * (n_clusters - 1))
    sharpness = SHARPNESS / (own - others).clamp_min(1e-6)
    weight, bias = torch.zeros(n_outputs, g.shape[1]), torch.empty(n_outputs)
    weight[:n_clusters] = sharpness * means
    found = -sharpness * means.square().sum(1) / 2
    bias.fill_(float(found.min() - 2 * SHARPNESS))
    bias[:n_clusters] = torch.where(sizes > 0, found, bias[:n_clusters])
    return weight, bias
