"""What a learner says in classes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.reporting import Learner, find_disagreements

Make = Callable[..., Learner]


def test_predictions_are_classes(learner: Make) -> None:
    assert learner([0, 1, 2, 0], [0] * 4, [2, -1, 0], 3).predictions.tolist() == [2, -1, 0, 2]


def test_learners_agree_on_classes_not_on_outputs(learner: Make) -> None:
    labels = [0, 1, 2, 0]
    first = learner([0, 1, 2, 0], labels, [2, 1, 0], 3)
    second = learner([2, 1, 1, 2], labels, [0, 1, 2], 3, name="CE")
    third = learner([2, 0, 0, 2], labels, [0, 1, 2], 3, name="KCL")
    assert find_disagreements([first, second]) == [2]
    assert find_disagreements([first, second, third]) == [1, 2]
    assert find_disagreements([first]) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"matching": np.array([0, 1])}, "MCL: confusion must have one row for each of the 2 outputs"),
        ({"probabilities": np.ones(3)}, "got 4 and 3"),
        ({"outputs": np.array([0, 1, 2, 3])}, "MCL: outputs must be between 0 and 2"),
        ({"outputs": np.array([0, 1, 2, -1])}, "MCL: outputs must be between 0 and 2"),
    ],
)
def test_what_does_not_fit_is_refused(learner: Make, changes: dict[str, Any], message: str) -> None:
    sound = learner([0, 1, 2, 0], [0] * 4, [2, 1, 0], 3)
    with pytest.raises(InputError, match=message):
        replace(sound, **changes)
