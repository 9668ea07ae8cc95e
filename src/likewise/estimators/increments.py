"""What `PairClassifier.partial_fit` does after the first call: train the network further on what is new.

The number of steps follows from what is new alone: each new answer is seen once per epoch, in a batch whose other half
is remembered answers. Answers are learned by MCL. Labels are learned by cross-entropy, because the outputs have names
by now: a new class gets a free output, and MCL would hardly move items to an output that is never used.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from likewise.errors import InputError
from likewise.estimators.naming import Naming, match_names, outputs_in_use
from likewise.estimators.task import (
    checksum,
    counting_answers,
    item_weights,
    items_checksum,
    sound_answers,
    weighted_answers,
)
from likewise.estimators.wrong_answers import rates_for
from likewise.pairs import Pairs, evidence
from likewise.supervision import AnswerKnowledge, EvidenceKnowledge, answers_objective, named_objective
from likewise.training import NetworkInputs, Objective, Settings, train
from likewise.training.orders import IncrementOrder

if TYPE_CHECKING:
    from likewise.estimators.pair_classifier import PairClassifier


# A sample of earlier labels and answers, kept with their items, so that later increments do not make the model forget.

REMEMBERED = 2000  # labels, and as many answers

Kind = Literal["labels", "answers"]


@dataclass(frozen=True)
class Examples:
    """Labels, about an item each, or answers, about two."""

    inputs: Tensor  # the items, or what stands for them
    index: NDArray[np.int64]  # (m, 1) or (m, 2) positions in the inputs
    targets: NDArray[Any]  # (m,) labels, or the probability of "same"
    weight: NDArray[np.float32]  # (m,)

    @classmethod
    def of_answers(cls, inputs: Tensor, pairs: Pairs) -> Examples:
        return cls(inputs, np.stack([pairs.left, pairs.right], axis=1), pairs.same, pairs.weight)

    @classmethod
    def of_labels(cls, inputs: Tensor, labels: NDArray[Any], weight: NDArray[np.float32] | None) -> Examples:
        weight = np.ones(len(labels), dtype=np.float32) if weight is None else weight
        return cls(inputs, np.arange(len(labels))[:, None], labels, weight)

    @property
    def kind(self) -> Kind:
        return "labels" if self.index.shape[1] == 1 else "answers"

    @property
    def pairs(self) -> Pairs:
        """The answers, about the inputs."""
        return Pairs.from_arrays(self.index, self.targets, self.weight).index(len(self.inputs))

    def select(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Examples:
        """Some labels or answers, with the items that they are about and no others."""
        items, places = np.unique(self.index[rows], return_inverse=True)
        inputs = self.inputs[torch.from_numpy(items)]
        return Examples(inputs, places.reshape(self.index[rows].shape), self.targets[rows], self.weight[rows])

    def join(self, later: Examples) -> Examples:
        """These and later ones, whose items come after."""
        return Examples(
            torch.cat([self.inputs, later.inputs]),
            np.concatenate([self.index, later.index + len(self.inputs)]),
            np.concatenate([self.targets, later.targets]),
            np.concatenate([self.weight, later.weight]),
        )


@dataclass(frozen=True)
class Memory:
    """A random sample of all examples, with as many labels of each class, or answers of each kind."""

    examples: Examples
    priority: NDArray[np.float64]  # (m,) drawn once for each; the lowest stay, so that early and late ones are alike

    @classmethod
    def of(cls, examples: Examples, seed: int, before: Memory | None = None) -> Memory:
        priority = np.random.default_rng(seed).random(len(examples.targets))
        if before is not None:
            examples, priority = before.examples.join(examples), np.concatenate([before.priority, priority])
        order = np.argsort(priority)
        kinds = np.unique(examples.targets[order], return_inverse=True)[1]
        rank = np.empty(len(order), dtype=np.int64)  # of each among its kind
        for kind in np.unique(kinds):
            rank[kinds == kind] = np.arange(np.sum(kinds == kind))
        kept = np.sort(order[np.argsort(rank, kind="stable")[:REMEMBERED]])
        return cls(examples.select(kept), priority[kept])


EPOCHS = 10  # times that each new answer or label is seen
SLOWER = 3  # than `fit` at its fastest


def learn_increment(
    model: PairClassifier,
    inputs: Tensor,
    labels: NDArray[Any] | None,
    answers: Pairs | None,  # learned from where they are given, and the labels elsewhere
    weight: ArrayLike | None,
    classes: NDArray[Any] | None,
) -> None:
    """Learn what is new, and give classes that are new their outputs."""
    seed = model._seed()
    new = new_examples(model, inputs, labels, answers, weight)
    labelled = new if answers is None else None if labels is None else new_examples(model, inputs, labels, None, None)
    if labelled is not None:
        name_labels(model, labelled, classes)
    model.history_ = learn_new(model, new, seed)
    remember(model, new, seed)
    if labelled is not None and labelled is not new:
        remember(model, labelled, seed)
    find_outputs_in_use(model, new.inputs)


def new_examples(
    model: PairClassifier,
    inputs: Tensor,
    labels: NDArray[Any] | None,
    answers: Pairs | None,
    weight: ArrayLike | None,
) -> Examples:
    """What an increment is learned from, the answers or else the labels, with the items that they are about."""
    if answers is not None:
        examples = Examples.of_answers(inputs, answers_to_remember(model, weighted_answers(answers, weight)))
    else:
        assert labels is not None
        examples = Examples.of_labels(inputs, labels, item_weights(weight, labels))
    if not len(examples.targets):
        raise InputError("There is nothing new to learn from: no answer about two items, of a weight above 0.")
    return examples.select(np.arange(len(examples.targets)))


def answers_to_remember(model: PairClassifier, pairs: Pairs) -> Pairs:
    """One answer for each pair: the evidence by each annotator's rates or, where there are none, a merged answer."""
    if is_evidence(model):
        return evidence(counting_answers(pairs), *rates_for(model.credibility_, pairs))
    return counting_answers(pairs.merged())


