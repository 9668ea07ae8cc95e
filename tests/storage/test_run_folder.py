"""A run's folder: its history and weights, and one process at a time."""

from __future__ import annotations

import math
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from likewise.errors import InputError
from likewise.storage.atomic_files import write_atomically
from likewise.storage.run_folder import lock_folder, write_history, write_model


def test_history_keeps_every_digit_and_every_column(tmp_path: Path) -> None:
    write_history(tmp_path / "h.csv", [{"epoch": 1, "loss": 0.1 + 0.2}, {"epoch": 2, "loss": 1e-300, "test": math.nan}])
    lines = (tmp_path / "h.csv").read_bytes().decode().split("\n")
    assert lines == ["epoch,loss,test", "1,0.30000000000000004,", "2,1e-300,nan", ""]


class Tied(nn.Module):
    """Two names for one weight, and one weight in channels_last order."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.one = nn.Linear(4, 4)
        self.other = self.one


def test_shared_and_channels_last_weights_survive(tmp_path: Path) -> None:
    network = Tied()
    write_model(tmp_path / "m.safetensors", network)
    weights = load_file(tmp_path / "m.safetensors")
    assert weights.keys() == network.state_dict().keys()
    assert all(torch.equal(weights[name], value) for name, value in network.state_dict().items())
    plain_mode = stat.S_IMODE((tmp_path / "m.safetensors").stat().st_mode)
    write_atomically(tmp_path / "x", "")
    assert plain_mode == stat.S_IMODE((tmp_path / "x").stat().st_mode)


class Odd(nn.Module):
    def get_extra_state(self) -> str:
        return "text"


def test_a_state_that_is_no_tensor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="_extra_state is a str"):
        write_model(tmp_path / "m.safetensors", Odd())


def test_a_run_folder_is_for_one_process_at_a_time(tmp_path: Path) -> None:
    ask = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with lock_folder(tmp_path / "run"):
        other = subprocess.run([sys.executable, "-c", ask, str(tmp_path / "run")], capture_output=True)
        assert b"BlockingIOError" in other.stderr
        with pytest.raises(InputError, match="in use by another process"), lock_folder(tmp_path / "run"):
            pass
    with lock_folder(tmp_path / "run"):
        pass


def test_a_file_is_no_run_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    for path in (tmp_path / "run", tmp_path / "run" / "inside"):
        with pytest.raises(InputError, match="is a file"), lock_folder(path):
            pass
