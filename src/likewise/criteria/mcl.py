"""MCL, the Meta Classification Likelihood (section 3 of the paper, equation 6).

    s_hat(i, j) = p_i . p_j    the probability that i and j share a class, with p = softmax(logits)
    loss(i, j)  = - s log s_hat - (1 - s) log (1 - s_hat)

With G(i, j) = - s / s_hat + (1 - s) / (1 - s_hat), the gradient with respect to the logits of item i is

    p_i * (sum_j G(i, j) p_j - sum_j G(i, j) s_hat(i, j))

which is two matrix products. It sums to zero over the outputs, so its entry at the largest p is taken as minus the sum
of the others: that entry is where the plain expression cancels. There is no epsilon: where 1 - s_hat cancels, it is
computed as sum_k p_ik (1 - p_jk), and a violated pair whose probability is too small for floats goes to log space.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from likewise.criteria.fused import Reduction, criterion
from likewise.criteria.tables import PairTable, take
from likewise.criteria.targets import Listing, Tile

NEAR_ONE = 0.9  # above it, 1 - s_hat is a sum of products and not a difference
SMALL_LOSS = 1e-2  # below this mean, the rounding of probabilities near 1 shows in the loss


def mcl(
    logits: Tensor,
    same: Tensor | PairTable,
    *,
    pairs: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
    self_pairs: bool = False,
) -> Tensor:
    """MCL of a batch; see `MCL`.

    >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    >>> mcl(logits, torch.tensor([0, 0, 1])) < mcl(logits, torch.tensor([0, 1, 1]))
    tensor(True)
    """
    return criterion(_Likelihood, logits, same, pairs, weight, reduction, self_pairs)


class MCL(nn.Module):
    """The Meta Classification Likelihood, a drop-in for `nn.CrossEntropyLoss` that needs no class labels.

    Call it as `criterion(logits, labels)`, labels int (b,), -1 = unknown; as `criterion(logits, same)`, same (b, b) in
    [0, 1], NaN = unknown; or as `criterion(logits, same, pairs=pairs, weight=weight)` with pairs int (P, 2).

    Parameters
    ----------
    reduction : "mean" over the counted pairs i < j (weighted, if there are weights), "sum", or "none": the loss of each
        pair, (P,), or (b, b) with each pair once, above the diagonal.
    self_pairs : count an item with itself as a similar pair, with the share it has among b^2 ordered pairs. The paper's
        b (b - 1) / 2 pairs leave them out; its reference code has them in.

    >>> logits = torch.zeros(3, 4, requires_grad=True)
    >>> loss = MCL()(logits, torch.tensor([7, 7, -1]))  # one known pair; s_hat = 1/4
    >>> round(loss.item(), 4)
    1.3863
    >>> loss.backward()
    """

    def __init__(self, reduction: Reduction = "mean", self_pairs: bool = False) -> None:
        super().__init__()
        self.reduction = reduction
        self.self_pairs = self_pairs

    def forward(
        self, logits: Tensor, same: Tensor | PairTable, *, pairs: Tensor | None = None, weight: Tensor | None = None
    ) -> Tensor:
        return mcl(logits, same, pairs=pairs, weight=weight, reduction=self.reduction, self_pairs=self.self_pairs)

    def extra_repr(self) -> str:
        return f"reduction={self.reduction!r}, self_pairs={self.self_pairs}"


class _Likelihood:
    """The sums that MCL needs, over the pairs shown so far."""

    def __init__(self, logits: Tensor, learn: bool) -> None:
        self.logits = logits
        self.learn = learn
        self.dtype = torch.float64 if logits.dtype == torch.float64 else torch.float32
        self.floor = 1e-250 if self.dtype == torch.float64 else 1e-30  # below it, products of probabilities underflow
        self.p = torch.softmax(logits.to(self.dtype), 1)  # (b, K)
        least, most = self.p.aminmax() if len(logits) else (0.5, 0.5)
        self.sure = float(most) > NEAR_ONE or float(least) < self.floor**0.5  # else floats hold all that is needed
        self._not_p: Tensor | None = None
        self._logs: tuple[Tensor, Tensor] | None = None
        self.pull: Tensor | None = None  # (b, K): sum_j G(i, j) p_j
        self.direct: Tensor | None = None  # (b, K): gradient of the pairs computed in log space

    def tile(self, tile: Tile) -> Tensor:
        p_rows = take(self.p, tile.rows)
        p_columns = p_rows if tile.square else self.p[tile.columns]
        violated = None
        if tile.certain and not self.sure:  # -s_hat where same, 1 - s_hat where different: G is its inverse
            slope = tile.different.addmm_(p_rows, p_columns.T, alpha=-1).reciprocal_()
            loss = slope.abs().log_()
        else:
            s_hat = linear(p_rows, p_columns)  # p_rows @ p_columns.T
            exact = linear(p_rows, self._complement()[tile.columns]) if self.sure else 1 - s_hat
            if tile.certain:
                loss, slope, violated = self._certain(s_hat, exact, tile.different)
            else:
                apart = torch.where(s_hat > NEAR_ONE, exact, 1 - s_hat) if self.sure else exact
                loss, slope, violated = self._soft(s_hat, apart, 1 - tile.different)
        if tile.weight is not None:
            loss *= tile.weight
            slope *= tile.weight
        if violated is not None:
            i, j = violated.nonzero(as_tuple=True)
            weight = loss.new_ones(len(i)) if tile.weight is None else tile.weight[i, j]
            items = i + tile.rows.start, j + tile.columns.start
            same = 1 - tile.different[i, j]
            if tile.skips_diagonal:
                weight = weight * (i != j)
            loss[i, j] = self._in_log_space(*items, same, weight, tile.share)
            slope[i, j] = 0
        if tile.skips_diagonal:
            loss.fill_diagonal_(0)
            slope.fill_diagonal_(0)
        if self.learn and len(p_rows) == len(self.p):
            self.pull = slope @ p_columns
        elif self.learn:
            pull = self._pull()
            pull[tile.rows].addmm_(slope, p_columns)
            if not tile.square:  # a square holds the other half of its pairs itself
                pull[tile.columns].addmm_(slope.T, p_rows)
        return loss

    def listed(self, pairs: Listing) -> Tensor:
        left, right, weight = pairs.left, pairs.right, pairs.weight
        p_left, p_right = self.p[left], self.p[right]  # (P, K)
        s_hat = (p_left * p_right).sum(1)
        apart = torch.where(s_hat > NEAR_ONE, (p_left * self._complement()[right]).sum(1), 1 - s_hat)
        loss, slope, violated = self._soft(s_hat, apart, pairs.same)
        loss, slope = loss * weight, slope * weight
        if violated is not None:
            loss[violated] = self._in_log_space(left[violated], right[violated], pairs.same[violated], weight[violated])
            slope[violated] = 0
        if self.learn:
            self._pull().index_add_(0, left, slope[:, None] * p_right).index_add_(0, right, slope[:, None] * p_left)
        return loss

    def gradient(self) -> Tensor:
        gradient = torch._softmax_backward_data(self._pull(), self.p, 1, self.dtype)
        if self.direct is not None:
            gradient += self.direct
        if self.sure:
            peak = self.p.argmax(1, keepdim=True)
            gradient.scatter_(1, peak, 0.0)
            gradient.scatter_(1, peak, -gradient.sum(1, keepdim=True))
        return gradient

    def _pull(self) -> Tensor:
        if self.pull is None:
            self.pull = torch.zeros_like(self.p)
        return self.pull

    # Both of these give the losses; G, their derivative with respect to s_hat; and the pairs, if any, that are so
    # violated that the probability of their answer is below the floor, for which neither is to be used.

    def _certain(self, s_hat: Tensor, exact: Tensor, different: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Where same is 0 or 1: the answer's probability is one number, and G is plus or minus its inverse."""
        signed = torch.where((s_hat > NEAR_ONE) & (different > 0), exact, different - s_hat)
        likelihood, violated = signed.abs(), None
        if float(likelihood.min()) < self.floor:
            violated = likelihood < self.floor
            likelihood, signed = likelihood.masked_fill_(violated, 1.0), signed.masked_fill_(violated, 1.0)
        loss = likelihood.log().neg_()
        if float(loss.sum()) < SMALL_LOSS * loss.numel():
            loss += likelihood.sub_(1).add_(torch.where(different > 0, s_hat, exact))  # what rounding took from it
        return loss, signed.reciprocal_(), violated

    def _soft(self, s_hat: Tensor, apart: Tensor, same: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Where same is anything in [0, 1]; `apart` is 1 - s_hat."""
        lost, violated = torch.minimum(s_hat, apart) < self.floor, None
        if bool(lost.any()):
            violated = lost & torch.where(s_hat < apart, same > 0, same < 1)
            s_hat, apart = s_hat.clamp_min(self.floor), apart.clamp_min(self.floor)
        loss = -(same * s_hat.log() + (1 - same) * apart.log())
        if float(loss.sum()) < SMALL_LOSS * loss.numel():
            loss += (torch.maximum(s_hat, apart) - 1) + torch.minimum(
                s_hat, apart
            )  # what rounding took from the larger
        return loss, (1 - same) / apart - same / s_hat, violated

    def _complement(self) -> Tensor:
        """1 - p without cancellation: at the largest p, the sum of the others. (b, K)"""
        if self._not_p is None:
            peak = self.p.argmax(1, keepdim=True)
            rest = self.p.scatter(1, peak, 0.0).sum(1, keepdim=True)
            self._not_p = (1 - self.p).scatter_(1, peak, rest)
        return self._not_p

    def _log_tables(self) -> tuple[Tensor, Tensor]:
        """log p and log (1 - p), (b, K), in float64 where the device has it."""
        if self._logs is None:
            wide = self.dtype if self.logits.device.type == "mps" else torch.float64
            log_p = torch.log_softmax(self.logits.to(wide), 1)
            peak = log_p.argmax(1, keepdim=True)
            rest = log_p.scatter(1, peak, -torch.inf).logsumexp(1, keepdim=True)
            log_not_p = torch.log1p(-log_p.exp().scatter_(1, peak, 0.0)).scatter_(1, peak, rest)
            self._logs = log_p, log_not_p
        return self._logs

    def _in_log_space(self, i: Tensor, j: Tensor, same: Tensor, weight: Tensor, share: float = 1.0) -> Tensor:
        """Weighted losses of pairs whose probabilities are too small for floats; adds their gradient to `direct`.

        log s_hat = logsumexp_k (log p_ik + log p_jk), and its derivative for item i is softmax_k of the same - p_i.
        log (1 - s_hat) is the same with log (1 - p_jk) in place of log p_jk.
        """
        log_p, log_not_p = self._log_tables()
        losses = torch.empty_like(weight)
        if self.learn and self.direct is None:
            self.direct = torch.zeros_like(self.p)
        size = max(1, (1 << 20) // self.p.shape[1])
        for start in range(0, len(i), size):
            part = slice(start, start + size)
            a, b, s, w = i[part], j[part], same[part].to(log_p.dtype), weight[part].to(log_p.dtype)
            both, apart, apart_turned = log_p[a] + log_p[b], log_p[a] + log_not_p[b], log_p[b] + log_not_p[a]
            likely, unlikely = both.logsumexp(1), apart.logsumexp(1)
            losses[part] = -(w * (s * likely + (1 - s) * unlikely)).to(self.dtype)
            if self.direct is None:
                continue
            w_same, w_different = (w * s)[:, None], (w * (1 - s))[:, None]
            credit = w_same * both.softmax(1)
            for item, blame in ((a, apart), (b, apart_turned)):
                change = w[:, None] * log_p[item].exp() - credit - w_different * blame.softmax(1)
                self.direct.index_add_(0, item, change.to(self.dtype), alpha=share)
        return losses
