"""Batches that hold answered pairs: what is in them, and that they can be had again."""

from __future__ import annotations

import pytest
import torch

from likewise.errors import InputError
from likewise.training import LEAST_STEPS, AnswerOrder, ClassOrder
from likewise.training.orders import FewLabelsOrder

PAIRS = torch.tensor([[2 * i, 2 * i + 1] for i in range(40)])  # items 0 to 79 of 200


def test_a_batch_holds_both_items_of_its_pairs_and_nothing_else() -> None:
    for chunk in AnswerOrder(PAIRS, 200, batch_size=20).chunks(3):
        assert chunk.tolist() == sorted(set(chunk.tolist()))
        assert len(chunk) == 20
        assert ({item ^ 1 for item in chunk.tolist()}) == set(chunk.tolist())  # 2i and 2i + 1 come together


def test_every_answer_comes_before_any_comes_again() -> None:
    order = AnswerOrder(PAIRS, 200, batch_size=20)
    assert len(order) == 16  # 160 pairs an epoch: each of the 40 four times
    seen = torch.cat([chunk for epoch in range(2) for chunk in order.chunks(epoch)])
    for turn in torch.split(seen, 80):
        assert sorted(turn.tolist()) == list(range(80))


def test_other_items_fill_the_batch_and_all_of_them_come() -> None:
    order = AnswerOrder(PAIRS, 200, batch_size=20, answered=0.5)
    chunks = [chunk for epoch in range(2) for chunk in order.chunks(epoch)]
    assert all(15 <= len(chunk) <= 20 for chunk in chunks)
    assert torch.cat(chunks).unique().tolist() == list(range(200))


def test_views_repeat_the_batch() -> None:
    chunk = AnswerOrder(PAIRS, 200, batch_size=20, answered=0.5, views=2).chunks(0)[0]
    first, second = chunk.chunk(2)
    assert torch.equal(first, second)
    assert len(first) == len(first.unique())


def test_an_epoch_is_a_function_of_seed_and_epoch() -> None:
    def chunks(seed: int, epoch: int) -> list[list[int]]:
        return [chunk.tolist() for chunk in AnswerOrder(PAIRS, 200, 20, seed=seed, answered=0.5).chunks(epoch)]

    assert chunks(1, 2) == chunks(1, 2)
    assert chunks(1, 2) != chunks(1, 3)
    assert chunks(1, 2) != chunks(2, 2)


def test_one_answer_about_two_items_is_enough() -> None:
    chunks = AnswerOrder(torch.tensor([[0, 1]]), 2, batch_size=100, answered=0.5, views=2).chunks(0)
    assert all(chunk.tolist() == [0, 1, 0, 1] for chunk in chunks)


def test_a_large_pile_is_seen_once_an_epoch() -> None:
    assert len(AnswerOrder(PAIRS, 10_000, batch_size=100)) == 100


def test_no_answer_is_refused() -> None:
    with pytest.raises(InputError, match="no answer to learn from"):
        AnswerOrder(torch.empty(0, 2, dtype=torch.int64), 5, 4)


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


LABELLED = torch.tensor([3, 11, 12, 40, 77])


def test_labelled_items_first_and_then_the_same_items_in_every_view() -> None:
    order = FewLabelsOrder(LABELLED, 80, batch_size=10, a_batch=3, views=2, seed=1)
    assert len(order) == LEAST_STEPS == len(order.chunks(0))
    for chunk in order.chunks(0):
        assert len(chunk) == 3 + 2 * 10
        assert set(chunk[:3].tolist()) <= set(LABELLED.tolist())
        assert torch.equal(chunk[3:13], chunk[13:])
        assert len(chunk[3:13].unique()) == 10


def test_all_items_come_before_any_comes_again() -> None:
    order = FewLabelsOrder(LABELLED, 400, batch_size=20, a_batch=5, views=1, seed=0)
    assert len(order) == 20
    for epoch in (0, 1):
        chunks = order.chunks(epoch)
        assert torch.cat([chunk[5:] for chunk in chunks]).sort().values.tolist() == list(range(400))
        assert all(chunk[:5].sort().values.equal(LABELLED) for chunk in chunks)
    assert not torch.equal(order.chunks(0)[0], order.chunks(1)[0])
    assert torch.equal(order.chunks(1)[7], FewLabelsOrder(LABELLED, 400, 20, a_batch=5, views=1).chunks(1)[7])
    assert not torch.equal(
        order.chunks(0)[0], FewLabelsOrder(LABELLED, 400, 20, a_batch=5, views=1, seed=1).chunks(0)[0]
    )


def test_without_views_there_are_labelled_items_alone() -> None:
    order = FewLabelsOrder(torch.arange(2, 66), 1000, batch_size=2, a_batch=2, views=0)
    chunks = order.chunks(3)
    assert len(chunks) == 32
    assert torch.cat(chunks).sort().values.tolist() == list(range(2, 66))


def test_there_are_no_more_than_there_are() -> None:
    order = FewLabelsOrder(LABELLED, 6, batch_size=100, a_batch=25, views=2)
    assert order.a_batch == 5
    assert all(len(chunk) == 5 + 12 for chunk in order.chunks(0))
