"""What answers say of wrong ones, in sentences: how many there are, whose they are, and which classes they mix up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

UNNAMED = "(unnamed)"  # annotator, where others have names
MIXED_UP = 5  # pairs of classes that are named
MOST_LISTED = 100  # suspects in a report
UNSUPPORTED = (
    "Which answers are wrong cannot be told: nothing foretells the answers that were held out better than chance would."
)
NOTHING = "their answers count for next to nothing"


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
    >>> wrong_in_words({**facts, "likely_wrong": 0})
    'No answer looks wrong.'
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
