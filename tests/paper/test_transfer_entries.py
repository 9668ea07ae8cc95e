"""Table 2's recipes: the paper's figures, which entries are meant, their names and schedules, and what is refused."""

from __future__ import annotations

import re
import shlex
from importlib import resources
from pathlib import Path

import pytest
from typer.testing import CliRunner

from likewise import cli
from likewise.cli.paper import app
from likewise.clustering import METHODS as RIVALS
from likewise.datasets import Augmentation
from likewise.errors import InputError
from likewise.paper.recipe import read_file
from likewise.paper.transfer_entries import (
    EARLY_STOPPED,
    TransferEntry,
    TransferRecipe,
    select_transfer,
    transfer_recipes,
)
from likewise.training.settings import Settings

RECIPES = transfer_recipes()
BEST, PAPER = RECIPES
TABLE2 = {  # ACC, ACC (K = 100), NMI, NMI (K = 100)
    "k-means": (21.7, 18.9, 0.353, 0.464),
    "lpnmf": (22.2, 16.3, 0.372, 0.498),
    "lsc": (23.6, 18.0, 0.376, 0.500),
    "itml": (56.7, 47.2, 0.674, 0.727),
    "skkm": (62.4, 46.9, 0.770, 0.781),
    "sklr": (66.9, 46.8, 0.791, 0.760),
    "csp": (62.5, 65.4, 0.812, 0.812),
    "mpck-means": (81.9, 53.9, 0.871, 0.816),
    "kcl": (82.4, 78.1, 0.889, 0.874),
    "mcl": (83.3, 80.2, 0.897, 0.893),
}
TABLE5 = {"skms": 16.3, "kcl": 6.35, "mcl": 5.1}  # ADif


def test_the_papers_figures() -> None:
    for method in RIVALS.keys() | {"mcl", "kcl"}:
        expected = dict(zip(("acc", "acc_100", "nmi", "nmi_100"), TABLE2.get(method, ()), strict=False))
        expected |= {"difference": TABLE5[method]} if method in TABLE5 else {}
        assert dict(PAPER.expect.get(method, {})) == expected
    assert dict(BEST.expect) == {"mcl": PAPER.expect["mcl"]}
    assert dict(BEST.aim) == {"acc": 91.0, "acc_100": 89.0, "difference": 4.0}


def test_what_the_recipes_say() -> None:
    assert PAPER.similarity == Settings(
        epochs=50, drops=(30, 40), batch_size=100, learning_rate=0.001, precision="bfloat16"
    )
    assert PAPER.training == Settings(
        epochs=150, drops=(100,), batch_size=100, learning_rate=0.001, precision="bfloat16"
    )
    assert (PAPER.network, PAPER.similarity_items, PAPER.similarity_hidden) == ("omniglot", 5, 4096)
    assert PAPER.similarity_network == "conv4-wide"
    assert (BEST.network, BEST.similarity.epochs, BEST.training.epochs) == ("conv4", 15, 10)
    assert BEST.augmentation == Augmentation(degrees=15, translate=0.1, scale=(0.8, 1.2), shear=15)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_packaged_file_opens_with_its_commands(recipe: TransferRecipe) -> None:
    file = resources.files("likewise.paper") / "recipes" / "table2" / f"{recipe.name}.toml"
    opening = [line[4:] for line in file.read_text().splitlines() if line.startswith("#   likewise paper table2")]
    assert opening
    for line in opening:
        command, word, figures = re.split(r"  +(expect|aim) ", line)
        options = dict(zip(*[iter(shlex.split(command)[3:])] * 2, strict=True))
        method = options.get("--method", "mcl")
        assert select_transfer(RECIPES, recipe=options["--recipe"], method=method)[0].recipe is recipe
        said = recipe.expect[method] if word == "expect" else recipe.aim
        assert [float(number) for number in re.findall(r"\d+\.?\d*", figures)][:2] == [said["acc"], said["acc_100"]]


def test_all_entries_and_their_commands() -> None:
    entries = select_transfer(RECIPES)
    assert len(entries) == len({entry.name for entry in entries}) == 2 * (2 + 2 + len(RIVALS) + len(EARLY_STOPPED))
    assert [entry.name for entry in entries[:5]] == [
        "best-mcl-true-seed0",
        "best-mcl-100-seed0",
        "best-spectral-true-seed0",
        "best-spectral-100-seed0",
        "paper-mcl-true-seed0",
    ]
    several = {"alphabets": "validation", "seed": 3, "epochs": 2, "similarity_epochs": 5}
    for entry in [*entries, *select_transfer(RECIPES, **several)]:  # type: ignore[arg-type]
        options = dict(zip(*[iter(shlex.split(entry.command)[3:])] * 2, strict=True))
        kinds = {"seed": int, "epochs": int, "similarity_epochs": int}
        filters = {name[2:].replace("-", "_"): value for name, value in options.items()}
        filters |= {name: kind(filters[name]) for name, kind in kinds.items() if name in filters}
        assert select_transfer(RECIPES, **filters) == [entry]  # type: ignore[arg-type]


