"""partial_fit: all classes are named, what was told before is kept, and an increment costs what is new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs

from likewise import InputError, PairClassifier, Pairs
from likewise.estimators.increments import REMEMBERED, Examples, Memory
from likewise.training import loop

X, Y = make_blobs(240, centers=4, random_state=3, cluster_std=0.5)
NAMES = np.array(["ant", "bee", "cat", "dog"])
PAIRS = Pairs.from_labels(Y, n=800)


def quick(**settings: Any) -> PairClassifier:
    return PairClassifier(**{"epochs": 6, "unlabelled": False, "starts": 1, **settings})


def some(first: int, last: int) -> Pairs:
    return PAIRS.select(np.arange(first, last))


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many items the batch of each step of training has."""
    counted: list[int] = []
    real = loop.train_step

    def step(job: Any, state: Any, batch: Any) -> Any:
        counted.append(len(batch.index))
        return real(job, state, batch)

    monkeypatch.setattr(loop, "train_step", step)
    return counted


@pytest.mark.parametrize("names", [np.arange(4), NAMES, NAMES.astype(object)], ids=["numbers", "text", "objects"])
def test_classes_that_come_one_after_another_are_all_named(names: Any) -> None:
    labels = names[Y]
    model = quick(epochs=10).partial_fit(X[Y < 2], labels[Y < 2], classes=names)
    assert model.classes_.tolist() == names.tolist()
    assert (model.naming_.columns >= 0).tolist() == [True, True, False, False]
    model.partial_fit(X[Y == 2], labels[Y == 2])
    assert (model.naming_.columns >= 0).tolist() == [True, True, True, False]
    model.partial_fit(X[Y == 3], labels[Y == 3])
    assert model.score(X, labels) > 0.95
    assert set(model.predict(X)) == set(names)


def test_a_class_joins_while_there_is_an_output_for_it(tmp_path: Path) -> None:
    model = quick(n_classes=3, epochs=10).fit(X[Y < 2], NAMES[Y[Y < 2]])
    model.partial_fit(X[Y == 2], NAMES[Y[Y == 2]])
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    with pytest.raises(InputError, match="There are 4 classes now, and the network has 3 outputs"):
        model.partial_fit(X[Y == 3], NAMES[Y[Y == 3]])
    assert model.score(X[Y < 3], NAMES[Y[Y < 3]]) > 0.95
    model.save(tmp_path)
    np.testing.assert_array_equal(PairClassifier.load(tmp_path).predict(X), model.predict(X))


def test_a_loaded_model_keeps_its_names(tmp_path: Path) -> None:
    quick().fit(X, NAMES[Y]).save(tmp_path)
    model = PairClassifier.load(tmp_path).partial_fit(X[Y < 2][:9], NAMES[Y[Y < 2][:9]])
    assert model.classes_.tolist() == NAMES.tolist()
    assert (model.naming_.columns >= 0).all()


@pytest.mark.parametrize("n", [25, 100])
def test_an_increment_of_answers_costs_what_is_new(n: int, steps: list[int]) -> None:
    model = quick(n_classes=4, epochs=1, held_out=0).fit(X, pairs=some(0, 200))
    before = len(steps)
    model.set_params(epochs=None).partial_fit(X, pairs=some(200, 200 + n))
    assert len(steps) - before == 10 * n // 25  # ten times each, 25 in a batch of 100 items
    assert max(steps[before:]) <= 100


@pytest.mark.parametrize("n", [50, 200])
def test_an_increment_of_labels_costs_what_is_new(n: int, steps: list[int]) -> None:
    model = quick(epochs=3).fit(X, Y)
    before = len(steps)
    model.partial_fit(X[:n], Y[:n])
    assert len(steps) - before == 3 * n // 50


def test_the_cost_does_not_grow_with_what_was_told(steps: list[int]) -> None:
    model = quick(n_classes=4, epochs=2, held_out=0).fit(X, pairs=some(0, 200))
    costs = []
    for k in range(4):
        before = len(steps)
        model.partial_fit(X, pairs=some(200 + 50 * k, 250 + 50 * k))
        costs.append(len(steps) - before)
    assert costs == [4] * 4


def test_new_answers_make_it_better_and_forget_nothing() -> None:
    model = quick(n_classes=4, held_out=0).partial_fit(X, pairs=some(0, 40))
    for k in range(40, 640, 200):
        model.partial_fit(X, pairs=some(k, k + 200))
    assert model.score(X, Y) > 0.95
    assert len(model.memory_["answers"].examples.targets) == 640


