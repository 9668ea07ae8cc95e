"""What a trial is told: random pairs of training items, and the answers to them, of which some are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from likewise.datasets import DataSet
from likewise.pairs import Pairs
from likewise.paper.answers_trials import Annotator, Trial
from likewise.paper.experts import ask_experts


@dataclass(frozen=True)
class Drawn:
    pairs: Pairs
    wrong: NDArray[np.bool_]  # (m,) which answers are; of soft ones those on the wrong side of a half
    replaced: int = 0  # soft answers in whose place there are random numbers
    expert_shares: tuple[float, ...] = ()  # of the training items, that each expert gets right


def draw(trial: Trial, data: DataSet) -> Drawn:
    """The answers of experts or of a panel; or each flipped with the trial's probability."""
    labels = data.train.labels.numpy()
    if trial.experts:
        answers = ask_experts(data.train, trial.answers, trial.experts, trial.seed)
        pairs = answers.pairs
        wrong = (pairs.same > 0.5) != (labels[pairs.left] == labels[pairs.right])
        return Drawn(pairs, wrong, int(answers.replaced.sum()), answers.experts)
    pairs = Pairs.from_labels(labels, n=trial.answers, random_state=trial.seed)
    random = np.random.default_rng([trial.seed, trial.answers])
    if trial.annotators:
        return ask_panel(pairs, trial.annotators, random)
    wrong = random.random(len(pairs)) < trial.noise
    return Drawn(replace(pairs, same=np.where(wrong, 1 - pairs.same, pairs.same)), wrong)


def ask_panel(right: Pairs, annotators: Sequence[Annotator], random: np.random.Generator) -> Drawn:
    """Deal out the right answers evenly, each to one annotator, who flips it at the rate of its kind."""
    who = random.permutation(np.arange(len(right)) % len(annotators))
    false_different, false_same = (
        np.array(rates) for rates in zip(*((each.false_different, each.false_same) for each in annotators), strict=True)
    )
    wrong = random.random(len(right)) < np.where(right.same > 0.5, false_different[who], false_same[who])
    pairs = Pairs.from_arrays(
        np.stack([right.left, right.right], axis=1),
        np.where(wrong, 1 - right.same, right.same),
        annotator=np.array([each.name for each in annotators])[who],
    )
    return Drawn(pairs.index(right.n_items), wrong)
