"""What its owner has frozen stays frozen: parts in evaluation mode, and parameters without a gradient."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from likewise.estimators import PairClassifier, SemiSupervisedClassifier, SimilarityNetwork
from likewise.networks import SimilarityModule
from likewise.pairs import Pairs
from likewise.supervision import AnsweringNetwork
from likewise.supervision.semi import AveragedNetwork
from likewise.training import Batch, Settings, TensorBatches, predict_logits, train

SETTINGS = Settings(epochs=2, batch_size=10, learning_rate=0.05, device="cpu")


class Net(nn.Module):
    """A backbone with batch-norm and dropout, and a last layer."""

    def __init__(self, n_outputs: int = 3, n_inputs: int = 4) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.backbone = nn.Sequential(nn.Linear(n_inputs, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5))
        self.last = nn.Linear(8, n_outputs)
        self.n_features = 8

    def features(self, x: Tensor) -> Tensor:
        out: Tensor = self.backbone(x)
        return out

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.last(self.features(x))
        return out


def frozen() -> Net:
    """As people fine-tune: the backbone neither learns nor counts."""
    net = Net()
    net.backbone.eval().requires_grad_(False)
    return net


def state(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return all(torch.equal(value, b[name]) for name, value in a.items())


def data(n: int = 40) -> tuple[Tensor, Tensor]:
    labels = torch.arange(n) % 3
    return torch.randn(n, 4, generator=torch.Generator().manual_seed(1)) + 4.0 * F.one_hot(labels, 4), labels


def objective(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    logits = network(batch.inputs)
    return F.cross_entropy(logits, batch.labels), logits


def fit(net: nn.Module, run: Path | None = None, stop_at: int = 0) -> None:
    steps = []

    def stopping(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        steps.append(1)
        if len(steps) == stop_at:
            raise KeyboardInterrupt
        return objective(network, batch)

    train(net, TensorBatches(*data(), 10), stopping, SETTINGS, n_classes=3, run=run, progress=False)


def test_a_frozen_backbone_keeps_its_weights_its_statistics_and_its_mode() -> None:
    net = frozen()
    before, last = state(net.backbone), state(net.last)
    seen: list[bool] = []
    net.backbone[3].register_forward_hook(lambda module, inputs, output: seen.append(torch.equal(inputs[0], output)))
    fit(net)
    assert same(before, state(net.backbone))
    assert not same(last, state(net.last))
    assert all(seen)  # no dropout
    assert [net.training, net.last.training, net.backbone.training] == [True, True, False]


def test_batch_norm_alone_may_be_frozen() -> None:
    net = Net()
    net.backbone[1].eval()
    before = state(net)
    fit(net)
    assert torch.equal(net.backbone[1].running_mean, before["backbone.1.running_mean"])  # type: ignore[arg-type]
    assert not torch.equal(net.backbone[0].weight, before["backbone.0.weight"])  # type: ignore[arg-type]
    assert not torch.equal(net.backbone[1].weight, before["backbone.1.weight"])  # type: ignore[arg-type]


def test_a_network_in_evaluation_mode_as_a_whole_is_trained_as_a_whole() -> None:
    """As it is after a prediction of somebody's own; and its modes return."""
    ready, left = Net(), Net().eval()
    fit(ready)
    fit(left)
    assert same(state(ready), state(left))
    assert not same(state(left.backbone), state(Net().backbone))
    assert not any(module.training for module in left.modules())
    predict_logits(left, data()[0])
    assert not any(module.training for module in left.modules())


def test_parameters_without_gradient_stay_and_batch_norm_in_training_counts() -> None:
    net = Net()
    net.backbone.requires_grad_(False)
    before = state(net.backbone)
    fit(net)
    assert torch.equal(net.backbone[0].weight, before["0.weight"])  # type: ignore[arg-type]
    assert not torch.equal(net.backbone[1].running_mean, before["1.running_mean"])  # type: ignore[arg-type]


def test_a_frozen_backbone_resumes_to_the_same_bits(tmp_path: Path) -> None:
    whole, cut = frozen(), frozen()
    fit(whole, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        fit(cut, tmp_path / "cut", stop_at=6)
    again = frozen()
    fit(again, tmp_path / "cut")
    assert same(state(whole), state(again))
    assert same(state(frozen().backbone), state(again.backbone))


@pytest.mark.parametrize("kind", [lambda net: AnsweringNetwork(net, 0.1), AveragedNetwork, SimilarityModule])
def test_what_wraps_a_network_says_its_mode(kind: type[nn.Module]) -> None:
    """Else a whole network in evaluation mode would be a frozen part of the wrapper."""
    assert not kind(Net().eval()).training
    assert kind(frozen()).training


def answers() -> tuple[np.ndarray, np.ndarray, Pairs]:
    X, y = (part.numpy() for part in data(60))
    return X, y, Pairs.from_labels(y, n=150, random_state=0)


@pytest.mark.parametrize("noise", [0.0, "learn"])
def test_estimators_fine_tune_a_frozen_network(noise: float | str) -> None:
    X, y, pairs = answers()
    net = frozen()
    model = PairClassifier(3, network=net, epochs=2, noise=noise).fit(X, pairs=pairs)  # type: ignore[arg-type]
    assert same(state(net.backbone), state(model.network_.backbone))  # type: ignore[arg-type]
    semi = SemiSupervisedClassifier("pseudo-mcl+", network=net, epochs=2).fit(X, np.where(np.arange(60) < 12, y, -1))
    assert same(state(net.backbone), state(semi.network_.backbone))  # type: ignore[arg-type]
    similarity = SimilarityNetwork(net, epochs=1).fit(X, y)
    assert same(state(net.backbone), state(similarity.module_.backbone.backbone))  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", [0.0, "learn"])
def test_estimators_train_a_network_that_was_left_in_evaluation_mode(noise: float | str) -> None:
    X, y, pairs = answers()
    net = Net().eval()
    model = PairClassifier(3, network=net, epochs=2, noise=noise).fit(X, pairs=pairs)  # type: ignore[arg-type]
    assert model.network_.backbone[1].num_batches_tracked > 0  # type: ignore[index, operator, union-attr]
    similarity = SimilarityNetwork(net, epochs=1).fit(X, y)
    assert similarity.module_.backbone.backbone[1].num_batches_tracked > 0  # type: ignore[index, operator, union-attr]
