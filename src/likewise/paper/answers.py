"""Test accuracy against the number of random answers: run the trials, each to a run folder and a record.

The classifier has its defaults, as anyone would make it, except for what the recipe says of the network and the
augmentation. Where the recipe has a twin, it is the same network given as many class labels as there were answers, with
as many steps as all stages of the classifier took and the same augmentation, trained with cross-entropy.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from torch import nn

from likewise.datasets import DataSet, Items, column_statistics, load, load_feature_set
from likewise.datasets.source_files import data_folder, find
from likewise.errors import InputError
from likewise.estimators import PairClassifier
from likewise.estimators.inputs import GENTLE
from likewise.evaluation import accuracy, confusion, match_outputs
from likewise.networks import MLP, build
from likewise.pairs import Pairs
from likewise.paper.answers_rivals import labelled_rows, run_rivals
from likewise.paper.answers_trials import Annotator, AnswersRecipe, AnswersRecord, Trial
from likewise.paper.experts import ask_experts
from likewise.paper.records import record_path, run_missing
from likewise.storage.records import machine, read_json, write_json
from likewise.storage.run_folder import finished_stages
from likewise.training import Settings, measure, train_labelled

MOST_EPOCHS = 10  # of the twin


def run_trials(
    trials: Sequence[Trial], *, data: Path | None, runs: Path, results: Path
) -> Iterator[tuple[AnswersRecord, Path, bool]]:
    """Run each trial that has no record yet, resuming what was begun; gives record, path and whether it ran."""
    paths = {trial.name: record_path(results, trial.recipe.table, trial.name) for trial in trials}
    waiting = [trial for trial in trials if not paths[trial.name].exists()]
    recipes = {trial.recipe.dataset: trial.recipe for trial in waiting}
    sets = {name: load_set(recipe, data) for name, recipe in recipes.items()}
    drawn = {trial.name: draw(trial, sets[trial.recipe.dataset]) for trial in waiting}  # what cannot be ends here

    def run(trial: Trial) -> AnswersRecord:
        return run_trial(trial, sets[trial.recipe.dataset], drawn[trial.name], runs / trial.recipe.table)

    for trial in trials:
        yield from run_missing([trial], results, trial.recipe.table, AnswersRecord, run)


def load_set(recipe: AnswersRecipe, data: Path | None) -> DataSet:
    if not recipe.features:
        return flattened(load(recipe.dataset, data)) if recipe.flatten else load(recipe.dataset, data)
    path = find(recipe.dataset, (recipe.features,), data)
    if path is None:
        raise InputError(f"{recipe.features} is not in {data_folder(data)}; put it there or set LIKEWISE_DATA.")
    return replace(load_feature_set(path), name=recipe.dataset)


def flattened(data: DataSet) -> DataSet:
    """The pixels of each image as features in [0, 1]."""
    train, test = (replace(part, inputs=part.inputs.flatten(1).float() / 255) for part in (data.train, data.test))
    mean, std = column_statistics(train.inputs)
    return replace(data, train=train, test=test, mean=mean, std=std)


def run_trial(trial: Trial, data: DataSet, drawn: Drawn, runs: Path) -> AnswersRecord:
    """Fit and measure the classifier, its twin and its rivals in folders under `runs`, or resume there."""
    recipe, run = trial.recipe, runs / trial.name
    classifier = classifier_of(trial, data.train.n_classes, run)
    spent = fit_timed(classifier, data.train, drawn.pairs, run)
    stages = finished_stages(run)
    steps = sum(stage["steps"] for stage in stages.values())
    config = read_json(min(run.rglob("config.json")))  # the stages differ in their seeds and lengths alone
    held_out_accuracy = classifier.history_[-1].get("held_out_accuracy")
    first, last = (counts(classifier, network, data) for network in (classifier.first_network_, classifier.network_))

    n_labels = min(trial.answers, len(data.train))
    twin_run = runs / f"{recipe.dataset}-twin-{n_labels}labels-seed{trial.seed}-{steps}steps"
    twin_accuracy = run_twin(trial, data, n_labels, steps, config, twin_run) if recipe.twin else None
    return AnswersRecord(
        table=recipe.table,
        dataset=recipe.dataset,
        network=recipe.network or "default",
        answers=trial.answers,
        noise=trial.noise,
        model=trial.model,
        seed=trial.seed,
        epochs=trial.epochs,
        settings={
            **config["settings"],
            "device": config["device"],
            "precision": config["precision"],
            "classifier": described(classifier),
            "network": type(classifier.network_).__name__,
            "hidden": recipe.hidden,
            "stages": {name: stage["steps"] for name, stage in stages.items()},
            **({"augmentation": asdict(GENTLE)} if has_gentle_views(recipe, data) else {}),
        },
        first_accuracy=percent(accuracy(first.test, match_outputs(first.train))),
        accuracy=percent(accuracy(last.test, match_outputs(last.train))),
        unlabelled_kept=bool(classifier.unlabelled_),
        starts=sum(not name.startswith("unlabelled") for name in stages),
        flipped=int(drawn.wrong.sum()),
        rate=round(classifier.noise_, 6),
        held_out=len(classifier.held_out_),
        held_out_accuracy=None if held_out_accuracy is None else percent(held_out_accuracy),
        twin_accuracy=twin_accuracy,
        twin_labels=n_labels if recipe.twin else 0,
        twin_cpu_seconds=round(read_json(twin_run / "metrics.json")["cpu_seconds"], 1) if recipe.twin else 0.0,
        command=trial.command,
        **spent,
        steps=steps,
        test_matched_accuracy=percent(accuracy(last.test, match_outputs(last.test))),
        rivals=run_rivals(recipe.rivals, data, drawn.pairs, n_labels, trial.seed, runs) if beside_rivals(trial) else {},
        train_accuracy=percent(accuracy(last.train, match_outputs(last.train))),
        panel=trial.panel,
        experts=trial.experts,
        expert_accuracies=[percent(share) for share in drawn.expert_shares],
        replaced=drawn.replaced,
        wrong_auroc=wrong_auroc(classifier, drawn),
        rates=annotator_rates(classifier, trial),
    )


def beside_rivals(trial: Trial) -> bool:
    """In an ablation of models the rivals stand beside one of them: their answers are the same."""
    return trial.recipe.table == "answers" or trial.model == "none"


def wrong_auroc(classifier: PairClassifier, drawn: Drawn) -> float | None:
    """How well P(wrong) tells wrong answers from right ones; None where there is no such model, or no wrong answer."""
    p_wrong = getattr(classifier, "p_wrong_", None)
    if p_wrong is None or drawn.wrong.all() or not drawn.wrong.any():
        return None
    return round(float(roc_auc_score(drawn.wrong, p_wrong)), 5)


def annotator_rates(classifier: PairClassifier, trial: Trial) -> dict[str, dict[str, list[float]]]:
    """For each annotator of the panel and both rates: the truth, the estimate and its interval (low, high)."""
    posterior = getattr(classifier, "posterior_", None)
    if posterior is None:
        return {}
    rates = posterior.rates
    rows = {name: row for row, name in enumerate(rates.annotators)}
    table: dict[str, dict[str, list[float]]] = {}
    for annotator in trial.annotators:
        row = rows[annotator.name]
        table[annotator.name] = {
            kind: [round(float(value), 5) for value in (truth, estimate[row], *interval[row])]
            for kind, truth, estimate, interval in (
                ("false different", annotator.false_different, rates.false_different, rates.false_different_interval),
                ("false same", annotator.false_same, rates.false_same, rates.false_same_interval),
            )
        }
    return table


def classifier_of(trial: Trial, n_classes: int, run: Path) -> PairClassifier:
    """The classifier with its defaults, except for what the recipe and the command line say."""
    recipe = trial.recipe
    arguments: dict[str, Any] = {**recipe.training}
    if recipe.network is not None:
        arguments["network"] = network_of(recipe)
    if not recipe.augment:
        arguments["augment"] = None
    if trial.epochs is not None:
        arguments["epochs"] = trial.epochs
    if trial.model != "none":
        named: dict[str, float | str] = {"given": trial.noise, "learned": "learn", "law": 0}
        arguments["noise"] = named.get(trial.model, trial.model)
    return PairClassifier(n_classes, **arguments, random_state=trial.seed, verbose=True, run=run)


def network_of(recipe: AnswersRecipe) -> str | Callable[[int, tuple[int, ...]], nn.Module]:
    """What PairClassifier takes as its network."""
    assert recipe.network is not None
    if not recipe.hidden:
        return recipe.network
    return lambda n_classes, shape: MLP(n_classes, shape, recipe.hidden)


def described(classifier: PairClassifier) -> dict[str, Any]:
    """The classifier's parameters, as far as they can be written down."""
    plain = (str, int, float, bool, type(None))
    return {name: value for name, value in classifier.get_params().items() if isinstance(value, plain)}


