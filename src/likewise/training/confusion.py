"""A stage that learns which classes people mix up, together with the network (`criteria/wrong_answers.py`)."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from numpy.typing import NDArray

from likewise.supervision import ConfusedNetwork, Known, confusion_objective
from likewise.training.judging import inner, rate_of
from likewise.training.orders import AnswerOrder
from likewise.training.precision import Objective

if TYPE_CHECKING:
    from likewise.training.answers import Learner, Stage

STEPS, VISITS = 640, 4  # at least: steps, and visits of each answer
CHANCE = 2.0  # standard errors


def learn_confusion(
    learner: Learner, first: Stage, known: Known, *, rate: float
) -> tuple[Stage, NDArray[np.float64] | None]:
    """Learn which classes are mixed up, and the network with it; B is None where held-out answers speak against it."""
    settings, pairs = learner.settings, learner.pairs
    model = copy.deepcopy(inner(first.model))
    confused = ConfusedNetwork(model, learner.pile.logits(model, pairs.items[:1]).shape[1])
    ends = torch.from_numpy(np.stack([pairs.left, pairs.right], axis=1))  # (m, 2)
    order = AnswerOrder(ends, len(learner.pile.inputs), settings.batch_size, seed=settings.seed)
    steps = max(STEPS, math.ceil(VISITS * len(pairs) / order.n_pairs))
    objective = cast(Objective, confusion_objective(known, len(pairs)))
    stage = learner.train(confused, objective, order, steps, "confusion", "classes mixed up", first, rate=rate)
    wrapped = learner.answering(model, rate_of(first.model, learner.flip))
    if learner.gain(wrapped, first.model) <= -CHANCE:
        return first, None
    return stage._replace(model=wrapped), confused.confusion.detach().double().numpy()
