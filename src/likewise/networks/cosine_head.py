"""The other head of the similarity network: how alike two items are is the angle between their embeddings.

    z_i = W f_i / |W f_i|,    logit_ij = cos(z_i, z_j) / temperature

One matrix product for all pairs, and a space that clusters can be looked for in.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from likewise.errors import InputError
from likewise.networks.pair_head import at_least_float32


class CosineHead(nn.Module):
    """Logits of all pairs of two sets of features, or of one with itself, from the cosine of their embeddings.

    >>> head = CosineHead(n_features=3, hidden=8)
    >>> head(torch.randn(5, 3)).shape, head(torch.randn(5, 3), torch.randn(2, 3)).shape
    (torch.Size([5, 5]), torch.Size([5, 2]))
    """

    ordered = False  # (i, j) and (j, i) are one

    def __init__(self, n_features: int, hidden: int, temperature: float = 0.1) -> None:
        super().__init__()
        if min(n_features, hidden) < 1:
            raise InputError(f"n_features and hidden must be at least 1, got {n_features} and {hidden}.")
        self.first = nn.Linear(n_features, hidden)
        self.temperature = temperature

    def forward(self, left: Tensor, right: Tensor | None = None) -> Tensor:
        """Logits (n, m) of all pairs of `left` (n, d) and `right` (m, d); of `left` with itself without one."""
        return self.logits(*self.halves(left, right))

    def halves(self, left: Tensor, right: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The embeddings (n, H) and (m, H), each of length 1."""
        n_features = self.first.in_features
        for features in (left, right):
            if features is not None and (features.ndim != 2 or features.shape[1] != n_features):
                raise InputError(f"features must be (items, {n_features}), got {tuple(features.shape)}.")
        z = self._embed(left)
        return z, z if right is None else self._embed(right)

    def logits(self, u: Tensor, v: Tensor) -> Tensor:
        with torch.autocast(u.device.type, enabled=False):
            return (u / self.temperature) @ v.T

    def aligned(self, u: Tensor, v: Tensor) -> Tensor:
        """Logits (m,) of the pairs of a row of u and the same row of v."""
        cosine: Tensor = torch.linalg.vecdot(u, v)
        return cosine / self.temperature

    def mean(self, views: Tensor) -> Tensor:
        """One half (n, H) from those of several views (V, n, H): the mean direction."""
        return normalize(views.mean(0), dim=1)

    def _embed(self, features: Tensor) -> Tensor:
        out: Tensor = self.first(features)
        with torch.autocast(out.device.type, enabled=False):
            return normalize(out.to(at_least_float32(out.dtype)), dim=1)
