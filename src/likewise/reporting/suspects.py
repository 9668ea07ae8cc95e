"""Answers and items that look wrong: what the model contradicts, and what all answers together say of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.evaluation import hard_answers
from likewise.pairs import Pairs
from likewise.pairs.credible import (
    MOST_LISTED,
    UNNAMED,
    names_of,
    rate_in_words,
    share_in_words,
    suspects_among,
    verdict_on,
    wrong_in_words,
)
from likewise.reporting.gallery import ClassifiedItems, Preview, check_shares
from likewise.reporting.page import certainty

MOST_CONTRADICTED = 24  # answers shown where only the model contradicts them
MOST_ANNOTATORS = 50
MOST_OUTLIERS = 24
LINKS = 6  # of a chain
LOOKS = "no chain of answers, but how the two items look beside all others"


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
            listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise InputError(f"Columns of answers must be equally long, got {listed}.")
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


class Suspect(NamedTuple):
    """An answer that is likely wrong, as a page shows it."""

    place: str  # such as "Line 17"
    left: Side
    right: Side
    answered: str
    model: str
    evidence: Sequence[tuple[str, str]] = ()  # what other evidence is against it: its name, and a text


class AnnotatorRow(NamedTuple):
    """How often an annotator is wrong; `verdict` is empty unless the answers are of no use as they are."""

    name: str
    answers: int
    false_different: str
    false_same: str
    verdict: str


class Outlier(NamedTuple):
    """An item that fits no class, or two."""

    name: str
    title: str  # of its class
    certainty: float
    preview: Preview | None


class WrongAnswers(NamedTuple):
    """What all answers together say of wrong ones; the lists are empty where nothing can be claimed."""

    summary: str
    annotators: Sequence[AnnotatorRow] = ()
    n_annotators: int = 0
    suspects: Sequence[Suspect] = ()  # the least credible first
    n_suspects: int = 0  # also those that are not listed
    outliers: Sequence[Outlier] = ()
    n_outliers: int = 0


def wrong_answers(
    items: ClassifiedItems,
    scored: ScoredAnswers,
    answers: Pairs,
    p_wrong: NDArray[np.float64],  # (m,) how likely each answer is wrong
    facts: dict[str, Any],  # as `PairClassifier.credibility_` has them
) -> WrongAnswers:
    """The rates of each annotator, the answers to ask again and the items that fit no class."""
    if not facts["supported"]:
        return WrongAnswers(wrong_in_words(facts))
    rates, outliers = facts["rates"], facts["outliers"]

    def evidence(row: int, odds: str, chain: str) -> list[tuple[str, str]]:
        who = [] if answers.annotator is None else [("By", answers.annotators[answers.annotator[row]] or UNNAMED)]
        return [*who, ("Wrong by", odds), ("Against it", chain or LOOKS)]

    return WrongAnswers(
        summary=f"{share_in_words(facts)}.",
        annotators=[
            AnnotatorRow(
                name,
                rate["answers"],
                rate_in_words(rate, "false_different"),
                rate_in_words(rate, "false_same"),
                verdict_on(rate),
            )
            for name, rate in zip(names_of(rates)[:MOST_ANNOTATORS], rates, strict=False)
        ],
        n_annotators=len(rates),
        suspects=[
            suspect(scored, one.row, items, evidence(one.row, one.odds_in_words, one.chain(LINKS)))
            for one in suspects_among(answers, 1 - p_wrong, MOST_LISTED)
        ],
        n_suspects=int((p_wrong > 0.5).sum()),
        outliers=[_outlier(items, item) for item in outliers[:MOST_OUTLIERS]],
        n_outliers=len(outliers),
    )


def suspect(
    answers: ScoredAnswers, i: int, items: ClassifiedItems, evidence: Sequence[tuple[str, str]] = ()
) -> Suspect:
    left, right = int(answers.left[i]), int(answers.right[i])
    return Suspect(
        answers.place(i).capitalize(),
        Side(items.name(left), items.preview(left)),
        Side(items.name(right), items.preview(right)),
        _verdict(float(answers.same[i])),
        _verdict(float(answers.similarity[i]), always=True),
        evidence,
    )


def _verdict(share: float, *, always: bool = False) -> str:
    """Same or different, and how sure that is unless it is certain."""
    answer, sure = ("same", share) if share > 0.5 else ("different", 1 - share)
    return f"{answer}, {certainty(sure)}" if always or sure < 1 else answer


def _outlier(items: ClassifiedItems, i: int) -> Outlier:
    title = str(items.classes[int(items.outputs[i])])
    return Outlier(items.name(i), title, float(items.probabilities[i]), items.preview(i))
