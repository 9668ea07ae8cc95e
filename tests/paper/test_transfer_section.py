"""The section on alphabets without labels: rows, aims, the similarity, and Table 5, from records alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from likewise.paper.records import write_record
from likewise.paper.transfer import TransferRecord
from likewise.paper.transfer_entries import TransferEntry, transfer_recipes
from likewise.paper.transfer_section import table2_section

BEST, PAPER = transfer_recipes()


def record(recipe: str = "best", method: str = "mcl", classes: str = "true", **changes: object) -> TransferRecord:
    chosen = BEST if recipe == "best" else PAPER
    entry = TransferEntry(chosen, method, classes)
    made = TransferRecord(
        table="table2",
        name=entry.name,
        recipe=recipe,
        method=method,
        classes=classes,
        part="evaluation",
        seed=0,
        settings={"network": "conv4"},
        paper=dict(chosen.expect.get(method, {})),
        acc=91.25,
        nmi=0.9444,
        difference=3.5,
        quality={"same_precision": 0.81, "same_recall": 0.7, "different_precision": None, "different_recall": 0.99},
        piles=[
            {"pile": "Angelic", "true_classes": 20, "n_classes": 22, "acc": 95.25},
            {"pile": "Tengwar", "true_classes": 25, "n_classes": 20, "acc": 87.25},
        ],
        similarity_cpu_seconds=1800.0,
        cpu_seconds=90.0,
        command=f"run {entry.name}",
        likewise="0.1.0",
        torch="2.13.0",
        cpu="A Processor",
        threads=1,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def section(results: Path, *records: TransferRecord) -> str:
    for one in records:
        write_record(results, one)
    return table2_section(results)


def test_without_records(tmp_path: Path) -> None:
    assert "No run is recorded yet: `likewise paper table2` makes the records." in table2_section(tmp_path)


def test_rows_with_the_papers_figures_beside_ours(tmp_path: Path) -> None:
    text = section(tmp_path, record(), record(classes="100", acc=88.0))
    known = "| best | mcl | K = C | 91.2 | 83.3 | 0.944 | 0.897 |  |  | 1.5 | `run best-mcl-true-seed0` |"
    unknown = "| best | mcl | unknown | 88.0 | 80.2 | 0.944 | 0.893 | 3.50 | 5.10 | 1.5 | `run best-mcl-100-seed0` |"
    assert f"{known}\n{unknown}\n" in text
    quality = "same precision 0.810, same recall 0.700, different recall 0.990"
    assert (
        f"- Similarity of `best` on what it had not seen (evaluation): {quality}; learned in 30.0 core-minutes.\n"
        in text
    )
    assert "Made on: A Processor, 1 thread, torch 2.13.0, likewise 0.1.0.\n" in text
    assert "None" not in text


def test_a_method_that_the_paper_does_not_have(tmp_path: Path) -> None:
    text = section(tmp_path, record(method="spectral", classes="100"))
    assert "| best | spectral | unknown | 91.2 |  | 0.944 |  | 3.50 |  | 1.5 | `run best-spectral-100-seed0` |" in text
    assert "### The number of characters" not in text


@pytest.mark.parametrize(
    ("acc", "acc_100", "difference", "words"),
    [(91.0, 89.0, 3.99, ("reached", "reached", "reached")), (90.99, 88.99, 4.0, ("missed", "missed", "missed"))],
)
def test_aims(tmp_path: Path, acc: float, acc_100: float, difference: float, words: tuple[str, ...]) -> None:
    assert "- Aim of `best`: count below 4: not tried yet.\n" in section(tmp_path, record("paper"))
    text = section(tmp_path, record(acc=acc), record(classes="100", acc=acc_100, difference=difference))
    assert f"- Aim of `best`: ACC with K = C at least 91: {words[0]}, {acc:.2f}.\n" in text
    assert f"- Aim of `best`: ACC where K is unknown at least 89: {words[1]}, {acc_100:.2f}.\n" in text
    assert f"- Aim of `best`: count below 4: {words[2]}, {difference:.2f}.\n" in text


def test_aims_are_of_whole_runs_on_the_evaluation_alphabets(tmp_path: Path) -> None:
    validation = TransferEntry(BEST, "mcl", "true", "validation")
    short = TransferEntry(BEST, "mcl", "true", epochs=2)
    text = section(
        tmp_path,
        record(name=validation.name, part="validation", acc=95.0),
        record(name=short.name, acc=94.0),
        record(method="spectral", acc=93.0),
    )
    assert "- Aim of `best`: ACC with K = C at least 91: not tried yet.\n" in text
    assert "| best, validation | mcl | K = C | 95.0 |" in text
    assert text.index("| 94.0 |") < text.index("| 95.0 |")  # evaluation first
    assert "- Similarity of `best` on what it had not seen (validation): " in text


def test_order_of_the_rows(tmp_path: Path) -> None:
    text = section(
        tmp_path,
        record("paper", "mcl"),
        record("paper", "kcl", "100"),
        record("paper", "kcl"),
        record("paper", "csp"),
        record(),
    )
    rows = [line.split(" | ")[:3] for line in text.splitlines() if line.endswith("` |")]
    assert rows == [
        ["| best", "mcl", "K = C"],
        ["| paper", "csp", "K = C"],
        ["| paper", "kcl", "K = C"],
        ["| paper", "kcl", "unknown"],
        ["| paper", "mcl", "K = C"],
    ]


def test_the_number_of_characters_in_each_alphabet(tmp_path: Path) -> None:
    counted = [
        {"pile": "Angelic", "true_classes": 20, "n_classes": 31, "acc": 61.0},
        {"pile": "Tengwar", "true_classes": 25, "n_classes": 25, "acc": 80.0},
    ]
    second = TransferEntry(PAPER, "kcl", "100", seed=1, epochs=9)
    text = section(
        tmp_path,
        record(classes="100"),
        record("paper", "kcl", "100", piles=counted, difference=5.5),
        record("paper", "kcl", "100", name=second.name, seed=1, difference=6.0),
        record("paper", "csp", "100"),  # not in Table 5
        record("paper", "mcl"),  # told the number
        record(name="best-mcl-100-validation-seed0", classes="100", part="validation"),
    )
    table = """\
### The number of characters, not knowing it

| alphabet | characters | mcl (best) | kcl (paper) | kcl (paper, seed1, 9 epochs) |
| --- | --: | --: | --: | --: |
| Angelic | 20 | 22 | 31 | 22 |
| Tengwar | 25 | 20 | 25 | 20 |
| mean difference |  | 3.50 | 5.50 | 6.00 |
| the paper's |  | 5.10 | 6.35 | 6.35 |
"""
    assert table in text


def test_acc_in_each_alphabet(tmp_path: Path) -> None:
    text = section(
        tmp_path,
        record(),
        record("paper", "kcl", "100"),
        record("paper", "csp"),  # one of many: in its record
        record(name="best-mcl-true-validation-seed0", part="validation"),
    )
    table = """\
### ACC in each alphabet

| alphabet | characters | mcl (best), K = C | kcl (paper), unknown |
| --- | --: | --: | --: |
| Angelic | 20 | 95.2 | 95.2 |
| Tengwar | 25 | 87.2 | 87.2 |
"""
    assert table in text


def test_notes_stand_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "table2").mkdir()
    (tmp_path / "table2" / "NOTES.md").write_text("Why it missed.\n")
    assert section(tmp_path, record()).endswith("### Notes\n\nWhy it missed.\n")
