"""A monitored figure: the run ends with the weights of its best epoch, stops when it waited enough, and resumes so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from likewise.training import Batch, Settings, TensorBatches, TrainingResult, train

FIGURES = [5.0, 3.0, 4.0, 1.0, 2.0, 2.0, 1.0, 6.0]  # by epoch; the fourth is the best


def objective(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    logits = network(batch.inputs)
    return F.cross_entropy(logits, batch.labels), logits


class Watched:
    """A run that notes down the weights of every epoch; `stop_after` ends it as a kill would."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.weights: dict[int, Tensor] = {}
        self.stop_after = stop_after

    def run(self, patience: int = 0, folder: Path | None = None) -> tuple[TrainingResult, Tensor]:
        torch.manual_seed(0)
        network = nn.Linear(3, 2)
        inputs = torch.randn(32, 3)
        batches = TensorBatches(inputs, (inputs[:, 0] > 0).long(), 8)
        epoch = 0 if folder is None or not (folder / "history.csv").exists() else len(_lines(folder)) - 1

        def evaluate(network: nn.Module, _: np.ndarray) -> dict[str, float]:
            nonlocal epoch
            if epoch == self.stop_after:
                raise SystemExit
            self.weights[epoch] = network.weight.detach().clone()  # type: ignore[union-attr, operator]
            epoch += 1
            return {"figure": FIGURES[epoch - 1]}

        settings = Settings(epochs=8, learning_rate=0.1, patience=patience, precision="float32")
        result = train(
            network, batches, objective, settings, run=folder, evaluate=evaluate, monitor="figure", progress=False
        )
        return result, network.weight.detach()


def _lines(folder: Path) -> list[str]:
    return (folder / "history.csv").read_text().splitlines()


def test_the_best_epoch_is_kept(tmp_path: Path) -> None:
    watched = Watched()
    result, weight = watched.run(folder=tmp_path)
    assert len(result.history) == 8
    assert torch.equal(weight, watched.weights[3])
    assert not torch.equal(weight, watched.weights[7])
    assert json.loads((tmp_path / "metrics.json").read_text())["epoch"] == 4


@pytest.mark.parametrize(("patience", "epochs"), [(1, 3), (2, 6), (3, 7), (4, 8)])
def test_patience_ends_the_run(patience: int, epochs: int) -> None:
    result, _ = Watched().run(patience)
    assert len(result.history) == epochs


@pytest.mark.parametrize("stop_after", [2, 5])
def test_a_stopped_run_keeps_its_best(tmp_path: Path, stop_after: int) -> None:
    whole, weight = Watched().run(3)
    with pytest.raises(SystemExit):
        Watched(stop_after).run(3, tmp_path)
    result, resumed = Watched().run(3, tmp_path)
    assert torch.equal(resumed, weight)
    assert result.history == whole.history
    again, finished = Watched().run(3, tmp_path)  # a finished run returns at once
    assert torch.equal(finished, weight)
    assert again.history == whole.history
