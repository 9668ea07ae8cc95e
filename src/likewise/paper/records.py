"""Records: what a run found and how it was made, one JSON file per run; `Record` is that of the paper's table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from likewise.errors import InputError
from likewise.paper.entries import run_name
from likewise.storage.records import write_json

# What JSON may hold for a field of each type: a whole number is also a float there.
KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "int | None": (int, type(None)),
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
}


@dataclass(frozen=True)
class Record:
    """Errors are in %. No date: a repeated run writes the same record, apart from the times."""

    table: str
    dataset: str
    network: str
    criterion: str
    treatment: str  # "none" where there is none
    seed: int
    epochs: int
    paper_epochs: int  # more than epochs where the schedule was compressed
    drops: list[int]
    settings: dict[str, object]  # everything that training was told, also augmentation and the criterion's arguments
    paper_error: float
    error: float  # on the test set, outputs matched to classes on the training set
    train_error: float
    scores: dict[str, float]  # on the test set: nmi, ari, pair scores
    seconds: float  # of training
    cpu_seconds: float
    command: str
    likewise: str  # versions
    torch: str
    cpu: str
    threads: int

    @property
    def name(self) -> str:
        return run_name(self.dataset, self.network, self.criterion, self.treatment, self.seed, self.epochs)


class Kept(Protocol):
    """A dataclass that is kept as `results/<table>/<name>.json`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def table(self) -> str: ...

    @property
    def name(self) -> str: ...


Kind = TypeVar("Kind", bound=Kept)


def record_path(results: Path, table: str, name: str) -> Path:
    return results / table / f"{name}.json"


def write_record(results: Path, record: Kept) -> Path:
    """Write it, whole or not at all, and give its path."""
    path = record_path(results, record.table, record.name)
    write_json(path, asdict(record))
    return path


def read_records(results: Path, table: str, kind: type[Kind]) -> list[Kind]:
    """Every record of a table, by name; an empty list where there is none."""
    return [read_record(path, kind) for path in sorted((results / table).glob("*.json"))]


def read_record(path: Path, kind: type[Kind]) -> Kind:
    """The record in a file; a field with a default may be missing there, in a record that is older than the field."""
    remedy = "Delete the file and run its command again."
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a JSON file ({error}). {remedy}") from None
    if not isinstance(content, Mapping):
        raise InputError(f"{path}: a record must be a JSON object. {remedy}")
    types = {field.name: KINDS[str(field.type).partition("[")[0]] for field in fields(kind)}
    required = {field.name for field in fields(kind) if field.default is field.default_factory is MISSING}
    for name, allowed in types.items():
        if name not in content:
            if name in required:
                raise InputError(f"{path}: {name} is missing. {remedy}")
        elif not isinstance(content[name], allowed):
            raise InputError(f"{path}: {name} cannot be {content[name]!r}. {remedy}")
    for name in content:
        if name not in types:
            raise InputError(f"{path}: unknown key {name}. {remedy}")
    return kind(**content)
