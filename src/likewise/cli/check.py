"""`likewise check`: what a file of answers holds, what it implies, and where it contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.options import ANSWERS
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.pairs import Summary

PROOFS = 20
LINKS = 12  # a longer chain is cut in the middle


def check(
    file: Annotated[Path, typer.Argument(metavar="PAIRS", help=ANSWERS)],
    repair: Annotated[
        Path | None,
        typer.Option(help="Write the most credible consistent answers to this file.", show_default=False),
    ] = None,
) -> None:
    """Count answers, prove contradictions, judge annotators.

    Exit code 0: the answers are consistent, or --repair wrote ones that are. 1: they contradict one another. 2: a
    file cannot be read or written.
    """
    from likewise.pairs import Pairs, summarise
    from likewise.pairs.files import check_suffix

    if repair is not None:
        check_suffix(repair)
        if repair.is_dir():
            raise InputError(f"{repair} is a folder; give --repair the name of a file.")
    pairs = Pairs.read(file)
    summary = summarise(pairs, PROOFS)
    for line in report(str(file), summary):
        typer.echo(line)
    if repair is not None:
        kept, dropped, exact = pairs.repair()
        try:
            kept.write(repair)
        except OSError as error:
            raise InputError(f"{repair} cannot be written ({error.strerror}); give --repair another place.") from error
        how = "No consistent answers weigh more" if exact else "Consistent answers that weigh more may exist"
        typer.echo(f"\nWrote {repair}: {len(kept):,} answers, {len(dropped):,} dropped. {how}.")
    elif summary.closure.n_contradicted:
        raise typer.Exit(1)


def report(name: str, summary: Summary) -> Iterator[str]:
    """The lines to print."""
    closure = summary.closure
    yield f"{name}: {_count(summary.answers, 'answer')} about {_count(summary.items, 'item')}"
    yield f"  {summary.same:,} same, {summary.different:,} different, {summary.undecided:,} undecided"
    for number, what in (
        (summary.soft, "soft (neither 0 nor 1)"),
        (summary.repeated, "repeated (an earlier one says the same)"),
        (summary.self_pairs, "about an item and itself"),
    ):
        if number:
            yield f"  {number:,} {what}"
    if not (summary.same and summary.different):
        missing = "same" if not summary.same else "different"
        yield f'  none says "{missing}": no classes can be learnt from these alone'

    yield f"\nClosure adds {closure.implied_same:,} same and {closure.implied_different:,} different."
    yield "\n" + _count(closure.n_contradicted, "contradiction") + (":" if summary.contradictions else ".")
    for contradiction in summary.contradictions:
        yield f"  {contradiction.text(LINKS)}"
    if closure.n_contradicted > len(summary.contradictions):
        yield f"  and {closure.n_contradicted - len(summary.contradictions):,} more"
    yield from _annotators(summary)


def _annotators(summary: Summary) -> Iterator[str]:
    judged, agreed = summary.reliability, summary.agreement
    if judged is None or agreed is None:
        return
    yield f"\n{_count(len(judged.annotators), 'annotator')}, who disagree about {_count(summary.disputed, 'pair')}:"
    width = max(len("annotator"), *map(len, judged.annotators))
    yield f"  {'annotator':<{width}}    answers    right  same as same  different as different  kappa"
    kappa = agreed.with_others()
    for place, name in enumerate(judged.annotators):
        figures = (judged.accuracy[place], judged.sensitivity[place], judged.specificity[place])
        right, same, different = (f"{100 * figure:.1f} %" for figure in figures)
        agrees = f"{kappa[place]:.2f}" if kappa[place] == kappa[place] else "-"
        yield f"  {name:<{width}} {judged.n_answers[place]:>10,} {right:>8} {same:>13} {different:>23} {agrees:>6}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
