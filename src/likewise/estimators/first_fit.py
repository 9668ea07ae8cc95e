"""What `PairClassifier.fit` does: count the classes, make a task, learn it, judge the answers, and name the outputs."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from likewise.clustering.constraints import read_constraints
from likewise.clustering.counting import count_classes, items_to_count
from likewise.clustering.linkage import Odds
from likewise.distributed import from_first
from likewise.errors import InputError
from likewise.estimators.encoding import encode_views_to_fit, fine_tune_encoder
from likewise.estimators.increments import Examples, answers_to_remember, is_evidence, remember
from likewise.estimators.inputs import InputForm
from likewise.estimators.naming import match_names, outputs_in_use
from likewise.estimators.task import Task, checksum, item_weights, items_checksum, make_task, weighted_answers
from likewise.estimators.wrong_answers import (
    Verdict,
    is_by_annotator,
    judge_all,
    noise_rate,
    rates_of,
    share_wrong,
    turns_of,
)
from likewise.evaluation import NumberOfClasses
from likewise.pairs import LargeAnswers, Pairs
from likewise.training import NetworkInputs, Settings, learn_answers
from likewise.training.grouping import agglomerated, among, spaces_of
from likewise.training.turns import calibrated

if TYPE_CHECKING:
    from likewise.estimators.pair_classifier import PairClassifier


def asked_outputs(n_classes: int | None, labels: NDArray[Any] | None) -> int | None:
    """As many as are asked for, or as there are classes in the labels; None: that is to be estimated."""
    if labels is not None:
        n_in_y = len(np.unique(labels))
        if n_in_y < 2:
            raise InputError("y holds one class; at least two are needed, for nothing is different.")
        if n_classes is not None and n_classes < n_in_y:
            raise InputError(f"n_classes is {n_classes}, but y holds {n_in_y} classes; give {n_in_y} or more.")
        n_classes = n_classes or n_in_y
    if n_classes is not None and n_classes < 2:
        raise InputError(f"n_classes must be 2 or more, or None to be estimated, got {n_classes}.")
    return None if n_classes is None else int(n_classes)


def estimate_n_classes(inputs: Tensor, form: InputForm, answers: Pairs, seed: int) -> NumberOfClasses:
    """The number of classes, from the items as they are and the answers; the first process counts for all.

    Several annotators are weighed first, by as many groups as the items show without any answer.
    """

    def count() -> dict[str, int]:
        rows, odds = items_to_count(Odds.of(read_constraints(answers, len(inputs))), seed)
        spaces = spaces_of(NetworkInputs(inputs, form.mean, form.std), rows)
        if len(answers.annotators) > 1:
            nothing = Odds(len(rows), np.empty((0, 2), dtype=np.int64), np.empty(0))
            n_groups = count_classes(spaces, nothing, seed).estimate
            odds = agglomerated(spaces, among(answers, rows), n_groups, seed)[1]
        return dataclasses.asdict(count_classes(spaces, odds, seed))

    return NumberOfClasses(**from_first(count))


def fit_first(
    model: PairClassifier,
    inputs: Tensor,
    labels: NDArray[Any] | None,
    answers: Pairs | LargeAnswers | None,
    sample_weight: ArrayLike | None,
    classes: NDArray[Any] | None,  # all there will be; None: those of the labels
    X: Any,  # as it was given, which `fine_tune` encodes again
) -> None:
    model.input_form_ = InputForm.of(inputs, bool(model.unit_length))
    everything = labels if classes is None else classes
    n_outputs = asked_outputs(model.n_classes, everything)
    if labels is not None and classes is not None and not np.isin(labels, classes).all():
        raise InputError("y holds a class that is not among classes; give all there will be.")
    seed = model._seed()
    task = make_task(
        labels,
        answers,
        sample_weight,
        n_items=len(inputs),
        n_classes=n_outputs or 2,
        noise=model.noise,
        share=model.held_out if answers is not None or model.patience or model.fine_tune else 0.0,
        seed=seed,
    )
    model.n_classes_interval_ = None
    if n_outputs is None:
        number = estimate_n_classes(inputs, model.input_form_, task.raw_answers, seed)
        n_outputs, model.n_classes_interval_ = number.estimate, (number.low, number.high)
    model.n_outputs_ = n_outputs
    inputs, outputs = _learn(model, inputs, answers, task, sample_weight, seed, X)
    _name(model, outputs, labels, everything)
    model.memory_ = {}
    if answers is not None:
        kept_answers = answers_to_remember(model, task.raw_answers) if is_evidence(model) else task.pairs
        remember(model, Examples.of_answers(inputs, kept_answers), seed)
    if labels is not None:
        weight = item_weights(None if answers is not None else sample_weight, labels)
        examples = Examples.of_labels(inputs, labels, weight)
        kept = np.setdiff1d(np.arange(len(labels)), task.held_out.items if answers is None else [])
        remember(
            model,
            replace(examples, index=examples.index[kept], targets=labels[kept], weight=examples.weight[kept]),
            seed,
        )


def _learn(
    model: PairClassifier,
    inputs: Tensor,
    answers: Pairs | LargeAnswers | None,  # None: told from labels, which leave no pair unknown
    task: Task,
    sample_weight: ArrayLike | None,
    seed: int,
    X: Any,
) -> tuple[Tensor, NDArray[np.int64]]:
    """Learn; gives the inputs, which are those of the fine-tuned encoder where there is one, and their outputs."""
    answered = answers is not None
    form = model.input_form_
    settings = Settings(
        batch_size=model.batch_size,
        learning_rate=model.learning_rate,
        schedule="one-cycle",
        patience=model.patience,
        device=model.device,
        precision=model.precision,
        seed=seed,
    )
    run = None if model.run is None else Path(model.run)
    pile = NetworkInputs(
        inputs, form.mean, form.std, form.augmentation(model.augment), encode_views_to_fit(model, X, model.views)
    )
    learned = learn_answers(
        lambda start_seed: model._starting_network(inputs, seed, start_seed - seed),
        pile,
        task.known,
        task.pairs,
        task.held_out,
        settings,
        epochs=model.epochs,
        grouped=model.n_outputs_ if model.group_first and answered else 0,
        raw_answers=task.raw_answers,
        starts=model.starts,
        unlabelled=bool(model.unlabelled) and answered,
        noise=noise_rate(model.noise) if answered else 0.0,
        turns=turns_of(model.noise) if isinstance(answers, Pairs) else None,
        run=run,
        config=None if run is None else _config(model, inputs, task),
        progress=model.verbose,
        on_epoch=model.on_epoch,
    )
    if model.fine_tune:
        learned, features = fine_tune_encoder(model, X, learned, task, settings, run)
        if features is not None:
            inputs, pile = features, replace(pile, inputs=features, views=None)
    model.network_ = learned.network
    model.first_network_ = learned.first
    model.history_ = learned.history
    model.unlabelled_ = learned.unlabelled
    model.grouped_ = learned.grouped
    model.held_out_ = task.held_out
    logits = pile.logits(learned.network)
    verdict = Verdict(None, None)
    if isinstance(answers, Pairs) and is_by_annotator(model.noise):
        weighted, unary = weighted_answers(answers, sample_weight), logits.numpy().astype(np.float64)
        verdict = judge_all(unary, weighted, task.held_out, model.noise, grouped=learned.grouped)
    model._set_verdict(verdict)
    if answered:
        rates = rates_of(verdict, learned.noise, task.held_out)
        model.network_ = calibrated(learned.network, pile, task.held_out, rates)
    model.confusion_ = learned.confusion
    model.noise_ = learned.noise if verdict.posterior is None else share_wrong(verdict, task.noisy)
    return inputs, logits.argmax(1).numpy()


def _config(model: PairClassifier, inputs: Tensor, task: Task) -> dict[str, object]:
    """What a run must have begun with in order to resume."""
    config: dict[str, object] = {"items": items_checksum(inputs), "answers": checksum(*task.arrays)}
    if model.views:
        config["views"] = int(model.views)
    return {**config, "noise": model.noise} if turns_of(model.noise) and task.noisy else config


def _name(
    model: PairClassifier, outputs: NDArray[np.int64], labels: NDArray[Any] | None, classes: NDArray[Any] | None
) -> None:
    """Find the outputs in use and, where there are labels, call them by these."""
    naming = outputs_in_use(outputs)
    in_use = naming.outputs
    if labels is not None:
        naming = match_names(outputs, labels, in_use, classes=classes, others=False)
    model._set_naming(naming, in_use)
