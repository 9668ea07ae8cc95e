"""Table 4's recipes: the paper's own says what the paper says; which entries are meant; what is refused."""

from __future__ import annotations

import re
import shlex
from importlib import resources
from pathlib import Path

import pytest
from typer.testing import CliRunner

from likewise.cli.paper import app
from likewise.datasets import Augmentation
from likewise.errors import InputError
from likewise.paper.recipe import read_file
from likewise.paper.table4_entries import SemiEntry, SemiRecipe, select_semi, semi_recipes
from likewise.supervision.semi import METHODS
from likewise.training.settings import Settings

RECIPES = semi_recipes()
PAPER = {
    "supervised": 25.4,
    "pseudo-label": 19.8,
    "pi-model": 19.6,
    "vat": 18.2,
    "spn-mcl": 22.8,
    "pseudo-mcl": 18.0,
}


def test_the_papers_own_recipe() -> None:
    """Section 5.4 and Table 4."""
    recipe = RECIPES[0]
    assert (recipe.dataset, recipe.network, recipe.labels, recipe.splits) == ("cifar10", "resnet18", 4000, 5)
    assert recipe.supervised == Settings(epochs=140, drops=(80, 120), learning_rate=0.001)
    assert recipe.training == Settings(epochs=300, drops=(150, 250), learning_rate=0.001)
    assert recipe.augmentation == Augmentation(crop_padding=4, flip=True)
    assert recipe.epsilon == 8
    assert dict(recipe.expect) == PAPER


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_packaged_file_opens_with_its_commands(recipe: SemiRecipe) -> None:
    file = resources.files("likewise.paper") / "recipes" / "table4" / f"{recipe.dataset}-{recipe.network}.toml"
    opening = [line[4:] for line in file.read_text().splitlines() if line.startswith("#   likewise paper table4")]
    assert opening
    for line in opening:
        command, word, figure = re.split(r"  +(expect|aim:) ", line)
        options = dict(zip(*[iter(shlex.split(command)[3:])] * 2, strict=True))
        entries = select_semi(
            RECIPES,
            dataset=options["--dataset"],
            network=options.get("--network"),
            method=options.get("--method"),
            split=int(options["--split"]) if "--split" in options else None,
        )
        assert {entry.recipe.name for entry in entries} == {recipe.name}
        if word == "expect":
            assert recipe.expect[options["--method"]] == float(figure)


def test_all_methods_of_a_split_share_a_folder() -> None:
    entries = select_semi(RECIPES, dataset="digits")
    assert [entry.split for entry in entries[:8]] == [0] * 7 + [1]
    assert [entry.method for entry in entries[:7]] == list(METHODS)
    assert len({entry.folder for entry in entries}) == 5
    assert len({entry.name for entry in entries}) == 35
    for entry in entries[:7]:
        assert entry.supervised == entries[0].supervised
        assert entry.settings.seed == 0


def test_a_split_that_no_recipe_has_can_be_asked_for() -> None:
    (entry,) = select_semi(RECIPES, dataset="mnist", method="pi-model", split=8, epochs=2)
    assert entry == SemiEntry(RECIPES[2], "pi-model", 8, 2)
    assert (entry.settings.epochs, entry.settings.drops, entry.settings.seed) == (2, (1,), 8)
    assert (entry.supervised.epochs, entry.supervised.drops) == (20, (12, 17))


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"dataset": "svhn"}, "--dataset svhn is not in the table. Use one of cifar10, mnist, digits."),
        ({"network": "vgg8"}, "--network vgg8 is not in the table"),
        ({"method": "mixmatch"}, "--method mixmatch is not in the table"),
        ({"dataset": "digits", "network": "resnet18"}, "No recipe has --dataset digits with --network resnet18."),
        ({"split": -1}, "--split must be 0 or more"),
        ({"epochs": 0}, "--epochs must be 1 or more"),
    ],
)
def test_refused(filters: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        select_semi(RECIPES, **filters)  # type: ignore[arg-type]


def test_the_command_refuses_before_anything_is_written(tmp_path: Path) -> None:
    folders = ["--data", str(tmp_path), "--runs", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    assert CliRunner().invoke(app, ["table4", "--method", "magic", *folders]).exit_code == 2
    no_data = CliRunner().invoke(app, ["table4", "--dataset", "mnist", "--method", "vat", *folders])
    assert isinstance(no_data.exception, InputError)
    assert list(tmp_path.iterdir()) == []


SOUND = (resources.files("likewise.paper") / "recipes" / "table4" / "cifar10-lenet.toml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("labels = 4000", "labels = 0", "labels must be a whole number above 0, got 0"),
        ("labels = 4000", "", "labels is missing"),
        ("epsilon = 8.0", "delta = 8.0", "unknown key delta"),
        ("supervised = 25.4", "mixmatch = 25.4", "unknown key expect.mixmatch"),
        ('rival = "supervised"', 'rival = "chance"', "aims.rival must be supervised or pseudo-label or"),
        ("points = 5.0", 'points = "five"', "aims.points must be a number, got 'five'"),
        ("crop_padding = 4", "scale = [1.2, 0.8]", "augmentation.scale must be two numbers in rising order"),
        ("epochs = 60", "", "supervised.epochs is missing"),
        ("splits = 1", "splits = [", "not a TOML file"),
    ],
)
def test_a_faulty_recipe_is_refused_by_file_and_key(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert SOUND.count(old) >= 1
    (tmp_path / "faulty.toml").write_text(SOUND.replace(old, new, 1))
    with pytest.raises(InputError, match=re.escape(f"faulty.toml: {words}")):
        read_file(SemiRecipe, tmp_path / "faulty.toml")
