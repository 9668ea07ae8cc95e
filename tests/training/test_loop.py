"""The loop itself: that it learns, what it writes, what it refuses, and that it leaves everything else alone."""

from __future__ import annotations

import json
import math
import random
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from likewise.errors import InputError
from likewise.training import (
    Batch,
    Diverged,
    Interrupted,
    LoaderBatches,
    Settings,
    TensorBatches,
    TrainingResult,
    predict_logits,
    train,
)

SETTINGS = Settings(epochs=3, batch_size=16, learning_rate=0.05)


def two_clouds(n: int = 80) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(n) % 2
    return torch.randn(n, 2, generator=generator) + 3.0 * (2 * labels[:, None] - 1), labels


def cross_entropy(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    logits = network(batch.inputs)
    return F.cross_entropy(logits, batch.labels), logits


def network() -> nn.Sequential:
    generator = torch.Generator().manual_seed(1)
    net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=0.3, generator=generator)
    return net


def batches() -> TensorBatches:
    return TensorBatches(*two_clouds(), 16)


def run_once(net: nn.Module, settings: Settings = SETTINGS, folder: Path | None = None) -> TrainingResult:
    return train(net, batches(), cross_entropy, settings, n_classes=2, run=folder, progress=False)


def weights(net: nn.Module) -> list[Tensor]:
    return [value.clone() for value in net.state_dict().values()]


