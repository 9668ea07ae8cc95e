"""The button that learns: `likewise fit` in another process, from the answers so far, and its report."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.labelling.conftest import Place, reply
from tests.labelling.test_api import ask, post

from likewise.errors import InputError
from likewise.labelling.api import Labelling
from likewise.labelling.learning import Learner
from likewise.pairs import Pairs


def wait(learner: Learner) -> None:
    """Until the run that is under way has ended."""
    assert learner.thread is not None
    learner.thread.join()


def test_it_learns_from_the_answers_and_shows_the_report(ann: TestClient, here: Labelling, place: Place) -> None:
    assert ann.get("/report").status_code == 404
    question = ask(ann)
    for number in range(16):
        said = None if number == 3 else place.same(question)
        question = post(ann, reply(question, said)).json()["question"]
    assert ann.post("/api/learn").json()["state"] == "running"
    assert ann.post("/api/learn").json()["state"] == "running"  # and not begun twice
    post(ann, reply(question, place.same(question)))  # one goes on meanwhile
    wait(here.learner)
    said = ann.get("/api/learn").json()
    assert (said["state"], said["report"]) == ("done", True), said
    assert len(Pairs.read(place.folder / "runs" / "1" / "answers.parquet")) == 15
    assert [path.name for path in (place.folder / "runs").iterdir()] == ["1"]
    report = ann.get("/report")
    assert report.headers["content-type"].startswith("text/html")
    assert "<html" in report.text


def test_without_answers_there_is_nothing_to_learn(ann: TestClient, place: Place) -> None:
    refused = ann.post("/api/learn")
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "There are no answers yet; answer a few questions first.",
    )
    assert ann.get("/api/learn").json()["state"] == "idle"
    assert not list((place.folder / "runs").glob("*"))


def test_a_run_that_fails_says_why(here: Labelling, place: Place, tmp_path: Path) -> None:
    from likewise.pairs.store import Event

    with pytest.raises(InputError):
        Learner(tmp_path / "runs", place.folder / "photos").start(here.session.store)
    here.session.store.append([Event("1", "ann", *place.names[:2], "same")])
    learner = Learner(tmp_path / "runs", tmp_path / "nowhere")
    learner.start(here.session.store)
    wait(learner)
    assert learner.state == "failed"
    assert "does not exist" in learner.line
    assert learner.report is None
