"""The section of RESULTS.md on random answers: for each data set a table, a figure, its rivals; then wrong answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean, stdev

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from likewise.paper.answers_trials import AnswersRecipe, AnswersRecord, answers_recipes
from likewise.paper.records import machines, notes, read_records, table
from likewise.reporting.drawing import LIGHT, frame, legend, new_figure, percent, svg_file

FROM_ANSWERS = """\
## From answers: accuracy in % on the test set, against the number of random answers

So many random pairs of training items were answered same or different, and `PairClassifier` was told these answers and
nothing else. "Answers only" is the network before the last stage, taught by groups of the items on which geometry and
answers agree, or by MCL from random weights; "with the unlabelled" the classifier as it is by default, after a last
stage with the pairs that nobody answered. Where the answers held out (a tenth of them) do not speak for that stage, it
was dropped, and the two are one network. Outputs are matched with classes on the
training set by the Hungarian algorithm. The twin is the same network, with as many steps as all stages together and
the same augmentation, given as many class labels as there were answers and trained with cross-entropy. Where there were
several seeds, a row has their mean ± standard deviation and the worst of them, their mean time, and the command of the
first. "Required" is what the mean must reach. The number of steps is the classifier's own choice; a row that names its
epochs is older, and had them set by hand.
"""

NOISE = """\
### Wrong answers

Each answer was flipped with the given probability. Where no model is set, the classifier has its defaults; else it is
told the rate of wrong answers, or to learn it. The rate it used is 0 where it believed the answers, all but those that
contradict the others. The gain is that of the model, with the unlabelled, over none set on the same answers.
"""

OTHERS = """\
Others on the same items and the same answers: the mean on the test set and, in brackets, the worst of the seeds.
k-means is the best of ten starts (over 10,000 of the items where there are more); a clustering puts an unseen item to
the nearest mean.
"""

HEADER = (
    "answers",
    "answers only",
    "with the unlabelled",
    "worst",
    "required",
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
    "worst",
    "required",
    "gain",
    "schedule",
    "seed",
    "core-minutes",
    "command",
)
NUMERIC = {*HEADER, *NOISE_HEADER} - {"data set", "model", "schedule", "seed", "second stage kept", "command"}
MODELS = {"none": "none set", "given": "rate given", "learned": "rate learned"}
RIVALS = {  # as in a recipe -> in words
    "k-means": "k-means, no answers",
    "pck-means": "PCK-means",
    "agglomeration": "Agglomeration",
    "labels": "logistic regression, as many labels",
    "all-labels": "logistic regression, all labels",
}


def answers_section(results: Path) -> str:
    """The same records give the same text."""
    records = shown_records(results)
    if not records:
        return f"{FROM_ANSWERS}\nNo trial is recorded yet: `likewise paper answers` makes the records.\n"
    parts = [FROM_ANSWERS]
    for dataset, group in groupby(records, key=lambda record: record.dataset):
        parts.append(_dataset_part(answers_recipes()[dataset], list(group)))
    noisy = [record for record in records if not sound(record)]
    if noisy:
        parts += [NOISE, table(NOISE_HEADER, [_noise_row(group, records) for group in _trials(noisy)], NUMERIC)]
    return "\n".join([*parts, machines(records), *notes(results, "answers")])


def shown_records(results: Path) -> list[AnswersRecord]:
    """In the order of the tables; of one trial those of one schedule: the classifier's own, else the longest."""
    records = sorted(read_records(results, "answers", AnswersRecord), key=_place)
    schedules = {_trial(record): record.epochs for record in reversed(records)}
    return [record for record in records if record.epochs == schedules[_trial(record)]]


def sound(record: AnswersRecord) -> bool:
    """Whether it is a plain trial: no wrong answers, and no model of any."""
    return record.noise == 0 and record.model == "none"


def figure_path(dataset: str) -> str:
    """Where the figure lies, from the folder of the page."""
    return f"docs/answers-{dataset}.svg"


