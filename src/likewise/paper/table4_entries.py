"""Table 4 of the paper and its smaller sisters: the recipes, and which methods and splits of them are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from typing import NamedTuple

from likewise.datasets import Augmentation
from likewise.errors import InputError
from likewise.paper.entries import check_name, compress
from likewise.paper.recipe import (
    ANY_NUMBER,
    AUGMENTATION,
    LIST,
    NUMBER,
    SCHEDULE,
    TABLE,
    TEXT,
    TRAINING,
    WHOLE,
    Kind,
    checked,
    files,
    one_of,
    read_toml,
)
from likewise.supervision.semi import METHODS
from likewise.training.settings import Settings

TABLE4 = "table4"


class Aim(NamedTuple):
    """That the error of a method is at least so many points below a rival's."""

    method: str
    rival: str
    points: float


@dataclass(frozen=True)
class SemiRecipe:
    row: int  # its place in the section, counted from 1
    dataset: str
    network: str
    labels: int  # how many training items have one
    splits: int  # random choices of these, numbered from 0
    supervised: Settings  # of the first stage
    settings: Settings  # of the second
    augmentation: Augmentation
    epsilon: float  # VAT's, in the space of the normalised inputs
    expect: Mapping[str, float]  # method -> the paper's test error in %, for ResNet-18 and its whole schedule
    aims: tuple[Aim, ...]

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.network}-{self.labels}labels"


def semi_recipes() -> list[SemiRecipe]:
    """The packaged recipes; the paper's own is the first.

    >>> [recipe.name for recipe in semi_recipes()]
    ['cifar10-resnet18-4000labels', 'cifar10-lenet-4000labels', 'mnist-lenet-100labels', 'digits-lenet-50labels']
    """
    return sorted((read_semi_recipe(file) for file in files(TABLE4)), key=lambda recipe: recipe.row)


def read_semi_recipe(file: Traversable) -> SemiRecipe:
    """Read one TOML file; an unknown, missing or wrong key is an InputError that names the file and the key."""
    name = file.name
    top = checked(name, "", read_toml(file), TOP, required=set(TOP) - {"augmentation", "expect", "aim"})
    supervised, settings = (
        Settings(**checked(name, stage, top[stage], TRAINING, required=SCHEDULE))
        for stage in ("supervised", "training")
    )
    return SemiRecipe(
        **{key: top[key] for key in ("row", "dataset", "network", "labels", "splits")},
        supervised=supervised,
        settings=settings,
        augmentation=Augmentation(**checked(name, "augmentation", top.get("augmentation", {}), AUGMENTATION)),
        epsilon=checked(name, "vat", top["vat"], VAT, required=set(VAT))["epsilon"],
        expect=checked(name, "expect", top.get("expect", {}), EXPECT),
        aims=tuple(Aim(**checked(name, "aim", aim, AIM, required=set(AIM))) for aim in top.get("aim", [])),
    )


TOP: dict[str, Kind] = {
    **dict.fromkeys(("table", "dataset", "network"), TEXT),
    **dict.fromkeys(("row", "labels", "splits"), WHOLE),
    **dict.fromkeys(("supervised", "training", "augmentation", "vat", "expect"), TABLE),
    "aim": LIST,
}
VAT: dict[str, Kind] = {"epsilon": NUMBER}
EXPECT: dict[str, Kind] = dict.fromkeys(METHODS, NUMBER)
AIM: dict[str, Kind] = {"method": one_of(*METHODS), "rival": one_of(*METHODS), "points": ANY_NUMBER}


def entry_name(dataset: str, network: str, labels: int, method: str, split: int, epochs: int) -> str:
    """The name of a record.

    >>> entry_name("digits", "lenet", 50, "vat", 0, 40)
    'digits-lenet-50labels-vat-split0-40ep'
    """
    return f"{dataset}-{network}-{labels}labels-{method}-split{split}-{epochs}ep"


@dataclass(frozen=True)
class SemiEntry:
    """One method on one split.

    >>> entry = SemiEntry(semi_recipes()[0], "pseudo-mcl", 2, epochs=30)
    >>> entry.name, entry.folder
    ('cifar10-resnet18-4000labels-pseudo-mcl-split2-30ep', 'cifar10-resnet18-4000labels-split2-30ep')
    >>> entry.supervised.epochs, entry.supervised.drops, entry.settings.drops
    (14, (8, 12), (15, 25))
    >>> entry.command
    'likewise paper table4 --dataset cifar10 --network resnet18 --method pseudo-mcl --split 2 --epochs 30'
    """

    recipe: SemiRecipe
    method: str
    split: int
    epochs: int | None = None  # of the second stage; None = as the recipe has it

    @property
    def n_epochs(self) -> int:
        return self.epochs or self.recipe.settings.epochs

    @property
    def name(self) -> str:
        recipe = self.recipe
        return entry_name(recipe.dataset, recipe.network, recipe.labels, self.method, self.split, self.n_epochs)

    @property
    def folder(self) -> str:
        """Of the run: all methods of a split have the same, because they share the supervised stage."""
        return f"{self.recipe.name}-split{self.split}-{self.n_epochs}ep"

    @property
    def supervised(self) -> Settings:
        """Of the first stage, compressed as much as the second."""
        whole = self.recipe.supervised
        return self._compressed(whole, max(1, round(whole.epochs * self.n_epochs / self.recipe.settings.epochs)))

    @property
    def settings(self) -> Settings:
        return self._compressed(self.recipe.settings, self.n_epochs)

    @property
    def command(self) -> str:
        """The command line that runs this entry and no other."""
        recipe = self.recipe
        parts = ["likewise paper table4 --dataset", recipe.dataset, "--network", recipe.network]
        parts += ["--method", self.method, "--split", str(self.split)]
        if self.n_epochs != recipe.settings.epochs:
            parts += ["--epochs", str(self.n_epochs)]
        return " ".join(parts)

    def _compressed(self, whole: Settings, epochs: int) -> Settings:
        return replace(whole, epochs=epochs, drops=compress(whole.drops, whole.epochs, epochs), seed=self.split)


def select_semi(
    recipes: Sequence[SemiRecipe],
    *,
    dataset: str | None = None,
    network: str | None = None,
    method: str | None = None,
    split: int | None = None,
    epochs: int | None = None,
) -> list[SemiEntry]:
    """The entries that fit every filter given, a split with all its methods after another; none is an InputError.

    >>> [entry.name for entry in select_semi(semi_recipes(), dataset="mnist", method="vat")][:2]
    ['mnist-lenet-100labels-vat-split0-4ep', 'mnist-lenet-100labels-vat-split1-4ep']
    """
    if epochs is not None and epochs < 1:
        raise InputError(f"--epochs must be 1 or more, got {epochs}.")
    if split is not None and split < 0:
        raise InputError(f"--split must be 0 or more, got {split}.")
    check_name("--dataset", dataset, dict.fromkeys(recipe.dataset for recipe in recipes))
    check_name("--network", network, dict.fromkeys(recipe.network for recipe in recipes))
    check_name("--method", method, list(METHODS))
    rows = [recipe for recipe in recipes if dataset in (None, recipe.dataset) and network in (None, recipe.network)]
    if not rows:
        have = ", ".join(f"{recipe.dataset} {recipe.network}" for recipe in recipes)
        raise InputError(f"No recipe has --dataset {dataset} with --network {network}. There are {have}.")
    return [
        SemiEntry(recipe, each, number, epochs)
        for recipe in rows
        for number in (range(recipe.splits) if split is None else [split])
        for each in METHODS
        if method in (None, each)
    ]
