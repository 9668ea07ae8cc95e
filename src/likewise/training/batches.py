"""Batches for the training loop: of tensors, of arrays on disk, or of a torch Dataset or DataLoader."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, DistributedSampler, default_collate

from likewise.datasets import normalise
from likewise.distributed import all_gather, gather_batch, is_close, is_common, share, sharing, world
from likewise.errors import InputError
from likewise.training.randomness import AUGMENT, FETCH, ORDER, generator, mix, seed_all
from likewise.training.stopping import workers_ignore_ctrl_c

# Rows of the next batches, read from disk by a thread while the network learns from the current batch.

AHEAD = 4  # batches: one that comes late is made up for by those before it, and memory has few of them


def read_ahead(read: Callable[[Tensor], Tensor], chunks: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield `read(chunk)` for every chunk, in order. The result depends on the chunk alone, not on the thread.

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
    index: Tensor  # type: ignore[assignment]  # int64 (b,); it hides tuple.index, which is not used


class Batches(Protocol):
    """A source of batches that can repeat an epoch from any position, the same each time."""

    def __len__(self) -> int: ...

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]: ...


class Order(Protocol):
    """Which items make which batch, as a function of the epoch alone."""

    seed: int

    def __len__(self) -> int: ...

    def chunks(self, epoch: int) -> list[Tensor]: ...


class TensorBatches:
    """Batches of tensors that stay in memory as they are; only the current batch is augmented and made float.

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
    """The order and the batches in which an epoch visits `n` items, each once or several times in its batch."""

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
    """Images in the memory order in which convolutions are fastest; anything else unchanged."""
    return inputs.contiguous(memory_format=torch.channels_last) if inputs.ndim == 4 else inputs


def _shape(tensor: Tensor) -> str:
    return f"shape {tuple(tensor.shape)}"


# Batches from a torch Dataset or DataLoader of the user's own.

OTHER_ITEMS = (
    "The processes of this job were given other batches each: give all of them the same DataLoader, in the same order, "
    "or one with a DistributedSampler."
)


class LoaderBatches:
    """Batches of (input, label) or (input,) or (input, label, index) that a Dataset or a DataLoader gives.

    A map-style Dataset is shuffled and gathered here, `batch_size` items at a time. A DataLoader keeps its own batches;
    its `batch_size` is used, not the one given here. Labels are -1 where there are none; `index` is the position in the
    Dataset, or for a DataLoader that does not give one, the running position in the epoch.

    The promise: every epoch comes out the same again, whatever came before. For this the global generators of torch,
    NumPy and Python, and the DataLoader's and its sampler's own, are seeded before each epoch, and the global ones
    again before each batch where there are no worker processes. After a stop inside an epoch, the batches already seen
    are fetched again from a DataLoader and dropped.

    Over several ranks, each loads its own items of a Dataset. A DataLoader gives every rank all batches, of which it
    takes its rows; or with a `DistributedSampler` each rank its own, and a step's batch is those of all ranks, one
    after another. Ranks whose batches do not fit together are refused.

    >>> pile = torch.utils.data.TensorDataset(torch.rand(5, 2), torch.arange(5))
    >>> [len(batch.labels) for batch in LoaderBatches(pile, batch_size=2).epoch(0)]
    [2, 3]
    """

    def __init__(self, source: DataLoader[Any] | Dataset[Any], batch_size: int = 100, seed: int = 0) -> None:
        self.source, self.seed = source, seed
        try:
            length = len(source)  # type: ignore[arg-type]
        except (TypeError, NotImplementedError) as error:
            kind = type(source).__name__
            raise InputError(
                f"The {kind} does not know its length; give it a __len__ so that epochs have an end."
            ) from error
        if isinstance(source, DataLoader):
            if source.persistent_workers:
                raise InputError("Make the DataLoader with persistent_workers=False, so that an epoch can be repeated.")
            if not length:
                raise InputError("The DataLoader gives no batches.")
            _check_sampler(source)
            self.order = None
        else:
            self.order = EpochOrder(length, batch_size, seed)
        self._length = length if self.order is None else len(self.order)

    def __len__(self) -> int:
        return self._length

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        if isinstance(self.source, DataLoader):
            yield from self._from_loader(self.source, epoch, start)
        elif self.order is not None:
            for step, index in enumerate(self.order.chunks(epoch)[start:], start):
                with sharing(len(index)) as own:
                    seed_all(self.seed, FETCH, epoch * len(self) + step, *own.salt)
                    here = index[own.rows]
                    batch = _batch(default_collate([self.source[position] for position in here.tolist()]), here)
                    batch = Batch(batch.inputs, gather_batch(batch.labels), gather_batch(batch.index))
                yield batch

    def _from_loader(self, loader: DataLoader[Any], epoch: int, start: int) -> Iterator[Batch]:
        _seed_samplers(loader, epoch, mix(self.seed, ORDER, epoch))
        seed_all(self.seed, ORDER, epoch)
        with workers_ignore_ctrl_c() if loader.num_workers else nullcontext():
            fetches = iter(loader)
        part, parts = (world().rank, world().size) if _distributed_sampler(loader) else (0, 1)  # of each batch
        position = 0
        for step in range(len(self)):
            if loader.num_workers == 0:
                seed_all(self.seed, FETCH, epoch * len(self) + step, *([part] if parts > 1 else []))
            try:
                fetched = next(fetches)
            except StopIteration:
                return
            batch = _batch(fetched, position, part)
            position += len(batch.labels) * parts
            if step >= start:
                yield _joined(batch, position) if parts > 1 else _shared_out(batch)


