"""An optimizer of one's own: groups keep their rates, resuming is exact, another one is refused; and clipping."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import LBFGS, SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop

from likewise.errors import InputError
from likewise.training import Batch, MakeOptimizer, Settings, TensorBatches, checkpoint, train
from likewise.training.optimizers import learning_rate

SETTINGS = Settings(epochs=3, batch_size=8, learning_rate=0.02, schedule="one-cycle", device="cpu", seed=4)


class Counting(SGD):
    """Keeps a plain number for each parameter, and one in its group that grows, as some published optimizers do."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            group["k"] = group.get("k", 0) + 1
            for parameter in group["params"]:
                state = self.state[parameter]
                state["seen"] = state.get("seen", 0) + 1
                parameter -= group["lr"] * parameter.grad / (1 + 0.1 * state["seen"] * group["k"])


class Listing(SGD):
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self.state[self.param_groups[0]["params"][0]]["steps"] = [1, 2]


class Global(SGD):
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self.state["all"] = {"k": 1}  # type: ignore[index]


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.2), nn.Linear(6, 2))


def batches() -> TensorBatches:
    draw = torch.Generator().manual_seed(1)
    labels = torch.arange(30) % 2
    return TensorBatches(torch.randn(30, 3, generator=draw) + labels[:, None], labels, 8, seed=4)


