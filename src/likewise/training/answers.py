"""Learn classes from answers about pairs of items.

1. Groups: the items are grouped by geometry and answers, and the network is taught these groups; then once more by what
   it sees itself (grouping.py).
2. Starts: where groups do not show the classes clearly, MCL over the known pairs from random weights, in batches that
   hold them; joint MCL where no pair is unknown, as with labels. A start that ends with classes merged shows in the
   answers it gets wrong, and another one is made. It is kept where held-out answers are for it by two standard errors.
3. Turns: where answers may be wrong, network and answers judge each other (turns.py).
4. Unlabelled: the best of them goes on with all items. Unknown pairs count through their pseudo-similarity; vectors of
   which more than were grouped are at hand count through the smoothness of the classes around them.

What a step adds is kept only where answers that were held out from all of it do not speak against it.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from likewise.distributed import agreed
from likewise.networks import Linear
from likewise.pairs import Pairs
from likewise.supervision import (
    AnsweringNetwork,
    EvidenceKnowledge,
    Known,
    RecentOutputs,
    answers_objective,
    joint_objective,
    named_objective,
    smooth_objective,
)
from likewise.training.batches import Order
from likewise.training.discovery import start_at_prototypes
from likewise.training.forward import Objective
from likewise.training.grouping import Grouping, GroupOrder, group_items, items_to_look_at, seen_by
from likewise.training.inputs import NetworkInputs
from likewise.training.loop import OnEpoch, train
from likewise.training.neighbourhood import Neighbourhood, room_for
from likewise.training.orders import LEAST_STEPS, AnswerOrder
from likewise.training.settings import Settings
from likewise.training.turns import (
    ErrorRates,
    Judgement,
    answer_loss,
    held_out_losses,
    held_out_scores,
    inner,
    known_by_answers,
    learn_confusion,
    learn_in_turns,
    noise_of,
)

GROUP_STEPS, STEPS = 400, 640  # of a round of groups, and of the other stages, at least
VISITS_OF_STARTS, VISITS = 10, 4  # at least: of answered items in a start, and of answers in the unlabelled stage
SMOOTH_BATCH, SMOOTH_VISITS, SMOOTH_MOST = 4, 4, 1000  # of the smooth stage: batches in one, visits of items, steps
SURROUNDINGS = 0.1  # of the distance between neighbours: how far around an item the classes are not to change
GENTLE_RATE = 0.2  # of the learning rate, for unlabelled pairs after clear groups: at the full rate they are forgotten
WRONG_ANSWERS = 0.01  # a start with more of them is tried again: two of ten classes merged deny 2 % of the differences
FIRST_NOISE = 0.1  # where the rate of wrong answers is learned, it begins here
CHANCE = 2.0  # standard errors

Turns = Literal["joint", "pairs", "confusion"]


@dataclass(frozen=True)
class Learned:
    """The network and how it was trained; `unlabelled`: whether the last stage was kept, None where there was none."""

    network: nn.Module
    history: list[dict[str, float]]  # of the stages that led here; the column `stage` is 1, for unlabelled pairs 2
    noise: float  # the rate of wrong answers that was given or learned
    starts: int  # from random weights
    grouped: bool  # whether it began with groups of the items that foretell the answers
    unlabelled: bool | None
    seconds: float
    first: nn.Module  # as it was before the unlabelled pairs
    judgement: Judgement | None = None  # of the answers, where they were judged
    confusion: NDArray[np.float64] | None = None  # (K, K) how often two items are called the same, by their classes


class Stage(NamedTuple):
    model: nn.Module
    history: list[dict[str, float]]


@dataclass
class Learner:
    """What all stages share."""

    pile: NetworkInputs
    pairs: Pairs
    held_out: Pairs
    settings: Settings
    epochs: int | None
    noise: float | None
    run: Path | None
    config: Mapping[str, object] | None
    progress: bool
    on_epoch: OnEpoch | None
    rates: ErrorRates | None = None  # of each annotator, once they are known
    seconds: float = 0.0

    def train(
        self,
        model: nn.Module,
        objective: Objective,
        order: Order,
        steps: int,
        name: str,
        title: str,
        before: Stage | None = None,
        *,
        rate: float = 1.0,
    ) -> Stage:
        """Train the model in place for this many steps, or the user's number of epochs, at a fraction of the rate."""
        number = 3 if name == "fine-tuning" else 2 if name.startswith("unlabelled") else 1
        settings = self.settings
        result = train(
            model,
            self.pile.batches(order, settings.batch_size, viewed=number == 2),
            objective,
            dataclasses.replace(
                settings,
                epochs=self.epochs or math.ceil(steps / len(order)),
                learning_rate=rate * settings.learning_rate,
                seed=order.seed,
            ),
            run=None if self.run is None else self.run / name,
            config=self.config,
            evaluate=lambda model, _: {"stage": number, **held_out_scores(model, self.pile, self.held_out, self.noise)},
            monitor="held_out_loss" if settings.patience and len(self.held_out) else "",
            progress=self.progress and title,
            on_epoch=self.on_epoch,
        )
        self.seconds += result.seconds
        earlier = [] if before is None else before.history
        return Stage(model, earlier + [{**row, "epoch": len(earlier) + row["epoch"]} for row in result.history])

    def answering(self, network: nn.Module, noise: float = FIRST_NOISE) -> nn.Module:
        return AnsweringNetwork(network, noise) if self.noise is None else network

    def gain(self, new: nn.Module, old: nn.Module) -> float:
        """How much better the new network does on held-out answers, in standard errors; 0 where there are none."""
        if len(self.held_out) < 2:
            return 0.0
        before, after = (
            held_out_losses(model, self.pile, self.held_out, self.noise, self.rates) for model in (old, new)
        )
        change = before - after
        error = change.std(ddof=1) / np.sqrt(len(change))
        return agreed(float(change.mean() / max(error, 1e-12)))


