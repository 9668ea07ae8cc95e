"""The three losses on fixed batches, the same at every point: CE over items, MCL and KCL over the pairs of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from likewise.criteria import dense, kcl, mcl
from likewise.datasets import Items, normalise
from likewise.errors import InputError
from likewise.pairs import Pairs
from likewise.supervision import AnswerKnowledge
from likewise.training import AnswerOrder, TensorBatches
from likewise.training.batches import channels_last
from likewise.training.randomness import ORDER, generator

LOSSES = ("ce", "mcl", "kcl")


@dataclass(frozen=True)
class FixedBatch:
    """Items that are always seen together, and what is known of them."""

    inputs: Tensor  # as the network takes them
    target: Tensor  # labels, int64 (b,), -1 or -100 = unknown; or same, float (b, b), NaN = unknown
    weight: Tensor | None = None  # (b, b), beside same

    @property
    def labelled(self) -> bool:
        return self.target.ndim == 1

    def count(self, loss: str) -> float:
        """How many items or pairs the loss is over, or the sum of their weights."""
        if self.labelled:
            known = int((self.target >= 0).sum())
            return known if loss == "ce" else known * (known - 1) / 2
        known_pairs = (~self.target.isnan()).to(torch.float64)
        counted = known_pairs if self.weight is None else known_pairs * self.weight
        return float(((counted + counted.T) / 2).triu(1).sum())  # of (i, j) and (j, i) the mean, as in MCL


def check_losses(losses: Sequence[str], batches: Sequence[FixedBatch]) -> tuple[str, ...]:
    """The names, each known, once, and computable on these batches."""
    wanted = tuple(dict.fromkeys(losses))
    if not wanted:
        raise InputError(f"No loss is given; name one or more of {', '.join(LOSSES)}.")
    for loss in wanted:
        if loss not in LOSSES:
            raise InputError(f"There is no loss called {loss!r}; use {', '.join(LOSSES)}.")
        if loss == "ce" and not all(batch.labelled for batch in batches):
            raise InputError("ce needs class labels, and these items have answers only; use mcl and kcl.")
        if not sum(batch.count(loss) for batch in batches):
            what = "label" if loss == "ce" else "pair"
            raise InputError(
                f"{loss} cannot be computed, because no {what} is known; take more items or larger batches."
            )
    return wanted


def mean_loss(loss: str, logits: Sequence[Tensor], batches: Sequence[FixedBatch]) -> float:
    """The mean over the items or pairs of all batches; NaN where the network gives no finite logits.

    >>> batch = FixedBatch(torch.empty(2, 0), torch.tensor([0, 1]))
    >>> [round(mean_loss(loss, [torch.zeros(2, 10)], [batch]), 4) for loss in ("ce", "kcl")]
    [2.3026, 4.0]
    """
    total = sum(loss_sum(loss, part, batch) for part, batch in zip(logits, batches, strict=True))
    return total / sum(batch.count(loss) for batch in batches)


def loss_sum(loss: str, logits: Tensor, batch: FixedBatch) -> float:
    """The sum over the items or pairs of one batch."""
    if not bool(torch.isfinite(logits).all()):
        return torch.nan
    if loss == "ce":
        return float(cross_entropy(logits, batch.target.clamp_min(-1), ignore_index=-1, reduction="sum"))
    criterion = {"mcl": mcl, "kcl": kcl}[loss]  # as in the paper: an item and itself are no pair; KCL's margin is 2
    return float(criterion(logits, batch.target, weight=batch.weight, reduction="sum"))


def chance_level(loss: str, n_outputs: int, batches: Sequence[FixedBatch]) -> float:
    """The loss of a network that knows nothing: all its outputs alike, for every item."""
    return mean_loss(loss, [torch.zeros(len(batch.inputs), n_outputs) for batch in batches], batches)


# The items a surface is computed on, in batches that are the same at every point: labelled ones, or answered pairs.
def labelled_batches(
    items: Items,
    *,
    n: int = 1000,
    batch_size: int = 100,
    seed: int = 0,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
) -> tuple[FixedBatch, ...]:
    """`n` random items whose label is known, or all where there are fewer."""
    known = (items.labels >= 0).nonzero().flatten()
    if n < 2 or len(known) < 2:
        raise InputError(f"A surface needs two labelled items or more, got {min(n, len(known))}.")
    drawn = known[torch.randperm(len(known), generator=generator(seed, ORDER))[:n]]
    chosen = items.subset(drawn)
    batches = TensorBatches(chosen.inputs, chosen.labels, batch_size, mean=mean, std=std, shuffle=False)
    return tuple(FixedBatch(batch.inputs, batch.labels) for batch in batches.epoch(0))


def answered_batches(
    inputs: Tensor,
    pairs: Pairs,
    *,
    n: int = 1000,
    batch_size: int = 100,
    seed: int = 0,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
) -> tuple[FixedBatch, ...]:
    """Batches of both items of random answered pairs, so many that they hold about `n` items; only answers count."""
    asked = torch.stack([torch.from_numpy(pairs.left), torch.from_numpy(pairs.right)], 1)
    order, known = AnswerOrder(asked, len(inputs), batch_size, seed=seed), AnswerKnowledge(pairs, implied=False)
    batches = []
    for index in order.chunks(0)[: max(1, n // batch_size)]:
        same, weight = dense(known.among(index.numpy()), len(index))
        ready = channels_last(normalise(inputs[index], tuple(mean), tuple(std)))
        batches.append(FixedBatch(ready, same, weight))
    return tuple(batches)
