"""Fine-tune an encoder: its last blocks learn the answers together with the classifier, after that has converged.

    f(x) = classifier((u - mean) / std),    u = tail(x) / |tail(x)|

The loss is that of the answers, and MCL on the pairs that nobody answered by their pseudo-similarity, at a fiftieth of
the learning rate. The outcome is kept only if it does no worse on held-out answers.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from likewise.datasets import to_unit_length
from likewise.pairs import Pairs
from likewise.supervision import Known, answers_objective
from likewise.training.answers import Learner
from likewise.training.inputs import NetworkInputs
from likewise.training.loop import OnEpoch
from likewise.training.orders import AnswerOrder
from likewise.training.settings import Settings
from likewise.training.turns import ErrorRates

RATE = 0.02  # of the learning rate
VISITS, LEAST, MOST = 10, 100, 1000  # of each item; steps at least and at most


class TunedNetwork(nn.Module):
    """The last blocks of an encoder, and a classifier of its features of length 1.

    >>> network = TunedNetwork(nn.Identity(), nn.Identity(), mean=[0.0, 0.0], std=[1.0, 0.5])
    >>> network(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 1.6000]])
    """

    mean: Tensor
    std: Tensor

    def __init__(self, tail: nn.Module, classifier: nn.Module, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.tail, self.classifier = tail, classifier
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("std", torch.tensor(std, dtype=torch.float32))

    def forward(self, x: Tensor) -> Tensor:
        features = to_unit_length(self.tail(x))
        logits: Tensor = self.classifier((features - self.mean) / self.std)
        return logits


def fine_tune(
    network: TunedNetwork,
    inputs: Tensor,  # what the tail takes of each item, (n, ...)
    known: Known,
    pairs: Pairs,  # the answers that batches are drawn from
    held_out: Pairs,  # not trained on
    settings: Settings,  # except the epochs; the rate is that of the classifier
    *,
    epochs: int | None = None,
    noise: float = 0.0,
    rates: ErrorRates | None = None,  # of wrong answers of each annotator
    run: Path | None = None,
    config: Mapping[str, object] | None = None,
    progress: bool = True,
    on_epoch: OnEpoch | None = None,
) -> tuple[TunedNetwork, list[dict[str, float]], float]:
    """A fine-tuned copy of the network, its history, and its gain on held-out answers, in standard errors."""
    pile = NetworkInputs(inputs)
    learner = Learner(pile, pairs, held_out, settings, epochs, noise, run, config, progress, on_epoch, rates)
    tuned = copy.deepcopy(network)
    tuned.train()
    tuned.tail.eval()  # batch-norms keep their statistics
    ends = torch.from_numpy(np.stack([pairs.left, pairs.right], axis=1))
    order = AnswerOrder(ends, len(inputs), settings.batch_size, seed=settings.seed, answered=0.5)
    steps = min(max(LEAST, math.ceil(VISITS * len(inputs) / settings.batch_size)), MOST)
    objective = answers_objective(known, unlabelled=True, noise=noise)
    stage = learner.train(tuned, objective, order, steps, "fine-tuning", "fine-tuning", rate=RATE)
    tuned.eval()
    return tuned, stage.history, learner.gain(tuned, network)
