"""Runs that are killed or stopped end, once taken up again, with the very bytes of one that never was.

Run as a script, this file begins runs in processes of their own that end by SIGKILL; see `killed_runs`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

import likewise
from likewise.datasets import Augmentation
from likewise.training import (
    Batch,
    Batches,
    Interrupted,
    LoaderBatches,
    Objective,
    Settings,
    TensorBatches,
    train,
)

KINDS = {
    "adam": Settings(epochs=3, batch_size=8, schedule="one-cycle", learning_rate=0.01, precision="float32", seed=5),
    "sgd": Settings(
        epochs=3, batch_size=8, optimizer="sgd", learning_rate=0.05, weight_decay=1e-3, drops=(2,), precision="float32"
    ),
    "adamw": Settings(epochs=3, batch_size=5, optimizer="adamw", weight_decay=0.1, precision="float32"),
    "bfloat16": Settings(epochs=3, batch_size=8, learning_rate=0.01, precision="bfloat16"),
}
KILLS = [  # (kind, where, how often before); three epochs of six steps
    ("adam", "step", 1),
    ("adam", "step", 9),
    ("adam", "evaluate", 2),
    ("adam", "before checkpoint.safetensors", 1),
    ("adam", "after checkpoint.safetensors", 3),
    ("sgd", "before checkpoint.safetensors", 2),
    ("sgd", "after checkpoint.safetensors", 1),
    ("sgd", "before model.safetensors", 1),
    ("sgd", "before metrics.json", 1),
    ("sgd", "after config.json", 1),
    ("adamw", "step", 13),
    ("adamw", "before history.csv", 2),
]


class Noisy(Dataset[tuple[Tensor, int]]):
    """Items with noise from all three global generators."""

    def __len__(self) -> int:
        return 28

    def __getitem__(self, position: int) -> tuple[Tensor, int]:
        noise = torch.tensor([float(torch.rand(())), float(np.random.rand()), random.random()])  # noqa: NPY002
        return noise + position % 3, position % 3


def parts(kind: str) -> tuple[nn.Module, Batches]:
    """A network with batch-norm and dropout, and batches that are shuffled and augmented."""
    torch.manual_seed(1)
    if kind == "adamw":
        loader = DataLoader(Noisy(), 5, shuffle=True)
        return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 3)), LoaderBatches(
            loader
        )
    images = torch.randint(0, 256, (49, 1, 6, 6), dtype=torch.uint8)  # the 49th joins the last batch of eight
    augment = Augmentation(crop_padding=1, flip=True, degrees=10.0)
    batches = TensorBatches(images, torch.arange(49) % 3, 8, seed=3, mean=(0.5,), std=(0.3,), augment=augment)
    layers = [nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.Flatten()]
    return nn.Sequential(*layers, nn.Dropout(0.3), nn.Linear(64, 3)), batches


def cross_entropy(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    logits = network(batch.inputs)
    return F.cross_entropy(logits.float(), batch.labels), logits


def evaluate(network: nn.Module, confusion: np.ndarray) -> dict[str, float]:
    return {"weight": float(next(network.parameters()).sum()), "drawn": float(torch.rand(()))}


def go(
    kind: str, run: Path, objective: Objective = cross_entropy, judge: Callable[..., dict[str, float]] = evaluate
) -> None:
    network, batches = parts(kind)
    train(network, batches, objective, KINDS[kind], n_classes=3, run=run, evaluate=judge, progress=False)


def outcome(run: Path) -> dict[str, bytes]:
    assert {path.name for path in run.iterdir()} >= {"config.json", "metrics.json", "checkpoint.safetensors"}
    assert not list(run.glob(".*")), "something half-written is left"
    return {name: (run / name).read_bytes() for name in ("model.safetensors", "history.csv")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """What runs give that nobody disturbs."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    outcomes = {}
    for kind in KINDS:
        run = tmp_path_factory.mktemp(kind)
        go(kind, run)
        outcomes[kind] = outcome(run)
    torch.set_num_threads(threads)
    return outcomes


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs that were killed, numbered as KILLS is."""
    folder = tmp_path_factory.mktemp("killed")
    paths = [str(Path(likewise.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    script = subprocess.run(
        [sys.executable, __file__, str(folder)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert script.returncode == 0, script.stderr
    assert json.loads(script.stdout) == [-signal.SIGKILL] * len(KILLS), script.stderr
    return folder


@pytest.mark.parametrize("number", range(len(KILLS)), ids=[" ".join(map(str, kill)) for kill in KILLS])
def test_killed_by_sigkill(number: int, killed: Path, whole: dict[str, dict[str, bytes]]) -> None:
    kind, where, _ = KILLS[number]
    run = killed / str(number)
    assert not (run / "metrics.json").exists()
    assert (run / ".checkpoint.safetensors.tmp").exists() == (where == "before checkpoint.safetensors")
    go(kind, run)
    assert outcome(run) == whole[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_stopped_by_ctrl_c_after_every_single_step(
    kind: str, tmp_path: Path, whole: dict[str, dict[str, bytes]]
) -> None:
    def pressing(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        signal.raise_signal(signal.SIGINT)
        return cross_entropy(network, batch)

    for _ in range(18):
        with pytest.raises(Interrupted):
            go(kind, tmp_path, pressing)
    go(kind, tmp_path)
    assert outcome(tmp_path) == whole[kind]


def test_stopped_by_ctrl_c_during_evaluation(tmp_path: Path, whole: dict[str, dict[str, bytes]]) -> None:
    def pressing(network: nn.Module, confusion: np.ndarray) -> dict[str, float]:
        signal.raise_signal(signal.SIGINT)
        return evaluate(network, confusion)

    for epoch in (1, 2, 3):
        with pytest.raises(Interrupted, match=f"Stopped after epoch {epoch};"):
            go("adam", tmp_path, judge=pressing)
    go("adam", tmp_path)
    assert outcome(tmp_path) == whole["adam"]


def killed_runs(folder: Path) -> list[int]:
    """Begin each run of KILLS in a process of its own, and return how the processes ended."""
    torch.set_num_threads(1)
    torch.optim.Adam([torch.zeros(1)])  # torch loads half of itself here: once is enough
    endings = []
    for number, (kind, where, times) in enumerate(KILLS):
        process = os.fork()
        if process == 0:
            kill_at(kind, where, times, folder / str(number))
            os._exit(0)
        endings.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
    return endings


def kill_at(kind: str, where: str, times: int, run: Path) -> None:
    left = times

    def count(event: str) -> None:
        nonlocal left
        left -= event == where
        if event == where and left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def objective(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        count("step")
        return cross_entropy(network, batch)

    def judge(network: nn.Module, confusion: np.ndarray) -> dict[str, float]:
        count("evaluate")
        return evaluate(network, confusion)

    replace = Path.replace

    def rename(self: Path, target: Path) -> Path:
        count(f"before {target.name}")
        renamed = replace(self, target)
        count(f"after {target.name}")
        return renamed

    Path.replace = rename  # type: ignore[assignment, method-assign]
    go(kind, run, objective, judge)


if __name__ == "__main__":
    print(json.dumps(killed_runs(Path(sys.argv[1]))))
