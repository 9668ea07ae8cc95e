"""Running an entry: what is learned and measured, what is recorded, and that a finished run is not run again."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from likewise.criteria import KCL, MCL
from likewise.datasets import DataSet, Items
from likewise.errors import InputError
from likewise.paper import table1
from likewise.paper.table1_entries import Entry, Errors, KCLArguments, MCLArguments, Recipe, Treatment
from likewise.training.settings import Settings

SETTINGS = Settings(epochs=6, batch_size=20, learning_rate=0.01, drops=(4, 5), precision="float32", device="cpu")


def blobs(n: int, seed: int) -> Items:
    """Three classes that lie far apart in four dimensions."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 3
    return Items(5 * torch.eye(4)[labels] + torch.randn(n, 4, generator=generator), labels, ("a", "b", "c"))


@pytest.fixture
def data() -> DataSet:
    return DataSet("blobs", blobs(120, 0), blobs(60, 1), (), ())


@pytest.fixture
def recipe() -> Recipe:
    treatments = {"pretrain": Treatment(expect=3.0, pretrain_labels=30)}
    kcl, mcl, expect = KCLArguments(margin=2.0, constant_target=True), MCLArguments(self_pairs=True), Errors(1, 2, 3)
    return Recipe("table1", 1, "blobs", "mlp", SETTINGS, kcl, mcl, expect, treatment=treatments)


@pytest.mark.parametrize("criterion", ["ce", "kcl", "mcl"])
def test_each_criterion_learns_and_is_recorded(recipe: Recipe, data: DataSet, tmp_path: Path, criterion: str) -> None:
    entry = Entry(recipe, criterion, seed=1)
    record = table1.run_entry(entry, data, tmp_path)
    assert record.error < 5
    assert record.train_error < 5
    assert record.scores["nmi"] > 0.8
    assert not {"error", "accuracy"} & set(record.scores)
    assert (record.criterion, record.seed, record.epochs, record.drops) == (criterion, 1, 6, [4, 5])
    assert record.paper_error == vars(recipe.expect)[criterion]
    assert record.settings["learning_rate"] == 0.01
    assert record.settings.get("kcl") == (asdict(recipe.kcl) if criterion == "kcl" else None)
    assert record.cpu_seconds >= 0
    assert record.threads == torch.get_num_threads()


def test_compressed_schedule_is_what_is_run_and_recorded(recipe: Recipe, data: DataSet, tmp_path: Path) -> None:
    record = table1.run_entry(Entry(recipe, "mcl", epochs=3), data, tmp_path)
    assert (record.epochs, record.paper_epochs, record.drops) == (3, 6, [1, 2])
    history = (tmp_path / "history.csv").read_text().splitlines()
    assert len(history) == 1 + 3


def test_records_are_written_and_a_finished_run_is_not_run_again(
    recipe: Recipe, data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table1, "load", lambda name, folder: data)
    entries = [Entry(recipe, "ce", epochs=2), Entry(recipe, "mcl", epochs=2)]
    folders = {"data": None, "runs": tmp_path / "runs", "results": tmp_path / "results"}
    first = [path for _, path in table1.run_entries(entries, **folders)]
    assert [path.name for path in first] == [f"{entry.name}.json" for entry in entries]
    assert all((tmp_path / "runs" / "table1" / entry.name / "model.safetensors").exists() for entry in entries)
    content = [json.loads(path.read_text()) for path in first]
    for path in first:
        path.unlink()

    def step(*_: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(torch.optim.Adam, "step", step)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 99)
    again = [json.loads(path.read_text()) for _, path in table1.run_entries(entries, **folders)]
    assert again == content  # times and machine too: they are those of the run


def test_pretraining_sees_few_labels_and_hands_on_its_weights(
    recipe: Recipe, data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, type, str, Tensor, Tensor]] = []
    original = table1.train_labelled

    def train_labelled(network: nn.Module, items: Items, data: DataSet, criterion: nn.Module, *args, **kwargs):  # type: ignore[no-untyped-def]
        before = nn.utils.parameters_to_vector(network.parameters()).detach().clone()
        result = original(network, items, data, criterion, *args, **kwargs)
        after = nn.utils.parameters_to_vector(network.parameters()).detach().clone()
        calls.append((len(items), type(criterion), kwargs["run"].name, before, after))
        return result

    monkeypatch.setattr(table1, "train_labelled", train_labelled)
    record = table1.run_entry(Entry(recipe, "kcl", "pretrain", epochs=3), data, tmp_path / "run")
    (few, first, folder, _, handed), (every, second, _, taken, _) = calls
    assert (few, first, folder) == (30, nn.CrossEntropyLoss, "pretrain")
    assert (every, second) == (120, KCL)
    assert torch.equal(handed, taken)
    assert (record.paper_error, record.settings["pretrain_labels"]) == (3.0, 30)


def test_stratified_subset(data: DataSet) -> None:
    few = table1.stratified(data.train, 31, seed=0)
    assert few.labels.bincount().tolist() == [11, 10, 10]
    assert len(few.inputs.unique(dim=0)) == 31
    assert torch.equal(few.inputs, table1.stratified(data.train, 31, seed=0).inputs)
    assert not torch.equal(few.inputs, table1.stratified(data.train, 31, seed=1).inputs)
    with pytest.raises(InputError, match="needs 50 items of class a, the training set has 40"):
        table1.stratified(data.train, 150, seed=0)


def test_the_criterion_has_the_recipes_arguments(recipe: Recipe) -> None:
    other = replace(recipe, kcl=KCLArguments(margin=3.0, constant_target=False))
    assert isinstance(table1.criterion_of(Entry(recipe, "ce")), nn.CrossEntropyLoss)
    mcl = table1.criterion_of(Entry(recipe, "mcl"))
    assert isinstance(mcl, MCL)
    assert mcl.self_pairs
    assert not table1.criterion_of(Entry(replace(recipe, mcl=MCLArguments(self_pairs=False)), "mcl")).self_pairs
    logits, labels = torch.tensor([[4.0, 0.0], [0.0, 4.0]]), torch.tensor([0, 1])
    losses = [table1.criterion_of(Entry(each, "kcl"))(logits, labels) for each in (recipe, other)]
    expected = [KCL(margin=margin)(logits, labels) for margin in (2.0, 3.0)]
    assert [loss.item() for loss in losses] == pytest.approx([loss.item() for loss in expected])
