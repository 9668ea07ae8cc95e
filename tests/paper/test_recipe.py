"""Recipes: the packaged ones say what the paper says, and a faulty one is refused by file and key."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from likewise.datasets import Augmentation
from likewise.errors import InputError
from likewise.paper.recipe import read_file
from likewise.paper.table1_entries import KCLArguments, MCLArguments, Recipe, recipes
from likewise.training.settings import Settings

SOUND = """
table = "table1"
row = 1
dataset = "mnist"
network = "lenet"
[training]
epochs = 30
drops = [10, 20]
batch_size = 100
optimizer = "adam"
learning_rate = 0.001
[augmentation]
flip = true
[kcl]
margin = 2
constant_target = true
[mcl]
self_pairs = true

[expect]
ce = 1
kcl = 2
mcl = 3
[treatment.long]
expect = 4
[treatment.long.training]
epochs = 300
"""

PAPER = {  # Table 1: CE, KCL, MCL, and KCL's treatments
    ("mnist", "lenet"): (0.6, 0.5, 0.6, {}),
    ("cifar10", "lenet"): (14.9, 16.4, 15.1, {}),
    ("cifar10", "vgg8"): (10.2, 10.2, 10.2, {}),
    ("cifar10", "vgg11"): (8.9, 72.2, 9.4, {"long": 10.4}),
    ("cifar10", "vgg16"): (7.6, 81.1, 8.3, {"long": 76.8, "pretrain": 10.3}),
    ("cifar10", "resnet18"): (6.7, 73.8, 6.6, {}),
    ("cifar10", "resnet34"): (6.6, 79.3, 6.3, {}),
    ("cifar10", "resnet50"): (6.6, 79.6, 5.9, {}),
    ("cifar10", "resnet101"): (6.5, 79.9, 5.6, {}),
    ("cifar100", "vgg8"): (35.4, 45.3, 36.1, {"pretrain": 40.2}),
}


IN_BFLOAT16 = {("cifar10", "lenet"), ("cifar10", "vgg8"), ("cifar10", "vgg11")}  # the records were made so, for time


def written(folder: Path, text: str) -> Path:
    path = folder / "faulty.toml"
    path.write_text(text)
    return path


def test_packaged_recipes_are_the_rows_of_the_table() -> None:
    found = {
        (recipe.dataset, recipe.network): (
            recipe.expect.ce,
            recipe.expect.kcl,
            recipe.expect.mcl,
            {name: treatment.expect for name, treatment in recipe.treatment.items()},
        )
        for recipe in recipes("table1")
    }
    assert found == PAPER
    assert list(found) == list(PAPER)  # in the table's order


@pytest.mark.parametrize("recipe", recipes("table1"), ids=lambda recipe: f"{recipe.dataset}-{recipe.network}")
def test_packaged_settings_are_the_papers(recipe) -> None:
    schedule = {"mnist": (30, (10, 20), 100), "cifar10": (140, (80, 120), 100), "cifar100": (180, (100, 150), 1000)}
    epochs, drops, batch_size = schedule[recipe.dataset]
    optimizer, rate = ("sgd", 0.1) if recipe.network.startswith("resnet") else ("adam", 0.001)
    ours = "bfloat16" if (recipe.dataset, recipe.network) in IN_BFLOAT16 else "auto"
    assert recipe.training == Settings(epochs, batch_size, optimizer, rate, drops=drops, precision=ours)
    assert recipe.augmentation == (Augmentation() if recipe.dataset == "mnist" else Augmentation(4, True))
    assert recipe.kcl == KCLArguments(margin=2.0, constant_target=True)
    assert recipe.mcl == MCLArguments(self_pairs=True)
    if "long" in recipe.treatment:
        long = recipe.treated("long")
        assert long == Settings(1400, 100, "sgd", 0.2, drops=(800, 1200), precision=ours)
    if "pretrain" in recipe.treatment:
        assert recipe.treatment["pretrain"].pretrain_labels == 4000
        assert recipe.treated("pretrain") == recipe.training


@pytest.mark.parametrize("recipe", recipes("table1"), ids=lambda recipe: f"{recipe.dataset}-{recipe.network}")
def test_packaged_file_opens_with_its_commands_and_figures(recipe) -> None:
    file = resources.files("likewise.paper") / "recipes" / "table1" / f"{recipe.dataset}-{recipe.network}.toml"
    opening = [line for line in file.read_text().splitlines() if line.startswith("#   likewise paper table1")]
    figures = [*vars(recipe.expect).values(), *(treatment.expect for treatment in recipe.treatment.values())]
    assert [float(line.split()[-1]) for line in opening] == figures
    assert all(f"--dataset {recipe.dataset} --network {recipe.network} " in line for line in opening)


def test_read_file(tmp_path: Path) -> None:
    recipe = read_file(Recipe, written(tmp_path, SOUND))
    assert recipe.training == Settings(epochs=30, drops=(10, 20))
    assert recipe.augmentation == Augmentation(flip=True)
    assert recipe.treated("long") == Settings(epochs=300, drops=(10, 20))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("margin = 2", "margn = 2", "unknown key kcl.margn"),
        ("row = 1", "row = 1\nrows = 2", "unknown key rows"),
        ("row = 1", "", "row is missing"),
        ("batch_size = 100", "", "training.batch_size is missing"),
        ("mcl = 3", "", "expect.mcl is missing"),
        ("[treatment.long]\nexpect = 4", "[treatment.long]", "treatment.long.expect is missing"),
        ("epochs = 300", "epoch = 300", "unknown key treatment.long.training.epoch"),
        ("epochs = 30\n", "epochs = 0\n", "training.epochs must be a whole number above 0, got 0"),
        ("epochs = 30\n", "epochs = true\n", "training.epochs must be a whole number above 0, got True"),
        ("[10, 20]", "[20, 10]", "training.drops must be a list of epochs in rising order"),
        ('"adam"', '"lion"', "training.optimizer must be adam or adamw or sgd, got 'lion'"),
        ("flip = true", "flip = 1", "augmentation.flip must be true or false, got 1"),
        (
            "[treatment.long]\nexpect = 4\n[treatment.long.training]\nepochs = 300",
            "[treatment]\nlong = 3",
            "treatment.long must be a table, got 3",
        ),
        ("[augmentation]", "[augmentation", "not a TOML file"),
    ],
)
def test_a_faulty_recipe_is_refused_by_file_and_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SOUND
    with pytest.raises(InputError) as error:
        read_file(Recipe, written(tmp_path, SOUND.replace(old, new)))
    assert str(error.value).startswith("faulty.toml: ")
    assert message in str(error.value)
