"""The similarity prediction network: from a batch of items to the probability that two share a class, for all pairs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor, nn

from likewise.distributed import gather_batch
from likewise.errors import InputError
from likewise.networks.heads import CosineHead, PairHead, at_least_float32

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class SimilarityModule(nn.Module):
    """A backbone's features and a head on both of a pair, [f_i ; f_j] (Section 4.2; Hsu et al., 2018).

    `forward` gives the logits of "same" for all b^2 ordered pairs of a batch, (i, i) among them, to be trained as a
    binary classification:

    >>> from likewise.networks import build
    >>> network = SimilarityModule(build("mlp", 1, (6,)), hidden=16)
    >>> x, labels = torch.randn(10, 6), torch.arange(10) % 3
    >>> same = (labels[:, None] == labels).float()  # (b, b)
    >>> loss = nn.functional.binary_cross_entropy_with_logits(network(x), same)

    The head tells the first of a pair from the second, but "same" does not, so a prediction is the mean over both
    orders, unless asked otherwise:

    >>> predicted = network.similarity(torch.randn(4, 6))
    >>> predicted.shape, torch.equal(predicted, predicted.T)
    (torch.Size([4, 4]), True)

    The backbone is kept whole, with a last layer that nothing here uses, so that a classifier can start from it.
    The paper's head is "pairs"; its `hidden` is four times the number of features where not given, as in the reference
    code. "cosine" compares embeddings of `hidden` numbers, 256 where not given, by their angle. `slope` and `offset`
    make predictions calibrated: P(same) = sigmoid(slope logit + offset). Training does not touch them.
    """

    gathers = True  # of a batch shared out over ranks, its outputs are those of the whole: features are gathered
    slope: Tensor
    offset: Tensor

    def __init__(
        self,
        backbone: nn.Module,
        n_features: int | None = None,
        hidden: int | None = None,
        *,
        head: Literal["pairs", "cosine"] = "pairs",
    ) -> None:
        super().__init__()
        if not callable(getattr(backbone, "features", None)):
            raise InputError(f"The backbone must have a method features(x), but {type(backbone).__name__} has none.")
        n_features = n_features if n_features is not None else getattr(backbone, "n_features", None)
        if n_features is None:
            raise InputError(f"{type(backbone).__name__} does not say its n_features; give their number.")
        self.backbone = backbone
        self.training = backbone.training  # so that `train` sees which parts of the backbone are frozen
        self.n_features = n_features
        self.head: PairHead | CosineHead
        if head == "pairs":
            self.head = PairHead(n_features, 4 * n_features if hidden is None else hidden)
        elif head == "cosine":
            self.head = CosineHead(n_features, 256 if hidden is None else hidden)
        else:
            raise InputError(f"There is no head {head!r}; choose 'pairs' or 'cosine'.")
        self.register_buffer("slope", torch.ones(()))
        self.register_buffer("offset", torch.zeros(()))

    def with_backbone(self, backbone: nn.Module) -> SimilarityModule:
        """A copy of the head on another backbone, that has as many features."""
        other = copy.deepcopy(self)
        other.backbone = backbone
        return other

    def features(self, x: Tensor) -> Tensor:
        out: Tensor = self.backbone.features(x)  # type: ignore[operator]  # (b, d)
        return out

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(gather_batch(self.features(x)))  # (b, b)
        return logits

    @torch.no_grad()
    def similarity(self, x: Tensor, *, adapt: bool = False, symmetric: bool = True) -> Tensor:
        """Probability of "same" for all pairs of a batch, (b, b), whatever the mode, which stays as it was.

        With `adapt` every batch-norm, the backbone's too, normalises by this batch and not by what it saw in training.
        """
        with predicting(self, adapt):
            features = gather_batch(self.features(x))
        return self.predict_similarity(features, adapt=adapt, symmetric=symmetric)

    @torch.no_grad()
    def predict_similarity(
        self, left: Tensor, right: Tensor | None = None, *, adapt: bool = False, symmetric: bool = True
    ) -> Tensor:
        """Probability of "same" (n, m) from the features of n and m items, or of all pairs of the first.

        Features of several views of the items, (V, n, d), are averaged within the head. With `adapt` the head's
        batch-norm normalises by all these pairs. For features of the backbone that are normalised by their batch,
        compute them inside `predicting(network, adapt=True)`.
        """
        both_orders = symmetric and right is not None
        dtype = at_least_float32(self.head.first.weight.dtype)
        out = left.new_empty(left.shape[-2], (left if right is None else right).shape[-2], dtype=dtype)
        start = 0
        for block in self.iter_similarity(left, right, adapt=adapt, symmetric=both_orders):
            out[start : start + len(block)] = block
            start += len(block)
        return _symmetrise(out) if symmetric and right is None and self.head.ordered else out

    def iter_similarity(
        self,
        left: Tensor,  # (n, d) or (V, n, d)
        right: Tensor | None = None,  # (m, d) or (V, m, d)
        *,
        rows: int = 256,
        adapt: bool = False,
        symmetric: bool = True,
    ) -> Iterator[Tensor]:
        """The same in blocks of `rows` rows, one after another, so that the n x m whole need not be in memory."""
        if rows < 1:
            raise InputError(f"rows must be at least 1, got {rows}.")
        symmetric = symmetric and self.head.ordered
        with torch.no_grad(), predicting(self.head, adapt):
            u, v = self.halves(left, right)
            back_u, back_v = (u, v) if right is None or not symmetric else self.halves(right, left)
        return self._blocks((u, v), (back_v, back_u) if symmetric else None, rows)

    @torch.no_grad()
    def predict_listed(self, features: Tensor, pairs: Tensor, rows: int = 4096) -> Tensor:
        """Probability of "same" (m,) for pairs (m, 2) of items with these features, the mean over both orders."""
        with predicting(self.head):
            u, v = self.halves(features)
        out = u.new_empty(len(pairs))
        for start in range(0, len(pairs), rows):
            i, j = pairs[start : start + rows].T
            forth, back = (self._calibrated(self.head.aligned(u[a], v[b])) for a, b in ((i, j), (j, i)))
            out[start : start + rows] = (forth + back) / 2
        return out

    def halves(self, left: Tensor, right: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """What the head makes of each item as first and as second of a pair; several views of an item are averaged."""
        if left.ndim < 3:
            return self.head.halves(left, right)
        views = [self.head.halves(left[v], None if right is None else right[v]) for v in range(len(left))]
        first, second = (torch.stack(each) for each in zip(*views, strict=True))
        return self.head.mean(first), self.head.mean(second)

    def _blocks(self, forth: tuple[Tensor, Tensor], back: tuple[Tensor, Tensor] | None, rows: int) -> Iterator[Tensor]:
        """Rows of probabilities from the halves of left and right, as first and second of a pair and the other way."""
        for start in range(0, len(forth[0]), rows):
            with torch.no_grad():
                block = self._probability(forth[0][start : start + rows], forth[1])
                if back is not None:  # u_i + v_j is the same sum whichever item comes first
                    block += self._probability(back[0][start : start + rows], back[1])
                    block /= 2
            yield block

    def _probability(self, u: Tensor, v: Tensor) -> Tensor:
        return self._calibrated(self.head.logits(u, v))

    def _calibrated(self, logits: Tensor) -> Tensor:
        return logits.mul_(self.slope).add_(self.offset).sigmoid_()


def _symmetrise(square: Tensor, rows: int = 256) -> Tensor:
    """(S + S') / 2 in place: the opposite pair is there already, and need not be computed again."""
    for start in range(0, len(square), rows):
        across, down = square[start : start + rows, start:], square[start:, start : start + rows]
        mean = (across + down.T) / 2
        across.copy_(mean)
        down.copy_(mean.T)
    return square


@contextmanager
def predicting(network: nn.Module, adapt: bool = False) -> Iterator[None]:
    """Evaluation mode inside; with `adapt`, batch-norm uses the statistics of the current batch. Nothing is kept.

    >>> norm = nn.BatchNorm1d(1)
    >>> with predicting(norm, adapt=True):
    ...     norm(torch.tensor([[3.0], [5.0]])).round().tolist()
    [[-1.0], [1.0]]
    >>> norm.running_mean, norm.training
    (tensor([0.]), True)
    """
    modes = [(module, module.training) for module in network.modules()]
    norms = [module for module in network.modules() if isinstance(module, BATCH_NORMS)]
    tracked = [norm.track_running_stats for norm in norms]
    try:
        network.eval()
        for norm in norms if adapt else ():
            norm.training, norm.track_running_stats = True, False  # what it computes, it forgets
        yield
    finally:
        for module, mode in modes:
            module.training = mode
        for norm, track in zip(norms, tracked, strict=True):
            norm.track_running_stats = track
