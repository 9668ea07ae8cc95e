"""Learn a labelled set with any criterion, and measure it as the paper does (section 5.1).

A pairwise criterion leaves open which output stands for which class; the Hungarian algorithm matches them on the
training data, and the matching is then applied to the test data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor, nn

from likewise.datasets import Augmentation, DataSet, Items
from likewise.evaluation import accuracy, confusion, match_outputs
from likewise.supervision import label_objective
from likewise.training.batches import Order, TensorBatches
from likewise.training.forward import Objective
from likewise.training.inputs import predict_logits
from likewise.training.loop import Evaluate, OnEpoch, TrainingResult, train
from likewise.training.optimizers import MakeOptimizer
from likewise.training.settings import Settings

Criterion = Callable[[Tensor, Tensor], Tensor]  # MCL, KCL, nn.CrossEntropyLoss, ...


def train_labelled(
    network: nn.Module,
    items: Items,
    data: DataSet,
    criterion: Criterion,
    settings: Settings,
    *,
    augment: Augmentation | None = None,
    run: Path | None = None,
    config: Mapping[str, object] | None = None,
    on_epoch: OnEpoch | None = None,
    optimizer: MakeOptimizer | None = None,
    objective: Objective | None = None,
    order: Order | None = None,
) -> TrainingResult:
    """Train on `items`, which are all or some of `data.train`; the history has the test accuracy of each epoch.

    Another `objective` may be learned in place of the criterion, which then only says how outputs get their classes.

    >>> import contextlib, io
    >>> from likewise.criteria import MCL
    >>> from likewise.datasets import load
    >>> from likewise.networks import build
    >>> from likewise.training import Settings
    >>> digits, network = load("digits"), build("linear", 10, (1, 8, 8), seed=0)
    >>> with contextlib.redirect_stdout(io.StringIO()):  # the progress
    ...     result = train_labelled(network, digits.train, digits, MCL(), Settings(epochs=2))
    >>> sorted(result.history[-1])
    ['accuracy', 'epoch', 'learning_rate', 'loss', 'test_accuracy']
    """
    batches = TensorBatches(
        items.inputs,
        items.labels,
        settings.batch_size,
        seed=settings.seed,
        mean=data.mean,
        std=data.std,
        augment=None if augment == Augmentation() else augment,
        order=order,
    )
    return train(
        network,
        batches,
        objective or label_objective(criterion),
        settings,
        n_classes=items.n_classes,
        run=run,
        config=config,
        evaluate=epoch_scores(criterion, data),
        on_epoch=on_epoch,
        optimizer=optimizer,
    )


@dataclass(frozen=True)
class Measurement:
    """A trained network on both parts of a set.

    >>> from likewise.criteria import MCL
    >>> from likewise.datasets import load
    >>> from likewise.networks import build
    >>> from likewise.training import Settings
    >>> digits, network = load("digits"), build("linear", 10, (1, 8, 8), seed=0)
    >>> measured = measure(network, digits, MCL())
    >>> measured.test_logits.shape, measured.matching.shape
    (torch.Size([355, 10]), (10,))
    """

    matching: np.ndarray  # int64 (K,): the class of each output, -1 where it has none
    train_counts: np.ndarray  # int64 (K, C): rows outputs, columns classes
    test_counts: np.ndarray
    test_logits: Tensor  # (n, K)


def measure(network: nn.Module, data: DataSet, criterion: Criterion) -> Measurement:
    """Match the outputs on all training items, in evaluation mode, and count those of the test items.

    >>> from likewise.criteria import MCL
    >>> from likewise.datasets import load
    >>> from likewise.networks import build
    >>> from likewise.training import Settings
    >>> digits, network = load("digits"), build("linear", 10, (1, 8, 8), seed=0)
    >>> measure(network, digits, MCL()).test_counts.shape  # outputs, classes
    (10, 10)
    """
    train_counts = count_outputs(logits_of(network, data.train, data), data.train)
    test_logits = logits_of(network, data.test, data)
    return Measurement(
        matching_of(criterion, train_counts), train_counts, count_outputs(test_logits, data.test), test_logits
    )


def epoch_scores(criterion: Criterion, data: DataSet) -> Evaluate:
    """For the end of each epoch: the outputs are matched on the epoch's training counts, which cost nothing more."""

    def evaluate(network: nn.Module, train_counts: np.ndarray) -> dict[str, float]:
        test_counts = count_outputs(logits_of(network, data.test, data), data.test)
        return {"test_accuracy": accuracy(test_counts, matching_of(criterion, train_counts))}

    return evaluate


def matching_of(criterion: Criterion, train_counts: np.ndarray) -> np.ndarray:
    """The class of each output: cross-entropy was told, the pairwise criteria are matched on training data."""
    if isinstance(criterion, nn.CrossEntropyLoss):
        return np.arange(train_counts.shape[0])
    return match_outputs(train_counts)


def logits_of(network: nn.Module, items: Items, data: DataSet) -> Tensor:
    return predict_logits(network, items.inputs, mean=data.mean, std=data.std)  # (n, K)


def count_outputs(logits: Tensor, items: Items) -> np.ndarray:
    return confusion(logits.argmax(1), items.labels, logits.shape[1], items.n_classes)
