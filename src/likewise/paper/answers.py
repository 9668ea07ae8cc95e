"""Test accuracy against the number of random answers: run the trials, each to a run folder and a record.

Beside each classifier stands a twin, the same network given as many class labels as there were answers, with as many
steps as both stages have and the same augmentation, and trained with cross-entropy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import nn

from likewise.criteria import MCL
from likewise.datasets import DataSet, Items, load
from likewise.estimators import PairClassifier
from likewise.estimators.inputs import GENTLE
from likewise.evaluation import accuracy
from likewise.machine import machine
from likewise.networks import build
from likewise.pairs import Pairs
from likewise.paper.answers_record import AnswersRecord
from likewise.paper.answers_trials import Trial
from likewise.paper.records import read_record, record_path, write_record
from likewise.training import LEAST_STEPS, Settings, measure, train_labelled
from likewise.training.run_folder import read_json, write_json

TABLE = "answers"


@dataclass(frozen=True)
class Drawn:
    pairs: Pairs
    flipped: int  # how many of them are wrong


def run_trials(
    trials: Sequence[Trial], *, data: Path | None, runs: Path, results: Path
) -> Iterator[tuple[AnswersRecord, Path, bool]]:
    """Run each trial that has no record yet, resuming what was begun; gives record, path and whether it ran."""
    waiting = [trial for trial in trials if not record_path(results, TABLE, trial.name).exists()]
    sets = {name: load(name, data) for name in {trial.recipe.dataset for trial in waiting}}
    drawn = {trial.name: draw(trial, sets[trial.recipe.dataset]) for trial in waiting}  # what cannot be ends here
    for trial in trials:
        path = record_path(results, TABLE, trial.name)
        if trial.name not in drawn:
            yield read_record(path, AnswersRecord), path, False
            continue
        record = run_trial(trial, sets[trial.recipe.dataset], drawn[trial.name], runs / TABLE)
        yield record, write_record(results, record), True


def draw(trial: Trial, data: DataSet) -> Drawn:
    """Random pairs of training items, and the answers to them, each flipped with the trial's probability."""
    pairs = Pairs.from_labels(data.train.labels.numpy(), n=trial.answers, random_state=trial.seed)
    wrong = np.random.default_rng([trial.seed, trial.answers]).random(len(pairs)) < trial.noise
    return Drawn(replace(pairs, same=np.where(wrong, 1 - pairs.same, pairs.same)), int(wrong.sum()))


def run_trial(trial: Trial, data: DataSet, drawn: Drawn, runs: Path) -> AnswersRecord:
    """Fit and measure the classifier and its twin in folders under `runs`, or go on there."""
    run = runs / trial.name
    classifier = classifier_of(trial, data.train.n_classes, run).fit(data.train.inputs, pairs=drawn.pairs)
    stages = [read_json(file) for file in run.glob("*/metrics.json")]  # a run that was finished long ago has them too
    config = read_json(run / "start-1" / "config.json")
    held_out_accuracy = classifier.history_[-1].get("held_out_accuracy")

    n_labels = min(trial.answers, len(data.train))
    twin_run = runs / f"{trial.recipe.dataset}-twin-{n_labels}labels-seed{trial.seed}-{trial.n_epochs}ep"
    twin_accuracy = run_twin(trial, data, n_labels, twin_run)
    if not (run / "machine.json").exists():
        write_json(run / "machine.json", machine())
    return AnswersRecord(
        table=TABLE,
        dataset=trial.recipe.dataset,
        network=trial.recipe.network,
        answers=trial.answers,
        noise=trial.noise,
        model=trial.model,
        seed=trial.seed,
        epochs=trial.n_epochs,
        settings={
            **config["settings"],
            "device": config["device"],
            "precision": config["precision"],
            "augmentation": asdict(GENTLE),
            "most_starts": classifier.starts,
            "held_out_share": classifier.held_out,
            "twin_epochs": 2 * trial.n_epochs,
        },
        first_accuracy=percent_right(classifier.first_network_, data, MCL()),
        accuracy=percent_right(classifier.network_, data, MCL()),
        unlabelled_kept=classifier.unlabelled_,
        starts=len(list(run.glob("start-*/metrics.json"))),
        flipped=drawn.flipped,
        rate=round(classifier.noise_, 6),
        held_out=len(classifier.held_out_),
        held_out_accuracy=None if held_out_accuracy is None else round(100 * held_out_accuracy, 4),
        twin_accuracy=twin_accuracy,
        twin_labels=n_labels,
        seconds=round(sum(stage["seconds"] for stage in stages), 1),
        cpu_seconds=round(sum(stage["cpu_seconds"] for stage in stages), 1),
        twin_cpu_seconds=round(read_json(twin_run / "metrics.json")["cpu_seconds"], 1),
        command=trial.command,
        **read_json(run / "machine.json"),
    )


def classifier_of(trial: Trial, n_classes: int, run: Path) -> PairClassifier:
    """As anyone would make it, but for the schedule."""
    rates: dict[str, float | Literal["learn"]] = {"none": 0.0, "given": trial.noise, "learned": "learn"}
    return PairClassifier(
        n_classes,
        network=trial.recipe.network,
        epochs=trial.n_epochs,
        batch_size=trial.recipe.batch_size,
        learning_rate=trial.recipe.learning_rate,
        noise=rates[trial.model],
        augment=GENTLE,
        precision=trial.recipe.precision,
        random_state=trial.seed,
        verbose=True,
        run=run,
    )


def run_twin(trial: Trial, data: DataSet, n_labels: int, run: Path) -> float:
    """Train the twin, or go on; it does not depend on the answers, so that trials with other flips share it."""
    recipe = trial.recipe
    shape = tuple(data.train.inputs.shape[1:])
    network = build(recipe.network, data.train.n_classes, shape, seed=trial.seed)
    steps = max(LEAST_STEPS, math.ceil(len(data.train) / recipe.batch_size))  # of an epoch, as in the stages
    settings = Settings(
        epochs=2 * trial.n_epochs,
        batch_size=recipe.batch_size,
        learning_rate=recipe.learning_rate,
        schedule="one-cycle",
        precision=recipe.precision,
        seed=trial.seed,
    )
    train_labelled(
        network,
        labelled(data.train, n_labels, steps * recipe.batch_size, trial.seed),
        data,
        nn.CrossEntropyLoss(),
        settings,
        augment=GENTLE,
        run=run,
        config={"dataset": recipe.dataset, "network": recipe.network, "labels": n_labels},
    )
    return percent_right(network, data, nn.CrossEntropyLoss())


def labelled(items: Items, n: int, visits: int, seed: int) -> Items:
    """`n` random items, again and again until there are as many as an epoch visits."""
    chosen = torch.randperm(len(items), generator=torch.Generator().manual_seed(seed))[:n]
    return items.subset(chosen.repeat(math.ceil(visits / n))[:visits])


def percent_right(network: nn.Module, data: DataSet, criterion: nn.Module) -> float:
    """In %, the outputs matched with the classes on the training data."""
    measured = measure(network, data, criterion)
    return round(100 * accuracy(measured.test_counts, measured.matching), 4)
