"""The items a surface is computed on, in batches that are the same at every point: labelled ones, or answered pairs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from likewise.criteria import dense
from likewise.datasets import Items, normalise
from likewise.errors import InputError
from likewise.landscape.losses import FixedBatch
from likewise.pairs import Pairs
from likewise.supervision import AnswerKnowledge
from likewise.training import AnswerOrder, TensorBatches
from likewise.training.batches import channels_last
from likewise.training.randomness import ORDER, generator


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
