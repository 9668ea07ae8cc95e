"""What trials are told: the answers of a panel at the rates of each, and the soft answers of experts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from likewise.datasets import DataSet, load
from likewise.paper import experts
from likewise.paper.answers import flattened
from likewise.paper.answers_draw import draw
from likewise.paper.answers_trials import Trial, answers_recipes, select_expert_trials, select_noise_trials
from likewise.paper.experts import ask_experts, seen_items


@pytest.fixture(scope="module")
def digits() -> DataSet:
    return load("digits")


def test_a_panel_shares_the_pairs_and_is_wrong_at_the_rates_of_each(digits: DataSet) -> None:
    (trial,) = select_noise_trials("digits", panel="unequal", model="none", seed=3)
    trial = replace(trial, answers=40_000)
    drawn = draw(trial, digits)
    labels, pairs = digits.train.labels.numpy(), drawn.pairs
    truth = labels[pairs.left] == labels[pairs.right]
    assert np.array_equal(drawn.wrong, (pairs.same > 0.5) != truth)
    assert set(pairs.same) == {0.0, 1.0}
    assert pairs.annotator is not None
    assert np.bincount(pairs.annotator).tolist() == [10_000] * 4
    for annotator in trial.annotators:
        own = pairs.annotator == pairs.annotators.index(annotator.name)
        for which, rate in ((truth, annotator.false_different), (~truth, annotator.false_same)):
            share, n = drawn.wrong[own & which].mean(), (own & which).sum()
            assert abs(share - rate) < 4 * np.sqrt(rate * (1 - rate) / n)
    law = draw(replace(trial, model="law"), digits)
    assert np.array_equal(law.pairs.same, pairs.same)


def test_the_same_pairs_whoever_answers(digits: DataSet) -> None:
    panel = draw(select_noise_trials("digits", panel="one-random", model="none")[0], digits).pairs
    alone = draw(Trial(answers_recipes()["digits"], 3000, noise=0.1), digits).pairs
    assert np.array_equal(panel.left, alone.left)
    assert np.array_equal(panel.right, alone.right)


def test_an_expert_answers_as_its_probabilities_say(digits: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    flat = flattened(digits).train
    logits = 4 * torch.randn(len(flat), 10, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(experts, "train_expert", lambda *_, **__: torch.nn.Linear(64, 10))
    monkeypatch.setattr(experts, "predict_logits", lambda *_: logits)
    answers = ask_experts(flat, 2000, 1, seed=5)
    p = logits.double().softmax(1)
    pairs = answers.pairs
    own = np.array([float(p[i] @ p[j]) for i, j in zip(pairs.left, pairs.right, strict=True)])
    assert 540 < answers.replaced.sum() < 660
    np.testing.assert_allclose(pairs.same[~answers.replaced], own[~answers.replaced], atol=1e-5)
    random = np.sort(pairs.same[answers.replaced])
    assert np.abs(random - np.linspace(0, 1, len(random))).max() < 0.08  # uniform
    assert pairs.annotators == ()
    assert answers.experts == (float((logits.argmax(1) == flat.labels).double().mean()),)


def test_experts_know_what_they_saw(digits: DataSet) -> None:
    labels, random = np.repeat(np.arange(10), 6000), np.random.default_rng(0)
    one = seen_items(labels, np.arange(10), 1, random)
    assert np.bincount(labels[one]).tolist() == [60] * 10
    of_three = seen_items(labels, np.array([4, 5, 6]), 3, random)
    assert np.bincount(labels[of_three]).tolist() == [1, 1, 1, 1, 600, 600, 600, 1, 1, 1]

    (trial,) = select_expert_trials("mnist", experts=3)
    drawn = draw(replace(trial, answers=900), flattened(digits))
    assert drawn.pairs.annotator is not None
    assert np.bincount(drawn.pairs.annotator).tolist() == [300] * 3
    assert all(0.2 < share < 0.7 for share in drawn.expert_shares)  # the classes that each knows, and few others
    assert 0 < drawn.replaced < 900
    again = draw(replace(trial, answers=900), flattened(digits))
    assert np.array_equal(again.pairs.same, drawn.pairs.same)


def test_an_expert_learns_from_its_few_labels(digits: DataSet) -> None:
    state = torch.random.get_rng_state()
    answers = ask_experts(flattened(digits).train, 500, 1, seed=0)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert answers.experts[0] > 0.4  # from 14 labels, one or two of a class
