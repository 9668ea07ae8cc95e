"""Batches of some labelled items and views of all: what is in them, and that nothing is left out."""

from __future__ import annotations

import torch

from likewise.training import LEAST_STEPS
from likewise.training.few_labels_order import FewLabelsOrder

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
