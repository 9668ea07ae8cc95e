"""The section on a few labels: rows, means, gains and aims, from records alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from likewise.paper.records import write_record
from likewise.paper.table4 import SemiRecord
from likewise.paper.table4_section import table4_section


@pytest.fixture
def record() -> SemiRecord:
    return SemiRecord(
        table="table4",
        dataset="cifar10",
        network="lenet",
        labels=4000,
        method="supervised",
        split=0,
        epochs=8,
        recipe_epochs=8,
        supervised_epochs=60,
        settings={"precision": "float32"},
        paper_error=25.4,
        error=40.0,
        supervised_error=40.0,
        fewest=380,
        seconds=300.0,
        cpu_seconds=300.0,
        supervised_cpu_seconds=300.0,
        command="run supervised",
        likewise="0.1.0",
        torch="2.13.0",
        cpu="A Processor",
        threads=1,
    )


def method(record: SemiRecord, name: str, error: float, **changes: object) -> SemiRecord:
    told = {"method": name, "error": error, "cpu_seconds": 1500.0, "paper_error": None, "command": f"run {name}"}
    return replace(record, **(told | changes))  # type: ignore[arg-type]


def section(folder: Path, *records: SemiRecord) -> str:
    for each in records:
        write_record(folder, each)
    return table4_section(folder)


def test_nothing_yet(tmp_path: Path) -> None:
    assert "No run is recorded yet: `likewise paper table4` makes the records." in table4_section(tmp_path)


def test_a_row_for_each_method_in_the_papers_order(tmp_path: Path, record: SemiRecord) -> None:
    text = section(tmp_path, method(record, "pseudo-mcl", 34.5, paper_error=18.0), record, method(record, "vat", 36.0))
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert "### cifar10, lenet, 4,000 labels\n" in text
    assert rows == [
        "| supervised | 25.4 | 40.00 |  | 60 epochs | 0 | 5.0 | 5.0 | `run supervised` |",
        "| vat |  | 36.00 | +4.00 | 60 + 8 epochs | 0 | 25.0 | 20.0 | `run vat` |",
        "| pseudo-mcl | 18.0 | 34.50 | +5.50 | 60 + 8 epochs | 0 | 25.0 | 20.0 | `run pseudo-mcl` |",
    ]
    assert "- Aim: pseudo-mcl at least 5 points below supervised: reached, 5.50 points below.\n" in text
    assert "- Aim: pseudo-mcl below vat, or at most 0.5 points above: reached, 1.50 points below.\n" in text
    assert "- Aim: pseudo-mcl+ below pseudo-mcl: not tried yet.\n" in text
    assert "Made on: A Processor, 1 thread" in text


@pytest.mark.parametrize(
    ("error", "plus", "verdicts"),
    [
        (35.01, 35.01, ["missed, 4.99 points below", "missed, 0.51 points above", "missed, 0.00 points below"]),
        (35.0, 34.99, ["reached, 5.00 points below", "reached, 0.50 points above", "reached, 0.01 points below"]),
    ],
)
def test_aims(tmp_path: Path, record: SemiRecord, error: float, plus: float, verdicts: list[str]) -> None:
    text = section(
        tmp_path,
        record,
        method(record, "vat", 34.5),
        method(record, "pseudo-mcl", error),
        method(record, "pseudo-mcl+", plus),
    )
    assert [
        line.partition(": ")[2].partition(": ")[2].rstrip(".") for line in text.splitlines() if "Aim" in line
    ] == verdicts


def test_splits_become_a_mean_and_a_deviation(tmp_path: Path, record: SemiRecord) -> None:
    first, second = (method(record, "pi-model", error, split=split) for split, error in ((0, 36.0), (1, 39.0)))
    text = section(tmp_path, first, replace(second, supervised_error=42.0))
    assert "| pi-model |  | 37.50 ± 2.12 | +3.50 | 60 + 8 epochs | 0, 1 |" in text


def test_a_compressed_schedule_is_a_table_of_its_own_without_aims(tmp_path: Path, record: SemiRecord) -> None:
    short = replace(record, epochs=2, supervised_epochs=15)
    text = section(tmp_path, record, short)
    assert text.index("### cifar10, lenet, 4,000 labels\n") < text.index(
        "### cifar10, lenet, 4,000 labels, 2 of 8 epochs\n"
    )
    assert text.count("- Aim: ") == 3
    (tmp_path / "table4" / "NOTES.md").write_text("By hand.")
    assert table4_section(tmp_path).endswith("### Notes\n\nBy hand.\n")
