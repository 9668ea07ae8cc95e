"""A small server to talk to: thirty pictures of three kinds, a store in a file, and two people."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from likewise.labelling.api import Labelling
from likewise.labelling.gate import Allowance, Doorkeeper
from likewise.labelling.learning import Learner
from likewise.labelling.leases import Leases
from likewise.labelling.server import create_app
from likewise.labelling.session import LabellingSession
from likewise.labelling.shown_items import PictureFiles
from likewise.pairs.store import create_store
from likewise.querying import QuestionChooser

KEY = bytes(range(32))
_SEEN: dict[bytes, QuestionChooser] = {}
N = 30


@dataclass
class Clock:
    """A clock that stands still unless it is moved."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def chooser_of(X: np.ndarray) -> QuestionChooser:
    """A chooser without answers; what it sees of the same items is computed once for all tests."""
    key = X.tobytes()
    if key not in _SEEN:
        _SEEN[key] = QuestionChooser(X, seed=0)
    chooser = copy.copy(_SEEN[key])
    chooser._log = {}
    return chooser


@dataclass
class Place:
    """What a server is made from; `start` makes one, as a restart would."""

    folder: Path
    names: list[str]
    kinds: np.ndarray
    clock: Clock = field(default_factory=Clock)
    overlap: float = 0.0
    rate: float = 1e6

    def start(self, people: tuple[str, ...] = ("ann", "bob")) -> Labelling:
        store = create_store(self.folder / "answers.db")
        X = np.random.default_rng(0).normal(0, 0.1, (len(self.names), 4)).astype(np.float32)
        X[np.arange(len(X)), self.kinds] += 3
        session = LabellingSession(
            PictureFiles(self.folder / "photos", self.names),
            self.names,
            chooser_of(X),
            store,
            overlap=self.overlap,
            leases=Leases(clock=self.clock),
        )
        learner = Learner(self.folder / "runs", self.folder / "photos", ["--encoder", "none", "--epochs", "1"])
        return Labelling(
            session,
            Doorkeeper(people, KEY),
            learner,
            requests=Allowance(self.rate, self.rate, self.clock),
            guesses=Allowance(0.1, 3, self.clock),
        )

    def same(self, question: dict[str, Any]) -> int:
        """The right answer to a question about a pair."""
        left, right = (self.kind_of(question[side]["id"]) for side in ("left", "right"))
        return int(left == right)

    def kind_of(self, item: str) -> int:
        from likewise.labelling.shown_items import opaque_ids

        return int(self.kinds[opaque_ids(self.names).index(item)])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "photos"
    folder.mkdir()
    random, kinds = np.random.default_rng(0), np.arange(N) % 3
    names = [f"secret-{row:02}.png" for row in range(N)]
    for name, kind in zip(names, kinds, strict=True):
        pixels = random.integers(0, 60, (12, 12, 3))
        pixels[..., kind] += 180
        Image.fromarray(pixels.astype(np.uint8)).save(folder / name)
    return Place(tmp_path, names, kinds)


@pytest.fixture
def here(place: Place) -> Iterator[Labelling]:
    labelling = place.start()
    yield labelling
    labelling.session.store.close()


@pytest.fixture
def enter() -> Callable[..., TestClient]:
    """A browser in which a person has opened their address."""

    def open_page(labelling: Labelling, person: str = "ann", token: str | None = None) -> TestClient:
        client = TestClient(create_app(labelling), base_url="http://localhost:8000", follow_redirects=False)
        client.get("/", params={"token": token or labelling.door.token(person)})
        return client

    return open_page


@pytest.fixture
def ann(here: Labelling, enter: Callable[..., TestClient]) -> TestClient:
    return enter(here)


@pytest.fixture
def bob(here: Labelling, enter: Callable[..., TestClient]) -> TestClient:
    return enter(here, "bob")


def reply(question: dict[str, Any], answer: int | None, **further: Any) -> dict[str, Any]:
    """An answer as the page sends it."""
    return {
        "id": str(uuid.uuid4()),
        "question": question["id"],
        "left": question["left"]["id"],
        "right": question["right"]["id"],
        "answer": answer,
        "latency": 0.5,
        **further,
    }
