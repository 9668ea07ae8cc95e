"""A walk among all items of a table: what is near, how groups spread, and where answers turn their borders."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import make_moons

from likewise.clustering.constraints import read_constraints
from likewise.clustering.linkage import Odds
from likewise.pairs import Pairs
from likewise.training import NetworkInputs, neighbourhood
from likewise.training.neighbourhood import Neighbourhood, room_for

X, Y = make_moons(600, noise=0.05, random_state=0)
PILE = NetworkInputs(torch.from_numpy(X.astype(np.float32)), mean=(0.5, 0.25), std=(2.0, 0.5))
SOME = np.arange(0, 600, 3)


@pytest.fixture(scope="module")
def around() -> Neighbourhood:
    return Neighbourhood.of(PILE, np.arange(500), 0)


def odds(pairs: Pairs) -> Odds:
    return Odds.of(read_constraints(pairs, len(SOME)))


def test_the_nearest_items_are_near(around: Neighbourhood) -> None:
    for item in (0, 7, 499):
        distance = np.array([np.hypot(*(X[item] - other)) for other in X[:500]])
        distance[item] = np.inf
        assert set(around.near[item].tolist()) == set(np.argsort(distance)[:10].tolist())


def test_a_batch_has_a_neighbour_of_each_item_and_one_outside_has_itself(around: Neighbourhood) -> None:
    index = torch.tensor([3, 599, 42])
    inputs = around.neighbours(PILE)(index)
    assert torch.allclose(inputs[1], (PILE.inputs[599] - torch.tensor([0.5, 0.25])) / torch.tensor([2.0, 0.5]))
    for row, item in ((0, 3), (2, 42)):
        original = inputs[row] * torch.tensor([2.0, 0.5]) + torch.tensor([0.5, 0.25])
        assert any(torch.allclose(original, PILE.inputs[near], atol=1e-6) for near in around.near[item])


def test_groups_of_some_items_spread_along_the_items() -> None:
    """Two moons, which no line parts: a walk among neighbours stays on its moon."""
    everywhere = Neighbourhood.of(PILE, np.arange(600), 0)
    known = np.eye(2)[Y[SOME]]
    spread = everywhere.spread(SOME, known, odds(Pairs.from_labels(Y[SOME], n=30)), 0.01, 0)
    assert spread.shape == (600, 2)
    assert (spread.argmax(1) == Y).mean() > 0.99


def test_answers_turn_a_border_and_leave_one_that_they_have_nothing_against() -> None:
    """Groups that end in the middle of a moon, until answers out of fold speak against it."""
    everywhere = Neighbourhood.of(PILE, np.arange(600), 0)
    askew = np.eye(2)[np.where(X[SOME, 0] > 0.5, 1, Y[SOME])]
    assert 0.6 < (askew.argmax(1) == Y[SOME]).mean() < 0.95
    right = everywhere.spread(SOME, askew, odds(Pairs.from_labels(Y[SOME], n=400)), 0.01, 0)
    assert (right.argmax(1) == Y).mean() > 0.97
    as_they_are = everywhere.spread(SOME, askew, odds(Pairs.from_labels(askew.argmax(1), n=400)), 0.01, 0)
    assert (as_they_are.argmax(1)[SOME] == askew.argmax(1)).mean() > 0.95


def test_a_walk_has_room_for_vectors_that_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert room_for(PILE) == 600
    assert room_for(NetworkInputs(torch.zeros(5, 1, 4, 4, dtype=torch.uint8))) == 0
    monkeypatch.setattr(neighbourhood, "ITEMS", 200)
    assert room_for(PILE) == 200
    monkeypatch.setattr(neighbourhood, "MOST_NUMBERS", 100)
    assert room_for(PILE) == 50
