"""The page of a run that learned from answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.cli.credible import (
    MOST_LISTED,
    UNNAMED,
    mixed_up_classes,
    mixed_up_in_words,
    names_of,
    rate_in_words,
    share_in_words,
    verdict_on,
    wrong_in_words,
)
from likewise.cli.fitted import Fit, GivenAnswers, read_answers
from likewise.cli.items import Given, find_answers
from likewise.cli.pictures import pictures_of
from likewise.cli.places import writing

if TYPE_CHECKING:
    from likewise.estimators import PairClassifier
    from likewise.pairs import Pairs
    from likewise.reporting import JudgedAnswers, WrongAnswers

LEARNED = """\
A network with {outputs} outputs was given {items:,} items and {answers:,} answers, each of which says of two items \
whether they are the same or different. It was never told what any item is: the {classes} classes below are what it \
made of the answers."""
NAMED = " Their names are those of a few labelled items, by which they were called afterwards."
MEASURED = """\
{held_out:,} of the answers were held out: the network did not learn from them, and its figures are for them. """
CHOSEN = "They also decided {what}, so the figures are slightly optimistic."
PAGE_LINKS = 6  # of a chain
LOOKS = "no chain of answers, but how the two items look beside all others"
UNMEASURED = "No answers were held out, so nothing here says how right it is about pairs that it was not told of."


def write_answers_page(
    out: Path, run: Path, fit: Fit, model: PairClassifier, given: Given, path: Path
) -> Iterator[str]:
    """Write it, and give what is to be said about it."""
    import numpy as np

    from likewise.reporting import write_answers_report

    written = read_answers(run, fit)
    answers = find_answers(written.pairs, given)
    answers = answers.select(answers.weight > 0)  # the others count as not given
    held_out = np.isin(answers.lines, written.pairs.lines[written.held_out])

    found = model.naming_.columns >= 0
    probabilities = model.predict_proba(given.X)[:, found]  # (n, classes)
    names = model.naming_.titles
    judged = _judged(model, given, answers)
    with writing(out, "--out"):
        write_answers_report(
            out,
            title=f"{len(names)} classes, learned from {len(answers):,} answers",
            summary=_summary(model, fit, given, answers, int(held_out.sum())),
            history=model.history_,
            classes=names,
            outputs=probabilities.argmax(1),
            probabilities=probabilities.max(1),
            held_out=_judged(model, given, answers.select(held_out)),
            answers=judged,
            images=pictures_of(given, path),
            ids=given.items.ids or None,
            facts=_facts(model),
            wrong=_wrong(model, answers, written),
        )
    yield f"Wrote {out}; open it in a browser."
    yield f"The classifier says the opposite of {len(judged.contradicted()):,} of {len(answers):,} answers."
    if model.credibility_ is not None:
        yield wrong_in_words(model.credibility_)


def _judged(model: PairClassifier, given: Given, answers: Pairs) -> JudgedAnswers:
    import numpy as np

    from likewise.reporting import JudgedAnswers

    similarity = model.predict_same(given.X, np.stack([answers.left, answers.right], axis=1)).clip(0, 1)
    unit = answers.source.unit
    return JudgedAnswers(answers.left, answers.right, answers.same, similarity, answers.lines, unit)


def _wrong(model: PairClassifier, answers: Pairs, written: GivenAnswers) -> WrongAnswers | None:
    """What all answers say together; None where they were not judged."""
    import numpy as np

    from likewise.pairs.credible import suspects_among
    from likewise.reporting import AnnotatorRow, WrongAnswer, WrongAnswers

    facts = model.credibility_
    if facts is None or written.p_wrong is None:
        return None
    if not facts["supported"]:
        return WrongAnswers(wrong_in_words(facts), (), (), 0, ())
    order = np.argsort(written.pairs.lines)
    place = order[np.searchsorted(written.pairs.lines, answers.lines, sorter=order)]
    right = 1 - written.p_wrong[place]
    rates = facts["rates"]

    def who(row: int) -> str:
        return "" if answers.annotator is None else answers.annotators[answers.annotator[row]] or UNNAMED

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
            for name, rate in zip(names_of(rates), rates, strict=True)
        ],
        suspects=[
            WrongAnswer(one.row, who(one.row), one.odds_in_words, one.chain(PAGE_LINKS) or LOOKS)
            for one in suspects_among(answers, right, MOST_LISTED)
        ],
        n_suspects=int((right < 0.5).sum()),
        outliers=model.outliers_.tolist(),
    )


def _summary(model: PairClassifier, fit: Fit, given: Given, answers: Pairs, n_held_out: int) -> str:
    learned = LEARNED.format(
        outputs=model.n_outputs_,
        items=len(given.items),
        answers=len(answers),
        classes=int((model.naming_.columns >= 0).sum()),
    )
    if model.naming_.named:
        learned += NAMED
    if model.confusion_ is not None:
        mixed = mixed_up_classes(model) or []
        found = model.naming_.columns >= 0
        names = dict(zip(model.naming_.columns[found].tolist(), model.naming_.titles, strict=True))
        mixed = [{**pair, "classes": [names.get(output, output) for output in pair["classes"]]} for pair in mixed]
        learned += f"\n\n{mixed_up_in_words(mixed)}"
    if not n_held_out:
        return f"{learned}\n\n{UNMEASURED}"
    decided = []
    if fit.arguments["unlabelled"]:
        was = "was" if model.unlabelled_ else "was not"
        decided.append(f"whether to keep a second stage, which uses the pairs that nobody answered (it {was} kept)")
    if fit.arguments["patience"]:
        decided.append("when each stage ended")
    chosen = CHOSEN.format(what=" and ".join(decided)) if decided else "They decided nothing else."
    return f"{learned}\n\n{MEASURED.format(held_out=n_held_out)}{chosen}"


def _facts(model: PairClassifier) -> dict[str, str]:
    facts = {}
    if model.n_classes_interval_ is not None:
        low, high = model.n_classes_interval_
        facts["Estimated number of classes"] = f"{model.n_outputs_} (90 % interval {low} to {high})"
    if model.unused_outputs_:
        facts["Unused outputs"] = f"{model.unused_outputs_} of {model.n_outputs_}"
    if model.credibility_ is not None and model.credibility_["supported"]:
        low, high = (100 * end for end in model.credibility_["interval"])
        share = f"{100 * model.credibility_['share_wrong']:.1f} % ({low:.1f} to {high:.1f})"
        facts["Answers that look wrong"] = share
    elif model.noise_:
        facts["Rate of wrong answers"] = f"{100 * model.noise_:.1f} %"
    return facts
