"""One file that brings back weights, optimizer and place exactly, and refuses what it cannot be sure of."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn
from torch.optim import Optimizer

from likewise.errors import InputError
from likewise.training import Settings
from likewise.training.checkpoint import (
    State,
    Tally,
    _checksum,
    load_checkpoint,
    previous,
    restore_previous,
    save_checkpoint,
)
from likewise.training.optimizers import OF_SETTINGS, build_optimizer, optimizer_tensors
from likewise.training.settings import Optimizer as Name

ABOUT = {"settings": dataclasses.asdict(Settings(epochs=3, drops=(1, 2))), "n_classes": 2, "optimizer": OF_SETTINGS}


def network() -> nn.Sequential:
    """A convolution in channels_last order, batch-norm, a frozen weight, and one weight that never gets a gradient."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(16, 4), nn.Linear(4, 2))
    net[3].requires_grad_(False)
    net.register_parameter("unused", nn.Parameter(torch.ones(2)))
    return net.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def trained(name: Name, steps: int = 2) -> tuple[nn.Module, Optimizer]:
    net = network()
    optimizer = build_optimizer(net, Settings(optimizer=name, learning_rate=0.01), torch.device("cpu"))
    step(net, optimizer, steps)
    return net, optimizer


def step(net: nn.Module, optimizer: Optimizer, steps: int) -> None:
    inputs = torch.linspace(-1, 1, 5 * 48).view(5, 3, 4, 4).contiguous(memory_format=torch.channels_last)
    for _ in range(steps):
        optimizer.zero_grad()
        net(inputs).square().sum().backward()
        optimizer.step()


def state() -> State:
    tally = Tally(2, 1 / 3, 7, torch.tensor([[1, 2], [3, 4], [5, 6]]))
    history = [{"epoch": 1, "loss": 0.1 + 0.2, "nmi": math.inf}]
    return State(tally, epoch=1, step=2, items=20, history=history, seconds=1.25, cpu_seconds=2.5)


def saved(folder: Path, name: Name = "adam") -> Path:
    net, optimizer = trained(name)
    save_checkpoint(folder / "c.safetensors", state(), net, optimizer, ABOUT)
    return folder / "c.safetensors"


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_training_goes_on_as_if_nothing_had_been(tmp_path: Path, name: Name) -> None:
    path = saved(tmp_path, name)
    expected_net, expected = trained(name, steps=5)
    net, optimizer = trained(name, steps=1)  # with a state of its own that must go
    load_checkpoint(path, net, optimizer, ABOUT, 2)
    assert net[0].weight.is_contiguous(memory_format=torch.channels_last)  # type: ignore[index]
    step(net, optimizer, 3)
    for parameter, other in zip(net.state_dict().items(), expected_net.state_dict().items(), strict=True):
        assert parameter[0] == other[0]
        assert torch.equal(parameter[1], other[1])
    tensors, others = optimizer_tensors(optimizer), optimizer_tensors(expected)
    assert tensors.keys() == others.keys()
    assert tensors
    for key, tensor in tensors.items():
        assert torch.equal(tensor, others[key])
        assert tensor.stride() == others[key].stride()
        assert tensor.dtype == others[key].dtype


def test_the_place_is_brought_back(tmp_path: Path) -> None:
    net, optimizer = trained("adam", 0)
    loaded, expected = load_checkpoint(saved(tmp_path), net, optimizer, ABOUT, 2), state()
    for name in ("epoch", "step", "items", "history", "seconds", "cpu_seconds"):
        assert getattr(loaded, name) == getattr(expected, name)
    assert (loaded.tally.loss_sum, loaded.tally.items) == (1 / 3, 7)
    assert torch.equal(loaded.tally.confusion, expected.tally.confusion)
    loaded.tally.add(0.0, torch.eye(3), torch.tensor([0, 1, 1]))  # it can be written to


def rewritten(path: Path, change: dict[str, Any]) -> None:
    """The same file with other facts, and the checksum of the first version, which does not cover them."""
    tensors = load_file(path)
    with safe_open(path, "pt") as file:
        facts = json.loads(file.metadata()["likewise"])
    facts |= {"checksum": _checksum(tensors)} | change
    save_file(tensors, path, {"likewise": json.dumps(facts)})


def damages(content: bytes) -> dict[str, bytes]:
    """The ways in which a file may come back from a disk."""
    found = {"empty": b"", "rubbish": b"x" * 2000, "zeros": bytes(len(content)), "longer": content + b"x"}
    for length in (5, 100, len(content) // 2, len(content) - 1):
        found[f"cut to {length}"] = content[:length]
    return found | {f"flipped at {place}": flipped(content, place) for place in range(0, len(content), 97)}


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def test_damage_is_refused_in_one_sentence_and_nothing_is_loaded(tmp_path: Path) -> None:
    path = saved(tmp_path)
    net, optimizer = trained("adam", 0)
    before = [value.clone() for value in net.state_dict().values()]
    for damaged in damages(path.read_bytes()).values():
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"c\.safetensors is damaged \(.*\); delete it to begin the run again\.$"):
            load_checkpoint(path, net, optimizer, ABOUT, 2)
        with pytest.raises(InputError, match=r"c\.safetensors is damaged \(.*\); delete it to begin the run again\.$"):
            restore_previous(path)
    assert all(torch.equal(a, b) for a, b in zip(net.state_dict().values(), before, strict=True))
    assert not optimizer_tensors(optimizer)


def test_every_flipped_bit_of_the_facts_is_seen(tmp_path: Path) -> None:
    path = saved(tmp_path)
    content = path.read_bytes()
    start, end = content.index(b"__metadata__"), content.index(b"network.")
    for place in range(start, end):
        path.write_bytes(flipped(content, place))
        with pytest.raises(InputError, match="is damaged"):
            restore_previous(path)


