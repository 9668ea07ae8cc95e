"""What is shown, and that nothing is where it should not be."""

from __future__ import annotations

import sys

import pytest
import torch

from likewise.training.checkpoint import State
from likewise.training.progress import Bar, Lines, Silent, reporter
from likewise.training.tally import Tally

ROW = {"epoch": 1, "learning_rate": 0.1, "loss": 0.25, "accuracy": 0.5, "test_accuracy": 0.875}


def state() -> State:
    tally = Tally(n_classes=2)
    tally.add(0.25, torch.eye(2), torch.tensor([1, 0]))
    return State(tally, epoch=1, step=0, items=10)


def test_lines_say_one_line_an_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines(3, 5, State(Tally(2))) as show:
        show.step(state())
        assert capsys.readouterr().out == ""
        show.epoch(ROW, state())
        line = capsys.readouterr().out
        show.epoch({"epoch": 1, "learning_rate": 0.1, "loss": 2.0}, state())
        assert "ACC" not in capsys.readouterr().out
    assert line.startswith("epoch 1/3  loss 0.2500  ACC 50.00 %  ")
    assert "images/s  test_accuracy 0.875  0:00:0" in line
    assert line.endswith(" left\n")


def test_the_time_left_counts_only_what_this_process_did(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two epochs of four were done before; the third took 60 seconds, so the fourth will."""
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    with Lines(4, 5, State(Tally(2), epoch=2, items=1200)) as show:
        now = 60.0
        show.epoch(ROW, State(Tally(2), epoch=3, items=1800))
    line = capsys.readouterr().out
    assert "  10 images/s  " in line
    assert "  0:01:00 left" in line


def test_the_bar_shows_the_figures(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with Bar(3, 5, State(Tally(2))) as show:
        show.step(state())
    out = capsys.readouterr().out
    for text in ("epoch 2/3", "loss 0.2500", "ACC 100.00 %", "images/s", "left"):
        assert text in out
    with Bar(3, 5, State(Tally(2))) as show:
        show.epoch(ROW, state())
    out = capsys.readouterr().out
    assert "epoch 1/3" in out
    assert "ACC 50.00 %" in out


def test_the_right_one_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reporter(progress=False) is Silent
    for terminal, kind in ((True, Bar), (False, Lines)):
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal, raising=False)
        assert reporter(progress=True) is kind


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with Silent(3, 5, State(Tally(2))) as show:
        show.step(state())
        show.epoch(ROW, state())
    assert capsys.readouterr().out == ""
