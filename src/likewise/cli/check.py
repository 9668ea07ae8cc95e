"""`likewise check`: what a file of answers holds and implies, where it contradicts itself, and who is likely wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.options import ANSWERS
from likewise.cli.outputs import check_file, writing
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.estimators import PairClassifier
    from likewise.pairs import Posterior, Summary, Suspect


SHOWN = 20  # suspects, annotators and outliers
ENOUGH = 20  # answers that could contradict others, to call it chance where they are not confirmed
LINKS = 12  # a longer chain is cut in the middle


def claims(posterior: Posterior) -> bool:
    """Whether claims about single answers are possible: not where many answers overlap and still do not agree."""
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
    """The lines to print. Where answers do not support each other, they say so and claim nothing more."""
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
    mixed = mixed_up(model.confusion_, model.outputs_)
    return [{"classes": [one, other], "called_same": share} for one, other, share in mixed]


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


PROOFS = 20


def check(
    file: Annotated[str, typer.Argument(metavar="PAIRS", help=ANSWERS)],
    repair: Annotated[
        Path | None,
        typer.Option(help="Write the most credible consistent answers to this file.", show_default=False),
    ] = None,
    merge: Annotated[
        Path | None,
        typer.Option(help="Write one answer for each pair, by how reliable each annotator is.", show_default=False),
    ] = None,
    credible: Annotated[
        bool, typer.Option("--credible", help="List the answers most likely wrong, and how often each annotator is.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Count answers, prove contradictions, judge annotators.

    With several annotators, --merge weighs what each of them says about a pair: same is the probability that the two
    are the same, and weight the information in it, 0 where it is as good as a guess. fit does the same by itself.

    --credible judges all answers together: what share is wrong, how often each annotator wrongly says "same" and
    "different", and which answers are more likely wrong than right, with the odds and the chain that contradicts
    each.

    Exit code 0: the answers are consistent, or --repair or --merge wrote others. 1: they contradict one another. 2: a
    file cannot be read or written.
    """
    from likewise.pairs import Pairs, summarise, suspects

    for path, option in ((repair, "--repair"), (merge, "--merge")):
        if path is not None:
            check_file(path, option, (".csv", ".parquet"))
            if path.resolve() == Path(file).resolve():
                raise InputError(f"{path} holds the answers; give {option} another name.")
    pairs = Pairs.read(file)
    file = pairs.source.file  # without the password of a store
    if merge is not None and len(pairs.annotators) < 2:
        have = "one annotator only" if pairs.annotators else "no annotators"
        raise InputError(f"{file} names {have}, so there is nothing to merge; leave --merge out.")
    summary = summarise(pairs, PROOFS)
    record = {"file": file, **as_record(summary)}
    lines = list(report(file, summary))

    if credible:
        posterior = pairs.posterior()
        wrong = suspects(posterior, SHOWN) if claims(posterior) else []
        record["credible"] = credible_record(posterior, wrong)
        lines += credible_report(posterior, wrong)
    if merge is not None:
        merged = pairs.merged()
        with writing(merge, "--merge"):
            merged.write(merge)
        doubtful, contradicted = int((merged.weight == 0).sum()), merged.closure().n_contradicted
        counts = {"answers": len(merged), "doubtful": doubtful, "contradictions": contradicted}
        record["merge"] = {"file": str(merge), **counts}
        left = f"{_count(doubtful, 'pair')} too doubtful to count, {_count(contradicted, 'contradiction')}"
        lines.append(f"\nWrote {merge}: {_count(len(merged), 'answer')} out of {len(pairs):,}; {left}.")
    if repair is not None:
        kept, dropped, exact = pairs.repair()
        with writing(repair, "--repair"):
            kept.write(repair)
        record["repair"] = {"file": str(repair), "answers": len(kept), "dropped": len(dropped), "exact": exact}
        how = "No consistent answers weigh more" if exact else "Consistent answers that weigh more may exist"
        lines.append(f"\nWrote {repair}: {len(kept):,} answers, {len(dropped):,} dropped. {how}.")

    for line in [json.dumps(record, indent=2)] if as_json else lines:
        typer.echo(line)
    if repair is None and merge is None and summary.closure.n_contradicted:
        raise typer.Exit(1)


