"""What a session knows follows from the log alone: the answers in force, and what the chooser was told."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.labelling.rendering import groups_now, mark_group
from likewise.labelling.session import LabellingSession
from likewise.labelling.shown_items import Rows
from likewise.pairs.store import Event, create_store, in_force
from likewise.querying import QuestionChooser

X = np.array([[0.0, 0], [0, 0.1], [0.1, 0], [5, 5], [5, 5.1], [5.1, 5]])
NAMES = [f"item {row}" for row in range(len(X))]
SAID = st.tuples(
    st.sampled_from(["ann", "bob", "eve"]),
    st.sampled_from([(0, 1), (1, 0), (0, 3), (4, 5)]),
    st.sampled_from(["same", "different", "not sure", "withdrawn"]),
)


def session_of(store: object) -> LabellingSession:
    return LabellingSession(Rows(("x", "y"), X), NAMES, QuestionChooser(X), store)  # type: ignore[arg-type]


@settings(max_examples=10, deadline=None)
@given(st.lists(SAID, max_size=10))
def test_answers_one_by_one_and_the_log_replayed_give_the_same(said: list[tuple[str, tuple[int, int], str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, create_store(Path(folder) / "a.db") as store:
        live = session_of(store)
        for number, (by, (left, right), answer) in enumerate(said):
            live.save(by, [Event(str(number), by, NAMES[left], NAMES[right], answer)])  # type: ignore[arg-type]
        replayed = session_of(store)
        assert replayed.answers == live.answers
        known = {event.id for given in live.answers.values() for event in given.values()}
        assert known == {event.id for event in in_force(store.events())}
        assert live.n_answers == len(known)
        assert live.chooser.labels_.tolist() == replayed.chooser.labels_.tolist()
        assert live.chooser.next() == replayed.chooser.next()


def test_the_chooser_is_told_what_each_person_says() -> None:
    with tempfile.TemporaryDirectory() as folder, create_store(Path(folder) / "a.db") as store:
        session = session_of(store)
        answers = []
        for number, (by, answer) in enumerate(
            [("ann", "same"), ("bob", "different"), ("ann", "different"), ("ann", "withdrawn"), ("bob", "not sure")]
        ):
            session.save(by, [Event(str(number), by, NAMES[0], NAMES[1], answer)])  # type: ignore[arg-type]
            answers.append(session.chooser.answers)
        assert answers == [1, 2, 2, 1, 0]


def test_nothing_is_asked_about_a_finished_group_until_it_is_opened_again() -> None:
    with tempfile.TemporaryDirectory() as folder, create_store(Path(folder) / "a.db") as store:
        session = session_of(store)
        asked = session.ask("ann")
        assert asked is not None
        groups = groups_now(session)
        for group in groups:
            mark_group(session, "ann", group, {"finished": "1"})
        assert session.ask("bob") is None
        for group in groups:
            mark_group(session, "ann", group, {"finished": "0"})
        assert session.ask("bob") is not None
