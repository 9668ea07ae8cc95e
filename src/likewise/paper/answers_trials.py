"""Trials: a data set learned from so many random answers, some perhaps wrong; which are meant, and their names."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from likewise.errors import InputError

MODELS = ("none", "given", "learned")  # of wrong answers


@dataclass(frozen=True)
class Aim:
    """The test accuracy in %, or more, that is expected of the mean over the seeds."""

    answers: int
    accuracy: float
    noise: float = 0.0


@dataclass(frozen=True)
class AnswersRecipe:
    """What all trials of a data set share, what is expected, and what others have published."""

    table: str  # "answers" or "spherepair"
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
    published: Mapping[str, Mapping[int, float]] = field(default_factory=dict)  # method -> answers -> accuracy in %

    def aim(self, answers: int, noise: float) -> float | None:
        return next((aim.accuracy for aim in self.expect if (aim.answers, aim.noise) == (answers, noise)), None)


def answers_recipes(table: str = "answers") -> dict[str, AnswersRecipe]:
    """The packaged recipes by data set, in the alphabet's order.

    >>> [(recipe.dataset, recipe.aim(1000, 0.0)) for recipe in answers_recipes().values()]
    [('digits', None), ('mnist', 98.2), ('photos', 89.0)]
    """
    folder = resources.files("likewise.paper") / "recipes" / table
    found = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            content = tomllib.loads(file.read_text(encoding="utf-8"))
            for key in ("answers", "hidden", "rivals"):
                content[key] = tuple(content.get(key, ()))
            content["expect"] = tuple(Aim(**aim) for aim in content.get("expect", ()))
            content["published"] = {
                method: {int(answers): accuracy for answers, accuracy in figures.items()}
                for method, figures in content.get("published", {}).items()
            }
            found[content["dataset"]] = AnswersRecipe(**content)
    return found


def trial_name(dataset: str, answers: int, noise: float, model: str, seed: int, epochs: int | None) -> str:
    """The name of a run folder and of a record.

    >>> trial_name("digits", 500, 0.0, "none", 0, None), trial_name("mnist", 2000, 0.1, "learned", 1, 4)
    ('digits-500answers-seed0', 'mnist-2000answers-noise0.1-learned-seed1-4ep')
    """
    flips = "" if noise == 0 and model == "none" else f"-noise{noise:g}-{model}"
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

    @property
    def name(self) -> str:
        return trial_name(self.recipe.dataset, self.answers, self.noise, self.model, self.seed, self.epochs)

    @property
    def command(self) -> str:
        """The command line that runs this trial and no other."""
        parts = [f"likewise paper {self.recipe.table} --dataset", self.recipe.dataset, "--answers", str(self.answers)]
        if self.noise:
            parts += ["--noise", f"{self.noise:g}"]
        if self.model != "none":
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
