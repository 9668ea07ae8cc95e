"""All commands alike: help for every option, choices that are listed and completed, one word for one thing."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from likewise.cli import app, data, options
from likewise.clustering import METHODS
from likewise.clustering.constraints import Contradictions
from likewise.datasets import NAMES as DATASETS
from likewise.datasets.download import HOMES
from likewise.networks import NAMES as NETWORKS
from likewise.paper.ablation import EPOCHS, OPTIONS, PLAIN
from likewise.paper.answers_trials import MODELS, NOISE_MODELS, answers_recipes
from likewise.paper.table1_entries import CRITERIA, recipes
from likewise.paper.table4_entries import semi_recipes
from likewise.paper.transfer_entries import TABLE3, transfer_recipes
from likewise.supervision.semi import METHODS as SEMI_METHODS
from likewise.training.settings import Precision


class Parameter(NamedTuple):
    command: str
    name: str  # as it is typed, such as --batch-size
    kind: Any  # without "or None", and without "a list of"
    info: Any  # what was given to typer


def commands(group: typer.Typer = app, path: str = "") -> Iterator[tuple[str, Any]]:
    for command in group.registered_commands:
        yield f"{path}{command.name or command.callback.__name__}", command.callback
    for inner in group.registered_groups:
        yield from commands(inner.typer_instance, f"{path}{inner.name} ")


def parameters() -> Iterator[Parameter]:
    for command, function in commands():
        for name, hint in get_type_hints(function, include_extras=True).items():
            if name == "return":
                continue
            assert get_origin(hint) is Annotated, f"{command}: {name} says nothing of itself"
            kind, info = get_args(hint)
            declared = [given for given in getattr(info, "param_decls", None) or () if given.startswith("--")]
            is_option = type(info).__name__ == "OptionInfo"
            typed = declared[0] if declared else f"--{name.replace('_', '-')}" if is_option else name.upper()
            yield Parameter(command, typed.split("/")[0], _plain(kind), info)


def _plain(kind: Any) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        (kind,) = (each for each in get_args(kind) if each is not type(None))
    return get_args(kind)[0] if get_origin(kind) is list else kind


EVERY = list(parameters())
COMMANDS = [command for command, _ in commands()]


@cache
def help_of(command: str, flag: str = "-h") -> str:
    result = CliRunner().invoke(app, [*command.split(), flag], terminal_width=200)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


@pytest.mark.parametrize("command", ["", "answers", "data", "bench", "paper", "fit", "paper table1"])
def test_both_words_for_help_work(command: str) -> None:
    assert help_of(command, "-h") == help_of(command, "--help")


@pytest.mark.parametrize("group", ["", "answers", "data", "bench", "paper"])
def test_what_a_command_does_fits_in_its_line(group: str) -> None:
    result = CliRunner().invoke(app, [*group.split(), "-h"], env={"COLUMNS": "80"})
    listed = result.stdout.partition("Commands:\n")[2].splitlines()
    assert listed
    assert [line for line in listed if line.endswith("...") or not line[2:].strip()] == []


def test_every_option_has_help() -> None:
    for each in EVERY:
        assert each.info.help, f"{each.command}: {each.name}"
        assert each.info.help.endswith("."), f"{each.command}: {each.name}"


@pytest.mark.parametrize("command", ["fit", "semi", "discover"])
def test_options_are_listed_in_groups_and_each_once(command: str) -> None:
    shown: dict[str, list[str]] = {}
    for line in help_of(command).splitlines():
        if line.endswith(":") and not line.startswith(" "):
            shown[line] = []
        elif line.startswith("  -"):
            shown[[*shown][-1]].append(line.split()[0].rstrip(","))
    assert [*shown][-4:] == ["Options:", "Items:", "Learning:", "Machine:"]
    assert {"--out", "-h"} <= {*shown["Options:"]}
    assert "--size" in shown["Items:"]
    assert "--seed" in shown["Learning:"]
    assert "--device" in shown["Machine:"]
    listed = [name for names in shown.values() for name in names]
    own = {each.name for each in EVERY if each.command == command and each.name.startswith("--")}
    assert sorted(name for name in listed if name != "-h") == sorted(own)


def test_choices_are_listed_in_the_help() -> None:
    choices = [each for each in EVERY if get_origin(each.kind) is Literal]
    assert {"--method", "--network", "--contradictions", "--criterion", "--dataset"} <= {each.name for each in choices}
    for each in choices:
        shown = help_of(each.command)
        assert all(choice in shown for choice in get_args(each.kind)), f"{each.command}: {each.name}"


def test_a_name_is_chosen_and_not_typed_freely() -> None:
    """What is text is a pattern that its metavar shows, or an address."""
    for each in EVERY:
        if each.kind is str and each.name != "--mirror":
            assert each.info.metavar, f"{each.command}: {each.name}"


def test_one_option_is_one_thing() -> None:
    """The same name has the same type, and its help begins with the same words; a choice and a pattern are text."""
    found = defaultdict(list)
    for each in EVERY:
        found[each.name].append(each)
    for name, uses in found.items():
        kinds = {"text" if get_origin(each.kind) is Literal or each.kind is str else each.kind for each in uses}
        if name == "--classes":  # the paper's tables have the words "true" and "100" for how many there are
            kinds.discard("text")
        if name == "--noise":  # a rate, or the word "learn"
            kinds.discard("text")
        assert len(kinds) == 1, f"{name}: {[(each.command, each.kind) for each in uses]}"
        begin = {" ".join(each.info.help.split()[:2]).rstrip(";:.,") for each in uses}
        assert len(begin) == 1, f"{name}: {[(each.command, each.info.help) for each in uses]}"


@pytest.mark.parametrize(
    ("names", "known"),
    [
        (options.NetworkName, NETWORKS),
        (options.DatasetName, DATASETS),
        (options.SemiMethod, SEMI_METHODS),
        (options.ClusterMethod, METHODS),
        (options.AblationOption, (*PLAIN, *OPTIONS)),
        (data.DownloadName, HOMES),
    ],
)
def test_names_are_those_of_the_rooms(names: Any, known: Any) -> None:
    assert get_args(names) == tuple(known)


@pytest.mark.parametrize(
    ("command", "name", "known"),
    [
        ("cluster", "--contradictions", get_args(Contradictions)),
        ("fit", "--precision", get_args(Precision)),
        ("paper table1", "--dataset", {recipe.dataset for recipe in recipes("table1")}),
        ("paper table1", "--network", {recipe.network for recipe in recipes("table1")}),
        ("paper table1", "--criterion", CRITERIA),
        ("paper table1", "--treatment", {"none"} | {name for one in recipes("table1") for name in one.treatment}),
        ("paper table2", "--recipe", {recipe.name for recipe in transfer_recipes()}),
        ("paper table2", "--method", {name for recipe in transfer_recipes() for name in recipe.methods}),
        ("paper table3", "--recipe", {recipe.name for recipe in transfer_recipes(TABLE3)}),
        ("paper table3", "--method", {name for recipe in transfer_recipes(TABLE3) for name in recipe.methods}),
        ("paper table4", "--dataset", {recipe.dataset for recipe in semi_recipes()}),
        ("paper table4", "--network", {recipe.network for recipe in semi_recipes()}),
        ("paper ablation", "--dataset", {dataset for dataset, _ in EPOCHS}),
        ("paper ablation", "--network", {network for _, network in EPOCHS}),
        ("paper answers", "--dataset", answers_recipes()),
        ("paper answers", "--model", MODELS),
        ("paper spherepair", "--dataset", answers_recipes("spherepair")),
        ("paper noise", "--dataset", answers_recipes("noise")),
        ("paper noise", "--panel", {name for recipe in answers_recipes("noise").values() for name in recipe.panels}),
        ("paper noise", "--model", NOISE_MODELS),
        ("paper eci-pp", "--dataset", answers_recipes("eci-pp")),
        ("paper eci-pp", "--model", NOISE_MODELS),
    ],
)
def test_choices_are_all_there_are(command: str, name: str, known: Any) -> None:
    (chosen,) = (each for each in EVERY if (each.command, each.name) == (command, name))
    assert set(get_args(chosen.kind)) == set(known)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lern",), "No such command 'lern'."),
        (("fit", "--klasses", "3"), "No such option: --klasses"),
        (("fit", "items.csv"), "Missing option '--pairs'. See likewise fit --help."),
        (("paper", "table1", "--epochs", "0"), ". See likewise paper table1 --help."),
        (("semi", "x", "--labels", "y", "--out", "z", "--method", "magic"), "'magic' is not one of 'supervised', 'pse"),
        (("cluster", "x", "--method", "magic", "--out", "y.csv"), "'magic' is not one of 'k-means', 'cop-k-means', "),
        (("bench", "clustering", "--method", "magic"), "'magic' is not one of 'k-means', 'cop-k-means', "),
        (
            ("fit", "x", "--pairs", "y", "--classes", "3", "--out", "z", "--device", "gpu"),
            "'gpu' is not one of auto, c",
        ),
        (("paper", "table1", "--criterion", "nll"), "'nll' is not one of 'ce', 'kcl', 'mcl'"),
    ],
)
def test_a_wrong_word_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(app, [*arguments], prog_name="likewise")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("likewise: ")
    assert said in line
    assert line.endswith("--help.")


def test_a_shell_completes_commands_options_and_choices_without_torch() -> None:
    script = (
        "import sys\nfrom likewise.cli import app\ntry:\n    app(prog_name='likewise')\n"
        "finally:\n    assert not {'torch', 'numpy'} & set(sys.modules)"
    )

    def completed(*words: str) -> list[str]:
        asked = {
            "_LIKEWISE_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": f"{len(words) - 1}",
        }
        ran = subprocess.run(
            [sys.executable, "-c", script], env=os.environ | asked, capture_output=True, text=True, check=False
        )
        assert ran.stderr == ""
        return ran.stdout.split()

    assert completed("likewise", "di") == ["discover"]
    assert completed("likewise", "semi", "--method", "pseudo") == ["pseudo-label", "pseudo-mcl", "pseudo-mcl+"]
    assert completed("likewise", "fit", "--device", "c") == ["cpu", "cuda"]
    assert "--batch-size" in completed("likewise", "predict", "--b")


def test_completion_can_be_installed() -> None:
    assert {"--install-completion", "--show-completion"} <= set(help_of("").split())
