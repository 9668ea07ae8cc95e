"""Running Table 2: the figures of an alphabet and their means, both recipes by the command, resuming, and the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from likewise.cli.paper import app
from likewise.datasets import Items, load_omniglot
from likewise.errors import InputError
from likewise.evaluation import PairQuality, nmi
from likewise.paper import transfer, transfer_entries, transfer_methods
from likewise.paper.records import read_record, write_record
from likewise.paper.transfer import TransferRecord, run_transfer_entries, table2_section
from likewise.paper.transfer_entries import VALIDATION, TransferEntry, transfer_recipes
from likewise.paper.transfer_methods import Found, Task, all_characters
from likewise.storage.records import as_json

SHORT = ("--epochs", "1", "--similarity-epochs", "1")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recipes with a smaller network, and no more outputs than these alphabets have items."""
    recipes = [
        replace(recipe, network="lenet", similarity_network="lenet", similarity_hidden=8)
        for recipe in transfer_recipes()
    ]
    monkeypatch.setattr(transfer_entries, "transfer_recipes", lambda *_: recipes)
    monkeypatch.setattr(transfer_methods, "MOST_OUTPUTS", 9)


def run(data: Path, place: Path, command: str, *options: str) -> Any:
    folders = ["--data", str(data), "--runs", str(place / "runs"), "--results", str(place / "results")]
    return CliRunner().invoke(app, [command, *options, *folders])


def quality(recall: float, precision: float = 0.5) -> PairQuality:
    return PairQuality(9, 9, precision, recall, 0.25, 1.0, 0.1)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """In place of learning: outputs that are known, for the two alphabets of the evaluation; gives what was looked at.

    Angelic: output 4 is the first character, 2 the second and most of the third. Tengwar: all is right.
    """
    looked: list[str] = []

    def find(entry: TransferEntry, learned: Any, task: Task, name: str, run: Path) -> Found:
        looked.append(run.name)
        assert run.name == name
        if name == "Tengwar":
            return Found(task.piles[name].labels.numpy(), 9, 9, quality(0.75))
        outputs = np.array([4] * 8 + [2] * 8 + [2] * 5 + [0] * 3)
        return Found(outputs, 9, 2, quality(0.5, float("nan")))

    def learn(entry: TransferEntry, task: Task, run: Path, backbone: Path | None) -> str:
        labels = task.known.labels
        run.mkdir(parents=True, exist_ok=True)
        (run / "metrics.json").write_text(json.dumps({"cpu_seconds": 1234.0}))
        looked.append(f"{len(labels)} drawings of {len(labels.unique())}")
        return "similarity"

    monkeypatch.setattr(transfer, "find", find)
    monkeypatch.setattr(transfer, "learn_known", learn)
    return looked


BEST, PAPER = transfer_recipes()


def test_figures_are_means_over_the_alphabets(few_alphabets: Path, tmp_path: Path, found: list[str]) -> None:
    entries = [TransferEntry(PAPER, "mcl", "100"), TransferEntry(PAPER, "kcl", "100", seed=2)]
    places = {"data": few_alphabets, "runs": tmp_path / "runs", "results": tmp_path / "results"}
    (record, path, ran), second = run_transfer_entries(entries, **places)
    assert ran
    assert path == tmp_path / "results" / "table2" / "paper-mcl-100-seed0.json"
    assert asdict(read_record(path, TransferRecord)) == as_json(asdict(record))
    counts = np.array([[0, 0, 3], [0, 8, 5], [8, 0, 0]])  # outputs 0, 2 and 4; 1 and 3 are empty
    assert record.acc == pytest.approx((100 * (8 + 8 + 3) / 24 + 100) / 2, abs=1e-3)
    assert record.nmi == pytest.approx((nmi(counts) + 1) / 2, abs=1e-4)
    assert record.difference == pytest.approx((abs(2 - 3) + abs(9 - 4)) / 2)
    expected = {"same_precision": 0.5, "same_recall": 0.625, "different_precision": 0.25, "different_recall": 1.0}
    assert record.quality == expected  # of Angelic nothing was said to be the same: no precision
    first, other = record.piles
    assert (first["pile"], first["items"], first["true_classes"], first["n_classes"]) == ("Angelic", 24, 3, 2)
    assert (other["pile"], other["items"], other["true_classes"], other["acc"]) == ("Tengwar", 32, 4, 100.0)
    assert record.similarity_cpu_seconds == 1234.0  # also what was spent before it was stopped
    assert record.paper == {"acc": 83.3, "acc_100": 80.2, "nmi": 0.897, "nmi_100": 0.893, "difference": 5.1}
    assert record.command == entries[0].command
    assert found == ["136 drawings of 22", "Angelic", "Tengwar"] * 2  # another seed, another similarity
    assert second[0].seed == 2


