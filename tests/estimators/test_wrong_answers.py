"""Answers that may be wrong, in `fit`: each kind of input has a sensible result or one clear sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from likewise.errors import InputError
from likewise.estimators import PairClassifier
from likewise.estimators.wrong_answers import mixed_up
from likewise.pairs import Pairs

pytestmark = pytest.mark.filterwarnings("ignore:The answers contradict one another")

X, Y = make_blobs(200, centers=4, random_state=0, cluster_std=0.5)
MADE = Pairs.from_labels(Y, n=900)
ENDS, TRUE = np.stack([MADE.left, MADE.right], 1), MADE.same


def quick(**further: Any) -> PairClassifier:
    return PairClassifier(4, epochs=3, unlabelled=False, starts=1, **further)


def flipped(share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    wrong = np.random.default_rng(seed).random(len(TRUE)) < share
    return np.where(wrong, 1 - TRUE, TRUE), wrong


@pytest.mark.parametrize("noise", ["auto", "annotators"])
def test_wrong_answers_are_found_with_the_rates_of_who_gave_them(noise: str) -> None:
    random = np.random.default_rng(1)
    who = np.array(["ann", "bob", "carl"])[random.integers(3, size=900)]
    chance = random.random(900)
    said = np.where((who == "bob") & (TRUE == 1) & (chance < 0.3), 0, TRUE)  # bob calls pairs different too often
    said = np.where(who == "carl", 1 - said, said)
    model = quick(noise=noise).fit(X, pairs=Pairs.from_arrays(ENDS, said, annotator=who))
    assert model.score(X, Y) > 0.98
    assert model.posterior_ is not None
    rates = model.posterior_.rates
    place = [rates.annotators.index(name) for name in ("ann", "bob", "carl")]
    assert rates.false_different[place] == pytest.approx([0, 0.3, 1], abs=0.12)
    assert rates.false_same[place] == pytest.approx([0, 0, 1], abs=0.05)
    assert rates.reversed[place].tolist() == [False, False, True]
    assert ((model.p_wrong_ > 0.5) == (said != TRUE)).mean() > 0.99
    assert model.credibility_["supported"]


def test_wrong_answers_that_contradict_nothing_are_found() -> None:
    """Every item is in one answer, so that no answer bears on another."""
    order = np.random.default_rng(0).permutation(200)
    ends = order.reshape(100, 2)
    truth = Y[ends[:, 0]] == Y[ends[:, 1]]
    wrong = np.zeros(100, dtype=bool)
    wrong[[3, 50, 90]] = True
    model = quick().fit(X, pairs=Pairs.from_arrays(ends, truth != wrong).index(200))
    assert np.sort(np.argsort(-model.p_wrong_)[:3]).tolist() == [3, 50, 90]
    assert 0 < model.noise_ < 0.1


def test_pure_noise_is_said_and_nothing_is_claimed() -> None:
    said = np.random.default_rng(3).random(900) < 0.5
    model = quick().fit(X, pairs=Pairs.from_arrays(ENDS, said))
    assert model.credibility_["supported"] is False
    assert model.outliers_.tolist() == []


def half_empty() -> Pairs:
    return Pairs.from_arrays(ENDS, flipped(0.05)[0], annotator=np.where(np.arange(900) % 2, "ann", ""))


def one_says_same() -> Pairs:
    who = np.where(np.arange(900) < 700, "ann", "yes")
    return Pairs.from_arrays(ENDS, np.where(who == "yes", 1, TRUE), annotator=who)


def zero_weights() -> Pairs:
    said, wrong = flipped(0.3)
    return Pairs.from_arrays(ENDS, said, weight=np.where(wrong, 0.0, 1.0))


CASES = {
    "a column of annotators that is half empty": (half_empty, ("ann", "")),
    "one annotator": (lambda: Pairs.from_arrays(ENDS, flipped(0.05)[0], annotator=["ann"] * 900), ("ann",)),
    "one who always says same": (one_says_same, ("ann", "yes")),
    "weights of zero": (zero_weights, ("",)),
    "a thousand annotators with one answer": (
        lambda: Pairs.from_arrays(ENDS, flipped(0.1)[0], annotator=[f"a{i}" for i in range(900)]),
        tuple(f"a{i}" for i in range(900)),
    ),
    "soft answers": (lambda: Pairs.from_arrays(ENDS, np.where(flipped(0.1)[0] > 0.5, 0.9, 0.15)), ("",)),
}


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_answers_has_a_sensible_result(case: str) -> None:
    make, annotators = CASES[case]
    pairs = make()
    model = quick().fit(X, pairs=pairs)
    assert model.score(X, Y) > 0.97
    rates = model.posterior_.rates
    assert sorted(rates.annotators) == sorted(annotators)
    wrong = ((pairs.same > 0.5) != (TRUE > 0.5))[pairs.weight > 0]
    assert ((model.p_wrong_ > 0.5)[pairs.weight > 0] == wrong).mean() > 0.97
    if case == "one who always says same":
        assert rates.random[rates.annotators.index("yes")]
    if case == "a thousand annotators with one answer":
        assert rates.false_same.max() < 0.5  # one answer does not make anybody a liar


def test_soft_answers_outside_the_unit_interval_are_refused() -> None:
    with pytest.raises(InputError, match=r"same must be between 0 and 1.*got '?1\.2"):
        Pairs.from_arrays(ENDS, np.where(TRUE > 0.5, 1.2, 0.1))


def test_weights_that_are_all_zero_are_one_sentence() -> None:
    with pytest.raises(InputError, match=r"^0 answers about different items cannot tell \d classes apart; give"):
        quick().fit(X, pairs=Pairs.from_arrays(ENDS, TRUE, weight=np.zeros(900)))


def test_an_item_of_no_class_is_said_to_be_one() -> None:
    """Item 0 is called different from every other; it lies among those of its class all the same."""
    others = np.arange(1, 61)
    ends = np.concatenate([ENDS[(ENDS != 0).all(axis=1)], np.stack([np.zeros(60, int), others], 1)])
    said = (Y[ends[:, 0]] == Y[ends[:, 1]]) & (ends[:, 0] > 0)
    model = quick().fit(X, pairs=Pairs.from_arrays(ends, said).index(200))
    assert model.outliers_.tolist() == [0]


def test_classes_are_counted_by_those_who_can_be_believed() -> None:
    """With two of three annotators guessing or reversed, plain counting finds another number."""
    random = np.random.default_rng(0)
    who = np.array(["ann", "guess", "reversed"])[random.integers(3, size=900)]
    said = np.select([who == "ann", who == "guess"], [TRUE, random.random(900) < 0.5], 1 - TRUE)
    pairs = Pairs.from_arrays(ENDS, said, annotator=who).index(200)
    model = PairClassifier(epochs=2, unlabelled=False, starts=1).fit(X, pairs=pairs)
    assert model.n_outputs_ == 4


def test_classes_that_are_mixed_up_are_named() -> None:
    pair = np.sort(Y[ENDS], axis=1)
    mixed = ((pair == [1, 3]).all(axis=1)) & (np.random.default_rng(0).random(900) < 0.5)
    model = PairClassifier(4, unlabelled=False, noise="confusion").fit(X, pairs=Pairs.from_arrays(ENDS, TRUE + mixed))
    assert model.score(X, Y) > 0.98
    outputs = model.output_of_each(X)
    (one, other, share), *_ = mixed_up(model.confusion_, model.outputs_)
    assert {one, other} == {int(outputs[Y == 1][0]), int(outputs[Y == 3][0])}
    assert share == pytest.approx(0.5, abs=0.12)


def test_an_increment_counts_by_the_rates_of_who_gave_it(tmp_path: Any) -> None:
    who = np.where(np.arange(900) % 3 == 0, "reversed", "ann")
    pairs = Pairs.from_arrays(ENDS, np.where(who == "reversed", 1 - TRUE, TRUE), annotator=who).index(200)
    model = quick().fit(X, pairs=pairs)
    model.save(tmp_path)
    again = PairClassifier.load(tmp_path)
    new = pairs.select(np.flatnonzero(who == "reversed")[:60])
    for one in (model, again):
        one.partial_fit(X, pairs=new)
        assert one.score(X, Y) > 0.97


@pytest.mark.parametrize("noise", ["always", 0.5, -0.1, None])
def test_other_kinds_of_noise_are_refused(noise: Any) -> None:
    with pytest.raises(InputError, match="noise must be 'auto', 'annotators', 'confusion', 'learn' or a rate"):
        quick(noise=noise).fit(X, pairs=MADE)
