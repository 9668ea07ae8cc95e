"""Every objective, trained over ranks through the one loop, takes the steps of one process with whole batches."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from likewise.criteria import KCL, MCL
from likewise.distributed import join, sharing, world
from likewise.networks import SimilarityModule, build
from likewise.supervision import (
    AnsweringNetwork,
    LabelKnowledge,
    RecentOutputs,
    answers_objective,
    consensus_objective,
    contrastive_objective,
    joint_objective,
    label_objective,
    similarity_objective,
    transfer_objective,
)
from likewise.supervision.semi import METHODS, Aids, AveragedNetwork, SemiBatch, natural_weights, semi_objective
from likewise.training import Batch, Diverged, Interrupted, Settings, TensorBatches, train
from likewise.training.batches import EpochOrder
from likewise.training.orders import FewLabelsOrder

In = Callable[..., list[Any]]

N, B = 41, 12  # three batches of 12 and one of 5, which three ranks do not share out
SETTINGS = Settings(epochs=2, batch_size=B, optimizer="sgd", learning_rate=0.1, precision="float32", device="cpu")


def clouds() -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(3)
    labels = torch.arange(N) % 3
    inputs = torch.randn(N, 5, generator=draw)
    inputs[torch.arange(N), labels] += 2
    return inputs, labels


def plain_network(n_outputs: int = 4) -> nn.Module:
    draw = torch.Generator().manual_seed(1)
    network = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, n_outputs))
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.5, generator=draw)
    return network


class Backbone(nn.Module):
    """With a last layer that a similarity does not use, so that some parameters never have a gradient."""

    n_features = 8

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(5, 8), nn.Linear(8, 2)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.linspace(-1, 1, parameter.numel()).sin().view_as(parameter))

    def features(self, x: Tensor) -> Tensor:
        return self.first(x).tanh()


def similarity_network(head: Any) -> SimilarityModule:
    torch.manual_seed(0)
    return SimilarityModule(Backbone(), hidden=16, head=head)


def cases() -> Iterator[tuple[str, nn.Module, TensorBatches, Any]]:
    inputs, labels = clouds()
    known = LabelKnowledge(np.where(np.arange(N) % 5 == 0, -1, labels.numpy()))
    twice = EpochOrder(N, B, 0, views=2)
    once = TensorBatches(inputs, labels, B)
    yield "mcl", plain_network(), once, label_objective(MCL())
    yield "kcl", plain_network(), once, label_objective(KCL())
    yield "cross-entropy", plain_network(), once, label_objective(nn.CrossEntropyLoss())
    yield "answers", plain_network(), TensorBatches(inputs, labels, B, order=twice), answers_objective(known)
    yield (
        "pseudo",
        plain_network(),
        TensorBatches(inputs, labels, B, order=twice),
        answers_objective(known, unlabelled=True),
    )
    yield "flips", AnsweringNetwork(plain_network(), 0.2), once, answers_objective(known)
    yield "joint", RecentOutputs(plain_network(), 4, size=20), once, joint_objective(known)
    yield "similarity", similarity_network("pairs"), once, similarity_objective()
    yield "contrast", similarity_network("cosine"), once, contrastive_objective()
    opinions = torch.stack([labels, (labels + torch.arange(N)) % 3], 1)
    yield "consensus", plain_network(), once, consensus_objective(opinions, MCL())
    teacher = similarity_network("pairs").similarity
    yield "transfer", plain_network(), once, transfer_objective(teacher, MCL())
    few = torch.where(torch.arange(N) < 7, labels, -1)
    for name, method in METHODS.items():
        if method.regulariser is None or name == "vat":  # vat draws a direction for each item; see below
            continue
        order = FewLabelsOrder(torch.arange(7), N, B, a_batch=5, views=method.views)
        batches = TensorBatches(inputs, few, B, order=order)
        regulariser = method.regulariser(Aids(1.0, similarity_network("pairs").similarity))
        network = AveragedNetwork(plain_network(3)) if method.averaged else plain_network(3)
        yield name, network, batches, semi_objective(regulariser, order.a_batch, natural_weights(7, N))


def train_all() -> dict[str, Any]:
    learned = {}
    for name, network, batches, objective in cases():
        result = train(network, batches, objective, SETTINGS, n_classes=3, progress=False)
        learned[name] = result.history, network.state_dict(), result.confusion
    return learned


@pytest.mark.parametrize("size", [2, 3])
def test_every_objective_takes_the_same_steps(size: int, in_ranks: In) -> None:
    alone = train_all()
    ranks = in_ranks(size, train_all)
    for name, (history, weights, confusion) in alone.items():
        for rank in ranks:
            found_history, found, found_confusion = rank[name]
            torch.testing.assert_close(
                found, weights, rtol=1e-4, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}"
            )
            for row, expected in zip(found_history, history, strict=True):
                assert row == pytest.approx(expected, rel=1e-4), name
            if name not in ("similarity", "contrast"):
                np.testing.assert_array_equal(found_confusion, confusion)
        for value, other in zip(ranks[0][name][1].values(), ranks[1][name][1].values(), strict=True):
            assert torch.equal(value, other), name


def train_vat() -> Any:
    inputs, labels = clouds()
    few = torch.where(torch.arange(N) < 7, labels, -1)
    order = FewLabelsOrder(torch.arange(7), N, B, a_batch=5, views=1)
    batches, network = TensorBatches(inputs, few, B, order=order), plain_network(3)
    regulariser = METHODS["vat"].regulariser
    assert regulariser is not None
    objective = semi_objective(regulariser(Aids(1.0)), order.a_batch, natural_weights(7, N))
    history = train(network, batches, objective, SETTINGS, progress=False).history
    with sharing(17) as own:
        network.register_forward_hook(lambda _, __, rows: rows if own.size == 1 else gathered(rows))
        seen = SemiBatch(network, inputs[:17][own.rows], torch.zeros(17, 3), labelled=5)
        return history, network.state_dict(), gathered(seen.items), seen.again(2 * seen.items).detach()


def gathered(rows: Tensor) -> Tensor:
    from likewise.distributed import gather_batch

    return gather_batch(rows)


@pytest.mark.parametrize("size", [2, 3])
def test_vat_knows_which_rows_are_labelled(size: int, in_ranks: In) -> None:
    inputs = clouds()[0]
    ranks = in_ranks(size, train_vat)
    for history, weights, items, again in ranks:
        assert torch.equal(items, inputs[5:17])
        network = plain_network(3)
        network.load_state_dict(weights)
        torch.testing.assert_close(again, network(2 * inputs[5:17]).detach())
        assert history == ranks[0][0]
        assert history[-1]["loss"] < history[0]["loss"]


def train_loaders() -> Any:
    data = TensorDataset(*clouds())
    learned = []
    for source in (data, DataLoader(data, batch_size=B, shuffle=True)):
        network = plain_network()
        train(network, source, label_objective(MCL()), SETTINGS, progress=False)
        learned.append(network.state_dict())
    return learned


def test_data_sets_and_loaders_are_shared_out_too(in_ranks: In) -> None:
    alone = train_loaders()
    for rank in in_ranks(2, train_loaders):
        torch.testing.assert_close(rank, alone, rtol=1e-4, atol=1e-5)


def train_noisily(folder: Path, stop_at: int, epochs: int = 3) -> Any:
    """With dropout, batch-norm and augmentation, into a folder; Ctrl-C at a step, in the last rank alone."""
    steps = iter(range(1000))
    network = build("mlp", 4, (5,), seed=0)
    network = nn.Sequential(nn.Dropout(0.2), nn.BatchNorm1d(5), network)
    inner = label_objective(MCL())

    def objective(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        if next(steps) == stop_at and world().rank == world().size - 1:
            os.kill(os.getpid(), signal.SIGINT)
        return inner(network, batch)

    def augment(rows: Tensor, draw: torch.Generator) -> Tensor:
        return rows + 0.1 * torch.randn(rows.shape, generator=draw)

    settings = Settings(epochs=epochs, batch_size=B, precision="float32", device="cpu")
    batches = TensorBatches(*clouds(), B, augment=augment)
    try:
        result = train(network, batches, objective, settings, n_classes=3, run=folder, progress=False)
    except Interrupted as stop:
        return str(stop), None, None
    return None, result.history, network.state_dict()


def test_a_stop_of_one_rank_stops_all_and_the_run_goes_on_to_the_same_weights(in_ranks: In, tmp_path: Path) -> None:
    through = in_ranks(2, train_noisily, tmp_path / "through", -1)
    for stopped in in_ranks(2, train_noisily, tmp_path / "cut", 5):
        assert stopped[0] == "Stopped after step 2 of epoch 2; run the same command again to resume."
    again = in_ranks(2, train_noisily, tmp_path / "cut", -1)
    for rank, (_, history, weights) in enumerate(again):
        assert history == through[rank][1] == through[0][1]
        for name, value in weights.items():
            assert torch.equal(value, through[0][2][name]), name
    assert sorted(path.name for path in (tmp_path / "cut").iterdir()) == [
        "checkpoint.previous.safetensors",
        "checkpoint.safetensors",
        "config.json",
        "history.csv",
        "metrics.json",
        "model.safetensors",
    ]


def test_ranks_go_on_together_from_the_checkpoint_before_a_damaged_one(in_ranks: In, tmp_path: Path) -> None:
    through = in_ranks(2, train_noisily, tmp_path / "through", -1)
    in_ranks(2, train_noisily, tmp_path / "cut", 5)
    last = tmp_path / "cut" / "checkpoint.safetensors"
    last.write_bytes(last.read_bytes()[:-1])
    for _, history, weights in in_ranks(2, train_noisily, tmp_path / "cut", -1):
        assert history == through[0][1]
        for name, value in weights.items():
            assert torch.equal(value, through[0][2][name]), name


def train_plainly(folder: Path, stop_at: int) -> Any:
    """Without anything that depends on the number of ranks."""
    network, steps = plain_network(), iter(range(1000))
    inner = label_objective(MCL())

    def objective(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        if next(steps) == stop_at:
            os.kill(os.getpid(), signal.SIGINT)
        return inner(network, batch)

    try:
        train(network, TensorBatches(*clouds(), B), objective, SETTINGS, n_classes=3, run=folder, progress=False)
    except Interrupted:
        return None
    return network.state_dict()


@pytest.mark.parametrize("then", [1, 3])
def test_a_checkpoint_of_two_processes_goes_on_with_another_number(then: int, in_ranks: In, tmp_path: Path) -> None:
    expected = train_plainly(tmp_path / "alone", -1)
    assert in_ranks(2, train_plainly, tmp_path / "cut", 5) == [None, None]
    for weights in in_ranks(then, train_plainly, tmp_path / "cut", -1):
        torch.testing.assert_close(weights, expected, rtol=1e-4, atol=1e-5)


def diverge() -> str:
    inputs, labels = clouds()
    inputs[40] = torch.nan  # in the last batch, which is in no particular order
    try:
        train(plain_network(), TensorBatches(inputs, labels, B), label_objective(MCL()), SETTINGS, progress=False)
    except Diverged as error:
        return str(error)
    return ""


def test_every_rank_names_the_input_that_is_no_number(in_ranks: In) -> None:
    for told in in_ranks(2, diverge):
        assert "input 40 contains NaN" in told


def test_a_world_is_joined_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert join(init_method=f"file://{tmp_path}/meeting").size == 1
    from likewise.distributed import leave

    leave()
    assert not torch.distributed.is_initialized()
