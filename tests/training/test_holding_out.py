"""Answers held out: never one that follows from those kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from likewise import Pairs
from likewise.training import hold_out

LABELS = np.arange(600) % 6


@pytest.mark.parametrize("n", [300, 3000, 20000])
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_held_out_cannot_be_concluded_from_the_rest(n: int, seed: int) -> None:
    pairs = Pairs.from_labels(LABELS, n=n, random_state=seed)
    kept, held_out = hold_out(pairs, 0.1, seed)
    assert len(held_out) > 0.04 * n
    assert np.isnan(kept.closure().answers_about(held_out.left, held_out.right)).all()
    assert 0 < held_out.same.mean() < 1
    assert not set(zip(kept.left, kept.right, strict=True)) & set(zip(held_out.left, held_out.right, strict=True))


def test_sparse_answers_are_split_without_a_loss() -> None:
    pairs = Pairs.from_labels(LABELS, n=300)
    kept, held_out = hold_out(pairs, 0.1, 0)
    assert len(kept) + len(held_out) == 300


def test_dense_answers_lose_whole_items() -> None:
    pairs = Pairs.from_labels(LABELS[:60])  # all 1770 pairs: each follows from the others
    kept, held_out = hold_out(pairs, 0.2, 0)
    items = np.setdiff1d(pairs.items, kept.items)
    assert len(items) == 12
    assert (np.isin(held_out.left, items) | np.isin(held_out.right, items)).all()


def test_too_few_answers_are_all_kept() -> None:
    pairs = Pairs.from_labels(LABELS, n=50)
    kept, held_out = hold_out(pairs, 0.1, 0)
    assert len(kept) == 50
    assert len(held_out) == 0


def test_answers_of_one_kind_are_all_kept() -> None:
    pairs = Pairs.from_arrays(np.arange(400).reshape(-1, 2), np.zeros(200))
    assert len(hold_out(pairs, 0.2, 0).held_out) == 0


def test_the_same_seed_holds_out_the_same() -> None:
    pairs = Pairs.from_labels(LABELS, n=1000)
    lines = [hold_out(pairs, 0.1, seed).held_out.lines.tolist() for seed in (3, 3, 4)]
    assert lines[0] == lines[1] != lines[2]


@pytest.mark.parametrize("n", [1000, 20000])
def test_answers_of_weight_0_are_neither_held_out_nor_counted(n: int) -> None:
    pairs = Pairs.from_labels(LABELS, n=n)
    weight = (np.arange(n) % 4 == 0).astype(np.float32)
    kept, held_out = hold_out(replace(pairs, weight=weight), 0.1, 0)
    assert (held_out.weight > 0).all()
    assert 0.04 * n / 4 < len(held_out) <= 0.1 * n / 4 + 1
    alone = hold_out(pairs.select(weight > 0), 0.1, 0)
    assert len(alone.kept) == (kept.weight > 0).sum()
    assert alone.held_out.lines.tolist() == held_out.lines.tolist()
