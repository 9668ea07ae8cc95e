"""The network and the answers judge each other in turns.

    classes of items, how likely each answer is right, rates of annotators  <-  all answers, the network's outputs
    the network                                                             <-  these classes

The first is the joint posterior of `likewise.pairs.posterior`, with the outputs as unary terms, tempered so that
answers that the network was not taught are most likely. So wrong answers show that contradict no other answer. Pair by
pair (`joint=False`) the network learns from the answers themselves, each weighed by its annotator's rates.
Where people mix classes up, `learn_confusion` learns which (`criteria/wrong_answers.py`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from torch import nn

from likewise.criteria import evidence_mcl, mcl, noisy_mcl
from likewise.distributed import agreed, from_first
from likewise.pairs import Pairs, Posterior, credibility, evidence
from likewise.pairs.posterior import infer
from likewise.pairs.rates import PRIOR_ANSWERS, PRIOR_WRONG
from likewise.supervision import (
    AnsweringNetwork,
    AnswerKnowledge,
    ConfusedNetwork,
    EvidenceKnowledge,
    Known,
    confusion_objective,
)
from likewise.training.forward import Objective
from likewise.training.grouping import Grouping, among, items_to_look_at
from likewise.training.inputs import NetworkInputs
from likewise.training.orders import AnswerOrder

if TYPE_CHECKING:
    from likewise.training.answers import Learner, Stage

Floats = NDArray[np.float64]

TURNS = 3  # at most
SETTLED = 0.001  # the share of the items whose class may still change
RATES_SETTLED = 0.005  # likewise, the change of the rates, where pairs are judged one by one
OUTSIDE = 0.01  # the share of items that are in none of the classes
USUAL_TEMPERATURE, SPREAD = np.log(1.5), 0.5  # of the logarithm of the temperature, where few answers tell it
MOST_ANSWERS = 20_000  # that tell it
FEWEST_TO_CALIBRATE = 30  # held-out answers
MOST_JUDGED = 200_000  # answers that are judged together before a random start
CHANCE = 2.0  # standard errors
ANSWERS = 2**18  # whose losses are computed at once
LEAST_DOUBT = 0.05  # in every held-out answer: one that a network denies for sure must not outweigh all others
STEPS, VISITS = 640, 4  # of the confusion stage, at least: steps, and visits of each answer


class ErrorRates(NamedTuple):
    """How often each annotator is wrong, (A,) each."""

    false_different: NDArray[np.float64]
    false_same: NDArray[np.float64]


def noise_of(network: nn.Module, noise: float | None) -> float:
    """The rate of wrong answers that a network has learned, or the given one."""
    return float(network.noise.detach()) if isinstance(network, AnsweringNetwork) else float(noise or 0.0)


def answer_loss(
    network: nn.Module, pile: NetworkInputs, pairs: Pairs, noise: float | None = 0.0, *, evidence: bool = False
) -> tuple[float, float]:
    """The mean MCL of answers, and the share of them that the network denies."""
    losses, denied = answer_losses(network, pile, pairs, noise, evidence)
    return float(np.average(losses, weights=pairs.weight)), float(denied[pairs.weight > 0].mean())


def answer_losses(
    network: nn.Module, pile: NetworkInputs, pairs: Pairs, noise: float | None = 0.0, evidence: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The MCL of each answer (m,), and whether the network denies it (m,).

    Where the answers are `evidence`, `same` is P(same) by each of them.
    """
    items, place = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
    logits = pile.logits(network, items)
    p, rate = logits.softmax(1), noise_of(network, noise)
    losses, similarity = [torch.empty(0)], [torch.empty(0)]
    where = torch.from_numpy(place.reshape(2, -1).T.copy())  # (m, 2)
    for some, same in zip(torch.split(where, ANSWERS), torch.split(torch.from_numpy(pairs.same), ANSWERS), strict=True):
        if evidence:
            losses.append(evidence_mcl(logits, same, pairs=some, reduction="none"))
        elif rate:
            losses.append(noisy_mcl(logits, same, rate, pairs=some, reduction="none"))
        else:
            losses.append(mcl(logits, same, pairs=some, reduction="none"))
        similarity.append((p[some[:, 0]] * p[some[:, 1]]).sum(1))
    return torch.cat(losses).numpy(), (torch.cat(similarity).numpy() > 0.5) != (pairs.same > 0.5)


