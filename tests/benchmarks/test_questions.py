"""The benchmark of questions: what runs come to, and a record that a killed command goes on with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.forecast import percentile, problem
from sklearn.datasets import make_blobs

from likewise.benchmarks import questions
from likewise.benchmarks.question_runs import Plan, Run, is_covered, judge, report, summary
from likewise.querying import QuestionChooser

RUN = Run(
    case="digits",
    chooser="likewise",
    wrong=0.0,
    seed=0,
    start=0.7,
    lowest=0.68,
    to_target=40,
    marks={20: 0.9, 40: 0.95, 60: 0.97},
    curve=[0.7] * 40 + [0.95] * 21,
    forecasts=[(10, 20, 60, 30), (20, 30, 60, 20)],
    estimates=[(10, 0.8, 0.6, 0.9), (20, 0.8, 0.75, 0.9)],
    stop=50,
    cpu_seconds=1.0,
)
NEVER = replace(
    RUN, seed=1, to_target=None, curve=[0.7] * 61, forecasts=[(10, 5, 20, None), (10, 5, 90, None)], stop=45
)


def test_a_summary_has_the_median_the_worst_and_what_held() -> None:
    (row,) = summary([RUN, replace(RUN, seed=1, to_target=30, lowest=0.7), NEVER])
    assert (row["to_target"], row["worst_to_target"], row["seeds"]) == (40, None, 3)
    assert row["below_start"] == pytest.approx(0.02)
    assert (row["forecasts"], row["covered"]) == (5, 0.4)  # one could not be judged
    assert row["estimates_covered"] == 0.5
    assert (row["stops"], row["stops_at_target"], row["lowest_at_stop"]) == (3, 0.667, 0.7)
    (bar,) = judge([row], [])
    assert (bar["verdict"], bar["measured"], bar["must"], bar["aim"]) == ("pass", 40, 60, 40)
    (slow,) = judge([], [{"items": 10_000, "milliseconds": 70.0}])
    assert slow["verdict"] == "miss"
    lines = [*report([row], [bar])]
    assert "40: 0.950" in lines[1]


def test_a_forecast_is_judged_as_far_as_the_person_went() -> None:
    assert [is_covered(each, RUN) for each in RUN.forecasts] == [True, False]
    assert [is_covered(each, NEVER) for each in NEVER.forecasts] == [False, None]


def test_a_killed_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_blobs(60, n_features=4, centers=3, cluster_std=0.5, random_state=0)
    made: list[float] = []

    def open_case(case: str, seed: int, data: Any) -> tuple[Any, Any]:
        made.append(seed)
        return X, y

    monkeypatch.setattr(questions, "open_case", open_case)
    monkeypatch.setitem(questions.PLANS, "digits", Plan({0.0: 6, 0.1: 6}, (3, 6), (6,)))
    out, figure = tmp_path / "questions.json", tmp_path / "questions.svg"
    options: dict[str, Any] = {"case": ["digits"], "figure": None, "data": None, "out": out}
    first, _ = questions.run(seeds=1, **options)
    assert [(run["chooser"], run["wrong"]) for run in first["runs"]] == [
        ("likewise", 0.0), ("likewise", 0.1), ("random", 0.0), ("explore-consolidate", 0.0), ("min-max", 0.0),
    ]  # fmt: skip
    again, _ = questions.run(seeds=1, **options)
    assert again["runs"] == first["runs"]
    assert made == [0]
    more, lines = questions.run(seeds=2, **{**options, "figure": figure})
    assert more["runs"][:5] == first["runs"]
    assert made == [0, 1]
    assert any("chooser" in line for line in lines)
    assert "<svg" in figure.read_text()
    monkeypatch.setattr(questions, "code", lambda: "another")
    assert questions.read_record(out) == {}


def test_a_person_leaves_no_answer_behind() -> None:
    X, y = make_blobs(60, n_features=4, centers=3, cluster_std=0.5, random_state=0)
    chooser = QuestionChooser(X)
    run = questions.simulate("digits", chooser, y, 0.0, 12, (6, 12))
    assert chooser.answers == 0
    assert len(run.curve) == 13
    assert run.marks[12] == run.curve[12]
    assert run.estimates[0][0] == 10


def test_percentiles_count_what_is_only_known_to_be_larger() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert percentile(values, np.array([True, True, True, True]), 0.5) == 2
    assert percentile(values, np.array([False, True, True, True]), 0.5) == 3
    assert percentile(values, np.array([True, False, False, False]), 0.5) is None


def test_generated_problems_are_the_same_each_time() -> None:
    (X, y), (again, _) = problem(3), problem(3)
    np.testing.assert_array_equal(X, again)
    assert 3 <= len(np.unique(y)) <= 25
    assert len(X) == len(y)
