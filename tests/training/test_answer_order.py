"""Batches that hold answered pairs: what is in them, and that they can be had again."""

from __future__ import annotations

import pytest
import torch

from likewise.errors import InputError
from likewise.training import AnswerOrder

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