def held_out_losses(
    network: nn.Module, pile: NetworkInputs, held_out: Pairs, noise: float | None, rates: ErrorRates | None = None
) -> NDArray[np.float32]:
    """The MCL of each held-out answer (m,), none of which is taken as certain; with rates, by its annotator."""
    if rates is None:
        return answer_losses(inner(network), pile, held_out, max(noise_of(network, noise), LEAST_DOUBT))[0]
    same = credibility(held_out, *rates).clip(LEAST_DOUBT, 1 - LEAST_DOUBT).astype(np.float32)
    return answer_losses(inner(network), pile, replace(held_out, same=same), evidence=True)[0]


def held_out_scores(network: nn.Module, pile: NetworkInputs, held_out: Pairs, noise: float | None) -> dict[str, float]:
    """Columns of the history."""
    if not len(held_out):
        return {}
    loss, wrong = answer_loss(network, pile, held_out, noise)
    return {"held_out_loss": loss, "held_out_accuracy": 1 - wrong}


def inner(network: nn.Module) -> nn.Module:
    return network.network if isinstance(network, AnsweringNetwork) else network


@dataclass(frozen=True)
class Judgement:
    """The result of the turns."""

    rates: ErrorRates
    known: Known | None  # what further stages learn from; None where no answer looks wrong: the answers as given
    share_wrong: float


def evidence_at_first(pairs: Pairs) -> Pairs:
    """The evidence in answers of which nothing is known yet: one in ten is taken to be wrong."""
    flat = np.full(max(len(pairs.annotators), 1), PRIOR_WRONG / PRIOR_ANSWERS)
    return evidence(pairs, flat, flat)


def known_by_answers(pairs: Pairs) -> EvidenceKnowledge:
    """What answers say together, where items say nothing; or each alone, where the joint posterior is not supported."""

    def decide() -> list[float] | None:
        posterior = pairs.posterior() if len(pairs) <= MOST_JUDGED else None
        return posterior.same.tolist() if posterior is not None and posterior.supported else None

    same = from_first(decide)
    if same is None:
        return EvidenceKnowledge(evidence_at_first(pairs))
    one = np.ones(len(pairs), dtype=np.float32)
    return EvidenceKnowledge(replace(pairs, same=np.array(same, dtype=np.float32), weight=one))


def judge_answers(
    logits: Floats,
    pairs: Pairs,
    held_out: Pairs,
    *,
    joint: bool,
    untaught: NDArray[np.bool_] | None = None,
) -> Posterior:
    """The posterior of the answers under a network's logits (n, K); `held_out` was not taught to it and tempers them.

    How far they are to be tempered depends on the annotators' rates, and the other way round: both are found twice.
    """
    usual = float(np.exp(USUAL_TEMPERATURE))
    first = infer(pairs, None, logits / usual, None, None, OUTSIDE, joint=joint, untaught=untaught)
    rates = ErrorRates(first.rates.false_different, first.rates.false_same)
    tempered = temperature(logits, held_out if len(held_out) else pairs, rates)
    return infer(pairs, None, logits / tempered, None, None, OUTSIDE, joint=joint, untaught=untaught)


def temperature(logits: Floats, pairs: Pairs, rates: ErrorRates) -> float:
    """The divisor of the logits (n, K) under which answers of annotators with these rates are most likely.

    It has a prior around 1.5: a network is surer of what it was taught than it should be.
    """
    pairs = pairs.select(np.flatnonzero((pairs.weight > 0) & (pairs.same != 0.5))[:MOST_ANSWERS])
    items, place = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
    left, right = place.reshape(2, -1)
    rows, likely = logits[items], credibility(pairs, *rates)

    def loss(log_temperature: float) -> float:
        p = softmax(rows / np.exp(log_temperature), axis=1)
        alike = np.einsum("ik,ik->i", p[left], p[right]).clip(0, 1)
        likelihood = likely * alike + (1 - likely) * (1 - alike)
        return float(((log_temperature - USUAL_TEMPERATURE) / SPREAD) ** 2 / 2 - np.log(likelihood).sum())

    return float(np.exp(minimize_scalar(loss, bounds=(-1.0, 2.5), method="bounded").x))


def calibrated(network: nn.Module, pile: NetworkInputs, held_out: Pairs, rates: ErrorRates) -> nn.Module:
    """The network with its logits divided by their temperature, where held-out answers are for it.

    They must be more likely so, and no more of them denied; and there must be enough. The classes stay the same. Only a
    network whose last layer is known by name, `last`, can be divided.
    """
    last = getattr(network, "last", None)
    if len(held_out) < FEWEST_TO_CALIBRATE or not isinstance(last, nn.Linear):
        return network
    logits = pile.logits(network, held_out.items).numpy().astype(np.float64)
    divisor = agreed(temperature(logits, among(held_out, held_out.items), rates))
    divided = copy.deepcopy(network)
    with torch.no_grad():
        for parameter in divided.last.parameters():  # type: ignore[union-attr]
            parameter.div_(divisor)
    same = credibility(held_out, *rates).astype(np.float32)
    (loss, denied), (less, fewer) = (
        answer_loss(model, pile, replace(held_out, same=same), evidence=True) for model in (network, divided)
    )
    return divided if agreed(less < loss and fewer <= denied) else network


