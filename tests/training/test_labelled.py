"""Learning a labelled set: what each criterion leaves to be matched, and on which data it is matched."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from likewise import KCL, MCL
from likewise.datasets import DataSet, Items
from likewise.evaluation import accuracy
from likewise.networks import build
from likewise.training import Settings, measure, train_labelled
from likewise.training.labelled import epoch_scores, matching_of


def blobs(n: int, seed: int) -> Items:
    """Three classes that lie far apart in four dimensions."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 3
    return Items(5 * torch.eye(4)[labels] + torch.randn(n, 4, generator=generator), labels, ("a", "b", "c"))


@pytest.fixture
def data() -> DataSet:
    return DataSet("blobs", blobs(120, 0), blobs(60, 1), (), ())


@pytest.mark.parametrize("criterion", [nn.CrossEntropyLoss(), KCL(), MCL()], ids=["ce", "kcl", "mcl"])
def test_every_criterion_learns_the_classes(data: DataSet, criterion: nn.Module) -> None:
    network = build("mlp", 3, (4,), seed=0)
    settings = Settings(epochs=6, batch_size=20, learning_rate=0.01, device="cpu")
    result = train_labelled(network, data.train, data, criterion, settings)
    measured = measure(network, data, criterion)
    assert accuracy(measured.test_counts, measured.matching) > 0.95
    assert result.history[-1]["test_accuracy"] > 0.95
    assert measured.test_logits.argmax(1).bincount(minlength=3).tolist() == measured.test_counts.sum(1).tolist()


def test_pairwise_outputs_are_matched_on_training_counts_and_cross_entropys_are_not() -> None:
    train_counts = np.array([[0, 9, 1], [0, 1, 9], [10, 0, 0]])
    test_counts = np.array([[0, 3, 1], [1, 0, 3], [4, 0, 0]])
    matched = matching_of(MCL(), train_counts)
    assert matched.tolist() == [1, 2, 0]
    assert accuracy(test_counts, matched) == pytest.approx(10 / 12)
    told = matching_of(nn.CrossEntropyLoss(), train_counts)
    assert told.tolist() == [0, 1, 2]
    assert accuracy(test_counts, told) == 0


def test_the_score_of_an_epoch_uses_the_epochs_matching(data: DataSet) -> None:
    network = nn.Linear(4, 3, bias=False)  # output k answers to class (k + 1) % 3
    with torch.no_grad():
        network.weight.copy_(torch.eye(4)[[1, 2, 0]])
    counts = np.array([[0, 5, 0], [0, 0, 5], [5, 0, 0]])
    assert epoch_scores(MCL(), data)(network, counts)["test_accuracy"] > 0.95
    assert epoch_scores(nn.CrossEntropyLoss(), data)(network, counts)["test_accuracy"] < 0.05
