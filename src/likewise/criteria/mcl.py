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
from likewise.criteria.targets import Listing, PairTable, Tile, take

NEAR_ONE = 0.9  # if any p is above it, 1 - s_hat is computed as a sum of products and not a difference


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

    Call it as `criterion(logits, labels)`, labels int (b,), -1 or -100 = unknown; as `criterion(logits, same)`, same
    (b, b) in [0, 1], NaN = unknown; or as `criterion(logits, same, pairs=pairs, weight=weight)` with pairs int (P, 2).

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
    """The sums that MCL needs, over the pairs shown so far.

    What is to be computed is decided from the logits alone, once: a question to each tile would make the host wait for
    the device each time.
    """

    def __init__(self, logits: Tensor, learn: bool) -> None:
        self.logits = logits
        self.learn = learn
        self.dtype = torch.float64 if logits.dtype == torch.float64 else torch.float32
        self.floor = 1e-250 if self.dtype == torch.float64 else 1e-30  # below it, products of probabilities underflow
        self.p = torch.softmax(logits.to(self.dtype), 1)  # (b, K)
        least, most = torch.stack(self.p.aminmax()).tolist() if logits.shape[0] else (0.5, 0.5)
        self.sure = most > NEAR_ONE or least < self.floor**0.5  # else floats hold all that is needed
        # s_hat and 1 - s_hat are at least the least p over K: only if that is below the floor can any pair's be
        self.extreme = least < self.floor * logits.shape[1]
        self.postponed: list[Tensor] = []
        self._not_p: Tensor | None = None
        self._logs: tuple[Tensor, Tensor] | None = None
        self.pull: Tensor | None = None  # (b, K): sum_j G(i, j) p_j
        self.direct: Tensor | None = None  # (b, K): gradient of the pairs computed in log space

    def tile(self, tile: Tile) -> Tensor:
        p_rows = take(self.p, tile.rows)
        p_columns = p_rows if tile.square else self.p[tile.columns]
        lost = None
        if tile.certain and not self.sure:  # -s_hat where same, 1 - s_hat where different: G is its inverse
            slope = tile.different.addmm_(p_rows, p_columns.T, alpha=-1).reciprocal_()
            loss = slope.abs().log_()
        else:
            s_hat, apart = self._similarity(tile)
            if self.extreme:
                lost = self._lost_of_tile(s_hat, apart, tile)
                s_hat, apart = s_hat.clamp_min_(self.floor), apart.clamp_min_(self.floor)
            loss, slope = (_certain if tile.certain else _soft)(s_hat, apart, tile.different)
        if tile.weight is not None:
            loss *= tile.weight
            slope *= tile.weight
        if lost is not None:
            self._postpone(lost, loss, slope)
        if tile.skips_diagonal:
            loss.fill_diagonal_(0)
            slope.fill_diagonal_(0)
        if self.learn and p_rows.shape[0] == self.p.shape[0]:
            self.pull = slope @ p_columns
        elif self.learn:
            pull = self._pull()
            pull[tile.rows].addmm_(slope, p_columns)
            if not tile.square:  # a square holds the other half of its pairs itself
                pull[tile.columns].addmm_(slope.T, p_rows)
        return loss

    def listed(self, pairs: Listing) -> Tensor:
        left, right = pairs.left, pairs.right
        p_left, p_right = self.p[left], self.p[right]  # (P, K)
        s_hat, apart = self._similarity_of_listed(pairs)
        lost = None
        if self.extreme:
            lost = self._lost(s_hat, apart, pairs.same, pairs.weight)
            s_hat, apart = s_hat.clamp_min_(self.floor), apart.clamp_min_(self.floor)
        loss, slope = _soft(s_hat, apart, 1 - pairs.same)
        loss, slope = loss * pairs.weight, slope * pairs.weight
        if lost is not None:
            self._postpone(lost, loss, slope)
        if self.learn:
            self._pull().index_add_(0, left, slope[:, None] * p_right).index_add_(0, right, slope[:, None] * p_left)
        return loss

    def in_log_space(self, part: Tile | Listing, count: int) -> Tensor:
        """Weighted losses of the `count` pairs that were postponed when the part was shown, and zeros elsewhere."""
        if isinstance(part, Listing):
            lost = self._lost(*self._similarity_of_listed(part), part.same, part.weight)
            at = _places_of(lost, count)
            left, right, same, weight = part.left[at], part.right[at], part.same[at], part.weight[at]
        else:
            lost = self._lost_of_tile(*self._similarity(part), part)
            at = _places_of(lost.flatten(), count)
            i, j = at // lost.shape[1], at % lost.shape[1]
            left, right = i + part.rows.start, j + part.columns.start
            same = 1 - part.different[i, j]
            weight = torch.ones_like(same) if part.weight is None else part.weight[i, j]
        losses = torch.zeros(lost.shape, dtype=self.dtype, device=lost.device)
        losses.view(-1)[at] = self._listed_in_log_space(left, right, same, weight, part.share)
        return losses

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

    def _similarity(self, tile: Tile) -> tuple[Tensor, Tensor]:
        """s_hat and 1 - s_hat, (rows, columns)."""
        p_rows = take(self.p, tile.rows)
        s_hat = linear(p_rows, take(self.p, tile.columns))  # p_rows @ p_columns.T
        return s_hat, linear(p_rows, take(self._complement(), tile.columns)) if self.sure else 1 - s_hat

    def _similarity_of_listed(self, pairs: Listing) -> tuple[Tensor, Tensor]:
        """s_hat and 1 - s_hat, (P,)."""
        p_left = self.p[pairs.left]
        s_hat = (p_left * self.p[pairs.right]).sum(1)
        return s_hat, (p_left * self._complement()[pairs.right]).sum(1) if self.sure else 1 - s_hat

    def _complement(self) -> Tensor:
        if self._not_p is None:
            self._not_p = complement(self.p)
        return self._not_p

    # Pairs so violated that the probability of their answer is below the floor are counted when they are shown, and
    # computed when all the counts are known.

    def _lost_of_tile(self, s_hat: Tensor, apart: Tensor, tile: Tile) -> Tensor:
        lost = self._lost(s_hat, apart, 1 - tile.different, tile.weight)
        return lost.fill_diagonal_(False) if tile.skips_diagonal else lost

    def _lost(self, s_hat: Tensor, apart: Tensor, same: Tensor, weight: Tensor | None) -> Tensor:
        lost = (torch.minimum(s_hat, apart) < self.floor) & torch.where(s_hat < apart, same > 0, same < 1)
        return lost if weight is None else lost & (weight != 0)

    def _postpone(self, lost: Tensor, loss: Tensor, slope: Tensor) -> None:
        loss.masked_fill_(lost, 0.0)
        slope.masked_fill_(lost, 0.0)
        self.postponed.append(lost.count_nonzero())

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

    def _listed_in_log_space(self, i: Tensor, j: Tensor, same: Tensor, weight: Tensor, share: float) -> Tensor:
        """Weighted losses of pairs whose probabilities are too small for floats; adds their gradient to `direct`.

        log s_hat = logsumexp_k (log p_ik + log p_jk), and its derivative for item i is softmax_k of the same - p_i.
        log (1 - s_hat) is the same with log (1 - p_jk) in place of log p_jk. An answer that logits of -inf rule out
        costs inf and has no gradient.
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
            each = s * likely + (1 - s) * unlikely  # of the two at most one is -inf, and that one counts
            losses[part] = -(w * each).to(self.dtype)
            if self.direct is None:
                continue
            w = w.masked_fill(each.isinf(), 0.0)
            w_same, w_different = (w * s)[:, None], (w * (1 - s))[:, None]
            credit = w_same * _shares(both)
            for item, blame in ((a, apart), (b, apart_turned)):
                change = w[:, None] * log_p[item].exp() - credit - w_different * _shares(blame)
                self.direct.index_add_(0, item, change.to(self.dtype), alpha=share)
        return losses


def complement(p: Tensor) -> Tensor:
    """1 - p without cancellation: at the largest p, the sum of the others. (b, K)"""
    peak = p.argmax(1, keepdim=True)
    return (1 - p).scatter(1, peak, p.scatter(1, peak, 0.0).sum(1, keepdim=True))


# Both of these give the losses, and G, their derivative with respect to s_hat; `apart` is 1 - s_hat. The last term of
# the loss is what rounding took from a probability near 1: its distance to 1 minus the other probability.


def _certain(s_hat: Tensor, apart: Tensor, different: Tensor) -> tuple[Tensor, Tensor]:
    """Where same is 0 or 1: the answer's probability is one number, and G is plus or minus its inverse."""
    is_different = different > 0
    signed = torch.where(is_different, apart, -s_hat)
    likelihood = signed.abs()
    loss = likelihood.log().neg_()
    loss += likelihood.sub_(1).add_(torch.where(is_different, s_hat, apart))
    return loss, signed.reciprocal_()


def _soft(s_hat: Tensor, apart: Tensor, different: Tensor) -> tuple[Tensor, Tensor]:
    """Where same is anything in [0, 1]."""
    same = 1 - different
    loss = -(same * s_hat.log() + different * apart.log())
    loss += (torch.maximum(s_hat, apart) - 1) + torch.minimum(s_hat, apart)
    return loss, different / apart - same / s_hat


def _places_of(mask: Tensor, count: int) -> Tensor:
    """Where a mask (n,) is true, given how often it is; unlike nonzero, the host need not wait for the device.

    >>> _places_of(torch.tensor([False, True, True, False, True]), 3)
    tensor([1, 2, 4])
    """
    return torch.searchsorted(mask.cumsum(0), torch.arange(1, count + 1, device=mask.device))


def _shares(logs: Tensor) -> Tensor:
    """softmax, with zeros where all of a row is -inf."""
    return logs.softmax(1).nan_to_num(0.0)