def is_evidence(model: PairClassifier) -> bool:
    return model.noise_ > 0 and model.credibility_ is not None


def learn_new(model: PairClassifier, new: Examples, seed: int) -> list[dict[str, float]]:
    """Train a copy of the model's network on what is new and on what is remembered; gives the history."""
    memory = model.memory_.get(new.kind)
    joint = new if memory is None else memory.examples.join(new)
    objective: Objective
    if new.kind == "labels":
        index = joint.index
        objective = named_objective(*_outputs_to_learn(model.naming_, joint))
    else:
        noisy = model.noise_ > 0
        pairs = sound_answers(joint.pairs, noisy=noisy)
        index = np.stack([pairs.left, pairs.right], axis=1)
        if is_evidence(model):
            objective = answers_objective(EvidenceKnowledge(pairs))
        else:
            objective = answers_objective(AnswerKnowledge(pairs, implied=not noisy), noise=model.noise_)
    is_new = index[:, 0] >= len(joint.inputs) - len(new.inputs)
    if not is_new.any():
        raise InputError("All new answers contradict earlier ones; correct them, or let noise be learned.")
    form = model.input_form_
    settings = Settings(
        epochs=model.epochs or EPOCHS,
        batch_size=model.batch_size,
        learning_rate=model.learning_rate / SLOWER,
        device=model.device,
        precision=model.precision,
        seed=seed,
    )
    network = copy.deepcopy(model.network_)
    checksums = {
        "items": items_checksum(joint.inputs),
        "told": checksum(index, joint.weight),
        "said": _checksum(joint.targets),
    }
    weights = checksum(*(value.float().cpu().numpy() for value in network.state_dict().values()))
    pile = NetworkInputs(joint.inputs, form.mean, form.std, form.augmentation(model.augment))
    new_rows, old_rows = torch.from_numpy(index[is_new]), torch.from_numpy(index[~is_new])
    order = IncrementOrder(new_rows, old_rows, settings.batch_size, seed=seed)
    result = train(
        network,
        pile.batches(order, settings.batch_size),
        objective,
        settings,
        run=None if model.run is None else Path(model.run) / "increments" / _name(weights, checksums),
        config={"weights": weights, **checksums},
        progress=bool(model.verbose),
        on_epoch=model.on_epoch,
    )
    model.network_ = network
    return result.history


