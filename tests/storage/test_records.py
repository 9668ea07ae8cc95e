"""JSON records: plain values, damaged files, and where two records differ."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.storage.records import first_difference, read_json, write_json


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