def learn_answers(
    network: Callable[[int], nn.Module],  # a fresh network for a seed
    pile: NetworkInputs,
    known: Known,
    pairs: Pairs,  # the answers that batches are drawn from
    held_out: Pairs,  # not trained on; may be empty
    settings: Settings,  # but for the epochs
    *,
    epochs: int | None = None,  # of each stage
    grouped: int = 0,  # the number of groups to begin with; 0: begin with random weights
    raw_answers: Pairs | None = None,  # what groups are made from, contradictions and all; default: pairs
    starts: int = 3,
    unlabelled: bool = True,
    noise: float | None = 0.0,  # the rate of wrong answers; None: learn it
    turns: Turns | None = None,  # whether network and answers judge each other, and how
    run: Path | None = None,
    config: Mapping[str, object] | None = None,
    progress: bool = True,
    on_epoch: OnEpoch | None = None,
) -> Learned:
    """Learn from answers; with a folder `run`, each stage has its own in it, and a killed run resumes."""
    learner = Learner(pile, pairs, held_out, settings, epochs, noise, run, config, progress, on_epoch)
    best, clear, n_starts = None, False, 0
    raw_answers = pairs if raw_answers is None else raw_answers
    n_items, n_grouped = len(pile.inputs), len(items_to_look_at(raw_answers, len(pile.inputs), settings.seed))
    around = None
    if grouped and unlabelled and (room := room_for(pile)) > n_grouped:
        around = Neighbourhood.of(pile, items_to_look_at(raw_answers, n_items, settings.seed, room), settings.seed)
    if grouped:
        best, grouping = learn_groups(learner, network(settings.seed), raw_answers, grouped, around)
        clear = grouping.is_informed
    if best is None or not grouping.is_clear:
        if turns == "joint" and isinstance(known, EvidenceKnowledge):
            known = known_by_answers(raw_answers)
        start, n_starts = learn_starts(learner, network, known, starts)
        if best is None or learner.gain(start.model, best.model) > CHANCE:
            best, clear = start, False
    judgement, confusion = None, None
    if turns == "confusion":
        best, confusion = learn_confusion(learner, best, known, rate=GENTLE_RATE if clear else 1.0)
    elif turns is not None:
        best, judgement = learn_in_turns(
            learner,
            best,
            raw_answers,
            joint=turns == "joint",
            clear=clear,
            teach_classes=lambda *arguments: teach_classes(learner, "answers", *arguments),
            teach_answers=lambda *arguments: teach_answers(learner, GENTLE_RATE if clear else 1.0, *arguments),
        )
        known = judgement.known or known
    first = best
    stages: list[Stage] = []
    if unlabelled and not (clear and len(held_out) < 2):  # nothing could speak for it
        vectors, least = pile.inputs.ndim == 2, 0.0
        if vectors and n_items > n_grouped:
            stages = learn_smoothly(learner, first, known, around)
        elif not (vectors and clear and pile.views is None):  # without views of vectors, once grouped, that is all
            sound = clear and not isinstance(known, EvidenceKnowledge)  # there is more to lose than to gain
            stages, least = [learn_views(learner, first, known, clear)], CHANCE if sound else -CHANCE
        for stage in stages:
            if learner.gain(stage.model, best.model) > least:
                best = stage
    learned, rate, as_it_was = inner(best.model), noise_of(best.model, noise), inner(first.model)
    kept, seconds = best is not first if stages else None, learner.seconds
    return Learned(learned, best.history, rate, n_starts, clear, kept, seconds, as_it_was, judgement, confusion)


