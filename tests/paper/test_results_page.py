"""RESULTS.md: the rows and their order, several seeds, the notes, and the same bytes for the same records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from likewise.paper.records import write_record
from likewise.paper.results_page import results_page
from likewise.paper.table1 import Table1Record


def rows(page: str) -> list[list[str]]:
    lines = [line for line in page.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_a_row_says_everything(tmp_path: Path, example: Table1Record, another: Table1Record) -> None:
    for record in (another, example):
        write_record(tmp_path, record)
    table = rows(results_page(tmp_path))
    assert [row[:-1] for row in table] == [
        ["mnist", "lenet", "MCL", "0.6", "0.64", "+0.04", "30 epochs", "0", "12.5"],
        ["cifar10", "vgg16", "KCL (pretrain)", "10.3", "9.88", "-0.42", "8 of 140 epochs", "0", "12.5"],
    ]
    assert [row[-1] for row in table] == [f"`{example.command}`", f"`{another.command}`"]


def test_rows_are_in_the_order_of_the_papers_table(tmp_path: Path, example: Table1Record) -> None:
    wanted = [
        ("mnist", "lenet", "ce", "none", 30),
        ("mnist", "lenet", "kcl", "none", 30),
        ("mnist", "lenet", "mcl", "none", 30),
        ("mnist", "lenet", "mcl", "none", 3),
        ("cifar10", "lenet", "ce", "none", 8),
        ("cifar10", "vgg8", "ce", "none", 8),
        ("cifar10", "vgg16", "kcl", "none", 8),
        ("cifar10", "vgg16", "kcl", "long", 8),
        ("cifar10", "vgg16", "kcl", "pretrain", 8),
        ("cifar10", "vgg16", "mcl", "none", 8),
        ("cifar10", "resnet101", "ce", "none", 8),
        ("cifar100", "vgg8", "ce", "none", 8),
    ]
    for dataset, network, criterion, treatment, epochs in reversed(wanted):
        record = replace(example, dataset=dataset, network=network, criterion=criterion, treatment=treatment)
        write_record(
            tmp_path, replace(record, epochs=epochs, command=f"{(dataset, network, criterion, treatment, epochs)}")
        )
    assert [row[-1] for row in rows(results_page(tmp_path))] == [f"`{entry}`" for entry in wanted]


def test_several_seeds_end_in_their_mean_and_deviation(tmp_path: Path, example: Table1Record) -> None:
    for seed, error in enumerate((0.5, 0.7, 0.9)):
        write_record(tmp_path, replace(example, seed=seed, error=error))
    write_record(tmp_path, replace(example, epochs=3, error=5.0))  # another schedule is no part of the mean
    table = rows(results_page(tmp_path))
    assert [row[4] for row in table] == ["0.50", "0.70", "0.90", "0.70 ± 0.20", "5.00"]
    assert table[3][5:] == ["+0.10", "30 epochs", "mean of 0, 1, 2", "", ""]


def test_notes_stand_under_the_table(tmp_path: Path, example: Table1Record) -> None:
    write_record(tmp_path, example)
    without = results_page(tmp_path)
    (tmp_path / "table1" / "NOTES.md").write_text("\nWhy it missed.\n\n")
    page = results_page(tmp_path)
    assert page == without.replace("\n## An MCL that", "\n### Notes\n\nWhy it missed.\n\n## An MCL that")
    assert page != without


def test_same_records_same_bytes(tmp_path: Path, example: Table1Record, another: Table1Record) -> None:
    for folder, order in (("a", (example, another)), ("b", (another, example))):
        for record in order:
            write_record(tmp_path / folder, record)
    assert results_page(tmp_path / "a") == results_page(tmp_path / "b")


def test_without_records_the_page_says_how_to_make_them(tmp_path: Path) -> None:
    page = results_page(tmp_path)
    assert rows(page) == []
    assert "No run is recorded yet" in page
