"""The database of a store: SQLite or PostgreSQL, its tables and their version, and a sentence for what goes wrong.

SQLite is used in WAL mode, with every commit synced to the disk. In PostgreSQL a table is locked for the time of an
append (`writing`), so that the numbers of its rows are in the order of the commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args
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


def open_database(place: Path | str, patience: float) -> tuple[Engine, str]:
    """A database that is there, to read from, and its name without a password."""
    url = _url(place)
    if "://" in str(place):
        return _open(url, _without_password(url), patience, create=False)
    _check_file(Path(place), must_be_there=True)
    ways = [{"mode": "ro"}]
    if not Path(f"{place}-wal").exists():
        ways.append({"immutable": "1"})  # in a folder that may not be written, where WAL mode cannot make its files
    for query in ways[:-1]:
        try:
            return _open(_read_only(place, query), str(place), patience, create=False)
        except StoreError:
            continue
    return _open(_read_only(place, ways[-1]), str(place), patience, create=False)


def create_database(place: Path | str, patience: float) -> tuple[Engine, str]:
    """A database to write to, made where there is none, and its name without a password."""
    url = _url(place)
    if "://" in str(place):
        return _open(url, _without_password(url), patience, create=True)
    _check_file(Path(place), must_be_there=False)
    return _open(url, str(place), patience, create=True)


@contextmanager
def reading(engine: Engine, name: str) -> Iterator[Connection]:
    with _in_a_sentence(name), engine.begin() as connection:
        yield connection


@contextmanager
def writing(engine: Engine, name: str, table: Table) -> Iterator[Connection]:
    """A transaction in which nobody else writes to the table."""
    with _in_a_sentence(name), engine.execution_options(writing=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))
        yield connection


def _read_only(place: Path | str, query: dict[str, str]) -> URL:
    return URL.create("sqlite", database=f"file:{quote(str(place))}", query={**query, "uri": "true"})


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
        raise InputError(f"{path} is not a store of answers; give another file, such as answers.db.")


def _open(url: URL, name: str, patience: float, create: bool) -> tuple[Engine, str]:
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
    return engine, name


def _engine(url: URL, patience: float, create: bool) -> Engine:
    if url.get_backend_name() == "postgresql":
        settings = f"-c lock_timeout={round(1000 * patience)} -c synchronous_commit=on"
        arguments = {"connect_timeout": max(2, round(patience)), "options": settings}
        return create_engine(url, connect_args=arguments, pool_pre_ping=True)
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
    names = {*inspect(connection).get_table_names()}
    ours = {*tables.tables}
    if not names & ours:
        if names and connection.dialect.name == "sqlite":
            raise InputError(f"{name} is a database of another program; give another file, such as answers.db.")
        if not create:
            raise InputError(f"{name} holds no answers; give the store that `likewise label` wrote.")
        tables.create_all(connection)
        connection.execute(insert(about), [{"name": "schema", "value": str(SCHEMA)}])
        return
    version = None
    if about.name in names:
        version = connection.execute(select(about.c.value).where(about.c.name == "schema")).scalar()
    if version is not None and version.isdecimal() and int(version) > SCHEMA:
        raise InputError(
            f"{name} was written by a later version of Likewise (its tables are version {version}, "
            f"and this one knows {SCHEMA}); upgrade Likewise."
        )
    if version != str(SCHEMA) or not ours <= names:
        raise InputError(f"{name} is damaged, or a database of another program; give another store.")


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
