"""The answer store: a log of events in a database, from which the answers in force follow.

Rows are only ever added. An answer, a change of it and its withdrawal are one event each:

    number   1, 2, 3, ... in the order of the commits
    id       the client's UUID, unique: an event that is sent twice is there once
    answer   same, different, not sure or withdrawn
    supersedes   the id of the event that this one takes back or replaces

An answer is in force if it is its annotator's last word about the pair, nothing supersedes it, and it is not withdrawn.
SQLite is used in WAL mode, with every commit synced to the disk. In PostgreSQL the table is locked for the time of an
append, so that the numbers are in the order of the commits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self, get_args
from urllib.parse import quote

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from likewise.errors import InputError

SCHEMA = 1  # the version of the tables
PATIENCE = 5.0  # seconds to wait for a store that another program is writing to
DIALECTS = ("sqlite", "postgresql")
HEADER = b"SQLite format 3\x00"

Answer = Literal["same", "different", "not sure", "withdrawn"]
NUMBER = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts by itself in a column of type INTEGER alone

tables = MetaData()
about = Table("likewise_store", tables, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))
events = Table(
    "likewise_events",
    tables,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("annotator", Text, nullable=False),
    Column("left", Text, nullable=False),
    Column("right", Text, nullable=False),
    Column("answer", Text, CheckConstraint(f"answer IN {get_args(Answer)!r}"), nullable=False),
    Column("latency", Float),
    Column("why", Text),
    Column("question", String(36)),
    Column("supersedes", String(36), index=True),
    Column("at", DateTime(timezone=True), nullable=False),
    sqlite_autoincrement=True,  # no number is used twice
)
marks = Table(
    "likewise_marks",
    tables,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("annotator", Text, nullable=False),
    Column("item", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    sqlite_autoincrement=True,
)


class StoreError(InputError):
    """The store cannot be used for the moment, such as one that is locked; the text is one sentence."""


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
        with self._writing(events) as connection:
            known = {each.id: each for each in _select(connection, events.c.id.in_([each.id for each in new]))}
            fresh: dict[str, Event] = {}
            for each in new:
                there = known.get(each.id) or fresh.setdefault(each.id, each)
                if (there.annotator, there.pair, there.answer) != (each.annotator, each.pair, each.answer):
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
        with self._reading() as connection:
            return _select(connection, events.c.number > after)

    def add_marks(self, new: Sequence[Mark]) -> None:
        with self._writing(marks) as connection:
            connection.execute(insert(marks), [{**asdict(each), "at": datetime.now(UTC)} for each in new])

    def marks(self) -> list[Mark]:
        with self._reading() as connection:
            chosen = [marks.c[each.name] for each in fields(Mark)]
            return [Mark(*row) for row in connection.execute(select(*chosen).order_by(marks.c.number))]

    def close(self) -> None:
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with _in_a_sentence(self.name), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def _writing(self, table: Table) -> Iterator[Connection]:
        with _in_a_sentence(self.name), self.engine.execution_options(writing=True).begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))
            yield connection


def open_store(place: Path | str, *, patience: float = PATIENCE) -> AnswerStore:
    """A store that is there, to read from: a file of SQLite or the URL of a database."""
    url = _url(place)
    if url.get_backend_name() == "sqlite" and "://" not in str(place):
        _check_file(Path(place), must_be_there=True)
        wal = Path(f"{place}-wal")
        readable = [{"mode": "ro"}] if wal.exists() else [{"mode": "ro"}, {"immutable": "1"}]  # in a read-only folder
        for number, query in enumerate(readable, 1):
            shown = url.set(database=f"file:{quote(str(place))}", query={**query, "uri": "true"})
            try:
                return _open(shown, str(place), patience, create=False)
            except StoreError:
                if number == len(readable):
                    raise
    return _open(url, _without_password(url), patience, create=False)


def create_store(place: Path | str, *, patience: float = PATIENCE) -> AnswerStore:
    """A store to write to; it is made where there is none."""
    url = _url(place)
    if "://" not in str(place):
        _check_file(Path(place), must_be_there=False)
        return _open(url, str(place), patience, create=True)
    return _open(url, _without_password(url), patience, create=True)


def _url(place: Path | str) -> URL:
    if "://" not in str(place):
        return URL.create("sqlite", database=str(place))
    try:
        url = make_url(str(place))
    except ArgumentError as error:
        raise InputError(
            "The store is no URL of a database; give a file, or postgresql+psycopg://NAME@HOST/DATABASE."
        ) from error
    if url.get_backend_name() not in DIALECTS:
        raise InputError(
            f"{_without_password(url)} is a database that Likewise does not use; give PostgreSQL or a file."
        )
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


def _without_password(url: URL) -> str:
    return url.render_as_string(hide_password=True)


def _check_file(path: Path, must_be_there: bool) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the store the name of a file, such as answers.db.")
    if not path.exists():
        if must_be_there:
            raise InputError(f"{path} does not exist; give the store that `likewise label` wrote.")
        if not path.absolute().parent.is_dir():
            raise InputError(f"{path.absolute().parent} does not exist; make the folder of the store first.")
        return
    try:
        with path.open("rb") as file:
            begins = file.read(len(HEADER))
    except PermissionError as error:
        raise InputError(f"{path} may not be read; give yourself the right to.") from error
    if begins not in (HEADER, b""):
        raise InputError(f"{path} is no store of answers; give another file, such as answers.db.")


def _open(url: URL, name: str, patience: float, create: bool) -> AnswerStore:
    try:
        engine = _engine(url, patience, create)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise InputError(f"{name} needs a driver that is not installed; pip install 'likewise[label]'.") from error
    try:
        with _in_a_sentence(name), engine.execution_options(writing=create).begin() as connection:
            _check_tables(connection, name, create)
    except BaseException:
        engine.dispose()
        raise
    return AnswerStore(engine, name)


def _engine(url: URL, patience: float, create: bool) -> Engine:
    if url.get_backend_name() == "postgresql":
        settings = f"-c lock_timeout={round(1000 * patience)} -c synchronous_commit=on"
        given = {"connect_timeout": max(2, round(patience)), "options": settings}
        return create_engine(url, connect_args=given, pool_pre_ping=True)
    engine = create_engine(url, connect_args={"timeout": patience})

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, record: object) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        if create:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _check_tables(connection: Connection, name: str, create: bool) -> None:
    """Refuse a database of another program or of a later version; make the tables in an empty one."""
    there = {*inspect(connection).get_table_names()}
    ours = {*tables.tables}
    if not there & ours:
        if there and connection.dialect.name == "sqlite":
            raise InputError(f"{name} is a database of another program; give another file, such as answers.db.")
        if not create:
            raise InputError(f"{name} holds no answers; give the store that `likewise label` wrote.")
        tables.create_all(connection)
        connection.execute(insert(about), [{"name": "schema", "value": str(SCHEMA)}])
        return
    version = None
    if about.name in there:
        version = connection.execute(select(about.c.value).where(about.c.name == "schema")).scalar()
    if version is not None and version.isdecimal() and int(version) > SCHEMA:
        raise InputError(
            f"{name} was written by a later version of Likewise (its tables are version {version}, "
            f"and this one knows {SCHEMA}); upgrade Likewise."
        )
    if version != str(SCHEMA) or not ours <= there:
        raise InputError(f"{name} is damaged, or a database of another program; give another store.")


def _select(connection: Connection, where: Any) -> list[Event]:
    chosen = [events.c[each.name] for each in fields(Event)]
    rows = [Event(*row) for row in connection.execute(select(*chosen).where(where).order_by(events.c.number))]
    return [each if each.at.tzinfo else replace(each, at=each.at.replace(tzinfo=UTC)) for each in rows]  # of SQLite


@contextmanager
def _in_a_sentence(name: str) -> Iterator[None]:
    """Inside, what a database raises becomes a StoreError."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreError(_sentence(name, error)) from error


def _sentence(name: str, error: SQLAlchemyError) -> str:
    reason = str(error.orig if isinstance(error, DBAPIError) else error).strip().partition("\n")[0]
    plain = reason.casefold()
    if "locked" in plain or "lock timeout" in plain:
        return f"{name} is locked by another program; end that one, and try again."
    if "readonly" in plain or "read-only" in plain or "permission denied" in plain:
        return f"{name} may not be written; give yourself the right to, or give another store."
    if "not a database" in plain or "malformed" in plain:
        return f"{name} is damaged, or no store of answers ({reason}); give another store."
    if "no password supplied" in plain or "authentication failed" in plain:
        return f"{name} wants a password; set PGPASSWORD, or write ~/.pgpass."
    return f"{name} cannot be used ({reason}); set that right, and try again."