def remember(model: PairClassifier, examples: Examples, seed: int) -> None:
    """Keep a sample of these and of earlier ones."""
    model.memory_ = model.memory_ | {examples.kind: Memory.of(examples, seed, model.memory_.get(examples.kind))}


def name_labels(model: PairClassifier, examples: Examples, classes: NDArray[Any] | None) -> None:
    """Give an output to each class of new and remembered labels: new classes get the free ones that they fall in.

    A class that has an output keeps it.
    """
    before, memory = model.naming_, model.memory_.get("labels")
    if before.named and isinstance(before.classes[0], str) != isinstance(examples.targets[0], str):
        raise InputError(
            f"y holds {examples.targets.tolist()[0]!r}, and the classes so far are like "
            f"{before.classes.tolist()[0]!r}; give labels of one kind."
        )
    examples = examples if memory is None else memory.examples.join(examples)
    numbers = np.char.add("output ", before.columns.astype(str))
    own = before.named & (before.classes.astype(str) != numbers)  # what is called by its number has no name
    also = examples.targets[:0] if classes is None else classes
    everything = np.unique(np.concatenate([before.classes[own], examples.targets, also]))
    if len(everything) > model.n_outputs_:
        raise InputError(
            f"There are {len(everything)} classes now, and the network has {model.n_outputs_} outputs; give all "
            "classes at the first call, classes=[...], or n_classes."
        )
    columns = np.full(len(everything), -1, dtype=np.int64)
    columns[np.searchsorted(everything, before.classes[own])] = before.columns[own]
    nameless = np.setdiff1d(examples.targets, everything[columns >= 0])
    if len(nameless):
        places, free = np.searchsorted(everything, nameless), np.setdiff1d(np.arange(model.n_outputs_), columns)
        some = examples.select(np.isin(examples.targets, nameless))
        outputs = _outputs(model, some.inputs)[some.index[:, 0]]
        columns[places] = match_names(outputs, some.targets, free, classes=nameless, others=False).columns
        left = places[columns[places] < 0]
        columns[left] = np.setdiff1d(free, columns)[: len(left)]
    model._set_naming(Naming(everything, columns, named=True), np.union1d(model.outputs_, columns[columns >= 0]))


def find_outputs_in_use(model: PairClassifier, inputs: Tensor) -> None:
    """Those that items fall in now join those in use; where classes have no names, each is a class."""
    in_use = np.union1d(model.outputs_, _outputs(model, inputs))
    model._set_naming(model.naming_ if model.naming_.named else outputs_in_use(in_use), in_use)


def _outputs_to_learn(naming: Naming, examples: Examples) -> tuple[Tensor, Tensor]:
    """The output of each labelled item, and its weight."""
    outputs = np.empty(len(examples.inputs), dtype=np.int64)
    weight = np.empty(len(examples.inputs), dtype=np.float32)
    outputs[examples.index[:, 0]] = naming.columns[np.searchsorted(naming.classes, examples.targets)]
    weight[examples.index[:, 0]] = examples.weight
    return torch.from_numpy(outputs), torch.from_numpy(weight)


def _outputs(model: PairClassifier, inputs: Tensor) -> NDArray[np.int64]:
    return np.asarray(model._outputs(model.network_, inputs).argmax(1).numpy())


def _checksum(targets: NDArray[Any]) -> str:
    return checksum(targets if targets.dtype.kind in "iufb" else np.array([str(value) for value in targets]))


def _name(weights: str, checksums: dict[str, str]) -> str:
    """The name of a folder for these weights and this increment, so that the same call resumes its own run."""
    return "-".join(each[:8] for each in (weights, *checksums.values()))
