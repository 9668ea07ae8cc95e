"""The answer store: events that are only added, the answers in force, and the stores that must be refused."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks.postgres import binaries, running_postgres
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, text

from likewise.errors import InputError
from likewise.pairs import Pairs
from likewise.pairs.database import SCHEMA, StoreError
from likewise.pairs.store import (
    AnswerStore,
    Event,
    EventConflict,
    Mark,
    create_store,
    in_force,
    open_store,
)

NOBODY = 65534


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    if binaries() is None:
        pytest.skip("PostgreSQL is not installed; on Debian: apt-get install postgresql")
    with running_postgres(durable=False) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where a store can be made."""
    if request.param == "sqlite":
        return tmp_path / "answers.db"
    url: str = request.getfixturevalue("postgres")
    name = f"test_{abs(hash(str(tmp_path)))}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return url.replace("/postgres", f"/{name}") if url.endswith("/postgres") else url


def answer(number: int, said: str = "same", by: str = "ann", pair: str = "ab", **further: object) -> Event:
    return Event(f"id-{number}", by, pair[0], pair[1], said, **further)  # type: ignore[arg-type]


def test_what_is_appended_is_there_after_the_store_is_opened_again(place: Path | str) -> None:
    with create_store(place) as store:
        store.append([answer(1, latency=1.5, why="audit", question="q"), answer(2, "different", pair="bc")])
        store.append([answer(3, "not sure", by="bob", pair="cd")])
        store.add_marks([Mark("ann", "a", "name", "cats")])
        first = store.events()
    with open_store(place) as store:
        again = store.events()
        assert again == first
        assert [(each.number, each.id) for each in again] == [(1, "id-1"), (2, "id-2"), (3, "id-3")]
        assert (again[0].latency, again[0].why, again[0].question) == (1.5, "audit", "q")
        assert again[0].at.tzinfo is not None
        assert [each.id for each in store.events(after=2)] == ["id-3"]
        assert store.marks() == [Mark("ann", "a", "name", "cats")]


def test_an_event_that_is_sent_again_is_there_once(place: Path | str) -> None:
    with create_store(place) as store:
        store.append([answer(1)])
        store.append([answer(1), answer(2, pair="bc"), answer(2, pair="bc")])
        assert [each.id for each in store.events()] == ["id-1", "id-2"]


def test_the_id_of_another_answer_is_refused_and_nothing_of_the_message_is_kept(place: Path | str) -> None:
    with create_store(place) as store:
        store.append([answer(1)])
        for other in (answer(1, "different"), answer(1, by="bob"), answer(1, pair="ac")):
            with pytest.raises(EventConflict, match="id-1 belongs to another answer"):
                store.append([answer(2, pair="bc"), other])
        with pytest.raises(EventConflict):
            store.append([answer(3), answer(3, "different")])
        assert [each.id for each in store.events()] == ["id-1"]


def test_many_threads_append_at_once(place: Path | str) -> None:
    with create_store(place) as store:

        def post(who: int) -> None:
            for number in range(10):
                store.append([answer(100 * who + number, by=f"p{who}")])

        threads = [threading.Thread(target=post, args=(who,)) for who in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(each.id for each in store.events()) == sorted(
            f"id-{100 * w + n}" for w in range(6) for n in range(10)
        )
        assert [each.number for each in store.events()] == sorted(each.number for each in store.events())


def test_answers_in_force() -> None:
    log = [
        answer(1),
        answer(2, "different", by="bob"),
        answer(3, "different", supersedes="id-1"),  # a change
        answer(4, pair="cd"),
        answer(5, "withdrawn", pair="cd", supersedes="id-4"),
        answer(6, "not sure", pair="ef"),
        answer(7, pair="fe"),  # the same person about the same pair, from another tab
    ]
    assert [each.id for each in in_force(log)] == ["id-2", "id-3", "id-7"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["ann", "bob"]), st.sampled_from(["ab", "ba", "bc"]), st.booleans()), max_size=12
    )
)
def test_one_person_has_at_most_one_answer_about_a_pair(said: list[tuple[str, str, bool]]) -> None:
    log = [answer(number, "withdrawn" if gone else "same", by, pair) for number, (by, pair, gone) in enumerate(said)]
    kept = in_force(log)
    last = {(each.annotator, each.pair): each for each in log}
    assert {(each.annotator, each.pair): each for each in kept} == {
        key: each for key, each in last.items() if each.answer != "withdrawn"
    }
    assert len(kept) == len({(each.annotator, each.pair) for each in kept})


def test_pairs_are_read_from_a_store(place: Path | str) -> None:
    with create_store(place) as store:
        store.append(
            [
                answer(1, by="ann"),
                answer(2, "different", by="bob", pair="bc"),
                answer(3, "not sure", pair="cd"),
                answer(4, "withdrawn", by="bob", pair="bc", supersedes="id-2"),
                answer(5, "different", by="bob", pair="bd"),
            ]
        )
    pairs = Pairs.read(place)
    assert [pairs.name(each) for each in pairs.left] == ["a", "b"]
    assert [pairs.name(each) for each in pairs.right] == ["b", "d"]
    assert pairs.same.tolist() == [1, 0]
    assert [pairs.annotators[each] for each in pairs.annotator] == ["ann", "bob"]
    assert pairs.lines.tolist() == [1, 5]
    assert pairs.source.place(1).endswith(", event 5")


