"""Learners with known answers, and a reader that refuses a page that is not well-formed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.reporting import Learner, write_report

VOID = {"meta", "img", "br"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str, kind: str = "") -> list[Element]:
        """Elements below this one, of this tag and, where given, of this CSS class, in the page's order."""
        found = []
        for child in self.children:
            if child.tag == tag and (not kind or kind in child.attributes.get("class", "").split()):
                found.append(child)
            found += child.all(tag, kind)
        return found


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
            element.text += data


def parse(page: str) -> Element:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert [element.tag for element in reader.open] == ["page"], "an element is left open"
    return reader.open[0]


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
            "images": np.arange(len(labels) * 64, dtype=np.uint8).reshape(-1, 1, 8, 8),
        }
        path = tmp_path / "report.html"
        write_report(path, learners=learners, labels=np.array(labels), class_names=class_names, **(settings | changes))
        return parse(path.read_text(encoding="utf-8"))

    return write
