"""Records: written whole under their own name, read back equal, and refused by file and key when faulty."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from likewise.errors import InputError
from likewise.paper.records import read_record, read_records, write_record
from likewise.paper.table1 import Table1Record


def test_written_and_read_back(tmp_path: Path, example: Table1Record, another: Table1Record) -> None:
    path = write_record(tmp_path, example)
    assert path == tmp_path / "table1" / "mnist-lenet-mcl-seed0-30ep.json"
    write_record(tmp_path, another)
    assert read_records(tmp_path, "table1", Table1Record) == [another, example]  # by name
    assert read_records(tmp_path, "table2", Table1Record) == []


def test_nothing_but_the_record_is_left_and_it_is_the_same_each_time(tmp_path: Path, example: Table1Record) -> None:
    first = write_record(tmp_path, example).read_bytes()
    assert write_record(tmp_path, example).read_bytes() == first
    assert [path.name for path in (tmp_path / "table1").iterdir()] == [f"{example.name}.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("error"), "'error' is missing"),
        (lambda content: content.update(date="today"), "unknown key date"),
        (lambda content: content.update(error="0.6"), "error must be a number"),
        (lambda content: content.update(seed=None), "seed must be a whole number"),
    ],
)
def test_a_faulty_record_is_refused_by_file_and_key(
    tmp_path: Path, example: Table1Record, change, message: str
) -> None:
    path = write_record(tmp_path, example)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=message) as error:
        read_record(path, Table1Record)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(("text", "message"), [('{"table": ', "is not JSON"), ("[]", "must be a mapping")])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "cut.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_record(path, Table1Record)
