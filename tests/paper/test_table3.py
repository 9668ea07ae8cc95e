"""Table 3: its tasks, and its procedure from known classes to classes that are found, on tiny images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from likewise.cli.paper import app
from likewise.datasets import DataSet, Items
from likewise.paper import transfer, transfer_entries, transfer_methods
from likewise.paper.records import read_record
from likewise.paper.transfer import TransferRecord
from likewise.paper.transfer_entries import transfer_recipes
from likewise.paper.transfer_methods import Task, transfer_task


def squares(classes: range, each: int, seed: int) -> Items:
    """Images whose class is where their bright square lies."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.arange(len(classes)).repeat(each)
    inputs = torch.randint(60, (len(labels), 1, 12, 12), generator=draw, dtype=torch.uint8)
    for image, label in zip(inputs, labels.tolist(), strict=True):
        row, column = divmod(classes[label], 3)
        image[0, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4] += 180
    return Items(inputs, labels, tuple(f"place {number}" for number in classes))


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Task:
    """Six places known and three to be found, and a short schedule."""
    task = Task(squares(range(6), 12, 0), {"rest": squares(range(6, 9), 40, 1)}, (0.2,), (0.3,))
    recipes = transfer_recipes("table3")
    small = [
        replace(
            recipe,
            backbone=replace(recipe.backbone, epochs=2, drops=(), batch_size=24),
            similarity=replace(recipe.similarity, epochs=2, drops=(), batch_size=24),
            training=replace(recipe.training, epochs=2, drops=(), batch_size=60),
            similarity_items=4,
            similarity_hidden=8,
        )
        for recipe in recipes
        if recipe.backbone is not None
    ]
    assert len(small) == 4
    monkeypatch.setattr(transfer_entries, "transfer_recipes", lambda table: small)
    monkeypatch.setattr(transfer, "transfer_task", lambda recipe, part, data: task)
    return task


def run(place: Path, *options: str):  # type: ignore[no-untyped-def]
    folders = ["--runs", str(place / "runs"), "--results", str(place / "results")]
    return CliRunner().invoke(app, ["table3", "--recipe", "cifar10", *options, *folders])


def test_all_methods_start_from_one_network(tmp_path: Path, tiny: Task) -> None:
    ran = run(tmp_path)
    assert ran.exception is None, ran.output
    assert ran.output.startswith("Table 3, 10 entries:\n  cifar10-mcl-true-seed0\n  cifar10-mcl-100-seed0\n")
    folder = tmp_path / "runs" / "table3" / "cifar10-similarity-evaluation-seed0"
    assert (folder / "backbone" / "model.safetensors").exists()
    assert (folder / "model.safetensors").exists()
    records = {
        (method, classes): read_record(
            tmp_path / "results" / "table3" / f"cifar10-{method}-{classes}-seed0.json", TransferRecord
        )
        for method in ("mcl", "kcl", "k-means", "lsc", "lpnmf")
        for classes in ("true", "100")
    }
    assert all(0 < record.acc <= 100 for record in records.values())
    assert all(record.piles[0]["items"] == 120 for record in records.values())
    assert records["mcl", "true"].quality.keys() == {
        "same_precision",
        "same_recall",
        "different_precision",
        "different_recall",
    }
    assert records["k-means", "true"].quality == {}  # it asks for no pair
    assert (
        records["k-means", "true"].command == "likewise paper table3 --recipe cifar10 --method k-means --classes true"
    )

    out = tmp_path / "RESULTS.md"
    show = CliRunner().invoke(app, ["show", "--results", str(tmp_path / "results"), "--out", str(out)])
    assert show.exit_code == 0
    assert f"`{records['kcl', '100'].command}`" in out.read_text()

    again = run(tmp_path, "--method", "mcl", "--classes", "true")
    assert "there already" in again.output


def test_a_network_of_ones_own_takes_the_place_of_the_first_stage(tmp_path: Path, tiny: Task) -> None:
    assert run(tmp_path, "--method", "k-means", "--classes", "true").exception is None
    backbone = tmp_path / "runs" / "table3" / "cifar10-similarity-evaluation-seed0" / "backbone"
    other = tmp_path / "other"
    ran = run(other, "--method", "k-means", "--classes", "true", "--backbone", str(backbone))
    assert ran.exception is None, ran.output
    assert not (other / "runs" / "table3" / "cifar10-similarity-evaluation-seed0" / "backbone").exists()
    first, second = (
        read_record(place / "results" / "table3" / "cifar10-k-means-true-seed0.json", TransferRecord)
        for place in (tmp_path, other)
    )
    assert (first.acc, first.nmi) == (second.acc, second.nmi)  # the same features


