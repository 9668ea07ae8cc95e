"""The benchmark that kills the labelling server, shortened: no answer is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.label_faults import Sent, Trial, compare, measure, record
from benchmarks.postgres import binaries, running_postgres

from likewise.pairs.store import Event, create_store


def check(trial: Trial, people: int, answers: int) -> None:
    assert trial.sound, trial
    assert trial.sent >= people * answers
    assert trial.retries > 0  # somebody was waiting for an acknowledgement when the server was killed


def test_answers_survive_a_kill_on_sqlite(tmp_path: Path) -> None:
    check(measure(str(tmp_path / "answers.db"), people=4, answers=20, kills=1), 4, 20)


def test_answers_survive_a_kill_on_postgresql() -> None:
    if binaries() is None:
        pytest.skip("PostgreSQL is not installed; on Debian: apt-get install postgresql")
    with running_postgres(durable=False) as url:
        check(measure(url, people=4, answers=20, kills=1), 4, 20)


def test_the_benchmark_notices_what_is_lost_doubled_or_changed(tmp_path: Path) -> None:
    sent = Sent(events={"1": ("ann", "same"), "2": ("ann", "same"), "3": ("bob", "same")}, acknowledged=["1", "2", "3"])
    with create_store(tmp_path / "a.db") as store:
        store.append([Event("1", "ann", "a", "b", "same"), Event("3", "bob", "a", "b", "different")])
        store.append([Event("4", "bob", "b", "c", "same")])
    found = compare(Trial("sqlite", 2, 0, 0.0), sent, str(tmp_path / "a.db"))
    assert (found.lost, found.changed, found.unknown, found.sound) == (1, 1, 1, False)
    judged = record([found], 1.0)["bars"]
    assert [bar["verdict"] for bar in judged] == ["miss"]
