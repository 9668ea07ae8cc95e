"""Entries of the ablation: a row of Table 1 with MCL and one option, or none, or with cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass, replace

from likewise.paper.entries import NO_TREATMENT, Entry, check_name, rows_of
from likewise.paper.recipe import Recipe, Treatment, recipes
from likewise.training.settings import Precision

TABLE = "ablation"
PLAIN = ("ce", "mcl")
EPOCHS = {
    ("mnist", "lenet"): 8,
    ("cifar10", "lenet"): 8,
    ("cifar10", "vgg8"): 8,
    ("cifar10", "vgg11"): 8,
    ("cifar100", "vgg8"): 24,
}
PRECISION: Precision = "bfloat16"  # of all runs, for time: only figures made in the same way are compared
# Written out, since the options themselves need torch; a test compares them.
OPTION_NAMES = ("balance", "scale", "temperature", "entropy", "volume", "classes", "joint", "joint-memory")


@dataclass(frozen=True)
class AblationEntry(Entry):
    """One figure of the ablation; the treatment is the option."""

    @property
    def option(self) -> str:
        return self.criterion if self.treatment == NO_TREATMENT else self.treatment

    @property
    def command(self) -> str:
        recipe = self.recipe
        parts = ["likewise paper ablation --dataset", recipe.dataset, "--network", recipe.network]
        parts += ["--option", self.option, "--seed", str(self.seed)]
        if self.settings.epochs != EPOCHS[recipe.dataset, recipe.network]:
            parts += ["--epochs", str(self.settings.epochs)]
        return " ".join(parts)


def ablation_recipes() -> list[Recipe]:
    """The rows of Table 1 that the ablation looks at, with an option in place of each treatment."""
    return [_with_options(recipe) for recipe in recipes("table1") if (recipe.dataset, recipe.network) in EPOCHS]


def _with_options(recipe: Recipe) -> Recipe:
    settings = replace(recipe.settings, precision=PRECISION)
    options = {name: Treatment(recipe.expect["mcl"], settings) for name in OPTION_NAMES}
    return replace(recipe, table=TABLE, settings=settings, treatments=options)


def select_ablation(
    *,
    dataset: str | None = None,
    network: str | None = None,
    option: str | None = None,
    seed: int = 0,
    epochs: int | None = None,
) -> list[AblationEntry]:
    """The entries that fit every filter given; without `epochs`, 8 of them, and 24 on CIFAR-100.

    >>> [entry.name for entry in select_ablation(network="vgg11", option="joint-memory")]
    ['cifar10-vgg11-mcl-joint-memory-seed0-8ep']
    >>> select_ablation(dataset="cifar100", option="ce")[0].command
    'likewise paper ablation --dataset cifar100 --network vgg8 --option ce --seed 0'
    """
    check_name("--option", option, (*PLAIN, *OPTION_NAMES))
    return [
        AblationEntry(recipe, name, NO_TREATMENT, seed, epochs or EPOCHS[recipe.dataset, recipe.network])
        if name in PLAIN
        else AblationEntry(recipe, "mcl", name, seed, epochs or EPOCHS[recipe.dataset, recipe.network])
        for recipe in rows_of(ablation_recipes(), dataset, network)
        for name in (*PLAIN, *OPTION_NAMES)
        if option in (None, name)
    ]
