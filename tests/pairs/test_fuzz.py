"""Files of answers as nobody would write them: read, or refused in one sentence."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from likewise.pairs import Pairs

fuzz = settings(settings.get_profile("fuzz"))

Damaged = Callable[[bytes], SearchStrategy[bytes]]
Refusing = Callable[[], AbstractContextManager[None]]

CSV = b"left,right,same,weight,annotator\na.png,b.png,1,0.5,ann\nb.png,c.png,0,1,bob\n\nc.png,a.png,0.25,2,ann\n"
COLUMNS = ["left", "right", "same", "weight", "annotator", "left ", "SAME", "", "other"]
VALUES = ["", "a", "b.png", "0", "1", "-1", "007", "67108863", "99999999999999999999", "0.5", "1e400", "nan", "inf"]
VALUES += [
    "yes",
    "different",
    '"',
    '""',
    '"a',
    "a,b",
    "\x00",
    "\ufeff",
    " ",
    "\t",
    "é",
    "\u2028",
    "x" * 200_000,
    "-0",
    "+1",
]
KINDS: list[SearchStrategy[Any]] = [
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-1, 3),
    st.floats(),
    st.booleans(),
    st.text(max_size=5),
    st.sampled_from(["a", "b", "0", "1"]),
    st.binary(max_size=5),
    st.none(),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-999, max_value=999),
    st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)),
    st.lists(st.integers(0, 3), max_size=2),
    st.fixed_dictionaries({"a": st.integers(0, 3)}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("answers")


def read(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    pairs = Pairs.read(path)
    assert len(pairs.left) == len(pairs.right) == len(pairs.same) > 0
    assert ((pairs.same >= 0) & (pairs.same <= 1)).all()
    assert pairs.left.min() >= 0
    assert pairs.left.max() < pairs.n_items


@fuzz
@given(data=st.data())
def test_damaged_csv(data: st.DataObject, folder: Path, damaged: Damaged, sound_or_refused: Refusing) -> None:
    content = data.draw(damaged(CSV))
    with sound_or_refused():
        read(folder / "damaged.csv", content)


@fuzz
@given(
    header=st.lists(st.sampled_from(COLUMNS), max_size=6) | st.just(["left", "right", "same"]),
    rows=st.lists(st.lists(st.sampled_from(VALUES), min_size=2, max_size=5), max_size=6),
    end=st.sampled_from(["\n", "\r\n", "\r", "\n\n", ""]),
    start=st.sampled_from(["", "\ufeff", "\n\n", '"', "#"]),
    code=st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-16", "latin-1"]),
)
def test_odd_csv(
    header: list[str],
    rows: list[list[str]],
    end: str,
    start: str,
    code: str,
    folder: Path,
    sound_or_refused: Refusing,
) -> None:
    text = start + end.join(",".join(row) for row in [header, *rows]) + end
    with sound_or_refused():
        read(folder / "odd.csv", text.encode(code, "replace"))


@fuzz
@given(data=st.data())
def test_damaged_parquet(data: st.DataObject, folder: Path, damaged: Damaged, sound_or_refused: Refusing) -> None:
    table = pa.table({"left": ["a", "b", "c"], "right": ["b", "c", "a"], "same": [1.0, 0.0, 0.5], "weight": [1, 2, 3]})
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file)
    content = data.draw(damaged(file.getvalue()))
    with sound_or_refused():
        read(folder / "damaged.parquet", content)


@fuzz
@given(data=st.data())
def test_parquet_of_any_kinds(data: st.DataObject, folder: Path, sound_or_refused: Refusing) -> None:
    n = data.draw(st.integers(0, 4))
    columns = {}
    for name in ("left", "right", "same", *data.draw(st.sets(st.sampled_from(["weight", "annotator"])))):
        kind = data.draw(st.sampled_from(KINDS))
        columns[name] = pa.array(
            data.draw(st.lists(st.none() | kind if data.draw(st.booleans()) else kind, min_size=n, max_size=n))
        )
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file)
    with sound_or_refused():
        read(folder / "kinds.parquet", file.getvalue())
