"""The page of a classifier learned from answers "same" or "different", without any class label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.evaluation import Calibration, PairAccuracy, calibration, hard_answers, pair_accuracy, share_interval
from likewise.reporting.classes import ClassifiedItems, check_shares, class_table
from likewise.reporting.confusion_matrix import Comparison
from likewise.reporting.curves import History, held_out_section
from likewise.reporting.drawing import both_sizes
from likewise.reporting.page import Card, certainty, share_card, write_page
from likewise.reporting.previews import Preview
from likewise.reporting.reliability import in_words, reliability_diagram

MOST_SUSPECTS = 24


@dataclass(frozen=True, eq=False)
class ScoredAnswers:
    """Answers about m pairs, each with the model's probability that the two are the same."""

    left: np.ndarray  # (m,) positions of items
    right: np.ndarray  # (m,)
    same: np.ndarray  # (m,) in [0, 1]: 1 same, 0 different
    similarity: np.ndarray  # (m,) in [0, 1]
    line: np.ndarray | None = None  # (m,) where the answer stands; without it, its row, counted from 0
    unit: str = "line"  # what `line` counts: "line" of a file, or "row"

    def __post_init__(self) -> None:
        lengths = {
            name: len(value)
            for name in ("left", "right", "same", "similarity", "line")
            if (value := getattr(self, name)) is not None
        }
        if len(set(lengths.values())) > 1:
            given = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise InputError(f"Columns of answers must be equally long, got {given}.")
        check_shares(self.same, "same of the answers")
        check_shares(self.similarity, "similarity of the answers")

    def __len__(self) -> int:
        return len(self.same)

    def place(self, i: int) -> str:
        """
        >>> one = np.zeros(1, dtype=np.int64)
        >>> ScoredAnswers(one, one, one, one, line=np.array([17])).place(0), ScoredAnswers(one, one, one, one).place(0)
        ('line 17', 'row 0')
        """
        return f"row {i}" if self.line is None else f"{self.unit} {self.line[i]}"

    def contradicted(self) -> np.ndarray:
        """Positions of the answers where the model says the opposite, the largest |same - similarity| first."""
        same, similarity = np.asarray(self.same), np.asarray(self.similarity)
        answer = hard_answers(same)
        opposed = np.flatnonzero((answer >= 0) & ((similarity > 0.5) != (answer == 1)))
        return opposed[np.argsort(-np.abs(same - similarity)[opposed], kind="stable")]


class Side(NamedTuple):
    """One of the two items of an answer."""

    name: str
    preview: Preview | None


class AnswerSuspect(NamedTuple):
    """An answer that the model contradicts."""

    place: str  # such as "Line 17"
    left: Side
    right: Side
    answered: str
    model: str


def write_answers_page(
    path: Path | str,
    items: ClassifiedItems,
    answers: ScoredAnswers,
    *,
    held_out: ScoredAnswers | None,
    title: str,
    summary: str,
    history: History,
    facts: Sequence[Card] = (),
    comparison: Comparison | None = None,
) -> None:
    """Write how right and how sure the model is, how it learned, what it found, and which answers to check.

    `history` has one row per epoch: epoch, loss, held_out_loss, held_out_accuracy and stage, of which any may be
    missing. `held_out` are the answers the model did not learn from, None or empty where there are none; `answers`
    are all of them. `facts` are further cards. `comparison` is with true
    classes, where they are known.
    """
    for given in (answers, held_out):
        if given is not None:
            items.check_positions(given.left, "Answers")
            items.check_positions(given.right, "Answers")
    measured = pair_accuracy(held_out.similarity, held_out.same) if held_out else None
    if held_out is None or measured is None or not measured.n:
        measured, found, measured_cards = None, None, []
    else:
        found = calibration(held_out.similarity, held_out.same)
        measured_cards = _measured_cards(measured, held_out)
    contradicted = answers.contradicted().tolist()
    write_page(
        path,
        "answers.html",
        title=title,
        summary=summary,
        cards=[*measured_cards, *_cards(items, answers), *facts],
        measured=measured,
        n_held_out=len(held_out) if held_out else 0,
        calibration=found,
        reliability=None if found is None else _reliability(found),
        curves=held_out_section(history),
        comparison=comparison,
        classes=class_table(items),
        n_answers=len(answers),
        n_suspects=len(contradicted),
        suspects=[_suspect(answers, i, items) for i in contradicted[:MOST_SUSPECTS]],
    )


def _cards(items: ClassifiedItems, answers: ScoredAnswers) -> list[Card]:
    answer = hard_answers(answers.same)
    kinds = {"same": np.sum(answer == 1), "different": np.sum(answer == 0), "undecided": np.sum(answer == -1)}
    by_kind = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items() if n)
    asked = len(np.union1d(answers.left, answers.right))
    return [
        Card("Answers", f"{len(answers):,}", detail=by_kind),
        Card("Items", f"{len(items):,}", detail=f"{asked:,} of them in an answer"),
        Card("Classes found", f"{len(items.classes):,}"),
    ]


def _measured_cards(measured: PairAccuracy, held_out: ScoredAnswers) -> list[Card]:
    """How right the model is on held-out answers, with intervals by items drawn again."""
    answer = hard_answers(held_out.same)
    right = (held_out.similarity > 0.5) == (answer == 1)

    def interval(rows: NDArray[np.bool_]) -> tuple[float, float]:
        return share_interval(right[rows], held_out.left[rows], held_out.right[rows])

    both = measured.n_same and measured.n_different
    balanced = f"; balanced {100 * measured.balanced:.1f} %" if both else ""
    return [
        share_card(name, hits, n, kind, further, interval(rows))
        for name, hits, n, kind, further, rows in (
            ("Held-out answers right", measured.hits, measured.n, "held-out answers", balanced, answer >= 0),
            ("“Same” recognised", measured.same_hits, measured.n_same, "held-out “same”", "", answer == 1),
            (
                "“Different” recognised",
                measured.different_hits,
                measured.n_different,
                "held-out “different”",
                "",
                answer == 0,
            ),
        )
    ]


def _reliability(found: Calibration) -> Markup:
    label = f"Share answered same, by the probability that the model gave: {in_words(found)}"
    return both_sizes(lambda size: reliability_diagram(found, size=size), label, prefix="reliability")


def _suspect(answers: ScoredAnswers, i: int, items: ClassifiedItems) -> AnswerSuspect:
    left, right = int(answers.left[i]), int(answers.right[i])
    return AnswerSuspect(
        answers.place(i).capitalize(),
        Side(items.name(left), items.preview(left)),
        Side(items.name(right), items.preview(right)),
        _verdict(float(answers.same[i])),
        _verdict(float(answers.similarity[i]), always=True),
    )


def _verdict(share: float, *, always: bool = False) -> str:
    """Same or different, and how sure it is where it is not altogether so."""
    said, sure = ("same", share) if share > 0.5 else ("different", 1 - share)
    return f"{said}, {certainty(sure)}" if always or sure < 1 else said
