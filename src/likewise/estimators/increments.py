"""What `PairClassifier.partial_fit` does after the first call: go on from the present weights with what is new."""

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
from likewise.training import Objective, Pile, Settings
from likewise.training.increment import learn_increment

if TYPE_CHECKING:
    from likewise.estimators.pair_classifier import PairClassifier


# Some of what a classifier was told, kept with the items, so that later increments do not make it forget.

REMEMBERED = 2000  # labels, and as many answers

Kind = Literal["labels", "answers"]


@dataclass(frozen=True)
class Told:
    """Labels, about an item each, or answers, about two."""

    inputs: Tensor  # the items, or what stands for them
    index: NDArray[np.int64]  # (m, 1) or (m, 2) positions in the inputs
    said: NDArray[Any]  # (m,) labels, or the probability of "same"
    weight: NDArray[np.float32]  # (m,)

    @classmethod
    def of_answers(cls, inputs: Tensor, pairs: Pairs) -> Told:
        return cls(inputs, np.stack([pairs.left, pairs.right], axis=1), pairs.same, pairs.weight)

    @classmethod
    def of_labels(cls, inputs: Tensor, labels: NDArray[Any], weight: NDArray[np.float32] | None) -> Told:
        weight = np.ones(len(labels), dtype=np.float32) if weight is None else weight
        return cls(inputs, np.arange(len(labels))[:, None], labels, weight)

    @property
    def kind(self) -> Kind:
        return "labels" if self.index.shape[1] == 1 else "answers"

    @property
    def pairs(self) -> Pairs:
        """The answers, about the inputs."""
        return Pairs.from_arrays(self.index, self.said, self.weight).index(len(self.inputs))

    def select(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Told:
        """Some labels or answers, with the items that they are about and no others."""
        items, places = np.unique(self.index[rows], return_inverse=True)
        inputs = self.inputs[torch.from_numpy(items)]
        return Told(inputs, places.reshape(self.index[rows].shape), self.said[rows], self.weight[rows])

    def join(self, later: Told) -> Told:
        """These and later ones, whose items come after."""
        return Told(
            torch.cat([self.inputs, later.inputs]),
            np.concatenate([self.index, later.index + len(self.inputs)]),
            np.concatenate([self.said, later.said]),
            np.concatenate([self.weight, later.weight]),
        )


@dataclass(frozen=True)
class Memory:
    """A random sample of all that was told, with as many labels of each class, or answers of each kind."""

    told: Told
    priority: NDArray[np.float64]  # (m,) drawn once for each; the lowest stay, so that early and late ones are alike

    @classmethod
    def of(cls, told: Told, seed: int, before: Memory | None = None) -> Memory:
        priority = np.random.default_rng(seed).random(len(told.said))
        if before is not None:
            told, priority = before.told.join(told), np.concatenate([before.priority, priority])
        order = np.argsort(priority)
        kinds = np.unique(told.said[order], return_inverse=True)[1]
        rank = np.empty(len(order), dtype=np.int64)  # of each among its kind
        for kind in np.unique(kinds):
            rank[kinds == kind] = np.arange(np.sum(kinds == kind))
        kept = np.sort(order[np.argsort(rank, kind="stable")[:REMEMBERED]])
        return cls(told.select(kept), priority[kept])


EPOCHS = 10  # times that each new answer or label is seen
SLOWER = 3  # than `fit` at its fastest


def go_on(
    model: PairClassifier,
    inputs: Tensor,
    labels: NDArray[Any] | None,
    answers: Pairs | None,  # learned from where they are given, and the labels elsewhere
    weight: ArrayLike | None,
    classes: NDArray[Any] | None,
) -> None:
    """Learn what is new, and give classes that are new their outputs."""
    seed = model._seed()
    new = new_told(model, inputs, labels, answers, weight)
    labelled = new if answers is None else None if labels is None else new_told(model, inputs, labels, None, None)
    if labelled is not None:
        name_labels(model, labelled, classes)
    model.history_ = learn_new(model, new, seed)
    remember(model, new, seed)
    if labelled is not None and labelled is not new:
        remember(model, labelled, seed)
    find_outputs_in_use(model, new.inputs)


def new_told(
    model: PairClassifier,
    inputs: Tensor,
    labels: NDArray[Any] | None,
    answers: Pairs | None,
    weight: ArrayLike | None,
) -> Told:
    """What an increment is learned from, the answers or else the labels, with the items that they are about."""
    if answers is not None:
        told = Told.of_answers(inputs, answers_to_remember(model, weighted_answers(answers, weight)))
    else:
        assert labels is not None
        told = Told.of_labels(inputs, labels, item_weights(weight, labels))
    if not len(told.said):
        raise InputError("There is nothing new to learn from: no answer about two items, of a weight above 0.")
    return told.select(np.arange(len(told.said)))


def answers_to_remember(model: PairClassifier, pairs: Pairs) -> Pairs:
    """One answer for each pair: the evidence by each annotator's rates or, where there are none, a merged answer."""
    if is_evidence(model):
        return evidence(counting_answers(pairs), *rates_for(model.credibility_, pairs))
    return counting_answers(pairs.merged())


def is_evidence(model: PairClassifier) -> bool:
    return model.noise_ > 0 and model.credibility_ is not None


def learn_new(model: PairClassifier, new: Told, seed: int) -> list[dict[str, float]]:
    """Train a copy of the model's network on what is new and on what is remembered; gives the history."""
    memory = model.memory_.get(new.kind)
    joint = new if memory is None else memory.told.join(new)
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
            objective = answers_objective(AnswerKnowledge(pairs, implied=not noisy), flip=model.noise_)
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
    told = {"items": items_checksum(joint.inputs), "told": checksum(index, joint.weight), "said": _checksum(joint.said)}
    weights = checksum(*(value.float().cpu().numpy() for value in network.state_dict().values()))
    result = learn_increment(
        network,
        Pile(joint.inputs, form.mean, form.std, form.augmentation(model.augment)),
        objective,
        torch.from_numpy(index[is_new]),
        torch.from_numpy(index[~is_new]),
        settings,
        run=None if model.run is None else Path(model.run) / "increments" / _name(weights, told),
        config={"weights": weights, **told},
        progress=bool(model.verbose),
        on_epoch=model.on_epoch,
    )
    model.network_ = network
    return result.history


def remember(model: PairClassifier, told: Told, seed: int) -> None:
    """Keep a sample of this and of what was told before."""
    model.memory_ = model.memory_ | {told.kind: Memory.of(told, seed, model.memory_.get(told.kind))}


def name_labels(model: PairClassifier, told: Told, classes: NDArray[Any] | None) -> None:
    """Give an output to each class of new and remembered labels: new classes get the free ones that they fall in.

    A class that has an output keeps it.
    """
    before, memory = model.naming_, model.memory_.get("labels")
    if before.named and isinstance(before.classes[0], str) != isinstance(told.said[0], str):
        raise InputError(
            f"y holds {told.said.tolist()[0]!r}, and the classes so far are like {before.classes.tolist()[0]!r}; give "
            "labels of one kind."
        )
    told = told if memory is None else memory.told.join(told)
    numbers = np.char.add("output ", before.columns.astype(str))
    own = before.named & (before.classes.astype(str) != numbers)  # what is called by its number has no name
    also = told.said[:0] if classes is None else classes
    everything = np.unique(np.concatenate([before.classes[own], told.said, also]))
    if len(everything) > model.n_outputs_:
        raise InputError(
            f"There are {len(everything)} classes now, and the network has {model.n_outputs_} outputs; give all "
            "classes at the first call, classes=[...], or n_classes."
        )
    columns = np.full(len(everything), -1, dtype=np.int64)
    columns[np.searchsorted(everything, before.classes[own])] = before.columns[own]
    nameless = np.setdiff1d(told.said, everything[columns >= 0])
    if len(nameless):
        places, free = np.searchsorted(everything, nameless), np.setdiff1d(np.arange(model.n_outputs_), columns)
        some = told.select(np.isin(told.said, nameless))
        outputs = _outputs(model, some.inputs)[some.index[:, 0]]
        columns[places] = match_names(outputs, some.said, free, classes=nameless, others=False).columns
        left = places[columns[places] < 0]
        columns[left] = np.setdiff1d(free, columns)[: len(left)]
    model._set_naming(Naming(everything, columns, named=True), np.union1d(model.outputs_, columns[columns >= 0]))


def find_outputs_in_use(model: PairClassifier, inputs: Tensor) -> None:
    """Those that items fall in now join those in use; where classes have no names, each is a class."""
    in_use = np.union1d(model.outputs_, _outputs(model, inputs))
    model._set_naming(model.naming_ if model.naming_.named else outputs_in_use(in_use), in_use)


def _outputs_to_learn(naming: Naming, told: Told) -> tuple[Tensor, Tensor]:
    """The output of each labelled item, and its weight."""
    outputs = np.empty(len(told.inputs), dtype=np.int64)
    weight = np.empty(len(told.inputs), dtype=np.float32)
    outputs[told.index[:, 0]] = naming.columns[np.searchsorted(naming.classes, told.said)]
    weight[told.index[:, 0]] = told.weight
    return torch.from_numpy(outputs), torch.from_numpy(weight)


def _outputs(model: PairClassifier, inputs: Tensor) -> NDArray[np.int64]:
    return np.asarray(model._outputs(model.network_, inputs).argmax(1).numpy())


def _checksum(said: NDArray[Any]) -> int:
    return checksum(said if said.dtype.kind in "iufb" else np.array([str(value) for value in said]))


def _name(weights: int, told: dict[str, int]) -> str:
    """A folder for these weights and this increment: a run that is called again as before finds what it has done."""
    return "-".join(f"{number:08x}" for number in (weights, *told.values()))
