"""Batches for the training loop, from tensors or arrays on disk; loader.py has those of a Dataset or DataLoader."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from likewise.datasets import normalise
from likewise.distributed import share, sharing
from likewise.errors import InputError
from likewise.training.randomness import AUGMENT, ORDER, generator

# Rows of the next batches, read from disk by a thread while the network learns from those at hand.

AHEAD = 4  # batches: one that comes late is made up for by those before it, and memory has few of them


def read_ahead(read: Callable[[Tensor], Tensor], chunks: Sequence[Tensor]) -> Iterator[Tensor]:
    """`read(chunk)` for every chunk, in order; what it gives depends on the chunk alone, and so not on the thread.

    >>> import torch
    >>> [rows.tolist() for rows in read_ahead(lambda index: 10 * index, [torch.tensor([1, 2]), torch.tensor([3])])]
    [[10, 20], [30]]
    """
    with ThreadPoolExecutor(1, "read ahead") as reader:
        coming: deque[Future[Tensor]] = deque()
        for chunk in chunks:
            coming.append(reader.submit(read, chunk))
            if len(coming) > AHEAD:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


Augment = Callable[[Tensor, torch.Generator], Tensor]  # a batch of inputs as they lie in memory -> the same, changed


class Batch(NamedTuple):
    """What an objective sees: inputs ready for the network, labels (-1 = unknown), positions in the data set.

    Over several ranks the inputs are this rank's rows; the rest is of the whole batch, as are the network's outputs.

    >>> import torch
    >>> Batch(torch.zeros(2, 3), torch.tensor([0, 1]), torch.arange(2)).labels
    tensor([0, 1])
    """

    inputs: Tensor  # float (b, C, H, W) or (b, d), augmented and normalised
    labels: Tensor  # int64 (b,)
    index: Tensor  # type: ignore[assignment]  # int64 (b,); it hides tuple.index, which nobody needs here


class Batches(Protocol):
    """Anything that can give the batches of an epoch again, from any position, and the same each time."""

    def __len__(self) -> int: ...

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]: ...


class Order(Protocol):
    """Which items make which batch, as a function of the epoch alone."""

    seed: int

    def __len__(self) -> int: ...

    def chunks(self, epoch: int) -> list[Tensor]: ...


class TensorBatches:
    """Batches of tensors that stay in memory as they are; only the batch at hand is augmented and made float.

    In place of the inputs there may be what stands for a tensor, such as `ArrayOnDisk`: its rows, of each batch those
    of this rank alone, are read by a thread before they are needed.

    The order is a function of (seed, epoch), the augmentation of (seed, step). A last batch of one item joins the one
    before it, because batch-norm and pairs need two. Another `order` may visit an item twice in a batch, and each visit
    is augmented on its own.

    >>> batches = TensorBatches(torch.zeros(7, 1, 8, 8, dtype=torch.uint8), torch.arange(7), batch_size=3)
    >>> [len(batch.labels) for batch in batches.epoch(0)]
    [3, 4]
    """

    def __init__(
        self,
        inputs: Tensor,  # uint8 (n, C, H, W) or float (n, d)
        labels: Tensor,  # int64 (n,), -1 where unknown
        batch_size: int,
        *,
        seed: int = 0,
        mean: Sequence[float] = (),
        std: Sequence[float] = (),
        augment: Augment | None = None,
        shuffle: bool = True,
        order: Order | None = None,
        views: Tensor | None = None,  # (v, n, ...): each visit of an item takes one of these, or the item itself
    ) -> None:
        if labels.shape != (len(inputs),):
            raise InputError(f"labels must have one entry for each of the {len(inputs)} inputs, got {_shape(labels)}.")
        self.inputs, self.labels = inputs, labels.to(torch.int64)
        self.mean, self.std, self.augment, self.views = tuple(mean), tuple(std), augment, views
        self.order: Order = order or EpochOrder(len(inputs), batch_size, seed, shuffle)

    def __len__(self) -> int:
        return len(self.order)

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        chunks = self.order.chunks(epoch)[start:]
        in_memory = isinstance(self.inputs, Tensor)
        rows = map(self._rows, chunks) if in_memory else read_ahead(self._rows, chunks)
        for step, (index, inputs) in enumerate(zip(chunks, rows, strict=True), start):
            with sharing(len(index)) as own:
                draw = generator(self.order.seed, AUGMENT, epoch * len(self) + step, *own.salt)
                if self.views is not None:
                    inputs = self._viewed(inputs, index[own.rows], draw)
                if self.augment is not None:
                    inputs = self.augment(inputs, draw)
            yield Batch(channels_last(normalise(inputs, self.mean, self.std)), self.labels[index], index)

    def _viewed(self, inputs: Tensor, index: Tensor, draw: torch.Generator) -> Tensor:
        assert self.views is not None
        chosen = torch.randint(len(self.views) + 1, (len(index),), generator=draw)
        viewed = chosen > 0
        inputs = inputs.clone()
        inputs[viewed] = self.views[chosen[viewed] - 1, index[viewed]]
        return inputs

    def _rows(self, index: Tensor) -> Tensor:
        """The inputs of this rank's share of a batch, as they are."""
        return self.inputs[index[share(len(index)).rows]]


class EpochOrder:
    """In which order, and in which batches, an epoch visits `n` items; each several times in its batch, if wanted."""

    def __init__(self, n: int, batch_size: int, seed: int, shuffle: bool = True, views: int = 1) -> None:
        if n < 2:
            raise InputError(f"Training needs at least two items, got {n}.")
        if batch_size < 2:
            raise InputError(f"batch_size must be 2 or more (one item makes no pair), got {batch_size}.")
        self.n, self.batch_size, self.seed, self.shuffle, self.views = n, batch_size, seed, shuffle, views

    def __len__(self) -> int:
        full, rest = divmod(self.n, self.batch_size)
        return max(1, full + (rest > 1))

    def chunks(self, epoch: int) -> list[Tensor]:
        """The positions of each batch, int64 (b,)."""
        drawn = torch.randperm(self.n, generator=generator(self.seed, ORDER, epoch))
        order = drawn if self.shuffle else torch.arange(self.n)
        ends = [self.batch_size * step for step in range(1, len(self))]
        return [chunk.repeat(self.views) for chunk in torch.tensor_split(order, ends)]


def channels_last(inputs: Tensor) -> Tensor:
    """Images in the memory order that convolutions are fastest in; anything else as it is."""
    return inputs.contiguous(memory_format=torch.channels_last) if inputs.ndim == 4 else inputs


def _shape(tensor: Tensor) -> str:
    return f"shape {tuple(tensor.shape)}"
