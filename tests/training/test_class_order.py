"""Batches of some classes with some items each."""

from __future__ import annotations

import pytest
import torch

from likewise.errors import InputError
from likewise.training import ClassOrder

LABELS = torch.arange(120) % 12  # ten items of each class


def test_a_batch_has_so_many_classes_of_so_many_items() -> None:
    order = ClassOrder(LABELS, classes=5, items=4)
    assert len(order) == 6
    for epoch in range(3):
        for chunk in order.chunks(epoch):
            assert len(chunk.unique()) == 20
            assert torch.bincount(LABELS[chunk], minlength=12).sort().values.tolist() == [0] * 7 + [4] * 5


def test_all_classes_come_before_any_comes_again() -> None:
    chunks = ClassOrder(LABELS, classes=4, items=2).chunks(0)
    assert len(chunks) == 15
    for start in range(0, 15, 3):
        assert torch.cat(chunks[start : start + 3]).remainder(12).unique().tolist() == list(range(12))


def test_every_item_comes() -> None:
    order = ClassOrder(LABELS, classes=5, items=4)
    seen = torch.cat([chunk for epoch in range(20) for chunk in order.chunks(epoch)])
    assert seen.unique().tolist() == list(range(120))


def test_small_classes_and_unknown_items() -> None:
    labels = torch.tensor([0, 0, 0, 5, -1, -1, 7, 7])
    for chunk in ClassOrder(labels, classes=9, items=3).chunks(0):
        assert sorted(chunk.tolist()) == [0, 1, 2, 3, 6, 7]


def test_a_function_of_seed_and_epoch() -> None:
    def drawn(seed: int, epoch: int) -> list[list[int]]:
        return [chunk.tolist() for chunk in ClassOrder(LABELS, classes=3, items=2, seed=seed).chunks(epoch)]

    assert drawn(0, 1) == drawn(0, 1)
    assert drawn(0, 1) != drawn(0, 2)
    assert drawn(0, 1) != drawn(1, 1)


@pytest.mark.parametrize(
    ("labels", "classes", "items", "message"),
    [
        ([3, 3, -1], 2, 2, "hold 1 class"),
        ([-1, -1], 2, 2, "hold 0 class"),
        ([0, 1, 2], 2, 2, "No class has two items"),
        ([0, 0, 1], 2, 1, "got 2 of 1"),
        ([0, 0, 1], 1, 2, "got 1 of 2"),
    ],
)
def test_refused(labels: list[int], classes: int, items: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ClassOrder(torch.tensor(labels), classes=classes, items=items)