def test_row_numbers_stay_row_numbers(tmp_path: Path) -> None:
    with create_store(tmp_path / "answers.db") as store:
        store.append([Event("1", "ann", "0", "17", "same")])
    pairs = Pairs.read(tmp_path / "answers.db")
    assert (pairs.ids, pairs.right.tolist()) == (None, [17])


def test_a_store_without_answers_is_refused(place: Path | str) -> None:
    with create_store(place) as store:
        store.append([answer(1, "not sure")])
    with pytest.raises(InputError, match="holds no answers yet"):
        Pairs.read(place)


def test_a_later_version_is_refused(place: Path | str) -> None:
    with create_store(place) as store, store.engine.begin() as connection:
        connection.execute(text("UPDATE likewise_store SET value = '2' WHERE name = 'schema'"))
    assert SCHEMA == 1
    for opened in (open_store, create_store):
        with pytest.raises(InputError, match=r"later version of Likewise .*version 2.*upgrade"):
            opened(place)


@pytest.mark.parametrize("change", ["DROP TABLE likewise_events", "UPDATE likewise_store SET value = 'x'"])
def test_a_damaged_store_is_refused(place: Path | str, change: str) -> None:
    with create_store(place) as store, store.engine.begin() as connection:
        connection.execute(text(change))
    with pytest.raises(InputError, match="damaged, or a database of another program"):
        create_store(place)


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE visits (page TEXT)")
    before = path.read_bytes()
    for opened in (open_store, create_store):
        with pytest.raises(InputError, match="is a database of another program"):
            opened(path)
    other.close()
    with sqlite3.connect(path) as again:
        assert [name for (name,) in again.execute("SELECT name FROM sqlite_master")] == ["visits"]
    again.close()
    assert len(path.read_bytes()) == len(before)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"left,right,same\n", "is not a store of answers"),
        (b"SQLite format 3\0 and then nothing of the kind", "damaged"),
    ],
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "answers.db"
    path.write_bytes(content)
    for opened in (open_store, create_store):
        with pytest.raises(InputError, match=sentence):
            opened(path)
    assert path.read_bytes() == content


def test_a_store_that_is_not_there_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        Pairs.read(tmp_path / "answers.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="is a folder"):
        Pairs.read(_folder(tmp_path / "answers.sqlite"))
    with pytest.raises(InputError, match="make the folder of the store first"):
        create_store(tmp_path / "nowhere" / "answers.db")


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://host/answers", "does not use; give PostgreSQL or a file"),
        ("://", "no URL of a database"),
        ("postgresql+psycopg://team:secret@127.0.0.1:1/answers", "cannot be used"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as refused:
        create_store(url, patience=0.1)
    assert "secret" not in str(refused.value)


def test_a_locked_store_is_refused_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    with create_store(path, patience=0.01) as store:
        store.append([answer(1)])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="is locked by another program"):
            store.append([answer(2, pair="bc")])
        with pytest.raises(InputError, match="is locked by another program"):
            create_store(path, patience=0.01)
        other.execute("ROLLBACK")
        other.close()
        store.append([answer(2, pair="bc")])
        assert [each.id for each in store.events()] == ["id-1", "id-2"]


def test_a_locked_table_of_postgresql_is_refused(postgres: str) -> None:
    with create_store(postgres, patience=0.05) as store:
        store.append([answer(1)])
        with store.engine.begin() as other:
            other.execute(text("LOCK TABLE likewise_events IN ACCESS EXCLUSIVE MODE"))
            with pytest.raises(StoreError, match="is locked by another program"):
                store.append([answer(2)])


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Root may write everything; inside, we are not root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_store_that_may_not_be_written_can_be_read() -> None:
    folder = Path(tempfile.mkdtemp())  # pytest's own are closed to others
    try:
        with create_store(folder / "answers.db") as store:
            store.append([answer(1), answer(2, "different", pair="bc")])
        (folder / "answers.db").chmod(0o444)
        folder.chmod(0o555)
        with as_somebody_else():
            assert len(Pairs.read(folder / "answers.db")) == 2
            with pytest.raises(InputError, match="may not be written"):
                create_store(folder / "answers.db")
        assert [path.name for path in folder.iterdir()] == ["answers.db"]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_the_postgresql_database_may_hold_other_tables(place: Path | str) -> None:
    if isinstance(place, Path):
        pytest.skip("a file of SQLite is ours alone")
    engine = create_engine(place)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE people (name TEXT)"))
    engine.dispose()
    with pytest.raises(InputError, match="holds no answers"):
        open_store(place)
    with create_store(place) as store:
        store.append([answer(1)])
        assert isinstance(store, AnswerStore)
        assert len(store.events()) == 1
