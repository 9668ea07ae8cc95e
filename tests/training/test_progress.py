"""What is shown, how often, and that nothing is where it should not be."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from likewise.estimators import CategoryDiscoverer, PairClassifier, SemiSupervisedClassifier, SimilarityNetwork
from likewise.pairs import Pairs
from likewise.training import Batch, Settings, TensorBatches, train
from likewise.training.checkpoint import State, Tally
from likewise.training.progress import Bar, Lines, Silent, reporter

ROW = {"epoch": 1, "learning_rate": 0.1, "loss": 0.25, "accuracy": 0.5, "test_accuracy": 0.875}


class Clock:
    """Stands still until it is told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def no_line_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lines, "last", -float("inf"))


def state(epoch: int = 0, step: int = 0, items: int = 10) -> State:
    tally = Tally(n_classes=2)
    tally.add(0.25, torch.eye(2), torch.tensor([1, 0]))
    return State(tally, epoch=epoch, step=step, items=items)


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return str(capsys.readouterr().out).splitlines()


def test_the_first_line_comes_after_two_steps_with_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    """The first step, with all that it sets up, is no measure of the others."""
    clock = Clock()
    show = Lines(3, 5, State(Tally(2)), clock=clock)
    clock.now += 50
    show.step(state(0, 1, 10))
    assert shown(capsys) == []
    clock.now += 0.5
    show.step(state(0, 2, 20))
    assert shown(capsys) == ["epoch 1/3, step 2/5  loss 0.2500  ACC 100.00 %  20 items/s  0:00:06 left"]  # 13 steps


def test_there_is_at_most_one_line_a_second_in_all_stages_together(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    lines = []
    for stage in ("answers, start 1", "unlabelled pairs"):
        show = Lines(4, 10, State(Tally(2)), stage, clock=clock)
        for epoch in range(4):
            for step in range(1, 11):
                clock.now += 0.25
                show.step(state(epoch, step, 10 * epoch + step))
                lines += [(clock.now, line) for line in shown(capsys)]
            show.epoch(ROW, state(epoch + 1, 0, 10 * (epoch + 1)))
            lines += [(clock.now, line) for line in shown(capsys)]
    times = [at for at, _ in lines]
    assert len(times) == 20  # in twenty seconds
    assert min(b - a for a, b in pairwise(times)) >= 1
    assert lines[0][1].startswith("answers, start 1: epoch 1/4, step 2/10  loss 0.2500")
    assert lines[0][1].endswith("0:00:10 left in this stage")
    assert lines[-1][1].startswith("unlabelled pairs: epoch 4/4")


def test_lines_inside_epochs_become_rarer(capsys: pytest.CaptureFixture[str]) -> None:
    """An hour of one long epoch is a page or two, and not 3,600 lines."""
    clock = Clock()
    show = Lines(1, 3600, State(Tally(0)), clock=clock)
    for step in range(1, 3601):
        clock.now += 1
        show.step(State(Tally(0), 0, step, step))
    assert 150 < len(shown(capsys)) < 400


def test_an_epoch_shows_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    show = Lines(4, 5, State(Tally(2), epoch=2, items=1200), clock=clock)
    show.step(State(Tally(2), 2, 1, 1300))
    clock.now += 40
    show.epoch(ROW, State(Tally(2), epoch=3, items=1700))  # four steps took 40 seconds, and five are left
    (line,) = shown(capsys)
    assert line == "epoch 3/4  loss 0.2500  ACC 50.00 %  10 items/s  test_accuracy 0.875  0:00:50 left"
    clock.now += 40
    show.epoch({"epoch": 4, "learning_rate": 0.1, "loss": 2.0}, State(Tally(2), epoch=4, items=2200))
    (line,) = shown(capsys)
    assert "ACC" not in line
    assert line.endswith("0:00:00 left")


def test_an_epoch_of_one_step_tells_no_rate_yet(capsys: pytest.CaptureFixture[str]) -> None:
    show = Lines(3, 1, State(Tally(2)), clock=Clock())
    show.step(state(0, 1))
    show.epoch(ROW, state(1, 0))
    assert shown(capsys) == ["epoch 1/3  loss 0.2500  ACC 50.00 %  test_accuracy 0.875"]


def test_the_bar_shows_the_figures(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    clock = Clock()
    with Bar(3, 5, State(Tally(2)), "answers", clock=clock) as show:
        show.step(state(1, 1, 10))
        clock.now += 1
        show.step(state(1, 2, 20))
    out = capsys.readouterr().out
    for text in ("answers: epoch 2/3", "loss 0.2500", "ACC 100.00 %", "10 items/s", "left"):
        assert text in out
    with Bar(3, 5, State(Tally(2))) as show:
        show.epoch(ROW, state(1))
    out = capsys.readouterr().out
    assert "epoch 1/3" in out
    assert "ACC 50.00 %" in out


def test_the_right_one_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reporter(progress=False) is Silent
    for terminal, kind in ((True, Bar), (False, Lines)):
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal, raising=False)
        assert reporter(progress=True) is kind
        assert reporter(progress="stage") is kind
    monkeypatch.setattr("likewise.training.progress.is_writer", lambda: False)  # in another process than the first
    assert reporter(progress=True) is Silent


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with Silent(3, 5, State(Tally(2))) as show:
        show.step(state())
        show.epoch(ROW, state(1))
    assert shown(capsys) == []


def objective(network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    logits = network(batch.inputs)
    return F.cross_entropy(logits, batch.labels), logits


def test_what_is_shown_changes_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("likewise.training.progress.SPACING", 1e9)
    weights = []
    for progress in (False, True, "stage"):
        torch.manual_seed(0)
        net = nn.Linear(4, 2)
        batches = TensorBatches(torch.arange(32.0).view(8, 4), torch.arange(8) % 2, 4)
        train(net, batches, objective, Settings(epochs=2, device="cpu"), n_classes=2, progress=progress)
        weights.append(net.weight.detach().clone())
    assert torch.equal(weights[0], weights[1])
    assert torch.equal(weights[0], weights[2])
    (line,) = shown(capsys)  # of all three runs
    assert line.startswith("epoch 1/2, step 2/2  loss ")


def test_estimators_say_what_they_are_learning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("likewise.training.progress.SPACING", 0.0)
    y = np.arange(120) % 4
    X = np.random.default_rng(0).normal(size=(120, 3)).astype(np.float32) + 5 * np.eye(4)[y, :3]
    PairClassifier(4, epochs=1, starts=1, verbose=True).fit(X, pairs=Pairs.from_labels(y, n=200))
    assert {line.split(":")[0] for line in shown(capsys)} == {"groups, round 1", "groups, round 2"}
    SemiSupervisedClassifier(epochs=1, verbose=True).fit(X, np.where(np.arange(120) < 12, y, -1))
    assert {line.split(":")[0] for line in shown(capsys)} == {"supervised", "pseudo-mcl"}
    similarity = SimilarityNetwork(epochs=2, verbose=True).fit(X, y)
    assert {line.split(":")[0] for line in shown(capsys)} == {"similarity"}
    CategoryDiscoverer(4, similarity=similarity, epochs=2, verbose=True).fit(X)
    assert {line.split(":")[0] for line in shown(capsys)} == {"round 1", "round 2"}
    PairClassifier(4, epochs=1, starts=1).fit(X, y)
    assert shown(capsys) == []
