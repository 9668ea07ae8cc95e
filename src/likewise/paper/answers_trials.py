"""Trials: a data set learned from so many random answers, some perhaps wrong; which are meant, and their names."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.training.settings import Precision

LEAST_ANSWERS = 10  # as many as there are classes
MODELS = ("none", "given", "learned")  # of wrong answers


@dataclass(frozen=True)
class AnswersRecipe:
    """What all trials of a data set share, and what is aimed at."""

    dataset: str
    network: str
    answers: tuple[int, ...]
    epochs: int  # of each of the two stages
    batch_size: int
    learning_rate: float
    expect: Mapping[int, float]  # answers -> test accuracy in %, or more
    precision: Precision = "auto"


def answers_recipes() -> dict[str, AnswersRecipe]:
    """The packaged recipes by data set, in the alphabet's order.

    >>> [(recipe.dataset, dict(recipe.expect)) for recipe in answers_recipes().values()]
    [('digits', {500: 90.0, 1000: 97.0}), ('mnist', {20000: 97.0})]
    """
    folder = resources.files("likewise.paper") / "recipes" / "answers"
    found = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            content = tomllib.loads(file.read_text(encoding="utf-8"))
            found[content["dataset"]] = AnswersRecipe(
                dataset=content["dataset"],
                network=content["network"],
                answers=tuple(content["answers"]),
                **content["training"],
                expect={int(answers): accuracy for answers, accuracy in content["expect"].items()},
            )
    return found


def trial_name(dataset: str, answers: int, noise: float, model: str, seed: int, epochs: int) -> str:
    """The name of a run folder and of a record.

    >>> trial_name("digits", 500, 0.0, "none", 0, 40), trial_name("mnist", 2000, 0.1, "learned", 1, 4)
    ('digits-500answers-seed0-40ep', 'mnist-2000answers-noise0.1-learned-seed1-4ep')
    """
    flips = "" if noise == 0 and model == "none" else f"-noise{noise:g}-{model}"
    return f"{dataset}-{answers}answers{flips}-seed{seed}-{epochs}ep"


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
    epochs: int = 0  # of each stage; 0 = as the recipe has it

    @property
    def n_epochs(self) -> int:
        return self.epochs or self.recipe.epochs

    @property
    def name(self) -> str:
        return trial_name(self.recipe.dataset, self.answers, self.noise, self.model, self.seed, self.n_epochs)

    @property
    def command(self) -> str:
        """The command line that runs this trial and no other."""
        parts = ["likewise paper answers --dataset", self.recipe.dataset, "--answers", str(self.answers)]
        if self.noise or self.model != "none":
            parts += ["--noise", f"{self.noise:g}", "--model", self.model]
        parts += ["--seed", str(self.seed)]
        if self.n_epochs != self.recipe.epochs:
            parts += ["--epochs", str(self.epochs)]
        return " ".join(parts)


def select_trials(
    dataset: str,
    answers: Sequence[int] = (),  # none = as the recipe has them
    *,
    noise: float = 0.0,
    model: str = "none",
    seed: int = 0,
    epochs: int | None = None,
) -> list[Trial]:
    """A trial for each number of answers, the fewest first; what cannot be tried is an InputError.

    >>> [trial.name for trial in select_trials("digits", [1000, 500], seed=2)]
    ['digits-500answers-seed2-40ep', 'digits-1000answers-seed2-40ep']
    """
    recipes = answers_recipes()
    if dataset not in recipes:
        raise InputError(f"--dataset {dataset} has no recipe. Use one of {', '.join(recipes)}.")
    if answers and min(answers) < LEAST_ANSWERS:
        raise InputError(f"--answers must be {LEAST_ANSWERS} or more, got {min(answers)}: there are ten classes.")
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
    recipe = recipes[dataset]
    return [Trial(recipe, n, noise, model, seed, epochs or 0) for n in sorted(set(answers or recipe.answers))]
