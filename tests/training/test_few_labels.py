"""Learning from a few labels: every method, what they share, and a killed run."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from likewise.datasets import Jitter, Strong
from likewise.distributed import World, sharing
from likewise.errors import InputError
from likewise.networks import build
from likewise.supervision.semi import METHODS
from likewise.training import FewLabelsLearned, NetworkInputs, Settings, learn_few_labels
from likewise.training.few_labels import NOISE, TwoViews, balanced

K, N = 3, 240
TRUTH = torch.arange(N) % K
POINTS = (
    torch.randn(N, 2, generator=torch.Generator().manual_seed(0))
    + 7 * torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[TRUTH]
)
FEW = torch.where(torch.arange(N) < 9, TRUTH, -1)
PILE = NetworkInputs(POINTS, (2.3, 2.3), (3.5, 3.5), Jitter(0.1, (3.5, 3.5)))
SETTINGS = Settings(epochs=3, batch_size=40, learning_rate=0.003, precision="float32", device="cpu")


def learn(name: str, later: Settings = SETTINGS, **options: Any) -> FewLabelsLearned:
    given = {"network": build("mlp", K, (2,), seed=1), "labels": FEW} | options
    network, labels = given.pop("network"), given.pop("labels")
    return learn_few_labels(network, PILE, labels, METHODS[name], SETTINGS, later, epsilon=0.2, progress=False, **given)


def right(network: nn.Module) -> float:
    return float((PILE.logits(network).argmax(1) == TRUTH).float().mean())


@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns(name: str, tmp_path: Path) -> None:
    learned = learn(name, run=tmp_path)
    assert right(learned.network) > 0.93
    assert right(learned.first) > 0.9
    alone = name == "supervised"
    assert (learned.network is learned.first) == alone
    own = [] if alone else ["similarity", name] if name == "spn-mcl" else [name]
    assert learned.stages == ["supervised", *own]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(learned.stages)
    assert [row["epoch"] for row in learned.history] == list(range(1, 4 if alone else 7))
    assert [row["stage"] for row in learned.history] == [1.0] * 3 + [2.0] * (0 if alone else 3)
    assert all(parameter.requires_grad for parameter in learned.network.parameters())


@pytest.mark.parametrize("name", [name for name in METHODS if name != "supervised"])
def test_every_method_begins_with_the_supervised_network(name: str) -> None:
    """With a rate at which nothing is learned, the weights stay as they were."""
    learned = learn(name, replace(SETTINGS, epochs=1, learning_rate=1e-12))
    for (place, value), other in zip(learned.first.named_parameters(), learned.network.parameters(), strict=True):
        torch.testing.assert_close(value, other, msg=place)


def test_methods_in_one_folder_share_the_supervised_stage(tmp_path: Path) -> None:
    first = learn("pi-model", run=tmp_path)
    written = (tmp_path / "supervised" / "checkpoint.safetensors").stat().st_mtime_ns
    second = learn("pseudo-mcl+", run=tmp_path)
    assert (tmp_path / "supervised" / "checkpoint.safetensors").stat().st_mtime_ns == written
    for value, other in zip(first.first.parameters(), second.first.parameters(), strict=True):
        assert torch.equal(value, other)
    with pytest.raises(InputError, match="use another folder"):
        learn("vat", run=tmp_path, config={"items": 1})


class Killed(Exception):
    pass


@pytest.mark.parametrize("name", ["vat", "spn-mcl", "pseudo-mcl+"])
def test_a_killed_run_goes_on_to_the_same_network(name: str, tmp_path: Path) -> None:
    whole = learn(name, evaluate=lambda network, _: {"right": right(network)})
    epochs: list[int] = []

    def evaluate(network: nn.Module, _: np.ndarray) -> dict[str, float]:
        epochs.append(1)
        if len(epochs) == 5:  # three of the first stage, one of the second
            raise Killed
        return {"right": right(network)}

    with pytest.raises(Killed):
        learn(name, run=tmp_path, evaluate=evaluate)
    again = learn(name, run=tmp_path, evaluate=evaluate)
    assert len(epochs) == 7
    assert again.history == whole.history
    for value, other in zip(again.network.state_dict().values(), whole.network.state_dict().values(), strict=True):
        assert torch.equal(value, other)


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_network(name: str) -> None:
    logits = []
    for seed in (5, 6):
        torch.manual_seed(seed)  # of what is outside
        logits.append(PILE.logits(learn(name, replace(SETTINGS, epochs=1)).network))
    assert torch.equal(*logits)


def test_it_learns_what_it_is_told() -> None:
    other = learn("pseudo-mcl", labels=torch.where(FEW >= 0, (FEW + 1) % K, -1))
    assert float((PILE.logits(other.network).argmax(1) == (TRUTH + 1) % K).float().mean()) > 0.93


def test_labels_that_a_similarity_cannot_be_learned_from_are_refused(tmp_path: Path) -> None:
    one_each = torch.where(torch.arange(N) < K, TRUTH, -1)
    with pytest.raises(InputError, match="No class has two items"):
        learn("spn-mcl", labels=one_each, run=tmp_path / "run")
    assert not (tmp_path / "run").exists()  # before the supervised stage
    assert right(learn("pseudo-mcl", labels=one_each).network) > 0.5
    with pytest.raises(InputError, match="method features"):
        learn("spn-mcl", network=nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, K)))


def test_classes_count_alike_however_many_labels_they_have() -> None:
    labels = torch.tensor([0, 1, 1, 1, 2, 2, -1, -1])
    weight = balanced(labels)
    counts = torch.bincount(labels[labels >= 0])
    assert (weight * counts).tolist() == pytest.approx([2.0, 2.0, 2.0])
    assert float(weight[labels[labels >= 0]].mean()) == pytest.approx(1)


def add(number: float):  # type: ignore[no-untyped-def]
    def augment(inputs: Tensor, generator: torch.Generator) -> Tensor:
        return inputs + number

    return augment


@pytest.mark.parametrize("gentle", [1.0, 0.0])
def test_labelled_rows_and_the_first_half_gently_and_the_second_half_strongly(gentle: float) -> None:
    views = TwoViews(add(gentle) if gentle else None, add(100.0), labelled=2)
    changed = views(torch.zeros(8, 3), torch.Generator())
    assert changed[:, 0].tolist() == [gentle] * 5 + [100.0] * 3


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_rank_augments_its_rows_as_they_are_in_the_whole_batch(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("likewise.distributed.world"), "world", lambda: World(rank, 3))
    views = TwoViews(add(1.0), add(100.0), labelled=2)
    with sharing(11) as own:
        changed = views(torch.zeros(own.stop - own.start, 3), torch.Generator())
    assert changed[:, 0].tolist() == ([1.0] * 6 + [100.0] * 5)[own.rows]


def test_what_is_strong_depends_on_the_items() -> None:
    generator = torch.Generator().manual_seed(0)
    images = NetworkInputs(torch.full((6, 1, 8, 8), 100, dtype=torch.uint8), augment=None)
    views = TwoViews.of(images, labelled=0)
    assert views.strong == Strong(None)
    changed = views(images.inputs, generator)
    assert torch.equal(changed[:3], images.inputs[:3])
    assert (changed[3:] != 100).any()
    features = NetworkInputs(torch.zeros(4, 2), mean=(0.0, 0.0), std=(1.0, 5.0))
    assert TwoViews.of(features, 1).strong == Jitter(NOISE, (1.0, 5.0))
    assert TwoViews.of(NetworkInputs(torch.zeros(4, 2)), 1).strong == Jitter(NOISE, (1.0, 1.0))
