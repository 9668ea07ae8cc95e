"""Learners and answers that are known, and a reader that refuses a page that is not well-formed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.reporting import Learner, write_learners_page
from likewise.reporting.answers_page import write_answers_page
from likewise.reporting.gallery import ClassifiedItems
from likewise.reporting.suspects import ScoredAnswers

VOID = {"meta", "img", "br"}
CLASSES = ("classes", "outputs", "probabilities", "previews", "ids")  # of items


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    source: str = ""
    children: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What a reader reads: line breaks of the source are spaces."""
        return " ".join(self.source.split())

    def all(self, tag: str, kind: str = "") -> list[Element]:
        """Elements below this one, of this tag and, where given, of this CSS class, in the page's order."""
        found = []
        for child in self.children:
            if child.tag == tag and (not kind or kind in child.attributes.get("class", "").split()):
                found.append(child)
            found += child.all(tag, kind)
        return found

    def everything(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            yield from child.everything()

    def section(self, title: str) -> Element:
        """The one section with this heading."""
        [found] = [s for s in self.all("section") if s.all("h2")[0].text == title]
        return found

    def cards(self) -> dict[str, tuple[str, str]]:
        """The value and the detail of each card, by its name."""
        return {
            card.all("h2")[0].text: (card.all("p", "value")[0].text, "".join(p.text for p in card.all("p", "detail")))
            for card in self.all("div", "card")
        }

    def check_self_contained(self) -> None:
        """Nothing is fetched, nothing runs, and no id is given twice."""
        assert not self.all("script")
        assert not self.all("link")
        for element in self.everything():
            for name, value in element.attributes.items():
                assert not name.startswith("on")
                assert "http" not in value
                if name in {"src", "href", "xlink:href", "data"}:
                    assert value.startswith(("data:image/png;base64,", "data:image/jpeg;base64,", "#"))
                assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)", value))
        [style] = self.all("style")
        assert "url(" not in style.text
        assert "@import" not in style.text
        ids = [e.attributes["id"] for e in self.everything() if "id" in e.attributes]
        assert len(ids) == len(set(ids))


class Reader(HTMLParser):
    """Builds the tree of a page; an unclosed, misplaced or unknown end tag is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("page", {})]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"<{tag}> repeats an attribute"
        element = Element(tag, {name: value or "" for name, value in attributes})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.source += data


def parse(page: str) -> Element:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert [element.tag for element in reader.open] == ["page"], "an element is left open"
    return reader.open[0]


@pytest.fixture
def read() -> Callable[[str], Element]:
    """Reads a piece of HTML."""
    return parse


@pytest.fixture
def learner() -> Callable[..., Learner]:
    """Makes a learner from its outputs; the confusion matrix is counted one item at a time."""

    def make(
        outputs: list[int], labels: list[int], matching: list[int], n_classes: int, name: str = "MCL", **changes: Any
    ) -> Learner:
        confusion = np.zeros((len(matching), n_classes), dtype=np.int64)
        for output, label in zip(outputs, labels, strict=True):
            if label >= 0:
                confusion[output, label] += 1
        settings: dict[str, Any] = {
            "name": name,
            "history": [{"epoch": e, "loss": 1 / e, "accuracy": 0.5, "test_accuracy": 0.4 + e / 10} for e in (1, 2, 3)],
            "confusion": confusion,
            "matching": np.array(matching),
            "scores": {"accuracy": 0.75, "nmi": 0.5, "ari": 0.4, "pair_f1": 0.6},
            "outputs": np.array(outputs),
            "probabilities": np.linspace(0.5, 1.0, len(outputs)),
        }
        return Learner(**(settings | changes))

    return make


@pytest.fixture
def page(tmp_path: Path) -> Callable[..., Element]:
    """Writes a report and reads it back."""

    def write(learners: list[Learner], labels: list[int], class_names: list[str], **changes: Any) -> Element:
        settings: dict[str, Any] = {
            "title": "Title",
            "summary": "Summary",
            "previews": np.arange(len(labels) * 64, dtype=np.uint8).reshape(-1, 1, 8, 8),
        }
        path = tmp_path / "report.html"
        write_learners_page(
            path, learners=learners, labels=np.array(labels), class_names=class_names, **(settings | changes)
        )
        return parse(path.read_text(encoding="utf-8"))

    return write


@pytest.fixture
def answers_page(tmp_path: Path) -> Callable[..., Element]:
    """Writes a report of eight items in three classes, learned from seven answers, and reads it back.

    Its figures take most of the time, so they are left out unless asked for: nothing held out, and no history.
    """

    def write(*, figures: bool = False, **changes: Any) -> Element:
        similarity = np.array([0.9, 0.98, 0.1, 0.2, 0.03, 0.7, 0.6])
        same = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5])
        left, right = np.array([0, 0, 1, 2, 3, 4, 5]), np.array([1, 2, 3, 4, 5, 5, 6])
        answers = ScoredAnswers(left, right, same, similarity, line=np.arange(2, 9))
        settings: dict[str, Any] = {
            "title": "Title",
            "summary": "Summary",
            "history": [
                {"epoch": e, "loss": 1 / e, "held_out_loss": 2 / e, "held_out_accuracy": 0.5 + e / 10, "stage": stage}
                for e, stage in enumerate(("answers", "answers", "unlabelled"), start=1)
            ]
            if figures
            else [],
            "classes": ["apple", "pear", "plum"],
            "outputs": np.array([0, 0, 1, 0, 1, 0, 0, 0]),
            "probabilities": np.array([0.5, 0.9, 0.8, 0.7, 0.6, 0.95, 0.85, 0.9996]),
            "held_out": ScoredAnswers(left[:4], right[:4], same[:4], similarity[:4]) if figures else None,
            "answers": answers,
            "previews": np.arange(8 * 64, dtype=np.uint8).reshape(-1, 1, 8, 8),
            "ids": [f"item-{letter}" for letter in "abcdefgh"],
        }
        settings |= changes
        items = ClassifiedItems(**{name: settings.pop(name) for name in CLASSES})
        path = tmp_path / "report.html"
        write_answers_page(path, items, settings.pop("answers"), **settings)
        return parse(path.read_text(encoding="utf-8"))

    return write
