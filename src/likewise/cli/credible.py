"""What `likewise check --credible` prints: rates of wrong answers, and the answers that are most likely wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.estimators import PairClassifier
    from likewise.pairs import Posterior, Suspect

SHOWN = 20  # suspects, annotators and outliers
ENOUGH = 20  # answers that could contradict others, to call it chance where they are not borne out
LINKS = 12  # a longer chain is cut in the middle


def claims(posterior: Posterior) -> bool:
    """Whether anything can be said of single answers: not where many could bear each other out, and do not."""
    return posterior.supported or posterior.n_redundant < ENOUGH


def credible_record(posterior: Posterior, suspects: Sequence[Suspect]) -> dict[str, Any]:
    """What --json prints, as docs/json.md describes it."""
    from likewise.pairs.credible import credible_facts

    facts = credible_facts(posterior)
    return {
        **facts,
        "outliers": [posterior.pairs.name(item) for item in facts["outliers"]],
        "suspects": [
            {
                "place": suspect.line,
                "unit": suspect.unit,
                "left": suspect.left,
                "right": suspect.right,
                "same": suspect.says_same,
                "odds": suspect.odds,
                "against": ["".join(link) for link in suspect.against],
                "places": list(suspect.lines),
            }
            for suspect in suspects
        ],
    }


def credible_report(posterior: Posterior, suspects: Sequence[Suspect]) -> Iterator[str]:
    """The lines to print. Where answers do not bear each other out, that is said, and nothing more is claimed."""
    from likewise.pairs.credible import credible_facts, share_in_words

    facts = credible_facts(posterior)
    if not claims(posterior):
        yield "\nIt is impossible to say which answers are wrong: they agree with one another no more than by chance."
        yield "  Ask more about the same items, so that answers can be checked against others."
        yield from verdicts(facts["rates"])
        return
    if not posterior.supported:
        yield "\nToo few answers check one another to say how many are wrong; 1 in 10 is assumed."
    else:
        yield f"\n{share_in_words(facts)}."
        yield from rates_table(facts["rates"])
    yield from verdicts(facts["rates"])

    n_wrong = int((posterior.right < 0.5).sum())
    if not n_wrong:
        yield "\nNo answer is more likely wrong than right."
    else:
        many = "1 answer is" if n_wrong == 1 else f"{n_wrong:,} answers are"
        yield f"\n{many} more likely wrong than right" + (":" if suspects else ".")
    for suspect in suspects:
        yield f"  {suspect.text(LINKS)}"
    if n_wrong > len(suspects):
        yield f"  and {n_wrong - len(suspects):,} more"

    outliers = posterior.outliers().tolist()
    if outliers:
        names = ", ".join(posterior.pairs.name(item) for item in outliers[:SHOWN])
        more = f" and {len(outliers) - SHOWN:,} more" if len(outliers) > SHOWN else ""
        yield "\nFar more answers than usual are wrong about these items, which may be in two classes or in none:"
        yield f"  {names}{more}"


def mixed_up_classes(model: PairClassifier) -> list[dict[str, Any]] | None:
    """The outputs that answers mix up, most often first; None where that was not learned."""
    from likewise.estimators.wrong_answers import mixed_up

    if model.confusion_ is None:
        return None
    found = mixed_up(model.confusion_, model.outputs_)
    return [{"classes": [one, other], "called_same": share} for one, other, share in found]


def rates_table(rates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A row for each annotator, of the first ones."""
    from likewise.pairs.credible import names_of, rate_in_words

    names = names_of(rates)[:SHOWN]
    width = max(len("annotator"), *map(len, names))
    yield f"  {'annotator':<{width}}    answers {'false different':>22} {'false same':>22}"
    for name, rate in zip(names, rates, strict=False):
        figures = [rate_in_words(rate, kind) for kind in ("false_different", "false_same")]
        yield f"  {name:<{width}} {rate['answers']:>10,} {figures[0]:>22} {figures[1]:>22}"
    if len(rates) > len(names):
        yield f"  and {len(rates) - len(names):,} more annotators"


def verdicts(rates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A sentence on each annotator who looks random or reversed."""
    from likewise.pairs.credible import names_of, verdict_on

    for name, rate in zip(names_of(rates), rates, strict=True):
        if verdict := verdict_on(rate):
            yield f"  {name} {verdict}."