def test_one_answer_is_an_increment() -> None:
    model = quick(n_classes=4).fit(X, pairs=some(0, 400))
    before = model.network_
    model.partial_fit(X, pairs=some(400, 401))
    assert model.network_ is not before
    assert model.score(X, Y) > 0.9


def test_answers_about_few_items_do_not_drop_the_other_classes() -> None:
    model = quick(n_classes=4).fit(X, pairs=some(0, 400))
    rows = np.flatnonzero(Y == 0)[:6]
    model.partial_fit(X[rows], pairs=Pairs.from_labels(Y[rows]))
    assert len(model.classes_) == 4


def test_the_same_data_again_and_new_answers_with_a_run_folder(tmp_path: Path, steps: list[int]) -> None:
    def script() -> tuple[PairClassifier, list[int]]:
        model, counts = quick(n_classes=4, epochs=2, run=tmp_path), []
        for part in (some(0, 100), some(0, 100), some(100, 150), some(100, 150)):
            before = len(steps)
            model.partial_fit(X, pairs=part)
            counts.append(len(steps) - before)
        return model, counts

    model, counts = script()
    assert min(counts) > 0
    alone = quick(n_classes=4, epochs=2)
    for part in (some(0, 100), some(0, 100), some(100, 150), some(100, 150)):
        alone.partial_fit(X, pairs=part)
    np.testing.assert_array_equal(alone.predict_proba(X), model.predict_proba(X))
    again, counts = script()  # a script that was killed is run again: what is done is not done again
    assert counts == [0, 0, 0, 0]
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_contradictions_with_earlier_answers_are_repaired_with_a_warning() -> None:
    model = quick(n_classes=4, epochs=1, held_out=0).fit(X, pairs=some(0, 200))
    wrong = Pairs.from_arrays([(0, 1), (0, 1), (0, 2)], [1, 0, 1], weight=[0.5, 1, 1])
    with pytest.warns(UserWarning, match="contradict one another: 1 of 203"):
        model.partial_fit(X, pairs=wrong)


def test_labels_after_answers_give_names() -> None:
    model = quick(n_classes=4).fit(X, pairs=some(0, 400))
    model.partial_fit(X[:60], NAMES[Y[:60]])
    assert model.classes_.tolist() == NAMES.tolist()
    assert model.score(X, NAMES[Y]) > 0.95


REFUSED: dict[str, tuple[Any, str]] = {
    "another kind of label": (lambda m: m.partial_fit(X, NAMES[Y]), "y holds 'ant', and the classes so far are like 0"),
    "nothing new": (lambda m: m.partial_fit(X, pairs=Pairs.from_arrays([(1, 1)], [1])), "nothing new to learn from"),
    "other features": (lambda m: m.partial_fit(X[:, :1], Y), "features"),
    "answers about other items": (lambda m: m.partial_fit(X[:9], pairs=PAIRS), "not among the 9 items"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    model = quick(epochs=1).fit(X, Y)
    call, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        call(model)


def test_one_item_alone_is_refused(tmp_path: Path) -> None:
    quick(epochs=1).fit(X, Y).save(tmp_path)
    with pytest.raises(InputError, match="One item alone"):
        PairClassifier.load(tmp_path).partial_fit(X[:1], Y[:1])


def test_a_class_that_is_not_among_the_classes_is_refused() -> None:
    with pytest.raises(InputError, match="not among classes"):
        quick().partial_fit(X, Y, classes=[0, 1, 2])


def test_the_memory_is_bounded_and_holds_as_many_of_each_class() -> None:
    inputs = torch.arange(9000.0)[:, None]
    labels = np.where(np.arange(9000) < 8000, 0, 1 + np.arange(9000) % 2)
    memory = Memory.of(Examples.of_labels(inputs, labels, None), seed=0)
    assert len(memory.examples.inputs) == len(memory.examples.targets) == REMEMBERED
    np.testing.assert_array_equal(
        labels[memory.examples.inputs[memory.examples.index[:, 0], 0].long()], memory.examples.targets
    )
    assert np.bincount(memory.examples.targets).tolist() == [1000, 500, 500]
    later = Memory.of(Examples.of_labels(inputs + 9000, labels, None), seed=1, before=memory)
    assert len(later.examples.targets) == REMEMBERED
    assert 300 < int((later.examples.inputs < 9000).sum()) < 1300
