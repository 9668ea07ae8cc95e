"""The running confusion matrix against a plain double loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from likewise.errors import InputError
from likewise.training.tally import Tally


def test_sums_equal_a_plain_loop_over_items() -> None:
    generator = torch.Generator().manual_seed(0)
    tally, expected, losses = Tally(n_classes=3), np.zeros((5, 3), dtype=np.int64), []
    for size in (7, 4, 1):
        logits = torch.randn(size, 5, generator=generator)
        labels = torch.randint(-1, 3, (size,), generator=generator)
        loss = float(torch.rand((), generator=generator))
        tally.add(loss, logits, labels)
        losses += [loss] * size
        for row, label in zip(logits.tolist(), labels.tolist(), strict=True):
            if label >= 0:
                expected[row.index(max(row)), label] += 1
    assert np.array_equal(tally.confusion.numpy(), expected)
    assert tally.loss == pytest.approx(sum(losses) / 12, rel=1e-14)
    assert tally.items == 12


def test_accuracy_is_of_the_best_matching() -> None:
    tally = Tally(n_classes=2)
    tally.add(0.0, torch.eye(3)[[2, 2, 2, 0]], torch.tensor([0, 0, 1, 1]))  # output 2 is class 0, output 0 is class 1
    assert tally.accuracy() == 0.75


def test_without_known_classes_there_is_no_accuracy() -> None:
    unknown, none = Tally(n_classes=2), Tally(n_classes=0)
    for tally in (unknown, none):
        tally.add(1.0, torch.eye(3), torch.tensor([-1, -1, -1]))
        assert math.isnan(tally.accuracy())
    assert unknown.confusion.shape == (3, 2)
    assert none.confusion.shape == (3, 0)


def test_a_label_outside_the_classes_is_refused() -> None:
    with pytest.raises(InputError, match="Label 2 is outside the 2 classes"):
        Tally(n_classes=2).add(0.0, torch.eye(2), torch.tensor([0, 2]))
