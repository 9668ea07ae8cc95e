"""Learning with joint MCL: what is matched, what is left to MCL, what is remembered, and that a run resumes with it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from likewise.criteria import joint_mcl, mcl
from likewise.evaluation import accuracy, confusion, match_outputs
from likewise.pairs import Pairs
from likewise.supervision import AnswerKnowledge, LabelKnowledge, RecentOutputs, joint_loss, joint_objective
from likewise.training import Settings, TensorBatches, train
from likewise.training.batches import Batch

NAN = math.nan


def blobs(n: int, n_classes: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % n_classes
    return 4 * torch.eye(n_classes)[labels] + torch.randn(n, n_classes, generator=draw), labels


def test_with_labels_it_is_joint_mcl() -> None:
    logits, labels = torch.randn(12, 4, generator=torch.Generator().manual_seed(0)), torch.arange(12) % 3
    known = LabelKnowledge(np.append(labels.numpy(), [-1, -1]))
    torch.testing.assert_close(joint_loss(logits, torch.arange(12), known), joint_mcl(logits, labels))


def test_each_known_pair_counts_once() -> None:
    """Items 0 to 3 are two groups that differ; item 4 differs from item 0 alone, item 5 is the same as item 6."""
    pairs = Pairs.from_arrays([(0, 1), (2, 3), (0, 2), (0, 4), (5, 6)], [1, 1, 0, 0, 1], ids=range(8))
    logits = torch.randn(8, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = joint_loss(logits, torch.arange(8), AnswerKnowledge(pairs))

    matched = joint_mcl(logits[:4], torch.tensor([0, 0, 1, 1])) * 4 / 7  # of the seven items that are spoken of
    rest = torch.tensor([[0, 4], [1, 4], [5, 6]])  # of nine known pairs, 1 and 4 by what follows
    expected = matched + mcl(logits, torch.tensor([0.0, 0.0, 1.0]), pairs=rest, reduction="sum") / 9
    torch.testing.assert_close(loss, expected)
    (gradient,) = torch.autograd.grad(loss, logits)
    (exact,) = torch.autograd.grad(expected, logits)
    torch.testing.assert_close(gradient, exact)


def test_nothing_known_is_a_loss_of_zero() -> None:
    logits = torch.randn(3, 2, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = joint_loss(logits, torch.arange(3), LabelKnowledge(np.array([-1, -1, -1])))
    assert loss == 0
    assert not torch.autograd.grad(loss, logits)[0].any()


def test_the_memory_is_looked_at_and_then_filled() -> None:
    labels = np.array([0, 1, 0, 1])
    inner = nn.Linear(2, 2, bias=False)
    inner.weight.data.copy_(0.1 * torch.eye(2))
    network = RecentOutputs(inner, 2, size=3)
    network.remember(torch.tensor([2, 3]), torch.tensor([[0.0, 5.0], [5.0, 0.0]]))
    batch = Batch(torch.eye(2), torch.tensor([-1, -1]), torch.tensor([0, 1]))
    loss, logits = joint_objective(LabelKnowledge(labels))(network, batch)
    torch.testing.assert_close(loss, cross_entropy(logits, torch.tensor([1, 0])))
    assert network.index.tolist() == [3, 0, 1]
    torch.testing.assert_close(network.logits, torch.tensor([[5.0, 0.0], [0.1, 0.0], [0.0, 0.1]]))
    assert not network.logits.requires_grad

    network.eval()
    joint_objective(LabelKnowledge(labels))(network, batch)
    assert network.index.tolist() == [3, 0, 1]  # nothing is remembered of items that are only judged


def test_a_batch_larger_than_the_memory() -> None:
    network = RecentOutputs(nn.Linear(2, 2), 2, size=2)
    network.remember(torch.arange(5), torch.arange(10.0).view(5, 2))
    items, logits = network.recent()
    assert items.tolist() == [3, 4]
    assert logits.tolist() == [[6.0, 7.0], [8.0, 9.0]]


def test_outputs_are_those_of_the_network_and_remembering_is_by_default_for_each_output() -> None:
    inner = nn.Linear(3, 2)
    network = RecentOutputs(inner, 2)
    assert torch.equal(network(torch.ones(1, 3)), inner(torch.ones(1, 3)))
    assert network.logits.shape == (100, 2)
    assert len(network.recent()[0]) == 0


@pytest.mark.parametrize("remembering", [False, True])
def test_many_classes_are_learned_from_a_start_where_all_outputs_are_alike(remembering: bool) -> None:
    """Twenty classes in batches of 40: two items of each, which is too few without the memory."""
    inputs, labels = blobs(400, 20)
    inner = nn.Linear(20, 20)
    nn.init.normal_(inner.weight, std=1e-3, generator=torch.Generator().manual_seed(0))
    network = RecentOutputs(inner, 20) if remembering else inner
    batches = TensorBatches(inputs, torch.full((400,), -1), 40)
    settings = Settings(epochs=8, batch_size=40, learning_rate=0.02, precision="float32")
    train(network, batches, joint_objective(LabelKnowledge(labels.numpy())), settings, progress=False)
    counts = confusion(inner(inputs).argmax(1), labels, 20, 20)
    right = accuracy(counts, match_outputs(counts))
    assert (right > 0.97) == remembering


def test_a_run_resumes_with_what_it_remembers(tmp_path: Path) -> None:
    inputs, labels = blobs(60, 3)
    objective = joint_objective(LabelKnowledge(labels.numpy()))
    settings = Settings(epochs=3, batch_size=20, learning_rate=0.02, precision="float32")

    def learn(run: Path, stop: bool = False) -> dict[str, Tensor]:
        torch.manual_seed(0)
        network = RecentOutputs(nn.Linear(3, 3), 3, size=30)

        def end(row: dict[str, float]) -> None:
            if stop and row["epoch"] == 2:
                raise KeyboardInterrupt

        batches = TensorBatches(inputs, torch.full((60,), -1), 20)
        train(network, batches, objective, settings, run=run, on_epoch=end, progress=False)
        return network.state_dict()

    whole = learn(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        learn(tmp_path / "stopped", stop=True)
    resumed = learn(tmp_path / "stopped")
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert (whole["index"] >= 0).all()
