"""Checkpoints with anything done to them: what was written comes back, or nothing does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from torch import nn

from likewise.training import Settings
from likewise.training.checkpoint import State, Tally, load_checkpoint, restore_previous, save_checkpoint
from likewise.training.optimizers import build_optimizer

fuzz = settings(settings.get_profile("fuzz"))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint, beside a copy of it."""
    made = tmp_path_factory.mktemp("run") / "checkpoint.safetensors"
    network = nn.Linear(3, 2)
    nn.init.ones_(network.weight)
    optimizer = build_optimizer(network, Settings(), torch.device("cpu"))
    network(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = State(Tally(2, 1.5, 3, torch.ones(2, 2, dtype=torch.int64)), epoch=1, history=[{"epoch": 1, "loss": 0.5}])
    save_checkpoint(made, state, network, optimizer, {"a": 1})
    made.with_name("sound").write_bytes(made.read_bytes())
    return made


def loaded(path: Path) -> tuple[object, ...]:
    network = nn.Linear(3, 2)
    optimizer = build_optimizer(network, Settings(), torch.device("cpu"))
    state = load_checkpoint(path, network, optimizer, {"a": 1}, 2)
    moments = [value.tolist() for one in optimizer.state.values() for value in one.values()]
    return network.weight.tolist(), moments, state.epoch, state.step, state.history, state.tally.confusion.tolist()


@fuzz
@given(data=st.data())
def test_checkpoint(
    data: st.DataObject,
    path: Path,
    damaged: Callable[[bytes], SearchStrategy[bytes]],
    sound_or_refused: Callable[[], AbstractContextManager[None]],
) -> None:
    sound = path.with_name("sound")
    path.write_bytes(data.draw(damaged(sound.read_bytes())))
    with sound_or_refused():
        assert restore_previous(path)
        assert loaded(path) == loaded(sound)
