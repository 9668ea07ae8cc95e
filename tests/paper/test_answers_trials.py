"""Trials: the packaged recipes, which trials are meant, their commands, and what is refused."""

from __future__ import annotations

import shlex
from importlib import resources

import pytest

from likewise.errors import InputError
from likewise.paper.answers_trials import (
    ABLATION,
    AnswersRecipe,
    Trial,
    answers_recipes,
    select_expert_trials,
    select_noise_trials,
    select_trials,
)

RECIPES = answers_recipes()
PEERS = answers_recipes("spherepair")
FALLIBLE = answers_recipes("noise")
EXPERTS = answers_recipes("eci-pp")


def opening(recipe: AnswersRecipe, separator: str) -> list[tuple[str, str]]:
    """The commands that a recipe opens with, each with the figure beside it."""
    file = resources.files("likewise.paper") / "recipes" / recipe.table / f"{recipe.dataset}.toml"
    lines = [line for line in file.read_text().splitlines() if line.startswith("#   likewise paper")]
    parts = [line.removeprefix("#   ").partition(separator) for line in lines]
    return [(command.strip(), figure) for command, _, figure in parts]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.dataset)
def test_packaged_file_opens_with_its_commands_and_figures(recipe: AnswersRecipe) -> None:
    trials = [Trial(recipe, aim.answers, noise=aim.noise) for aim in recipe.expect]
    expected = [(trial.command.removesuffix(" --seed 0"), recipe.aim(trial.answers, trial.noise)) for trial in trials]
    assert [(command, float(aim.removesuffix(" or more"))) for command, aim in opening(recipe, "  expect ")] == expected
    assert {aim.answers for aim in recipe.expect} <= set(recipe.answers)


@pytest.mark.parametrize("recipe", PEERS.values(), ids=lambda recipe: recipe.dataset)
def test_a_peers_recipe_opens_with_its_commands_and_the_peers_figures(recipe: AnswersRecipe) -> None:
    commands = [Trial(recipe, answers).command.removesuffix(" --seed 0") for answers in recipe.answers]
    figures = [f"{figure:g}" for figure in recipe.published["SpherePair"].values()]
    assert opening(recipe, "  SpherePair has ") == list(zip(commands, figures, strict=True))
    assert all(tuple(published) == recipe.answers for published in recipe.published.values())


def test_photos_have_their_classes_and_aims_with_wrong_answers() -> None:
    photos = RECIPES["photos"]
    assert [photos.aim(1000, 0.05), photos.aim(3000, 0.05), photos.aim(3000, 0.1)] == [87.0, 88.5, None]
    with pytest.raises(InputError, match="--answers must be 30 or more, got 29: there are 30 classes"):
        select_trials("photos", [29])


def test_the_recipes_numbers_unless_others_are_given() -> None:
    numbers = [200, 500, 1000, 2000, 5000, 20000]
    assert [trial.answers for trial in select_trials("digits")] == numbers
    assert [trial.answers for trial in select_trials("mnist")] == numbers
    assert [trial.answers for trial in select_trials("mnist", [50, 10, 50])] == [10, 50]


def test_names_tell_trials_apart() -> None:
    noisy = [(noise, model) for noise in (0.1, 0.2) for model in ("none", "given", "learned")]
    trials = [
        *select_trials("digits"),
        *select_trials("digits", seed=1),
        *select_trials("digits", epochs=3),
        *select_trials("mnist"),
        *select_trials("digits", model="learned"),
        *(trial for noise, model in noisy for trial in select_trials("digits", noise=noise, model=model)),
    ]
    assert len({trial.name for trial in trials}) == len(trials) == 6 * 11


