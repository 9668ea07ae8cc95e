"""The heads of the similarity network: one logit for every pair of two sets of features, without forming the pairs.

The plain form puts the features of a pair end to end and applies linear, batch-norm, ReLU, linear. With the first
weight W = [A B] and hidden units h,

    W [f_i ; f_j] = A f_i + B f_j                                    two products of b rows, and not one of b^2
    mean = mean(A f) + mean(B f),   var = var(A f) + var(B f)        over all pairs, because every i meets every j
    z_ij = sum_h w_h relu(u_ih + v_jh) + bias                        u, v: the two halves, normalised

are the same numbers. What is left for each pair, the last line, is computed in tiles that fit the processor's cache,
once for the value and once more for the gradient, in memory O((n + m) H + n m).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, normalize

from likewise.errors import InputError

TILE = 2**19  # numbers in a tile: 2 MiB, measured best or near it from 256 to 4,096 hidden units


class PairHead(nn.Module):
    """Linear, batch-norm, ReLU and linear on [f_i ; f_j] for every i of one set and every j of another (or the same).

    The first layer has no bias, which batch-norm would subtract again. The last has one output, the logit of "same": a
    softmax over two outputs is the sigmoid of their difference.

    >>> head = PairHead(n_features=3, hidden=8)
    >>> head(torch.randn(5, 3)).shape, head(torch.randn(5, 3), torch.randn(2, 3)).shape
    (torch.Size([5, 5]), torch.Size([5, 2]))
    """

    ordered = True  # (i, j) and (j, i) are two

    def __init__(self, n_features: int, hidden: int) -> None:
        super().__init__()
        if min(n_features, hidden) < 1:
            raise InputError(f"n_features and hidden must be at least 1, got {n_features} and {hidden}.")
        self.first = nn.Linear(2 * n_features, hidden, bias=False)
        self.norm = nn.BatchNorm1d(hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, left: Tensor, right: Tensor | None = None) -> Tensor:
        """Logits (n, m) of all ordered pairs of `left` (n, d) and `right` (m, d); of `left` with itself without one."""
        return self.logits(*self.halves(left, right))

    def halves(self, left: Tensor, right: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """What each item brings to its pairs, u (n, H) and v (m, H): batch-norm gives u_i + v_j for the pair (i, j).

        In training mode the statistics are those of all n m pairs, and the running ones follow them as
        `nn.BatchNorm1d` has it for as many rows. (It refuses a single row; here one pair normalises to zero, and the
        running statistics stay, because one number has no variance.)
        """
        n_features = self.first.in_features // 2
        for features in (left, right):
            if features is not None and (features.ndim != 2 or features.shape[1] != n_features):
                raise InputError(f"features must be (items, {n_features}), got {tuple(features.shape)}.")
        weight = self.first.weight  # (H, 2 d): a row is A_h and then B_h
        if right is None:
            both = linear(left, weight.view(-1, n_features))  # (n, 2 H): the units of A and B in turns
            a, b = both.view(len(left), self.first.out_features, 2).unbind(2)
        else:
            a, b = linear(left, weight[:, :n_features]), linear(right, weight[:, n_features:])
        with torch.autocast(left.device.type, enabled=False):
            return self._normalise(a.to(at_least_float32(a.dtype)), b.to(at_least_float32(b.dtype)))

    def logits(self, u: Tensor, v: Tensor) -> Tensor:
        """Logits (n, m) from the halves u (n, H) and v (m, H)."""
        with torch.autocast(u.device.type, enabled=False):
            dots: Tensor = _ReluDots.apply(u, v, self.last.weight[0].to(u.dtype))  # type: ignore[no-untyped-call]
            return dots + self.last.bias.to(u.dtype)

    def aligned(self, u: Tensor, v: Tensor) -> Tensor:
        """Logits (m,) of the pairs of a row of u and the same row of v."""
        return (u + v).relu_() @ self.last.weight[0].to(u.dtype) + self.last.bias.to(u.dtype)

    def mean(self, views: Tensor) -> Tensor:
        """One half (n, H) from those of several views (V, n, H)."""
        return views.mean(0)

    def _normalise(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        norm = self.norm
        if norm.training or norm.running_mean is None or norm.running_var is None:
            var_a, mean_a = torch.var_mean(a, 0, correction=0)
            var_b, mean_b = torch.var_mean(b, 0, correction=0)
            var = var_a + var_b
            if norm.training and norm.track_running_stats:
                self._follow((mean_a + mean_b).detach(), var.detach(), len(a) * len(b))
        else:
            mean_a, var = norm.running_mean, norm.running_var.to(a.dtype)
            mean_b = torch.zeros_like(mean_a)
        scale = norm.weight * torch.rsqrt(var + norm.eps)
        return torch.addcmul(norm.bias, a - mean_a, scale), (b - mean_b) * scale

    @torch.no_grad()
    def _follow(self, mean: Tensor, var: Tensor, n_pairs: int) -> None:
        """Move the running statistics towards those of a batch, the variance without its bias."""
        norm = self.norm
        assert norm.running_mean is not None
        assert norm.running_var is not None
        assert norm.num_batches_tracked is not None
        if n_pairs < 2:
            return
        norm.num_batches_tracked += 1
        share = 1 / float(norm.num_batches_tracked) if norm.momentum is None else norm.momentum
        norm.running_mean.lerp_(mean.to(norm.running_mean.dtype), share)
        norm.running_var.lerp_((var * (n_pairs / (n_pairs - 1))).to(norm.running_var.dtype), share)


def at_least_float32(dtype: torch.dtype) -> torch.dtype:
    """Statistics and sums over thousands of hidden units do not survive in 16 bits."""
    return torch.promote_types(dtype, torch.float32)


class _ReluDots(torch.autograd.Function):
    """z_ij = sum_h w_h relu(u_ih + v_jh) and its gradient.

    relu(u + v) = max(v, -u) + u leaves a maximum and a matrix-vector product for each pair. The gradient is made of
    two masked sums, with m_ijh = 1 where v_jh > -u_ih and g the gradient with respect to z:

        p_ih = sum_j g_ij m_ijh,    q_jh = sum_i g_ij m_ijh
        du_ih = w_h p_ih,    dv_jh = w_h q_jh,    dw_h = sum_i u_ih p_ih + sum_j v_jh q_jh
    """

    @staticmethod
    def forward(ctx: Any, u: Tensor, v: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(u, v, w)
        (n, hidden), m = u.shape, len(v)
        below = -u
        columns = max(1, min(m, TILE // hidden))
        rows = max(1, min(n, TILE // (columns * hidden)))
        z = u.new_empty(n, m)
        tile = u.new_empty(rows, columns, hidden)
        for j in range(0, m, columns):
            some = v[j : j + columns]
            for i in range(0, n, rows):
                part = tile[: min(rows, n - i), : len(some)]  # only one row where the columns are not all
                torch.maximum(some, below[i : i + rows, None], out=part)
                z[i : i + rows, j : j + columns] = part @ w
        return z.add_((u @ w)[:, None])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if torch.is_grad_enabled():  # as with create_graph=True
            raise RuntimeError("PairHead has no second derivative; write the pairs out if you need one.")
        u, v, w = ctx.saved_tensors
        (n, hidden), m = u.shape, len(v)
        below = -u
        columns = max(1, min(m, TILE // hidden))
        p, q = torch.zeros_like(u), torch.zeros_like(v)
        tile = u.new_empty(columns, hidden)
        for j in range(0, m, columns):
            some, sums, slope = v[j : j + columns], q[j : j + columns], g[:, j : j + columns]
            mask = tile[: len(some)]
            for i in range(n):
                torch.gt(some, below[i], out=mask)
                p[i].addmv_(mask.T, slope[i])
                sums.addcmul_(mask, slope[i, :, None])
        dw = torch.linalg.vecdot(u, p, dim=0) + torch.linalg.vecdot(v, q, dim=0)
        return p.mul_(w), q.mul_(w), dw


# The other head of the similarity network: how alike two items are is the angle between their embeddings.
#
#     z_i = W f_i / |W f_i|,    logit_ij = cos(z_i, z_j) / temperature
#
# One matrix product for all pairs, and a space that clusters can be looked for in.
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