def test_an_entry_that_was_cut_goes_on_with_the_next_alphabet(
    few_alphabets: Path, tmp_path: Path, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [TransferEntry(BEST, "mcl", "true")]
    places = {"data": few_alphabets, "runs": tmp_path / "runs", "results": tmp_path / "results"}
    whole = next(run_transfer_entries(entries, **places | {"runs": tmp_path / "a", "results": tmp_path / "b"}))[0]
    found.clear()
    find: Callable[..., Found] = transfer.find

    def cut(*arguments: Any) -> Found:
        if arguments[-1].name == "Tengwar":
            raise KeyboardInterrupt
        return find(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(transfer, "find", cut)
        with pytest.raises(KeyboardInterrupt):
            next(run_transfer_entries(entries, **places))
    assert not (tmp_path / "results").exists()
    record, path, _ = next(run_transfer_entries(entries, **places))
    assert found == ["136 drawings of 22", "Angelic", "136 drawings of 22", "Tengwar"]
    same = ("acc", "nmi", "difference", "quality", "settings", "name")
    assert [getattr(record, name) for name in same] == [getattr(whole, name) for name in same]

    written = path.read_bytes()
    monkeypatch.setattr(transfer, "transfer_task", lambda *_: pytest.fail("not even the data are needed"))
    again, _, ran = next(run_transfer_entries(entries, **places))
    assert not ran
    assert asdict(again) == as_json(asdict(record))
    assert path.read_bytes() == written


def test_choices_are_made_on_alphabets_whose_characters_are_not_learned(
    few_alphabets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: list[str]
) -> None:
    def find(entry: TransferEntry, learned: Any, task: Task, name: str, run: Path) -> Found:
        found.append(name)
        return Found(task.piles[name].labels.numpy(), 2, 2, quality(1.0))

    monkeypatch.setattr(transfer, "find", find)
    places = {"data": few_alphabets, "runs": tmp_path / "runs", "results": tmp_path / "results"}
    record, path, _ = next(run_transfer_entries([TransferEntry(BEST, "spectral", "true", "validation")], **places))
    assert found == ["96 drawings of 12", *VALIDATION]
    assert (record.part, record.acc, path.stem) == ("validation", 100.0, "best-spectral-true-validation-seed0")
    background = load_omniglot("background", few_alphabets)
    del background["Latin"]
    monkeypatch.setattr(transfer_methods, "load_omniglot", lambda *_: background)
    with pytest.raises(InputError, match=r"^Omniglot's background lacks Latin; delete it and run"):
        transfer_methods.omniglot("validation", few_alphabets)


def test_what_each_recipe_is_said_to_have_done() -> None:
    settings = transfer.beyond_settings(TransferEntry(PAPER, "mcl", "true", epochs=5))
    assert settings["similarity"]["batch_size"] == 100  # type: ignore[index]
    assert (settings["training"]["epochs"], settings["training"]["batch_size"]) == (5, 100)  # type: ignore[index]
    settings = transfer.beyond_settings(TransferEntry(BEST, "mcl", "true", seed=4))  # the estimators know the rest
    assert (settings["similarity"], settings["training"]) == (
        {"epochs": 15, "precision": "auto", "seed": 4},
        {"epochs": 10, "precision": "auto", "seed": 4},
    )
    assert settings["augmentation"]["shear"] == 15  # type: ignore[index]


def test_each_character_is_a_class_of_its_own() -> None:
    def items(*labels: int) -> Items:
        names = tuple(str(k) for k in range(max(labels) + 1))
        return Items(torch.tensor(labels).view(-1, 1, 1, 1), torch.tensor(labels), names)

    known = all_characters({"a": items(0, 1, 1), "b": items(2, 0, 1), "c": items(0)})
    assert known.labels.tolist() == [0, 1, 1, 4, 2, 3, 5]
    assert known.inputs.flatten().tolist() == [0, 1, 1, 2, 0, 1, 0]
    assert known.class_names == ("a/0", "a/1", "b/0", "b/1", "b/2", "c/0")


@pytest.mark.usefixtures("small")
def test_commands_records_and_page(few_alphabets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run(few_alphabets, tmp_path, "table2", "--recipe", "best", "--classes", "true", *SHORT)
    assert ran.exception is None, ran.output
    opening = "Table 2, 2 entries:\n  best-mcl-true-seed0-1ep-1spn\n  best-spectral-true-seed0-1ep-1spn\n"
    assert ran.output.startswith(opening)
    assert "\n  Angelic: ACC " in ran.output
    results = tmp_path / "results" / "table2"
    records = [read_record(path, TransferRecord) for path in sorted(results.glob("*.json"))]
    assert [record.name for record in records] == ["best-mcl-true-seed0-1ep-1spn", "best-spectral-true-seed0-1ep-1spn"]
    for record in records:
        assert [row["true_classes"] for row in record.piles] == [3, 4]
        assert all(2 <= row["n_classes"] <= row["true_classes"] for row in record.piles)
        assert record.acc == pytest.approx(np.mean([row["acc"] for row in record.piles]), abs=1e-3)
        assert f"{record.name}.json: ACC {record.acc:.1f} %" in ran.output
    runs = tmp_path / "runs" / "table2"
    assert (runs / "best-similarity-evaluation-seed0-1spn" / "cost.json").exists()
    assert {path.name for path in (runs / records[0].name / "Angelic").iterdir()} == {"round1", "round2"}

    count = run(few_alphabets, tmp_path, "table5", "--recipe", "paper", *SHORT)
    assert count.exception is None, count.output
    names = [f"paper-{method}-100-seed0-1ep-1spn" for method in ("mcl", "kcl", "skms")]
    assert count.output.startswith("\n  ".join(["Table 5, 3 entries:", *names]) + "\n")
    for name in names:
        assert "difference" in read_record(results / f"{name}.json", TransferRecord).paper

    more = run(few_alphabets, tmp_path, "table2", "--recipe", "paper", "--method", "k-means", *SHORT)
    assert more.exception is None, more.output
    assert len(list(results.glob("paper-*.json"))) == 3 + 2

    show = ["show", "--results", str(tmp_path / "results"), "--out", str(tmp_path / "RESULTS.md")]
    assert CliRunner().invoke(app, show).exit_code == 0
    page = (tmp_path / "RESULTS.md").read_text()
    assert all(f"`{record.command}`" in page for record in records)
    assert "### The number of characters, not knowing it" in page
    assert CliRunner().invoke(app, [*show, "--check"]).exit_code == 0

    monkeypatch.setattr(torch.optim.Adam, "step", lambda *_: pytest.fail("trained again"))
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda *_: pytest.fail("trained again"))
    written = {path.name: path.read_bytes() for path in results.iterdir()}
    for name in ("best-mcl-true", "paper-kcl-100"):
        (results / f"{name}-seed0-1ep-1spn.json").unlink()
    again = run(few_alphabets, tmp_path, "table5", "--recipe", "paper", *SHORT)
    assert again.output.count("there already; ACC ") == 2
    assert run(few_alphabets, tmp_path, "table2", "--recipe", "best", "--classes", "true", *SHORT).exception is None
    assert {path.name: path.read_bytes() for path in results.iterdir()} == written  # times too: those of the run


BEST_SHOWN, PAPER_SHOWN = transfer_recipes()


def record(recipe: str = "best", method: str = "mcl", classes: str = "true", **changes: object) -> TransferRecord:
    chosen = BEST_SHOWN if recipe == "best" else PAPER_SHOWN
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
    validation = TransferEntry(BEST_SHOWN, "mcl", "true", "validation")
    short = TransferEntry(BEST_SHOWN, "mcl", "true", epochs=2)
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
    second = TransferEntry(PAPER_SHOWN, "kcl", "100", seed=1, epochs=9)
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