@pytest.mark.parametrize(
    "trial",
    [
        Trial(RECIPES["digits"], 500),
        Trial(RECIPES["mnist"], 70, seed=3, epochs=2),
        Trial(RECIPES["digits"], 500, noise=0.2),
        Trial(RECIPES["digits"], 500, noise=0.2, model="given"),
        Trial(RECIPES["digits"], 500, model="learned"),
        Trial(RECIPES["photos"], 3000, noise=0.05, seed=1),
        Trial(PEERS["fashion-mnist"], 5000, seed=4),
    ],
    ids=lambda trial: trial.name,
)
def test_the_command_of_a_trial_selects_it_alone(trial: Trial) -> None:
    words = shlex.split(trial.command)
    assert words[:2] == ["likewise", "paper"]
    given = dict(zip((word.removeprefix("--") for word in words[3::2]), words[4::2], strict=True))
    epochs = int(given["epochs"]) if "epochs" in given else None
    selected = select_trials(
        given["dataset"],
        [int(given["answers"])],
        table=words[2],
        noise=float(given.get("noise", 0)),
        model=given.get("model", "none"),
        seed=int(given["seed"]),
        epochs=epochs,
    )
    assert selected == [trial]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dataset": "cifar10"}, ["--dataset cifar10", "digits, mnist, photos"]),
        ({"answers": [500, 9]}, ["--answers must be 10 or more, got 9"]),
        ({"noise": 0.5}, ["--noise must be at least 0 and below 0.5, got 0.5"]),
        ({"noise": -0.1}, ["--noise", "got -0.1"]),
        ({"noise": float("nan")}, ["--noise", "got nan"]),
        ({"model": "known"}, ["--model known", "none, given, learned"]),
        ({"model": "given"}, ["--model given needs --noise above 0"]),
        ({"seed": -1}, ["--seed", "got -1"]),
        ({"epochs": 0}, ["--epochs", "got 0"]),
    ],
)
def test_what_cannot_be_tried_is_refused(given: dict[str, object], words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        select_trials(**{"dataset": "digits", **given})
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize("recipe", FALLIBLE.values(), ids=lambda recipe: recipe.dataset)
def test_a_recipe_of_fallible_answers_opens_with_its_commands_and_figures(recipe: AnswersRecipe) -> None:
    trials = [Trial(recipe, aim.answers, noise=aim.noise, panel=aim.panel) for aim in recipe.expect]
    figures = [
        f"{aim.accuracy:g} or more" if aim.accuracy else f"law's less {aim.below_law:g}" for aim in recipe.expect
    ]
    commands = [trial.command.removesuffix(" --seed 0") for trial in trials]
    opened = [(command, figure) for command, figure in opening(recipe, "  expect ") if figure]
    assert opened == list(zip(commands, figures, strict=True))
    assert all(aim.aim >= aim.accuracy for aim in recipe.expect if aim.aim is not None and aim.accuracy is not None)
    assert all((aim.accuracy is None) == (aim.noise == 0 and not aim.panel) for aim in recipe.expect)
    assert all(recipe.panels[aim.panel].answers == aim.answers for aim in recipe.expect if aim.panel)


@pytest.mark.parametrize("recipe", EXPERTS.values(), ids=lambda recipe: recipe.dataset)
def test_a_recipe_of_experts_opens_with_its_commands_and_the_peers_figures(recipe: AnswersRecipe) -> None:
    published = recipe.published["ECI-PP"]
    commands = [Trial(recipe, 9000, experts=experts).command.removesuffix(" --seed 0") for experts in published]
    figures = [f"{figures[-1]:g}" for figures in published.values()]
    assert opening(recipe, "  ECI-PP has ") == list(zip(commands, figures, strict=True))
    assert all(figures.keys() == published.keys() for figures in recipe.published.values())


def test_fallible_trials_are_those_with_a_figure_in_all_models() -> None:
    digits = select_noise_trials("digits", seed=2)
    assert len({trial.name for trial in digits}) == len(digits) == 7 * len(ABLATION)
    assert {trial.panel for trial in digits} == {"", "one-random"}
    assert [trial.noise for trial in select_noise_trials("digits", answers=5000, model="none")] == [0.1, 0.2, 0]
    assert {trial.panel for trial in select_noise_trials("digits", noise=0)} == {""}
    (coverage,) = select_noise_trials("digits", panel="unequal", model="none", seed=107)
    assert coverage.name == "digits-4000answers-unequal-none-seed107"
    assert coverage.command == "likewise paper noise --dataset digits --panel unequal --model none --seed 107"
    assert [(each.false_different, each.false_same) for each in coverage.annotators][1] == (0.25, 0.05)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dataset": "cifar10"}, ["--dataset cifar10", "digits, mnist, photos"]),
        ({"dataset": "photos", "panel": "unequal"}, ["--panel unequal", "this one has none"]),
        ({"dataset": "digits", "panel": "three"}, ["--panel three", "one-random, unequal"]),
        ({"dataset": "digits", "noise": 0.3}, ["5000 answers, 0.1", "3000 answers, one-random"]),
        ({"dataset": "digits", "seed": -1}, ["--seed", "got -1"]),
    ],
)
def test_fallible_trials_that_there_are_not_are_refused(given: dict[str, object], words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        select_noise_trials(**given)  # type: ignore[arg-type]
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dataset": "digits", "experts": 1}, ["--dataset digits", "fashion-mnist, mnist"]),
        ({"dataset": "mnist", "experts": 11}, ["--experts must be from 1 to 10", "got 11"]),
        ({"dataset": "mnist", "experts": 1, "seed": -1}, ["--seed", "got -1"]),
    ],
)
def test_experts_that_there_are_not_are_refused(given: dict[str, object], words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        select_expert_trials(**given)  # type: ignore[arg-type]
    assert all(word in str(error.value) for word in words)