def learn_in_turns(
    learner: Learner,
    stage: Stage,
    answers: Pairs,
    *,
    joint: bool,
    clear: bool,
    teach_classes: Callable[[nn.Module, Grouping, int, Stage], Stage],
    teach_answers: Callable[[nn.Module, Known, int, Stage], Stage],
) -> tuple[Stage, Judgement]:
    """Take turns after a stage while held-out answers do not speak against them; also returns what is known then.

    Where no answer looks wrong there is nothing to go on with: clean answers lose nothing.
    After groups that show the classes all items that were looked at are taught, else those that answers speak of.
    """
    n, seed = len(learner.pile.inputs), learner.settings.seed
    items = items_to_look_at(answers, n, seed) if clear else answers.items
    before: NDArray[np.int64] | None = None
    turn = 0
    while True:
        decided = from_first(partial(_decide, stage.model, learner, answers, items, joint))
        rates = ErrorRates(np.array(decided["false_different"]), np.array(decided["false_same"]))
        classes = np.array(decided["classes"], dtype=np.int64)
        settled = _settled(learner.rates, rates) if not joint else before is not None and _alike(classes, before)
        learner.rates = rates
        if turn == TURNS or settled or decided["agreed"] or not decided["likely_wrong"]:
            break
        turn, before = turn + 1, classes
        model = copy.deepcopy(stage.model)
        if joint:
            sure = np.array(decided["sure"], dtype=np.float32)
            again = teach_classes(model, Grouping(items, classes, sure, 0.0, 0.0, 0.0), turn, stage)
        else:
            again = teach_answers(model, EvidenceKnowledge(evidence(answers, *rates)), turn, stage)
        least = CHANCE if clear else -CHANCE  # clear groups are easily forgotten
        if learner.gain(again.model, stage.model) <= least:
            break
        stage = again
    with_views = clear and learner.pile.inputs.ndim == 4
    return stage, Judgement(rates, _known(answers, decided, rates, joint and not with_views), decided["share_wrong"])


def _decide(
    model: nn.Module, learner: Learner, answers: Pairs, items: NDArray[np.int64], joint: bool
) -> dict[str, Any]:
    """What the posterior says, as JSON has it: the first process decides for all."""
    seen = np.unique(np.concatenate([items, answers.items, learner.held_out.items]))  # others have no part in it
    logits = learner.pile.logits(inner(model), seen).numpy().astype(np.float64)
    posterior = judge_answers(logits, among(answers, seen), among(learner.held_out, seen), joint=joint)
    assert posterior.classes is not None
    place = np.searchsorted(seen, items)
    classes, outputs = posterior.classes[place], logits[place].argmax(1)
    return {
        "false_different": posterior.rates.false_different.tolist(),
        "false_same": posterior.rates.false_same.tolist(),
        "classes": classes.argmax(1).tolist(),
        "sure": classes.max(1).tolist(),
        "agreed": joint and _alike(classes.argmax(1), outputs),
        "same": posterior.same.tolist(),
        "likely_wrong": int((posterior.right < 0.5).sum()),
        "share_wrong": posterior.share_wrong,
    }


def _known(answers: Pairs, decided: dict[str, Any], rates: ErrorRates, joint: bool) -> Known | None:
    """What further stages learn from.

    Where images go on in views after clear groups, that is the evidence in the answers themselves: P(same) by all of
    them holds what the network has learned from the groups, mistakes and all, and would only confirm it.
    """
    if not decided["likely_wrong"]:
        return None
    if not joint:
        return EvidenceKnowledge(evidence(answers, *rates))
    same = np.array(decided["same"], dtype=np.float32)
    one = np.ones(len(answers), dtype=np.float32)
    return AnswerKnowledge(replace(answers, same=same, weight=one), implied=False)


def _alike(classes: NDArray[np.int64], others: NDArray[np.int64]) -> bool:
    return bool((classes != others).mean() < SETTLED)


def _settled(before: ErrorRates | None, after: ErrorRates) -> bool:
    return before is not None and bool(np.abs(np.array(after) - np.array(before)).max() < RATES_SETTLED)


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
    wrapped = learner.answering(model, noise_of(first.model, learner.noise))
    if learner.gain(wrapped, first.model) <= -CHANCE:
        return first, None
    return stage._replace(model=wrapped), confused.confusion.detach().double().numpy()
