"""The section of RESULTS.md on the protocol of SpherePair: published figures and ours, one table for each data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

from likewise.paper.answers_section import RIVALS, summary
from likewise.paper.answers_trials import AnswersRecipe, AnswersRecord, answers_recipes
from likewise.paper.records import machines, notes, read_records, table

SPHEREPAIR = """\
## The protocol of SpherePair: accuracy in % on the test set, against the number of random pairs

The protocol of SpherePair (NeurIPS 2025), the strongest published peer: images as 784 numbers, uniform random pairs of
training images answered same or different, an MLP 784-512-512-10, no augmentation. The upper rows are as published
there. Ours are `PairClassifier` with that network and its other defaults: mean ± standard deviation over the draws, and
the worst draw. Clusters are matched with classes on the test set there; ours are also given with outputs matched on the
training set, so that the test set decides nothing, and so is k-means.
"""

PEER = "SpherePair"

Figure = Callable[[AnswersRecord], float | None]


def spherepair_section(results: Path) -> str:
    """The same records give the same text."""
    records = read_records(results, "spherepair", AnswersRecord)
    if not records:
        return f"{SPHEREPAIR}\nNo trial is recorded yet: `likewise paper spherepair` makes the records.\n"
    parts, ahead, tried = [SPHEREPAIR], 0, 0
    for recipe in answers_recipes("spherepair").values():
        own = [record for record in records if record.dataset == recipe.dataset]
        if own:
            parts.append(_dataset_part(recipe, own))
        for answers in recipe.answers:
            if drawn := _draws(own, answers):
                tried += 1
                ahead += mean(_figures(drawn, _as_published)) > recipe.published[PEER][answers]
    parts.append(f"The mean of ours, matched as published, is ahead of {PEER} in {ahead} of {tried}.\n")
    return "\n".join([*parts, machines(records), *notes(results, "spherepair")])


def _dataset_part(recipe: AnswersRecipe, records: Sequence[AnswersRecord]) -> str:
    numbers = recipe.answers
    columns = [_draws(records, answers) for answers in numbers]
    header = ("", *(f"{answers:,} pairs" for answers in numbers))
    rows = [(method, *(f"{figures[n]:.1f}" for n in numbers)) for method, figures in recipe.published.items()]
    rows += [
        ("ours, matched on the test set", *(_cell(drawn, _as_published, summary) for drawn in columns)),
        ("its worst draw", *(_cell(drawn, _as_published, _lowest) for drawn in columns)),
        ("ours, matched on the training set", *(_cell(drawn, lambda r: r.accuracy, summary) for drawn in columns)),
        *((RIVALS[name], *(_cell(drawn, _rival(name), summary) for drawn in columns)) for name in recipe.rivals),
        ("draws", *(str(len(drawn)) for drawn in columns)),
        ("core-minutes", *(_cell(drawn, lambda r: r.cpu_seconds / 60, _average) for drawn in columns)),
    ]
    seeds = sorted({record.seed for record in records})
    commands = f"likewise paper spherepair --dataset {recipe.dataset} --seed {seeds[0]}"
    others = f", and with --seed {', '.join(map(str, seeds[1:]))}" if len(seeds) > 1 else ""
    return "\n".join([f"### {recipe.dataset}\n", table(header, rows, header[1:]), f"`{commands}`{others}.\n"])


def _draws(records: Sequence[AnswersRecord], answers: int) -> list[AnswersRecord]:
    return [record for record in records if record.answers == answers]


def _as_published(record: AnswersRecord) -> float | None:
    return record.test_matched_accuracy


def _rival(name: str) -> Figure:
    return lambda record: record.rivals.get(name, {}).get("accuracy")


def _figures(records: Sequence[AnswersRecord], figure: Figure) -> list[float]:
    return [value for value in map(figure, records) if value is not None]


def _cell(records: Sequence[AnswersRecord], figure: Figure, write: Callable[[Sequence[float]], str]) -> str:
    figures = _figures(records, figure)
    return write(figures) if figures else ""


def _lowest(figures: Sequence[float]) -> str:
    return f"{min(figures):.2f}"


def _average(figures: Sequence[float]) -> str:
    return f"{mean(figures):.1f}"