def test_names_and_compressed_schedules() -> None:
    (entry,) = select_transfer(
        RECIPES,
        recipe="paper",
        method="kcl",
        classes="100",
        alphabets="validation",
        seed=3,
        epochs=2,
        similarity_epochs=5,
    )
    assert entry == TransferEntry(PAPER, "kcl", "100", "validation", 3, 2, 5)
    assert entry.name == "paper-kcl-100-validation-seed3-2ep-5spn"
    assert entry.similarity_name == "paper-similarity-validation-seed3-5spn"
    assert (entry.training.epochs, entry.training.seed) == (2, 3)
    assert (entry.similarity.epochs, entry.similarity.drops, entry.similarity.seed) == (5, (3, 4), 3)
    shared = {one.similarity_name for one in select_transfer(RECIPES, recipe="paper")}
    assert shared == {"paper-similarity-evaluation-seed0"}


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"recipe": "worst"}, "--recipe worst is not in the table. Use one of best, paper."),
    ({"method": "magic"}, "--method magic is not in the table. Use one of mcl, spectral, kcl, k-means,"),
    ({"recipe": "best", "method": "kcl"}, "--method kcl is not in the table. Use one of mcl, spectral."),
    ({"recipe": "paper", "method": "spectral"}, "--method spectral is not in the table. Use one of mcl, kcl,"),
    ({"classes": "47"}, "--classes 47 is not in the table. Use one of true, 100."),
    ({"alphabets": "test"}, "--alphabets test is not in the table. Use one of evaluation, validation."),
    ({"seed": -1}, "--seed must be 0 or more, got -1."),
    ({"epochs": 0}, "--epochs must be 1 or more, got 0."),
    ({"similarity_epochs": 0}, "--similarity-epochs must be 1 or more, got 0."),
]


@pytest.mark.parametrize(("filters", "words"), REFUSED)
def test_refused_by_both_commands_before_anything_is_written(
    tmp_path: Path, filters: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        select_transfer(RECIPES, **filters)  # type: ignore[arg-type]
    options = [text for name, value in filters.items() for text in ("--" + name.replace("_", "-"), str(value))]
    folders = ["--data", str(tmp_path), "--runs", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    for command in ("table2", "table5"):
        if command == "table2" or not filters.keys() & {"method", "classes"}:
            refused = CliRunner().invoke(cli.app, ["paper", command, *options, *folders])
            assert refused.exit_code == 2
            assert options[-2] in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_data_nothing_is_begun(tmp_path: Path) -> None:
    folders = ["--data", str(tmp_path), "--runs", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    for command in ("table2", "table5"):
        refused = CliRunner().invoke(app, [command, *folders]).exception
        assert isinstance(refused, InputError)
        assert "images_background.zip is not in" in str(refused)
    assert list(tmp_path.iterdir()) == []


SOUND = (resources.files("likewise.paper") / "recipes" / "table2" / "best.toml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('network = "conv4"', "", "network is missing"),
        ("epochs = 15 ", "epochs = 0 ", "similarity.epochs must be a whole number above 0, got 0"),
        ("epochs = 15 ", "depth = 15 ", "unknown key similarity.depth"),
        ("epochs = 10", "items = 10", "unknown key training.items"),
        ("degrees = 15", "scale = [1.2, 0.8]", "not a TOML file"),
        ("scale = [0.8, 1.2]", "scale = [1.2, 0.8]", "augmentation.scale must be two numbers in rising order"),
        ("nmi = 0.897", "ari = 0.897", "unknown key expect.mcl.ari"),
        ("acc = 91.0", "nmi = 0.9", "unknown key aim.nmi"),  # what no text is made of
        ("acc = 91.0", 'acc = "high"', "aim.acc must be a number, 0 or more, got 'high'"),
    ],
)
def test_a_faulty_recipe_is_refused_by_file_and_key(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert SOUND.count(old) == 1
    (tmp_path / "faulty.toml").write_text(SOUND.replace(old, new))
    with pytest.raises(InputError, match=re.escape(f"faulty.toml: {words}")):
        read_file(TransferRecipe, tmp_path / "faulty.toml")
