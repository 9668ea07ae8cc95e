"""How answers that may be wrong are modelled, and what is said of them after a fit.

noise           the model of a wrong answer
0               there is none: what follows from answers is law, and contradicting ones are dropped
a rate          one rate for everybody, given
"learn"         one rate for everybody, learned pair by pair
"annotators"    false "same" and false "different" of each annotator, learned pair by pair
"auto"          the same, and all answers judged together with the network's outputs, in turns with the training
"confusion"     which classes are mixed up, K x K
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.pairs import Pairs, Posterior
from likewise.pairs.credible import credible_facts
from likewise.pairs.rates import PRIOR_ANSWERS, PRIOR_WRONG
from likewise.training.answers import Turns
from likewise.training.turns import ErrorRates, judge_answers

Noise = float | Literal["auto", "annotators", "confusion", "learn"]
WORDS = ("auto", "annotators", "confusion", "learn")

CREDIBILITY = {
    "supported": bool,
    "share_wrong": float,
    "interval": [float],
    "rates": [
        {
            "annotator": str,
            "answers": int,
            "says_same": float,
            "false_different": float,
            "false_different_interval": [float],
            "false_same": float,
            "false_same_interval": [float],
            "random": bool,
            "reversed": bool,
        }
    ],
    "likely_wrong": int,
    "outliers": [int],
}  # the form of the facts that are saved
FEWEST_GROUPED = 100  # answers among which groups do not foretell answers by chance
LEAST_WRONG = 0.005  # the rate of wrong answers where none is taken to be wrong
FEWEST_UNTAUGHT = 30  # held-out answers that tell whether the network foretells any; with fewer all answers do


def check_noise(noise: Any) -> None:
    is_rate = isinstance(noise, int | float | np.floating) and 0 <= noise < 0.5
    if not is_rate and not (isinstance(noise, str) and noise in WORDS):
        words = ", ".join(repr(word) for word in WORDS)
        raise InputError(f"noise must be {words} or a rate from 0 to below 0.5, got {noise!r}.")


def is_by_annotator(noise: Noise) -> bool:
    """Whether each annotator has rates of their own."""
    return noise in ("auto", "annotators")


def turns_of(noise: Noise) -> Turns | None:
    """How network and answers judge each other."""
    modes: dict[Any, Turns] = {"auto": "joint", "annotators": "pairs", "confusion": "confusion"}
    return modes.get(noise)


def noise_rate(noise: Noise) -> float | None:
    """The one rate of wrong answers; None: it is learned."""
    if noise in ("learn", "confusion"):
        return None
    return 0.0 if isinstance(noise, str) else float(noise)


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is said of the answers after a fit."""

    posterior: Posterior | None
    facts: dict[str, Any] | None  # of it, as they are saved

    @property
    def p_wrong(self) -> NDArray[np.float64] | None:
        return None if self.posterior is None else 1 - self.posterior.right

    @property
    def outliers(self) -> NDArray[np.int64]:
        return outliers_of(self.facts)


def judge_all(
    logits: NDArray[np.float64], answers: Pairs, held_out: Pairs, noise: Noise, *, grouped: bool = False
) -> Verdict:
    """All answers as they were given, held-out ones and all, judged by the logits (n, K) of the network in the end.

    Where it began with groups (`grouped`), groups that were made without an answer foretold it: answers are supported.
    With many classes the few held-out answers that say "same" could not show that.
    """
    untaught = np.isin(answers.lines, held_out.lines)
    enough = untaught.sum() >= FEWEST_UNTAUGHT
    posterior = judge_answers(logits, answers, held_out, joint=noise == "auto", untaught=untaught if enough else None)
    if grouped and len(answers) >= FEWEST_GROUPED:
        posterior = replace(posterior, supported=True)
    return Verdict(posterior, credible_facts(posterior))


def rates_of(verdict: Verdict, noise: float, pairs: Pairs) -> ErrorRates:
    """Of the annotators of some of the answers judged; where none were judged, the one rate of all, or nearly 0."""
    if verdict.posterior is not None:
        return rates_for(verdict.facts, pairs)
    one = np.full(max(len(pairs.annotators), 1), max(noise, LEAST_WRONG))
    return ErrorRates(one, one)


def check_saved(confusion: Any, facts: dict[str, Any] | None, n_outputs: int, folder: Path) -> None:
    """Refuse what does not fit the outputs, or is no pair of bounds."""
    if confusion is not None and np.shape(confusion) != (n_outputs, n_outputs):
        raise InputError(f"{folder} has a confusion of shape {np.shape(confusion)}; save the classifier again.")
    rates = [] if facts is None else facts["rates"]
    bounds = [rate[f"{name}_interval"] for rate in rates for name in ("false_different", "false_same")]
    if any(len(pair) != 2 for pair in ([] if facts is None else [facts["interval"], *bounds])):
        raise InputError(f"{folder} has an interval without two bounds; save the classifier again.")


def mixed_up(confusion: NDArray[np.float64], outputs: NDArray[np.int64]) -> list[tuple[int, int, float]]:
    """The pairs of outputs in use that are called the same more often than twice the median pair, most often first.

    >>> often = np.array([[0.9, 0.4, 0.1], [0.4, 0.9, 0.1], [0.1, 0.1, 0.9]])
    >>> mixed_up(often, np.arange(3))
    [(0, 1, 0.4)]
    """
    left, right = np.triu_indices(len(outputs), 1)
    a, b = outputs[left], outputs[right]
    share = confusion[a, b]
    order = np.argsort(-share, kind="stable")
    order = order[share[order] > 2 * np.median(share)] if len(share) else order
    return [(int(a[i]), int(b[i]), float(share[i])) for i in order]


def share_wrong(verdict: Verdict, contradictory: bool) -> float:
    """Of the answers; 0 where none contradict another and none looks wrong: then what follows from them is law."""
    assert verdict.posterior is not None
    return verdict.posterior.share_wrong if contradictory or (verdict.posterior.right < 0.5).any() else 0.0


def outliers_of(facts: dict[str, Any] | None) -> NDArray[np.int64]:
    """The items that fit no class, or two, the worst first."""
    return np.array([] if facts is None else facts["outliers"], dtype=np.int64)


def rates_for(facts: dict[str, Any] | None, pairs: Pairs) -> ErrorRates:
    """The rates of the annotators of other answers, by their names; strangers have the mean of all."""
    rates = [] if facts is None else facts["rates"]
    known = {rate["annotator"]: (rate["false_different"], rate["false_same"]) for rate in rates}
    count = np.array([rate["answers"] for rate in rates], dtype=np.float64)
    usual = tuple(np.full(2, PRIOR_WRONG / PRIOR_ANSWERS))
    if count.sum() > 0:
        usual = tuple(np.average(np.array(list(known.values())), axis=0, weights=count))
    by_annotator = np.array([known.get(name, usual) for name in pairs.annotators or ("",)])
    return ErrorRates(by_annotator[:, 0], by_annotator[:, 1])
