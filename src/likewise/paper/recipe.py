"""A recipe: one dataset-network row of a table of the paper, read from TOML and checked key by key."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import pairwise
from typing import Any

from likewise.datasets import Augmentation
from likewise.errors import InputError
from likewise.training.settings import Settings

# The keys of a recipe's TOML file: what each may hold, and the reading of a table of them, key by key.

# The words for a message, and the reading, which is None where the value is wrong.
Kind = tuple[str, Callable[[Any], Any]]


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _any_number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    number = _any_number(value)
    return number if number is not None and number >= 0 else None


def _epochs(value: Any) -> tuple[int, ...] | None:
    """Epochs in rising order, each a positive whole number."""
    if not isinstance(value, list) or any(_whole(epoch) is None for epoch in value):
        return None
    return tuple(value) if all(a < b for a, b in pairwise(value)) else None


def _span(value: Any) -> tuple[float, float] | None:
    if not isinstance(value, list) or len(value) != 2 or any(_number(each) is None for each in value):
        return None
    return (float(value[0]), float(value[1])) if value[0] <= value[1] else None


def _instance(kind: type) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, kind) else None


def one_of(*choices: str) -> Kind:
    return " or ".join(choices), lambda value: value if value in choices else None


TEXT: Kind = ("a text", _instance(str))
TABLE: Kind = ("a table", _instance(dict))
LIST: Kind = ("a list of tables", _instance(list))
SWITCH: Kind = ("true or false", _instance(bool))
WHOLE: Kind = ("a whole number above 0", _whole)
NUMBER: Kind = ("a number, 0 or more", _number)
ANY_NUMBER: Kind = ("a number", _any_number)
EPOCHS: Kind = ("a list of epochs in rising order", _epochs)

TRAINING: dict[str, Kind] = {
    "epochs": WHOLE,
    "batch_size": WHOLE,
    "optimizer": one_of("adam", "adamw", "sgd"),
    "learning_rate": NUMBER,
    "momentum": NUMBER,
    "weight_decay": NUMBER,
    "clip_norm": NUMBER,
    "schedule": one_of("step", "one-cycle"),
    "drops": EPOCHS,
    "precision": one_of("auto", "float32", "bfloat16"),
}
SCHEDULE = {"epochs", "batch_size", "optimizer", "learning_rate"}  # what every recipe must say of its training
AUGMENTATION: dict[str, Kind] = {
    "crop_padding": WHOLE,
    "flip": SWITCH,
    "degrees": NUMBER,
    "translate": NUMBER,
    "scale": ("two numbers in rising order", _span),
    "shear": NUMBER,
    "area": ("two numbers in rising order", _span),
}


def files(table: str) -> list[Traversable]:
    """The packaged TOML files of a table."""
    folder = resources.files("likewise.paper") / "recipes" / table
    return [file for file in folder.iterdir() if file.name.endswith(".toml")]


def read_toml(file: Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file.name}: not a TOML file ({error}). Correct it or restore the packaged one.") from None


def checked(
    file: str, section: str, value: object, kinds: Mapping[str, Kind], required: set[str] | None = None
) -> dict[str, Any]:
    """The values of one TOML table, each of its kind, or an InputError."""
    prefix = f"{section}." if section else ""
    if not isinstance(value, dict):
        raise InputError(f"{file}: {section} must be a table, got {value!r}. Write it as [{section}].")
    for key in value:
        if key not in kinds:
            raise InputError(f"{file}: unknown key {prefix}{key}. Use one of {', '.join(kinds)}.")
    for key in kinds:
        if key in (required or ()) and key not in value:
            raise InputError(f"{file}: {prefix}{key} is missing. Give it as {kinds[key][0]}.")
    read = {key: kinds[key][1](value[key]) for key in value}
    for key, result in read.items():
        if result is None:
            raise InputError(f"{file}: {prefix}{key} must be {kinds[key][0]}, got {value[key]!r}.")
    return read


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
