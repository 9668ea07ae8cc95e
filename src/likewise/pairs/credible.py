"""The answers that are most likely wrong, each with its odds and the chain of answers that contradicts it.

Against "different" speaks a chain of "same"; against "same" two such chains with one "different" between them. Only
answers that are themselves more likely right than wrong are links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.pairs.closure import components
from likewise.pairs.contradictions import Chains
from likewise.pairs.pair_keys import pair_keys
from likewise.pairs.posterior import Posterior, least_credible

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs


Ints = NDArray[np.int64]

MOST_ODDS = 1000  # what is surer is said to be this
TOGETHER = "no single chain, but many answers together"


@dataclass(frozen=True)
class Suspect:
    """An answer that is likely wrong, and the evidence against it.

    >>> against = [("a", "=", "b"), ("b", "=", "c")]
    >>> print(Suspect(row=2, line=4, left="a", right="c", says_same=False, odds=12.0, against=against, lines=(2, 3)))
    a!=c, line 4: wrong by 12 to 1; a=b, b=c (2, 3)
    """

    row: int
    line: int  # in the file, or the row
    left: str
    right: str
    says_same: bool
    odds: float  # of being wrong
    against: list[tuple[str, str, str]]  # links: two items, and "=" or "!=" between them; none where many add up
    lines: tuple[int, ...]  # of the links
    unit: str = "line"

    def __str__(self) -> str:
        return self.text()

    def text(self, most_links: int | None = None) -> str:
        """In one line, the middle of a longer chain left out."""
        answer = f"{self.left}{'=' if self.says_same else '!='}{self.right}, {self.unit} {self.line}"
        return f"{answer}: wrong by {self.odds_in_words}; {self.chain(most_links) or TOGETHER}"

    @property
    def odds_in_words(self) -> str:
        if self.odds > MOST_ODDS:
            return f"more than {MOST_ODDS:,.0f} to 1"
        return f"{self.odds:,.{int(self.odds < 10)}f} to 1"

    def chain(self, most_links: int | None = None) -> str:
        """The links with their lines, the middle of a longer chain left out; empty where there is none."""
        links, lines = ["".join(link) for link in self.against], [str(line) for line in self.lines]
        if most_links is not None and len(links) > most_links:
            some = slice(most_links // 2, len(links) - (most_links - most_links // 2))
            links[some], lines[some] = [f"... {some.stop - some.start:,} more ..."], ["..."]
        return f"{', '.join(links)} ({', '.join(lines)})" if links else ""


def suspects(posterior: Posterior, limit: int | None = None) -> list[Suspect]:
    """The answers that are more likely wrong than right, the least credible first.

    >>> from likewise.pairs import Pairs
    >>> pairs = Pairs.from_arrays([("a", "b"), ("b", "c"), ("a", "c")], [1, 1, 0], weight=[3, 2, 1])
    >>> print(suspects(pairs.posterior(n_classes=3, rates=(0.1, 0.1)))[0])
    a!=c, row 2: wrong by 4.0 to 1; a=b, b=c (0, 1)
    """
    return suspects_among(posterior.pairs, posterior.right, limit)


def suspects_among(pairs: Pairs, right: NDArray[np.float64], limit: int | None = None) -> list[Suspect]:
    """The same, of answers each of which is right with a known probability (m,)."""
    rows = least_credible(right, limit)
    if not len(rows):
        return []
    links = _Links(pairs, right)
    likely_wrong = []
    for row in rows.tolist():
        wrong = 1 - float(right[row])
        says_same = bool(pairs.same[row] > 0.5)
        chain = links.against(row, says_same)
        likely_wrong.append(
            Suspect(
                row=row,
                line=int(pairs.lines[row]),
                left=pairs.name(int(pairs.left[row])),
                right=pairs.name(int(pairs.right[row])),
                says_same=says_same,
                odds=wrong / max(1 - wrong, 1e-12),
                against=[
                    (pairs.name(a), "=" if pairs.same[link] > 0.5 else "!=", pairs.name(b)) for a, b, link in chain
                ],
                lines=tuple(int(pairs.lines[link]) for *_, link in chain),
                unit=pairs.source.unit,
            )
        )
    return likely_wrong


def credible_facts(posterior: Posterior) -> dict[str, Any]:
    """What all answers say together, as JSON has it; outliers are positions of items, none where nothing is claimed."""
    rates = posterior.rates
    return {
        "supported": posterior.supported,
        "share_wrong": posterior.share_wrong,
        "interval": list(posterior.share_wrong_interval),
        "classes": posterior.n_classes,
        "rates": [
            {
                "annotator": name,
                "answers": int(rates.n_answers[place]),
                "says_same": float(rates.says_same[place]),
                "false_different": float(rates.false_different[place]),
                "false_different_interval": rates.false_different_interval[place].tolist(),
                "false_same": float(rates.false_same[place]),
                "false_same_interval": rates.false_same_interval[place].tolist(),
                "random": bool(rates.random[place]),
                "reversed": bool(rates.reversed[place]),
            }
            for place, name in enumerate(rates.annotators)
        ],
        "n_redundant": posterior.n_redundant,
        "likely_wrong": int((posterior.right < 0.5).sum()),
        "outliers": posterior.outliers().tolist() if posterior.supported else [],
    }


class _Links:
    """The credible answers, to be searched for chains."""

    def __init__(self, pairs: Pairs, right: NDArray[np.float64]) -> None:
        credible = (right > 0.5) & (pairs.weight > 0) & (pairs.left != pairs.right)
        items, place = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
        self.items, self.left, self.right, n = items, place[: len(pairs)], place[len(pairs) :], len(items)
        same, apart = credible & (pairs.same > 0.5), np.flatnonzero(credible & (pairs.same < 0.5))
        self.chains = Chains(self.left[same], self.right[same], n)
        self.group, self.n = components(self.left[same], self.right[same], n)[0], n
        by_credibility = np.argsort(-right, kind="stable")
        self.row_of = self._first(by_credibility[same[by_credibility]], self.left, self.right)
        order = apart[np.argsort(-right[apart], kind="stable")]
        self.row_between = self._first(order, self.group[self.left], self.group[self.right])

    def _first(self, rows: Ints, left: Ints, right: Ints) -> tuple[Ints, Ints]:
        """The keys of pairs, sorted, and of each the first of these rows."""
        key, first = np.unique(pair_keys(left[rows], right[rows], self.n), return_index=True)
        return key, rows[first]

    def _find(self, table: tuple[Ints, Ints], a: int, b: int) -> int | None:
        key, row = table
        wanted = min(a, b) * self.n + max(a, b)
        at = int(np.searchsorted(key, wanted))
        return int(row[at]) if at < len(key) and key[at] == wanted else None

    def against(self, row: int, says_same: bool) -> list[tuple[int, int, int]]:
        """The links (item, item, row) of the chain that contradicts an answer, from its left to its right item."""
        left, right = int(self.left[row]), int(self.right[row])
        one, other = int(self.group[left]), int(self.group[right])
        if not says_same:
            return self._chain(left, right) if one == other else []
        between = self._find(self.row_between, one, other)
        if between is None:
            return []
        near, far = int(self.left[between]), int(self.right[between])
        near, far = (near, far) if self.group[near] == one else (far, near)
        link = (int(self.items[near]), int(self.items[far]), between)
        return [*self._chain(left, near), link, *self._chain(far, right)]

    def _chain(self, start: int, end: int) -> list[tuple[int, int, int]]:
        if start == end:
            return []
        links = []
        for a, b in pairwise(self.chains.between(start, [end])[0]):
            row = self._find(self.row_of, a, b)
            assert row is not None
            links.append((int(self.items[a]), int(self.items[b]), row))
        return links


# What is said of wrong answers, in sentences: how many there are, whose they are, and which classes they mix up.

UNNAMED = "(unnamed)"  # annotator, where others have names
MIXED_UP = 5  # pairs of classes that are named
MOST_LISTED = 100  # suspects in a report
UNSUPPORTED = (
    "It is impossible to say which answers are wrong: nothing predicts the held-out answers better than chance."
)
NOTHING = "their answers hardly count"


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
    """What `fit` prints about wrong answers at its end.

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
