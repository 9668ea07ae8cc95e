"""Entries of a table: a recipe with one criterion and perhaps a treatment; their selection and schedules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from likewise.errors import InputError
from likewise.paper.recipe import CRITERIA, Recipe
from likewise.training.settings import Settings

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

    >>> from likewise.paper.recipe import recipes
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
        return self.recipe.treatments[self.treatment].expect if treated else self.recipe.expect[self.criterion]

    @property
    def paper_settings(self) -> Settings:
        treated = self.treatment != NO_TREATMENT
        return self.recipe.treatments[self.treatment].settings if treated else self.recipe.settings

    @property
    def settings(self) -> Settings:
        """What is run: the paper's settings, with the schedule compressed where `epochs` is given."""
        paper = self.paper_settings
        epochs = self.epochs or paper.epochs
        return replace(paper, epochs=epochs, drops=compress(paper.drops, paper.epochs, epochs), seed=self.seed)

    @property
    def pretrain_labels(self) -> int:
        return 0 if self.treatment == NO_TREATMENT else self.recipe.treatments[self.treatment].pretrain_labels

    @property
    def command(self) -> str:
        """The command line that runs this entry and no other."""
        recipe = self.recipe
        parts = ["likewise paper", recipe.table, "--dataset", recipe.dataset, "--network", recipe.network]
        parts += ["--criterion", self.criterion]
        if self.criterion == "kcl" and recipe.treatments:
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

    >>> from likewise.paper.recipe import recipes
    >>> [entry.name for entry in select(recipes(), network="vgg11", criterion="kcl")]
    ['cifar10-vgg11-kcl-seed0-140ep', 'cifar10-vgg11-kcl-long-seed0-1400ep']
    """
    if epochs is not None and epochs < 1:
        raise InputError(f"--epochs must be 1 or more, got {epochs}.")
    if seed < 0:
        raise InputError(f"--seed must be 0 or more, got {seed}.")
    treatments = [NO_TREATMENT, *sorted({name for recipe in recipes for name in recipe.treatments})]
    rows = rows_of(recipes, dataset, network)
    check_name("--criterion", criterion, CRITERIA)
    check_name("--treatment", treatment, treatments)
    entries = [
        Entry(recipe, each, cure, seed, epochs)
        for recipe in rows
        for each in CRITERIA
        for cure in (NO_TREATMENT, *(recipe.treatments if each == "kcl" else ()))
        if criterion in (None, each) and treatment in (None, cure)
    ]
    if not entries:  # only a treatment can be what is missing: every row has every criterion
        treated = [f"{recipe.dataset} {recipe.network}" for recipe in recipes if treatment in recipe.treatments]
        chosen = (("--dataset", dataset), ("--network", network), ("--criterion", criterion))
        given = " ".join(f"{option} {value}" for option, value in chosen if value)
        raise InputError(
            f"No recipe has --treatment {treatment} with {given}. It exists for kcl on {', '.join(treated)}."
        )
    return entries


def rows_of(recipes: Sequence[Recipe], dataset: str | None, network: str | None) -> list[Recipe]:
    """The recipes of this data set and network; None takes all."""
    check_name("--dataset", dataset, dict.fromkeys(recipe.dataset for recipe in recipes))
    check_name("--network", network, dict.fromkeys(recipe.network for recipe in recipes))
    rows = [recipe for recipe in recipes if dataset in (None, recipe.dataset) and network in (None, recipe.network)]
    if not rows:
        have = ", ".join(f"{recipe.dataset} {recipe.network}" for recipe in recipes)
        raise InputError(f"No recipe has --dataset {dataset} with --network {network}. There are {have}.")
    return rows


def check_name(option: str, value: str | None, known: Sequence[str] | dict[str, None]) -> None:
    """Refuse the value of an option that no recipe has."""
    if value is not None and value not in known:
        raise InputError(f"{option} {value} is not in the table. Use one of {', '.join(known)}.")


def compress(drops: Sequence[int], epochs: int, to: int) -> tuple[int, ...]:
    """The drops of a schedule of `epochs` for a run of `to` epochs, in proportion.

    At least one epoch lies before, between and after the drops; those for which there is no room are left out.

    >>> compress((80, 120), 140, 8)
    (5, 7)
    >>> compress((10, 20), 30, 3), compress((80, 120), 140, 3), compress((80, 120), 140, 2), compress((80, 120), 140, 1)
    ((1, 2), (1, 2), (1,), ())
    """
    kept = drops[: to - 1]
    placed: list[int] = []
    for position, drop in enumerate(kept):
        nearest = (2 * drop * to + epochs) // (2 * epochs)
        first = placed[-1] + 1 if placed else 1
        last = to - (len(kept) - position)
        placed.append(max(first, min(nearest, last)))
    return tuple(placed)
