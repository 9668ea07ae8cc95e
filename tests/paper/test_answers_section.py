"""The section on random answers: its rows, several seeds, the aims, wrong answers, and its figures."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import matplotlib.colors
import numpy as np
import pytest

from likewise.errors import InputError
from likewise.paper.answers_section import answers_figure, answers_figures, answers_section
from likewise.paper.answers_trials import AnswersRecord
from likewise.paper.records import read_record, read_records, write_record
from likewise.paper.results_page import results_page


def rows(text: str) -> list[list[str]]:
    """The rows of all tables."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    rules = [number for number, line in enumerate(lines) if line[0].startswith("--")]
    return [line for number, line in enumerate(lines) if number not in rules and number + 1 not in rules]


def write(results: Path, *records: AnswersRecord) -> None:
    for record in records:
        write_record(results, record)


def test_a_record_is_written_and_read_back(tmp_path: Path, trial_record: AnswersRecord) -> None:
    unsure = replace(trial_record, answers=20, held_out=0, held_out_accuracy=None)
    write(tmp_path, trial_record, unsure)
    assert read_records(tmp_path, "answers", AnswersRecord) == [trial_record, unsure]
    path = tmp_path / "answers" / "digits-1000answers-seed0.json"
    assert read_record(path, AnswersRecord) == trial_record
    for key, value in (("unlabelled_kept", 1), ("accuracy", None), ("held_out_accuracy", "99"), ("answers", 0.5)):
        path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
        with pytest.raises(InputError, match=f"{key} must be"):
            read_record(path, AnswersRecord)
        write(tmp_path, trial_record)


def test_a_row_says_everything(tmp_path: Path, trial_record: AnswersRecord) -> None:
    many = replace(
        trial_record, answers=20000, twin_labels=1442, unlabelled_kept=False, first_accuracy=97.5, command="c"
    )
    write(tmp_path, many, trial_record)
    assert rows(answers_section(tmp_path)) == [
        [
            "1,000",
            "95.00",
            "97.50",
            "97.50",
            "",
            "yes",
            "98.25",
            "1,280 steps",
            "0",
            "1.5",
            f"`{trial_record.command}`",
        ],
        ["20,000", "97.50", "97.50", "97.50", "", "no", "98.25 (1,442 labels)", "1,280 steps", "0", "1.5", "`c`"],
    ]


def test_several_seeds_share_a_row(tmp_path: Path, trial_record: AnswersRecord) -> None:
    for seed, accuracy in enumerate((96.0, 97.0, 98.0)):
        seconds = 60.0 * (seed + 1)
        write(tmp_path, replace(trial_record, seed=seed, accuracy=accuracy, cpu_seconds=seconds, command=str(seed)))
    write(tmp_path, replace(trial_record, seed=3, unlabelled_kept=False, accuracy=97.0, cpu_seconds=120.0))
    (row,) = rows(answers_section(tmp_path))
    assert row[1:] == [
        "95.00 ± 0.00",
        "97.00 ± 0.82",
        "96.00",
        "",
        "3 of 4",
        "98.25 ± 0.00",
        "1,280 steps",
        "0, 1, 2, 3",
        "2.0",
        "`0`",
    ]


def test_a_trial_is_shown_with_the_classifiers_own_schedule_else_with_the_longest(
    tmp_path: Path, trial_record: AnswersRecord
) -> None:
    """Records that are older than the number of steps, the matching on the test set and the rivals are read as well."""
    older = {**asdict(trial_record), "epochs": 40, "accuracy": 50.0}
    for name in ("steps", "test_matched_accuracy", "rivals"):
        del older[name]
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "digits-1000answers-seed0-40ep.json").write_text(json.dumps(older))
    write(tmp_path, replace(trial_record, epochs=5, accuracy=60.0), replace(trial_record, epochs=5, seed=1))
    (row,) = rows(answers_section(tmp_path))
    assert (row[2], row[7], row[8]) == ("50.00", "2 x 40 epochs", "0")
    write(tmp_path, replace(trial_record, seed=2))
    (row,) = rows(answers_section(tmp_path))
    assert (row[2], row[7], row[8]) == ("97.50", "1,280 steps", "2")


def test_what_is_required_is_judged_by_the_mean(tmp_path: Path, trial_record: AnswersRecord) -> None:
    write(tmp_path, replace(trial_record, answers=500, accuracy=97.0))
    text = answers_section(tmp_path)
    assert rows(text)[0][4] == "97, reached"
    assert "\n- Not tried yet: 200 answers.\n" in text
    write(tmp_path, replace(trial_record, answers=500, accuracy=96.9, seed=1), replace(trial_record, answers=200))
    text = answers_section(tmp_path)
    assert [row[4] for row in rows(text)] == ["90, reached", "97, missed"]
    assert "Not tried yet" not in text


