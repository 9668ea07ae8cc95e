"""Table 4 of the paper and its smaller sisters: the recipes, and which methods and splits of them are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from likewise.datasets import Augmentation
from likewise.paper.recipe import (
    ANY_NUMBER,
    WholeSchedule,
    check_least,
    check_name,
    compress,
    files,
    one_of,
    read_file,
    rows_of,
)
from likewise.supervision.semi import METHODS
from likewise.training.settings import Settings

TABLE4 = "table4"
Method = Annotated[str, one_of(*METHODS)]


@dataclass(frozen=True)
class Aim:
    """That the error of a method is at least so many points below a rival's."""

    method: Method
    rival: Method
    points: Annotated[float, ANY_NUMBER]


@dataclass(frozen=True)
class SemiRecipe:
    table: str
    row: int  # its place in the section, counted from 1
    dataset: str
    network: str
    labels: int  # how many training items have one
    splits: int  # random choices of these, numbered from 0
    supervised: WholeSchedule  # of the first stage
    training: WholeSchedule  # of the second
    epsilon: float  # VAT's, in the space of the normalised inputs
    augmentation: Augmentation = field(default_factory=Augmentation)
    # method -> the paper's test error in %, for ResNet-18 and its whole schedule
    expect: Annotated[Mapping[str, float], one_of(*METHODS)] = field(default_factory=dict)
    aims: tuple[Aim, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.network}-{self.labels}labels"


def semi_recipes() -> list[SemiRecipe]:
    """The packaged recipes; the paper's own is the first.

    >>> [recipe.name for recipe in semi_recipes()]
    ['cifar10-resnet18-4000labels', 'cifar10-lenet-4000labels', 'mnist-lenet-100labels', 'digits-lenet-50labels']
    """
    return sorted((read_file(SemiRecipe, file) for file in files(TABLE4)), key=lambda recipe: recipe.row)


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
        return self.epochs or self.recipe.training.epochs

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
        settings = self.recipe.supervised
        return self._compressed(settings, max(1, round(settings.epochs * self.n_epochs / self.recipe.training.epochs)))

    @property
    def settings(self) -> Settings:
        return self._compressed(self.recipe.training, self.n_epochs)

    @property
    def command(self) -> str:
        """The command line that runs this entry and no other."""
        recipe = self.recipe
        parts = ["likewise paper table4 --dataset", recipe.dataset, "--network", recipe.network]
        parts += ["--method", self.method, "--split", str(self.split)]
        if self.n_epochs != recipe.training.epochs:
            parts += ["--epochs", str(self.n_epochs)]
        return " ".join(parts)

    def _compressed(self, settings: Settings, epochs: int) -> Settings:
        return replace(
            settings, epochs=epochs, drops=compress(settings.drops, settings.epochs, epochs), seed=self.split
        )


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
    check_least(epochs=(epochs, 1), split=(split, 0))
    rows = rows_of(recipes, dataset, network)
    check_name("--method", method, list(METHODS))
    return [
        SemiEntry(recipe, each, number, epochs)
        for recipe in rows
        for number in (range(recipe.splits) if split is None else [split])
        for each in METHODS
        if method in (None, each)
    ]
