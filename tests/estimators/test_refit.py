"""A fit that raises or is interrupted leaves the estimator as it was, fitted or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from likewise import CategoryDiscoverer, InputError, PairClassifier, Pairs, SemiSupervisedClassifier, SimilarityNetwork
from likewise.training import loop

X, Y = make_blobs(200, n_features=4, centers=12, random_state=1, cluster_std=0.5)
FEW = np.where(np.arange(200) < 60, Y, -1)
PAIRS = Pairs.from_labels(Y, n=300)
OTHER = X * 100 + 7  # the same classes elsewhere: a form learned from these spoils what X gives
WIDER = np.hstack([X, X])


def discoverer() -> CategoryDiscoverer:
    return CategoryDiscoverer(3, similarity=SimilarityNetwork(epochs=1, refit=False), epochs=1)


Make = Callable[[], Any]
Call = Callable[[Any], object]

# what is made, a fit that succeeds, fits that are refused, a fit to be interrupted, and what a prediction is
CASES: dict[str, tuple[Make, Call, list[Call], Call, Call]] = {
    "PairClassifier": (
        lambda: PairClassifier(12, epochs=1, starts=1),
        lambda model: model.fit(X, Y),
        [
            lambda model: model.fit(OTHER, Y[:-1]),
            lambda model: model.fit(OTHER, pairs=PAIRS.select(np.arange(3))),
            lambda model: model.fit(WIDER, Y[:-1]),
            lambda model: model.partial_fit(X, Y[:-1]),
            lambda model: model.partial_fit(WIDER, Y[:-1]),
        ],
        lambda model: model.fit(OTHER, pairs=PAIRS),
        lambda model: model.predict_proba(X),
    ),
    "PairClassifier.partial_fit": (
        lambda: PairClassifier(12, epochs=1, starts=1),
        lambda model: model.partial_fit(X, Y),
        [lambda model: model.partial_fit(X, np.full(200, np.nan))],
        lambda model: model.partial_fit(X, Y),
        lambda model: model.predict_proba(X),
    ),
    "SemiSupervisedClassifier": (
        lambda: SemiSupervisedClassifier("supervised", epochs=1),
        lambda model: model.fit(X, FEW),
        [lambda model: model.fit(OTHER, FEW[:-1]), lambda model: model.fit(WIDER, np.full(200, -1))],
        lambda model: model.fit(OTHER, FEW),
        lambda model: model.predict_proba(X),
    ),
    "SimilarityNetwork": (
        lambda: SimilarityNetwork(epochs=1, refit=False),
        lambda model: model.fit(X, Y),
        [lambda model: model.fit(OTHER, Y[:-1]), lambda model: model.fit(WIDER, np.arange(200))],
        lambda model: model.fit(OTHER, Y),
        lambda model: model.similarity(X),
    ),
    "CategoryDiscoverer": (
        discoverer,
        lambda model: model.fit(X[Y >= 9], known=(X[Y < 9], Y[Y < 9])),
        [lambda model: model.fit(WIDER), lambda model: model.fit(OTHER, known=(OTHER, Y[:-1]))],
        lambda model: model.fit(X[Y < 3], known=(X[Y >= 3], Y[Y >= 3])),
        lambda model: model.predict_proba(X),
    ),
}


def interrupt_training(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Ctrl-C after so many steps from here."""
    real, steps = loop.train_step, iter(range(after))

    def step(*args: Any) -> Any:
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(loop, "train_step", step)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:The similarity looks useless")
def test_a_fitted_model_stays_as_it_was(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, fit, refused, stopped, predict = CASES[case]
    model = make()
    fit(model)
    before, attributes = predict(model), vars(model).copy()
    for call in refused:
        with pytest.raises(ValueError, match=r"\w"):
            call(model)
        assert vars(model) == attributes
        np.testing.assert_array_equal(predict(model), before)
    interrupt_training(monkeypatch, after=3)
    with pytest.raises(KeyboardInterrupt):
        stopped(model)
    assert vars(model) == attributes
    np.testing.assert_array_equal(predict(model), before)


@pytest.mark.parametrize("case", CASES)
def test_a_model_that_was_never_fitted_says_so(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, fit, refused, _, predict = CASES[case]
    for call in refused:
        model = make()
        with pytest.raises(ValueError, match=r"\w"):
            call(model)
        with pytest.raises(NotFittedError):
            predict(model)
    interrupt_training(monkeypatch, after=3)
    model = make()
    with pytest.raises(KeyboardInterrupt):
        fit(model)
    with pytest.raises(NotFittedError):
        predict(model)


def test_a_similarity_that_was_interrupted_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    network = SimilarityNetwork(epochs=1)
    with monkeypatch.context() as patch:
        interrupt_training(patch, after=3)
        with pytest.raises(KeyboardInterrupt):
            network.fit(X, Y)
    with pytest.raises(InputError, match="nothing to learn similarity from"):
        CategoryDiscoverer(3, similarity=network).fit(X)
