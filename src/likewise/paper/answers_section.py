"""The section of RESULTS.md on random answers: for each data set a table, a figure and the aims; then wrong answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean, stdev

from likewise.paper.answers_record import AnswersRecord
from likewise.paper.answers_trials import AnswersRecipe, answers_recipes
from likewise.paper.markdown import machines, notes, table
from likewise.paper.records import read_records

FROM_ANSWERS = """\
## From answers: accuracy in % on the test set, against the number of random answers

So many random pairs of training items were answered same or different, and `PairClassifier` was told these answers and
nothing else. "Answers only" is the network after its first stage, "with the unlabelled" the classifier as it is by
default, after a second stage with the pairs that nobody answered; where that was worse on the answers held out (a tenth
of them) by more than chance, it was dropped, and the two are one network. Outputs are matched with classes on the
training set by the Hungarian algorithm. The twin is the same network, with as many steps as both stages together and
the same augmentation, given as many class labels as there were answers and trained with cross-entropy. Where there were
several seeds, a row has their mean ± standard deviation, their mean time, and the command of the first.
"""

NOISE = """\
### Wrong answers

Each answer was flipped with the given probability. Without a model of that, answers that contradict the others are left
out and the rest is believed; with one, all are used, each as wrong at the rate that was given or is learned with the
network. The gain is that of the model, with the unlabelled, over none on the same answers.
"""

HEADER = (
    "answers",
    "answers only",
    "with the unlabelled",
    "second stage kept",
    "twin with labels",
    "schedule",
    "seed",
    "core-minutes",
    "command",
)
NOISE_HEADER = (
    "data set",
    "answers",
    "wrong",
    "model",
    "rate it used",
    "answers only",
    "with the unlabelled",
    "gain",
    "schedule",
    "seed",
    "core-minutes",
    "command",
)
NUMERIC = {*HEADER, *NOISE_HEADER} - {"data set", "model", "schedule", "seed", "second stage kept", "command"}
MODELS = {"none": "none", "given": "rate given", "learned": "rate learned"}


def answers_section(results: Path) -> str:
    """The same records give the same text."""
    records = sorted(read_records(results, "answers", AnswersRecord), key=_place)
    if not records:
        return f"{FROM_ANSWERS}\nNo trial is recorded yet: `likewise paper answers` makes the records.\n"
    parts = [FROM_ANSWERS]
    for dataset, group in groupby(filter(sound, records), key=lambda record: record.dataset):
        parts.append(_dataset_part(answers_recipes()[dataset], list(group)))
    noisy = [record for record in records if not sound(record)]
    if noisy:
        parts += [NOISE, table(NOISE_HEADER, [_noise_row(group, records) for group in _trials(noisy)], NUMERIC)]
    return "\n".join([*parts, machines(records), *notes(results, "answers")])


def sound(record: AnswersRecord) -> bool:
    """Whether it is a plain trial: no wrong answers, and no model of any."""
    return record.noise == 0 and record.model == "none"


def figure_path(dataset: str) -> str:
    """Where the figure lies, from the folder of the page."""
    return f"docs/answers-{dataset}.svg"


def has_figure(records: Sequence[AnswersRecord], recipe: AnswersRecipe) -> bool:
    """A line needs two places; only trials as their recipe has them are on it."""
    return len({record.answers for record in records if record.epochs == recipe.epochs}) > 1


def _dataset_part(recipe: AnswersRecipe, records: Sequence[AnswersRecord]) -> str:
    parts = [f"### {recipe.dataset}\n", table(HEADER, [_row(group) for group in _trials(records)], NUMERIC)]
    if has_figure(records, recipe):
        alternative = f"Accuracy on the test set of {recipe.dataset} against the number of random answers"
        parts.append(f"![{alternative}]({figure_path(recipe.dataset)})\n")
    parts.append("".join(_aim(recipe, answers, records) for answers in recipe.expect))
    return "\n".join(parts)


def _aim(recipe: AnswersRecipe, answers: int, records: Sequence[AnswersRecord]) -> str:
    """Whether the mean of all seeds reaches the aim, by trials as the recipe has them."""
    least = recipe.expect[answers]
    aim = f"- Aim: {least:g} % or more from {answers:,} answers:"
    made = [record for record in records if record.answers == answers and record.epochs == recipe.epochs]
    if not made:
        return f"{aim} not tried yet.\n"
    average = mean(record.accuracy for record in made)
    return f"{aim} {'reached' if average >= least else 'missed'}, {_summary(made, lambda r: r.accuracy)} %.\n"


def _place(record: AnswersRecord) -> tuple[object, ...]:
    """By data set, wrong answers and number of answers; of these the longest schedule first."""
    return record.dataset, record.noise, record.answers, _model(record), -record.epochs, record.seed


def _model(record: AnswersRecord) -> int:
    return list(MODELS).index(record.model)


def _trial(record: AnswersRecord) -> tuple[object, ...]:
    """Records that agree in this differ in the seed alone."""
    return _place(record)[:-1]


def _trials(records: Sequence[AnswersRecord]) -> list[list[AnswersRecord]]:
    return [list(group) for _, group in groupby(records, key=_trial)]


def _summary(records: Sequence[AnswersRecord], figure: Callable[[AnswersRecord], float]) -> str:
    figures = [figure(record) for record in records]
    return f"{mean(figures):.2f}" + (f" ± {stdev(figures):.2f}" if len(figures) > 1 else "")


def _row(records: Sequence[AnswersRecord]) -> tuple[str, ...]:
    """One row for all seeds of a trial."""
    first = records[0]
    kept = sum(record.unlabelled_kept for record in records)
    fewer = f" ({first.twin_labels:,} labels)" if first.twin_labels < first.answers else ""
    return (
        f"{first.answers:,}",
        _summary(records, lambda record: record.first_accuracy),
        _summary(records, lambda record: record.accuracy),
        f"{kept} of {len(records)}" if 0 < kept < len(records) else "yes" if kept else "no",
        _summary(records, lambda record: record.twin_accuracy) + fewer,
        *_how(records),
    )


def _noise_row(records: Sequence[AnswersRecord], everything: Sequence[AnswersRecord]) -> tuple[str, ...]:
    first = records[0]
    return (
        first.dataset,
        f"{first.answers:,}",
        f"{100 * first.noise:g} %",
        MODELS[first.model],
        "" if first.model == "none" else f"{mean(record.rate for record in records):.3f}",
        _summary(records, lambda record: record.first_accuracy),
        _summary(records, lambda record: record.accuracy),
        _gain(records, everything),
        *_how(records),
    )


def _gain(records: Sequence[AnswersRecord], everything: Sequence[AnswersRecord]) -> str:
    """Over no model, on the seeds that both have."""

    def answers(record: AnswersRecord) -> tuple[object, ...]:
        return record.dataset, record.noise, record.answers, record.epochs, record.seed

    plain = {answers(record): record.accuracy for record in everything if record.model == "none"}
    gains = [record.accuracy - plain[answers(record)] for record in records if answers(record) in plain]
    return f"{mean(gains):+.2f}" if gains and records[0].model != "none" else ""


def _how(records: Sequence[AnswersRecord]) -> tuple[str, ...]:
    return (
        f"2 x {records[0].epochs} epochs",
        ", ".join(str(record.seed) for record in records),
        f"{mean(record.cpu_seconds for record in records) / 60:.1f}",
        f"`{records[0].command}`",
    )
