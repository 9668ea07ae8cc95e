"""Records: what a run gave and how it was made, one JSON file per run; and their tables in RESULTS.md."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from likewise.errors import InputError
from likewise.storage.records import Form, check_record, read_json, write_json


@dataclass(frozen=True, kw_only=True)
class Record:
    """How a figure was made; each table adds what it measured. It is kept as `results/<table>/<name>.json`.

    No date: a repeated run writes the same record, apart from the times.
    """

    table: str
    settings: dict[str, object]  # everything that training depends on
    cpu_seconds: float
    command: str
    likewise: str  # versions
    torch: str
    cpu: str
    threads: int

    if TYPE_CHECKING:  # a property of the records of most tables, and a field of others

        @property
        def name(self) -> str: ...


class Entry(Protocol):
    """An entry of a table, which has a record once it was run."""

    @property
    def name(self) -> str: ...


SomeRecord = TypeVar("SomeRecord", bound=Record)
SomeEntry = TypeVar("SomeEntry", bound=Entry)


def run_missing(
    entries: Iterable[SomeEntry],
    results: Path,
    table: str,
    kind: type[SomeRecord],
    run: Callable[[SomeEntry], SomeRecord],
) -> Iterator[tuple[SomeRecord, Path, bool]]:
    """Run each entry that has no record yet, and write its record; gives record, path and whether it ran."""
    for entry in entries:
        path = record_path(results, table, entry.name)
        if path.exists():
            yield read_record(path, kind), path, False
        else:
            record = run(entry)
            yield record, write_record(results, record), True


def record_path(results: Path, table: str, name: str) -> Path:
    return results / table / f"{name}.json"


def write_record(results: Path, record: Record) -> Path:
    """Write it, whole or not at all, and give its path."""
    path = record_path(results, record.table, record.name)
    write_json(path, asdict(record))
    return path


def read_records(results: Path, table: str, kind: type[SomeRecord]) -> list[SomeRecord]:
    """Every record of a table, by name; an empty list where there is none."""
    return [read_record(path, kind) for path in sorted((results / table).glob("*.json"))]


def read_record(path: Path, kind: type[SomeRecord]) -> SomeRecord:
    """The record in a file; a field with a default may be missing there, in a record that is older than the field."""
    remedy = "delete the file and run its command again"
    content = read_json(path)
    types = {name: form_of(hint) for name, hint in get_type_hints(kind).items()}
    required = {field.name for field in fields(kind) if field.default is field.default_factory is MISSING}
    there = required | {*content} if isinstance(content, Mapping) else required
    check_record(content, {name: form for name, form in types.items() if name in there}, path, remedy)
    for name in content:
        if name not in types:
            raise InputError(f"{path}: unknown key {name}; {remedy}.")
    return kind(**content)


def form_of(hint: Any) -> Form:
    """What JSON may hold for a field of this type.

    >>> form_of(float | None), form_of(list[int]), form_of(dict[str, float])
    ((<class 'float'>, None), [<class 'int'>], <class 'dict'>)
    """
    if get_origin(hint) in (Union, UnionType):
        return tuple(form_of(each) for each in get_args(hint))
    if get_origin(hint) is list:
        return [form_of(get_args(hint)[0])]
    return None if hint is NoneType else get_origin(hint) or hint


def table(header: Sequence[str], rows: Sequence[Sequence[str]], numeric: Collection[str]) -> str:
    """A table whose numeric columns stand to the right.

    >>> print(table(["name", "n"], [["a", "1"]], {"n"}), end="")
    | name | n |
    | --- | --: |
    | a | 1 |
    """
    rule = ["--:" if name in numeric else "---" for name in header]
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, rule, *rows))


def machines(records: Sequence[Record]) -> str:
    made = {(r.cpu, r.threads, r.torch, r.likewise, str(r.settings.get("precision", ""))) for r in records}
    lines = [
        f"{cpu}, {threads} {'thread' if threads == 1 else 'threads'}, torch {torch}, likewise {likewise}"
        + (f", {precision}" if precision else "")
        for cpu, threads, torch, likewise, precision in sorted(made)
    ]
    return f"Made on: {'; '.join(lines)}.\n"


def notes(results: Path, name: str) -> list[str]:
    """The text of NOTES.md beside the records of a section, if there is one."""
    file = results / name / "NOTES.md"
    return [f"### Notes\n\n{file.read_text(encoding='utf-8').strip()}\n"] if file.exists() else []
