"""Answers to check again: those which the model contradicts most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from likewise.reporting.gallery import thumbnail
from likewise.reporting.judged import JudgedAnswers, SortedItems
from likewise.reporting.page import certainty


def suspects(
    answers: JudgedAnswers,
    positions: Sequence[int],
    items: SortedItems,
    further: Sequence[Mapping[str, str]] | None = None,
) -> str:
    """For each position both items, what was answered, what the model says, what else there is to say, and where."""
    entries = []
    for number, i in enumerate(positions):
        pair = {"Left": int(answers.left[i]), "Right": int(answers.right[i])}
        told = {side: f'<dd class="id">{escape(items.name(item))}</dd>' for side, item in pair.items()}
        told["Answered"] = f"<dd>{_verdict(float(answers.same[i]))}</dd>"
        told["Model"] = f"<dd>{_verdict(float(answers.similarity[i]), always=True)}</dd>"
        if further is not None:
            told |= {name: f'<dd class="id">{escape(text)}</dd>' for name, text in further[number].items()}
        rows = "".join(f"<dt>{name}</dt>{text}" for name, text in told.items())
        place = escape(answers.place(i).capitalize())
        entries.append(f"<li>{_pictures(items, pair.values())}<div><h3>{place}</h3><dl>{rows}</dl></div></li>")
    kind = "suspects" if items.images is None else "suspects pictured"
    return f'<ul class="{kind}">' + "\n".join(entries) + "</ul>"


def _pictures(items: SortedItems, pair: Iterable[int]) -> str:
    if items.images is None:
        return ""
    return '<div class="pair">' + "".join(thumbnail(items.images[i], items.name(i)) for i in pair) + "</div>"


def _verdict(share: float, *, always: bool = False) -> str:
    """Same or different, and how sure it is where it is not altogether so."""
    said, sure = ("same", share) if share > 0.5 else ("different", 1 - share)
    return f"{said}, {certainty(sure)}" if always or sure < 1 else said
