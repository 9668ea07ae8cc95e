"""The section about chosen questions: what the record says, and nothing where there is none."""

from __future__ import annotations

from pathlib import Path

from likewise.benchmarks.question_runs import Run, judge, summary
from likewise.paper.questions_section import questions_section
from likewise.storage.records import write_json


def run(seed: int, chooser: str = "likewise", to_target: int | None = 40) -> Run:
    marks = {20: 0.9 - 0.1 * seed, 60: 0.96}
    return Run(
        "digits", chooser, 0.05, seed, 0.7, 0.68, to_target, marks, [0.7] * 61, [], [(10, 0.7, 0.6, 0.8)], None, 1.0
    )


def test_a_row_has_medians_and_worst_cases(tmp_path: Path) -> None:
    runs = [run(0), run(1, to_target=None), run(2), run(0, "random")]
    rows = summary(runs)
    (tmp_path / "benchmarks").mkdir()
    machine = {"cpu": "a processor", "torch": "2", "likewise": "1"}
    write_json(tmp_path / "benchmarks" / "questions.json", {**machine, "summary": rows, "bars": judge(rows, [])})
    lines = questions_section(tmp_path / "results").splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert table[2] == [
        *("`QuestionChooser`", "5 %", "70.0", "80.0 (70.0)", "96.0 (96.0)", "40 (never)", "2.0", "", "100 % of 3", "3"),
    ]
    assert table[3] == ["random", "5 %", "", "90.0 (90.0)", "96.0 (96.0)", "", "", "", "100 % of 1", "1"]
    assert "- digits, 5 % wrong: median answers to 95 %: 40, required 90, aim 60." in lines


def test_without_a_record_the_command_is_named(tmp_path: Path) -> None:
    assert "`likewise bench questions`" in questions_section(tmp_path / "results")
