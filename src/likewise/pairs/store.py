"""The answer store: a log of events in a database, from which the answers in force follow.

Rows are only ever added. An answer, a change of it and its withdrawal are one event each:

    number   1, 2, 3, ... in the order of the commits
    id       the client's UUID, unique: an event that is sent twice is there once
    answer   same, different, not sure or withdrawn
    supersedes   the id of the event that this one takes back or replaces

An answer is in force if it is its annotator's last word about the pair, nothing supersedes it, and it is not withdrawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from sqlalchemy import Engine, insert, select
from sqlalchemy.engine import Connection

from likewise.pairs.database import (
    PATIENCE,
    Answer,
    create_database,
    events,
    marks,
    open_database,
    reading,
    writing,
)


class EventConflict(Exception):
    """The id of an event belongs to another one; the text is one sentence."""


@dataclass(frozen=True)
class Event:
    """One answer, change or withdrawal; `number` and `at` are the store's."""

    id: str
    annotator: str
    left: str  # the names of the items, as in a file of answers
    right: str
    answer: Answer
    latency: float | None = None  # seconds
    why: str | None = None  # the kind of question that it answers
    question: str | None = None  # whose id is shared by all answers of one screen
    supersedes: str | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    number: int = 0

    @property
    def pair(self) -> tuple[str, str]:
        """Both items, in alphabetical order."""
        return (self.left, self.right) if self.left <= self.right else (self.right, self.left)


@dataclass(frozen=True)
class Mark:
    """What somebody said of the group that an item is in: its name, or that it is pure or finished."""

    annotator: str
    item: str
    what: Literal["name", "pure", "finished"]
    value: str


def in_force(log: Sequence[Event]) -> list[Event]:
    """The events of a log that are answers in force, "not sure" among them, in order.

    >>> first = Event("1", "ann", "a", "b", "same")
    >>> change = Event("2", "ann", "b", "a", "different", supersedes="1")
    >>> [each.id for each in in_force([first, change])]
    ['2']
    >>> in_force([first, change, Event("3", "ann", "a", "b", "withdrawn", supersedes="2")])
    []
    """
    superseded = {each.supersedes for each in log}
    last = {(each.annotator, each.pair): each for each in log}
    return [
        each
        for each in log
        if each.id not in superseded and each.answer != "withdrawn" and last[each.annotator, each.pair] is each
    ]


class AnswerStore:
    """A store that is open; `open_store` and `create_store` give one.

    >>> import tempfile
    >>> store = create_store(Path(tempfile.mkdtemp()) / "answers.db")
    >>> store.append([Event("one", "ann", "cat.png", "dog.png", "different")])
    >>> store.append([Event("one", "ann", "cat.png", "dog.png", "different")])  # sent again
    >>> [(each.number, each.left, each.answer) for each in store.events()]
    [(1, 'cat.png', 'different')]
    >>> store.close()
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name  # without a password

    def append(self, new: Sequence[Event]) -> None:
        """Add events, all or none, and return when they are on the disk; one that is there already is passed over."""
        with writing(self.engine, self.name, events) as connection:
            known = {each.id: each for each in _select(connection, events.c.id.in_([each.id for each in new]))}
            fresh: dict[str, Event] = {}
            for each in new:
                earlier = known.get(each.id) or fresh.setdefault(each.id, each)
                if (earlier.annotator, earlier.pair, earlier.answer) != (each.annotator, each.pair, each.answer):
                    raise EventConflict(
                        f"The id {each.id} belongs to another answer; give each answer an id of its own."
                    )
            if fresh:
                rows = [
                    {name: value for name, value in asdict(each).items() if name != "number"} for each in fresh.values()
                ]
                connection.execute(insert(events), rows)

    def events(self, after: int = 0) -> list[Event]:
        """All events, or those whose number is above `after`, in order."""
        with reading(self.engine, self.name) as connection:
            return _select(connection, events.c.number > after)

    def add_marks(self, new: Sequence[Mark]) -> None:
        with writing(self.engine, self.name, marks) as connection:
            connection.execute(insert(marks), [{**asdict(each), "at": datetime.now(UTC)} for each in new])

    def marks(self) -> list[Mark]:
        with reading(self.engine, self.name) as connection:
            chosen = [marks.c[each.name] for each in fields(Mark)]
            return [Mark(*row) for row in connection.execute(select(*chosen).order_by(marks.c.number))]

    def close(self) -> None:
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_store(place: Path | str, *, patience: float = PATIENCE) -> AnswerStore:
    """A store that is there, to read from: a file of SQLite or the URL of a database."""
    return AnswerStore(*open_database(place, patience))


def create_store(place: Path | str, *, patience: float = PATIENCE) -> AnswerStore:
    """A store to write to; it is made where there is none."""
    return AnswerStore(*create_database(place, patience))


def _select(connection: Connection, where: Any) -> list[Event]:
    chosen = [events.c[each.name] for each in fields(Event)]
    rows = [Event(*row) for row in connection.execute(select(*chosen).where(where).order_by(events.c.number))]
    return [each if each.at.tzinfo else replace(each, at=each.at.replace(tzinfo=UTC)) for each in rows]  # of SQLite
