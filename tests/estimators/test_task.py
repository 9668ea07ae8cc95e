"""What is held out is as it was given: contradictions are repaired among the answers that are learned from alone."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.estimators.task import Task, answers_task
from likewise.pairs import Pairs

FLIPPED = 0.105


def task(n_items: int, n_answers: int, seed: int) -> tuple[Task, np.ndarray]:
    """A task out of answers of which some are flipped, and which of them are."""
    truth = Pairs.from_labels(np.arange(n_items) % 5, n=n_answers, random_state=seed)
    wrong = np.random.default_rng(seed).random(n_answers) < FLIPPED
    index = np.stack([truth.left, truth.right], axis=1)
    given = Pairs.from_arrays(index, np.where(wrong, 1 - truth.same, truth.same)).index(n_items)
    with pytest.warns(UserWarning, match="The answers contradict one another"):
        return answers_task(given, None, n_classes=5, noise=0, share=0.2, seed=seed), wrong


@pytest.mark.parametrize(("n_items", "n_answers"), [(40, 700), (300, 700)], ids=["whole items", "answers"])
def test_held_out_answers_are_wrong_as_often_as_all(
    n_items: int, n_answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("likewise.pairs.contradictions.LOOKS", 2_000_000)
    monkeypatch.setattr("likewise.pairs.contradictions.WORK", 5_000)
    wrong_held_out = n_held_out = 0
    for seed in range(4):
        found, wrong = task(n_items, n_answers, seed)
        assert len(found.held_out) > 0.05 * n_answers
        assert found.pairs.closure().n_contradicted == 0
        assert not set(found.held_out.lines) & set(found.pairs.lines)
        known = found.pairs.closure().answers_about(found.held_out.left, found.held_out.right)
        assert np.isnan(known).all()
        wrong_held_out += int(wrong[found.held_out.lines].sum())
        n_held_out += len(found.held_out)
    error = np.sqrt(FLIPPED * (1 - FLIPPED) / n_held_out)
    assert abs(wrong_held_out / n_held_out - FLIPPED) < 3 * error
