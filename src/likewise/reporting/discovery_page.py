"""The page of classes discovered in items without labels, by a similarity learned on other classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from likewise.estimators import CategoryDiscoverer
from likewise.estimators.anchor_items import nearest_known
from likewise.estimators.discovery_in_words import mixture_in_words, number_in_words
from likewise.evaluation import Calibration, NumberOfClasses, PairQuality, Trust
from likewise.evaluation.pair_quality import LEAST_CLOSED, LEAST_CONFIDENT, MOST_ALONE, MOST_TOGETHER
from likewise.reporting.answers_page import output_cards
from likewise.reporting.confusion_matrix import Comparison
from likewise.reporting.curves import KNOWN_PAIRS, History, in_words, reliability_diagram, stages_section
from likewise.reporting.drawing import both_sizes
from likewise.reporting.gallery import ClassifiedItems, ClassRow, class_table
from likewise.reporting.page import DASH, Card, Report, percent, write_page

DISCOVERED = """\
Nobody labelled these {items:,} items. {similarity} says of any two items how likely they are the same. The {classes} \
classes below are what came of asking that of all pairs."""
LEARNED = "A similarity, learned on {classes:,} known classes,"
GIVEN = "A similarity that was given"
UNNAMED = """\
The classes have numbers and no names; a few labelled items give them names (likewise name, or name_classes in \
Python). A class may hold two kinds of things that the similarity cannot tell apart, or be half of a kind: the least \
certain items show it best."""
NAMED = "The names of the classes are those of a few labelled items, by which they were called afterwards."


@dataclass(frozen=True, eq=False)
class SimilarityQuality:
    """How good a similarity is on known items that were held out."""

    pairs: PairQuality
    calibration: Calibration
    new_classes: bool  # whether whole classes were held out; else items of classes that it was trained on


@dataclass(frozen=True)
class Mixture:
    """What of a pile is known and what is new: each new class beside the known one that is nearest to it."""

    words: str
    rows: Sequence[ClassRow]
    previews: bool
    titles: tuple[str, str] = ("This class", "The nearest known class")


class TrustRow(NamedTuple):
    """One sign of whether a similarity is to be trusted, and from where on it is doubtful."""

    name: str
    share: float
    doubtful: str


def report_discovery(
    model: CategoryDiscoverer, items: ClassifiedItems, *, comparison: Comparison | None, out: Path
) -> Report:
    """Write the page of a fitted model."""
    classifier, similarity = model.classifier_, model.similarity_
    source, quality, histories = GIVEN, None, {}
    if similarity is not None:
        source = LEARNED.format(classes=len(similarity.classes_))
        new_classes = similarity.held_out_kind_ != "items"
        quality = SimilarityQuality(similarity.quality_, similarity.calibration_, new_classes)
        histories["Similarity"] = similarity.history_
    asked = DISCOVERED.format(items=len(items), similarity=source, classes=len(items.classes))
    write_discovery_page(
        out,
        items,
        title=f"{len(items.classes)} classes in {len(items):,} items that nobody labelled",
        summary=f"{asked}\n\n{NAMED if classifier.naming_.named else UNNAMED}",
        number=model.number_,
        about_number=number_in_words(model),
        quality=quality,
        trust=model.trust_,
        histories={**histories, "Classifier": classifier.history_},
        facts=output_cards(classifier),
        comparison=comparison,
        mixture=_mixture(model, items),
    )
    doubts = model.trust_.doubts
    return Report(
        out, f"Do not trust the classes: on these items, {'; '.join(doubts)}." if doubts else number_in_words(model)
    )


def write_discovery_page(
    path: Path | str,
    items: ClassifiedItems,
    *,
    title: str,
    summary: str,
    number: NumberOfClasses,
    about_number: str,
    quality: SimilarityQuality | None,
    trust: Trust,
    histories: Mapping[str, History],
    facts: Sequence[Card] = (),
    comparison: Comparison | None = None,
    mixture: Mixture | None = None,
) -> None:
    """Write how many classes there are, how far to trust them, how they were learned, and what is in each.

    `number` is the estimate with its interval and `about_number` says how it was obtained. `quality` is None where the
    similarity was not learned here. `histories` has the rows of each stage, by the stage's name. `facts` are
    further cards. `comparison` is with true classes, where they are known. `mixture` is of a pile with known classes.
    """
    write_page(
        path,
        "discovery.html",
        title=title,
        summary=summary,
        cards=[*_cards(items, number, quality), *facts],
        about_number=about_number,
        quality=quality,
        reliability=_reliability(quality),
        doubts=trust.doubts,
        trust=_trust_rows(trust),
        curves=stages_section(histories),
        comparison=comparison,
        mixture=mixture,
        classes=class_table(items, most_classes=len(items.classes)),
    )


def _cards(items: ClassifiedItems, number: NumberOfClasses, quality: SimilarityQuality | None) -> list[Card]:
    interval = f"({number.low}{DASH}{number.high})" if number.low < number.high else ""
    sizes = np.bincount(items.outputs, minlength=len(items.classes))
    between = f"{sizes.min():,} to {sizes.max():,}" if sizes.min() < sizes.max() else f"{sizes.max():,}"
    cards = [
        Card("Classes found", f"{len(items.classes):,}", interval, f"{between} items in each"),
        Card("Items", f"{len(items):,}", detail="none of them with a label"),
    ]
    if quality is None:
        return cards
    pairs, held_out = quality.pairs, "new classes" if quality.new_classes else "new items of known classes"
    return [
        *cards,
        Card("“Same” is right", *_in_percent(pairs.same_precision), f"of the times it is said, on {held_out}"),
        Card("“Same” is found", *_in_percent(pairs.same_recall), f"of {pairs.n_same:,} same pairs, on {held_out}"),
    ]


def _mixture(model: CategoryDiscoverer, items: ClassifiedItems) -> Mixture | None:
    """The new classes of a mixed pile, largest first, with items of the nearest known class in the pile."""
    words = mixture_in_words(model)
    if not model.mixed or not words:
        return Mixture(words, [], False) if words else None
    shown = {row.name: row for row in class_table(items, len(items.classes)).rows}
    rows = []
    for name, nearest, alike in nearest_known(model):
        own = shown[str(name)]
        notes = [*own.notes, f"nearest known class: {nearest}", f"cosine {alike:.2f}"]
        rows.append(ClassRow(own.name, own.size, notes, own.most, shown[str(nearest)].most))
    return Mixture(words, sorted(rows, key=lambda row: -row.size), items.previews is not None)


def _in_percent(share: float) -> tuple[str, str]:
    """The number, and its unit in small letters."""
    return (DASH, "") if np.isnan(share) else (f"{100 * share:.1f}", "%")


def _reliability(quality: SimilarityQuality | None) -> Markup | None:
    if quality is None:
        return None
    measured = quality.calibration
    label = f"Share that is the same, by the probability that it gave: {in_words(measured)}"
    return both_sizes(
        lambda size: reliability_diagram(measured, size=size, kind=KNOWN_PAIRS), label, prefix="reliability"
    )


def _trust_rows(trust: Trust) -> list[TrustRow]:
    def below(limit: float) -> str:
        return f"below {percent(limit, 0)}"

    def above(limit: float) -> str:
        return f"above {percent(limit, 0)}"

    return [
        TrustRow("Pairs that it is sure of, below 20 % or above 80 %", trust.confident, below(LEAST_CONFIDENT)),
        TrustRow("Chains i = j and j = k where it also says i = k", trust.closed, below(LEAST_CLOSED)),
        TrustRow("Items that are the same as no other", trust.alone, above(MOST_ALONE)),
        TrustRow("Pairs that it takes for the same", trust.together, above(MOST_TOGETHER)),
    ]