def learn_groups(
    learner: Learner, network: nn.Module, raw_answers: Pairs, n_groups: int, around: Neighbourhood | None
) -> tuple[Stage, Grouping]:
    """Teach the network groups of the items, and then those that it sees; gives also the first ones.

    In a neighbourhood the groups are of all items at once, and there is no second round; whether one would pay was not
    measured.
    """
    pile, settings = learner.pile, learner.settings
    first = grouping = group_items(pile, raw_answers, n_groups, settings.seed, around=around)
    if isinstance(network, Linear):
        features = torch.from_numpy(seen_by(network, pile, grouping.items))
        start_at_prototypes(network, features, torch.from_numpy(grouping.groups))
    stage = teach_classes(learner, "groups", network, grouping, 1, None)
    if first.is_clear and around is None and not isinstance(network, Linear):  # which sees the items as they are
        grouping = group_items(pile, raw_answers, n_groups, settings.seed, network)
        again = teach_classes(learner, "groups", copy.deepcopy(network), grouping, 2, stage)
        if learner.gain(again.model, network) > -CHANCE:
            stage = again
    model = learner.answering(stage.model, min(grouping.wrong, 0.4))
    return Stage(model, stage.history), first


def teach_classes(
    learner: Learner, name: str, model: nn.Module, grouping: Grouping, turn: int, before: Stage | None
) -> Stage:
    """Train the network on the class of each item, weighted by how sure the class is."""
    settings = learner.settings
    order = GroupOrder(grouping.items, settings.batch_size, LEAST_STEPS, seed=settings.seed + turn - 1)
    objective = named_objective(*grouping.targets(len(learner.pile.inputs)))
    return learner.train(model, objective, order, GROUP_STEPS, f"{name}-{turn}", f"{name}, round {turn}", before)


def teach_answers(
    learner: Learner, rate: float, model: nn.Module, known: Known, turn: int, before: Stage | None
) -> Stage:
    """Teach the network the answers, pair by pair."""
    settings, pairs = learner.settings, learner.pairs
    order = AnswerOrder(_ends(pairs), len(learner.pile.inputs), settings.batch_size, seed=settings.seed + turn - 1)
    steps = max(GROUP_STEPS, math.ceil(VISITS * len(pairs) / order.n_pairs))
    title = f"answers, round {turn}"
    return learner.train(model, answers_objective(known), order, steps, f"answers-{turn}", title, before, rate=rate)


