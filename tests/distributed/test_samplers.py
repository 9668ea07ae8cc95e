"""Ranks that bring their own part of each batch are put together, and ranks that disagree never go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, Sampler, TensorDataset

from likewise.criteria import MCL
from likewise.distributed import is_close, is_common, world
from likewise.errors import InputError
from likewise.estimators import PairClassifier
from likewise.estimators.inputs import seed_of
from likewise.supervision import label_objective
from likewise.training import Batch, LoaderBatches, Settings, TensorBatches, train

In = Callable[..., list[Any]]

N, B = 41, 6  # of each of two ranks: the last batch of an epoch has 3 of each
SETTINGS = Settings(epochs=2, optimizer="sgd", learning_rate=0.1, device="cpu")


def clouds() -> TensorDataset:
    labels = torch.arange(N) % 3
    inputs = torch.randn(N, 5, generator=torch.Generator().manual_seed(3))
    inputs[torch.arange(N), labels] += 2
    return TensorDataset(inputs, labels)


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))


def learn(batches: Any, settings: Settings = SETTINGS) -> tuple[Any, Any]:
    net = network()
    result = train(net, batches, label_objective(MCL()), settings, n_classes=3, progress=False)
    return result.history, net.state_dict()


class Both(Sampler[list[int]]):
    """In one process, the batches that two ranks with a DistributedSampler have together."""

    def __init__(self, size: int, batch_size: int) -> None:
        self.parts = [DistributedSampler(clouds(), size, rank, seed=7) for rank in range(size)]
        self.batch_size = batch_size

    def __len__(self) -> int:
        return -(-len(self.parts[0]) // self.batch_size)

    def set_epoch(self, epoch: int) -> None:
        for part in self.parts:
            part.set_epoch(epoch)

    def __iter__(self) -> Iterator[list[int]]:
        for batches in zip(*(BatchSampler(part, self.batch_size, drop_last=False) for part in self.parts), strict=True):
            yield [position for batch in batches for position in batch]


def with_distributed_sampler(batch_sizes: list[int]) -> list[tuple[Any, Any]]:
    data = clouds()
    return [learn(DataLoader(data, b, sampler=DistributedSampler(data, seed=7))) for b in batch_sizes]


@pytest.mark.parametrize(("size", "batch_sizes"), [(2, [B, 1]), (3, [5])])
def test_the_standard_recipe_takes_the_steps_of_one_process(size: int, batch_sizes: list[int], in_ranks: In) -> None:
    """Where there is one row of each rank, every rank has all rows."""
    alone = [learn(DataLoader(clouds(), batch_sampler=Both(size, b))) for b in batch_sizes]
    ranks = in_ranks(size, with_distributed_sampler, batch_sizes)
    for place, (history, weights) in enumerate(alone):
        for rank in ranks:
            found_history, found = rank[place]
            torch.testing.assert_close(found, weights, rtol=1e-4, atol=1e-5)
            for row, expected in zip(found_history, history, strict=True):
                assert row == pytest.approx(expected, rel=1e-4)
            for value, other in zip(found.values(), ranks[0][place][1].values(), strict=True):
                assert torch.equal(value, other)


def first_batches() -> list[tuple[int, Tensor, Tensor]]:
    data = clouds()
    loader = DataLoader(data, B, sampler=DistributedSampler(data, seed=7))
    numbered = TensorDataset(*data.tensors, 100 + torch.arange(N))
    own = DataLoader(numbered, B, sampler=DistributedSampler(numbered, seed=7))
    batches = [next(LoaderBatches(source).epoch(0, 1)) for source in (loader, own)]
    return [(len(batch.inputs), batch.labels, batch.index) for batch in batches]


def test_each_rank_has_its_inputs_and_all_labels_and_positions(in_ranks: In) -> None:
    both = list(Both(2, B))[1]
    for (own, labels, running), (_, _, given) in in_ranks(2, first_batches):
        assert own == B
        assert labels.tolist() == [position % 3 for position in both]
        assert running.tolist() == list(range(2 * B, 4 * B))  # nobody's twice: two of one are two views of an item
        assert given.tolist() == [100 + position for position in both]


class Own(Sampler[int]):
    """A part of the items for each rank, as the samplers of other libraries do it."""

    def __len__(self) -> int:
        return N // 2

    def __iter__(self) -> Iterator[int]:
        return iter(range(world().rank, world().rank + N // 2))


def refused(case: str) -> str:
    data = clouds()
    inputs, labels = data.tensors
    sources = {
        "labels": lambda: DataLoader(data, B, sampler=Own()),
        "no labels": lambda: DataLoader(TensorDataset(inputs), B, sampler=Own()),
        "order": lambda: TensorBatches(inputs, labels, B, seed=world().rank),
        "length": lambda: TensorBatches(inputs[world().rank * B :], labels[world().rank * B :], B),
        "settings": lambda: TensorBatches(inputs, labels, B),
        "sampler": lambda: DataLoader(data, B, sampler=DistributedSampler(data, 4, 1)),
        "sizes": lambda: DataLoader(
            data, batch_sampler=BatchSampler(DistributedSampler(data), B - world().rank, drop_last=False)
        ),
    }
    settings = replace(SETTINGS, seed=world().rank) if case == "settings" else SETTINGS
    taken: list[int] = []

    def objective(net: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        taken.append(1)
        return label_objective(MCL())(net, batch)

    try:
        train(network(), sources[case](), objective, settings, progress=False)
    except InputError as error:
        return f"{len(taken)} steps. {error}"
    return "not refused"


REFUSED = {
    "labels": "The processes of this job were given other batches each: give all of them the same DataLoader",
    "no labels": "The processes of this job were given other batches each",
    "order": "The processes of this job do not have the same batch at step 1 of epoch 1 (step 1 of the run): give",
    "length": "The processes of this job do not agree: this one was given",
    "settings": "The processes of this job do not agree: this one was given 7 steps per epoch, n_classes=0 and Set",
    "sampler": "The DistributedSampler is for process 1 of 4, and this is process",
    "sizes": "The processes of this job ",
}


def all_refused() -> dict[str, str]:
    return {case: refused(case) for case in REFUSED}


def test_ranks_that_disagree_never_go_on(in_ranks: In) -> None:
    for rank in in_ranks(2, all_refused):
        for case, message in REFUSED.items():
            assert rank[case].startswith(f"0 steps. {message}"), rank[case]


def test_a_sampler_for_more_processes_than_there_are_is_refused() -> None:
    loader = DataLoader(clouds(), B, sampler=DistributedSampler(clouds(), 2, 0))
    with pytest.raises(
        InputError, match="for process 0 of 2, and this is process 0 of 1; leave it out, or make it with"
    ):
        LoaderBatches(loader)


def agreements() -> tuple[bool, bool, bool, bool]:
    rank = world().rank
    return (
        is_common(b"one"),
        is_common(b"one" if rank else b"two"),
        is_close(torch.tensor([1.0 + 1e-6 * rank])),
        is_close(torch.tensor([0.0, 1.0 * rank])),
    )


def test_all_ranks_are_told_alike(in_ranks: In) -> None:
    assert in_ranks(3, agreements) == [(True, False, True, False)] * 3


def drawn() -> tuple[int, Any]:
    np.random.seed(world().rank)  # noqa: NPY002 - what None stands for in scikit-learn
    seed = seed_of(None)
    X, y = clouds().tensors
    model = PairClassifier(epochs=1, starts=1, random_state=None).fit(X.numpy(), y.numpy())
    return seed, model.network_.state_dict()


def test_a_seed_that_is_drawn_is_that_of_the_first_rank(in_ranks: In) -> None:
    (seed, weights), (other_seed, other) = in_ranks(2, drawn)
    assert seed == other_seed == np.random.RandomState(0).randint(2**31)
    assert all(torch.equal(value, other[name]) for name, value in weights.items())
