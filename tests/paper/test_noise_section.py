"""The section on fallible answers: the ablation, the verdicts, rivals, and how often intervals hold the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from likewise.paper.answers_trials import AnswersRecord
from likewise.paper.noise_section import noise_section
from likewise.paper.records import write_record
from likewise.paper.results_page import results_page


def rows(text: str) -> list[list[str]]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [line for line in lines if not line[0].startswith("--")]


def test_ablation_rivals_and_verdicts(tmp_path: Path, trial_record: AnswersRecord) -> None:
    assert "`likewise paper noise` makes the records" in results_page(tmp_path)
    ours = replace(
        trial_record,
        table="noise",
        answers=5000,
        noise=0.1,
        accuracy=99.0,
        wrong_auroc=0.98,
        rivals={"k-means": {"accuracy": 80.0}, "all-labels": {"accuracy": 97.0}},
        command="the command",
    )
    write_record(tmp_path, ours)
    write_record(tmp_path, replace(ours, seed=1, accuracy=98.0, wrong_auroc=0.99))
    write_record(tmp_path, replace(ours, model="law", accuracy=66.0, wrong_auroc=None, rivals={}))
    write_record(tmp_path, replace(ours, answers=3000, noise=0.0, panel="one-random", accuracy=96.0, wrong_auroc=None))
    text = noise_section(tmp_path)
    header, first, panel, others, *rest = rows(text)
    assert header[1:5] == ["answers are law", "one rate learned", "rates of each annotator", "nothing set"]
    assert first == [
        "5,000, 10 % wrong",
        "66.00 [66.00]",
        "",
        "",
        "98.50 ± 0.71 [98.00]",
        "98.5, reached",
        "99.2, missed",
        "0.9850 [0.9800]",
        "1 or 2",
        "`the command`",
    ]
    assert panel[0] == "3,000, panel one-random"
    assert panel[5:8] == ["97, missed", "99, missed", ""]
    assert others[1:] == [
        "PairClassifier",
        "k-means, no answers",
        "PCK-means",
        "Agglomeration",
        "logistic regression, all labels",
    ]
    assert rest[0] == [
        "5,000, 10 % wrong",
        "98.50 ± 0.71 [98.00]",
        "80.00 ± 0.00 [80.00]",
        "",
        "",
        "97.00 ± 0.00 [97.00]",
    ]
    assert "- Not tried yet: 1,000, 5 % wrong.\n" in text
    assert "### photos" not in text
    assert "## Fallible answers" in results_page(tmp_path)


def test_coverage_counts_the_intervals_that_hold_the_truth(tmp_path: Path, trial_record: AnswersRecord) -> None:
    for seed in range(50):
        inside = seed >= 5
        rates = {
            "ann": {
                "false different": [0.05, 0.06, 0.02 if inside else 0.06, 0.1],
                "false same": [0.02, 0.02, 0.01, 0.02],
            }
        }
        write_record(
            tmp_path,
            replace(trial_record, table="noise", answers=4000, panel="unequal", seed=seed, rates=rates, command="c"),
        )
    text = noise_section(tmp_path)
    _, *judged = rows(text)
    assert judged == [
        ["ann", "false different", "0.050", "0.060", "0.076", "90 %"],
        ["ann", "false same", "0.020", "0.020", "0.010", "100 %"],
    ]
    assert "Panel unequal, 4,000 answers: 95.0 % of 100 intervals of 50 draws hold the truth" in text
    assert "(required 85, reached; aim 93, reached). `c`" in text


def test_clean_answers_are_held_to_answers_as_law(tmp_path: Path, trial_record: AnswersRecord) -> None:
    ours = replace(trial_record, table="noise", answers=1000, noise=0.0, accuracy=98.0, wrong_auroc=None)
    write_record(tmp_path, ours)
    assert rows(noise_section(tmp_path))[1][5] == ""
    write_record(tmp_path, replace(ours, model="law", accuracy=98.4))
    row = rows(noise_section(tmp_path))[1]
    assert row[0] == "1,000, none wrong"
    assert row[5:8] == ["98.1, missed", "", ""]
