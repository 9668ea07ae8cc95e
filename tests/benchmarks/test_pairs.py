"""The benchmark of answers: what is made up, what is measured, and the verdicts. No test looks at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.benchmarks import pairs as benchmark
from likewise.benchmarks.pairs import Step, judge, measure_alone, record, report, write_answers
from likewise.pairs import Pairs
from likewise.storage.records import as_json

STEPS = [Step("load", 20.0, 25.0, 900.0), Step("close", 4.5, 4.25, 1500.25), Step("check", 5.0, 5.0, 1500.25)]


def test_made_up_answers_have_ten_classes_and_few_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "MISTAKES", 0.0)
    write_answers(tmp_path / "a.csv", 2000)
    right = Pairs.read(tmp_path / "a.csv")
    assert (len(right), right.closure().n_contradicted) == (2000, 0)
    assert 150 < (right.same == 1).sum() < 250
    assert (right.left != right.right).all()
    assert right.name(0).startswith("photos/")
    monkeypatch.setattr(benchmark, "MISTAKES", 0.1)
    write_answers(tmp_path / "b.csv", 2000)
    wrong = Pairs.read(tmp_path / "b.csv")
    assert 140 < np.abs(right.same - wrong.same).sum() < 260
    assert wrong.closure().n_contradicted > 0


def test_the_steps_are_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    write_answers(tmp_path / "a.csv", 100)
    steps = measure_alone(tmp_path / "a.csv")
    assert [step.name for step in steps] == ["load", "close", "check"]
    peaks = [step.peak_mebibytes for step in steps]
    assert 10 < peaks[0] <= peaks[1] <= peaks[2] < 1000  # of a process without torch
    with pytest.raises(RuntimeError, match="does not exist"):
        measure_alone(tmp_path / "b.csv")


@pytest.mark.parametrize(
    ("n_answers", "extra", "verdicts"),
    [(10_000_000, 0.0, ["pass", "pass"]), (10_000_000, 1.0, ["miss", "pass"]), (100, 0.0, ["not measured"] * 2)],
)
def test_the_bars_are_for_ten_million_answers(n_answers: int, extra: float, verdicts: list[str]) -> None:
    judged = judge(n_answers, [*STEPS, Step("more", extra, 9.0, 0.0)])
    assert [verdict for *_, verdict in judged] == verdicts
    assert [value for _, value, _ in judged] == [29.5 + extra, 1500.25]


def test_record_and_report() -> None:
    written = as_json(record(10_000_000, STEPS))
    assert (written["answers"], written["items"], len(written["steps"])) == (10_000_000, 1_000_000, 3)
    assert {"bar": "10,000,000 answers, seconds at most 30", "measured": 29.5, "verdict": "pass"} in written["bars"]
    assert [*report(10_000_000, STEPS)] == [
        "        seconds   of CPU      MiB",
        "load      20.00    25.00      900",
        "close      4.50     4.25     1500",
        "check      5.00     5.00     1500",
        "pass         10,000,000 answers, seconds at most 30: 29.5",
        "pass         10,000,000 answers, MiB at most 4096: 1500.25",
    ]
