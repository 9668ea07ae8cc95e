"""The page of a classifier learned from answers "same" or "different", without any class label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.estimators import PairClassifier
from likewise.estimators.wrong_answers import mixed_up
from likewise.evaluation import Calibration, PairAccuracy, calibration, hard_answers, pair_accuracy, share_interval
from likewise.pairs import Pairs
from likewise.pairs.credible import mixed_up_in_words, wrong_in_words
from likewise.reporting.confusion_matrix import Comparison
from likewise.reporting.curves import History, held_out_section, in_words, reliability_diagram
from likewise.reporting.drawing import both_sizes
from likewise.reporting.gallery import ClassifiedItems, class_table
from likewise.reporting.page import DASH, Card, Report, share_card, write_page
from likewise.reporting.suspects import MOST_CONTRADICTED, ScoredAnswers, WrongAnswers, suspect, wrong_answers

LEARNED = """\
A network with {outputs} outputs was given {items:,} items and {answers:,} answers, each of which says of two items \
whether they are the same or different. It was never told what any item is: the {classes} classes below are what it \
made of the answers."""
NAMED = " Their names are those of a few labelled items, by which they were called afterwards."
MEASURED = """\
{held_out:,} of the answers were held out: the network did not learn from them, and its figures are for them. """
CHOSEN = "They also decided {what}, so the figures are slightly optimistic."
UNMEASURED = "No answers were held out, so nothing here says how right it is about other pairs."


def report_answers(
    model: PairClassifier,
    X: Any,
    items: ClassifiedItems,
    answers: Pairs,
    *,
    held_out: NDArray[np.bool_],  # (m,)
    comparison: Comparison | None,
    out: Path,
) -> Report:
    """Write the page of a fitted model."""
    counted = answers.weight > 0  # the others count as not given
    if model.p_wrong_ is not None and len(model.p_wrong_) != len(answers):
        raise InputError(
            f"pairs holds {len(answers):,} answers, and the model was fitted to {len(model.p_wrong_):,}; give those."
        )
    p_wrong = None if model.p_wrong_ is None else model.p_wrong_[counted]
    answers, held_out = answers.select(counted), held_out[counted]
    scored = _scored(model, X, answers)
    write_answers_page(
        out,
        items,
        scored,
        held_out=_scored(model, X, answers.select(held_out)),
        title=f"{len(items.classes)} classes, learned from {len(answers):,} answers",
        summary=_summary(model, items, len(answers), int(held_out.sum())),
        history=model.history_,
        facts=_facts(model),
        comparison=comparison,
        wrong=None
        if p_wrong is None or model.credibility_ is None
        else wrong_answers(items, scored, answers, p_wrong, model.credibility_),
    )
    contradicted = f"The classifier says the opposite of {len(scored.contradicted()):,} of {len(answers):,} answers."
    wrong = [] if model.credibility_ is None else [wrong_in_words(model.credibility_)]
    return Report(out, "\n".join([contradicted, *wrong]))


def _summary(model: PairClassifier, items: ClassifiedItems, n_answers: int, n_held_out: int) -> str:
    naming, n_classes = model.naming_, len(items.classes)
    learned = LEARNED.format(outputs=model.n_outputs_, items=len(items), answers=n_answers, classes=n_classes)
    if naming.named:
        learned += NAMED
    if model.confusion_ is not None:
        title = dict(zip(naming.columns[naming.columns >= 0].tolist(), naming.titles, strict=True))
        mixed = [
            {"classes": [title.get(one, one), title.get(other, other)], "called_same": share}
            for one, other, share in mixed_up(model.confusion_, model.outputs_)
        ]
        learned += f"\n\n{mixed_up_in_words(mixed)}"
    if not n_held_out:
        return f"{learned}\n\n{UNMEASURED}"
    decided = []
    if model.unlabelled_ is not None:
        was = "was" if model.unlabelled_ else "was not"
        decided.append(f"whether to keep a second stage, which uses the pairs that nobody answered (it {was} kept)")
    if model.patience:
        decided.append("when each stage ended")
    chosen = CHOSEN.format(what=" and ".join(decided)) if decided else "They decided nothing else."
    return f"{learned}\n\n{MEASURED.format(held_out=n_held_out)}{chosen}"


def _scored(model: PairClassifier, X: Any, answers: Pairs) -> ScoredAnswers:
    similarity = model.predict_same(X, np.stack([answers.left, answers.right], axis=1)).clip(0, 1)
    return ScoredAnswers(answers.left, answers.right, answers.same, similarity, answers.lines, answers.source.unit)


def _facts(model: PairClassifier) -> list[Card]:
    facts = output_cards(model)
    if model.credibility_ is not None and model.credibility_["supported"]:
        low, high = (f"{100 * end:.1f}" for end in model.credibility_["interval"])
        share = f"{100 * model.credibility_['share_wrong']:.1f}"
        facts.append(Card("Answers that look wrong", share, f"% ({low}{DASH}{high})"))
    elif model.noise_:
        facts.append(Card("Rate of wrong answers", f"{100 * model.noise_:.1f}", "%"))
    return facts


def output_cards(model: PairClassifier) -> list[Card]:
    """The number of classes where it was estimated, and the outputs that no item falls in."""
    cards = []
    if model.n_classes_interval_ is not None:
        low, high = model.n_classes_interval_
        cards.append(Card("Estimated classes", f"{model.n_outputs_}", f"({low}{DASH}{high})", "90 % interval"))
    if model.unused_outputs_:
        cards.append(Card("Unused outputs", f"{model.unused_outputs_}", f"of {model.n_outputs_}"))
    return cards


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
    wrong: WrongAnswers | None = None,
) -> None:
    """Write how right and how sure the model is, how it learned, what it found, and which answers to check.

    `history` has one row per epoch: epoch, loss, held_out_loss, held_out_accuracy and stage, of which any may be
    missing. `held_out` are the answers the model did not learn from, None or empty where there are none; `answers`
    are all of them. `facts` are further cards. `comparison` is with true
    classes, where they are known. `wrong` is what all answers together say of wrong ones; without it, those that the
    model contradicts are shown.
    """
    for pairs in (answers, held_out):
        if pairs is not None:
            items.check_positions(pairs.left, "Answers")
            items.check_positions(pairs.right, "Answers")
    measured = pair_accuracy(held_out.similarity, held_out.same) if held_out else None
    if held_out is None or measured is None or not measured.n:
        measured, bins, measured_cards = None, None, []
    else:
        bins = calibration(held_out.similarity, held_out.same)
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
        calibration=bins,
        reliability=None if bins is None else _reliability(bins),
        curves=held_out_section(history),
        comparison=comparison,
        classes=class_table(items),
        n_answers=len(answers),
        n_suspects=len(contradicted),
        suspects=[suspect(answers, i, items) for i in contradicted[:MOST_CONTRADICTED]] if wrong is None else [],
        wrong=wrong,
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


def _reliability(measured: Calibration) -> Markup:
    label = f"Share answered same, by the probability that the model gave: {in_words(measured)}"
    return both_sizes(lambda size: reliability_diagram(measured, size=size), label, prefix="reliability")
