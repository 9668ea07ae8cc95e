"""A real browser (Debian's Chromium, or any on the path) and a real server, which runs in a thread of the test."""

from __future__ import annotations

import shutil
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 30_000  # milliseconds until a condition that does not come is a failure; a busy machine is none
N = 90  # digits
KEYS = {True: "ArrowRight", False: "ArrowLeft"}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on the path: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


class Served:
    """A labelling server on a store in a file, at one port; it can be stopped and started again."""

    def __init__(self, store: Path, shown: Any, X: NDArray[Any], people: tuple[str, ...], learn: Any = None) -> None:
        from likewise.labelling.gate import Doorkeeper

        self.store, self.shown, self.X, self.learn = store, shown, X, learn
        self.names = [str(number) for number in range(len(X))]
        self.door = Doorkeeper(people, bytes(32))
        self.port = 0
        self.thread: threading.Thread | None = None

    def start(self) -> Served:
        import uvicorn
        from tests.labelling.conftest import chooser_of

        from likewise.labelling.api import Labelling
        from likewise.labelling.learning import Learner
        from likewise.labelling.server import create_app
        from likewise.labelling.session import LabellingSession
        from likewise.pairs.store import create_store

        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", self.port))
        listening.listen()
        self.port = listening.getsockname()[1]
        self.answers = create_store(str(self.store))
        self.session = LabellingSession(self.shown, self.names, chooser_of(self.X), self.answers)
        learner = self.learn or Learner(self.store.parent / "runs", self.store.parent)
        app = create_app(Labelling(self.session, self.door, learner))
        self.server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none", lifespan="off"))
        self.thread = threading.Thread(target=self.server.run, args=([listening],), daemon=True)
        self.thread.start()
        return self

    def stop(self) -> None:
        if self.thread is not None:
            self.server.should_exit = self.server.force_exit = True
            self.thread.join()
            self.thread = None
            self.answers.close()

    def address(self, person: str = "ann") -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.door.token(person)}"

    def in_force(self) -> list[tuple[str, str, str, str]]:
        """Who said what of which two items, in the order of the answers, as the store has it."""
        from likewise.pairs.store import create_store, in_force

        with create_store(str(self.store)) as store:
            events = sorted(in_force(store.events()), key=lambda event: event.number)
        return [(event.annotator, event.left, event.right, event.answer) for event in events]

    def n_events(self) -> int:
        from likewise.pairs.store import create_store

        with create_store(str(self.store)) as store:
            return len(list(store.events()))

    def say(self, answers: list[tuple[int, int, bool]], person: str = "ann") -> None:
        """Answers that were given earlier."""
        from likewise.pairs.store import Event

        said = {True: "same", False: "different"}
        events = [
            Event(str(uuid.uuid4()), person, self.names[i], self.names[j], said[same], question=str(uuid.uuid4()))
            for i, j, same in answers
        ]
        self.session.save(person, events)

    def say_right(self, number: int, classes: NDArray[Any]) -> None:
        """So many right answers about pairs that share no item."""
        pairs = np.random.default_rng(0).permutation(len(classes))[: 2 * number].reshape(-1, 2).tolist()
        self.say([(i, j, bool(classes[i] == classes[j])) for i, j in pairs])

    def place(self, item: str) -> int:
        return self.session.position[item]


@pytest.fixture(scope="session")
def digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Digits as pictures (n, 1, 8, 8), and what they are."""
    from sklearn.datasets import load_digits

    drawn = load_digits()
    pixels = np.minimum(255, drawn.images[:N] * 16).astype(np.uint8)[:, None]
    return pixels, drawn.target[:N]


@pytest.fixture
def serve(tmp_path: Path, digits: Any) -> Iterator[Callable[..., Served]]:
    pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'likewise[label]'")
    from likewise.labelling.shown_items import PictureArray

    started: list[Served] = []

    def start(shown: Any = None, X: Any = None, people: tuple[str, ...] = ("ann",), learn: Any = None) -> Served:
        pixels, _ = digits
        shown = PictureArray(pixels) if shown is None else shown
        X = pixels.reshape(len(pixels), -1).astype(np.float32) / 255 if X is None else X
        started.append(Served(tmp_path / "answers.db", shown, X, people, learn).start())
        return started[-1]

    yield start
    for served in started:
        served.stop()


class Labeller:
    """A person at the page, who knows the classes and answers by them."""

    def __init__(self, page: Any, served: Served, classes: NDArray[Any]) -> None:
        self.page, self.served, self.classes = page, served, classes

    def open(self, person: str = "ann") -> Labeller:
        self.page.goto(self.served.address(person))
        self.page.wait_for_selector("#stage[data-question]")
        self.page.wait_for_selector("#answered")
        return self

    @property
    def question(self) -> str | None:
        question: str | None = self.page.get_attribute("#stage", "data-question")
        return question

    def items(self) -> tuple[str, str]:
        """The ids of the two items in view."""
        shown = self.page.locator("#view .item")
        return shown.nth(0).get_attribute("data-item"), shown.nth(1).get_attribute("data-item")

    def same(self, left: str, right: str) -> bool:
        return bool(self.classes[self.served.place(left)] == self.classes[self.served.place(right)])

    def press(self, key: str) -> None:
        """Press a key and wait for another question."""
        before = self.question
        self.page.keyboard.press(key)
        self.wait_for_another(before)

    def wait_for_another(self, before: str | None) -> None:
        self.page.wait_for_function(
            "before => document.querySelector('#stage').dataset.question !== before", arg=before
        )

    def answer(self, number: int = 1) -> list[tuple[str, str, str, str]]:
        """Answer so many questions by keys; what was answered, as the store should have it."""
        given = []
        for _ in range(number):
            left, right = self.items()
            same = self.same(left, right)
            self.press(KEYS[same])
            names = self.served.names[self.served.place(left)], self.served.names[self.served.place(right)]
            given.append(("ann", *names, "same" if same else "different"))
        return given

    def counted(self, number: int) -> None:
        """Wait until the counter says so many answers."""
        self.page.wait_for_function("n => document.querySelector('#answered')?.textContent === String(n)", arg=number)

    def go(self, view: str) -> None:
        self.page.click(f".modes [data-view={view}]")
        self.page.wait_for_selector(f"body[data-view={view}] .{view}-mode, body[data-view={view}] .{view}, .nothing")


@pytest.fixture
def context(browser: Any) -> Iterator[Callable[..., Any]]:
    """New browser contexts: each has cookies and storage of its own."""
    opened: list[Any] = []

    def new(**options: Any) -> Any:
        made = (
            browser.new_context(viewport={"width": 1280, "height": 800}, **options)
            if "viewport" not in options
            else browser.new_context(**options)
        )
        made.set_default_timeout(PATIENCE)
        opened.append(made)
        return made

    yield new
    for made in opened:
        made.close()


@pytest.fixture
def labeller(context: Any, digits: Any) -> Callable[..., Labeller]:
    """Opens the page of a server for a person."""

    def open_page(served: Served, person: str = "ann", classes: Any = None, **options: Any) -> Labeller:
        page = context(**options).new_page()
        return Labeller(page, served, digits[1] if classes is None else classes).open(person)

    return open_page
