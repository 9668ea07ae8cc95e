"""The losses on fixed batches: against pairs written out, at chance level, and what cannot be computed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from likewise.criteria import kcl, mcl
from likewise.datasets import Items
from likewise.errors import InputError
from likewise.landscape.job import (
    FixedBatch,
    answered_batches,
    chance_level,
    check_losses,
    labelled_batches,
    mean_loss,
)
from likewise.pairs import Pairs


@pytest.mark.parametrize("loss", ["ce", "mcl", "kcl"])
def test_means_are_over_all_items_or_pairs_of_all_batches(
    loss: str, batches: tuple[FixedBatch, ...], naive_loss: Callable[..., float]
) -> None:
    random = torch.Generator().manual_seed(0)
    logits = [2 * torch.randn(len(batch.inputs), 3, generator=random) for batch in batches]
    assert len({len(batch.inputs) for batch in batches}) > 1  # batches of different sizes weigh by their pairs
    wanted = naive_loss(loss, logits, [batch.target for batch in batches])
    assert mean_loss(loss, logits, batches) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("unknown", [-1, -100])
def test_unknown_labels_count_for_nothing(unknown: int) -> None:
    known = FixedBatch(torch.zeros(2, 1), torch.tensor([0, 1]))
    more = FixedBatch(torch.zeros(3, 1), torch.tensor([0, unknown, 1]))
    logits = torch.tensor([[2.0, 0.0], [9.0, 9.0], [1.0, 0.0]])
    for loss in ("ce", "mcl", "kcl"):
        assert mean_loss(loss, [logits], [more]) == pytest.approx(mean_loss(loss, [logits[[0, 2]]], [known]))


def test_answers_are_the_pairs_they_speak_of() -> None:
    same = torch.full((3, 3), torch.nan)
    same[0, 1] = same[1, 0] = 1.0
    same[1, 2] = same[2, 1] = 0.0
    weight = torch.tensor([[0.0, 3.0, 0.0], [3.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    logits = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 3.0]])
    p = logits.double().softmax(1)
    agree, differ = -math.log((p[0] * p[1]).sum()), -math.log(1 - (p[1] * p[2]).sum())
    for weights, wanted in ((None, (agree + differ) / 2), (weight, (3 * agree + differ) / 4)):
        batch = FixedBatch(torch.zeros(3, 1), same, weights)
        assert mean_loss("mcl", [logits], [batch]) == pytest.approx(wanted, rel=1e-5)


def test_answers_below_the_diagonal_count() -> None:
    same = torch.full((3, 3), torch.nan)
    same[1, 0], same[1, 2] = 1.0, 0.0
    batch = FixedBatch(torch.zeros(3, 1), same)
    logits = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 3.0]])
    for loss, criterion in (("mcl", mcl), ("kcl", kcl)):
        assert mean_loss(loss, [logits], [batch]) == pytest.approx(float(criterion(logits, same)), rel=1e-5)


def test_chance_level_is_that_of_equal_outputs(batches: tuple[FixedBatch, ...]) -> None:
    pairs = sum(batch.count("mcl") for batch in batches)
    same = sum(int((batch.target[:, None] == batch.target).triu(1).sum()) for batch in batches)
    share = same / pairs
    assert chance_level("ce", 5, batches) == pytest.approx(math.log(5))
    assert chance_level("mcl", 5, batches) == pytest.approx(share * math.log(5) - (1 - share) * math.log(4 / 5))
    assert chance_level("kcl", 5, batches) == pytest.approx(4 * (1 - share))


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_network_without_finite_logits_has_no_loss(value: float, batches: tuple[FixedBatch, ...]) -> None:
    logits = [torch.zeros(len(batch.inputs), 3) for batch in batches]
    logits[1][0, 0] = value
    for loss in ("ce", "mcl", "kcl"):
        assert math.isnan(mean_loss(loss, logits, batches))


def test_what_cannot_be_computed_is_refused(batches: tuple[FixedBatch, ...]) -> None:
    assert check_losses(["mcl", "ce", "mcl"], batches) == ("mcl", "ce")
    with pytest.raises(InputError, match="No loss is given"):
        check_losses([], batches)
    with pytest.raises(InputError, match="There is no loss called 'hinge'; use ce, mcl, kcl"):
        check_losses(["mcl", "hinge"], batches)
    answers = FixedBatch(torch.zeros(2, 1), torch.tensor([[torch.nan, 1.0], [1.0, torch.nan]]))
    with pytest.raises(InputError, match="ce needs class labels"):
        check_losses(["ce"], [answers])
    silent = FixedBatch(torch.zeros(2, 1), torch.full((2, 2), torch.nan))
    with pytest.raises(InputError, match="mcl cannot be computed, because no pair is known"):
        check_losses(["mcl"], [silent])


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