def test_rivals_stand_beside_the_classifier(tmp_path: Path, trial_record: AnswersRecord) -> None:
    photos = replace(
        trial_record,
        dataset="photos",
        network="default",
        twin_accuracy=None,
        twin_labels=0,
        rivals={"k-means": {"accuracy": 83.0, "train_accuracy": 84.0}, "labels": {"accuracy": 94.0}},
    )
    wrong = replace(photos, noise=0.05, accuracy=88.0, rate=0.048)
    write(tmp_path, photos, replace(photos, seed=1, rivals={"k-means": {"accuracy": 85.0}}), wrong)
    text = answers_section(tmp_path)
    plain, others, others_wrong, noisy = rows(text)
    assert plain[:7] == ["1,000", "95.00 ± 0.00", "97.50 ± 0.00", "97.50", "89, reached", "yes", ""]
    assert "| answers | wrong | PairClassifier | k-means, no answers | logistic regression, as many labels |\n" in text
    assert others == ["1,000", "0 %", "97.50 (97.50)", "84.00 (83.00)", "94.00 (94.00)"]
    assert others_wrong == ["1,000", "5 %", "88.00 (88.00)", "83.00 (83.00)", "94.00 (94.00)"]
    assert noisy[:10] == ["photos", "1,000", "5 %", "none set", "0.048", "95.00", "88.00", "88.00", "87, reached", ""]
    assert "- Not tried yet: 3,000 answers.\n- Not tried yet: 3,000 answers, 5 % of them wrong.\n" in text


def test_wrong_answers_have_a_table_with_the_models_gain(tmp_path: Path, trial_record: AnswersRecord) -> None:
    wrong = replace(trial_record, noise=0.2, accuracy=80.0)
    given = replace(wrong, model="given", accuracy=90.0, rate=0.2)
    write(
        tmp_path,
        trial_record,
        wrong,
        given,
        replace(given, seed=1, accuracy=100.0),  # without its like to compare with
        replace(given, model="learned", accuracy=78.5, rate=0.1875),
        replace(given, model="learned", noise=0.1),
        replace(trial_record, model="learned", accuracy=97.0),
    )
    table = [row for row in rows(answers_section(tmp_path)) if row[0] == "digits"]
    assert [row[1:10] for row in table] == [
        ["1,000", "0 %", "rate learned", "0.000", "95.00", "97.00", "97.00", "", "-0.50"],
        ["1,000", "10 %", "rate learned", "0.200", "95.00", "90.00", "90.00", "", ""],
        ["1,000", "20 %", "none set", "0.000", "95.00", "80.00", "80.00", "", ""],
        ["1,000", "20 %", "rate given", "0.200", "95.00 ± 0.00", "95.00 ± 7.07", "90.00", "", "+10.00"],
        ["1,000", "20 %", "rate learned", "0.188", "95.00", "78.50", "78.50", "", "-1.50"],
    ]
    assert len(rows(answers_section(tmp_path))) == len(table) + 1


def test_the_section_stands_in_the_page_with_its_notes(tmp_path: Path, trial_record: AnswersRecord) -> None:
    assert "`likewise paper answers` makes the records" in results_page(tmp_path)
    write(tmp_path, trial_record)
    (tmp_path / "answers" / "NOTES.md").write_text("\nWhy it was reached.\n")
    page = results_page(tmp_path)
    made = "Made on: A Processor, 2 threads, torch 2.13.0, likewise 0.1.0, float32."
    assert f"\n{made}\n\n### Notes\n\nWhy it was reached.\n\n## " in page
    assert page.index("## Table 1") < page.index("## From answers")


def test_figures_are_those_that_the_page_shows(tmp_path: Path, trial_record: AnswersRecord) -> None:
    write(
        tmp_path,
        trial_record,
        replace(trial_record, answers=500, noise=0.1),
    )
    assert answers_figures(tmp_path) == {}  # one place is no line
    assert "![" not in results_page(tmp_path)
    write(tmp_path, replace(trial_record, answers=500))
    figures = answers_figures(tmp_path)
    assert list(figures) == ["docs/answers-digits.svg"]
    assert "(docs/answers-digits.svg)" in results_page(tmp_path)
    assert figures == answers_figures(tmp_path)
    assert b"<svg" in figures["docs/answers-digits.svg"]


def test_figure_has_a_line_for_each_learner_and_a_band_for_the_seeds(trial_record: AnswersRecord) -> None:
    records = [
        trial_record,
        replace(trial_record, seed=1, accuracy=96.5),
        replace(trial_record, answers=200, first_accuracy=40.0, accuracy=50.0, twin_accuracy=90.0),
    ]
    assert len(answers_figure(records, "digits").axes[0].get_lines()) == 3
    records = [replace(record, rivals={"k-means": {"accuracy": 70.0}}) for record in records]
    (axes,) = answers_figure(records, "digits").axes
    lines = [line.get_xydata().tolist() for line in axes.get_lines()]
    expected = [[0.9, 0.9825], [0.5, 0.97], [0.4, 0.95], [0.7, 0.7]]
    expected = [[[200, few], [1000, many]] for few, many in expected]
    assert np.allclose(lines, expected)
    assert axes.get_xscale() == "log"
    assert axes.get_xticks().tolist() == [200, 1000]
    band = axes.collections[1].get_paths()[0].vertices
    assert sorted({round(y, 4) for x, y in band if x == 1000}) == [0.965, 0.975]
    assert len({matplotlib.colors.to_hex(line.get_color()) for line in axes.get_lines()}) == 4
    assert len({line.get_marker() for line in axes.get_lines()}) == 4
