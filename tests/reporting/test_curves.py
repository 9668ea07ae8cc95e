"""Learning curves draw what they were given, and a rule where a stage begins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.colors import to_hex

from likewise.reporting import answers_curve, learning_curve
from likewise.reporting.curves import History, stage_changes
from likewise.reporting.drawing import LIGHT

HISTORY = [
    {"epoch": 1.0, "loss": 0.9, "accuracy": 0.5, "test_accuracy": 0.4},
    {"epoch": 2.0, "loss": 0.3, "accuracy": 0.8, "test_accuracy": float("nan")},
    {"epoch": 3.0, "loss": 0.2, "accuracy": 0.9, "test_accuracy": 0.7},
]
ANSWERS = [
    {"epoch": 1, "loss": 0.9, "held_out_loss": 0.8, "held_out_accuracy": 0.5, "stage": "answers"},
    {"epoch": 2, "loss": 0.4, "held_out_loss": math.nan, "held_out_accuracy": 0.8, "stage": "answers"},
    {"epoch": 4, "loss": 0.2, "held_out_loss": 0.3, "held_out_accuracy": None, "stage": "unlabelled"},
]


def test_learning_curve_draws_each_learner_in_its_colour() -> None:
    accuracy, loss = learning_curve({"MCL": HISTORY, "CE": HISTORY[:2]}).axes
    drawn = [
        (to_hex(line.get_color()), line.get_linestyle(), np.asarray(line.get_xydata()).tolist())
        for line in accuracy.lines
    ]
    blue, grey = LIGHT["learner-1"], LIGHT["learner-2"]
    assert drawn == [
        (blue, "-", [[1, 0.4], [3, 0.7]]),  # an epoch without a measurement is passed over
        (blue, ":", [[1, 0.5], [2, 0.8], [3, 0.9]]),
        (grey, "-", [[1, 0.4]]),
        (grey, ":", [[1, 0.5], [2, 0.8]]),
    ]
    assert [np.asarray(line.get_ydata()).tolist() for line in loss.lines] == [[0.9, 0.3, 0.2], [0.9, 0.3]]


@pytest.mark.parametrize(
    ("history", "titles"),
    [
        (HISTORY, ["Accuracy", "Training loss"]),
        ([{"epoch": 1, "loss": 0.5}], ["Training loss"]),
        ([{"epoch": 1, "accuracy": 0.5}], ["Accuracy"]),
        ([{"epoch": 1, "loss": float("nan")}], []),
        ([], []),
    ],
)
def test_a_panel_without_figures_is_left_out(history: list[dict[str, float]], titles: list[str]) -> None:
    assert [axes.get_title(loc="left") for axes in learning_curve({"MCL": history}).axes] == titles


def test_answers_curve_tells_held_out_from_training() -> None:
    accuracy, loss = answers_curve(ANSWERS).axes
    drawn = [
        (to_hex(line.get_color()), line.get_linestyle(), np.asarray(line.get_xydata()).tolist()) for line in loss.lines
    ]
    assert drawn[:2] == [
        (LIGHT["learner-1"], "-", [[1, 0.8], [4, 0.3]]),
        (LIGHT["muted"], ":", [[1, 0.9], [2, 0.4], [4, 0.2]]),
    ]
    assert np.asarray(accuracy.lines[0].get_xydata()).tolist() == [[1, 0.5], [2, 0.8]]
    [legend] = answers_curve(ANSWERS).legends
    assert [text.get_text() for text in legend.get_texts()] == ["on held-out answers", "while training"]


def test_a_rule_stands_where_the_stage_changes() -> None:
    for axes in answers_curve(ANSWERS).axes:
        assert np.asarray(axes.lines[-1].get_xdata()).tolist() == [3, 3]
        assert [text.get_text() for text in axes.texts] == ["unlabelled items join"]
    for axes in answers_curve(ANSWERS[:2]).axes:
        assert not axes.texts
        assert len(axes.lines) <= 2


@pytest.mark.parametrize(
    ("history", "titles"),
    [
        (ANSWERS, ["Held-out accuracy", "Loss"]),
        ([{"loss": 0.5}], ["Training loss"]),
        ([{"held_out_loss": 0.5}], ["Held-out loss"]),
        ([{"held_out_accuracy": 0.5, "loss": 1}], ["Held-out accuracy", "Training loss"]),
        ([{"epoch": 1, "stage": "answers"}], []),
        ([], []),
    ],
)
def test_answers_curve_draws_only_what_was_measured(history: History, titles: list[str]) -> None:
    figure = answers_curve(history)
    assert [axes.get_title(loc="left") for axes in figure.axes] == titles
    assert bool(figure.legends) == (history is ANSWERS)


@pytest.mark.parametrize("accuracy", [0.0, 0.99, 1.0])
def test_no_tick_of_an_accuracy_lies_beyond_0_and_100_percent(accuracy: float) -> None:
    figure = answers_curve([{"epoch": epoch, "held_out_accuracy": accuracy} for epoch in (1, 2)])
    axes = figure.axes[0]
    low, high = axes.get_ylim()
    ticks = [tick for tick in axes.get_yticks() if low <= tick <= high]
    assert 0 <= min(ticks) <= max(ticks) <= 1
    assert low < accuracy < high


@pytest.mark.parametrize(
    ("rows", "changes"),
    [
        ([(1, "a"), (2, "a")], []),
        ([(1, "a"), (2, "b"), (3, "b"), (4, "a")], [(1.5, "b"), (3.5, "a")]),
        ([(10, "a"), (20, "$x$")], [(15, "$x$")]),
        ([(1, "a"), (2, "a"), (1, "b"), (2, "b")], [(2.5, "b")]),  # epochs that start over are counted on
        ([(1, "a"), (2, None), (3, "b")], [(2, "b")]),
        ([(None, "a"), (None, "b")], [(1.5, "b")]),
        ([(1, 1.0), (2, 2.0), (3, 2)], [(1.5, "stage 2")]),
    ],
)
def test_stage_changes(rows: list[tuple[int | None, str | float | None]], changes: list[tuple[float, str]]) -> None:
    assert stage_changes([{"epoch": epoch, "stage": stage} for epoch, stage in rows]) == changes
