"""Learning from answers: S is what people, sensors or links said about some pairs, and what follows from it.

A pair that nobody was asked about either counts for nothing or, with `unlabelled`, through its pseudo-similarity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from torch import Tensor, nn

from likewise.criteria import flipped_mcl, mcl
from likewise.pairs import Closure, Pairs
from likewise.supervision.pseudo import pseudo_similarity

Floats = NDArray[np.float32]


class Known(Protocol):
    """What is known of the pairs of any batch of items."""

    def among(self, index: ArrayLike) -> tuple[Floats, Floats | None]:
        """For b items same (b, b), NaN where unknown, and weight (b, b), or None where all count alike."""


class LabelKnowledge:
    """Labels, of which only same or different is used; -1 is unknown.

    >>> LabelKnowledge(np.array([4, 4, -1])).among([0, 1, 2])[0]
    array([[ 1.,  1., nan],
           [ 1.,  1., nan],
           [nan, nan, nan]], dtype=float32)
    """

    def __init__(self, labels: NDArray[np.int64], weight: Floats | None = None) -> None:
        self.labels, self.weight = labels, weight  # (n,), (n,): the weight of a pair is the product of its items'

    def among(self, index: ArrayLike) -> tuple[Floats, Floats | None]:
        labels = self.labels[np.asarray(index)]
        same = (labels[:, None] == labels).astype(np.float32)
        same[labels < 0] = same[:, labels < 0] = np.nan
        if self.weight is None:
            return same, None
        weight = self.weight[np.asarray(index)]
        return same, np.outer(weight, weight)


class AnswerKnowledge:
    """Answers with their weights and, with `implied`, all that follows from them (see `Closure`), each with weight 1.

    >>> pairs = Pairs.from_arrays([(0, 1), (1, 2)], [1, 0])
    >>> AnswerKnowledge(pairs).among([0, 2])[0]
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    >>> AnswerKnowledge(pairs, implied=False).among([0, 2])[0]
    array([[nan, nan],
           [nan, nan]], dtype=float32)
    """

    def __init__(self, pairs: Pairs, *, implied: bool = True) -> None:
        self.closure = pairs.closure() if implied else None
        plain = bool(np.isin(pairs.same, (0, 1)).all() and (pairs.weight == 1).all())
        self.listed = None if implied and plain else self._matrices(pairs)

    @staticmethod
    def _matrices(pairs: Pairs) -> tuple[object, object]:
        """Sparse (n, n), each pair both ways: the sum of the weights, and of weight * same."""
        place = np.concatenate([pairs.left, pairs.right]), np.concatenate([pairs.right, pairs.left])
        weight = np.tile(pairs.weight, 2)
        said = weight * np.tile(pairs.same, 2)
        shape = (pairs.n_items, pairs.n_items)
        return coo_array((weight, place), shape).tocsr(), coo_array((said, place), shape).tocsr()

    def among(self, index: ArrayLike) -> tuple[Floats, Floats | None]:
        index = np.asarray(index)
        b = len(index)
        same = np.full((b, b), np.nan, dtype=np.float32) if self.closure is None else self.closure.target(index)
        if self.listed is None:
            return same, None
        weight, said = (np.asarray(matrix[index][:, index].todense()) for matrix in self.listed)  # type: ignore[index]
        answered = weight > 0
        np.divide(said, weight, out=same, where=answered)
        return np.clip(same, 0, 1), np.where(answered, weight, ~np.isnan(same)).astype(np.float32)


class ClosureKnowledge:
    """All that follows from answers, each with weight 1; the closure may be on disk."""

    def __init__(self, closure: Closure) -> None:
        self.closure = closure

    def among(self, index: ArrayLike) -> tuple[Floats, Floats | None]:
        return self.closure.target(index), None


class AnsweredBatch(Protocol):
    @property
    def inputs(self) -> Tensor: ...

    @property
    def index(self) -> Tensor: ...


class AnsweringNetwork(nn.Module):
    """A network, and beside it the rate at which its answers are flipped, to be learned with it."""

    def __init__(self, network: nn.Module, flip: float) -> None:
        super().__init__()
        self.network = network
        self.flip_logit = nn.Parameter(torch.logit(torch.tensor(2 * flip)) / 10)

    @property
    def flip(self) -> Tensor:
        """Between 0 and 1/2; the factor lets one parameter move as fast as a network of many."""
        return torch.sigmoid(10 * self.flip_logit) / 2

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.network(inputs)
        return logits


def answers_objective(
    known: Known, *, unlabelled: bool = False, flip: float = 0.0
) -> Callable[[nn.Module, AnsweredBatch], tuple[Tensor, Tensor]]:
    """The objective for `train`: MCL over the known pairs of the batch, each pair of items once.

    With `unlabelled` a second MCL goes over all pairs: known ones have their answer, two views of an item are the same,
    and the rest have their pseudo-similarity. `flip` is the rate of wrong answers; an `AnsweringNetwork` has
    its own. Where answers may be wrong, the second MCL does not lean on them.
    """

    def objective(network: nn.Module, batch: AnsweredBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)
        values = logits.float()
        found, found_weight = known.among(batch.index.cpu().numpy())
        same = torch.from_numpy(found).to(values.device)
        weight = None if found_weight is None else torch.from_numpy(found_weight).to(values.device)
        same[batch.index[:, None] == batch.index] = torch.nan  # views of one item are no answer
        rate = network.flip if isinstance(network, AnsweringNetwork) else flip
        sound = isinstance(rate, float) and not rate
        loss = mcl(values, same, weight=weight) if sound else flipped_mcl(values, same, rate, weight)
        if unlabelled:
            pseudo = pseudo_similarity(logits, batch.index)
            loss = loss + mcl(values, torch.where(same.isnan(), pseudo, same) if sound else pseudo)
        return loss, logits

    return objective
