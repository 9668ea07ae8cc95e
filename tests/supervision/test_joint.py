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
from likewise.supervision import (
    AnswerKnowledge,
    LabelKnowledge,
    RecentOutputs,
    answers_objective,
    joint_loss,
    joint_objective,
)
from likewise.training import Settings, TensorBatches, train
from likewise.training.batches import Batch

NAN = math.nan


def blobs(n: int, n_classes: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % n_classes
    return 4 * torch.eye(n_classes)[labels] + torch.randn(n, n_classes, generator=draw), labels


def test_with_labels_it_is_joint_mcl() -> None:
    logits, labels = torch.randn(18, 4, generator=torch.Generator().manual_seed(0)), torch.arange(18) % 3
    known = LabelKnowledge(np.append(labels.numpy(), [-1, -1]))
    torch.testing.assert_close(joint_loss(logits, torch.arange(18), known), joint_mcl(logits, labels))


def test_each_known_pair_counts_once() -> None:
    """Items 0 to 9 are two groups that differ; 10 differs from 0 and what is the same, 11 is the same as 12."""
    chains = [(0, i) for i in range(1, 5)] + [(5, i) for i in range(6, 10)] + [(11, 12)]
    pairs = Pairs.from_arrays([*chains, (0, 5), (0, 10)], [1] * 9 + [0, 0], ids=range(14))
    logits = torch.randn(14, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = joint_loss(logits, torch.arange(14), AnswerKnowledge(pairs))

    matched = joint_mcl(logits[:10], torch.arange(10) // 5) * 10 / 13  # of the 13 items that are spoken of
    rest = torch.tensor([[0, 10], [1, 10], [2, 10], [3, 10], [4, 10], [11, 12]])  # of 10 + 10 + 25 + 6 known pairs
    left_over = mcl(logits, torch.tensor([0.0] * 5 + [1.0]), pairs=rest, reduction="sum") / 51
    torch.testing.assert_close(loss, matched + left_over)
    (gradient,) = torch.autograd.grad(loss, logits)
    (exact,) = torch.autograd.grad(matched + left_over, logits)
    torch.testing.assert_close(gradient, exact)


def test_few_answers_are_left_to_mcl() -> None:
    draw = np.random.default_rng(0)
    truth, told = draw.integers(4, size=40), draw.integers(40, size=(30, 2))
    told = told[told[:, 0] != told[:, 1]]
    pairs = Pairs.from_arrays(told, (truth[told[:, 0]] == truth[told[:, 1]]).astype(float), ids=range(40))
    logits = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    known = AnswerKnowledge(pairs)
    expected = mcl(logits, known.among(np.arange(40)))
    torch.testing.assert_close(joint_loss(logits, torch.arange(40), known), expected)

    views = torch.arange(40).repeat(2)  # two views of an item are no answer
    batch = Batch(logits.repeat(2, 1), torch.full((80,), -1), views)
    torch.testing.assert_close(
        joint_loss(batch.inputs, views, known), answers_objective(known)(nn.Identity(), batch)[0]
    )


def test_nothing_known_is_a_loss_of_zero() -> None:
    logits = torch.randn(3, 2, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = joint_loss(logits, torch.arange(3), LabelKnowledge(np.array([-1, -1, -1])))
    assert loss == 0
    assert not torch.autograd.grad(loss, logits)[0].any()


def test_the_memory_is_looked_at_and_then_filled() -> None:
    """Eight items of two classes are remembered, and two of each class are in the batch."""
    labels = np.arange(12) % 2
    inner = nn.Linear(2, 2, bias=False)
    inner.weight.data.copy_(0.1 * torch.eye(2))
    network = RecentOutputs(inner, 2, size=9)
    network.remember(torch.arange(4, 12), 5 * torch.eye(2)[1 - torch.arange(8) % 2])
    batch = Batch(torch.eye(2)[torch.arange(4) % 2], torch.full((4,), -1), torch.arange(4))
    loss, logits = joint_objective(LabelKnowledge(labels))(network, batch)
    torch.testing.assert_close(loss, cross_entropy(logits, torch.tensor([1, 0, 1, 0])))
    assert network.index.tolist() == [7, 8, 9, 10, 11, 0, 1, 2, 3]
    torch.testing.assert_close(network.logits[-4:], logits.detach())
    assert not network.logits.requires_grad

    network.eval()
    joint_objective(LabelKnowledge(labels))(network, batch._replace(index=torch.arange(4, 8)))
    assert network.index.tolist() == [7, 8, 9, 10, 11, 0, 1, 2, 3]  # nothing is remembered of what is only judged


def test_an_item_is_remembered_once_and_is_no_evidence_about_itself() -> None:
    labels, logits = np.arange(10) % 2, 0.1 * torch.eye(2)[torch.arange(10) % 2]
    network = RecentOutputs(nn.Linear(2, 2), 2, size=12)
    network.remember(torch.arange(10), 5 * torch.eye(2)[1 - torch.arange(10) % 2])
    before = joint_loss(logits, torch.arange(10), LabelKnowledge(labels), network.recent())
    torch.testing.assert_close(before, joint_loss(logits, torch.arange(10), LabelKnowledge(labels)))
    network.remember(torch.tensor([3, 4]), torch.zeros(2, 2))
    items, remembered = network.recent()
    assert items.tolist() == [0, 1, 2, 5, 6, 7, 8, 9, 3, 4]
    assert not remembered[-2:].any()


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