def as_record(summary: Summary) -> dict[str, Any]:
    """What --json prints, as docs/json.md describes it."""
    closure, reliability, agreed = summary.closure, summary.reliability, summary.agreement
    record: dict[str, Any] = {
        "answers": summary.answers,
        "items": summary.items,
        "same": summary.same,
        "different": summary.different,
        "undecided": summary.undecided,
        "soft": summary.soft,
        "repeated": summary.repeated,
        "self_pairs": summary.self_pairs,
        "not_given": summary.not_given,
        "implied_same": closure.implied_same,
        "implied_different": closure.implied_different,
        "contradictions": closure.n_contradicted,
        "proofs": [
            {"items": list(proof.items), "places": list(proof.lines), "unit": proof.unit}
            for proof in summary.contradictions
        ],
        "disputed": summary.disputed,
        "annotators": [],
    }
    if reliability is not None and agreed is not None:
        figures = zip(
            reliability.annotators,
            reliability.n_answers.tolist(),
            reliability.accuracy.tolist(),
            reliability.sensitivity.tolist(),
            reliability.specificity.tolist(),
            agreed.with_others().tolist(),
            strict=True,
        )
        names = ("annotator", "answers", "right", "same_as_same", "different_as_different", "kappa")
        record["annotators"] = [
            {name: None if value != value else value for name, value in zip(names, row, strict=True)} for row in figures
        ]
    return record


def report(name: str, summary: Summary) -> Iterator[str]:
    """The lines to print."""
    closure = summary.closure
    yield f"{name}: {_count(summary.answers, 'answer')} about {_count(summary.items, 'item')}"
    yield f"  {summary.same:,} same, {summary.different:,} different, {summary.undecided:,} undecided"
    for number, what in (
        (summary.soft, "soft (neither 0 nor 1)"),
        (summary.repeated, "repeated (an earlier one says the same)"),
        (summary.self_pairs, "about an item and itself"),
        (summary.not_given, "more of weight 0, which count as not given"),
    ):
        if number:
            yield f"  {number:,} {what}"
    if not (summary.same and summary.different):
        missing = "same" if not summary.same else "different"
        yield f'  none says "{missing}": no classes can be learned from these alone'

    yield f"\nClosure adds {closure.implied_same:,} same and {closure.implied_different:,} different."
    yield "\n" + _count(closure.n_contradicted, "contradiction") + (":" if summary.contradictions else ".")
    for contradiction in summary.contradictions:
        yield f"  {contradiction.text(LINKS)}"
    if closure.n_contradicted > len(summary.contradictions):
        yield f"  and {closure.n_contradicted - len(summary.contradictions):,} more"
    yield from _annotators(summary)


def _annotators(summary: Summary) -> Iterator[str]:
    reliability, agreed = summary.reliability, summary.agreement
    if reliability is None or agreed is None:
        return
    from likewise.pairs.credible import UNNAMED

    disputed = _count(summary.disputed, "pair")
    yield f"\n{_count(len(reliability.annotators), 'annotator')}, who disagree about {disputed}:"
    names = [name or UNNAMED for name in reliability.annotators]
    width = max(len("annotator"), *map(len, names))
    yield f"  {'annotator':<{width}}    answers    right  same as same  different as different  kappa"
    kappa = agreed.with_others()
    for place, name in enumerate(names):
        figures = (reliability.accuracy[place], reliability.sensitivity[place], reliability.specificity[place])
        right, same, different = (f"{100 * figure:.1f} %" for figure in figures)
        agrees = f"{kappa[place]:.2f}" if kappa[place] == kappa[place] else "-"
        yield f"  {name:<{width}} {reliability.n_answers[place]:>10,} {right:>8} {same:>13} {different:>23} {agrees:>6}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