def has_figure(records: Sequence[AnswersRecord]) -> bool:
    """A line needs two places."""
    return len({record.answers for record in records if sound(record)}) > 1


def summary(figures: Sequence[float]) -> str:
    return f"{mean(figures):.2f}" + (f" ± {stdev(figures):.2f}" if len(figures) > 1 else "")


def _dataset_part(recipe: AnswersRecipe, records: Sequence[AnswersRecord]) -> str:
    parts = [f"### {recipe.dataset}\n"]
    plain = [record for record in records if sound(record)]
    if plain:
        parts.append(table(HEADER, [_row(group, recipe) for group in _trials(plain)], NUMERIC))
    if has_figure(records):
        alternative = f"Accuracy on the test set of {recipe.dataset} against the number of random answers"
        parts.append(f"![{alternative}]({figure_path(recipe.dataset)})\n")
    rivals = [name for name in recipe.rivals if any(name in record.rivals for record in records)]
    if rivals:
        header = ("answers", "wrong", "PairClassifier", *(RIVALS[name] for name in rivals))
        compared = [record for record in records if record.rivals and record.model == "none"]
        parts += [OTHERS, table(header, [_rivals_row(group, rivals) for group in _trials(compared)], header)]
    tried = {(record.answers, record.noise) for record in records if record.model == "none"}
    missing = [aim for aim in recipe.expect if (aim.answers, aim.noise) not in tried]
    parts.append("".join(f"- Not tried yet: {_named(aim.answers, aim.noise)}.\n" for aim in missing))
    return "\n".join(part for part in parts if part)


def _named(answers: int, noise: float) -> str:
    return f"{answers:,} answers" + (f", {100 * noise:g} % of them wrong" if noise else "")


def _place(record: AnswersRecord) -> tuple[object, ...]:
    """By trial; of one trial the classifier's own schedule first, then the longest."""
    own = record.epochs is None
    return *_trial(record), not own, 0 if record.epochs is None else -record.epochs, record.seed


def _trial(record: AnswersRecord) -> tuple[object, ...]:
    """By data set, wrong answers and number of answers; records that agree in this differ in schedule or seed."""
    return record.dataset, record.noise, record.answers, list(MODELS).index(record.model)


def _trials(records: Sequence[AnswersRecord]) -> list[list[AnswersRecord]]:
    return [list(group) for _, group in groupby(records, key=_trial)]


def _figures(records: Sequence[AnswersRecord], figure: Callable[[AnswersRecord], float | None]) -> list[float]:
    return [value for value in map(figure, records) if value is not None]


def _row(records: Sequence[AnswersRecord], recipe: AnswersRecipe) -> tuple[str, ...]:
    """One row for all seeds of a trial."""
    first = records[0]
    kept = sum(record.unlabelled_kept for record in records)
    twins = _figures(records, lambda record: record.twin_accuracy)
    fewer = f" ({first.twin_labels:,} labels)" if twins and first.twin_labels < first.answers else ""
    return (
        f"{first.answers:,}",
        *_accuracies(records, recipe),
        f"{kept} of {len(records)}" if 0 < kept < len(records) else "yes" if kept else "no",
        summary(twins) + fewer if twins else "",
        *_how(records),
    )


def _noise_row(records: Sequence[AnswersRecord], everything: Sequence[AnswersRecord]) -> tuple[str, ...]:
    first = records[0]
    return (
        first.dataset,
        f"{first.answers:,}",
        f"{100 * first.noise:g} %",
        MODELS[first.model],
        f"{mean(record.rate for record in records):.3f}",
        *_accuracies(records, answers_recipes()[first.dataset]),
        _gain(records, everything),
        *_how(records),
    )


def _accuracies(records: Sequence[AnswersRecord], recipe: AnswersRecipe) -> tuple[str, ...]:
    """Of the first stage; of the classifier: mean, the worst seed, and what is required of the mean."""
    accuracies = [record.accuracy for record in records]
    least = recipe.aim(records[0].answers, records[0].noise) if records[0].model == "none" else None
    verdict = "" if least is None else f"{least:g}, {'reached' if mean(accuracies) >= least else 'missed'}"
    return (
        summary([record.first_accuracy for record in records]),
        summary(accuracies),
        f"{min(accuracies):.2f}",
        verdict,
    )


