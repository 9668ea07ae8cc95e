"""The tables of `likewise paper` on answers: random ones, fallible ones, and the protocols of SpherePair and ECI-PP."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from likewise.cli.options import Data, Seed
from likewise.cli.processes import dealt_out
from likewise.cli.transfer_tables import Results, Runs, announce

if TYPE_CHECKING:
    from likewise.paper.answers_trials import Trial


def answers(
    dataset: Annotated[Literal["digits", "mnist", "photos"], typer.Option(help="The data set.")] = "digits",
    answers: Annotated[
        list[int] | None, typer.Option(help="Number of answers to make up; give it once for each number you want.")
    ] = None,
    noise: Annotated[float, typer.Option(help="The rate of wrong answers among them, below 0.5.")] = 0.0,
    model: Annotated[
        Literal["none", "given", "learned"], typer.Option(help="What is assumed of the wrong answers.")
    ] = "none",
    seed: Seed = 0,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of each stage; otherwise the classifier chooses.")
    ] = None,
    data: Data = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Learn a data set from random answers, beside others.

    These are the same network given labels, and clusterings of the items. Records the accuracy on unseen items. A trial
    that has a record is not run again.
    """
    from likewise.paper.answers_trials import select_trials

    trials = select_trials(dataset, answers or [], noise=noise, model=model, seed=seed, epochs=epochs)
    announce("From answers", [trial.name for trial in trials])
    _run_answers(trials, data, runs, results)


def spherepair(
    dataset: Annotated[Literal["mnist", "fashion-mnist"], typer.Option(help="The data set.")] = "mnist",
    answers: Annotated[
        list[int] | None, typer.Option(help="Number of answers to make up; give it once for each number you want.")
    ] = None,
    seed: Seed = 0,
    data: Data = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """The protocol of SpherePair: flattened images, an MLP.

    There is no augmentation. Each seed is a draw of random pairs. A trial that has a record is not run again.
    """
    from likewise.paper.answers_trials import select_trials

    trials = select_trials(dataset, answers or [], table="spherepair", seed=seed)
    announce("The protocol of SpherePair", [trial.name for trial in trials])
    _run_answers(trials, data, runs, results)


def noise(
    dataset: Annotated[Literal["digits", "mnist", "photos"], typer.Option(help="The data set.")] = "digits",
    answers: Annotated[int | None, typer.Option(min=1, help="Number of answers; all numbers where not given.")] = None,
    noise: Annotated[float | None, typer.Option(help="The rate of wrong answers; all where not given.")] = None,
    panel: Annotated[
        Literal["one-random", "unequal"] | None,
        typer.Option(help="Who answers: annotators with rates of their own; all but `unequal` where not given."),
    ] = None,
    model: Annotated[
        Literal["law", "learned", "annotators", "none", "confusion"] | None,
        typer.Option(help="What is assumed of the wrong answers; all but `confusion` where not given."),
    ] = None,
    seed: Seed = 0,
    data: Data = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Fallible answers: an ablation of the models of wrong ones.

    Clusterings of the same items with the same answers stand beside them. Each seed is a draw. A trial that has a
    record is not run again.
    """
    from likewise.paper.answers_trials import select_noise_trials

    trials = select_noise_trials(dataset, answers=answers, noise=noise, panel=panel, model=model, seed=seed)
    announce("Fallible answers", [trial.name for trial in trials])
    _run_answers(trials, data, runs, results)


def eci_pp(
    dataset: Annotated[Literal["mnist", "fashion-mnist"], typer.Option(help="The data set.")] = "mnist",
    experts: Annotated[int, typer.Option(min=1, help="How many experts share the pairs.")] = 1,
    model: Annotated[
        Literal["law", "learned", "annotators", "none", "confusion"],
        typer.Option(help="What is assumed of the wrong answers; `none`: nothing is set."),
    ] = "none",
    seed: Seed = 0,
    data: Data = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """The protocol of ECI-PP: soft answers of weak experts.

    Three answers in ten are random numbers. Each seed is a draw. A trial that has a record is not run again.
    """
    from likewise.paper.answers_trials import select_expert_trials

    trials = select_expert_trials(dataset, experts=experts, model=model, seed=seed)
    announce("The protocol of ECI-PP", [trial.name for trial in trials])
    _run_answers(trials, data, runs, results)


def _run_answers(trials: Sequence[Trial], data: Path | None, runs: Path, results: Path) -> None:
    from likewise.paper.answers import run_trials

    for record, path, ran in run_trials(
        dealt_out(trials, key=lambda trial: trial.seed), data=data, runs=runs, results=results
    ):
        others = [f"{name} {scores['accuracy']:.2f} %" for name, scores in record.rivals.items()]
        if record.twin_accuracy is not None:
            others.insert(0, f"the twin {record.twin_accuracy:.2f} % with {record.twin_labels} labels")
        typer.echo(
            f"{path}: {'' if ran else 'there already; '}{record.first_accuracy:.2f} % from the answers, "
            f"{record.accuracy:.2f} % with the unlabelled; {', '.join(others)}{'; ' if others else ''}"
            f"{record.cpu_seconds / 60:.1f} core-minutes"
        )
