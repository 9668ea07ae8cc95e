"""Batches that are the same at every point: which items, what is known of them, and too few of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from likewise.datasets import Items
from likewise.errors import InputError
from likewise.landscape.fixed_batches import answered_batches, labelled_batches
from likewise.pairs import Pairs


def pile(n: int) -> Items:
    """Item k is k everywhere, and its label is k modulo 3; every seventh is not labelled."""
    labels = torch.arange(n) % 3
    labels[::7] = -1
    pixels = torch.arange(n, dtype=torch.uint8)[:, None, None, None].expand(n, 1, 2, 2).clone()
    return Items(pixels, labels, ("a", "b", "c"))


def test_labelled_items_once_each_with_their_labels() -> None:
    batches = labelled_batches(pile(40), n=20, batch_size=8, seed=1, mean=(0.5,), std=(0.25,))
    assert [len(batch.inputs) for batch in batches] == [8, 8, 4]
    items = torch.cat([((batch.inputs[:, 0, 0, 0] * 0.25 + 0.5) * 255).round() for batch in batches]).long()
    assert len(set(items.tolist())) == 20
    assert (torch.cat([batch.target for batch in batches]) == items % 3).all()
    assert not (items % 7 == 0).any()


def test_the_seed_decides_and_a_small_pile_is_taken_whole() -> None:
    one, again, other = (labelled_batches(pile(40), n=10, seed=seed)[0].inputs for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert sum(len(batch.inputs) for batch in labelled_batches(pile(40), n=1000)) == 34


def test_one_item_makes_no_surface() -> None:
    with pytest.raises(InputError, match="two labelled items or more, got 1"):
        labelled_batches(pile(40), n=1)
    with pytest.raises(InputError, match="got 0"):
        labelled_batches(pile(1), n=10)


def test_answers_count_and_nothing_that_follows_from_them() -> None:
    pairs = Pairs.from_arrays([(0, 1), (1, 2), (3, 4)], [1, 1, 0], weight=[1, 1, 2])
    inputs = torch.arange(6.0)[:, None]
    (batch, *_) = answered_batches(inputs, pairs, n=6, batch_size=6)
    place = {int(item): row for row, item in enumerate(batch.inputs[:, 0])}
    assert not batch.labelled
    known = {frozenset((0, 1)): 1.0, frozenset((1, 2)): 1.0, frozenset((3, 4)): 0.0}
    for left in place:
        for right in place:
            found = float(batch.target[place[left], place[right]])
            wanted = known.get(frozenset((left, right)))
            assert np.isnan(found) if wanted is None else found == wanted
    assert batch.count("mcl") == 4.0  # two answers of weight 1, one of weight 2
