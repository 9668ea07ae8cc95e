"""Who is let in, and what is refused before anything is looked at."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient
from tests.labelling.conftest import Place, reply
from tests.labelling.test_api import ask

from likewise.labelling.api import Labelling
from likewise.labelling.gate import LARGEST_BODY, Allowance, is_own_name
from likewise.labelling.server import create_app

Enter = Callable[..., TestClient]


@pytest.fixture
def stranger(here: Labelling) -> TestClient:
    return TestClient(create_app(here, names=["lab.example"]), base_url="http://localhost:8000", follow_redirects=False)


def test_a_token_is_exchanged_for_a_cookie(stranger: TestClient, here: Labelling) -> None:
    response = stranger.get("/", params={"token": here.door.token("ann")})
    assert (response.status_code, response.headers["location"]) == (303, "/")
    cookie = response.headers["set-cookie"].casefold()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert here.door.token("ann") not in cookie
    assert stranger.get("/api/session").json()["annotator"] == "ann"


def test_a_wrong_token_is_refused_and_cannot_be_guessed(stranger: TestClient, here: Labelling, place: Place) -> None:
    for _ in range(3):
        refused = stranger.get("/", params={"token": "0" * 32})
        assert (refused.status_code, "wrong token" in refused.json()["detail"]) == (403, True)
    assert stranger.get("/", params={"token": here.door.token("ann")}).status_code == 429
    place.clock.now += 60
    for _ in range(10):  # the right one does not count
        assert stranger.get("/", params={"token": here.door.token("ann")}).status_code == 303


@pytest.mark.parametrize(
    "path", ["session", "question", "progress", "history", "contradictions", "learn", "groups/0", f"items/{'0' * 16}"]
)
def test_nothing_is_told_without_a_cookie(stranger: TestClient, path: str) -> None:
    refused = stranger.get(f"/api/{path}")
    assert refused.status_code == 401
    assert "not known here" in refused.json()["detail"]
    assert stranger.get("/report").status_code == 401


def test_nothing_is_saved_without_a_cookie(stranger: TestClient, ann: TestClient, here: Labelling) -> None:
    answer = reply(ask(ann), 1)
    assert stranger.post("/api/answers", json={"answers": [answer]}).status_code == 401
    assert here.session.store.events() == []


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "", "127.0.0.1.nip.io", "["]
)
def test_another_name_for_this_machine_is_refused(stranger: TestClient, here: Labelling, host: str) -> None:
    refused = stranger.get("/", params={"token": here.door.token("ann")}, headers={"host": host})
    assert refused.status_code == 403
    assert "set-cookie" not in refused.headers


def test_names_that_were_given_are_let_in() -> None:
    assert is_own_name("lab.example:80", ["lab.example"])
    assert is_own_name("LAB.example", ["lab.example"])
    assert not is_own_name("lab.example.org", ["lab.example"])


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://localhost:9999"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_post_from_another_page_is_refused(ann: TestClient, here: Labelling, headers: dict[str, str]) -> None:
    answer = reply(ask(ann), 1)
    refused = ann.post("/api/answers", json={"answers": [answer]}, headers=headers)
    assert refused.status_code == 403
    assert "another page" in refused.json()["detail"]
    assert here.session.store.events() == []
    own = {"origin": "http://localhost:8000", "sec-fetch-site": "same-origin"}
    assert ann.post("/api/answers", json={"answers": [answer]}, headers=own).status_code == 200


def test_a_message_that_is_too_large_is_refused(ann: TestClient) -> None:
    content = b"[" + b" " * LARGEST_BODY + b"]"
    for headers in ({}, {"content-length": "x"}):
        refused = ann.post("/api/answers", content=content, headers=headers)
        assert refused.status_code == 413
        assert "KiB" in refused.json()["detail"]

    def in_parts() -> object:
        for _ in range(5):
            yield b" " * (LARGEST_BODY // 4)

    assert ann.post("/api/answers", content=in_parts()).status_code == 413


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", json.dumps({"answers": 1}).encode()])
def test_a_message_that_is_none_is_refused_in_a_sentence(ann: TestClient, content: bytes) -> None:
    refused = ann.post("/api/answers", content=content, headers={"content-type": "application/json"})
    assert refused.status_code in (400, 422)
    assert isinstance(refused.json()["detail"], str)


def test_the_page_may_load_nothing_from_elsewhere(ann: TestClient, stranger: TestClient) -> None:
    for client, path in ((ann, "/api/session"), (stranger, "/api/session"), (stranger, "/nowhere")):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    assert "sandbox" in ann.get("/report").headers["content-security-policy"]


@pytest.mark.parametrize(
    "name", ["..%2fserver.py", "%2e%2e%2fserver.py", "..%5cserver.py", "nothing.js", "server.py", "%00"]
)
def test_files_beside_the_page_are_not_served(ann: TestClient, name: str) -> None:
    assert ann.get(f"/page/{name}").status_code == 404


def test_too_many_requests_are_refused(place: Place, enter: Enter) -> None:
    place.rate = 5
    here = place.start()
    client = enter(here)
    said = [client.get("/api/session").status_code for _ in range(7)]
    assert said == [200] * 5 + [429] * 2
    assert enter(here, "bob").get("/api/session").status_code == 200
    place.clock.now += 1
    assert client.get("/api/session").status_code == 200
    here.session.store.close()


def test_an_allowance_comes_back_with_time() -> None:
    now = [0.0]
    allowance = Allowance(rate=2, burst=4, clock=lambda: now[0])
    assert [allowance.spend("ann") for _ in range(5)] == [True] * 4 + [False]
    now[0] = 1.0
    assert [allowance.spend("ann") for _ in range(3)] == [True, True, False]
    now[0] = 100.0
    assert [allowance.spend("ann") for _ in range(5)] == [True] * 4 + [False]
