"""The parts of any report: one self-contained HTML page, with nothing to fetch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from likewise.evaluation import wilson
from likewise.reporting.style import STYLE_SHEET
from likewise.storage.atomic_files import write_atomically


def write_page(path: Path | str, *, title: str, summary: str, sections: Iterable[str]) -> None:
    """Write the page: its title, the summary and the sections, of which empty ones are left out.

    A blank line in `summary` starts a paragraph. A reader finds the whole page or what was there before; the folder of
    `path` is made where it is missing.
    """
    paragraphs = "".join(f"<p>{escape(text.strip())}</p>" for text in summary.split("\n\n") if text.strip())
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE_SHEET}</style></head>\n"
        f"<body><main>\n<header><h1>{escape(title)}</h1>{paragraphs}</header>\n"
        + "\n".join(section for section in sections if section)
        + "\n<footer>Written by Likewise. This file needs nothing else: keep it, send it, open it anywhere.</footer>\n"
        "</main></body></html>\n"
    )
    write_atomically(Path(path), page)


def section(title: str, about: str, body: str = "") -> str:
    """A heading, what it is about in words, and a panel with `body`, which is HTML."""
    lead = f'<p class="about">{escape(about)}</p>' if about else ""
    panel = f'<div class="panel">{body}</div>' if body else ""
    return f"<section><h2>{escape(title)}</h2>{lead}\n{panel}</section>"


def card(name: str, value: str, detail: str = "") -> str:
    """A large value and its name, both HTML, and a detail in words."""
    small = f'<p class="detail">{escape(detail)}</p>' if detail else ""
    return f'<div class="card"><p class="value">{value}</p><h2>{name}</h2>{small}</div>'


def share_card(
    name: str, hits: int, n: int, kind: str, further: str = "", interval: tuple[float, float] | None = None
) -> str:
    """So many of n in percent, with the 95 % interval; a dash where there is nothing to measure it on.

    Unless the interval is given, it is that of independent ones.
    """
    if not n:
        return card(name, "\N{EN DASH}", f"no {kind} to measure it on")
    low, high = (100 * end for end in interval or wilson(hits, n))
    digits = 0 if high - low >= 2 else 1
    value = f"{100 * hits / n:.1f} <small>% ({low:.{digits}f}\N{EN DASH}{high:.{digits}f})</small>"
    return card(name, value, f"{hits:,} of {n:,} {kind}{further}")


def card_row(cards: list[str], facts: Mapping[str, str] | None, note: str = "") -> str:
    """The cards, then one for each fact, with a note beneath; nothing where there is no card."""
    cards = cards + [card(escape(name), escape(value)) for name, value in (facts or {}).items()]
    below = f'<p class="note">{escape(note)}</p>' if note else ""
    return '<div class="cards">' + "\n".join(cards) + f"</div>{below}" if cards else ""


def scrolling(name: str, body: str) -> str:
    """A part that may be wider than the page, and can be reached and moved with the keyboard."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">{body}</div>'


def count(n: int, one: str, many: str) -> str:
    """
    >>> count(0, "item", "items"), count(1, "item", "items"), count(1200, "item", "items")
    ('no item', '1 item', '1,200 items')
    """
    return f"no {one}" if n == 0 else f"1 {one}" if n == 1 else f"{n:,} {many}"


def certainty(probability: float, digits: int = 1) -> str:
    """A probability in percent; only what is certain is called 100 %.

    >>> certainty(0.931), certainty(0.9999), certainty(0.998, digits=0), certainty(1.0)
    ('93.1 %', '>99.9 %', '>99 %', '100.0 %')
    """
    text, most = f"{100 * probability:.{digits}f}", 100 - 10**-digits
    return f">{most:.{digits}f} %" if probability < 1 and float(text) > most else f"{text} %"