def fit_timed(classifier: PairClassifier, items: Items, pairs: Pairs, run: Path) -> dict[str, Any]:
    """Fit; gives the machine and the time that all of it took, also where it was finished long ago."""
    clock, cpu = time.perf_counter(), time.process_time()
    classifier.fit(items.inputs.numpy(), pairs=pairs)
    spent = {"seconds": time.perf_counter() - clock, "cpu_seconds": time.process_time() - cpu}
    if not (run / "fit.json").exists():
        stages = finished_stages(run).values()
        for name in spent:  # a run that was stopped and resumed: its stages know better
            spent[name] = round(max(spent[name], sum(stage[name] for stage in stages)), 1)
        write_json(run / "fit.json", {**spent, **machine()})
    facts: dict[str, Any] = read_json(run / "fit.json")
    return facts


@dataclass(frozen=True)
class OutputCounts:
    train: NDArray[np.int64]  # (K, C): rows outputs, columns classes
    test: NDArray[np.int64]


def counts(classifier: PairClassifier, network: nn.Module, data: DataSet) -> OutputCounts:
    """The predictions of one of the classifier's networks for both parts, read the classifier's own way."""
    reader = copy.copy(classifier)
    reader.network_ = network
    every = np.arange(classifier.n_outputs_)
    train, test = (
        confusion(
            reader.predict_outputs(part.inputs.numpy(), every).argmax(1),
            part.labels,
            classifier.n_outputs_,
            part.n_classes,
        )
        for part in (data.train, data.test)
    )
    return OutputCounts(train, test)