def _rivals_row(records: Sequence[AnswersRecord], rivals: Sequence[str]) -> tuple[str, ...]:
    first = records[0]
    columns = [[record.accuracy for record in records]]
    columns += [[record.rivals[name]["accuracy"] for record in records if name in record.rivals] for name in rivals]
    cells = (f"{mean(figures):.2f} ({min(figures):.2f})" if figures else "" for figures in columns)
    return f"{first.answers:,}", f"{100 * first.noise:g} %", *cells


def _gain(records: Sequence[AnswersRecord], everything: Sequence[AnswersRecord]) -> str:
    """Over no model, on the seeds that both have."""

    def answers(record: AnswersRecord) -> tuple[object, ...]:
        return record.dataset, record.noise, record.answers, record.epochs, record.seed

    plain = {answers(record): record.accuracy for record in everything if record.model == "none"}
    gains = [record.accuracy - plain[answers(record)] for record in records if answers(record) in plain]
    return f"{mean(gains):+.2f}" if gains and records[0].model != "none" else ""


def _how(records: Sequence[AnswersRecord]) -> tuple[str, ...]:
    steps = mean(_figures(records, lambda record: record.steps) or [0])
    return (
        f"{steps:,.0f} steps" if records[0].epochs is None else f"2 x {records[0].epochs} epochs",
        ", ".join(str(record.seed) for record in records),
        f"{mean(record.cpu_seconds for record in records) / 60:.1f}",
        f"`{records[0].command}`",
    )


# The figure of the section, one for each data set.

SIZE = (7.6, 4.2)
LINES: tuple[tuple[str, str, str, Callable[[AnswersRecord], float | None]], ...] = (
    # its name, its colour, for those who see no colours its mark, and the figure of a record
    ("twin with labels", "learner-2", "^", lambda record: record.twin_accuracy),
    ("with unlabelled pairs", "learner-1", "o", lambda record: record.accuracy),
    ("answers only", "learner-4", "s", lambda record: record.first_accuracy),
    ("k-means, no answers", "learner-3", "D", lambda record: record.rivals.get("k-means", {}).get("accuracy")),
)


def answers_figures(results: Path) -> dict[str, bytes]:
    """The SVG files that the section refers to, by their paths from the page; the same records give the same bytes."""
    figures = {}
    for dataset, group in groupby(filter(sound, shown_records(results)), key=lambda record: record.dataset):
        made = list(group)
        if has_figure(made):
            figures[figure_path(dataset)] = svg_file(answers_figure(made, dataset))
    return figures


def answers_figure(records: Sequence[AnswersRecord], dataset: str) -> Figure:
    """A line for each learner through its means, and a band from the worst seed to the best."""
    figure, (axes,) = new_figure(1, SIZE)
    numbers = sorted({record.answers for record in records})
    keys = {}
    for name, colour, mark, figure_of in LINES:
        made = [(record.answers, share / 100) for record in records if (share := figure_of(record)) is not None]
        if not made:
            continue
        places = sorted({answers for answers, _ in made})
        shares = [[share for answers, share in made if answers == place] for place in places]
        low, middle, high = (np.array([of(seeds) for seeds in shares]) for of in (np.min, np.mean, np.max))
        axes.plot(places, middle, f"{mark}-", color=LIGHT[colour], linewidth=2.2, markersize=5.5)
        axes.fill_between(places, low, high, color=LIGHT[colour], alpha=0.15, linewidth=0)
        keys[name] = Line2D([], [], color=LIGHT[colour], linewidth=2.2, marker=mark, markersize=5.5)
    frame(axes, f"Accuracy on the test set of {dataset}", "random answers, or labels")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(numbers))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
    axes.yaxis.set_major_formatter(percent)
    legend(figure, keys)
    return figure
