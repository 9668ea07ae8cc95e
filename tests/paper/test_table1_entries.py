"""Entries: which a filter selects, what it refuses, and how a schedule is compressed."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import InputError
from likewise.paper.recipe import compress
from likewise.paper.table1_entries import Entry, recipes, select

TABLE = recipes("table1")


def test_no_filter_selects_the_whole_table() -> None:
    entries = select(TABLE)
    assert len(entries) == 10 * 3 + 4
    assert len({entry.name for entry in entries}) == len(entries)
    assert [entry.name for entry in entries[:4]] == [
        "mnist-lenet-ce-seed0-30ep",
        "mnist-lenet-kcl-seed0-30ep",
        "mnist-lenet-mcl-seed0-30ep",
        "cifar10-lenet-ce-seed0-140ep",
    ]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"dataset": "mnist", "criterion": "mcl"}, ["mnist-lenet-mcl-seed3-30ep"]),
        ({"network": "vgg8", "criterion": "ce"}, ["cifar10-vgg8-ce-seed3-140ep", "cifar100-vgg8-ce-seed3-180ep"]),
        ({"network": "vgg11", "treatment": "long"}, ["cifar10-vgg11-kcl-long-seed3-1400ep"]),
        ({"network": "vgg11", "criterion": "kcl", "treatment": "none"}, ["cifar10-vgg11-kcl-seed3-140ep"]),
        (
            {"treatment": "pretrain"},
            ["cifar10-vgg16-kcl-pretrain-seed3-140ep", "cifar100-vgg8-kcl-pretrain-seed3-180ep"],
        ),
    ],
)
def test_filters(filters: dict[str, str], names: list[str]) -> None:
    assert [entry.name for entry in select(TABLE, seed=3, **filters)] == names


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"dataset": "cifar"}, ["--dataset cifar ", "mnist, cifar10, cifar100"]),
        ({"network": "vgg"}, ["--network vgg ", "lenet, vgg8, vgg11, vgg16, resnet18"]),
        ({"criterion": "MCL"}, ["--criterion MCL ", "ce, kcl, mcl"]),
        ({"treatment": "longer"}, ["--treatment longer ", "none, long, pretrain"]),
        ({"dataset": "mnist", "network": "vgg8"}, ["--dataset mnist with --network vgg8", "cifar100 vgg8"]),
        ({"criterion": "mcl", "treatment": "long"}, ["--treatment long with --criterion mcl", "kcl on cifar10 vgg11"]),
        ({"network": "vgg8", "treatment": "long"}, ["--treatment long with --network vgg8", "cifar10 vgg16"]),
        ({"epochs": 0}, ["--epochs", "got 0"]),
        ({"seed": -1}, ["--seed", "got -1"]),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(filters: dict[str, object], words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        select(TABLE, **filters)
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize("epochs", [None, 8])
def test_the_command_of_an_entry_selects_it_alone(epochs: int | None) -> None:
    for entry in select(TABLE, seed=2, epochs=epochs):
        words = shlex.split(entry.command)
        assert words[:3] == ["likewise", "paper", "table1"]
        options = dict(zip((word.removeprefix("--") for word in words[3::2]), words[4::2], strict=True))
        given = {**options, **{name: int(options[name]) for name in ("seed", "epochs") if name in options}}
        assert select(TABLE, **given) == [entry]


def test_treatments_change_error_and_settings() -> None:
    plain, long, pretrain = (Entry(TABLE[4], "kcl", name) for name in ("none", "long", "pretrain"))
    assert [entry.paper_error for entry in (plain, long, pretrain)] == [81.1, 76.8, 10.3]
    assert (long.settings.optimizer, long.settings.learning_rate, long.settings.epochs) == ("sgd", 0.2, 1400)
    assert pretrain.settings == plain.settings
    assert [entry.pretrain_labels for entry in (plain, long, pretrain)] == [0, 0, 4000]


def test_a_compressed_entry_keeps_everything_but_the_schedule() -> None:
    settings = Entry(TABLE[5], "mcl", seed=4, epochs=14).settings
    assert (settings.epochs, settings.drops, settings.seed) == (14, (8, 12), 4)
    assert (settings.optimizer, settings.learning_rate, settings.batch_size) == ("sgd", 0.1, 100)


@pytest.mark.parametrize(
    ("drops", "epochs", "to", "expected"),
    [
        ((80, 120), 140, 140, (80, 120)),
        ((80, 120), 140, 70, (40, 60)),
        ((80, 120), 140, 8, (5, 7)),
        ((80, 120), 140, 4, (2, 3)),
        ((80, 120), 140, 1, ()),
        ((100, 150), 180, 3, (1, 2)),  # in proportion 2 and 3: the last epoch of a run has its own rate
        ((10, 20), 30, 60, (20, 40)),
        ((), 30, 5, ()),
    ],
)
def test_compress(drops: tuple[int, ...], epochs: int, to: int, expected: tuple[int, ...]) -> None:
    assert compress(drops, epochs, to) == expected


@given(st.sets(st.integers(1, 99), max_size=5).map(sorted), st.integers(1, 120))
def test_compressed_drops_are_apart_and_within_the_run(drops: list[int], to: int) -> None:
    placed = compress(drops, 100, to)
    assert len(placed) == min(len(drops), to - 1)
    assert all(0 < drop < to for drop in placed)
    assert list(placed) == sorted(set(placed))
