"""What `likewise check --credible` prints: rates of wrong answers, and the answers that are most likely wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.pairs import Posterior, Rates, Suspect

UNNAMED = "(unnamed)"  # annotator, where others have names
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
    if not claims(posterior):
        yield "\nWhich answers are wrong cannot be told: they do not bear each other out more than chance would."
        yield "  Ask more about the same items, so that answers can be checked against others."
        yield from _verdicts(posterior.rates)
        return
    low, high = posterior.share_wrong_interval
    if not posterior.supported:
        yield "\nToo few answers bear on each other to say how many are wrong; 1 in 10 is assumed."
    else:
        share = f"{_percent(posterior.share_wrong)} of the answers look wrong"
        yield f"\nAbout {share} ({100 * low:.0f} to {100 * high:.0f})."
        yield from _rates(posterior.rates)
    yield from _verdicts(posterior.rates)

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


def _rates(rates: Rates) -> Iterator[str]:
    names = [name or UNNAMED for name in rates.annotators[:SHOWN]]
    if len(rates.annotators) == 1 and not rates.annotators[0]:
        names = ["everybody"]
    width = max(len("annotator"), *map(len, names))
    yield f"  {'annotator':<{width}}    answers {'false different':>22} {'false same':>22}"
    for place, name in enumerate(names):
        figures = []
        for rate, interval in (
            (rates.false_different, rates.false_different_interval),
            (rates.false_same, rates.false_same_interval),
        ):
            low, high = (100 * bound for bound in interval[place])
            figures.append(f"{100 * rate[place]:.1f} % ({low:.1f} to {high:.1f})")
        yield f"  {name:<{width}} {rates.n_answers[place]:>10,} {figures[0]:>22} {figures[1]:>22}"
    if len(rates.annotators) > len(names):
        yield f"  and {len(rates.annotators) - len(names):,} more annotators"


def _verdicts(rates: Rates) -> Iterator[str]:
    """A sentence on each annotator who looks random or reversed."""
    for place, name in enumerate(rates.annotators):
        who = name or ("Everybody" if len(rates.annotators) == 1 else UNNAMED)
        if rates.reversed[place]:
            yield f"  {who} answers the wrong way round; what they say is taken as its opposite."
        elif rates.random[place] and rates.says_same[place] in (0, 1):
            said = "same" if rates.says_same[place] else "different"
            yield f'  {who} says "{said}" whatever the pair; their answers count for next to nothing.'
        elif rates.random[place]:
            yield f"  {who} looks random; their answers count for next to nothing."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 or share == 0 else f"{100 * share:.1f} %"
