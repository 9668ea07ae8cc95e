"""Several people at once: nobody looks at what another does, and a share of the pairs is given to two, blind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.labelling.conftest import KEY, Place, reply
from tests.labelling.test_api import ask, post

from likewise.errors import InputError
from likewise.labelling.gate import Doorkeeper, load_key, read_people
from likewise.labelling.leases import Leases

Enter = Callable[..., TestClient]


def pair_of(question: dict[str, Any]) -> frozenset[str]:
    return frozenset((question["left"]["id"], question["right"]["id"]))


def test_two_people_look_at_different_pairs(place: Place, enter: Enter) -> None:
    here = place.start(("ann", "bob", "eve"))
    clients = [enter(here, person) for person in ("ann", "bob", "eve")]
    for _ in range(4):
        questions = [ask(client) for client in clients]
        shown = [
            {pair_of(question), *(pair_of(branch) for branch in question["then"].values() if branch is not None)}
            for question in questions
        ]
        assert not shown[0] & shown[1]
        assert not shown[0] & shown[2]
        assert not shown[1] & shown[2]
        for client, question in zip(clients, questions, strict=True):
            assert post(client, reply(question, place.same(question)), mode=None).status_code == 200
    assert here.session.n_answers == 12
    assert len(here.session.answers) == 12
    here.session.store.close()


def test_a_lease_ends_with_time(place: Place, enter: Enter) -> None:
    here = place.start()
    ann, bob = enter(here), enter(here, "bob")
    first = pair_of(ask(ann))
    assert pair_of(ask(bob)) != first
    place.clock.now += 10_000
    assert ask(bob)  # his own question stays open
    eve = place.start(("eve",))
    eve.session.leases = here.session.leases
    assert pair_of(ask(enter(eve, "eve"))) == first
    here.session.store.close()
    eve.session.store.close()


def test_leases_are_renewed_and_replaced() -> None:
    now = [0.0]
    leases = Leases(seconds=10, clock=lambda: now[0])
    leases.take("ann", [(0, 1), (0, 2)])
    leases.take("bob", [(0, 1), (3, 4)])  # one of them is ann's
    assert leases.of_others("ann") == {(3, 4)}
    assert leases.of_others("bob") == {(0, 1), (0, 2)}
    now[0] = 8
    leases.renew("ann")
    now[0] = 12
    assert leases.of_others("bob") == {(0, 1), (0, 2)}
    assert leases.people() == {"ann"}
    leases.take("ann", [(5, 6)])
    assert leases.of_others("bob") == {(5, 6)}


@pytest.mark.parametrize("overlap", [0.0, 1.0])
def test_a_share_of_the_pairs_is_given_to_two(place: Place, enter: Enter, overlap: float) -> None:
    place.overlap = overlap
    here = place.start(("ann", "bob", "eve"))
    ann, bob, eve = (enter(here, person) for person in ("ann", "bob", "eve"))
    answered = []
    for _ in range(3):
        question = ask(ann)
        answered.append(pair_of(question))
        post(ann, reply(question, 1), mode=None)
    second = ask(bob)
    assert (pair_of(second) in answered) == bool(overlap)
    if overlap:
        assert "ann" not in str(second)  # and nothing else tells that it is a second opinion
        assert second["kind"] in {event.why for event in here.session.log.values()}
        post(bob, reply(second, 0), mode=None)
        given = here.session.answers[here.session._pair(list(here.session.log.values())[-1])]
        assert {name: event.answer for name, event in given.items()} == {"ann": "same", "bob": "different"}
        seen = [pair_of(ask(bob))]
        assert pair_of(second) not in (pair_of(ask(eve)), *seen)  # two opinions are enough
    here.session.store.close()


def test_a_tenth_is_a_tenth(place: Place, enter: Enter) -> None:
    place.overlap = 0.1
    here = place.start()
    n = len(place.names)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    share = sum(here.session._is_for_two(pair) for pair in pairs) / len(pairs)
    assert 0.06 < share < 0.14
    here.session.store.close()


def test_an_annotator_who_is_not_listed_is_not_let_in(place: Place, enter: Enter) -> None:
    here = place.start(("ann",))
    stranger = Doorkeeper(("mallory",), KEY)  # even with the right key: the name is not on the list
    client = enter(here, token=stranger.token("mallory"))
    assert client.get("/", params={"token": stranger.token("mallory")}).status_code == 403
    client.cookies.set(here.door.cookie_name, stranger.cookie("mallory"))
    refused = client.get("/api/question")
    assert (refused.status_code, refused.json()["detail"]) == (
        401,
        "You are not known here; open the address that likewise label printed.",
    )
    here.session.store.close()


def test_names_are_read_from_a_file(tmp_path: Any) -> None:
    file = tmp_path / "people.txt"
    file.write_text("ann\n\n# who left\n  Björn B. \n", encoding="utf-8")
    assert read_people(file) == ("ann", "Björn B.")
    for content, sentence in (
        (b"", "names nobody"),
        (b"ann\nann\n", "twice"),
        (b"x" * 65, "64 letters"),
        (b"\xff\xfe", "cannot be read"),
    ):
        file.write_bytes(content)
        with pytest.raises(InputError, match=sentence):
            read_people(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_people(tmp_path / "nobody.txt")


def test_the_key_of_a_store_stays_and_is_ours_alone(tmp_path: Any) -> None:
    folder = tmp_path / "keys"
    key = load_key(folder, "answers.db")
    assert load_key(folder, "answers.db") == key
    assert load_key(folder, "other.db") != key
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    (next(iter(folder.iterdir()))).write_bytes(b"short")
    assert len(load_key(folder, "answers.db")) == 32
    assert load_key(tmp_path / "file" / "x", "a") != load_key(tmp_path / "file2" / "x", "a")
