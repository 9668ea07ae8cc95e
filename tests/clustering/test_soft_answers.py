"""What the methods with soft constraints have in common: answers that contradict one another, seeds, and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from likewise import InputError, Pairs
from likewise.clustering import METHODS

SOFT = ["skms", "skkm", "sklr", "csp", "cosc", "cecm"]

random = np.random.default_rng(0)
y = np.repeat(np.arange(3), 15)
X = np.array([[0, 0], [6, 0], [0, 6]])[y] + random.normal(0, 1, (45, 2))
left, right = np.triu_indices(45, 1)
wrong = random.random(len(left)) < 0.1
noisy = Pairs.from_arrays(np.stack([left, right], 1), (y[left] == y[right]) ^ wrong)


def make(name: str, **arguments: Any) -> Any:
    return METHODS[name](n_clusters=3, **arguments)


@pytest.mark.parametrize("name", SOFT)
def test_contradictions_are_accepted(name: str) -> None:
    assert noisy.closure().n_contradicted > 100
    assert adjusted_rand_score(y, make(name).fit(X, pairs=noisy).labels_) > 0.9


@pytest.mark.parametrize("name", SOFT)
def test_contradictions_are_refused_on_request(name: str) -> None:
    with pytest.raises(InputError, match="The answers contradict one another"):
        make(name, contradictions="refuse").fit(X, pairs=noisy)


@pytest.mark.parametrize("name", [*SOFT, "lsc", "lpnmf"])
def test_the_same_seed_gives_the_same(name: str) -> None:
    items = X - X.min()
    np.testing.assert_array_equal(
        make(name).fit(items, pairs=noisy).labels_, make(name).fit(items, pairs=noisy).labels_
    )


@pytest.mark.parametrize("name", SOFT)
def test_an_answer_of_little_weight_is_not_heeded(name: str) -> None:
    right_ones = (y[left] == y[right]).astype(float)
    weights = np.where(wrong, 1e-6, 1.0)
    weighted = Pairs.from_arrays(np.stack([left, right], 1), np.where(wrong, 1 - right_ones, right_ones), weights)
    assert adjusted_rand_score(y, make(name).fit(X, pairs=weighted).labels_) > 0.9


@pytest.mark.parametrize("name", SOFT)
def test_what_is_no_pairs(name: str) -> None:
    with pytest.raises(InputError, match="pairs must be a Pairs, got list"):
        make(name).fit(X, pairs=[(0, 1)])
