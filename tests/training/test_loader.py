"""Datasets and DataLoaders whose every epoch comes out the same again, whatever they draw from."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset

from likewise.errors import InputError
from likewise.training import LoaderBatches
from likewise.training.batches import Batch
from likewise.training.randomness import reproducible


class Noisy(Dataset[tuple[Tensor, int]]):
    """Items that draw from all three global generators each time they are looked at."""

    def __len__(self) -> int:
        return 23

    def __getitem__(self, position: int) -> tuple[Tensor, int]:
        noise = [float(torch.rand(())), float(np.random.rand()), random.random()]  # noqa: NPY002
        return torch.tensor([float(position), *noise]), position


def loaders() -> list[DataLoader[tuple[Tensor, int]] | Dataset[tuple[Tensor, int]]]:
    generator = torch.Generator()
    data = Noisy()
    return [
        data,
        DataLoader(data, 4, shuffle=True),
        DataLoader(data, 4, shuffle=True, generator=generator),
        DataLoader(data, batch_sampler=BatchSampler(RandomSampler(data, generator=generator), 4, drop_last=True)),
        DataLoader(data, 4, sampler=RandomSampler(data, replacement=True)),
    ]


def equal(a: list[Batch], b: list[Batch]) -> bool:
    return len(a) == len(b) and all(
        torch.equal(x, y) for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True)
    )


@pytest.mark.parametrize("kind", range(5))
def test_any_epoch_again_from_any_step(kind: int) -> None:
    with reproducible():
        batches = LoaderBatches(loaders()[kind], batch_size=4, seed=1)
        epochs = [list(batches.epoch(epoch)) for epoch in range(3)]
        assert len(epochs[0]) == len(batches)
        assert not equal(epochs[0], epochs[1])
        torch.rand(7)  # what came before must not matter
        for start in (0, 1, 3, len(batches)):
            again = LoaderBatches(loaders()[kind], batch_size=4, seed=1)
            assert equal(list(again.epoch(2, start)), epochs[2][start:])
        assert not equal(list(LoaderBatches(loaders()[kind], batch_size=4, seed=2).epoch(0)), epochs[0])


def test_a_loader_keeps_its_own_order_and_batches() -> None:
    data = TensorDataset(torch.arange(5.0)[:, None], torch.arange(10, 15))
    with reproducible():
        first, last = LoaderBatches(DataLoader(data, 3)).epoch(0)
    assert first.inputs.tolist() == [[0.0], [1.0], [2.0]]
    assert last.labels.tolist() == [13, 14]
    assert last.index.tolist() == [3, 4]


def test_a_dataset_tells_the_position_of_its_items_and_leaves_no_item_alone() -> None:
    with reproducible():
        batches = list(LoaderBatches(Noisy(), batch_size=11).epoch(0))
    assert [len(batch.labels) for batch in batches] == [11, 12]
    assert all(torch.equal(batch.index, batch.labels) for batch in batches)


def test_what_is_missing_and_what_is_given() -> None:
    bytes_ = torch.full((4, 1, 2, 2), 255, dtype=torch.uint8)
    with reproducible():
        (alone,) = LoaderBatches(TensorDataset(bytes_), batch_size=4).epoch(0)
        (told,) = LoaderBatches(
            DataLoader(TensorDataset(torch.arange(3), torch.zeros(3), torch.tensor([7, 8, 9])), 3)
        ).epoch(0)
        (double,) = LoaderBatches(TensorDataset(torch.rand(3, 2, dtype=torch.float64)), batch_size=3).epoch(0)
    assert torch.equal(alone.inputs, torch.ones(4, 1, 2, 2))
    assert alone.labels.tolist() == [-1, -1, -1, -1]
    assert alone.inputs.is_contiguous(memory_format=torch.channels_last)
    assert told.index.tolist() == [7, 8, 9]
    assert told.inputs.dtype == told.labels.dtype == torch.int64
    assert double.inputs.dtype == torch.float32


class Lesson(Dataset[tuple[Tensor, int]]):
    """Labels say how the process that fetches the item takes Ctrl-C."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, position: int) -> tuple[Tensor, int]:
        return torch.rand(1), int(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer Pythons warn of fork
def test_worker_processes_leave_ctrl_c_to_the_loop() -> None:
    before = signal.getsignal(signal.SIGINT)
    with reproducible():
        (batch,) = LoaderBatches(DataLoader(Lesson(), 2, num_workers=1)).epoch(0)
        (again,) = LoaderBatches(DataLoader(Lesson(), 2, num_workers=1)).epoch(0)
    assert batch.labels.tolist() == [1, 1]
    assert torch.equal(batch.inputs, again.inputs)
    assert signal.getsignal(signal.SIGINT) is before


class Endless(IterableDataset[Tensor]):
    """A stream that cannot say how long it is."""

    def __iter__(self) -> Iterator[Tensor]:
        yield torch.zeros(1)


def test_refusals() -> None:
    with pytest.raises(InputError, match="does not know its length"):
        LoaderBatches(DataLoader(Endless(), 2))
    with pytest.raises(InputError, match="persistent_workers=False"):
        LoaderBatches(DataLoader(Noisy(), 2, num_workers=1, persistent_workers=True))
    with pytest.raises(InputError, match="gives no batches"):
        LoaderBatches(DataLoader(Noisy(), 50, drop_last=True))
    with reproducible(), pytest.raises(InputError, match=r"as tensors, got \(dict\)"):
        next(LoaderBatches(DataLoader([{"a": 1}, {"a": 2}], 2)).epoch(0))  # type: ignore[arg-type]
