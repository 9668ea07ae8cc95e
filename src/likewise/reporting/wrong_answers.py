"""What all answers say of wrong ones: how often each annotator is wrong, what to ask again, and what fits no class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from likewise.reporting.gallery import thumbnail
from likewise.reporting.judged import JudgedAnswers, SortedItems
from likewise.reporting.page import certainty, count, section
from likewise.reporting.suspects import suspects

MOST_ANNOTATORS = 50
MOST_OUTLIERS = 24


class AnnotatorRow(NamedTuple):
    """How often an annotator is wrong, in words; `verdict` is empty unless the answers are of no use as they are."""

    name: str
    answers: int
    false_different: str
    false_same: str
    verdict: str


class WrongAnswer(NamedTuple):
    """An answer that is likely wrong."""

    position: int  # among the answers
    annotator: str  # empty where nobody is named
    odds: str
    against: str


@dataclass(frozen=True)
class WrongAnswers:
    summary: str
    annotators: Sequence[AnnotatorRow]  # none where nothing is claimed
    suspects: Sequence[WrongAnswer]  # the least credible first
    n_suspects: int  # also those that are not listed
    outliers: Sequence[int]  # items


def wrong_sections(wrong: WrongAnswers, answers: JudgedAnswers, items: SortedItems) -> list[str]:
    return [_rates(wrong), _suspects(wrong, answers, items), _outliers(wrong, items)]


def _rates(wrong: WrongAnswers) -> str:
    title = "How often answers are wrong"
    if not wrong.annotators:
        return section(title, wrong.summary)
    rows = "\n".join(
        f'<tr><th scope="row">{escape(row.name)}</th><td class="number">{row.answers:,}</td>'
        f'<td class="number">{escape(row.false_same)}</td><td class="number">{escape(row.false_different)}</td>'
        f"<td>{escape(row.verdict)}</td></tr>"
        for row in wrong.annotators[:MOST_ANNOTATORS]
    )
    names = ["Annotator", "Answers", "Wrongly “same”", "Wrongly “different”", ""]
    head = "".join(
        f'<th scope="col"{" class=number" if 0 < place < 4 else ""}>{name}</th>' for place, name in enumerate(names)
    )
    about = (
        f"{wrong.summary} An answer is judged by all other answers and by what the items look like. The share of pairs "
        "of two classes that are called the same, and of pairs of one class that are called different, with 95 % "
        "intervals:"
    )
    if len(wrong.annotators) > MOST_ANNOTATORS:
        about += f" the first {MOST_ANNOTATORS} of {len(wrong.annotators):,} annotators."
    table = f'<table class="listing figures"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>'
    return section(title, about, table)


def _suspects(wrong: WrongAnswers, answers: JudgedAnswers, items: SortedItems) -> str:
    title = "Answers to ask again"
    if not wrong.suspects:
        return section(title, "No answer is more likely wrong than right.") if wrong.annotators else ""
    about = f"{count(wrong.n_suspects, 'answer is', 'answers are')} more likely wrong than right"
    if len(wrong.suspects) < wrong.n_suspects:
        about += f"; the {len(wrong.suspects)} least credible are shown"
    about += ". Each has its odds, and the answers that speak against it with their places."
    further = [
        {**({"By": one.annotator} if one.annotator else {}), "Wrong by": one.odds, "Against it": one.against}
        for one in wrong.suspects
    ]
    return section(title, about, suspects(answers, [one.position for one in wrong.suspects], items, further))


def _outliers(wrong: WrongAnswers, items: SortedItems) -> str:
    if not wrong.outliers:
        return ""
    shown = wrong.outliers[:MOST_OUTLIERS]
    about = f"{count(len(wrong.outliers), 'item fits', 'items fit')} no class, or two: far more answers than usual are "
    about += "wrong about them, or all classes are unlikely."
    if len(shown) < len(wrong.outliers):
        about += f" The {len(shown)} worst are shown."
    about += " Each is shown with the class that it was put in all the same."
    entries = []
    for item in shown:
        name, sure = items.classes[int(items.outputs[item])], certainty(float(items.probabilities[item]), digits=0)
        picture = "" if items.images is None else thumbnail(items.images[item], items.name(item))
        entries.append(
            f"<li>{picture}<div><h3>{escape(items.name(item))}</h3><p>{escape(str(name))}, {sure}</p></div></li>"
        )
    return section("Items that fit no class", about, f'<ul class="suspects">{"".join(entries)}</ul>')
