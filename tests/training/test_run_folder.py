"""Files that appear whole or not at all, and values as JSON has them."""

from __future__ import annotations

import json
import math
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from likewise.errors import InputError
from likewise.files import write_whole
from likewise.training import write_json
from likewise.training.run_folder import (
    first_difference,
    read_json,
    reserved,
    write_history,
    write_model,
)


def test_json_is_plain(tmp_path: Path) -> None:
    value = {"n": np.int64(3), "f": np.float32(0.5), "a": np.arange(2), "t": (1, 2), "p": Path("x"), "nan": math.nan}
    write_json(tmp_path / "deep" / "v.json", value | {"inf": [-math.inf], "é": True, "none": None})
    expected = {
        "n": 3,
        "f": 0.5,
        "a": [0, 1],
        "t": [1, 2],
        "p": "x",
        "nan": None,
        "inf": [None],
        "é": True,
        "none": None,
    }
    assert json.loads((tmp_path / "deep" / "v.json").read_text("utf-8")) == expected
    with pytest.raises(InputError, match="A set cannot be written to JSON"):
        write_json(tmp_path / "w.json", {"a": {1}})
    assert not (tmp_path / "w.json").exists()


def test_damaged_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json is not JSON"):
        read_json(tmp_path / "config.json")


def test_history_keeps_every_digit_and_every_column(tmp_path: Path) -> None:
    write_history(tmp_path / "h.csv", [{"epoch": 1, "loss": 0.1 + 0.2}, {"epoch": 2, "loss": 1e-300, "test": math.nan}])
    lines = (tmp_path / "h.csv").read_bytes().decode().split("\n")
    assert lines == ["epoch,loss,test", "1,0.30000000000000004,", "2,1e-300,nan", ""]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1, "b": [1]}, {"a": 1, "b": [1]}, None),
        ({"a": 1}, {"a": 1.0}, None),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ("b", 2, 3)),
        ({"a": {"b": {"c": None}}}, {"a": {"b": {"c": 0}}}, ("a.b.c", None, 0)),
        ({"a": 1}, {}, ("a", 1, None)),
        ({}, {"a": 1}, ("a", None, 1)),
        ({"a": {"b": 1}}, {"a": 5}, ("a", {"b": 1}, 5)),
    ],
)
def test_first_difference(old: object, new: object, expected: object) -> None:
    assert first_difference(old, new) == expected


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
    write_whole(tmp_path / "x", "")
    assert plain_mode == stat.S_IMODE((tmp_path / "x").stat().st_mode)


class Odd(nn.Module):
    def get_extra_state(self) -> str:
        return "text"


def test_a_state_that_is_no_tensor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="_extra_state is a str"):
        write_model(tmp_path / "m.safetensors", Odd())


def test_a_run_folder_is_for_one_process_at_a_time(tmp_path: Path) -> None:
    ask = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with reserved(tmp_path / "run"):
        other = subprocess.run([sys.executable, "-c", ask, str(tmp_path / "run")], capture_output=True)
        assert b"BlockingIOError" in other.stderr
        with pytest.raises(InputError, match="in use by another process"), reserved(tmp_path / "run"):
            pass
    with reserved(tmp_path / "run"):
        pass


def test_a_file_is_no_run_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    for path in (tmp_path / "run", tmp_path / "run" / "inside"):
        with pytest.raises(InputError, match="is a file"), reserved(path):
            pass
