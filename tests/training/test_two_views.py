"""Which rows are augmented gently and which strongly."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from likewise.datasets import Jitter, Strong
from likewise.distributed import World, shares, sharing
from likewise.training import Pile
from likewise.training.two_views import NOISE, TwoViews


def add(number: float):  # type: ignore[no-untyped-def]
    def augment(inputs: Tensor, generator: torch.Generator) -> Tensor:
        return inputs + number

    return augment


@pytest.mark.parametrize("gentle", [1.0, 0.0])
def test_labelled_rows_and_the_first_half_gently_and_the_second_half_strongly(gentle: float) -> None:
    views = TwoViews(add(gentle) if gentle else None, add(100.0), labelled=2)
    changed = views(torch.zeros(8, 3), torch.Generator())
    assert changed[:, 0].tolist() == [gentle] * 5 + [100.0] * 3


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_rank_augments_its_rows_as_they_are_in_the_whole_batch(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "world", lambda: World(rank, 3))
    views = TwoViews(add(1.0), add(100.0), labelled=2)
    with sharing(11) as own:
        changed = views(torch.zeros(own.stop - own.start, 3), torch.Generator())
    assert changed[:, 0].tolist() == ([1.0] * 6 + [100.0] * 5)[own.rows]


def test_what_is_strong_depends_on_the_items() -> None:
    generator = torch.Generator().manual_seed(0)
    images = Pile(torch.full((6, 1, 8, 8), 100, dtype=torch.uint8), augment=None)
    views = TwoViews.of(images, labelled=0)
    assert views.strong == Strong(None)
    changed = views(images.inputs, generator)
    assert torch.equal(changed[:3], images.inputs[:3])
    assert (changed[3:] != 100).any()
    features = Pile(torch.zeros(4, 2), mean=(0.0, 0.0), std=(1.0, 5.0))
    assert TwoViews.of(features, 1).strong == Jitter(NOISE, (1.0, 5.0))
    assert TwoViews.of(Pile(torch.zeros(4, 2)), 1).strong == Jitter(NOISE, (1.0, 1.0))
