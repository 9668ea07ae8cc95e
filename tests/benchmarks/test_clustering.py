"""The cost of the clustering methods: the pile, the answers about it, and what is written of a run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from likewise.benchmarks import clustering
from likewise.benchmarks.clustering import Cost, judge, make_pile, record
from likewise.cli.bench import app
from likewise.datasets import Items


def alphabet(n_classes: int, seed: int) -> Items:
    """Drawings that are one stroke each, 8 of each character."""
    labels = torch.arange(n_classes).repeat_interleave(8)
    images = torch.randint(60, (len(labels), 1, 6, 6), dtype=torch.uint8, generator=torch.manual_seed(seed))
    images[torch.arange(len(labels)), 0, labels, :] = 255
    return Items(images, labels, tuple(f"character {label}" for label in range(n_classes)))


ALPHABETS = {"A": alphabet(5, 0), "B": alphabet(4, 1), "C": alphabet(3, 2)}


def test_whole_alphabets_that_fit_make_the_pile() -> None:
    pile = make_pile(ALPHABETS, most_classes=8)
    assert pile.X.shape == (64, 36)
    assert pile.X.max() == 1
    assert pile.labels.tolist() == np.repeat(np.arange(8), 8).tolist()  # A and C; B is one character too many
    assert len(pile.pairs) == 64 * 63 // 2


def test_so_many_answers_are_wrong() -> None:
    pile = make_pile({str(number): alphabet(5, number) for number in range(6)}, most_classes=30)
    same = pile.labels[pile.pairs.left] == pile.labels[pile.pairs.right]
    wrong = (pile.pairs.same > 0.5) != same
    assert wrong[~same].mean() == pytest.approx(0.03, abs=0.005)
    assert wrong[same].mean() == pytest.approx(0.2, abs=0.05)


def test_a_run_is_measured_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "load_omniglot", lambda part, data: ALPHABETS)
    monkeypatch.setattr(clustering, "MANY", 15)
    out = tmp_path / "clustering.json"
    chosen = ["--method", "k-means", "--method", "cop-k-means"]
    ran = CliRunner().invoke(app, ["clustering", "--out", str(out), *chosen])
    assert ran.exit_code == 0, ran.output
    written = json.loads(out.read_text())
    assert (written["items"], written["classes"], written["answers"]) == (96, 12, 96 * 95 // 2)
    found = [(cost["method"], cost["n_clusters"]) for cost in written["costs"]]
    assert found == [("k-means", 12), ("k-means", 15), ("cop-k-means", 12), ("cop-k-means", 15)]
    assert all(0 < cost["acc"] <= 1 and cost["cpu_seconds"] > 0 for cost in written["costs"])
    assert written["costs"][2]["acc"] > written["costs"][0]["acc"]  # answers help
    assert "cop-k-means      15" in ran.output


def test_a_method_that_is_none_is_refused(tmp_path: Path) -> None:
    refused = CliRunner().invoke(app, ["clustering", "--out", str(tmp_path / "c.json"), "--method", "kmeans"])
    assert refused.exit_code == 2
    assert "'kmeans' is not one of 'k-means'," in refused.output
    assert list(tmp_path.iterdir()) == []


def test_the_slowest_is_judged() -> None:
    costs = [Cost("a", 2, 1.0, 90.0, 2, 1.0, 1.0), Cost("b", 2, 1.0, 130.0, 2, 1.0, 1.0)]
    assert judge(costs)[1:] == (130.0, "miss")
    assert judge(costs[:1])[1:] == (90.0, "pass")
    assert record(make_pile(ALPHABETS), costs)["bars"] == [
        {"bar": "every method at most 120 seconds of CPU", "measured": 130.0, "verdict": "miss"}
    ]
