"""Pages from templates: one self-contained HTML file each, with every name escaped and nothing to fetch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from likewise.evaluation import wilson
from likewise.reporting.drawing import DARK, LIGHT, channels
from likewise.storage.atomic_files import write_atomically

DASH = "\N{EN DASH}"
PERCENT = "\N{NO-BREAK SPACE}%"


def write_page(path: Path | str, template: str, *, title: str, summary: str, **content: object) -> None:
    """Write what a template of templates/ makes of its content.

    A blank line in `summary` starts a paragraph. A reader finds the whole page or what was there before; the folder of
    `path` is made where it is missing. A file name that is not Unicode is written with backslashes.
    """
    paragraphs = [text.strip() for text in summary.split("\n\n") if text.strip()]
    page = templates().get_template(template).render(title=title, summary=paragraphs, **content)
    write_atomically(Path(path), page.encode(errors="backslashreplace"))


@cache
def templates() -> Environment:
    """The templates: they escape whatever is not marked safe, and a name that is not there is an error."""
    environment = Environment(
        loader=PackageLoader("likewise.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "channels": channels,
        "certainty": certainty,
        "count": count,
        "number": number,
        "percent": percent,
    }
    environment.globals |= {"light": LIGHT, "dark": DARK}
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False}
    return environment


class Report(NamedTuple):
    """Where a report was written, and what it found in a sentence or two.

    >>> written = Report(Path("report.html"), "No answer looks wrong.")
    >>> print(f"{written.path}: {written.finding}")
    report.html: No answer looks wrong.
    """

    path: Path
    finding: str


@dataclass(frozen=True)
class Card:
    """A large value and its name; what the value is counted in stands beside it in small letters.

    >>> Card("Held-out answers right", "97.6", "% (96–99)", detail="478 of 490 held-out answers").value
    '97.6'
    """

    name: str
    value: str
    small: str = ""
    detail: str = ""
    colour: str = ""  # of a dot before the name, as the palette calls it


def share_card(
    name: str, hits: int, n: int, kind: str, further: str = "", interval: tuple[float, float] | None = None
) -> Card:
    """The share of hits in percent, with its 95 % interval; a dash where there is nothing to measure it on.

    Unless the interval is given, it is Wilson's, for independent trials.

    >>> share_card("Right", 9, 10, "answers")
    Card(name='Right', value='90.0', small='% (60–98)', detail='9 of 10 answers', colour='')
    """
    if not n:
        return Card(name, DASH, detail=f"no {kind} to measure it on")
    low, high = (100 * end for end in interval or wilson(hits, n))
    digits = 0 if high - low >= 2 else 1
    small = f"% ({low:.{digits}f}{DASH}{high:.{digits}f})"
    return Card(name, f"{100 * hits / n:.1f}", small, f"{hits:,} of {n:,} {kind}{further}")


def count(n: int, one: str, many: str) -> str:
    """
    >>> count(0, "item", "items"), count(1, "item", "items"), count(1200, "item", "items")
    ('no item', '1 item', '1,200 items')
    """
    return f"no {one}" if n == 0 else f"1 {one}" if n == 1 else f"{n:,} {many}"


def number(n: int) -> str:
    """
    >>> number(1200)
    '1,200'
    """
    return f"{n:,}"


def percent(share: float, digits: int = 1) -> str:
    """
    >>> percent(0.931), percent(0.5, digits=0), percent(float("nan"))
    ('93.1\\xa0%', '50\\xa0%', '–')
    """
    return DASH if share != share else f"{100 * share:.{digits}f}{PERCENT}"


def certainty(probability: float, digits: int = 1) -> str:
    """A probability in percent; only what is certain is called 100 %.

    >>> certainty(0.931), certainty(0.9999), certainty(0.998, digits=0), certainty(1.0)
    ('93.1\\xa0%', '>99.9\\xa0%', '>99\\xa0%', '100.0\\xa0%')
    """
    text, most = f"{100 * probability:.{digits}f}", 100 - 10**-digits
    return f">{most:.{digits}f}{PERCENT}" if probability < 1 and float(text) > most else f"{text}{PERCENT}"