def learn_starts(learner: Learner, network: Callable[[int], nn.Module], known: Known, starts: int) -> tuple[Stage, int]:
    """The random start that fits the answers it was trained on best, and how many were tried.

    Joint MCL starts earlier than MCL, but only where no pair is unknown, as with labels: where answers leave many pairs
    unknown, it was measured to be worse.
    """
    pile, pairs, settings = learner.pile, learner.pairs, learner.settings
    joint = learner.noise == 0 and known.complete
    is_evidence = isinstance(known, EvidenceKnowledge)
    best, least = None, np.inf
    start = 0
    for start in range(1, starts + 1):
        seed = settings.seed + start - 1
        model = trained = learner.answering(network(seed))
        order = AnswerOrder(_ends(pairs), len(pile.inputs), settings.batch_size, seed=seed)
        objective = answers_objective(known, noise=learner.noise or 0.0)
        if joint:
            trained = RecentOutputs(model, n_outputs=pile.logits(model, pairs.items[:1]).shape[1])
            objective = joint_objective(known, least=1)
        steps = max(STEPS, math.ceil(VISITS_OF_STARTS * len(pairs.items) / settings.batch_size))
        history = learner.train(trained, objective, order, steps, f"start-{start}", f"answers, start {start}").history
        loss, wrong = agreed(answer_loss(model, pile, pairs, learner.noise, evidence=is_evidence))
        if loss < least:
            best, least = Stage(model, history), loss
        doubt = float(np.minimum(pairs.same, 1 - pairs.same).mean()) if is_evidence else noise_of(model, learner.noise)
        if wrong <= WRONG_ANSWERS + doubt:
            break
    assert best is not None
    return best, start


def learn_views(learner: Learner, first: Stage, known: Known, clear: bool) -> Stage:
    """Continue with all items in two views, through their pseudo-similarity."""
    pairs, settings = learner.pairs, learner.settings
    n_items = len(learner.pile.inputs)
    order = AnswerOrder(_ends(pairs), n_items, settings.batch_size, seed=settings.seed, answered=0.5, views=2)
    steps = max(STEPS, math.ceil(VISITS * len(pairs) / order.n_pairs))
    objective = answers_objective(known, unlabelled=True, noise=learner.noise or 0.0)
    rate = GENTLE_RATE if clear else 1.0
    model = copy.deepcopy(first.model)
    return learner.train(model, objective, order, steps, "unlabelled", "unlabelled pairs", first, rate=rate)


def learn_smoothly(learner: Learner, first: Stage, known: Known, around: Neighbourhood | None) -> list[Stage]:
    """Continue with all items: classes should not change close to an item, and in a second pass between neighbours."""
    pile, pairs, settings = learner.pile, learner.pairs, learner.settings
    batch_size = SMOOTH_BATCH * settings.batch_size
    order = AnswerOrder(_ends(pairs), len(pile.inputs), batch_size, seed=settings.seed, answered=0.5)
    radius = SURROUNDINGS * pile.spacing(settings.seed)
    steps = min(max(STEPS, math.ceil(SMOOTH_VISITS * len(pile.inputs) / batch_size)), SMOOTH_MOST)
    ways = {"unlabelled": None} if around is None else {"unlabelled": None, "unlabelled-near": around.neighbours(pile)}
    return [
        learner.train(
            copy.deepcopy(first.model),
            smooth_objective(known, radius, noise=learner.noise or 0.0, neighbours=neighbours),
            order,
            steps,
            name,
            "unlabelled items" if neighbours is None else "unlabelled items with their neighbours",
            first,
        )
        for name, neighbours in ways.items()
    ]


def _ends(pairs: Pairs) -> Tensor:
    return torch.from_numpy(np.stack([pairs.left, pairs.right], axis=1))  # (m, 2)