def equal(a: list[Tensor], b: list[Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_it_learns_and_tells_the_matched_accuracy(optimizer: str) -> None:
    net = network()
    settings = Settings(epochs=8, batch_size=16, learning_rate=0.05, optimizer=optimizer)  # type: ignore[arg-type]
    result = run_once(net, settings)
    assert [row["epoch"] for row in result.history] == list(range(1, 9))
    assert result.history[-1]["loss"] < 0.3 * result.history[0]["loss"]
    assert result.history[-1]["accuracy"] > 0.9
    assert result.confusion.shape == (3, 2)
    assert result.confusion.sum() == 80
    assert result.settings.device == "cpu"
    inputs, labels = two_clouds()
    assert (predict_logits(net, inputs).argmax(1) == labels).float().mean() > 0.95


def test_it_equals_a_loop_written_by_hand() -> None:
    """Plain SGD without dropout, from the batches in their order, at the rates of the schedule."""
    settings = Settings(
        epochs=4, optimizer="sgd", learning_rate=0.1, weight_decay=0.01, drops=(2,), precision="float32"
    )
    net, twin = nn.Linear(2, 2), nn.Linear(2, 2)
    twin.load_state_dict(net.state_dict())
    train(net, batches(), cross_entropy, settings, progress=False)
    velocity = [torch.zeros_like(parameter) for parameter in twin.parameters()]
    for epoch in range(4):
        for batch in batches().epoch(epoch):
            loss, _ = cross_entropy(twin, batch)
            gradients = torch.autograd.grad(loss, list(twin.parameters()))
            with torch.no_grad():
                for parameter, v, gradient in zip(twin.parameters(), velocity, gradients, strict=True):
                    v.mul_(0.9).add_(gradient + 0.01 * parameter)
                    parameter.sub_((0.1 if epoch < 2 else 0.01) * v)
    torch.testing.assert_close(weights(net), weights(twin), rtol=1e-4, atol=1e-6)


def test_the_same_seed_gives_the_same_weights_and_another_gives_others() -> None:
    nets = [network() for _ in range(3)]
    for net, seed in zip(nets, (0, 0, 1), strict=True):
        torch.rand(seed + 3)  # the caller's generator must not matter
        run_once(net, Settings(epochs=2, batch_size=16, learning_rate=0.05, seed=seed))
    assert equal(weights(nets[0]), weights(nets[1]))
    assert not equal(weights(nets[0]), weights(nets[2]))  # dropout draws from the run's seed


def test_the_world_is_left_alone() -> None:
    net = network()
    net[2].eval()
    handler, state = signal.getsignal(signal.SIGINT), (torch.get_rng_state(), random.getstate())
    numpy_state = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    run_once(net)
    assert signal.getsignal(signal.SIGINT) is handler
    assert torch.equal(torch.get_rng_state(), state[0])
    assert random.getstate() == state[1]
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # type: ignore[index]  # noqa: NPY002
    assert [module.training for module in net] == [True, True, False, True]


def test_evaluate_sees_evaluation_mode_and_its_columns_join_the_history() -> None:
    seen = []

    def evaluate(net: nn.Module, confusion: np.ndarray) -> dict[str, float]:
        assert not net.training
        assert not torch.is_grad_enabled()
        seen.append(confusion.copy())
        return {"test_accuracy": np.float32(0.25)}  # type: ignore[dict-item]

    result = train(network(), batches(), cross_entropy, SETTINGS, n_classes=2, evaluate=evaluate, progress=False)
    assert [list(row) for row in result.history] == [
        ["epoch", "learning_rate", "loss", "accuracy", "test_accuracy"]
    ] * 3
    assert type(result.history[0]["test_accuracy"]) is float
    assert [confusion.sum() for confusion in seen] == [80, 80, 80]
    assert np.array_equal(seen[-1], result.confusion)


def test_without_classes_there_is_no_accuracy() -> None:
    result = train(network(), batches(), cross_entropy, SETTINGS, progress=False)
    assert list(result.history[0]) == ["epoch", "learning_rate", "loss"]
    assert result.confusion.shape == (3, 0)


def test_the_run_folder(tmp_path: Path) -> None:
    net = network()
    config = {"dataset": "clouds", "data": Path("here")}
    result = train(
        net, batches(), cross_entropy, SETTINGS, n_classes=2, run=tmp_path / "r", config=config, progress=False
    )
    names = {path.name for path in (tmp_path / "r").iterdir()}
    checkpoints = {"checkpoint.safetensors", "checkpoint.previous.safetensors"}
    assert names == {"config.json", "history.csv", "metrics.json", "model.safetensors", *checkpoints}
    record = json.loads((tmp_path / "r" / "config.json").read_text())
    assert record["settings"]["learning_rate"] == 0.05
    assert record["settings"]["precision"] == "auto"
    assert record["config"] == {"dataset": "clouds", "data": "here"}
    assert record["precision"] == result.settings.precision
    assert record["device"] == "cpu"
    assert record["torch"] == torch.__version__
    model = load_file(tmp_path / "r" / "model.safetensors")
    assert equal(list(model.values()), [net.state_dict()[name] for name in model])
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert {name: metrics[name] for name in result.history[-1]} == result.history[-1]
    assert metrics["seconds"] == result.seconds > 0
    assert metrics["cpu_seconds"] == result.cpu_seconds > 0
    assert metrics["steps"] == SETTINGS.epochs * len(batches())
    assert metrics["images_per_second"] == pytest.approx(240 / result.seconds)
    lines = (tmp_path / "r" / "history.csv").read_text().splitlines()
    assert lines[0] == "epoch,learning_rate,loss,accuracy"
    assert [float(value) for value in lines[3].split(",")] == list(result.history[-1].values())


def test_a_finished_run_returns_at_once_with_its_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first_net, second_net = network(), network()
    first = run_once(first_net, folder=tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}

    def never(net: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        raise AssertionError("a finished run takes no step")

    second = train(second_net, batches(), never, SETTINGS, n_classes=2, run=tmp_path)
    assert capsys.readouterr().out == ""
    assert equal(weights(first_net), weights(second_net))
    assert second.history == first.history
    assert (second.seconds, second.cpu_seconds) == (first.seconds, first.cpu_seconds)
    assert np.array_equal(second.confusion, first.confusion)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    def again(settings: Settings, config: dict[str, object]) -> None:
        train(network(), batches(), cross_entropy, settings, run=tmp_path, config=config, progress=False)

    again(SETTINGS, {"network": {"name": "mlp"}})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(
        InputError, match=r"config\.json has settings\.learning_rate = 0\.05, this run 0\.1; use another"
    ):
        again(Settings(epochs=3, batch_size=16, learning_rate=0.1), {"network": {"name": "mlp"}})
    with pytest.raises(InputError, match=r"has config\.network\.name = 'mlp', this run 'lenet'"):
        again(SETTINGS, {"network": {"name": "lenet"}})
    with pytest.raises(InputError, match=r"has config\.network = \{'name': 'mlp'\}, this run None"):
        again(SETTINGS, {})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_config_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"theme": "dark"}')
    with pytest.raises(InputError, match="was not written by a training run"):
        run_once(network(), folder=tmp_path)
    assert (tmp_path / "config.json").read_text() == '{"theme": "dark"}'


def test_a_run_goes_on_where_it_was_begun_and_nowhere_else(tmp_path: Path) -> None:
    """Its device is kept although the settings say auto, and refused where there is none."""
    stop_after(2, tmp_path)
    record = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(record | {"device": "cuda:99"}))
    with pytest.raises(InputError, match="Device cuda:99 is not available here"):
        run_once(network(), folder=tmp_path)


def test_other_data_are_refused_on_resume(tmp_path: Path) -> None:
    run_once(network(), folder=tmp_path)
    fewer = TensorBatches(*two_clouds(40), 16)
    with pytest.raises(InputError, match="with steps_per_epoch = 5, now it is 3"):
        train(network(), fewer, cross_entropy, SETTINGS, n_classes=2, run=tmp_path, progress=False)


def stop_after(steps: int, folder: Path | None) -> str:
    """Press Ctrl-C inside a step; what is said."""
    done = 0

    def pressing(net: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        nonlocal done
        done += 1
        if done == steps:
            signal.raise_signal(signal.SIGINT)
        return cross_entropy(net, batch)

    with pytest.raises(Interrupted) as stopped:
        train(network(), batches(), pressing, SETTINGS, n_classes=2, run=folder)
    return str(stopped.value)


def test_ctrl_c_says_where_it_stopped_and_how_to_go_on(tmp_path: Path) -> None:
    handler = signal.getsignal(signal.SIGINT)
    assert stop_after(7, tmp_path) == "Stopped after step 2 of epoch 2; run the same command again to resume."
    assert signal.getsignal(signal.SIGINT) is handler
    assert "Stopped after step 2 of epoch 2; nothing was saved" in stop_after(7, None)


def test_a_second_ctrl_c_stops_at_once() -> None:
    def pressing(net: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the second should not come back")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins without it
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            train(network(), batches(), pressing, SETTINGS, progress=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not isinstance(caught.value, Interrupted)


def test_a_loader_trains_too() -> None:
    net = network()
    data = torch.utils.data.TensorDataset(*two_clouds())
    result = train(net, LoaderBatches(data, 16), cross_entropy, SETTINGS, n_classes=2, progress=False)
    assert result.history[-1]["accuracy"] > 0.9


def failing_at(step: int, value: float) -> tuple[list[int], object]:
    calls: list[int] = []

    def objective(net: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        calls.append(1)
        loss, logits = cross_entropy(net, batch)
        return (loss * value if len(calls) == step else loss), logits

    return calls, objective


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_at_its_step_and_keeps_the_last_checkpoint(tmp_path: Path, value: float) -> None:
    _, objective = failing_at(8, value)
    with pytest.raises(
        Diverged, match=r"became (nan|inf) at step 3 of epoch 2 \(step 8 of the run\): the network's outp"
    ):
        train(network(), batches(), objective, SETTINGS, n_classes=2, run=tmp_path, progress=False)  # type: ignore[arg-type]
    repaired, whole = network(), network()
    run_once(repaired, folder=tmp_path)
    run_once(whole)
    assert equal(weights(repaired), weights(whole))


def test_a_bad_input_is_named() -> None:
    inputs, labels = two_clouds()
    inputs[37, 1] = math.nan
    with pytest.raises(Diverged, match=r": input 37 contains NaN or infinity; repair it or leave it out\.$"):
        train(network(), TensorBatches(inputs, labels, 16), cross_entropy, SETTINGS, progress=False)


@pytest.mark.parametrize(("precision", "advice"), [("float32", "; try 1e+29"), ("bfloat16", "use precision float32")])
def test_a_rate_too_high_is_suspected(precision: str, advice: str) -> None:
    settings = Settings(epochs=3, learning_rate=1e30, optimizer="sgd", precision=precision)  # type: ignore[arg-type]

    def squares(net: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        logits = net(batch.inputs)
        return logits.float().square().mean(), logits

    with pytest.raises(Diverged) as caught:
        train(network(), batches(), squares, settings, progress=False)
    assert "the learning rate 1e+30 is probably too high" in str(caught.value)
    assert advice in str(caught.value)


def test_no_checkpoint_ever_holds_weights_that_are_no_numbers(tmp_path: Path) -> None:
    """The gradient of the last step of the first epoch is NaN although its loss is not."""
    calls = 0

    def objective(net: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        nonlocal calls
        calls += 1
        loss, logits = cross_entropy(net, batch)
        if calls == 5:
            loss = loss + (logits * 0).sum().sqrt()  # the slope of sqrt at 0
        return loss, logits

    with pytest.raises(Diverged, match=r"weights 0\.weight are no longer finite at step 5 of epoch 1 \(step 5 of"):
        train(network(), batches(), objective, SETTINGS, run=tmp_path, progress=False)
    assert {path.name for path in tmp_path.iterdir()} == {"config.json"}


def test_a_plain_dataset_or_loader_is_read_through_loader_batches() -> None:
    data = torch.utils.data.TensorDataset(*two_clouds())
    loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
    for plain in (data, loader):
        trained, expected = network(), network()
        train(trained, plain, cross_entropy, SETTINGS, n_classes=2, progress=False)
        train(expected, LoaderBatches(plain, 16), cross_entropy, SETTINGS, n_classes=2, progress=False)
        assert all(torch.equal(a, b) for a, b in zip(weights(trained), weights(expected), strict=True))
