"""Running Table 4: what is drawn, learned and measured, what is recorded, and what is not run again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from likewise.cli.paper import app
from likewise.datasets import DataSet, Items, load
from likewise.errors import InputError
from likewise.paper import table4, table4_entries
from likewise.paper.records import read_record, write_record
from likewise.paper.table4 import SemiRecord, draw_labels, table4_section
from likewise.paper.table4_entries import semi_recipes
from likewise.training import predict_logits


@pytest.fixture(scope="module")
def data() -> DataSet:
    """Some of the digits."""
    digits = load("digits")
    return replace(digits, train=digits.train.subset(torch.arange(160)), test=digits.test.subset(torch.arange(60)))


@pytest.fixture(autouse=True)
def few(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches and short schedules."""
    small = [
        replace(
            recipe,
            splits=2,
            supervised=replace(recipe.supervised, epochs=2, drops=(1,), batch_size=20),
            training=replace(recipe.training, epochs=2, drops=(1,), batch_size=20),
        )
        for recipe in semi_recipes()
    ]
    monkeypatch.setattr(table4_entries, "semi_recipes", lambda: small)
    monkeypatch.setattr(table4, "load", lambda name, folder: data)


def run(place: Path, *options: str):  # type: ignore[no-untyped-def]
    folders = ["--runs", str(place / "runs"), "--results", str(place / "results")]
    return CliRunner().invoke(app, ["table4", "--dataset", "digits", *options, *folders])


def test_command_records_and_page(tmp_path: Path, data: DataSet) -> None:
    ran = run(tmp_path, "--split", "1", "--method", "pseudo-mcl")
    assert ran.exception is None, ran.output
    assert ran.output.startswith("Table 4, 1 entry:\n  digits-lenet-50labels-pseudo-mcl-split1-2ep\n")
    path = tmp_path / "results" / "table4" / "digits-lenet-50labels-pseudo-mcl-split1-2ep.json"
    record = read_record(path, SemiRecord)
    assert record.name == path.stem
    assert record.command == "likewise paper table4 --dataset digits --network lenet --method pseudo-mcl --split 1"
    assert (record.labels, record.split, record.epochs, record.supervised_epochs) == (50, 1, 2, 2)
    assert record.paper_error is None
    assert record.settings["alpha"] == pytest.approx(50 / 210)
    assert record.settings["beta"] == pytest.approx(160 / 210)
    assert record.settings["augmentation"]["degrees"] == 10  # type: ignore[index]
    folder = tmp_path / "runs" / "table4" / "digits-lenet-50labels-split1-2ep"
    spent = [json.loads((folder / stage / "metrics.json").read_text()) for stage in ("supervised", "pseudo-mcl")]
    assert record.cpu_seconds == pytest.approx(sum(stage["cpu_seconds"] for stage in spent), abs=0.11)
    assert record.supervised_cpu_seconds == pytest.approx(spent[0]["cpu_seconds"], abs=0.06)
    assert record.error == pytest.approx(100 - 100 * spent[1]["test_accuracy"], abs=1e-3)
    assert record.supervised_error == pytest.approx(100 - 100 * spent[0]["test_accuracy"], abs=1e-3)

    show = ["show", "--results", str(tmp_path / "results"), "--out", str(tmp_path / "RESULTS.md")]
    assert CliRunner().invoke(app, show).exit_code == 0
    assert f"`{record.command}`" in (tmp_path / "RESULTS.md").read_text()
    assert CliRunner().invoke(app, [*show, "--check"]).exit_code == 0


def test_what_has_a_record_is_skipped_and_what_was_run_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(tmp_path, "--split", "0", "--method", "pi-model").exception is None
    path = tmp_path / "results" / "table4" / "digits-lenet-50labels-pi-model-split0-2ep.json"
    written = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(table4, "load", None)  # not even the data are needed
        assert "there already" in run(tmp_path, "--split", "0", "--method", "pi-model").output

    def step(*_: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(torch.optim.Adam, "step", step)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 99)
    path.unlink()
    assert run(tmp_path, "--split", "0", "--method", "pi-model").exception is None
    assert path.read_bytes() == written  # times and machine too: they are those of the run
    assert run(tmp_path, "--split", "0", "--method", "supervised").exception is None  # it is the first stage of both


def test_the_error_is_that_of_outputs_as_they_are_numbered(data: DataSet, tmp_path: Path) -> None:
    (entry,) = table4_entries.select_semi(table4_entries.semi_recipes(), dataset="digits", method="supervised", split=0)
    labels = draw_labels(data.train, 50, 0)
    network = table4.learn(entry, data, labels, None).network
    said = predict_logits(network, data.test.inputs, mean=data.mean, std=data.std).argmax(1)
    right = float((said == data.test.labels).float().mean())
    assert table4.percent_wrong(network, data) == pytest.approx(100 - 100 * right, abs=1e-3)
    assert right > 0.3


def test_labels_are_random_and_every_class_has_one(data: DataSet) -> None:
    for n in (10, 50):
        labels = draw_labels(data.train, n, 0)
        known = labels >= 0
        assert int(known.sum()) == n
        assert torch.equal(labels[known], data.train.labels[known])
        assert len(labels[known].unique()) == 10
    drawn = [draw_labels(data.train, 50, split) for split in (0, 0, 1)]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    with pytest.raises(InputError, match="a label for each class and no more than items, 10 to 160, got 9"):
        draw_labels(data.train, 9, 0)
    two = Items(torch.zeros(3, 1), torch.tensor([0, 1, 1]), ("a", "b"))
    with pytest.raises(InputError, match="2 to 3, got 4"):
        draw_labels(two, 4, 0)


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
