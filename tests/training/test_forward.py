"""float32 unless bfloat16 is asked for, whatever the clock and the hardware say."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from likewise.errors import InputError
from likewise.estimators import CategoryDiscoverer, PairClassifier, SemiSupervisedClassifier, SimilarityNetwork
from likewise.training import Batch, Objective, Settings, TensorBatches, resolve_device, train
from likewise.training.forward import forward

CPU = torch.device("cpu")


def objective(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    logits = network(batch.inputs)
    return F.cross_entropy(logits.float(), batch.labels), logits


def batches() -> TensorBatches:
    return TensorBatches(torch.rand(8, 4), torch.arange(8) % 2, 4)


def dtypes_seen(settings: Settings, run: Path | None = None) -> set[torch.dtype]:
    seen: set[torch.dtype] = set()

    def noted(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        loss, logits = objective(network, batch)
        seen.add(logits.dtype)
        return loss, logits

    result = train(nn.Linear(4, 2), batches(), noted, settings, run=run, progress=False)
    assert result.settings.precision == ("bfloat16" if seen == {torch.bfloat16} else "float32")
    return seen


@pytest.mark.parametrize(
    ("precision", "expected"), [("auto", torch.float32), ("float32", torch.float32), ("bfloat16", torch.bfloat16)]
)
def test_no_clock_decides(precision: str, expected: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reading is a second after the one before, so that any step is long enough to be measured."""
    ticks = iter(range(10**6))
    monkeypatch.setattr(time, "process_time", lambda: float(next(ticks)))
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True, raising=False)
    assert dtypes_seen(Settings(epochs=1, precision=precision)) == {expected}  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", ["auto", "bfloat16"])
def test_a_run_whose_auto_was_measured_goes_on_in_what_it_chose(tmp_path: Path, asked: str) -> None:
    """config.json as version 0.1 wrote it."""
    train(nn.Linear(4, 2), batches(), objective, Settings(epochs=1), run=tmp_path, progress=False)
    record = json.loads((tmp_path / "config.json").read_text())
    for name in ("checkpoint.safetensors", "checkpoint.previous.safetensors", "metrics.json"):
        (tmp_path / name).unlink(missing_ok=True)
    record |= {"precision": "bfloat16", "precision_note": "bfloat16 measured 1.50 times as fast as float32"}
    (tmp_path / "config.json").write_text(json.dumps(record))
    settings = Settings(epochs=1, precision=asked)  # type: ignore[arg-type]
    assert dtypes_seen(settings, tmp_path) == {torch.bfloat16}
    with pytest.raises(InputError, match=r"settings\.precision = 'bfloat16', this run 'float32'"):
        dtypes_seen(Settings(epochs=1, precision="float32"), tmp_path)


def test_another_precision_is_refused_and_auto_is_float32(tmp_path: Path) -> None:
    dtypes_seen(Settings(epochs=1, precision="float32"), tmp_path)
    train(nn.Linear(4, 2), batches(), objective, Settings(epochs=1), run=tmp_path, progress=False)  # finished already
    with pytest.raises(InputError, match=r"settings\.precision = 'float32', this run 'bfloat16'"):
        dtypes_seen(Settings(epochs=1, precision="bfloat16"), tmp_path)


def test_a_run_of_an_earlier_version_lacks_later_settings(tmp_path: Path) -> None:
    """What it was not told was as it is by default now."""
    settings = Settings(epochs=1)
    train(nn.Linear(4, 2), batches(), objective, settings, run=tmp_path, progress=False)
    record = json.loads((tmp_path / "config.json").read_text())
    del record["settings"]["patience"]
    (tmp_path / "config.json").write_text(json.dumps(record))
    train(nn.Linear(4, 2), batches(), objective, settings, run=tmp_path, progress=False)
    with pytest.raises(InputError, match=r"settings\.patience = 0, this run 2"):
        train(nn.Linear(4, 2), batches(), objective, Settings(epochs=1, patience=2), run=tmp_path, progress=False)


def blobs() -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(80) % 4
    return np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32) + 5 * np.eye(4)[y, :3], y


@pytest.mark.parametrize("precision", ["auto", "bfloat16"])
def test_estimators_train_in_the_precision_they_are_told(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def noted(objective: Objective, network: nn.Module, batch: Batch, precision: str) -> tuple[Tensor, Tensor]:
        seen.append(precision)
        return forward(objective, network, batch, precision)

    monkeypatch.setattr("likewise.training.loop.forward", noted)
    X, y = blobs()
    PairClassifier(epochs=1, precision=precision).fit(X, y)  # type: ignore[arg-type]
    SemiSupervisedClassifier(epochs=1, precision=precision).fit(X, np.where(np.arange(80) < 12, y, -1))  # type: ignore[arg-type]
    SimilarityNetwork(epochs=1, precision=precision).fit(X, y)  # type: ignore[arg-type]
    expected = {"float32" if precision == "auto" else precision}
    assert set(seen) == expected
    similarity = SimilarityNetwork(epochs=1).fit(X, y)
    seen.clear()
    CategoryDiscoverer(4, similarity=similarity, epochs=1, precision=precision).fit(X)  # type: ignore[arg-type]
    assert set(seen) == expected


def test_an_estimator_refuses_a_precision_that_there_is_not() -> None:
    with pytest.raises(InputError, match="precision must be one of auto, float32, bfloat16, got 'float16'"):
        PairClassifier(epochs=1, precision="float16").fit(*blobs())  # type: ignore[arg-type]


def test_only_the_forward_pass_is_in_bfloat16() -> None:
    network, batch = nn.Linear(4, 2), next(batches().epoch(0))
    loss, logits = forward(objective, network, batch, "bfloat16")
    loss.backward()  # type: ignore[no-untyped-call]
    assert logits.dtype == torch.bfloat16
    assert network.weight.grad is not None
    assert network.weight.grad.dtype == network.weight.dtype == torch.float32
    assert forward(objective, network, batch, "float32")[1].dtype == torch.float32


def test_devices() -> None:
    assert resolve_device("cpu") == CPU
    assert resolve_device("auto").type in ("cpu", "cuda", "mps")
    with pytest.raises(InputError, match="Device cuda:99 is not available here"):
        resolve_device("cuda:99")
