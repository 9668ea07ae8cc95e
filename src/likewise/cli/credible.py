"""What `likewise check --credible` prints: rates of wrong answers, and the answers that are most likely wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.estimators import PairClassifier
    from likewise.pairs import Posterior, Suspect

UNNAMED = "(unnamed)"  # annotator, where others have names
SHOWN = 20  # suspects, annotators and outliers
ENOUGH = 20  # answers that could contradict others, to call it chance where they are not borne out
MIXED_UP = 5  # pairs of classes that are named
LINKS = 12  # a longer chain is cut in the middle
MOST_LISTED = 100  # suspects in a report
UNSUPPORTED = (
    "Which answers are wrong cannot be told: nothing foretells the answers that were held out better than chance would."
)
NOTHING = "their answers count for next to nothing"


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
    from likewise.pairs.credible import credible_facts

    facts = credible_facts(posterior)
    if not claims(posterior):
        yield "\nWhich answers are wrong cannot be told: they do not bear each other out more than chance would."
        yield "  Ask more about the same items, so that answers can be checked against others."
        yield from verdicts(facts["rates"])
        return
    if not posterior.supported:
        yield "\nToo few answers bear on each other to say how many are wrong; 1 in 10 is assumed."
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


def share_in_words(facts: Mapping[str, Any]) -> str:
    """
    >>> share_in_words({"share_wrong": 0.061, "interval": [0.041, 0.09]})
    'About 6 % of the answers look wrong (4 to 9)'
    >>> share_in_words({"share_wrong": 0.0042, "interval": [0.002, 0.011]})
    'About 0.4 % of the answers look wrong (0.2 to 1.1)'
    """
    digits = 0 if facts["share_wrong"] >= 0.01 else 1
    share, low, high = (f"{100 * value:.{digits}f}" for value in (facts["share_wrong"], *facts["interval"]))
    return f"About {share} % of the answers look wrong ({low} to {high})"


def wrong_in_words(facts: Mapping[str, Any]) -> str:
    """What the end of a fit says of wrong answers.

    >>> facts = {"supported": True, "share_wrong": 0.061, "interval": [0.041, 0.09], "likely_wrong": 37}
    >>> wrong_in_words(facts)
    'About 6 % of the answers look wrong (4 to 9); 37 are listed in the report.'
    >>> wrong_in_words({**facts, "likely_wrong": 0}), wrong_in_words({"supported": False})[:45]
    ('No answer looks wrong.', 'Which answers are wrong cannot be told: nothi')
    """
    if not facts["supported"]:
        return UNSUPPORTED
    n_wrong = facts["likely_wrong"]
    if not n_wrong:
        return "No answer looks wrong."
    listed = f"{n_wrong:,} {'is' if n_wrong == 1 else 'are'}"
    if n_wrong > MOST_LISTED:
        listed = f"the {MOST_LISTED} least credible of {n_wrong:,} are"
    return f"{share_in_words(facts)}; {listed} listed in the report."


def mixed_up_classes(model: PairClassifier) -> list[dict[str, Any]] | None:
    """The outputs that answers mix up, most often first; None where that was not learned."""
    from likewise.estimators.wrong_answers import mixed_up

    if model.confusion_ is None:
        return None
    found = mixed_up(model.confusion_, model.outputs_)
    return [{"classes": [one, other], "called_same": share} for one, other, share in found]


def mixed_up_in_words(pairs: Sequence[Mapping[str, Any]]) -> str:
    """
    >>> mixed_up_in_words([{"classes": [3, 5], "called_same": 0.314}])
    'Classes that answers mix up: 3 and 5 (called the same in 31 % of the pairs).'
    """
    if not pairs:
        return "No two classes are mixed up more often than others."
    named = [f"{'{} and {}'.format(*pair['classes'])} ({100 * pair['called_same']:.0f} %)" for pair in pairs[:MIXED_UP]]
    named[0] = named[0].replace("(", "(called the same in ").replace(" %)", " % of the pairs)")
    more = f", and {len(pairs) - MIXED_UP} more" if len(pairs) > MIXED_UP else ""
    return f"Classes that answers mix up: {', '.join(named)}{more}."


def rate_in_words(rate: Mapping[str, Any], name: str) -> str:
    """
    >>> rate_in_words({"false_same": 0.042, "false_same_interval": [0.022, 0.066]}, "false_same")
    '4.2 % (2.2 to 6.6)'
    """
    low, high = (100 * bound for bound in rate[f"{name}_interval"])
    return f"{100 * rate[name]:.1f} % ({low:.1f} to {high:.1f})"


def rates_table(rates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A row for each annotator, of the first ones."""
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
    for name, rate in zip(names_of(rates), rates, strict=True):
        if verdict := verdict_on(rate):
            yield f"  {name} {verdict}."


def verdict_on(rate: Mapping[str, Any]) -> str:
    """What is said of one who looks random or reversed; empty for others."""
    if rate["reversed"]:
        return "answers the wrong way round; what they say is taken as its opposite"
    if rate["random"] and rate["says_same"] in (0, 1):
        return f'says "{"same" if rate["says_same"] else "different"}" whatever the pair; {NOTHING}'
    return f"looks random; {NOTHING}" if rate["random"] else ""


def names_of(rates: Sequence[Mapping[str, Any]]) -> list[str]:
    """The annotators' names; one who is nobody in particular stands for everybody, or for those without a name."""
    return [rate["annotator"] or ("Everybody" if len(rates) == 1 else UNNAMED) for rate in rates]