def _distributed_sampler(loader: DataLoader[Any]) -> DistributedSampler[Any] | None:
    samplers = (loader.sampler, loader.batch_sampler, getattr(loader.batch_sampler, "sampler", None))
    return next((sampler for sampler in samplers if isinstance(sampler, DistributedSampler)), None)


def _check_sampler(loader: DataLoader[Any]) -> None:
    """Refuse a DistributedSampler that was made for another job than this one."""
    sampler, ours = _distributed_sampler(loader), world()
    if sampler is not None and (sampler.rank, sampler.num_replicas) != (ours.rank, ours.size):
        raise InputError(
            f"The DistributedSampler is for process {sampler.rank} of {sampler.num_replicas}, and this is process "
            f"{ours.rank} of {ours.size}; leave it out, or make it with rank={ours.rank} and num_replicas={ours.size}."
        )


def _shared_out(batch: Batch) -> Batch:
    """This rank's rows of a batch that every rank has whole."""
    own = share(len(batch.labels))
    if world().size > 1:  # labels and index may be unknown, and so be alike where the items are not
        means = batch.inputs.float().reshape(len(batch.labels), -1).mean(1).nan_to_num()  # (b,)
        weighted = means * torch.arange(1, len(means) + 1)
        if not is_close(torch.stack([weighted.sum(), weighted.abs().sum()])):
            raise InputError(OTHER_ITEMS)
    return Batch(batch.inputs[own.rows], batch.labels, batch.index)


def _joined(batch: Batch, end: int) -> Batch:
    """The batch of all ranks, of which each has fetched a part; `end` is its position in the epoch."""
    if not is_common(str((len(batch.labels), end)).encode()):
        raise InputError(OTHER_ITEMS)
    labels, index = all_gather(batch.labels), all_gather(batch.index)
    inputs = batch.inputs if share(len(labels)).is_part else all_gather(batch.inputs)
    return Batch(inputs, labels, index)


def _seed_samplers(loader: DataLoader[Any], epoch: int, seed: int) -> None:
    """Seed the generators that a DataLoader carries, and tell a sampler that asks for it which epoch it is."""
    samplers = [loader.sampler, loader.batch_sampler, getattr(loader.batch_sampler, "sampler", None)]
    holders: list[Any] = [loader, *samplers]
    for holder in holders:
        own = getattr(holder, "generator", None)
        if isinstance(own, torch.Generator):
            own.manual_seed(seed)
        if hasattr(holder, "set_epoch"):
            holder.set_epoch(epoch)


def _batch(fetched: Any, index: Tensor | int, part: int = 0) -> Batch:
    """A Batch of what a DataLoader gave; `index` is the positions, or that of the first item of the first part."""
    parts = list(fetched) if isinstance(fetched, list | tuple) else [fetched]
    if not 1 <= len(parts) <= 3 or not all(isinstance(part, Tensor) for part in parts):
        kinds = ", ".join(type(part).__name__ for part in parts)
        raise InputError(
            f"A batch must be (input, label), (input,) or (input, label, index) as tensors, got ({kinds})."
        )
    inputs: Tensor = parts[0]
    if inputs.dtype == torch.uint8 or inputs.is_floating_point():  # other whole numbers are for the network to read
        inputs = normalise(inputs, (), ())
    size = len(inputs)
    labels = parts[1].to(torch.int64) if len(parts) > 1 else torch.full((size,), -1)
    running = torch.arange(size) + index + part * size if isinstance(index, int) else index
    return Batch(channels_last(inputs), labels, parts[2] if len(parts) > 2 else running)
