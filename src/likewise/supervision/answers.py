"""Learning from answers: S is the answers of people, sensors or links about some pairs, and what follows from them.

An unanswered pair does not count or, with `unlabelled`, counts through its pseudo-similarity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from torch import Tensor, nn

from likewise.criteria import Groups, LabelTable, Overlay, PairTable, TableTile, evidence_mcl, mcl, noisy_mcl
from likewise.criteria.wrong_answers import USUAL, confusion_mcl, confusion_prior, volume
from likewise.pairs import Closure, Pairs
from likewise.supervision.pseudo import item_numbers, pseudo_similarity

Device = torch.device | str


class Known(Protocol):
    """What is known of the pairs of any batch of items."""

    @property
    def complete(self) -> bool:
        """Whether no pair of the items that answers name is unknown, and all pairs count alike."""

    def among(self, index: ArrayLike, device: Device = "cpu") -> PairTable:
        """The target of a batch of b items."""


class LabelKnowledge:
    """Labels, of which only same or different is used; -1 and -100 are unknown.

    >>> LabelKnowledge(np.array([4, 4, -1])).among([0, 1, 2]).tile(slice(0, 1), slice(0, 3))
    TableTile(different=tensor([[0., 0., 1.]]), weight=tensor([[1., 1., 0.]]))
    """

    def __init__(self, labels: NDArray[np.int64], weight: NDArray[np.float32] | None = None) -> None:
        known = (labels >= 0).astype(np.float32)
        self.labels = torch.from_numpy(np.unique(labels, return_inverse=True)[1]).float()  # (n,)
        self.weight = torch.from_numpy(known if weight is None else known * weight)  # (n,)
        self.complete = weight is None or bool(np.isin(weight, (0, 1)).all())

    def among(self, index: ArrayLike, device: Device = "cpu") -> LabelTable:
        rows = torch.from_numpy(np.asarray(index))
        return LabelTable(self.labels[rows].to(device), self.weight[rows].to(device))


@dataclass(frozen=True, slots=True)
class ClosureTable:
    """What follows from answers, each with weight 1."""

    place: Tensor  # (b,) of the component of each item
    answer: Tensor  # uint8 (u, u) of each two components: 0 unknown, 1 different, 2 the same

    certain = True

    def tile(self, rows: slice, columns: slice) -> TableTile:
        answer = self.answer[self.place[rows]].index_select(1, self.place[columns])
        return TableTile(answer == 1, answer > 0)

    def groups(self) -> Groups:
        return Groups(self.place, self.answer == 1)


class ClosureKnowledge:
    """All that follows from answers; the closure may be on disk."""

    def __init__(self, closure: Closure) -> None:
        self.closure = closure

    @property
    def complete(self) -> bool:
        return self.closure.complete

    def among(self, index: ArrayLike, device: Device = "cpu") -> ClosureTable:
        place, different = self.closure.among(index)
        answer = torch.from_numpy(different.view(np.uint8)).fill_diagonal_(2)
        return ClosureTable(torch.from_numpy(place).to(device), answer.to(device))


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """Answers one by one, sparse (b, b): the sum of the weights of each pair, and of weight * same."""

    weight: Any
    weighted_same: Any
    device: Device

    certain = False

    def tile(self, rows: slice, columns: slice) -> TableTile:
        weight, weighted_same = (
            torch.from_numpy(matrix[rows, columns].toarray().astype(np.float32)).to(self.device)
            for matrix in (self.weight, self.weighted_same)
        )
        same = torch.where(weight > 0, weighted_same / weight, 0.0).clamp_(0, 1)
        return TableTile(1 - same, weight)


class AnswerKnowledge:
    """Answers with their weights and, with `implied`, all that follows from them (see `Closure`), each with weight 1.

    >>> pairs = Pairs.from_arrays([(0, 1), (1, 2)], [1, 0])
    >>> AnswerKnowledge(pairs).among([0, 2]).tile(slice(0, 1), slice(1, 2))
    TableTile(different=tensor([[True]]), weight=tensor([[True]]))
    >>> AnswerKnowledge(pairs, implied=False).among([0, 2]).tile(slice(0, 1), slice(1, 2)).weight
    tensor([[0.]])
    """

    def __init__(self, pairs: Pairs, *, implied: bool = True) -> None:
        self.implied = ClosureKnowledge(pairs.closure()) if implied else None
        plain = bool(np.isin(pairs.same, (0, 1)).all() and (pairs.weight == 1).all())
        self.listed = None if implied and plain else self._matrices(pairs)

    @staticmethod
    def _matrices(pairs: Pairs) -> tuple[Any, Any]:
        """Sparse (n, n), each pair both ways: the sum of the weights, and of weight * same."""
        place = np.concatenate([pairs.left, pairs.right]), np.concatenate([pairs.right, pairs.left])
        weight = np.tile(pairs.weight, 2)
        weighted_same = weight * np.tile(pairs.same, 2)
        shape = (pairs.n_items, pairs.n_items)
        return coo_array((weight, place), shape).tocsr(), coo_array((weighted_same, place), shape).tocsr()

    @property
    def complete(self) -> bool:
        return self.listed is None and self.implied is not None and self.implied.complete

    def among(self, index: ArrayLike, device: Device = "cpu") -> PairTable:
        rows = np.asarray(index)
        implied = None if self.implied is None else self.implied.among(rows, device)
        if self.listed is None:
            assert implied is not None
            return implied
        weight, weighted_same = (matrix[rows][:, rows] for matrix in self.listed)
        listed = AnswerTable(weight, weighted_same, device)
        return listed if implied is None else Overlay(listed, implied)


class EvidenceKnowledge(AnswerKnowledge):
    """P(same) of answered pairs by their answers alone (see `evidence`); nothing follows from chains of them.

    >>> from likewise.pairs import evidence
    >>> pairs = Pairs.from_arrays([(0, 1), (1, 2)], [1, 0])
    >>> known = EvidenceKnowledge(evidence(pairs, np.array([0.2]), np.array([0.1])))
    >>> known.among([0, 1]).tile(slice(0, 1), slice(1, 2)).different.round(decimals=3)  # d / (1 - e + d)
    tensor([[0.1110]])
    """

    def __init__(self, pairs: Pairs) -> None:
        super().__init__(pairs, implied=False)


@dataclass(frozen=True, slots=True)
class BetweenItems:
    """A table, of which the pairs of two views of one item do not count: they are no answer."""

    table: PairTable
    item: Tensor  # (b,) as float32, see `item_numbers`

    @property
    def certain(self) -> bool:
        return self.table.certain

    def tile(self, rows: slice, columns: slice) -> TableTile:
        different, weight = self.table.tile(rows, columns)
        others = self.item[rows, None] != self.item[columns]
        return TableTile(different, others if weight is None else weight * others)


class AnsweredBatch(Protocol):
    @property
    def inputs(self) -> Tensor: ...

    @property
    def index(self) -> Tensor: ...


class AnsweringNetwork(nn.Module):
    """A network, and beside it the rate at which its answers are flipped, to be learned with it."""

    def __init__(self, network: nn.Module, noise: float) -> None:
        super().__init__()
        self.network = network
        self.training = network.training  # so that `train` sees which parts of the network are frozen
        self.noise_logit = nn.Parameter(torch.logit(torch.tensor(2 * noise)) / 10)

    @property
    def noise(self) -> Tensor:
        """Between 0 and 1/2; the factor lets one parameter move as fast as a network of many."""
        return torch.sigmoid(10 * self.noise_logit) / 2

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.network(inputs)
        return logits


def answers_objective(
    known: Known, *, unlabelled: bool = False, noise: float = 0.0
) -> Callable[[nn.Module, AnsweredBatch], tuple[Tensor, Tensor]]:
    """The objective for `train`: MCL over the known pairs of the batch, each pair of items once.

    With `unlabelled` a second MCL goes over all pairs: known ones have their answer, two views of an item are the same,
    and the rest have their pseudo-similarity. `noise` is the rate of wrong answers; an `AnsweringNetwork` has
    its own, and in `EvidenceKnowledge` it is weighed already. Where answers may be wrong, the second MCL does not lean
    on them.

    >>> from likewise import Pairs
    >>> from likewise.training import Batch
    >>> known = AnswerKnowledge(Pairs.from_arrays([(0, 1), (1, 2)], [1, 0]))
    >>> batch = Batch(torch.randn(3, 5), torch.full((3,), -1), torch.arange(3))
    >>> loss, logits = answers_objective(known)(nn.Linear(5, 2), batch)
    >>> loss.shape, logits.shape
    (torch.Size([]), torch.Size([3, 2]))
    """
    is_evidence = isinstance(known, EvidenceKnowledge)

    def objective(network: nn.Module, batch: AnsweredBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)
        values, index = logits.float(), batch.index.to(logits.device)
        same = BetweenItems(known.among(batch.index.cpu().numpy(), logits.device), item_numbers(index))
        rate = network.noise if isinstance(network, AnsweringNetwork) else noise
        sound = isinstance(rate, float) and not rate and not is_evidence
        if is_evidence:
            loss = evidence_mcl(values, same)
        else:
            loss = mcl(values, same) if sound else noisy_mcl(values, same, rate)
        if unlabelled:
            pseudo = pseudo_similarity(logits, index)
            loss = loss + mcl(values, Overlay(same, pseudo) if sound else pseudo)
        return loss, logits

    return objective


# Answers of people who mix up certain classes: the network, and beside it which classes they mix up.

VOLUME = 0.01  # the weight of the volume
FAST = 50.0  # lets few parameters move as fast as a network of many


class ConfusedNetwork(nn.Module):
    """A network with K outputs, and B (K, K): how often two items are called the same, by their classes."""

    def __init__(self, network: nn.Module, n_outputs: int) -> None:
        super().__init__()
        self.network = network
        self.training = network.training  # so that `train` sees which parts of the network are frozen
        usual = torch.full((n_outputs, n_outputs), USUAL).fill_diagonal_(1 - USUAL)
        self.confusion_logit = nn.Parameter(torch.logit(usual) / FAST)

    @property
    def confusion(self) -> Tensor:
        """B, symmetric, between 0 and 1."""
        return torch.sigmoid(FAST * (self.confusion_logit + self.confusion_logit.T) / 2)

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.network(inputs)
        return logits


def confusion_objective(
    known: Known, n_answers: int
) -> Callable[[ConfusedNetwork, AnsweredBatch], tuple[Tensor, Tensor]]:
    """The objective for `train`: the known pairs of the batch, the prior of B, and the volume of the outputs."""

    def objective(network: ConfusedNetwork, batch: AnsweredBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)
        index = batch.index.to(logits.device)
        same = BetweenItems(known.among(batch.index.cpu().numpy(), logits.device), item_numbers(index))
        confusion = network.confusion
        loss = confusion_mcl(logits.float(), same, confusion) + confusion_prior(confusion) / n_answers
        return loss - VOLUME * volume(logits.float()), logits

    return objective