def test_the_one_before_is_kept_and_takes_the_place_of_a_damaged_one(tmp_path: Path) -> None:
    path = saved(tmp_path)
    first = path.read_bytes()
    assert restore_previous(path)
    assert not previous(path).exists()
    net, optimizer = trained("adam", 3)
    save_checkpoint(path, dataclasses.replace(state(), epoch=2), net, optimizer, ABOUT)
    assert previous(path).read_bytes() == first
    second = path.read_bytes()
    for damaged in (b"", second[:-1], flipped(second, len(second) - 9)):
        path.write_bytes(damaged)
        previous(path).write_bytes(first)
        with pytest.warns(
            UserWarning, match=r"c\.safetensors is damaged .*; the run resumes from the checkpoint before"
        ):
            assert restore_previous(path)
        assert (path.read_bytes(), previous(path).exists()) == (first, False)
        assert load_checkpoint(path, net, optimizer, ABOUT, 2).epoch == 1


def test_a_kill_between_two_renames_is_nothing_to_speak_of(tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.rename(previous(path))
    assert restore_previous(path)
    assert load_checkpoint(path, *trained("adam", 0), ABOUT, 2).epoch == 1
    path.unlink()
    assert not restore_previous(path)


def test_two_damaged_ones_are_named(tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.write_bytes(b"")
    previous(path).write_bytes(b"")
    with pytest.raises(
        InputError, match=r"c\.safetensors is damaged .* and .*c\.previous\.safetensors is damaged .*both to"
    ):
        restore_previous(path)
    assert path.exists()
    assert previous(path).exists()


def test_checkpoints_of_the_first_version_are_read(tmp_path: Path) -> None:
    path = saved(tmp_path)
    rewritten(path, {"version": 1})
    assert restore_previous(path)
    assert load_checkpoint(path, *trained("adam", 0), ABOUT, 2).epoch == 1
    content = path.read_bytes()
    path.write_bytes(flipped(content, len(content) - 9))
    with pytest.raises(InputError, match="its checksum does not fit"):
        restore_previous(path)


def test_a_safetensors_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "c.safetensors")
    with pytest.raises(InputError, match=r"is damaged \(it cannot be read: 'likewise'\)"):
        load_checkpoint(tmp_path / "c.safetensors", *trained("adam", 0), ABOUT, 2)


def test_another_version_and_other_settings_are_named(tmp_path: Path) -> None:
    path = saved(tmp_path)
    about = {"settings": {"epochs": 4, "drops": (1, 2)}, "n_classes": 2}
    with pytest.raises(InputError, match=r"with settings\.epochs = 3, now it is 4; use another run folder\.$"):
        load_checkpoint(path, *trained("adam", 0), about, 2)
    rewritten(path, {"version": 99})
    with pytest.raises(InputError, match="has format version 99, not 2"):
        load_checkpoint(path, *trained("adam", 0), ABOUT, 2)


def test_another_network_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path)
    wider = nn.Sequential(*list(network())[:4], nn.Linear(4, 3))
    wider.register_parameter("unused", nn.Parameter(torch.ones(2)))
    optimizer = build_optimizer(wider, Settings(), torch.device("cpu"))
    with pytest.raises(InputError, match=r"4\.weight has shape \[2, 4\] there and \[3, 4\] here"):
        load_checkpoint(path, wider, optimizer, ABOUT, 2)
    with pytest.raises(InputError, match="holds another network"):
        load_checkpoint(path, nn.Linear(2, 2), optimizer, ABOUT, 2)


def test_nothing_to_train_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to train"):
        build_optimizer(nn.Linear(2, 2).requires_grad_(False), Settings(), torch.device("cpu"))


def test_sums_equal_a_plain_loop_over_items() -> None:
    generator = torch.Generator().manual_seed(0)
    tally, expected, losses = Tally(n_classes=3), np.zeros((5, 3), dtype=np.int64), []
    for size in (7, 4, 1):
        logits = torch.randn(size, 5, generator=generator)
        labels = torch.randint(-1, 3, (size,), generator=generator)
        loss = float(torch.rand((), generator=generator))
        tally.add(loss, logits, labels)
        losses += [loss] * size
        for row, label in zip(logits.tolist(), labels.tolist(), strict=True):
            if label >= 0:
                expected[row.index(max(row)), label] += 1
    assert np.array_equal(tally.confusion.numpy(), expected)
    assert tally.loss == pytest.approx(sum(losses) / 12, rel=1e-14)
    assert tally.items == 12


def test_accuracy_is_of_the_best_matching() -> None:
    tally = Tally(n_classes=2)
    tally.add(0.0, torch.eye(3)[[2, 2, 2, 0]], torch.tensor([0, 0, 1, 1]))  # output 2 is class 0, output 0 is class 1
    assert tally.accuracy() == 0.75


def test_without_known_classes_there_is_no_accuracy() -> None:
    unknown, none = Tally(n_classes=2), Tally(n_classes=0)
    for tally in (unknown, none):
        tally.add(1.0, torch.eye(3), torch.tensor([-1, -1, -1]))
        assert math.isnan(tally.accuracy())
    assert unknown.confusion.shape == (3, 2)
    assert none.confusion.shape == (3, 0)


def test_a_label_outside_the_classes_is_refused() -> None:
    with pytest.raises(InputError, match="Label 2 is outside the 2 classes"):
        Tally(n_classes=2).add(0.0, torch.eye(2), torch.tensor([0, 2]))
