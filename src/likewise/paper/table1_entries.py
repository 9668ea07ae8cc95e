"""Table 1 of the paper: the recipes, and which criteria, treatments and schedules of them are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from likewise.datasets import Augmentation
from likewise.errors import InputError
from likewise.paper.recipe import WholeSchedule, check_least, check_name, compress, files, read_file, rows_of
from likewise.training.settings import Settings

CRITERIA = ("ce", "kcl", "mcl")


@dataclass(frozen=True)
class Treatment:
    """A cure that the paper tried where KCL fails: other settings, or weights that a few labels gave."""

    expect: float  # test error in %
    training: Annotated[Mapping[str, Any], Settings] = field(default_factory=dict)  # what differs from the recipe's
    pretrain_labels: int = 0  # first train with cross-entropy on so many labelled items; 0 = do not


@dataclass(frozen=True)
class KCLArguments:
    margin: float
    constant_target: bool


@dataclass(frozen=True)
class MCLArguments:
    self_pairs: bool


@dataclass(frozen=True)
class Errors:
    """The test error in % with each criterion."""

    ce: float
    kcl: float
    mcl: float


@dataclass(frozen=True)
class Recipe:
    table: str
    row: int  # its place in the table, counted from 1
    dataset: str
    network: str
    training: WholeSchedule
    kcl: KCLArguments
    mcl: MCLArguments
    expect: Errors
    augmentation: Augmentation = field(default_factory=Augmentation)
    treatment: Mapping[str, Treatment] = field(default_factory=dict)  # of KCL

    def treated(self, treatment: str) -> Settings:
        """The settings of a run with a treatment."""
        return replace(self.training, **self.treatment[treatment].training)


def recipes(table: str = "table1") -> list[Recipe]:
    """The packaged recipes of a table, in the order of its rows.

    >>> [f"{recipe.dataset}-{recipe.network}" for recipe in recipes()][:3]
    ['mnist-lenet', 'cifar10-lenet', 'cifar10-vgg8']
    """
    return sorted((read_file(Recipe, file) for file in files(table)), key=lambda recipe: recipe.row)


NO_TREATMENT = "none"


def run_name(dataset: str, network: str, criterion: str, treatment: str, seed: int, epochs: int) -> str:
    """The name of a run folder and of a record.

    >>> run_name("mnist", "lenet", "mcl", "none", 0, 30)
    'mnist-lenet-mcl-seed0-30ep'
    """
    cure = "" if treatment == NO_TREATMENT else f"-{treatment}"
    return f"{dataset}-{network}-{criterion}{cure}-seed{seed}-{epochs}ep"


@dataclass(frozen=True)
class Entry:
    """One figure of a table.

    >>> from likewise.paper.table1_entries import recipes
    >>> entry = Entry(recipes()[3], "kcl", "long", seed=1, epochs=14)
    >>> entry.name
    'cifar10-vgg11-kcl-long-seed1-14ep'
    >>> entry.paper_error, entry.paper_settings.epochs
    (10.4, 1400)
    >>> entry.settings.drops
    (8, 12)
    >>> entry.command
    'likewise paper table1 --dataset cifar10 --network vgg11 --criterion kcl --treatment long --seed 1 --epochs 14'
    """

    recipe: Recipe
    criterion: str
    treatment: str = NO_TREATMENT
    seed: int = 0
    epochs: int | None = None  # None = as many as the paper

    @property
    def name(self) -> str:
        """Name of its run folder and of its record."""
        recipe = self.recipe
        return run_name(recipe.dataset, recipe.network, self.criterion, self.treatment, self.seed, self.settings.epochs)

    @property
    def paper_error(self) -> float:
        treated = self.treatment != NO_TREATMENT
        return self.recipe.treatment[self.treatment].expect if treated else vars(self.recipe.expect)[self.criterion]

    @property
    def paper_settings(self) -> Settings:
        treated = self.treatment != NO_TREATMENT
        return self.recipe.treated(self.treatment) if treated else self.recipe.training

    @property
    def settings(self) -> Settings:
        """What is run: the paper's settings, with the schedule compressed where `epochs` is given."""
        paper = self.paper_settings
        epochs = self.epochs or paper.epochs
        return replace(paper, epochs=epochs, drops=compress(paper.drops, paper.epochs, epochs), seed=self.seed)

    @property
    def pretrain_labels(self) -> int:
        return 0 if self.treatment == NO_TREATMENT else self.recipe.treatment[self.treatment].pretrain_labels

    @property
    def command(self) -> str:
        """The command line that runs this entry and no other."""
        recipe = self.recipe
        parts = ["likewise paper", recipe.table, "--dataset", recipe.dataset, "--network", recipe.network]
        parts += ["--criterion", self.criterion]
        if self.criterion == "kcl" and recipe.treatment:
            parts += ["--treatment", self.treatment]
        parts += ["--seed", str(self.seed)]
        if self.settings.epochs != self.paper_settings.epochs:
            parts += ["--epochs", str(self.settings.epochs)]
        return " ".join(parts)


def select(
    recipes: Sequence[Recipe],
    *,
    dataset: str | None = None,
    network: str | None = None,
    criterion: str | None = None,
    treatment: str | None = None,
    seed: int = 0,
    epochs: int | None = None,
) -> list[Entry]:
    """The entries that fit every filter given, in the table's order; none at all is an InputError.

    >>> from likewise.paper.table1_entries import recipes
    >>> [entry.name for entry in select(recipes(), network="vgg11", criterion="kcl")]
    ['cifar10-vgg11-kcl-seed0-140ep', 'cifar10-vgg11-kcl-long-seed0-1400ep']
    """
    check_least(epochs=(epochs, 1), seed=(seed, 0))
    treatments = [NO_TREATMENT, *sorted({name for recipe in recipes for name in recipe.treatment})]
    rows = rows_of(recipes, dataset, network)
    check_name("--criterion", criterion, CRITERIA)
    check_name("--treatment", treatment, treatments)
    entries = [
        Entry(recipe, each, cure, seed, epochs)
        for recipe in rows
        for each in CRITERIA
        for cure in (NO_TREATMENT, *(recipe.treatment if each == "kcl" else ()))
        if criterion in (None, each) and treatment in (None, cure)
    ]
    if not entries:  # only a treatment can be what is missing: every row has every criterion
        treated = [f"{recipe.dataset} {recipe.network}" for recipe in recipes if treatment in recipe.treatment]
        chosen = (("--dataset", dataset), ("--network", network), ("--criterion", criterion))
        filters = " ".join(f"{option} {value}" for option, value in chosen if value)
        raise InputError(
            f"No recipe has --treatment {treatment} with {filters}. It exists for kcl on {', '.join(treated)}."
        )
    return entries
