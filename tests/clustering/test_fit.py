"""What every method's fit has in common: all or nothing, and answers about the items it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from likewise import InputError, Pairs
from likewise.clustering import METHODS

random = np.random.default_rng(0)
Y = np.arange(30) % 3
X = abs(random.normal(size=(30, 4))) + 8 * np.eye(3, 4)[Y]
FEW = Pairs.from_labels(np.where(np.arange(30) < 20, Y, -1))
IDS = [f"item {row}" for row in random.permutation(30)]
PAIRS = Pairs.from_labels(Y, n=60)
BY_ID = Pairs.from_arrays(np.array(IDS)[np.stack([PAIRS.left, PAIRS.right], 1)], PAIRS.same)


def make(name: str) -> Any:
    return METHODS[name](n_clusters=3)


def same_values(some: dict[str, Any], others: dict[str, Any]) -> bool:
    return some.keys() == others.keys() and all(some[name] is others[name] for name in some)


@pytest.mark.parametrize("name", METHODS)
def test_a_fit_that_raises_changes_nothing(name: str) -> None:
    fresh, method = make(name), make(name).fit(X, pairs=PAIRS)
    before, unfitted = vars(method).copy(), vars(fresh).copy()
    for model, kept in ((method, before), (fresh, unfitted)):
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.full((30, 9), np.nan))
        if model.uses_pairs:
            with pytest.raises(InputError, match="about 30 items, and X has 20"):
                model.fit(np.zeros((20, 9)), pairs=FEW)
        assert same_values(vars(model), kept)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.uses_pairs])
def test_answers_by_id(name: str) -> None:
    by_row = make(name).fit(X, pairs=PAIRS).labels_
    np.testing.assert_array_equal(make(name).fit(X, pairs=BY_ID.index(IDS)).labels_, by_row)
    np.testing.assert_array_equal(make(name).fit(pd.DataFrame(X, index=IDS), pairs=BY_ID).labels_, by_row)
    with pytest.raises(InputError, match="have no ids"):
        make(name).fit(X, pairs=BY_ID)
