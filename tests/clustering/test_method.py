"""Every hyperparameter of every method: what it cannot be is refused in one sentence, before anything is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from likewise import InputError, Pairs
from likewise.clustering import METHODS, check_hyperparameters

NAN, INF = float("nan"), float("inf")
NO_NUMBERS = ["1", NAN, INF, -INF, True, (1.0,), 1j]
NO_COUNTS = [0, -1, 2.0, None, *NO_NUMBERS]
WITH_NONE = [value for value in NO_COUNTS if value is not None]
NOT_ABOVE_0 = [0, -0.5, None, *NO_NUMBERS]
BELOW_0 = [-1, -1e-9, None, *NO_NUMBERS]
NO_SHARES = [0.0, 1.001, *NOT_ABOVE_0]
NO_CHOICES = ["", "Accept", "round", None, 1, True, ["accept"]]
EVERYWHERE: dict[str, list[Any]] = {
    "n_clusters": NO_COUNTS,
    "contradictions": NO_CHOICES,
    "random_state": [-1, 2**32, 1.0, "0", True, np.random.default_rng(0)],
    "n_init": NO_COUNTS,
    "max_iter": NO_COUNTS,
    "max_steps": NO_COUNTS,
    "tol": BELOW_0,
    "early_stopping": WITH_NONE,
    "neighbours": NO_COUNTS,
    "neighbour": NO_COUNTS,
    "landmarks": NO_COUNTS,
    "weight": BELOW_0,
    "smoothness": BELOW_0,
    "gamma": NOT_ABOVE_0,
    "energy": NO_SHARES,
    "metric": NO_CHOICES,
    "prior": NO_CHOICES,
    "focal_sets": NO_CHOICES,
    "shared": [0, 1, "True", None],
    "alpha": BELOW_0,
    "xi": [-0.1, 1.0, *BELOW_0],
    "rho": NOT_ABOVE_0,
    "strictness": [1.0, 2, *NO_NUMBERS],
    "n_starts": [-1, 2.0, None, *NO_NUMBERS],
    "max_dead_ends": [-1, 2.0, None, *NO_NUMBERS],
    "penalty": [-1.0, *NO_NUMBERS],
    "bounds": [5, (1.0,), (1.0, 2.0, 3.0), (0.0, 1.0), (1.0, NAN), ("1", "2"), "12", {1.0, 2.0}],
}
HERE: dict[tuple[str, str], list[Any]] = {  # where the name is the same, and what it may be is not
    ("cop-k-means", "contradictions"): [*NO_CHOICES, "accept"],
    ("mmc", "regularisation"): BELOW_0,
    ("mpck-means", "regularisation"): NOT_ABOVE_0,
    ("sklr", "rho"): [0.999, *NOT_ABOVE_0],
    ("skms", "n_clusters"): WITH_NONE,
    ("skms", "neighbours"): WITH_NONE,
}
PLACES = [(method, name) for method, kind in METHODS.items() for name in kind().get_params()]
X = np.arange(24.0).reshape(8, 3) ** 1.5
PAIRS = Pairs.from_links([(0, 1), (4, 5)], [(0, 4), (1, 7)])


@pytest.mark.parametrize(("method", "name"), PLACES)
def test_what_a_hyperparameter_cannot_be(method: str, name: str) -> None:
    kind = METHODS[method]
    for value in HERE.get((method, name)) or EVERYWHERE[name]:
        model = kind(**{"n_clusters": 2, name: value})
        with pytest.raises(InputError, match=f"^{name} of {kind.__name__} must be .*, got .*\\.$") as refused:
            model.fit(X, pairs=PAIRS)
        assert repr(value) in str(refused.value)
        assert not [key for key in vars(model) if key.endswith("_")]


@pytest.mark.parametrize("method", METHODS)
def test_numbers_of_numpy_are_numbers(method: str) -> None:
    defaults = METHODS[method]().get_params()
    whole = {name: np.int64(value) for name, value in defaults.items() if type(value) is int}
    real = {name: np.float32(value) for name, value in defaults.items() if type(value) is float}
    check_hyperparameters(METHODS[method](**defaults | whole | real))


LIMITS = [(name, limit) for name, limit in PLACES if limit in ("max_iter", "max_steps") and name != "lpnmf"]


@pytest.mark.parametrize(("method", "limit"), LIMITS)
def test_a_limit_that_ends_the_search_is_reported(method: str, limit: str) -> None:
    random = np.random.default_rng(0)
    items, y = random.normal(size=(60, 3)), random.integers(0, 3, 60)
    model = METHODS[method](n_clusters=3, **{limit: 1})
    with pytest.warns(ConvergenceWarning, match=f"{type(model).__name__} was stopped by {limit}=1 before it converged"):
        model.fit(items, pairs=Pairs.from_labels(y, n=150))
    assert model.n_iter_ == 1
    assert set(model.labels_.tolist()) == set(range(len(set(model.labels_.tolist()))))
