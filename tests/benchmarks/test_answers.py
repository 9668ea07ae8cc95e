"""The benchmark of a fit from answers: what is made up, how many steps stand beside it, the verdict. No test times."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from likewise.benchmarks import answers
from likewise.benchmarks.answers import (
    BUDGETS,
    Cost,
    Pile,
    judge,
    measure,
    open_pile,
    record,
    report,
    synthetic_features,
    synthetic_images,
)
from likewise.cli.bench import ANSWER_CASES, app
from likewise.storage.records import as_json

COST = Cost(
    case="images",
    source="mnist",
    items=60_000,
    shape=(1, 28, 28),
    classes=10,
    answers=1000,
    network="LeNet",
    steps={"seen": 400, "unlabelled": 600},
    seconds=200.0,
    cpu_seconds=300.0,
    labelled_seconds=80.0,
    labelled_cpu_seconds=150.0,
)


@pytest.mark.parametrize(
    "pile", [synthetic_features(60, 20, 3), synthetic_images(60, 8, 3)], ids=["features", "images"]
)
def test_as_many_steps_with_labels(pile: Pile, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    step = torch.optim.Adam.step
    monkeypatch.setattr(torch.optim.Adam, "step", lambda self, *args: (steps.append(1), step(self, *args))[1])
    cost = measure(pile, answers=60, epochs=1)
    assert len(steps) == 2 * sum(cost.steps.values()) > 0
    assert (cost.case, cost.items, cost.classes, cost.answers) == (pile.case, 60, 3, 60)
    assert cost.shape == tuple(pile.inputs.shape[1:])
    assert min(cost.seconds, cost.labelled_seconds) > 0


def test_made_up_classes_lie_apart() -> None:
    features, images = synthetic_features(60, 200, 3), synthetic_images(60, 8, 3)
    assert features.inputs.norm(dim=1).allclose(torch.ones(60))
    assert images.inputs.dtype == torch.uint8
    for pile in (features, images):
        items = pile.inputs.flatten(1).float()
        means = torch.stack([items[pile.labels == label].mean(0) for label in range(3)])
        assert (torch.cdist(items, means).argmin(1) == pile.labels).float().mean() > 0.95


def test_what_is_not_there_is_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "synthetic_images", lambda: synthetic_images(20, 8))
    piles = [open_pile(case, tmp_path) for case in ANSWER_CASES]
    assert [(pile.case, pile.source) for pile in piles] == [("features", "made up"), ("images", "made up")]
    assert piles[0].inputs.shape == (900, 1280)
    assert set(BUDGETS) == set(ANSWER_CASES)


@pytest.mark.parametrize(("seconds", "verdict"), [(240.0, "pass"), (240.1, "miss")])
def test_the_bar_is_for_the_time_of_the_whole_fit(seconds: float, verdict: str) -> None:
    bar = "60,000 items of 1 x 28 x 28 from 1,000 answers in at most 240 seconds"
    assert judge(replace(COST, seconds=seconds)) == (bar, seconds, verdict)


def test_record_and_report() -> None:
    written = as_json(record([COST]))
    assert written["costs"][0]["ratio"] == 2.0
    assert written["bars"][0]["verdict"] == "pass"
    assert [*report([COST])] == [
        "case      items    network     steps   seconds   of CPU   labels  ratio",
        "images    mnist    LeNet       1,000     200.0    300.0    150.0   2.00",
        "pass      60,000 items of 1 x 28 x 28 from 1,000 answers in at most 240 seconds: 200.0",
    ]


def test_the_command_writes_and_prints_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "open_pile", lambda case, data: case)
    monkeypatch.setattr(answers, "measure", lambda case: replace(COST, case=case))
    out = tmp_path / "new" / "answers.json"
    ran = CliRunner().invoke(app, ["answers", "--out", str(out), "--case", "images"])
    assert ran.exit_code == 0, ran.output
    assert [cost["case"] for cost in json.loads(out.read_text())["costs"]] == ["images"]
    assert ran.output.endswith(f"240 seconds: 200.0\nWrote {out}.\n")
    ran = CliRunner().invoke(app, ["answers", "--out", str(out)])
    assert [cost["case"] for cost in json.loads(out.read_text())["costs"]] == ["features", "images"]
    assert CliRunner().invoke(app, ["answers", "--case", "texts"]).exit_code == 2