def test_cifar10_is_cut_in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple("abcdefghij")
    train = Items(torch.arange(40, dtype=torch.uint8).view(40, 1, 1, 1), torch.arange(40) % 10, names)
    monkeypatch.setattr(transfer_methods, "load", lambda name, data: DataSet(name, train, train, (0.5,), (0.5,)))
    recipe = next(one for one in transfer_recipes("table3") if one.name == "cifar10")
    task = transfer_task(replace(recipe, pile_items=15), "evaluation", None)
    assert task.known.class_names == names[:5]
    assert torch.equal(task.known.inputs.flatten() % 10, task.known.labels)
    (name, pile), *others = task.piles.items()
    assert (name, others) == ("f-g-h-i-j", [])
    assert torch.bincount(pile.labels).tolist() == [3] * 5
    assert torch.equal(pile.inputs.flatten() % 10, pile.labels + 5)


def test_cifar100_is_cut_into_eighty_known_classes_and_subsets_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(str(number) for number in range(100))
    train = Items(torch.arange(200, dtype=torch.uint8).view(200, 1, 1, 1), torch.arange(200) % 100, names)
    monkeypatch.setattr(transfer_methods, "load", lambda name, data: DataSet(name, train, train, (0.5,), (0.5,)))
    recipe = next(one for one in transfer_recipes("table3") if one.name == "cifar100")
    task = transfer_task(replace(recipe, pile_items=10), "evaluation", None)
    assert task.known.class_names == names[:80]
    assert torch.equal(task.known.inputs.flatten() % 100, task.known.labels)
    assert list(task.piles) == ["subset0", "subset1", "subset2"]
    for pile in task.piles.values():
        assert torch.bincount(pile.labels).tolist() == [1] * 10
        here = [int(pile.class_names[label]) for label in pile.labels]
        assert pile.inputs.flatten().tolist() == here  # the first image of each of its classes
        assert min(here) >= 80
    assert task.piles["subset0"].class_names != task.piles["subset1"].class_names


def test_small_digits_take_the_size_of_mnist(monkeypatch: pytest.MonkeyPatch) -> None:
    mnist = Items(torch.zeros(10, 1, 28, 28, dtype=torch.uint8), torch.arange(10), tuple("0123456789"))
    real = transfer_methods.load
    monkeypatch.setattr(
        transfer_methods,
        "load",
        lambda name, data=None: DataSet(name, mnist, mnist, (0.1,), (0.3,)) if name == "mnist" else real(name),
    )
    recipe = next(one for one in transfer_recipes("table3") if one.name == "mnist-digits")
    task = transfer_task(recipe, "evaluation", None)
    pile = task.piles["digits"]
    assert pile.inputs.shape == (1797, 1, 28, 28)
    assert pile.n_classes == 10
    small = torch.cat([real("digits").train.inputs, real("digits").test.inputs]).float()
    assert (pile.inputs.float().mean((1, 2, 3)) - small.mean((1, 2, 3))).abs().max() < 12  # no more than the edges


def test_imagenet_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        folder = tmp_path / "imagenet" / "train" / f"n{number}"
        folder.mkdir(parents=True)
        Image.fromarray(np.full((5, 5, 3), 40 * number, dtype=np.uint8)).save(folder / "one.png")
    monkeypatch.setattr("likewise.datasets.images.unlabelled_classes", lambda: ("n1", "n3", "n5"))
    recipe = next(one for one in transfer_recipes("table3") if one.name == "imagenet")
    task = transfer_task(replace(recipe, classes=2, size=8), "evaluation", tmp_path)
    assert list(task.piles) == ["subset0", "subset1", "subset2"]
    assert task.known.class_names == ("n0", "n2", "n4")
    assert task.known.inputs[torch.tensor([2, 1])].flatten(1).float().mean(1).tolist() == [160, 80]
    assert all(len(pile) == 2 for pile in task.piles.values())


def test_a_bad_option_is_refused(tmp_path: Path, tiny: Task) -> None:
    refused = run(tmp_path, "--method", "csp")
    assert refused.exit_code == 2
    assert "--method" in refused.stderr
    assert "csp" in refused.stderr
