"""The report of a classifier learned from answers "same" or "different", without any class label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.evaluation import PairAccuracy, calibration, hard_answers, pair_accuracy, share_interval
from likewise.reporting.class_gallery import classes_section
from likewise.reporting.curves import History, curve_section
from likewise.reporting.drawing import both_sizes
from likewise.reporting.gallery import Pictures
from likewise.reporting.judged import JudgedAnswers, SortedItems
from likewise.reporting.page import card, card_row, count, section, share_card, write_page
from likewise.reporting.reliability import in_words, reliability_diagram
from likewise.reporting.suspects import suspects
from likewise.reporting.wrong_answers import WrongAnswers, wrong_sections

MOST_SUSPECTS = 24


def write_answers_report(
    path: Path | str,
    *,
    title: str,
    summary: str,
    history: History,
    classes: Sequence[str],
    outputs: np.ndarray,
    probabilities: np.ndarray,
    held_out: JudgedAnswers | None,
    answers: JudgedAnswers,
    images: Pictures | None = None,
    ids: Sequence[object] | np.ndarray | None = None,
    facts: Mapping[str, str] | None = None,
    wrong: WrongAnswers | None = None,
) -> None:
    """Write the page: how right and how sure the model is, how it learned, what it found, which answers to check.

    `classes` are the names of the classes found, `outputs` (n,) the class of each item and `probabilities` (n,) its
    probability. `history` has a row an epoch: epoch, loss, held_out_loss, held_out_accuracy and stage, of which any may
    be missing. `held_out` are the answers the model did not learn from, None or empty where there are none; `answers`
    are all of them. `images` are the items' pictures, (n, C, H, W) bytes or a sequence that reads one at a time, and
    `ids` their names. `facts` become further cards, such as {"Unused outputs": "2"}. `wrong` is what all answers say
    together of wrong ones; without it, those that the model contradicts are shown.
    """
    items = SortedItems(list(classes), np.asarray(outputs), np.asarray(probabilities), images, ids)
    for given in (answers, held_out):
        if given is not None:
            items.check(given)
    sections = [
        _cards(items, answers, held_out, facts),
        _calibration(held_out),
        curve_section(history),
        classes_section(items),
        *([_suspects(answers, items)] if wrong is None else wrong_sections(wrong, answers, items)),
    ]
    write_page(path, title=title, summary=summary, sections=sections)


def _cards(
    items: SortedItems, answers: JudgedAnswers, held_out: JudgedAnswers | None, facts: Mapping[str, str] | None
) -> str:
    measured = _measured(held_out)
    cards, note = [], ""
    if measured.n:
        cards = _held_out_cards(measured, held_out)
        kind, n = max(("same", measured.n_same), ("different", measured.n_different), key=lambda pair: pair[1])
        always = f"Always saying “{kind}” would be right {n:,} times in {measured.n:,}."
        note = f"In brackets the 95 % interval, by items drawn again. {always}"
    answer = hard_answers(answers.same)
    kinds = {"same": np.sum(answer == 1), "different": np.sum(answer == 0), "undecided": np.sum(answer == -1)}
    told = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items() if n)
    asked = len(np.union1d(answers.left, answers.right))
    cards += [
        card("Answers", f"{len(answers):,}", told),
        card("Items", f"{len(items):,}", f"{asked:,} of them in an answer"),
        card("Classes found", f"{len(items.classes):,}"),
    ]
    return card_row(cards, facts, note)


def _calibration(held_out: JudgedAnswers | None) -> str:
    if held_out is None or not _measured(held_out).n:
        why = "No answer was held out" if not held_out else "No held-out answer is decided"
        about = f"{why}, so this page cannot say how often the model is right about pairs it has not learned from."
        return section("How often it is right", about)
    found = calibration(held_out.similarity, held_out.same)
    about = (
        "Of the pairs to which the model gives a probability of 80 % of being the same, about 80 in 100 should have "
        f"been answered “same”. On the {len(held_out):,} held-out answers its probabilities are off by "
        f"{100 * found.error:.1f} percentage points on average (the expected calibration error)."
    )
    label = f"Share answered same, by the probability that the model gave: {in_words(found)}"
    figure = both_sizes(lambda size: reliability_diagram(found, size=size), label, prefix="reliability")
    return section("How far its probabilities can be trusted", about, figure)


def _suspects(answers: JudgedAnswers, items: SortedItems) -> str:
    contradicted = answers.contradicted().tolist()
    if not contradicted:
        return section("Answers to check again", "The model agrees with every answer.") if len(answers) else ""
    about = f"The model says the opposite of {len(contradicted):,} of {count(len(answers), 'answer', 'answers')}."
    if len(contradicted) > MOST_SUSPECTS:
        about += f" The {MOST_SUSPECTS} that it contradicts most are shown."
    about += " Each is a slip in the answers or a mistake of the model: look again."
    return section("Answers to check again", about, suspects(answers, contradicted[:MOST_SUSPECTS], items))


def _measured(held_out: JudgedAnswers | None) -> PairAccuracy:
    return pair_accuracy(held_out.similarity, held_out.same) if held_out else pair_accuracy([], [])


def _held_out_cards(measured: PairAccuracy, held_out: JudgedAnswers | None) -> list[str]:
    assert held_out is not None
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
