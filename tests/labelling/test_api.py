"""Questions and answers over HTTP: saved before they are acknowledged, never lost, never doubled."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from fastapi.testclient import TestClient
from PIL import Image
from sqlalchemy import text
from tests.labelling.conftest import N, Place, reply

from likewise.labelling.api import Labelling
from likewise.pairs.store import in_force

Enter = Callable[..., TestClient]


def ask(client: TestClient, mode: str = "pair") -> dict[str, Any]:
    response = client.get("/api/question", params={"mode": mode})
    assert response.status_code == 200, response.text
    question: dict[str, Any] = response.json()["question"]
    return question


def post(client: TestClient, *answers: dict[str, Any], mode: str | None = "pair") -> Any:
    return client.post("/api/answers", json={"answers": list(answers), "mode": mode})


def in_store(here: Labelling) -> list[tuple[str, str]]:
    """The answers in force, by their ids."""
    return [(event.id, event.answer) for event in in_force(here.session.store.events())]


def test_a_session_says_who_and_what(ann: TestClient) -> None:
    said = ann.get("/api/session").json()
    assert (said["annotator"], said["items"], said["form"]) == ("ann", N, "image")
    assert said["store"].endswith("answers.db")


def test_answers_reach_the_classes(ann: TestClient, here: Labelling, place: Place) -> None:
    question = ask(ann)
    for _ in range(15):
        said = post(ann, reply(question, place.same(question))).json()
        question = said["question"]
    assert said["progress"]["answers"] == 15
    assert said["progress"]["classes"] == 3
    groups = said["progress"]["groups"]
    assert [group["size"] for group in groups] == [10, 10, 10]
    assert all(len({place.kind_of(item["id"]) for item in group["items"]}) == 1 for group in groups)
    assert len(in_store(here)) == 15


def test_the_page_has_both_branches_before_the_answer(ann: TestClient, place: Place) -> None:
    question = ask(ann)
    for _ in range(8):
        same = place.same(question)
        shown = question["then"]["same" if same else "different"]
        question = post(ann, reply(question, same)).json()["question"]
        assert shown["id"] == question["id"]
        assert shown["left"]["id"] == question["left"]["id"]


def test_the_question_stays_until_it_is_answered(ann: TestClient) -> None:
    assert ask(ann)["id"] == ask(ann)["id"]


def test_no_pair_is_asked_twice(ann: TestClient, place: Place) -> None:
    question, seen = ask(ann), set()
    for number in range(20):
        pair = frozenset((question["left"]["id"], question["right"]["id"]))
        assert pair not in seen
        seen.add(pair)
        question = post(ann, reply(question, None if number % 5 == 0 else place.same(question))).json()["question"]


def test_a_retry_is_saved_once_and_acknowledged_again(ann: TestClient, here: Labelling) -> None:
    answer = reply(ask(ann), 1)
    for _ in range(3):
        response = post(ann, answer)
        assert response.status_code == 200
        assert response.json()["saved"] == [answer["id"]]
        assert response.json()["progress"]["answers"] == 1
    assert in_store(here) == [(answer["id"], "same")]


def test_the_id_of_another_answer_is_refused(ann: TestClient, here: Labelling) -> None:
    question = ask(ann)
    first = reply(question, 1)
    post(ann, first)
    refused = post(ann, {**first, "answer": 0})
    assert refused.status_code == 409
    assert "belongs to another answer" in refused.json()["detail"]
    assert in_store(here) == [(first["id"], "same")]


def test_undo_is_an_event(ann: TestClient, here: Labelling, place: Place) -> None:
    question, given = ask(ann), []
    for _ in range(6):
        given.append(reply(question, place.same(question)))
        question = post(ann, given[-1]).json()["question"]
    before = len(here.session.store.events())
    for answer in reversed(given[1:]):
        undo = {**answer, "id": str(uuid.uuid4()), "supersedes": answer["id"], "withdraw": True}
        assert post(ann, undo).status_code == 200
    assert [each for each, _ in in_store(here)] == [given[0]["id"]]
    assert len(here.session.store.events()) == before + 5
    assert ann.get("/api/progress").json()["answers"] == 1
    assert [each["id"] for each in ann.get("/api/history").json()["answers"]] == [given[0]["id"]]


def test_an_answer_can_be_changed(ann: TestClient, here: Labelling) -> None:
    first = reply(ask(ann), 1)
    post(ann, first)
    change = {**first, "id": str(uuid.uuid4()), "answer": 0, "supersedes": first["id"]}
    assert post(ann, change).json()["progress"]["answers"] == 1
    assert in_store(here) == [(change["id"], "different")]
    assert ann.get("/api/history").json()["answers"][0]["answer"] == 0


def test_two_tabs_that_answer_the_same_question_count_once(ann: TestClient, here: Labelling) -> None:
    question = ask(ann)
    one, other = reply(question, 1), reply(question, 0)
    post(ann, one)
    assert post(ann, other).json()["progress"]["answers"] == 1
    assert in_store(here) == [(other["id"], "different")]
    assert here.session.store.events()[1].supersedes == one["id"]


def test_what_was_answered_is_known_after_a_restart(place: Place, enter: Enter) -> None:
    before = place.start()
    client = enter(before)
    question = ask(client)
    for _ in range(7):
        question = post(client, reply(question, place.same(question))).json()["question"]
    undone = client.get("/api/history").json()["answers"][0]
    left, right = undone["left"]["id"], undone["right"]["id"]
    undo = {"id": str(uuid.uuid4()), "left": left, "right": right, "answer": None, "supersedes": undone["id"]}
    post(client, {**undo, "withdraw": True})
    last, planned = ask(client), before.session.chooser.next()
    progress, history = client.get("/api/progress").json(), client.get("/api/history").json()
    before.session.store.close()

    after = place.start()
    again = enter(after)
    assert again.get("/api/progress").json() | {"per_minute": 0} == progress | {"per_minute": 0}
    assert again.get("/api/history").json() == history
    assert after.session.chooser.next() == planned
    late = reply(last, place.same(last), kind="audit")  # of a question that the new server has not asked
    assert post(again, late).status_code == 200
    assert after.session.log[late["id"]].why == "audit"
    after.session.store.close()


def test_answers_that_another_program_adds_are_taken_up(ann: TestClient, here: Labelling) -> None:
    from likewise.pairs.store import Event, create_store

    with create_store(here.session.store.name) as other:
        other.append([Event(str(uuid.uuid4()), "bob", here.session.names[0], here.session.names[3], "same")])
    assert ann.get("/api/progress").json()["answers"] == 1


def test_a_grid_is_many_answers_in_one_message(ann: TestClient, here: Labelling, place: Place) -> None:
    question = ask(ann, "grid")
    anchor = question["anchor"][0]
    assert len({place.kind_of(item["id"]) for item in question["anchor"]}) == 1
    kind = place.kind_of(anchor["id"])
    answers = [
        reply({"id": question["id"], "left": anchor, "right": each}, int(place.kind_of(each["id"]) == kind))
        for each in question["candidates"]
    ]
    said = post(ann, *answers, mode="grid").json()
    assert said["progress"]["answers"] == len(answers) <= 12
    assert said["question"] is None or said["question"]["id"] != question["id"]
    past = ann.get("/api/history").json()["answers"]
    assert {(each["question"], each["mode"]) for each in past} == {(question["id"], "grid")}


def test_a_strip_shows_an_item_and_one_of_each_class(ann: TestClient, place: Place) -> None:
    question = ask(ann, "strip")
    groups = [each["group"] for each in question["representatives"]]
    assert len(groups) == len({*groups})
    item = question["item"]
    answers = [
        reply(
            {"id": question["id"], "left": item, "right": each["item"]},
            int(place.kind_of(each["item"]["id"]) == place.kind_of(item["id"])),
        )
        for each in question["representatives"]
    ]
    assert post(ann, *answers, mode="strip").status_code == 200
    assert ann.get("/api/history").json()["answers"][0]["mode"] == "strip"


def test_groups_can_be_named_and_keep_their_names(place: Place, enter: Enter) -> None:
    here = place.start()
    client = enter(here)
    group = client.get("/api/progress").json()["groups"][0]
    said = client.post(f"/api/groups/{group['id']}", json={"name": "<b>cats</b>", "pure": True}).json()
    named = next(each for each in said["groups"] if each["id"] == group["id"])
    assert (named["name"], named["pure"], named["finished"]) == ("<b>cats</b>", True, False)
    client.post(f"/api/groups/{group['id']}", json={"finished": True, "pure": False})
    here.session.store.close()
    after = place.start()
    names = {
        (each["name"], each["pure"], each["finished"]) for each in enter(after).get("/api/progress").json()["groups"]
    }
    assert names == {("<b>cats</b>", False, True), (None, False, False)}
    after.session.store.close()


def test_merging_two_groups_asks_the_pairs_that_matter(ann: TestClient) -> None:
    one, other = ann.get("/api/progress").json()["groups"][:2]
    questions = ann.post("/api/groups/merge", json={"a": one["id"], "b": other["id"]}).json()["questions"]
    assert 1 <= len(questions) <= 3
    for question in questions:
        assert (question["left"]["group"], question["right"]["group"]) == (one["id"], other["id"])
    post(ann, *(reply(question, 0) for question in questions))
    again = ann.post("/api/groups/merge", json={"a": one["id"], "b": other["id"]}).json()["questions"]
    assert not {question["id"] for question in again} & {question["id"] for question in questions}
    assert ann.post("/api/groups/merge", json={"a": 1, "b": 1}).status_code == 422
    assert ann.post("/api/groups/merge", json={"a": 1, "b": 99}).status_code == 404


def test_a_group_lists_its_items(ann: TestClient, place: Place) -> None:
    group = ann.get("/api/progress").json()["groups"][0]
    items = ann.get(f"/api/groups/{group['id']}", params={"limit": 5}).json()["items"]
    assert len(items) == 5
    assert len({place.kind_of(item["id"]) for item in items}) == 1


def test_a_wrong_answer_is_in_the_inbox_until_it_is_looked_at(
    ann: TestClient, bob: TestClient, here: Labelling, place: Place
) -> None:
    items = [{"id": each} for each in here.session.ids[::3]]  # all of one kind

    def about(left: int, right: int, same: int) -> dict[str, Any]:
        return reply({"id": str(uuid.uuid4()), "left": items[left], "right": items[right]}, same)

    wrong = about(0, 1, 0)
    right = [about(left, other, 1) for other in range(2, 8) for left in (0, 1)]
    assert post(ann, *right, wrong).status_code == 200
    for client in (ann, bob):
        inbox = client.get("/api/contradictions").json()["answers"]
        assert [each["id"] for each in inbox] == [wrong["id"]]
        assert (inbox[0]["annotator"], inbox[0]["answer"]) == ("ann", 0)
        assert inbox[0]["odds"] > 1
        assert inbox[0]["chain"]
    post(bob, {**about(0, 1, 0), "question": None})  # a second opinion
    assert bob.get("/api/contradictions").json()["answers"] == []
    assert post(ann, {**wrong, "id": str(uuid.uuid4()), "supersedes": wrong["id"]}).status_code == 200  # confirmed
    assert ann.get("/api/contradictions").json()["answers"] == []


def test_pictures_are_encoded_anew(ann: TestClient, place: Place) -> None:
    item = ask(ann)["left"]["id"]
    response = ann.get(f"/api/items/{item}/image", params={"width": 400})
    assert response.headers["content-type"] == "image/png"
    assert "max-age" in response.headers["cache-control"]
    with Image.open(BytesIO(response.content)) as picture:
        assert picture.size == (12, 12)
    assert ann.get(f"/api/items/{item}").json()["image"] is True


def test_nothing_that_is_sent_tells_the_name_of_a_file(ann: TestClient) -> None:
    for path in ("session", "question", "question?mode=grid", "question?mode=strip", "progress", "history", "groups/0"):
        assert "secret" not in ann.get(f"/api/{path}").text


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"left": "0" * 16}, 404, "not among those of this page"),
        ({"left": "../photos/a.png"}, 422, "answers.1.left"),
        ({"answer": 2}, 422, "answers.1.answer"),
        ({"answer": "1"}, 422, "answers.1.answer"),
        ({"id": "no uuid"}, 422, "answers.1.id"),
        ({"latency": -1}, 422, "answers.1.latency"),
        ({"supersedes": str(uuid.UUID(int=7))}, 404, "not there"),
        ({"withdraw": True}, 422, "give supersedes"),
        ({"note": "hello"}, 422, "answers.1.note"),
    ],
)
def test_an_answer_that_cannot_be_taken_is_refused(
    ann: TestClient, here: Labelling, change: dict[str, Any], status: int, sentence: str
) -> None:
    question = ask(ann)
    good = reply(question["then"]["same"], 1)
    refused = post(ann, good, {**reply(question, 1), **change})
    assert refused.status_code == status, refused.text
    assert sentence in refused.json()["detail"]
    assert in_store(here) == []
    assert ask(ann)["id"] == question["id"]


def test_an_item_is_not_compared_with_itself(ann: TestClient, here: Labelling) -> None:
    question = ask(ann)
    refused = post(ann, {**reply(question, 1), "right": question["left"]["id"]})
    assert (refused.status_code, refused.json()["detail"]) == (
        422,
        "answers.0: left and right are the same item; answer about two.",
    )


def test_too_many_answers_in_one_message_are_refused(ann: TestClient, here: Labelling) -> None:
    question = ask(ann)
    assert post(ann, *[reply(question, 1) for _ in range(201)]).status_code == 422
    assert in_store(here) == []


def test_nobody_takes_back_the_answer_of_another(ann: TestClient, bob: TestClient, here: Labelling) -> None:
    answer = reply(ask(ann), 1)
    post(ann, answer)
    refused = post(bob, {**answer, "id": str(uuid.uuid4()), "supersedes": answer["id"], "withdraw": True})
    assert (refused.status_code, refused.json()["detail"]) == (
        403,
        "The answer is somebody else's; give your own answer about the pair.",
    )
    assert in_store(here) == [(answer["id"], "same")]


def test_a_store_that_is_locked_is_said_and_the_answer_can_be_sent_again(place: Place, enter: Enter) -> None:
    here = place.start()
    client = enter(here)
    answer = reply(ask(client), 1)
    here.session.store.engine.dispose()
    from likewise.pairs.store import create_store

    here.session.store = create_store(here.session.store.name, patience=0.01)
    other = create_store(here.session.store.name)
    with other.engine.execution_options(writing=True).begin() as locked:
        locked.execute(text("SELECT 1"))
        refused = post(client, answer)
        assert refused.status_code == 503
        assert "locked by another program" in refused.json()["detail"]
    assert post(client, answer).status_code == 200
    assert in_store(here) == [(answer["id"], "same")]
    other.close()
    here.session.store.close()


def test_items_that_vanish_are_not_asked_about(ann: TestClient, here: Labelling, place: Place) -> None:
    question = ask(ann)
    gone = question["left"]["id"]
    name = here.session.names[here.session.position[gone]]
    (place.folder / "photos" / name).unlink()
    missing = ann.get(f"/api/items/{gone}/image")
    assert missing.status_code == 404
    assert "cannot be read any more" in missing.json()["detail"]
    other = ask(ann)
    assert gone not in (other["left"]["id"], other["right"]["id"])
    assert post(ann, reply(question, 1)).status_code == 200  # who had looked at it before may still answer
    for _ in range(10):
        other = ask(ann)
        assert gone not in (other["left"]["id"], other["right"]["id"])
        post(ann, reply(other, place.same(other)))


def test_all_pairs_can_be_answered(place: Place, enter: Enter) -> None:
    place.names, place.kinds = place.names[:3], place.kinds[:3]
    here = place.start()
    client = enter(here)
    for _ in range(3):
        question = ask(client)
        post(client, reply(question, 0))
    said = client.get("/api/question").json()
    assert said["question"] is None
    assert said["done"]
    here.session.store.close()
