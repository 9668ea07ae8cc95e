"""A recipe: one dataset-network row of a table of the paper, read from TOML and checked key by key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources.abc import Traversable

from likewise.datasets import Augmentation
from likewise.paper.keys import (
    AUGMENTATION,
    NUMBER,
    SCHEDULE,
    SWITCH,
    TABLE,
    TEXT,
    TRAINING,
    WHOLE,
    Kind,
    checked,
    files,
    read_toml,
)
from likewise.training.settings import Settings

CRITERIA = ("ce", "kcl", "mcl")


@dataclass(frozen=True)
class Treatment:
    """A cure that the paper tried where KCL fails: other settings, or weights that a few labels gave."""

    expect: float  # test error in %
    settings: Settings
    pretrain_labels: int = 0  # first train with cross-entropy on so many labelled items; 0 = do not


@dataclass(frozen=True)
class Recipe:
    table: str
    row: int  # its place in the table, counted from 1
    dataset: str
    network: str
    settings: Settings
    augmentation: Augmentation
    kcl: Mapping[str, float | bool]  # arguments of the criterion
    mcl: Mapping[str, bool]  # likewise
    expect: Mapping[str, float]  # criterion -> test error in %
    treatments: Mapping[str, Treatment] = field(default_factory=dict)  # of KCL


def recipes(table: str = "table1") -> list[Recipe]:
    """The packaged recipes of a table, in the order of its rows.

    >>> [f"{recipe.dataset}-{recipe.network}" for recipe in recipes()][:3]
    ['mnist-lenet', 'cifar10-lenet', 'cifar10-vgg8']
    """
    return sorted((read_recipe(file) for file in files(table)), key=lambda recipe: recipe.row)


def read_recipe(file: Traversable) -> Recipe:
    """Read one TOML file; an unknown, missing or wrong key is an InputError that names the file and the key."""
    top = checked(file.name, "", read_toml(file), TOP, required=set(TOP) - {"augmentation", "treatment"})
    training = checked(file.name, "training", top["training"], TRAINING, required=SCHEDULE)
    settings = Settings(**training)
    treatments = {
        name: _treatment(file.name, f"treatment.{name}", value, settings)
        for name, value in top.get("treatment", {}).items()
    }
    return Recipe(
        table=top["table"],
        row=top["row"],
        dataset=top["dataset"],
        network=top["network"],
        settings=settings,
        augmentation=Augmentation(**checked(file.name, "augmentation", top.get("augmentation", {}), AUGMENTATION)),
        kcl=checked(file.name, "kcl", top["kcl"], KCL, required=set(KCL)),
        mcl=checked(file.name, "mcl", top["mcl"], MCL, required=set(MCL)),
        expect=checked(file.name, "expect", top["expect"], EXPECT, required=set(EXPECT)),
        treatments=treatments,
    )


def _treatment(file: str, section: str, value: object, settings: Settings) -> Treatment:
    table = checked(file, section, value, TREATMENT, required={"expect"})
    changes = checked(file, f"{section}.training", table.get("training", {}), TRAINING)
    return Treatment(table["expect"], replace(settings, **changes), table.get("pretrain_labels", 0))


TOP: dict[str, Kind] = {
    **dict.fromkeys(("table", "dataset", "network"), TEXT),
    "row": WHOLE,
    **dict.fromkeys(("training", "augmentation", "kcl", "mcl", "expect", "treatment"), TABLE),
}
KCL: dict[str, Kind] = {"margin": NUMBER, "constant_target": SWITCH}
MCL: dict[str, Kind] = {"self_pairs": SWITCH}
EXPECT: dict[str, Kind] = dict.fromkeys(CRITERIA, NUMBER)
TREATMENT: dict[str, Kind] = {"expect": NUMBER, "training": TABLE, "pretrain_labels": WHOLE}
