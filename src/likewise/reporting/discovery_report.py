"""The report of classes that were discovered in items without labels, by a similarity learned on other classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from likewise.evaluation import Calibration, NumberOfClasses, PairQuality, Trust
from likewise.evaluation.trust import LEAST_CLOSED, LEAST_CONFIDENT, MOST_ALONE, MOST_TOGETHER
from likewise.reporting.class_gallery import classes_section
from likewise.reporting.curves import History, stages_curve
from likewise.reporting.drawing import both_sizes
from likewise.reporting.gallery import Pictures
from likewise.reporting.judged import SortedItems
from likewise.reporting.page import card, card_row, section, write_page
from likewise.reporting.reliability import KNOWN_PAIRS, in_words, reliability_diagram

DASH = "\N{EN DASH}"


@dataclass(frozen=True, eq=False)
class SeenSimilarity:
    """How good a similarity is: on what was kept back of the known, and in itself on the pile."""

    quality: PairQuality
    calibration: Calibration
    new_classes: bool  # whether whole classes were kept back; else items of classes that it was trained on
    trust: Trust


def write_discovery_report(
    path: Path | str,
    *,
    title: str,
    summary: str,
    number: NumberOfClasses,
    about_number: str,
    similarity: SeenSimilarity,
    histories: Mapping[str, History],
    classes: Sequence[str],
    outputs: np.ndarray,
    probabilities: np.ndarray,
    images: Pictures | None = None,
    ids: Sequence[object] | np.ndarray | None = None,
    facts: Mapping[str, str] | None = None,
) -> None:
    """Write the page: how many classes, how far to trust them, how they were learned, and what is in each.

    `number` is the estimate with its interval and `about_number` says how it came about. `classes` are the names of the
    classes found, `outputs` (n,) the class of each item and `probabilities` (n,) its probability. `histories` has a row
    an epoch for each stage, by the stage's name. `images` are the items' pictures, (n, C, H, W) bytes or a sequence
    that reads one at a time, and `ids` their names. `facts` become further cards.
    """
    items = SortedItems(list(classes), np.asarray(outputs), np.asarray(probabilities), images, ids)
    sections = [
        _cards(items, number, similarity, facts, about_number),
        _quality(similarity),
        _trust(similarity.trust),
        _curves(histories),
        classes_section(items, most=len(classes)),
    ]
    write_page(path, title=title, summary=summary, sections=sections)


def _cards(
    items: SortedItems,
    number: NumberOfClasses,
    similarity: SeenSimilarity,
    facts: Mapping[str, str] | None,
    about_number: str,
) -> str:
    sure = f" <small>({number.low}{DASH}{number.high})</small>" if number.low < number.high else ""
    sizes = np.bincount(items.outputs, minlength=len(items.classes))
    between = f"{sizes.min():,} to {sizes.max():,}" if sizes.min() < sizes.max() else f"{sizes.max():,}"
    quality, kept = similarity.quality, "new classes" if similarity.new_classes else "new items of known classes"
    cards = [
        card("Classes found", f"{len(items.classes):,}{sure}", f"{between} items in each"),
        card("Items", f"{len(items):,}", "none of them with a label"),
        card("“Same” is right", _percent(quality.same_precision), f"of the times it is said, on {kept}"),
        card("“Same” is found", _percent(quality.same_recall), f"of {quality.n_same:,} same pairs, on {kept}"),
    ]
    return card_row(cards, facts, about_number)


def _trust(found: Trust) -> str:
    if found.doubts:
        verdict = f"The similarity looks useless on this pile: {'; '.join(found.doubts)}. Do not trust the classes."
    else:
        verdict = (
            "Nothing speaks against the similarity on this pile. That it is right, only a look at the classes tells."
        )
    about = f"What the similarity says of the pile's own pairs, of which nobody knows the truth. {verdict}"
    rows = [
        ("Pairs that it is sure of, below 20 % or above 80 %", found.confident, f"below {_whole(LEAST_CONFIDENT)}"),
        ("Chains i = j and j = k where it also says i = k", found.closed, f"below {_whole(LEAST_CLOSED)}"),
        ("Items that are the same as no other", found.alone, f"above {_whole(MOST_ALONE)}"),
        ("Pairs that it takes for the same", found.together, f"above {_whole(MOST_TOGETHER)}"),
    ]
    body = _table(
        ("What is looked at", "Share", "Doubtful"),
        [(name, _percent(share), doubtful) for name, share, doubtful in rows],
    )
    return section("Whether to trust the classes", about, body)


def _quality(similarity: SeenSimilarity) -> str:
    quality, found = similarity.quality, similarity.calibration
    if similarity.new_classes:
        about = "Some of the known classes were kept back, and were as new to it as the pile. "
    else:
        about = (
            "The known classes are too few to spare one, so that items of them were kept back. The pile's classes, "
            "which it has never seen, will be harder. "
        )
    about += (
        f"Of {quality.n_same + quality.n_different:,} pairs of these, {quality.n_same:,} are the same. Precision: how "
        "often it is right when it says so. Recall: how many of those that are so it finds. Its probabilities are off "
        f"by {100 * quality.calibration_error:.1f} percentage points on average."
    )
    rows = [
        ("“Same”", f"{quality.n_same:,}", _percent(quality.same_precision), _percent(quality.same_recall)),
        (
            "“Different”",
            f"{quality.n_different:,}",
            _percent(quality.different_precision),
            _percent(quality.different_recall),
        ),
    ]
    table = _table(("", "Pairs", "Precision", "Recall"), rows)
    label = f"Share that is the same, by the probability that it gave: {in_words(found)}"
    figure = both_sizes(
        lambda size: reliability_diagram(found, size=size, judges=KNOWN_PAIRS), label, prefix="reliability"
    )
    return section("How good the similarity is", about, f"{table}<br>{figure}")


def _curves(histories: Mapping[str, History]) -> str:
    figure = both_sizes(lambda size: stages_curve(histories, size=size), "Training loss by epoch", prefix="curve")
    if not figure:
        return ""
    about = "The training loss after each epoch: first of what is the same, then of the classes that were found."
    if len(histories) == 1:
        about = "The training loss after each epoch. The similarity was learned before, in another run."
    return section("How it learned", about, figure)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column in words, the others to the right."""
    names = "".join(f'<th scope="col"{_number(place)}>{escape(name)}</th>' for place, name in enumerate(head))
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f'<td class="number">{escape(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<table class="listing figures"><thead><tr>{names}</tr></thead>\n<tbody>{body}</tbody></table>'


def _number(place: int) -> str:
    return ' class="number"' if place else ""


def _percent(share: float) -> str:
    return DASH if share != share else f"{100 * share:.1f} %"


def _whole(share: float) -> str:
    return f"{100 * share:.0f} %"
