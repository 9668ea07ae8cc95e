"""The section of RESULTS.md on a few labels: for each data set and network a table of the methods, and the aims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean, stdev

from likewise.paper.markdown import machines, notes, table
from likewise.paper.records import read_records
from likewise.paper.table4 import SemiRecord
from likewise.paper.table4_entries import TABLE4, Aim, SemiRecipe, semi_recipes
from likewise.supervision.semi import METHODS

FEW_LABELS = """\
## Table 4: a few labels and much without, error in % on the test set

All training items are given, and the labels of some at random (drawn again where a class has none). Every method begins
with the supervised network, which saw the labelled items alone, and goes on with all of them by `alpha L_sup + beta
L_reg`, with the weights of appendix C and nothing to tune; only `L_reg` differs. Pseudo-MCL+ is ours. A row has the
mean over its splits ± standard deviation, the mean gain over the supervised network in points, the mean core-minutes
with and without the supervised stage, which all methods of a split share, and the command of its first split.
"""

HEADER = ("method", "paper", "ours", "gain", "schedule", "splits", "core-minutes", "of which its own", "command")
NUMERIC = {"paper", "ours", "gain", "core-minutes", "of which its own"}


def table4_section(results: Path) -> str:
    """The same records give the same text."""
    records = read_records(results, TABLE4, SemiRecord)
    if not records:
        return f"{FEW_LABELS}\nNo run is recorded yet: `likewise paper table4` makes the records.\n"
    parts = [FEW_LABELS]
    for recipe in semi_recipes():
        its_own = [record for record in records if _is_of(record, recipe)]
        for epochs in sorted({record.epochs for record in its_own}, reverse=True):
            parts.append(_part(recipe, [record for record in its_own if record.epochs == epochs]))
    return "\n".join([*parts, machines(records), *notes(results, TABLE4)])


def _is_of(record: SemiRecord, recipe: SemiRecipe) -> bool:
    return (record.dataset, record.network, record.labels) == (recipe.dataset, recipe.network, recipe.labels)


def _part(recipe: SemiRecipe, records: Sequence[SemiRecord]) -> str:
    """A table, the supervised network first and the methods in the paper's order."""
    order = list(METHODS)
    ordered = sorted(records, key=lambda record: (order.index(record.method), record.split))
    groups = {method: list(group) for method, group in groupby(ordered, key=lambda record: record.method)}
    first = records[0]
    compressed = f", {first.epochs} of {first.recipe_epochs} epochs" if first.epochs < first.recipe_epochs else ""
    title = f"### {recipe.dataset}, {recipe.network}, {recipe.labels:,} labels{compressed}\n"
    rows = [_row(group) for group in groups.values()]
    aims = "" if compressed else "".join(_aim(aim, groups) for aim in recipe.aims)
    return "\n".join([title, table(HEADER, rows, NUMERIC), *([aims] if aims else [])])


def _row(records: Sequence[SemiRecord]) -> tuple[str, ...]:
    first = records[0]
    alone = first.method == "supervised"
    schedule = f"{first.supervised_epochs} epochs" if alone else f"{first.supervised_epochs} + {first.epochs} epochs"
    own = mean(record.cpu_seconds - (0 if alone else record.supervised_cpu_seconds) for record in records) / 60
    return (
        first.method,
        "" if first.paper_error is None else f"{first.paper_error:.1f}",
        _summary([record.error for record in records]),
        "" if alone else f"{mean(record.supervised_error - record.error for record in records):+.2f}",
        schedule,
        ", ".join(str(record.split) for record in records),
        f"{mean(record.cpu_seconds for record in records) / 60:.1f}",
        f"{own:.1f}",
        f"`{first.command}`",
    )


def _summary(figures: Sequence[float]) -> str:
    return f"{mean(figures):.2f}" + (f" ± {stdev(figures):.2f}" if len(figures) > 1 else "")


def _aim(aim: Aim, groups: Mapping[str, Sequence[SemiRecord]]) -> str:
    """Whether it is reached, on the splits that both have."""
    if aim.points > 0:
        words = f"{aim.method} at least {aim.points:g} points below {aim.rival}"
    elif aim.points < 0:
        words = f"{aim.method} below {aim.rival}, or at most {-aim.points:g} points above"
    else:
        words = f"{aim.method} below {aim.rival}"
    ours, theirs = ({record.split: record.error for record in groups.get(name, ())} for name in (aim.method, aim.rival))
    both = sorted(ours.keys() & theirs.keys())
    if not both:
        return f"- Aim: {words}: not tried yet.\n"
    gain = mean(theirs[split] - ours[split] for split in both)
    reached = gain > 0 if aim.points == 0 else gain >= aim.points
    where = f"{abs(gain):.2f} points {'below' if gain >= 0 else 'above'}"
    return f"- Aim: {words}: {'reached' if reached else 'missed'}, {where}.\n"
