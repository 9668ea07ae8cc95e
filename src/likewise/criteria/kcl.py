"""KCL, the KL-divergence-based contrastive loss (appendix B of the paper), MCL's strongest rival.

    KL(i || j) = sum_k p_ik (log p_ik - log p_jk)
    loss(i, j) = s (KL(i || j) + KL(j || i)) + (1 - s) (max(0, margin - KL(i || j)) + max(0, margin - KL(j || i)))

KL over all pairs is one matrix product: p_i . log p_i - p_i . log p_j. With W = the derivative of the loss with respect
to KL(i || j), the gradient with respect to the logits is

    of item i, the first argument:   W p_i * (log p_i - log p_j - KL(i || j))
    of item j, the second argument:  W (p_j - p_i)

The reference code holds the first argument constant, so that only the second line is left (`constant_target`).

Logits of -inf are probabilities of 0. An output that is 0 for i adds nothing to KL(i || j); one that is 0 for j alone
makes it infinite, which different items may well be: they cost nothing. For two items that should be the same it costs
inf and has no gradient.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from likewise.criteria.fused import Reduction, criterion
from likewise.criteria.targets import Listing, PairTable, Tile


def kcl(
    logits: Tensor,
    same: Tensor | PairTable,
    *,
    pairs: Tensor | None = None,
    weight: Tensor | None = None,
    margin: float = 2.0,
    constant_target: bool = False,
    reduction: Reduction = "mean",
    self_pairs: bool = False,
) -> Tensor:
    """KCL of a batch; see `KCL`.

    >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    >>> kcl(logits, torch.tensor([0, 0, 1])) < kcl(logits, torch.tensor([0, 1, 1]))
    tensor(True)
    """
    if not margin > 0:
        raise ValueError(f"margin must be more than 0, got {margin}.")
    make = partial(_Divergence, margin=margin, constant_target=constant_target)
    return criterion(make, logits, same, pairs, weight, reduction, self_pairs)


class KCL(nn.Module):
    """The contrastive loss on KL-divergence, called in the same three forms as `MCL`.

    Parameters
    ----------
    margin : how far apart, in nats, two different items have to be (the paper's sigma).
    constant_target : hold the first argument of each divergence constant, as the paper's reference code does.
    reduction, self_pairs : as for `MCL`.

    >>> KCL(margin=2.0)(torch.zeros(2, 3), torch.tensor([0, 1]))  # identical, though different: the margin, both ways
    tensor(4.)
    """

    def __init__(
        self,
        margin: float = 2.0,
        constant_target: bool = False,
        reduction: Reduction = "mean",
        self_pairs: bool = False,
    ) -> None:
        super().__init__()
        self.margin = margin
        self.constant_target = constant_target
        self.reduction = reduction
        self.self_pairs = self_pairs

    def forward(
        self, logits: Tensor, same: Tensor | PairTable, *, pairs: Tensor | None = None, weight: Tensor | None = None
    ) -> Tensor:
        return kcl(
            logits,
            same,
            pairs=pairs,
            weight=weight,
            margin=self.margin,
            constant_target=self.constant_target,
            reduction=self.reduction,
            self_pairs=self.self_pairs,
        )

    def extra_repr(self) -> str:
        options = f"margin={self.margin}, constant_target={self.constant_target}"
        return f"{options}, reduction={self.reduction!r}, self_pairs={self.self_pairs}"


class _Divergence:
    """The sums that KCL needs, over the pairs shown so far."""

    def __init__(self, logits: Tensor, learn: bool, margin: float, constant_target: bool) -> None:
        self.learn = learn
        self.margin = margin
        self.constant_target = constant_target
        self.dtype = torch.float64 if logits.dtype == torch.float64 else torch.float32
        self.log_p = _log_softmax(logits.to(self.dtype))  # (b, K), finite
        closed = self.log_p.isneginf()
        self.p = self.log_p.exp()
        self.closed = closed.to(self.dtype) if bool(closed.any()) else None  # (b, K): 1 where p is 0 by a logit of -inf
        if self.closed is not None:
            self.log_p.masked_fill_(closed, 0.0)
        self.negentropy = (self.p * self.log_p).sum(1)  # (b,)
        self.postponed: list[Tensor] = []  # nothing is too small for KL
        if learn:
            self.push = torch.zeros_like(self.p)  # (b, K): sum over first arguments i of W(i, j) p_i, for j
            self.mass = self.p.new_zeros(len(self.p))  # (b,): sum of the same W
            self.logs = torch.zeros_like(self.p)  # (b, K): sum over second arguments j of W(i, j) log p_j, for i
            self.first_mass = torch.zeros_like(self.mass)  # (b,): sum of the same W
            self.moment = torch.zeros_like(self.mass)  # (b,): sum over j of W(i, j) KL(i || j)

    def tile(self, tile: Tile) -> Tensor:
        same = 1 - tile.different
        loss = self._one_way(tile.rows, tile.columns, same, tile.weight, tile)
        if tile.square:  # symmetric: one direction holds both
            return loss + loss.T
        weight = None if tile.weight is None else tile.weight.T
        return loss + self._one_way(tile.columns, tile.rows, same.T, weight, tile).T

    def _one_way(self, first: slice, second: slice, same: Tensor, weight: Tensor | None, tile: Tile) -> Tensor:
        p = self.p[first]
        kl = torch.addmm(self.negentropy[first, None], p, self.log_p[second].T, alpha=-1)  # (first, second)
        infinite = None if self.closed is None else p @ self.closed[second].T > 0
        loss, slope = self._loss_and_slope(kl, infinite, same, weight)
        if tile.skips_diagonal:
            loss.fill_diagonal_(0)
            slope.fill_diagonal_(0)
        if self.learn:
            self.push[second].addmm_(slope.T, p)
            self.mass[second].add_(slope.sum(0))
        if self.learn and not self.constant_target:
            self.logs[first].addmm_(slope, self.log_p[second])
            self.first_mass[first].add_(slope.sum(1))
            self.moment[first].add_(kl.mul_(slope).sum(1))
        return loss

    def listed(self, pairs: Listing) -> Tensor:
        loss = torch.zeros_like(pairs.same)
        for first, second in ((pairs.left, pairs.right), (pairs.right, pairs.left)):
            p, log_p = self.p[first], self.log_p[second]  # (P, K)
            kl = self.negentropy[first] - (p * log_p).sum(1)
            infinite = None if self.closed is None else (p * self.closed[second]).sum(1) > 0
            one_way, slope = self._loss_and_slope(kl, infinite, pairs.same, pairs.weight)
            loss += one_way
            if self.learn:
                self.push.index_add_(0, second, slope[:, None] * p)
                self.mass.index_add_(0, second, slope)
            if self.learn and not self.constant_target:
                self.logs.index_add_(0, first, slope[:, None] * log_p)
                self.first_mass.index_add_(0, first, slope)
                self.moment.index_add_(0, first, slope * kl)
        return loss

    def gradient(self) -> Tensor:
        gradient = self.mass[:, None] * self.p - self.push
        if not self.constant_target:
            gradient += self.p * (self.first_mass[:, None] * self.log_p - self.logs - self.moment[:, None])
        peak = self.p.argmax(1, keepdim=True)  # as in MCL: the gradient sums to zero, and only this entry cancels
        gradient.scatter_(1, peak, 0.0)
        return gradient.scatter_(1, peak, -gradient.sum(1, keepdim=True))

    def in_log_space(self, part: Tile | Listing, count: int) -> Tensor:
        raise AssertionError("KCL postpones no pair, so none is shown again.")

    def _loss_and_slope(
        self, kl: Tensor, infinite: Tensor | None, same: Tensor, weight: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The weighted losses of one direction, and W: their derivative with respect to KL."""
        short = (self.margin - kl).clamp_min_(0)
        loss = same * kl.clamp_min(0) + (1 - same) * short
        slope = same - (1 - same) * (short > 0)
        if weight is not None:
            loss, slope = loss * weight, slope * weight
        if infinite is not None:
            wanted = same if weight is None else same * weight
            loss = torch.where(infinite, torch.where(wanted != 0, wanted * torch.inf, 0.0), loss)
            slope = slope.masked_fill(infinite, 0.0)
        return loss, slope


def _log_softmax(logits: Tensor) -> Tensor:
    """log_softmax whose largest entry, -log(1 + the others), does not round to zero when it is confident."""
    log_p = torch.log_softmax(logits, 1)
    peak = log_p.argmax(1, keepdim=True)
    rest = log_p.exp().scatter_(1, peak, 0.0).sum(1, keepdim=True).clamp_max_(0.5)
    exact = torch.where(rest < 0.5, torch.log1p(-rest), log_p.gather(1, peak))
    return log_p.scatter_(1, peak, exact)
