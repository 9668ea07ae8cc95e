"""The ablation: every option learns and is recorded, a run resumes, a record is not made twice, and the section."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from likewise.criteria import mcl
from likewise.datasets import DataSet, Items
from likewise.errors import InputError
from likewise.paper import ablation
from likewise.paper.ablation import (
    EPOCHS,
    FLOOR,
    OPTION_NAMES,
    OPTIONS,
    PLAIN,
    VOLUME,
    AblationEntry,
    ablation_section,
    balanced,
    select_ablation,
    sharpened,
    spread_out,
    voluminous,
)
from likewise.paper.records import write_record
from likewise.paper.table1 import Table1Record
from likewise.paper.table1_entries import Errors, KCLArguments, MCLArguments, Recipe, Treatment
from likewise.training.settings import Settings

SETTINGS = Settings(epochs=4, batch_size=20, learning_rate=0.01, drops=(3,), precision="float32", device="cpu")


def blobs(n: int, seed: int) -> Items:
    """Four classes that lie far apart in four dimensions."""
    labels = torch.arange(n) % 4
    noise = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed))
    return Items(5 * torch.eye(4)[labels] + noise, labels, ("a", "b", "c", "d"))


@pytest.fixture
def data() -> DataSet:
    return DataSet("blobs", blobs(120, 0), blobs(60, 1), (), ())


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.setitem(EPOCHS, ("blobs", "mlp"), 4)
    options = {name: Treatment(3.0) for name in OPTION_NAMES}
    kcl, mcl, expect = KCLArguments(margin=2.0, constant_target=True), MCLArguments(self_pairs=True), Errors(1, 2, 3)
    return Recipe("ablation", 1, "blobs", "mlp", SETTINGS, kcl, mcl, expect, treatment=options)


@pytest.mark.parametrize("option", OPTION_NAMES)
def test_each_option_learns_and_is_recorded(recipe: Recipe, data: DataSet, tmp_path: Path, option: str) -> None:
    record = ablation.run_ablation_entry(AblationEntry(recipe, "mcl", option), data, tmp_path)
    assert record.error < (60 if option in ("balance", "classes") else 5)  # these two may leave classes merged
    assert (record.table, record.criterion, record.treatment) == ("ablation", "mcl", option)
    assert record.settings["option"] == OPTIONS[option].numbers
    assert json.loads((tmp_path / "config.json").read_text())["config"]["option"] == OPTIONS[option].numbers
    assert record.command == f"likewise paper ablation --dataset blobs --network mlp --option {option} --seed 0"


def test_names_are_those_of_the_options() -> None:
    assert tuple(OPTIONS) == OPTION_NAMES


def test_a_record_is_not_made_twice_and_a_lost_one_comes_from_the_run(
    recipe: Recipe, data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "load", lambda name, folder: data)
    entries = [AblationEntry(recipe, "ce"), AblationEntry(recipe, "mcl", "joint-memory")]
    folders = {"data": None, "runs": tmp_path / "runs", "results": tmp_path / "results"}
    first = list(ablation.run_ablation(entries, **folders))
    assert [ran for _, _, ran in first] == [True, True]
    written = [path.read_text() for _, path, _ in first]

    def step(*_: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(torch.optim.Adam, "step", step)
    first[1][1].unlink()
    again = list(ablation.run_ablation(entries, **folders))
    assert [ran for _, _, ran in again] == [False, True]
    assert [path.read_text() for _, path, _ in again] == written


def double_loop(logits: Tensor, labels: Tensor) -> tuple[list[float], list[float]]:
    """The losses of the pairs that are the same, and of those that are different."""
    p = logits.double().softmax(1)
    same, different = [], []
    for i in range(len(p)):
        for j in range(i + 1, len(p)):
            s_hat = float(p[i] @ p[j])
            if labels[i] == labels[j]:
                same.append(-torch.tensor(s_hat).log().item())
            else:
                different.append(-torch.tensor(1 - s_hat).log().item())
    return same, different


def test_the_losses_of_the_options() -> None:
    logits, labels = torch.randn(9, 4, generator=torch.Generator().manual_seed(0)), torch.arange(9) % 3
    plain = float(mcl(logits, labels, self_pairs=True))
    same, different = double_loop(logits, labels)
    halves = sum(same) / len(same) / 2 + sum(different) / len(different) / 2
    assert float(balanced(logits, labels)) == pytest.approx(halves, rel=1e-5)
    assert float(sharpened(logits, labels)) == pytest.approx(float(mcl(4 * logits, labels, self_pairs=True)))
    p = logits.double().softmax(1)
    mean = p.mean(0)
    assert plain - float(spread_out(logits, labels)) == pytest.approx(float(-(mean * mean.log()).sum()), rel=1e-4)
    eigenvalues = torch.linalg.eigvalsh(4 * p.T @ p / 9) + FLOOR
    assert plain - float(voluminous(logits, labels)) == pytest.approx(VOLUME * float(eigenvalues.log().sum()), rel=1e-3)


def test_what_is_selected() -> None:
    every = select_ablation()
    assert len(every) == len(EPOCHS) * (len(PLAIN) + len(OPTION_NAMES))
    assert len({entry.name for entry in every}) == len(every)
    assert {entry.settings.precision for entry in every} == {"bfloat16"}
    (one,) = select_ablation(dataset="cifar100", option="joint-memory", seed=2)
    assert (one.name, one.settings.epochs) == ("cifar100-vgg8-mcl-joint-memory-seed2-24ep", 24)
    (short,) = select_ablation(dataset="mnist", option="mcl", epochs=3)
    assert short.command.endswith("--option mcl --seed 0 --epochs 3")
    with pytest.raises(InputError, match="No recipe has --dataset mnist with --network vgg8"):
        select_ablation(dataset="mnist", network="vgg8")
    with pytest.raises(InputError, match="--option magic is not in the table"):
        select_ablation(option="magic")


def cells(section: str) -> list[list[str]]:
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_section_compares_with_cross_entropy_of_the_same_seed(tmp_path: Path, example: Table1Record) -> None:
    assert "No run is recorded yet" in ablation_section(tmp_path)
    plain = replace(example, table="ablation", epochs=8, settings={"precision": "bfloat16"})
    kept = {"treatment": "joint-memory"}
    for seed, with_labels, without in ((0, 0.5, 0.6), (1, 0.7, 0.6)):
        write_record(tmp_path, replace(plain, criterion="ce", seed=seed, error=with_labels))
        write_record(tmp_path, replace(plain, seed=seed, error=without, **kept))
    write_record(tmp_path, replace(plain, table="table1", error=0.9))  # from Table 1, in bfloat16
    write_record(tmp_path, replace(plain, table="table1", error=9.0, epochs=30))  # of another length
    write_record(tmp_path, replace(plain, table="table1", seed=1, settings={"precision": "float32"}))
    rows = cells(ablation_section(tmp_path))
    assert [(row[2], row[3], row[4], row[6]) for row in rows] == [
        ("CE, with labels", "0.50", "", "0"),
        ("CE, with labels", "0.70", "", "1"),
        ("CE, with labels", "0.60", "", "mean of 0, 1"),
        ("MCL", "0.90", "+0.40", "0"),
        ("MCL, joint, with the last 50 items per output (kept)", "0.60", "+0.10", "0"),
        ("MCL, joint, with the last 50 items per output (kept)", "0.60", "-0.10", "1"),
        ("MCL, joint, with the last 50 items per output (kept)", "0.60", "+0.00", "mean of 0, 1"),
    ]
