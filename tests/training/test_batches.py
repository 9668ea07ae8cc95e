"""Batches of tensors: which items, in which order, and what was done to them."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset

from likewise.datasets import ArrayOnDisk, Augmentation
from likewise.distributed import World, share
from likewise.errors import InputError
from likewise.training import LoaderBatches, TensorBatches, batches
from likewise.training.batches import AHEAD, Batch, EpochOrder, read_ahead
from likewise.training.randomness import reproducible


def images(n: int) -> torch.Tensor:
    return torch.arange(n * 3 * 4 * 4).remainder(251).to(torch.uint8).view(n, 3, 4, 4)


def same(a: Batch, b: Batch) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize(
    ("n", "batch_size", "sizes"),
    [(9, 3, [3, 3, 3]), (10, 3, [3, 3, 4]), (11, 3, [3, 3, 3, 2]), (2, 5, [2]), (5, 5, [5]), (6, 5, [6]), (3, 2, [3])],
)
def test_sizes(n: int, batch_size: int, sizes: list[int]) -> None:
    batches = TensorBatches(images(n), torch.arange(n), batch_size)
    epoch = list(batches.epoch(0))
    assert [len(batch.index) for batch in epoch] == sizes
    assert len(batches) == len(sizes)
    assert sorted(torch.cat([batch.index for batch in epoch]).tolist()) == list(range(n))


def test_each_visit_takes_any_view_of_its_item() -> None:
    items = torch.arange(40.0)[:, None]
    views = torch.stack([items + 100, items + 200])  # (2, 40, 1)
    batches = TensorBatches(items, torch.arange(40), 10, views=views)
    seen = [batch for epoch in range(5) for batch in batches.epoch(epoch)]
    number, item = (
        torch.cat([part(batch) for batch in seen]) for part in (lambda b: b.inputs[:, 0], lambda b: b.index)
    )
    assert torch.equal(number.remainder(100), item.float())
    assert torch.bincount((number // 100).long()).tolist() == pytest.approx([67, 67, 67], abs=20)
    assert same(next(batches.epoch(3, 1)), seen[13])  # a resumed run has the same
    assert torch.equal(items[:, 0], torch.arange(40.0))


def test_input_label_and_index_belong_together() -> None:
    data, labels = images(7), torch.arange(100, 107)
    for batch in TensorBatches(data, labels, 3, mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7)).epoch(4):
        assert torch.equal(batch.labels, batch.index + 100)
        mean, std = torch.tensor([0.1, 0.2, 0.3]).view(3, 1, 1), torch.tensor([0.5, 0.6, 0.7]).view(3, 1, 1)
        torch.testing.assert_close(batch.inputs, (data[batch.index] / 255 - mean) / std)
        assert batch.inputs.is_contiguous(memory_format=torch.channels_last)


def test_features_pass_as_float32() -> None:
    data = torch.rand(5, 3)
    for batch in TensorBatches(data, torch.full((5,), -1), 2, shuffle=False).epoch(0):
        assert torch.equal(batch.inputs, data[batch.index])


def test_order_depends_on_seed_and_epoch_alone() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        return torch.cat(EpochOrder(50, 7, seed).chunks(epoch)).tolist()

    assert order(1, 2) == order(1, 2)
    assert len({tuple(order(seed, epoch)) for seed in range(3) for epoch in range(3)}) == 9
    assert torch.cat(EpochOrder(50, 7, 1, shuffle=False).chunks(2)).tolist() == list(range(50))


def test_views_of_an_item_are_in_one_batch_and_each_is_augmented_on_its_own() -> None:
    once, twice = EpochOrder(11, 4, seed=3), EpochOrder(11, 4, seed=3, views=2)
    assert len(twice) == len(once)
    for single, double in zip(once.chunks(2), twice.chunks(2), strict=True):
        assert double.tolist() == 2 * single.tolist()
    data = images(11)
    batches = TensorBatches(data, torch.arange(11), 4, augment=Augmentation(crop_padding=2), order=twice)
    for batch in batches.epoch(0):
        first, second = batch.inputs.chunk(2)
        assert torch.equal(batch.index, batch.labels)
        assert not torch.equal(first, second)


def test_any_step_can_be_had_again_with_its_augmentation() -> None:
    batches = TensorBatches(images(20), torch.arange(20), 3, seed=5, augment=Augmentation(crop_padding=2, flip=True))
    whole = list(batches.epoch(3))
    for start in range(len(whole) + 1):
        rest = list(batches.epoch(3, start))
        assert len(rest) == len(whole) - start
        assert all(same(a, b) for a, b in zip(rest, whole[start:], strict=True))


def test_augmentation_differs_from_step_to_step_and_leaves_the_data_alone() -> None:
    data = images(1).repeat(40, 1, 1, 1)
    kept = data.clone()
    first, second = TensorBatches(data, torch.zeros(40), 20, augment=Augmentation(crop_padding=2)).epoch(0)
    assert not torch.equal(first.inputs, second.inputs)
    assert torch.equal(data, kept)


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"one entry for each of the 4 inputs, got shape \(3,\)"):
        TensorBatches(images(4), torch.arange(3), 2)
    with pytest.raises(InputError, match="at least two items, got 1"):
        TensorBatches(images(1), torch.arange(1), 2)
    with pytest.raises(InputError, match="batch_size must be 2 or more"):
        TensorBatches(images(4), torch.arange(4), 1)


CHUNKS = [torch.tensor([number]) for number in range(20)]


def test_all_come_in_order_and_from_a_thread() -> None:
    threads = set()

    def read(index: Tensor) -> Tensor:
        threads.add(threading.current_thread())
        return 10 * index

    assert [rows.item() for rows in read_ahead(read, CHUNKS)] == [10 * number for number in range(20)]
    assert len(threads) == 1
    assert threads != {threading.main_thread()}


def test_no_more_is_read_than_so_many_batches_ahead() -> None:
    read: list[int] = []
    rows = read_ahead(lambda index: read.append(index.item()) or index, CHUNKS)
    next(rows)
    rows.close()  # waits for the thread
    assert len(read) <= AHEAD + 1


def test_what_cannot_be_read_is_said_where_it_is_needed() -> None:
    def read(index: Tensor) -> Tensor:
        if index == 1:
            raise InputError("photo 1 is gone")
        return index

    rows = read_ahead(read, CHUNKS)
    assert next(rows) == 0
    with pytest.raises(InputError, match="photo 1 is gone"):
        next(rows)


@pytest.fixture
def images_of_reading_ahead(tmp_path) -> tuple[Tensor, ArrayOnDisk]:
    whole = np.random.default_rng(0).integers(0, 256, (23, 1, 6, 6), dtype=np.uint8)
    np.save(tmp_path / "images_of_reading_ahead.npy", whole)
    return torch.from_numpy(whole), ArrayOnDisk(tmp_path / "images_of_reading_ahead.npy")


def test_batches_are_those_of_items_in_memory(images_of_reading_ahead: tuple[Tensor, ArrayOnDisk]) -> None:
    told = {"batch_size": 4, "seed": 3, "mean": (0.5,), "std": (0.2,), "augment": Augmentation(degrees=10, flip=True)}
    memory, disk = (TensorBatches(inputs, torch.arange(23), **told) for inputs in images_of_reading_ahead)
    for epoch, start in ((0, 0), (1, 0), (1, 3)):
        pairs = list(zip(memory.epoch(epoch, start), disk.epoch(epoch, start), strict=True))
        assert len(pairs) == len(memory) - start
        for ours, theirs in pairs:
            assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_a_rank_reads_its_own_rows_alone(
    images_of_reading_ahead: tuple[Tensor, ArrayOnDisk], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Tensor] = []
    getitem = ArrayOnDisk.__getitem__
    monkeypatch.setattr(ArrayOnDisk, "__getitem__", lambda self, index: read.append(index) or getitem(self, index))
    monkeypatch.setattr(batches, "share", lambda b: share(b, World(1, 2)))
    indices = [
        batch.index for batch in TensorBatches(images_of_reading_ahead[1], torch.arange(23), batch_size=8).epoch(0)
    ]
    assert [index.tolist() for index in read] == [index[len(index) - len(index) // 2 :].tolist() for index in indices]


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


def test_a_loader_refuses() -> None:
    with pytest.raises(InputError, match="does not know its length"):
        LoaderBatches(DataLoader(Endless(), 2))
    with pytest.raises(InputError, match="persistent_workers=False"):
        LoaderBatches(DataLoader(Noisy(), 2, num_workers=1, persistent_workers=True))
    with pytest.raises(InputError, match="gives no batches"):
        LoaderBatches(DataLoader(Noisy(), 50, drop_last=True))
    with reproducible(), pytest.raises(InputError, match=r"as tensors, got \(dict\)"):
        next(LoaderBatches(DataLoader([{"a": 1}, {"a": 2}], 2)).epoch(0))  # type: ignore[arg-type]
