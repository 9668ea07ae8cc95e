"""Rows that a thread reads before they are needed: the same rows, in order, and few of them at a time."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from torch import Tensor

from likewise.datasets import ArrayOnDisk, Augmentation
from likewise.distributed import World, share
from likewise.errors import InputError
from likewise.training import TensorBatches, batches
from likewise.training.reading_ahead import AHEAD, read_ahead

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
def images(tmp_path) -> tuple[Tensor, ArrayOnDisk]:
    whole = np.random.default_rng(0).integers(0, 256, (23, 1, 6, 6), dtype=np.uint8)
    np.save(tmp_path / "images.npy", whole)
    return torch.from_numpy(whole), ArrayOnDisk(tmp_path / "images.npy")


def test_batches_are_those_of_items_in_memory(images: tuple[Tensor, ArrayOnDisk]) -> None:
    told = {"batch_size": 4, "seed": 3, "mean": (0.5,), "std": (0.2,), "augment": Augmentation(degrees=10, flip=True)}
    memory, disk = (TensorBatches(inputs, torch.arange(23), **told) for inputs in images)
    for epoch, start in ((0, 0), (1, 0), (1, 3)):
        pairs = list(zip(memory.epoch(epoch, start), disk.epoch(epoch, start), strict=True))
        assert len(pairs) == len(memory) - start
        for ours, theirs in pairs:
            assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_a_rank_reads_its_own_rows_alone(images: tuple[Tensor, ArrayOnDisk], monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Tensor] = []
    getitem = ArrayOnDisk.__getitem__
    monkeypatch.setattr(ArrayOnDisk, "__getitem__", lambda self, index: read.append(index) or getitem(self, index))
    monkeypatch.setattr(batches, "share", lambda b: share(b, World(1, 2)))
    indices = [batch.index for batch in TensorBatches(images[1], torch.arange(23), batch_size=8).epoch(0)]
    assert [index.tolist() for index in read] == [index[len(index) - len(index) // 2 :].tolist() for index in indices]