def run_twin(trial: Trial, data: DataSet, n_labels: int, steps: int, config: Mapping[str, Any], run: Path) -> float:
    """Train the twin, or resume it; it does not depend on the answers, so that trials with other flips may share it."""
    recipe = trial.recipe
    shape, n_classes = tuple(data.train.inputs.shape[1:]), data.train.n_classes
    assert recipe.network is not None
    network = build(recipe.network, n_classes, shape, seed=trial.seed)
    epochs = max(n for n in range(1, MOST_EPOCHS + 1) if steps % n == 0)  # so that the steps come out even
    batch_size = config["settings"]["batch_size"]
    settings = Settings(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=config["settings"]["learning_rate"],
        schedule="one-cycle",
        precision=config["precision"],
        seed=trial.seed,
    )
    train_labelled(
        network,
        labelled(data.train, n_labels, steps // epochs * batch_size, trial.seed),
        data,
        nn.CrossEntropyLoss(),
        settings,
        augment=GENTLE if has_gentle_views(recipe, data) else None,
        run=run,
        config={"dataset": recipe.dataset, "network": recipe.network, "labels": n_labels},
    )
    measured = measure(network, data, nn.CrossEntropyLoss())
    return percent(accuracy(measured.test_counts, measured.matching))


def labelled(items: Items, n: int, visits: int, seed: int) -> Items:
    """`n` random items, repeated until there are as many as an epoch visits."""
    return items.subset(labelled_rows(len(items), n, seed).repeat(math.ceil(visits / n))[:visits])


def has_gentle_views(recipe: AnswersRecipe, data: DataSet) -> bool:
    return recipe.augment and data.train.inputs.ndim == 4


def percent(share: float) -> float:
    return round(100 * share, 4)


# The answers of a trial, drawn from the classes.


@dataclass(frozen=True)
class Drawn:
    pairs: Pairs
    wrong: NDArray[np.bool_]  # (m,) which answers are; of soft ones those on the wrong side of a half
    replaced: int = 0  # soft answers in whose place there are random numbers
    expert_shares: tuple[float, ...] = ()  # of the training items, that each expert gets right


def draw(trial: Trial, data: DataSet) -> Drawn:
    """The answers of experts or of a panel; or each flipped with the trial's probability."""
    labels = data.train.labels.numpy()
    if trial.experts:
        answers = ask_experts(data.train, trial.answers, trial.experts, trial.seed)
        pairs = answers.pairs
        wrong = (pairs.same > 0.5) != (labels[pairs.left] == labels[pairs.right])
        return Drawn(pairs, wrong, int(answers.replaced.sum()), answers.experts)
    pairs = Pairs.from_labels(labels, n=trial.answers, random_state=trial.seed)
    random = np.random.default_rng([trial.seed, trial.answers])
    if trial.annotators:
        return ask_panel(pairs, trial.annotators, random)
    wrong = random.random(len(pairs)) < trial.noise
    return Drawn(replace(pairs, same=np.where(wrong, 1 - pairs.same, pairs.same)), wrong)


def ask_panel(right: Pairs, annotators: Sequence[Annotator], random: np.random.Generator) -> Drawn:
    """Deal out the right answers evenly, each to one annotator, who flips it at the rate of its kind."""
    who = random.permutation(np.arange(len(right)) % len(annotators))
    false_different, false_same = (
        np.array(rates) for rates in zip(*((each.false_different, each.false_same) for each in annotators), strict=True)
    )
    wrong = random.random(len(right)) < np.where(right.same > 0.5, false_different[who], false_same[who])
    pairs = Pairs.from_arrays(
        np.stack([right.left, right.right], axis=1),
        np.where(wrong, 1 - right.same, right.same),
        annotator=np.array([each.name for each in annotators])[who],
    )
    return Drawn(pairs.index(right.n_items), wrong)
