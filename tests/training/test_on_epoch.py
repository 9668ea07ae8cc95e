"""`on_epoch` is shown every row of the history, once, and whatever it does changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from likewise.criteria import MCL
from likewise.datasets import DataSet, Items
from likewise.estimators import CategoryDiscoverer, PairClassifier, SemiSupervisedClassifier, SimilarityNetwork
from likewise.pairs import Pairs
from likewise.training import Batch, Settings, TensorBatches, train, train_labelled

SETTINGS = Settings(epochs=3, batch_size=4, device="cpu")

Row = dict[str, float]


def objective(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    logits = network(batch.inputs)
    return F.cross_entropy(logits, batch.labels), logits


def learn(on_epoch: Any = None, run: Path | None = None) -> tuple[list[Row], Tensor]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Dropout(), nn.Linear(4, 2))
    batches = TensorBatches(torch.arange(32.0).view(8, 4) / 32, torch.arange(8) % 2, 4)
    result = train(net, batches, objective, SETTINGS, n_classes=2, run=run, progress=False, on_epoch=on_epoch)
    return result.history, net[1].weight.detach().clone()


def test_it_is_shown_each_row_and_cannot_change_anything() -> None:
    rows: list[Row] = []

    def disturb(row: Row) -> None:
        rows.append(dict(row))
        row.clear()
        torch.rand(7)
        np.random.rand(3)  # noqa: NPY002

    history, weights = learn(disturb)
    assert rows == history
    assert [set(row) for row in rows] == [{"epoch", "learning_rate", "loss", "accuracy"}] * 3
    quiet, same = learn()
    assert quiet == history
    assert torch.equal(weights, same)


def test_a_run_that_goes_on_shows_what_is_new(tmp_path: Path) -> None:
    """The epoch at whose end the hook failed was saved before; what was shown is not shown again."""
    rows: list[Row] = []

    def fail(row: Row) -> None:
        rows.append(row)
        if row["epoch"] == 2:
            raise OSError("no room for the log")

    with pytest.raises(OSError, match="no room for the log"):
        learn(fail, tmp_path)
    history, weights = learn(rows.append, tmp_path)
    assert rows == history
    assert torch.equal(weights, learn()[1])
    learn(rows.append, tmp_path)
    assert rows == history  # it was finished


def blobs() -> tuple[Any, Any]:
    y = np.arange(120) % 4
    return np.random.default_rng(0).normal(size=(120, 3)).astype(np.float32) + 5 * np.eye(4)[y, :3], y


def test_labelled_sets_and_estimators_have_it() -> None:
    X, y = blobs()
    rows: list[Row] = []
    items = Items(torch.from_numpy(X), torch.from_numpy(y), ("a", "b", "c", "d"))
    result = train_labelled(
        nn.Linear(3, 4), items, DataSet("blobs", items, items, (), ()), MCL(), SETTINGS, on_epoch=rows.append
    )
    assert rows == result.history
    assert "test_accuracy" in rows[0]

    rows = []
    pairs = PairClassifier(4, epochs=2, starts=1, on_epoch=rows.append).fit(X, pairs=Pairs.from_labels(y, n=200))
    assert [row["stage"] for row in rows] == [1, 1, 1, 1]  # two rounds of groups
    assert rows[:2] == pairs.history_[:2]

    rows = []
    SemiSupervisedClassifier(epochs=2, on_epoch=rows.append).fit(X, np.where(np.arange(120) < 12, y, -1))
    assert [row["stage"] for row in rows] == [1, 1, 2, 2]

    rows = []
    similarity = SimilarityNetwork(epochs=2, refit=False, on_epoch=rows.append).fit(X, y)
    assert rows == similarity.history_

    rows = []
    found = CategoryDiscoverer(4, similarity=similarity, epochs=1, on_epoch=rows.append).fit(X)
    assert [row["loss"] for row in rows] == [row["loss"] for row in found.classifier_.history_]


def test_it_is_not_saved_with_a_classifier(tmp_path: Path) -> None:
    rows: list[Row] = []
    PairClassifier(epochs=1, starts=1, on_epoch=rows.append).fit(*blobs()).save(tmp_path)
    assert PairClassifier.load(tmp_path).on_epoch is None
