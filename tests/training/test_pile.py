"""Distances between neighbours in a pile, against a loop over all of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from likewise.training import Pile


def test_spacing_is_the_median_distance_to_the_third_neighbour() -> None:
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
    mean, std = (0.5, 0.0, 0.0, 0.0), (1.0, 2.0, 1.0, 1.0)
    rows = ((x - torch.tensor(mean)) / torch.tensor(std)).double().numpy()
    third = [sorted(np.linalg.norm(row - other) for other in rows)[3] for row in rows]
    # torch takes the lower of the two in the middle
    assert Pile(x, mean, std).spacing(seed=0) == pytest.approx(sorted(third)[29], rel=1e-4)


def test_spacing_of_equal_items_is_zero_and_of_two_is_their_distance() -> None:
    assert Pile(torch.ones(9, 3)).spacing(seed=0) == pytest.approx(0, abs=1e-3)
    assert Pile(torch.tensor([[0.0], [2.0]])).spacing(seed=0) == pytest.approx(2)
