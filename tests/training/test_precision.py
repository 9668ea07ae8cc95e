"""bfloat16 is taken only where it is native and a measurement says that it pays."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from likewise.errors import InputError
from likewise.training import Batch, Settings, TensorBatches, resolve_device
from likewise.training import precision as precision_file
from likewise.training.precision import forward, native_bfloat16, resolve_precision

CPU = torch.device("cpu")


def objective(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    logits = network(batch.inputs)
    return F.cross_entropy(logits.float(), batch.labels), logits


def batches() -> TensorBatches:
    return TensorBatches(torch.rand(8, 4), torch.arange(8) % 2, 4)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_what_is_set_is_taken(precision: str) -> None:
    settings = Settings(precision=precision)  # type: ignore[arg-type]
    assert resolve_precision(settings, nn.Linear(4, 2), batches(), objective, CPU) == (precision, "as set")


def test_auto_without_native_bfloat16_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision_file, "native_bfloat16", lambda device: False)
    monkeypatch.delattr(precision_file, "_speed_up")
    choice, why = resolve_precision(Settings(), nn.Linear(4, 2), batches(), objective, CPU)
    assert choice == "float32"
    assert "no native bfloat16" in why


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.5, "bfloat16"), (0.83, "bfloat16"), (0.85, "float32"), (3.0, "float32")]
)
def test_auto_takes_bfloat16_from_a_ratio_of_1_2(
    monkeypatch: pytest.MonkeyPatch, seconds: float, expected: str
) -> None:
    """A clock that only training steps move: one second in float32, `seconds` in bfloat16."""
    now = 0.0
    seen: list[torch.dtype] = []

    def timed(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        nonlocal now
        loss, logits = objective(network, batch)
        seen.append(logits.dtype)
        now += (100.0 if len(seen) <= 2 else 1.0) * (seconds if logits.dtype == torch.bfloat16 else 1.0)
        return loss, logits

    monkeypatch.setattr(precision_file, "native_bfloat16", lambda device: True)
    monkeypatch.setattr("time.process_time", lambda: now)
    network = nn.Linear(4, 2)
    before = [parameter.clone() for parameter in network.parameters()]
    choice, why = resolve_precision(Settings(learning_rate=1.0), network, batches(), timed, CPU)
    assert choice == expected
    assert f"{1 / seconds:.2f} times as fast" in why
    assert set(seen) == {torch.float32, torch.bfloat16}
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), before, strict=True))


def test_steps_that_are_too_short_to_be_measured_stay_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision_file, "native_bfloat16", lambda device: True)
    ticks = iter(range(100))
    monkeypatch.setattr("time.process_time", lambda: 0.001 / (1 + next(ticks)))
    choice = resolve_precision(Settings(), nn.Linear(4, 2), batches(), objective, CPU)
    assert choice == ("float32", "a step takes less than 0.02 s")


def test_only_the_forward_pass_is_in_bfloat16() -> None:
    network, batch = nn.Linear(4, 2), next(batches().epoch(0))
    loss, logits = forward(objective, network, batch, "bfloat16")
    loss.backward()  # type: ignore[no-untyped-call]
    assert logits.dtype == torch.bfloat16
    assert network.weight.grad is not None
    assert network.weight.grad.dtype == network.weight.dtype == torch.float32
    assert forward(objective, network, batch, "float32")[1].dtype == torch.float32


def test_native_bfloat16_survives_a_torch_without_the_private_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.delattr(torch.cpu, name, raising=False)
    assert not native_bfloat16(CPU)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True, raising=False)
    assert native_bfloat16(CPU)
    assert not native_bfloat16(torch.device("mps"))


def test_devices() -> None:
    assert resolve_device("cpu") == CPU
    assert resolve_device("auto").type in ("cpu", "cuda", "mps")
    with pytest.raises(InputError, match="Device cuda:99 is not available here"):
        resolve_device("cuda:99")
