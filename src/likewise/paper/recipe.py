"""Recipes: rows of a table of the paper, read from TOML and checked key by key; and the choice among them.

A dataclass is the schema of a TOML table: the types of its fields say what each key may hold, and a field without a
default must be there. `Annotated` adds what a type cannot say: a narrower kind of value, the names that keys may have,
or which keys of `Settings` a recipe must give.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Protocol, TypeVar, get_args, get_origin, get_type_hints

from likewise.errors import InputError
from likewise.training.settings import Settings

T = TypeVar("T")


class Kind(NamedTuple):
    """What a value may be, for a message; and its reading, which gives None where the value is wrong."""

    words: str
    read: Callable[[Any], Any]


def one_of(*choices: str) -> Kind:
    return Kind(" or ".join(choices), lambda value: value if value in choices else None)


def _any_number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    number = _any_number(value)
    return number if number is not None and number >= 0 else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _epochs(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, list) or any(_whole(epoch) is None for epoch in value):
        return None
    return tuple(value) if all(a < b for a, b in pairwise(value)) else None


def _span(value: Any) -> tuple[float, float] | None:
    if not isinstance(value, list) or len(value) != 2 or any(_number(each) is None for each in value):
        return None
    return (float(value[0]), float(value[1])) if value[0] <= value[1] else None


ANY_NUMBER = Kind("a number", _any_number)
KINDS: dict[Any, Kind] = {
    str: Kind("a text", lambda value: value if isinstance(value, str) else None),
    bool: Kind("true or false", lambda value: value if isinstance(value, bool) else None),
    int: Kind("a whole number above 0", _whole),
    float: Kind("a number, 0 or more", _number),
    tuple[int, ...]: Kind("a list of epochs in rising order", _epochs),
    tuple[float, float]: Kind("two numbers in rising order", _span),
}
KEYS: dict[type, tuple[str, ...]] = {  # of `Settings`, a recipe has those that the paper names
    Settings: (
        "epochs",
        "batch_size",
        "optimizer",
        "learning_rate",
        "momentum",
        "weight_decay",
        "clip_norm",
        "schedule",
        "drops",
        "precision",
    )
}
WholeSchedule = Annotated[Settings, frozenset(("epochs", "batch_size", "optimizer", "learning_rate"))]
Schedule = Annotated[Settings, frozenset(("epochs",))]


def files(table: str) -> list[Traversable]:
    """The packaged TOML files of a table."""
    folder = resources.files("likewise.paper") / "recipes" / table
    return [file for file in folder.iterdir() if file.name.endswith(".toml")]


def read_file(schema: type[T], file: Traversable) -> T:
    """Read one TOML file; an unknown, missing or wrong key is an InputError that names the file and the key."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file.name}: not a TOML file ({error}). Correct it or restore the packaged one.") from None
    return schema(**_fields(schema, file.name, "", content, None))


def _fields(schema: type, file: str, section: str, value: object, required: frozenset[str] | None) -> dict[str, Any]:
    """The values of one TOML table, each as the field of that name has it."""
    hints = get_type_hints(schema, include_extras=True)
    hints = {name: hints[name] for name in KEYS.get(schema, tuple(each.name for each in fields(schema)))}
    if required is None:
        required = frozenset(each.name for each in fields(schema) if each.default is each.default_factory is MISSING)
    _refuse_unknown(file, section, value, list(hints))
    assert isinstance(value, dict)
    for key in hints:
        if key in required and key not in value:
            raise InputError(f"{file}: {_below(section, key)} is missing. Give it as {_words(hints[key])}.")
    return {key: _value(hints[key], file, _below(section, key), value[key]) for key in value}


def _value(hint: Any, file: str, key: str, value: object) -> Any:
    """A value as its type has it, or an InputError."""
    hint, extra = (get_args(hint)[0], get_args(hint)[1]) if get_origin(hint) is Annotated else (hint, None)
    if get_origin(hint) is UnionType:  # something or None, which TOML leaves out
        hint = next(each for each in get_args(hint) if each is not NoneType)
    if isinstance(extra, Kind) and get_origin(hint) is not Mapping:
        return _read(extra, file, key, value)
    if isinstance(hint, type) and is_dataclass(hint):
        return hint(**_fields(hint, file, key, value, extra))
    if get_origin(hint) is Mapping:
        if isinstance(extra, type):  # some of its fields
            return _fields(extra, file, key, value, frozenset())
        _refuse_unknown(file, key, value, extra.words.split(" or ") if extra else None)
        assert isinstance(value, dict)
        return {name: _value(get_args(hint)[1], file, _below(key, name), each) for name, each in value.items()}
    if get_origin(hint) is tuple and is_dataclass(get_args(hint)[0]):
        if not isinstance(value, list):
            raise InputError(f"{file}: {key} must be a list of tables, got {value!r}.")
        return tuple(_value(get_args(hint)[0], file, key, each) for each in value)
    return _read(one_of(*get_args(hint)) if get_origin(hint) is Literal else KINDS[hint], file, key, value)


def _read(kind: Kind, file: str, key: str, value: object) -> Any:
    result = kind.read(value)
    if result is None:
        raise InputError(f"{file}: {key} must be {kind.words}, got {value!r}.")
    return result


def _refuse_unknown(file: str, section: str, value: object, known: list[str] | None) -> None:
    if not isinstance(value, dict):
        raise InputError(f"{file}: {section} must be a table, got {value!r}. Write it as [{section}].")
    for key in value:
        if known is not None and key not in known:
            raise InputError(f"{file}: unknown key {_below(section, key)}. Use one of {', '.join(known)}.")


def _below(section: str, key: str) -> str:
    return f"{section}.{key}" if section else key


def _words(hint: Any) -> str:
    return KINDS[hint].words if hint in KINDS else "a table"


class OfNetwork(Protocol):
    """A recipe of a data set and a network."""

    @property
    def dataset(self) -> str: ...
    @property
    def network(self) -> str: ...


SomeRecipe = TypeVar("SomeRecipe", bound=OfNetwork)


def rows_of(recipes: Sequence[SomeRecipe], dataset: str | None, network: str | None) -> list[SomeRecipe]:
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


def check_least(**options: tuple[int | None, int]) -> None:
    """Refuse the number of an option that is too small: `option=(number, least)`."""
    for option, (number, least) in options.items():
        if number is not None and number < least:
            raise InputError(f"--{option.replace('_', '-')} must be {least} or more, got {number}.")


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
