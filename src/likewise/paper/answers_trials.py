"""Trials: a data set learned from a number of random answers, some perhaps wrong; their selection and names.

Answers are wrong at one rate, or those of a panel of annotators at the rates of each, or they are the soft answers of
experts (experts.py).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from likewise.errors import InputError
from likewise.paper.records import Record

MODELS = ("none", "given", "learned")  # of wrong answers: nothing set, or one rate, which is given or learned
# Answers as law; one rate learned; those of each annotator, pair by pair; nothing set: all answers judged together.
ABLATION = ("law", "learned", "annotators", "none")
NOISE_MODELS = (*ABLATION, "confusion")  # and which classes are taken for each other


@dataclass(frozen=True)
class Annotator:
    """How often one is wrong: about pairs that are the same, and about pairs that are different."""

    name: str
    false_different: float
    false_same: float


@dataclass(frozen=True)
class Panel:
    """Annotators who share so many answers evenly."""

    answers: int
    annotators: tuple[Annotator, ...]


@dataclass(frozen=True)
class Aim:
    """The test accuracy in %, or more, that is expected of the mean over the seeds, and what we aim for.

    Of answers that are all right, it is how far the mean may be below that of the same answers taken as law.
    """

    answers: int
    accuracy: float | None = None
    below_law: float = 0.0
    noise: float = 0.0
    panel: str = ""
    aim: float | None = None


@dataclass(frozen=True)
class AnswersRecipe:
    """What all trials of a data set share, what is expected, and what others have published."""

    table: str  # "answers", "spherepair", "noise" or "eci-pp"
    dataset: str
    classes: int
    answers: tuple[int, ...]
    network: str | None = None  # by its name; None: the classifier chooses
    hidden: tuple[int, ...] = ()  # widths of the hidden layers, where the network is an MLP
    features: str = ""  # the .npz file of the set, where it is made of features
    flatten: bool = False  # images become features in [0, 1]
    augment: bool = True  # False: none
    training: Mapping[str, Any] = field(default_factory=dict)  # further arguments of PairClassifier
    twin: bool = False  # the same network given labels stands beside it
    rivals: tuple[str, ...] = ()
    expect: tuple[Aim, ...] = ()
    published: Mapping[str, Mapping[int, Any]] = field(default_factory=dict)  # method -> answers or experts -> figures
    panels: Mapping[str, Panel] = field(default_factory=dict)

    def aim(self, answers: int, noise: float) -> float | None:
        return next((aim.accuracy for aim in self.expect if (aim.answers, aim.noise) == (answers, noise)), None)


def answers_recipes(table: str = "answers") -> dict[str, AnswersRecipe]:
    """The packaged recipes by data set, in alphabetical order.

    >>> [(recipe.dataset, recipe.aim(1000, 0.0)) for recipe in answers_recipes().values()]
    [('digits', None), ('mnist', 98.2), ('photos', 89.0)]
    """
    folder = resources.files("likewise.paper") / "recipes" / table
    recipes = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            content = tomllib.loads(file.read_text(encoding="utf-8"))
            for key in ("answers", "hidden", "rivals"):
                content[key] = tuple(content.get(key, ()))
            content["expect"] = tuple(Aim(**aim) for aim in content.get("expect", ()))
            content["published"] = {
                method: {int(number): accuracy for number, accuracy in figures.items()}
                for method, figures in content.get("published", {}).items()
            }
            content["panels"] = {name: _panel(**panel) for name, panel in content.get("panels", {}).items()}
            recipes[content["dataset"]] = AnswersRecipe(**content)
    return recipes


def _panel(answers: int, annotators: Mapping[str, tuple[float, float]]) -> Panel:
    return Panel(answers, tuple(Annotator(name, *rates) for name, rates in annotators.items()))


def trial_name(
    dataset: str,
    answers: int,
    noise: float,
    model: str,
    seed: int,
    epochs: int | None,
    panel: str = "",
    experts: int = 0,
) -> str:
    """The name of a run folder and of a record.

    >>> trial_name("digits", 500, 0.0, "none", 0, None), trial_name("mnist", 2000, 0.1, "learned", 1, 4)
    ('digits-500answers-seed0', 'mnist-2000answers-noise0.1-learned-seed1-4ep')
    >>> trial_name("digits", 3000, 0.0, "law", 0, None, panel="one-random")
    'digits-3000answers-one-random-law-seed0'
    """
    wrong = panel or (f"noise{noise:g}" if noise or model != "none" else "")
    wrong = f"{experts}experts" if experts else wrong
    flips = f"-{wrong}-{model}" if wrong else ""
    return f"{dataset}-{answers}answers{flips}-seed{seed}" + ("" if epochs is None else f"-{epochs}ep")


@dataclass(frozen=True)
class Trial:
    """One fit.

    >>> trial = Trial(answers_recipes()["digits"], 1000, noise=0.1, model="given", epochs=5)
    >>> trial.name
    'digits-1000answers-noise0.1-given-seed0-5ep'
    >>> trial.command
    'likewise paper answers --dataset digits --answers 1000 --noise 0.1 --model given --seed 0 --epochs 5'
    """

    recipe: AnswersRecipe
    answers: int
    noise: float = 0.0  # the probability that an answer is flipped
    model: str = "none"
    seed: int = 0
    epochs: int | None = None  # of each stage; None: the classifier chooses
    panel: str = ""  # who answers; nobody in particular where it is empty
    experts: int = 0  # so many experts with soft answers do

    @property
    def name(self) -> str:
        return trial_name(
            self.recipe.dataset,
            self.answers,
            self.noise,
            self.model,
            self.seed,
            self.epochs,
            self.panel,
            self.experts,
        )

    @property
    def annotators(self) -> tuple[Annotator, ...]:
        return self.recipe.panels[self.panel].annotators if self.panel else ()

    @property
    def command(self) -> str:
        """The command line that runs this trial and no other."""
        parts = [f"likewise paper {self.recipe.table} --dataset", self.recipe.dataset]
        if self.panel:
            parts += ["--panel", self.panel]
        elif self.experts:
            parts += ["--experts", str(self.experts)]
        else:
            parts += ["--answers", str(self.answers)]
        clean = self.recipe.table == "noise" and not self.panel  # without a rate, that command means all of them
        if (self.noise or clean) and not self.experts:
            parts += ["--noise", f"{self.noise:g}"]
        if self.model != "none" or self.recipe.table == "noise":  # where leaving it out means all of them
            parts += ["--model", self.model]
        parts += ["--seed", str(self.seed)]
        if self.epochs is not None:
            parts += ["--epochs", str(self.epochs)]
        return " ".join(parts)


def select_trials(
    dataset: str,
    answers: Sequence[int] = (),  # none = as the recipe has them
    *,
    table: str = "answers",
    noise: float = 0.0,
    model: str = "none",
    seed: int = 0,
    epochs: int | None = None,
) -> list[Trial]:
    """A trial for each number of answers, the fewest first; what cannot be tried is an InputError.

    >>> [trial.name for trial in select_trials("digits", [1000, 500], seed=2)]
    ['digits-500answers-seed2', 'digits-1000answers-seed2']
    """
    recipes = answers_recipes(table)
    if dataset not in recipes:
        raise InputError(f"--dataset {dataset} has no recipe. Use one of {', '.join(recipes)}.")
    recipe = recipes[dataset]
    if answers and min(answers) < recipe.classes:
        raise InputError(
            f"--answers must be {recipe.classes} or more, got {min(answers)}: there are {recipe.classes} classes."
        )
    if not 0 <= noise < 0.5:
        raise InputError(f"--noise must be at least 0 and below 0.5, got {noise:g}: at a half, answers say nothing.")
    if model not in MODELS:
        raise InputError(f"--model {model} is unknown. Use one of {', '.join(MODELS)}.")
    if model == "given" and noise == 0:
        raise InputError("--model given needs --noise above 0: with a rate of 0 it is the same as none.")
    if seed < 0:
        raise InputError(f"--seed must be 0 or more, got {seed}.")
    if epochs is not None and epochs < 1:
        raise InputError(f"--epochs must be 1 or more, got {epochs}.")
    return [Trial(recipe, n, noise, model, seed, epochs) for n in sorted(set(answers or recipe.answers))]


def select_noise_trials(
    dataset: str,
    *,
    answers: int | None = None,
    noise: float | None = None,
    panel: str | None = None,
    model: str | None = None,  # none = all of the ablation
    seed: int = 0,
) -> list[Trial]:
    """The trials with wrong answers that fit everything given; one that no figure is expected of must be named.

    >>> [trial.name for trial in select_noise_trials("digits", answers=1000, noise=0.05)][:2]
    ['digits-1000answers-noise0.05-law-seed0', 'digits-1000answers-noise0.05-learned-seed0']
    """
    recipes = answers_recipes("noise")
    if dataset not in recipes:
        raise InputError(f"--dataset {dataset} has no recipe. Use one of {', '.join(recipes)}.")
    recipe = recipes[dataset]
    if panel is not None and panel not in recipe.panels:
        names = ", ".join(recipe.panels) or "another data set, as this one has none"
        raise InputError(f"--panel {panel} is unknown. Use one of {names}.")
    if seed < 0:
        raise InputError(f"--seed must be 0 or more, got {seed}.")
    expected = [(aim.answers, aim.noise, aim.panel) for aim in recipe.expect]
    if panel is not None and panel not in (name for _, _, name in expected):
        expected.append((recipe.panels[panel].answers, 0.0, panel))
    wanted = {0: answers, 1: noise, 2: "" if panel is None and noise is not None else panel}
    chosen = [row for row in expected if all(value in (None, row[place]) for place, value in wanted.items())]
    if not chosen:
        rows = "; ".join(f"{number} answers, {name or format(rate, 'g')}" for number, rate, name in expected)
        raise InputError(f"No trial fits --answers, --noise and --panel together. There are: {rows}.")
    models = ABLATION if model is None else (model,)
    return [Trial(recipe, number, rate, each, seed, panel=name) for number, rate, name in chosen for each in models]


def select_expert_trials(dataset: str, *, experts: int, model: str = "none", seed: int = 0) -> list[Trial]:
    """The trial of the protocol of ECI-PP with so many experts.

    >>> [trial.name for trial in select_expert_trials("mnist", experts=3, seed=1)]
    ['mnist-9000answers-3experts-none-seed1']
    """
    recipes = answers_recipes("eci-pp")
    if dataset not in recipes:
        raise InputError(f"--dataset {dataset} has no recipe. Use one of {', '.join(recipes)}.")
    recipe = recipes[dataset]
    if not 1 <= experts <= recipe.classes:
        raise InputError(f"--experts must be from 1 to {recipe.classes}, the number of classes, got {experts}.")
    if seed < 0:
        raise InputError(f"--seed must be 0 or more, got {seed}.")
    return [Trial(recipe, number, model=model, seed=seed, experts=experts) for number in recipe.answers]


# What a trial gave.


@dataclass(frozen=True, kw_only=True)
class AnswersRecord(Record):
    """Accuracies are in %: of the test set, after the outputs were matched with the classes on the training set."""

    dataset: str
    network: str  # its name; "default" where the classifier chose it
    answers: int
    noise: float  # the probability that an answer was flipped
    model: str  # of wrong answers: none (nothing is set by hand), given (the rate is known), learned; see ABLATION
    seed: int
    epochs: int | None  # of each stage; None: the classifier chose
    first_accuracy: float  # answers only: after the first stage
    accuracy: float  # of the classifier: after the second stage, where that was kept
    unlabelled_kept: bool  # whether it was
    starts: int  # runs of the first stage
    flipped: int  # answers that are wrong
    rate: float  # of wrong answers, as the classifier had it in the end
    held_out: int  # answers that were not trained on
    held_out_accuracy: float | None  # of the classifier on them, as they were given; None where there are none
    twin_accuracy: float | None  # of the same network, given class labels; None where the recipe has no twin
    twin_labels: int  # as many as answers, at most all training items; none is wrong
    seconds: float  # of the fit, without the twin and the rivals
    twin_cpu_seconds: float
    steps: int | None = None  # of all stages together
    test_matched_accuracy: float | None = None  # of the classifier, its outputs matched on the test set
    rivals: dict[str, dict[str, float]] = field(default_factory=dict)  # name -> accuracy (test set), train_accuracy
    train_accuracy: float | None = None  # of the classifier on the training set
    panel: str = ""  # who answered
    experts: int = 0  # how many did, with soft answers
    expert_accuracies: list[float] = field(default_factory=list)  # of each, on the training set
    replaced: int = 0  # answers of experts in whose place there are random numbers
    wrong_auroc: float | None = (
        None  # the area under the ROC curve of P(wrong): are wrong answers told from right ones?
    )
    rates: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # annotator -> rate -> see annotator_rates

    @property
    def name(self) -> str:
        return trial_name(
            self.dataset, self.answers, self.noise, self.model, self.seed, self.epochs, self.panel, self.experts
        )