def objective(net: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    logits = net(batch.inputs)
    return F.cross_entropy(logits, batch.labels), logits


def groups(net: nn.Module) -> list[dict[str, Any]]:
    assert isinstance(net, nn.Sequential)
    return [{"params": net[:2].parameters(), "lr": 0.002, "weight_decay": 0.1}, {"params": net[4].parameters()}]


OPTIMIZERS: dict[str, MakeOptimizer] = {
    "groups": lambda net: AdamW(groups(net), lr=0.02),
    "rmsprop": lambda net: RMSprop(net.parameters(), lr=0.01, momentum=0.5),
    "adagrad": lambda net: Adagrad(net.parameters(), lr=0.01),
    "counting": lambda net: Counting(net.parameters(), lr=0.02),
}


def learn(
    make: MakeOptimizer | None, run: Path | None = None, settings: Settings = SETTINGS, stop: int = 0
) -> dict[str, Tensor]:
    steps: list[int] = []

    def stopping(net: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        steps.append(1)
        if len(steps) == stop:
            raise KeyboardInterrupt
        return objective(net, batch)

    net = network()
    train(net, batches(), stopping, settings, n_classes=2, run=run, progress=False, optimizer=make)
    return {name: value.clone() for name, value in net.state_dict().items()}


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return all(torch.equal(value, b[name]) for name, value in a.items())


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_run_that_was_cut_ends_with_the_same_bits(tmp_path: Path, make: MakeOptimizer) -> None:
    whole = learn(make)
    with pytest.raises(KeyboardInterrupt):
        learn(make, tmp_path, stop=8)  # in the third epoch; two are saved
    assert same(learn(make, tmp_path), whole)
    assert same(learn(make, tmp_path), whole)  # it was finished
    assert not same(whole, learn(None))


def test_the_optimizer_of_the_settings_can_be_written_out() -> None:
    assert same(learn(lambda net: Adam(net.parameters(), lr=0.02, fused=True)), learn(None))


def test_the_schedule_scales_the_rate_of_every_group() -> None:
    rates: list[tuple[float, ...]] = []

    class Noting(SGD):
        def step(self, closure: Any = None) -> Any:  # type: ignore[override]
            rates.append(tuple(group["lr"] for group in self.param_groups))
            return super().step(closure)

    learn(lambda net: Noting(groups(net), lr=0.02))
    expected = [learning_rate(SETTINGS, epoch, step, 4) for epoch in range(3) for step in range(4)]
    assert [last for _, last in rates] == expected
    assert [first for first, _ in rates] == pytest.approx([rate / 10 for rate in expected])


def test_frozen_parameters_of_a_group_stay() -> None:
    def make(net: nn.Module) -> Optimizer:
        assert isinstance(net, nn.Sequential)
        return SGD(net[4].parameters(), lr=0.1)

    learned = learn(make)
    assert torch.equal(learned["0.weight"], network()[0].weight)
    assert not torch.equal(learned["4.weight"], network()[4].weight)


OTHERS: list[tuple[MakeOptimizer | None, str]] = [
    (None, r"with optimizer\.kind = 'torch\.optim\.adamw\.AdamW', now it is 'that of the settings'"),
    (
        OPTIMIZERS["rmsprop"],
        r"optimizer\.kind = 'torch\.optim\.adamw\.AdamW', now it is 'torch\.optim\.rmsprop\.RMSprop'",
    ),
    (
        lambda net: AdamW(groups(net), lr=0.02, weight_decay=0.5),
        r"optimizer\.group 2\.weight_decay = 0\.01, now it is 0\.5",
    ),
    (
        lambda net: AdamW(groups(net)[::-1], lr=0.02),
        r"optimizer\.group 1\.parameters = '4, 0\.weight to 1\.bias, checks",
    ),
]


@pytest.mark.parametrize(("other", "message"), OTHERS)
def test_another_optimizer_is_refused(tmp_path: Path, other: MakeOptimizer | None, message: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        learn(OPTIMIZERS["groups"], tmp_path, stop=6)
    with pytest.raises(InputError, match=message + ".*; use another run folder"):
        learn(other, tmp_path)


def test_one_of_your_own_does_not_go_on_from_that_of_the_settings(tmp_path: Path) -> None:
    learn(None, tmp_path)
    with pytest.raises(InputError, match=r"kind = 'that of the settings', now it is 'torch\.optim\.rmsprop\.RMSprop'"):
        learn(OPTIMIZERS["rmsprop"], tmp_path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda net: LBFGS(net.parameters()), "LBFGS wants to compute the loss several times in a step"),
        (lambda net: SGD(nn.Linear(3, 2).parameters()), "SGD has parameters that are not the network's"),
        (lambda net: Listing(net.parameters()), r"Listing keeps a list in its state \(0\.steps\), which a checkpoint"),
        (lambda net: Global(net.parameters()), "Global keeps a state that is of no parameter, which a checkpoint"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, make: MakeOptimizer, message: str) -> None:
    with pytest.raises(InputError, match=message):
        learn(make, tmp_path)


def test_clipping_cuts_long_gradients_and_leaves_short_ones() -> None:
    def moved(clip_norm: float, scale: float) -> Tensor:
        net = nn.Linear(3, 2)
        nn.init.zeros_(net.weight)
        nn.init.zeros_(net.bias)
        settings = Settings(epochs=1, optimizer="sgd", momentum=0, learning_rate=1, clip_norm=clip_norm, device="cpu")
        one = TensorBatches(torch.ones(4, 3), torch.zeros(4, dtype=torch.int64), 4)

        def steep(net: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
            loss, logits = objective(net, batch)
            return scale * loss, logits

        train(net, one, steep, settings, progress=False)
        return torch.cat([net.weight.detach(), net.bias.detach()[:, None]], 1)  # minus the gradient

    free, long = moved(0, 1), moved(0.25, 100)
    assert free.norm() > 1
    torch.testing.assert_close(moved(10, 1), free)
    torch.testing.assert_close(long.norm(), torch.tensor(0.25), rtol=1e-3, atol=0)
    torch.testing.assert_close(long / long.norm(), free / free.norm())


def test_clipping_is_part_of_what_a_run_is(tmp_path: Path) -> None:
    clipped = Settings(epochs=1, batch_size=8, clip_norm=0.5, device="cpu")
    learn(None, tmp_path, clipped)
    with pytest.raises(InputError, match=r"settings\.clip_norm = 0\.5, this run 0\.0"):
        learn(None, tmp_path, Settings(epochs=1, batch_size=8, device="cpu"))


def test_a_checkpoint_without_numbers_of_the_optimizer_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As earlier versions wrote it, for the optimizers of the settings."""
    whole = learn(None)
    with pytest.raises(KeyboardInterrupt):
        learn(None, tmp_path, stop=8)
    read = checkpoint._read

    def older(path: Path) -> Any:
        facts, tensors = read(path)
        del facts["optimizer"], facts["about"]["optimizer"], facts["about"]["settings"]["clip_norm"]
        return facts, tensors

    monkeypatch.setattr(checkpoint, "_read", older)
    assert same(learn(None, tmp_path), whole)
